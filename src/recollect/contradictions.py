"""Compare two statements: does the newer one contradict, update or repeat the older one? Pure, and without a model.

The argument. A correction is nearly always the same sentence with one thing changed: a negation, a value, a state, the
order of two names. So the words of both sentences are aligned, and the rules look only at the words that differ. If
little is shared, or if two independent things differ ("room 3 has 5 seats", "room 4 has 6 seats"), the sentences are
about different things, and there is nothing to report. A finding is a suggestion for review; no rule here may remove
anything.

The word lists are data: English, Portuguese, German and Spanish. Japanese, Chinese and Korean are compared character by
character, by names, numbers and negations.
"""

import re
import unicodedata
from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass
from difflib import SequenceMatcher
from enum import StrEnum
from functools import lru_cache
from itertools import product

from recollect.text import few_marks, sentences

__all__ = ["Difference", "Relation", "compare"]


class Relation(StrEnum):
    """How a newer statement relates to an older one."""

    CONTRADICTS = "contradicts"
    UPDATES = "updates"
    REPEATS = "repeats"


@dataclass(frozen=True, slots=True)
class Difference:
    """The relation of two statements, the reason in words, and the words that differ, as they were written."""

    relation: Relation
    reason: str
    older: tuple[str, ...] = ()
    newer: tuple[str, ...] = ()


def _set(written: str) -> frozenset[str]:
    return frozenset(written.split())


LONGEST = 60
"""Words of a sentence that are compared; a longer sentence is not a single statement."""
MOST_SENTENCES = 12
"""Sentences of a text that are compared."""

# All words are written folded: lower case, without accents and apostrophes.
_NEGATIONS = _set("""
    not no never cannot without neither nor none nobody nothing
    dont doesnt didnt isnt arent wasnt werent wont cant couldnt shouldnt wouldnt hasnt havent hadnt mustnt neednt
    nao nunca jamais nenhum nenhuma ninguem nada sem
    nicht kein keine keinen keiner keinem keines nie niemals ohne nichts niemand
    ningun ninguna ninguno nadie sin jamas
    ne pas aucun aucune non mai
""")
_ENDINGS = _set("longer anymore mehr mais ya ja plus mas more any")
"""Words that, next to a negation, say that something was true before: no longer, nicht mehr, já não, ya no."""
_CHANGES = tuple(
    re.compile(rf"\b(?:{pattern})\b")
    for pattern in (
        r"no longer|not any ?more|instead of|instead|moved (?:to|from)|(?:has|have|was|were) moved|switched (?:to|from)"
        r"|(?:changed|changes) (?:to|from)|replaced (?:by|with)|replaces|renamed to|rescheduled|postponed"
        r"|from now on|as of|used to|formerly|now",
        r"nao \w+ mais|ja nao|em vez d[eao]s?|ao inves d[eao]s?|(?:mudou|mudamos|mudaram) (?:para|de)"
        r"|passou a|passamos a|passa a|trocamos|trocou|substituid[oa]s? por|foi movid[oa]|a partir de|agora|adiad[oa]",
        r"nicht mehr|kein\w* \w+ mehr|statt|anstatt|anstelle|verlegt|verschoben|umgezogen|gewechselt|wechselt"
        r"|ersetzt|umbenannt|ab sofort|ab jetzt|von nun an|jetzt|nun|inzwischen|mittlerweile",
        r"ya no|en lugar de|en vez de|se (?:mudo|movio|cambio|traslado) a|cambiamos (?:a|de)|cambio (?:a|de)|paso a"
        r"|pasamos a|reemplazad[oa]s? por|sustituid[oa]s? por|desde ahora|a partir de|ahora|aplazad[oa]|pospuest[oa]",
    )
)
_FUNCTION = _set("""
    a an the this that these those of to in on at by for from with and or is are was were be been being am do does did
    has have had will would shall should can could may might must it its we our us i my me you your they their he his
    she her as so then now just still also already there here any more longer anymore instead
    o os as um uma uns umas de do da dos das em no na nos nas por para pelo pela com e ou que se ao aos foi foram era
    ser ja agora ele ela eles elas nos nosso nossa meu minha seu sua mais ainda
    der die das den dem des ein eine einen einem einer eines und oder in im an am auf aus bei beim mit nach von vom zu
    zum zur fur ist sind war waren wird werden wurde wurden hat haben es er sie wir ihr unser unsere mein meine sein
    seine jetzt nun noch schon auch mehr statt
    el la los las un unos unas del al en con y o que se es son esta estan fue fueron era ser lo su sus nuestro nuestra
    mi ahora ya mas tambien aun
""")
_DEFINITE = _set("the o a os as der die das den dem el la los las our nosso nossa unser unsere nuestro nuestra")
_PORTUGUESE = _set("nao um uma em ao os da dos pelo pela sao na com seu sua")
"""Words of Portuguese, where `no` is not a negation."""
_GREETINGS = _set("""
    hey hi hello thanks thank wow oh yeah yes ok okay congrats congratulations bye please sorry woohoo
    oi ola obrigado obrigada hallo danke bitte hola gracias adios
""")
"""First words of sentences that state nothing."""
_AND = _set("and or with e ou com und oder mit y o con & / ,")
_OPPOSITES = """
    open closed/close/shut | on off | online offline | succeed/succeeded/success/passed/passes fail/failed/fails/failure
    works/working/work/worked broken/fails/failing | enabled/enable/enables disabled/disable/disables
    allowed/allow/allows/permitted forbidden/forbid/denied/deny/denies/prohibited/banned | up down | true false | yes no
    active inactive | public private | before after
    increase/increased/increases/rises/rose decrease/decreased/decreases/falls/fell
    always never | accepted/accept/accepts rejected/reject/rejects/declined | approved rejected/refused/declined
    available unavailable | full empty | with without | above below | left right | morning evening/afternoon
    mandatory/required/compulsory optional/voluntary | like/likes/love/loves hate/hates/dislike/dislikes | fast slow
    safe unsafe | possible impossible | high low | early late | remote onsite/office | single married | hot cold
    done/finished/completed/complete pending/unfinished/incomplete | started stopped | running stopped | gained lost
    bought sold | locked unlocked | connected disconnected | visible hidden | included excluded
    free paid | for against
    vegetarian carnivore | odd even | cheap expensive | synchronous asynchronous | internal external | noon midnight
    aberto/aberta/abertos/abertas fechado/fechada/fechados/fechadas | ligado/ligada desligado/desligada | abre fecha
    funcionou/funciona/passou falhou/falha/quebrou | sucesso falha/fracasso | ativo/ativa inativo/inativa
    ativado/ativada desativado/desativada | sempre nunca | permitido/permitida proibido/proibida
    aceito/aceita/aceitou recusado/recusada/recusou/rejeitou | aprovado/aprovada rejeitado/rejeitada/reprovado/reprovada
    publico/publica privado/privada | antes depois | obrigatorio/obrigatoria opcional | disponivel indisponivel
    gosta/adora/gosto odeia/detesta/detesto | cheio/cheia vazio/vazia | com sem | manha noite/tarde | rapido lento
    remoto presencial | solteiro/solteira casado/casada | alto/alta baixo/baixa | concluido/concluida pendente
    offen/geoffnet/auf geschlossen/zu | an aus | ein aus | eingeschaltet ausgeschaltet
    erfolgreich/gelungen/bestanden fehlgeschlagen/gescheitert | funktioniert/lauft kaputt/versagt/scheitert
    aktiv inaktiv | aktiviert deaktiviert | immer nie/niemals | erlaubt/gestattet verboten/untersagt
    angenommen/akzeptiert abgelehnt/verworfen | genehmigt abgelehnt | offentlich privat | vor nach | vorher nachher
    pflicht/verpflichtend/obligatorisch optional/freiwillig | verfugbar unverfugbar | mag/liebt hasst | voll leer
    mit ohne | morgens abends | schnell langsam | ledig verheiratet | hoch niedrig | fertig/erledigt offen
    verbunden getrennt | gekauft verkauft | gesperrt entsperrt/freigegeben | sicher unsicher
    abierto/abierta cerrado/cerrada | abre cierra | encendido/encendida apagado/apagada | exito fracaso/error
    funciona/funciono/paso falla/fallo | activo/activa inactivo/inactiva | activado/activada desactivado/desactivada
    siempre nunca/jamas | permitido/permitida prohibido/prohibida | aceptado/aceptada/acepto rechazado/rechazada/rechazo
    aprobado/aprobada rechazado/rechazada/suspendido | publico/publica privado/privada | antes despues
    obligatorio/obligatoria opcional | disponible ocupado/ocupada | gusta/encanta odia/detesta | lleno/llena vacio/vacia
    con sin | manana noche/tarde | rapido/rapida lento/lenta | remoto presencial | soltero/soltera casado/casada
"""


def _pairs(written: str) -> frozenset[frozenset[str]]:
    pairs = (pair.split() for line in written.strip().splitlines() for pair in line.split("|"))
    return frozenset(
        frozenset((one, other))
        for first, second in _by_two(pairs)
        for one, other in product(first.split("/"), second.split("/"))
    )


def _by_two(pairs: Iterator[list[str]]) -> Iterator[tuple[str, str]]:
    for words in pairs:
        yield from zip(words[::2], words[1::2], strict=True)


_OPPOSITE = _pairs(_OPPOSITES)
_WEEKDAYS = _set("""
    monday tuesday wednesday thursday friday saturday sunday mondays tuesdays wednesdays thursdays fridays saturdays
    sundays mon tue wed thu fri sat sun weekday weekdays weekend weekends
    segunda terca quarta quinta sexta sabado domingo segundas tercas quartas quintas sextas sabados domingos
    segunda-feira terca-feira quarta-feira quinta-feira sexta-feira
    segundas-feiras tercas-feiras quartas-feiras quintas-feiras sextas-feiras
    montag dienstag mittwoch donnerstag freitag samstag sonntag montags dienstags mittwochs donnerstags freitags
    samstags sonntags lunes martes miercoles jueves viernes lundi mardi mercredi jeudi vendredi samedi dimanche
""")
_MONTHS = _set("""
    january february march april may june july august september october november december jan feb mar apr jun jul aug
    sep sept oct nov dec janeiro fevereiro marco abril maio junho julho agosto setembro outubro novembro dezembro
    januar februar marz mai juni juli oktober dezember enero febrero marzo mayo junio julio septiembre octubre noviembre
    diciembre
""")
_NUMBERS = _set("""
    zero one two three four five six seven eight nine ten eleven twelve twenty thirty forty fifty hundred thousand once
    twice first second third fourth fifth half double
    um dois duas tres quatro cinco sete oito nove dez onze doze vinte trinta cem mil primeiro segundo terceiro
    primeira terceira metade
    eins zwei drei vier funf sechs sieben acht neun zehn elf zwolf zwanzig dreissig hundert tausend erste zweite dritte
    erster zweiter dritter ersten zweiten dritten
    uno dos cuatro seis siete ocho nueve diez once doce veinte treinta cien primero tercero primera segunda tercera
""")
_UNITS = _set("""
    second seconds minute minutes hour hours day days week weeks month months quarter quarters year years ms s min h
    byte bytes kb mb gb tb kib mib gib tib hz mhz ghz km m cm mm mile miles kg g lb lbs ton tons eur euro euros usd
    dollar dollars gbp pounds percent % degrees celsius fahrenheit daily weekly monthly quarterly yearly annually hourly
    segundo segundos minuto minutos hora horas dia dias semana semanas mes meses ano anos diario semanal mensal anual
    trimestral reais real diariamente semanalmente mensalmente
    sekunde sekunden minuten stunde stunden tag tage tagen woche wochen monat monate monaten jahr jahre jahren taglich
    wochentlich monatlich jahrlich prozent
    dolares diariamente semanalmente mensualmente mensual anos
""")
_TYPES = (("weekday", _WEEKDAYS), ("month", _MONTHS), ("number", _NUMBERS), ("unit", _UNITS))

_TOKEN = re.compile(
    r"\d+(?:[-.:/,]\d+)*%?|[^\W\d_]+(?:['\u2019][^\W\d_]+)*(?:[-_.][^\W_]+)*\d*(?:[+#]+)?|[%&/,]|[^\w\s]", re.UNICODE
)
_EAST_ASIAN = re.compile("[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff]")
_HIRAGANA = re.compile("[\u3040-\u309f]")
_EAST_ASIAN_NEGATIONS = (
    "ない",
    "ません",
    "なかった",
    "不",
    "没",
    "無",
    "无",
    "未",
    "勿",
    "않",
    "없",
    "못",
    "안 ",
    "아니",
)
_EAST_ASIAN_CHANGES = (
    "もう",
    "変更",
    "代わり",
    "今は",
    "改为",
    "不再",
    "现在",
    "搬到",
    "이제",
    "더 이상",
    "대신",
    "변경",
)
_LIST_MARK = re.compile(r"^\s*(?:[-*+]|\d+[.)])\s+(?:\[[ xX]\]\s+)?")
_SILENT = frozenset("'\"`.,;:!?…()[]{}*_-–—。、！？「」『』・")


@dataclass(frozen=True, slots=True)
class _Word:
    written: str
    folded: str
    first: bool
    """Whether it is the first word of its sentence, where a capital says nothing."""

    @property
    def content(self) -> bool:
        if len(self.written) == 1 and self.written.isupper() and not self.first:
            return True  # a letter as a label, such as team A
        return self.folded not in _FUNCTION and _HIRAGANA.fullmatch(self.folded) is None

    @property
    def kind(self) -> str:
        """The type of the word: number, weekday, month, unit, name or word."""
        if self.folded[0].isdigit():
            return "number"
        for name, words in _TYPES:
            if self.folded in words:
                return name
        capital = self.written[0].isupper() and not self.first
        identifier = any(character.isdigit() or character in "_./+#" for character in self.written)
        return "name" if capital or identifier or (len(self.written) == 1 and self.written.isupper()) else "word"


@dataclass(frozen=True, slots=True)
class _Change:
    """One place where two sentences differ."""

    older: tuple[_Word, ...]
    newer: tuple[_Word, ...]

    @property
    def content(self) -> tuple[tuple[_Word, ...], tuple[_Word, ...]]:
        return _content(self.older), _content(self.newer)


@dataclass(frozen=True, slots=True)
class _Aligned:
    """Two sentences, the places where they differ, and the number of content words they share."""

    older: tuple[_Word, ...]
    newer: tuple[_Word, ...]
    changes: tuple[_Change, ...]
    shared: int

    def difference(self, relation: Relation, reason: str) -> Difference:
        return Difference(
            relation,
            reason,
            tuple(word.written for change in self.changes for word in change.older),
            tuple(word.written for change in self.changes for word in change.newer),
        )


def compare(older: str, newer: str) -> Difference | None:
    """Return the relation of a newer text to an older one, or None if they are about different things.

    Texts of several sentences are compared sentence by sentence, and the first difference is returned.
    """
    firsts, seconds = _statements(older), _statements(newer)
    if firsts and [one.folds for one in firsts] == [other.folds for other in seconds]:
        return Difference(Relation.REPEATS, "both say the same")
    alike = ((one, other) for one, other in product(firsts, seconds) if one.folds != other.folds and _alike(one, other))
    found = (_compare(one.words, other.words) for one, other in alike)
    return next((difference for difference in found if difference is not None), None)


@dataclass(frozen=True, slots=True)
class _Statement:
    """A sentence as words, with the sets by which unrelated sentences are told apart before they are aligned."""

    words: tuple[_Word, ...]
    folds: list[str]
    keys: frozenset[str]
    content: frozenset[str]


@lru_cache(maxsize=2_048)  # a note is compared with several neighbours
def _statements(text: str) -> tuple[_Statement, ...]:
    lines = (_LIST_MARK.sub("", line) for line in sentences(few_marks(text))[:MOST_SENTENCES])
    found = (tuple(_words(line)) for line in lines if not line.endswith(("?", "\uff1f")))
    return tuple(
        _Statement(words, _folds(words), frozenset(map(_key, words)), frozenset(map(_key, _content(words))))
        for words in found
        if 0 < len(words) <= LONGEST and words[0].folded not in _GREETINGS
    )


def _alike(one: _Statement, other: _Statement) -> bool:
    """Return whether at least half of the content of the shorter sentence is in the other one, as every rule needs."""
    common = max(len(one.content & other.keys), len(one.keys & other.content))
    return common > 0 and 2 * common >= min(len(one.content), len(other.content))


def _words(sentence: str) -> Iterator[_Word]:
    first = True
    for match in _TOKEN.finditer(sentence):
        token = match.group()
        pieces = _EAST_ASIAN.findall(token) if _EAST_ASIAN.search(token) else [token]
        for piece in pieces:
            if piece not in _SILENT:
                yield _Word(piece, _folded(piece), first)
                first = False


def _folded(word: str) -> str:
    plain = unicodedata.normalize("NFKD", word.casefold())
    if _EAST_ASIAN.search(word):
        return unicodedata.normalize("NFKC", word)
    return "".join(c for c in plain if not unicodedata.combining(c) and c not in "'\u2019") or word


def _folds(words: Sequence[_Word]) -> list[str]:
    return [word.folded for word in words]


def _compare(older: tuple[_Word, ...], newer: tuple[_Word, ...]) -> Difference | None:
    pair = _align(older, newer)
    found = (rule(pair) for rule in (_negation, _swap, _opposite, _announced, _value))
    return next((difference for difference in found if difference is not None), None)


def _align(older: tuple[_Word, ...], newer: tuple[_Word, ...]) -> _Aligned:
    matcher = SequenceMatcher(None, [_key(word) for word in older], [_key(word) for word in newer], autojunk=False)
    changes, shared = [], 0
    for tag, start, end, other_start, other_end in matcher.get_opcodes():
        if tag == "equal":
            shared += len(_content(older[start:end]))
        else:
            changes.append(_Change(older[start:end], newer[other_start:other_end]))
    return _Aligned(older, newer, tuple(changes), shared)


def _key(word: _Word) -> str:
    """Return the word without the -s of a plural or of a verb."""
    return word.folded[:-1] if len(word.folded) > 4 and word.folded.endswith("s") else word.folded


def _content(words: Sequence[_Word]) -> tuple[_Word, ...]:
    return tuple(word for word in words if word.content)


def _negation(pair: _Aligned) -> Difference | None:
    """One sentence negates, the other does not, and nothing else differs."""
    portuguese = not _PORTUGUESE.isdisjoint(_folds(pair.older + pair.newer))
    negations = _NEGATIONS - {"no"} if portuguese else _NEGATIONS
    before, after = (_negates(words, negations) for words in (pair.older, pair.newer))
    if before == after:
        return None
    if pair.shared < 1:
        return None
    rest = max(
        sum(word.folded not in _NEGATIONS for change in pair.changes for word in change.content[side])
        for side in (0, 1)
    )
    if rest > (pair.shared >= 4):
        return None
    if after and _ends(pair.newer):
        return pair.difference(Relation.UPDATES, "the newer one says that the older one no longer holds")
    return pair.difference(Relation.CONTRADICTS, f"the {'newer' if after else 'older'} one negates the other")


def _negates(words: Sequence[_Word], negations: Set[str]) -> bool:
    if _is_east_asian(words):
        text = "".join(word.written for word in words)
        return any(mark.strip() in text for mark in _EAST_ASIAN_NEGATIONS)
    return not negations.isdisjoint(_folds(words))


def _ends(words: Sequence[_Word]) -> bool:
    return not _ENDINGS.isdisjoint(_folds(words))


def _is_east_asian(words: Sequence[_Word]) -> bool:
    return any(_EAST_ASIAN.search(word.written) for word in words)


def _swap(pair: _Aligned) -> Difference | None:
    """Both sentences have the same words, and two of them have changed places."""
    older, newer = _content(pair.older), _content(pair.newer)
    if len(older) != len(newer):
        return None
    moved = [place for place, (one, other) in enumerate(zip(older, newer, strict=True)) if one.folded != other.folded]
    if len(moved) != 2:
        return None
    first, second = moved
    one, other = older[first], older[second]
    if (one.folded, other.folded) != (newer[second].folded, newer[first].folded) or not _comparable(one, other):
        return None
    between = pair.older[pair.older.index(one) + 1 : pair.older.index(other)]
    if between and all(word.folded in _AND for word in between):
        return None
    return pair.difference(Relation.CONTRADICTS, f"{one.written} and {other.written} have changed places")


def _comparable(one: _Word, other: _Word) -> bool:
    """Return whether two words are of one kind. The first word of a sentence may be a name as well."""
    kinds = {word.kind for word in (one, other)}
    return len(kinds) == 1 or (kinds == {"name", "word"} and any(word.first for word in (one, other)))


def _opposite(pair: _Aligned) -> Difference | None:
    """A word was replaced by its opposite, and at most one other word differs."""
    if pair.shared < 1 or any(len(side) > 2 for change in pair.changes for side in change.content):
        return None
    for change in pair.changes:
        for one, other in product(change.older, change.newer):
            if frozenset((one.folded, other.folded)) in _OPPOSITE:
                reason = f"{one.written} and {other.written} are opposites"
                return pair.difference(Relation.CONTRADICTS, reason)
    return None


def _announced(pair: _Aligned) -> Difference | None:
    """The newer sentence announces a change of what the older one is about."""
    said = _announcement(pair.newer)
    if said is None or _announcement(pair.older) is not None:
        return None
    known, said_now = {_key(word) for word in _content(pair.older)}, {_key(word) for word in pair.newer}
    common = len(known & said_now)
    if not common or 2 * common < len(known):
        return None
    return pair.difference(Relation.UPDATES, f"the newer one announces a change: {said}")


def _announcement(words: Sequence[_Word]) -> str | None:
    if _is_east_asian(words):
        text = "".join(word.written for word in words)
        return next((mark for mark in _EAST_ASIAN_CHANGES if mark.replace(" ", "") in text), None)
    text = " ".join(_folds(words))
    found = (pattern.search(text) for pattern in _CHANGES)
    return next((match.group() for match in found if match is not None), None)


def _value(pair: _Aligned) -> Difference | None:
    """One value of an otherwise equal sentence differs."""
    replaced = [change for change in pair.changes if all(change.content)]
    added = [change for change in pair.changes if change not in replaced and any(change.content)]
    extra = sum(len(side) for change in added for side in change.content)
    if len(replaced) != 1 or extra > (pair.shared >= 4):
        return None
    older, newer = replaced[0].content
    size, kind = max(len(older), len(newer)), _common_kind(older, newer)
    east_asian = _is_east_asian(older) and _is_east_asian(newer)
    if size > (4 if east_asian else 3):
        return None
    if not east_asian and kind is None and (pair.shared < 2 or pair.shared * 2 < size * 3):
        return None
    if pair.shared < size or (not east_asian and _other_subject(pair, replaced[0])):
        return None
    one, other = (_joined(side, east_asian) for side in (older, newer))
    return pair.difference(Relation.CONTRADICTS, f"{f'the {kind}' if kind else 'it'} changed from {one} to {other}")


def _common_kind(older: Sequence[_Word], newer: Sequence[_Word]) -> str | None:
    """Return the kind of value that both sides have, such as number or weekday; None if they are ordinary words."""
    kinds = {word.kind for word in older} & {word.kind for word in newer} - {"word"}
    return min(kinds, default=None)


def _other_subject(pair: _Aligned, change: _Change) -> bool:
    """Return whether only the subject differs, of something that can be true of many: Ana likes tea, Ben likes tea."""
    start = pair.older.index(change.older[0])
    if _content(pair.older[:start]):
        return False
    return _DEFINITE.isdisjoint(word.folded for word in pair.older[start + len(change.older) :])


def _joined(words: Sequence[_Word], east_asian: bool) -> str:
    return ("" if east_asian else " ").join(word.written for word in words)
