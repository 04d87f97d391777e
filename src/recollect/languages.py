"""The language of a text, guessed from its function words, endings and accents; and the stop words of each language.

Pure functions over folded words. The guess must be right for notes of five words, so it counts votes: every function
word votes for each language that has it, and so does an ending or an accent that few languages share. English wins
ties, because it is the language of names, and of notes without any of these signs.
"""

# Votes are packed into one number, _SHIFT bits for each language, so that those of a text are a sum. English has the
# lowest bits: the sum of a plain English text is a small number, and needs no unpacking.

import re
import unicodedata
from functools import lru_cache

from recollect.compounds import is_compound
from recollect.stop_words import ENGLISH_STOPS, PORTUGUESE_SHARED_STOPS, PORTUGUESE_STOPS

__all__ = ["LANGUAGES", "STOPS", "TELLING", "leading", "sign_votes", "votes_of"]


def _words(written: str) -> frozenset[str]:
    return frozenset(written.split())


# Without accents and apostrophes, as they are compared.
_SPANISH = _words("""
    a al algo algun alguna algunas alguno algunos ante antes aquel aquella aquellos aqui asi aun aunque cada como con
    cual cuales cuando cuanto cuantos cuanta cuantas de del desde donde dos durante e el ella ellas ellos en entonces
    entre era eran es esa esas ese eso esos esta estaba estaban estado estamos estan estar estas este esto estos estoy
    fue fueron ha habia han has hasta hay he hemos la las le les lo los mas me mi mientras mis mucha muchas mucho muchos
    muy nada ni no nos nosotros nuestra nuestras nuestro nuestros o os otra otras otro otros para pero poco por porque
    pues que quien quienes se segun ser si sin sobre sois somos son soy su sus suya suyo tambien tan tanto te tenemos
    tengo tiene tienen toda todas todo todos tu tus un una unas uno unos usted ustedes va vamos y ya yo
""")
_GERMAN = _words("""
    aber als am an auch auf aus bei beim bin bis bist da dabei damit dann das dass dein deine deinem deinen deiner dem
    den der des die dies diese diesem diesen dieser dieses doch dort du durch ein eine einem einen einer eines er es
    etwas euch euer eure fur gegen habe haben hast hat hatte hatten hier ich ihm ihn ihnen ihr ihre ihrem ihren ihrer im
    in ins ist ja jede jedem jeden jeder jedes jetzt kann kein keine keinem keinen keiner man mehr mein meine meinem
    meinen meiner meines mich mir mit muss nach nicht noch nun nur ob oder ohne sehr sein seine seinem seinen seiner
    seit sich sie sind so soll sollen sondern sowie uber um und uns unser unsere unserem unseren unserer unter viel
    viele vielen vom von vor wann war waren warum was weil welche welchem welchen welcher welches wem wen wenn wer werde
    werden wie wieder will wir wird wo woher wohin wurde wurden zu zum zur zwischen
""")
_FRENCH = _words("""
    a ai ainsi alors apres as au aucun aucune aussi autre autres aux avais avait avant avec avez avoir avons c ca ce
    cela celle celles celui ces cet cette ceux chaque chez combien comme comment d dans de depuis des deux donc du elle
    elles en encore entre es est et etaient etait ete etes etre eu il ils j je l la le les leur leurs lui m ma mais me
    meme mes moi moins mon n ne ni nos notre nous on ont ou par parce pas pendant peu peut plus pour pourquoi qu quand
    que quel quelle quelles quels qui quoi s sa sans se ses si son sont sous suis sur t ta te tes toi ton tous tout
    toute toutes tres tu un une vers vos votre vous y
""")
_ITALIAN = _words("""
    a abbiamo agli ai al alla alle allo anche ancora avere aveva avevano ha hai hanno ho c che chi ci cio come con cosa
    cui d da dagli dai dal dalla dalle dallo degli dei del della delle dello di dopo dove due e ed era erano essere fa
    fino fra fu gia gli i il in io l la le lei li lo loro lui ma me mentre mi mia mie miei mio molta molte molti molto
    ne negli nei nel nella nelle nello niente noi non nostra nostre nostri nostro o ogni per perche piu poi prima qual
    quale quali quando quanta quante quanti quanto quasi quella quelle quelli quello questa queste questi questo qui se
    sei senza si sia siamo solo sono sopra sta stata stato stati su sua sue sugli sui sul sulla sulle suo suoi te ti tra
    tu tua tuo tutta tutte tutti tutto un una uno vi voi
""")
_DUTCH = _words("""
    aan al alle alleen als altijd ben bent bij daar daarom dan dat de deze die dit doe doen door dus een eens en er geen
    haar had hadden heb hebben hebt heeft hem het hier hij hoe hoeveel hun iets ik in is ja je jij jou jouw jullie kan
    kunnen maar me meer men met mij mijn moet moeten na naar niet niets nog nu of om omdat onder ons onze ook op over te
    tegen toch toen tot u uit uw van veel voor waar waarom wanneer want waren was wat we wel welk welke werd wie wij wil
    willen word worden wordt ze zei zelf zich zij zijn zo zonder zou zullen
""")
_SWEDISH = _words("""
    alla allt an ar att av bara bland blev bli blir da dar de dem den denna deras dess dessa det detta dig din dina ditt
    du efter ej eller en ett fick finns for fore fran ha hade han hans har hela henne hennes hon hos hur i icke igen in
    ingen inget inte ja jag kan kom kommer kunde man manga med mellan men mig min mina mitt mot mycket nagon nagot nagra
    nar nere ni nu och ocksa om oss pa sa sade sedan sig sin sina sitt ska skulle som ta till tva under upp ut utan vad
    var vara varfor vara vart vem vems vi vid vilka vilken vilket vill vilja
""")

STOPS = {
    "english": ENGLISH_STOPS,
    "portuguese": PORTUGUESE_STOPS,
    "spanish": _SPANISH,
    "german": _GERMAN,
    "french": _FRENCH,
    "italian": _ITALIAN,
    "dutch": _DUTCH,
    "swedish": _SWEDISH,
}
"""Stop words by language. They are removed from a text once its language is known."""
LANGUAGES = tuple(STOPS)

# Words and names of English texts, which are no sign of another language.
_ENGLISH_TOO = _words("""
    ai ante ate bin bis bra c ca chez ci come comment d da dan dare dat dem dig door dos dove due ed een elle encore
    entre er era eu fa far fin for fore fra fur ha han hans hat hay hem ho hoe hon io j jag je kan l las lo logo los lui
    m ma man mar med men mes met mi mia min mit mot n nada nas ne ni noi nos nu num os ou pa par per plus pour pro quasi
    s sa san sang sans se sei sem si sig sin sob sole solo son sous soy sur t ta tao te ten ter ti til till todo todos
    ton tot tout tra tus u uber um uno va van var vi want war wie word y ya zo
""")
_SHIFT = 32
_MASK = (1 << _SHIFT) - 1
_ONE = {language: 1 << (_SHIFT * place) for place, language in enumerate(LANGUAGES)}


def _telling(language: str) -> frozenset[str]:
    """Return the stop words of a language that are a sign of it."""
    if language == "english":
        return ENGLISH_STOPS
    portuguese = PORTUGUESE_STOPS - PORTUGUESE_SHARED_STOPS
    return portuguese if language == "portuguese" else STOPS[language] - (_ENGLISH_TOO - portuguese)


_VOTES: dict[str, int] = {}
for _language in LANGUAGES:
    for _word in _telling(_language):
        _VOTES[_word] = _VOTES.get(_word, 0) + _ONE[_language]

TELLING = frozenset(_VOTES)
"""The function words that are a sign of a language."""

# Endings of folded words of seven letters or more, and letters that no name in an English text is likely to have.
_ENDINGS = {
    "ciones": "spanish",
    "miento": "spanish",
    "ung": "german",
    "ungen": "german",
    "keit": "german",
    "heit": "german",
    "schaft": "german",
    "lich": "german",
    "isch": "german",
    "zione": "italian",
    "zioni": "italian",
    "heid": "dutch",
    "lijk": "dutch",
    "ijke": "dutch",
    "ijn": "dutch",
    "ningen": "swedish",
    "euse": "french",
    "eaux": "french",
}
_LONG = 7
_COMPOUND = 9
"""Letters of a compound that is a sign of German: of shorter words, some are English ("handball")."""
_CHUNK = 64
"""Maximum number of letters of a chunk to examine: composing a long run of combining marks takes quadratic time."""
_LONGEST_FIRST = tuple(sorted(_ENDINGS, key=len, reverse=True))
_MARKS = (
    ("äö", ("german", "swedish")),
    ("ü", ("german",)),
    ("å", ("swedish",)),
    ("ñ¿¡", ("spanish",)),
    ("ùûîœ", ("french",)),
    ("è", ("french", "italian")),
    ("òì", ("italian",)),
)
_LETTERS = {
    letter: sum(_ONE[language] for language in languages) for letters, languages in _MARKS for letter in letters
}
# A tilde, composed or combining; all letters are listed, so that composed and decomposed text give the same vote.
_TILDE = re.compile("[\u0303ÃÑÕãñõĨĩŨũȬȭṌṍṎṏṸṹṼṽẪẫẴẵẼẽỄễỖỗỠỡỮữỸỹ]")


def votes_of(word: str) -> int:
    """Return the votes of a folded word."""
    votes = _VOTES.get(word, 0)
    if votes or len(word) < _LONG:
        return votes
    if word.endswith(_LONGEST_FIRST):
        return _ONE[_ENDINGS[next(filter(word.endswith, _LONGEST_FIRST))]]
    return _ONE["german"] if len(word) >= _COMPOUND and is_compound(word) else 0


def sign_votes(chunk: str) -> int:
    """Return the votes of the letters of a chunk."""
    if chunk.isascii():
        return 0
    composed = unicodedata.normalize("NFC", chunk[:_CHUNK].lower())
    found = next((_LETTERS[letter] for letter in composed if letter in _LETTERS), 0)
    return found or (_ONE["portuguese"] if _TILDE.search(chunk) else 0)


@lru_cache(4_096)
def leading(votes: int) -> tuple[str, ...]:
    """Return the languages with the most votes, all of them if there is no vote."""
    counts = [votes >> (_SHIFT * place) & _MASK for place in range(len(LANGUAGES))] if votes > _MASK else [votes]
    most = max(counts)
    if not most:
        return LANGUAGES
    return tuple(language for language, count in zip(LANGUAGES, counts, strict=False) if count == most)
