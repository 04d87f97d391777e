"""Words that say little by themselves, in English, Portuguese, German and Spanish. Data, and whether a word is one.

All words are written folded: lower case, without accents and apostrophes.
"""

from collections.abc import Sequence
from functools import cache

from recollect import text

__all__ = ["FUNCTION", "LIGHT", "says_little"]


def _set(written: str) -> frozenset[str]:
    return frozenset(written.split())


FUNCTION = _set("""
    a an the this that these those of to in on at by for from with and or is are was were be been being am do does did
    has have had will would shall should can could may might must it its we our us i my me you your they their he his
    she her as so then now just still also already there here any more longer anymore instead
    o os as um uma uns umas de do da dos das em no na nos nas por para pelo pela com e ou que se ao aos foi foram era
    ser ja agora ele ela eles elas nos nosso nossa meu minha seu sua mais ainda
    aquela aquelas aquele aqueles aquilo comigo conosco consigo cuja cujas cujo cujos daquela daquele dessa desse desta
    deste disso disto embora enquanto essas esses estas estes eu fomos fosse fossem fui meus minhas naquela naquele
    nela nele neles nessa nesse nesta neste nisso nisto nossas nossos nuns onde outra outras outro outros pois porem
    portanto qualquer sejam seja sendo seus sido suas tambem teu teus tua tuas uns voce voces
    der die das den dem des ein eine einen einem einer eines und oder in im an am auf aus bei beim mit nach von vom zu
    zum zur fur ist sind war waren wird werden wurde wurden hat haben es er sie wir ihr unser unsere mein meine sein
    seine jetzt nun noch schon auch mehr statt
    ich du sich unserem unserer unseres meines deine deinem deinen deiner deines dein seinem seiner seines ihrem ihrer
    ihres euer eure denen deren dessen welche welchem welchen welcher welches jene jenem jenen jener jenes diesem diesen
    solche solchen solcher hatte hattet habt wirst werde werdet worden ware waren wurdest ob damit daran darauf daraus
    dabei dadurch dafur darin daruber darum davon dazu denn dann sondern sowie sowohl zwar beide beiden
    el la los las un unos unas del al en con y o que se es son esta estan fue fueron era ser lo su sus nuestro nuestra
    mi ahora ya mas tambien aun
    yo ella ellas ellos nosotros nosotras usted ustedes vosotros mio mia suyo suya nuestros nuestras aquel aquella
    aquellas aquellos aquello esas esos estas estos una uno para por fui fuimos sido siendo sea sean era eran eramos
    estuvo estuvieron haya hayan hubo habian aunque mientras pues segun cuyo cuya cuyos cuyas cualquier otra otras otro
    otros tuyo tuya vuestra vuestro e u
""")
"""Articles, pronouns, prepositions, conjunctions and auxiliary verbs; no negations."""
LIGHT = _set("""
    get gets got getting go goes going went gone come comes came make makes made take takes took taken put puts keep
    keeps kept hold holds held give gives gave given let lets say says said tell told set sets stay stays run runs
    happen happens happening place places based located situated hosted done use uses used using have having want wants
    only very really quite even ever always usually all every each both much many most at about around over under out up
    off into onto until till since during while when where who what which how whom there because but if than too again
    myself yourself himself herself itself ourselves themselves am ill youll well im ive youre weve were theyre thats
    its hes shes whats lets id th st nd rd mr mrs ms dr im
    tem tens temos tenho ter tinha ha havia sao sou somos estou esta estao estava estamos estar fica ficam ficou ficar
    fazer faz fazem faco feito vai vao vamos ir vem vir dar da usa usam usamos usar sera serao seria muito muita tudo
    todo toda todos todas sempre so apenas ate desde entre sobre quando onde quem qual quais como porque mas isso isto
    esse essa este esta lhe lhes me te nos vos dele dela deles delas num numa pra pelos pelas as a la lo
    habe hast hatte hatten bin bist seid sein kann kannst konnen muss mussen soll sollen will wollen wollte darf machen
    macht gemacht geht gehen ging kommt kommen nimmt nehmen nehme nutzt nutzen findet finden gibt immer nur sehr ganz
    schon erst doch lieber bis seit uber unter durch wenn wann wo wer was wie weil aber dass als alle alles jeder jede
    jedes dieser diese dieses mir mich dir dich uns euch ihn ihm ihnen ihre ihren seinen unseren meiner meinem meinen
    dort hier herr herrn frau statt stattfinden statt
    tengo tiene tienen tenemos tener hay habia habra he ha han hemos has soy eres somos estoy estamos estar esta estaba
    sera seran hace hacen hacemos hacer hago hecho va van vamos ir viene venir da dan usa usan usamos usar muy mucho
    mucha todo toda todos todas siempre solo hasta desde entre sobre cuando donde quien cual como porque pero eso esto
    ese esa este les nos os tu te mis tus le
""")
"""Verbs and adverbs that say little by themselves. Two sentences need not have them in common."""


@cache
def _stems() -> frozenset[str]:
    return frozenset(term for word in FUNCTION | LIGHT for spellings in text.word_terms(word) for term in spellings)


def says_little(spellings: Sequence[str]) -> bool:
    """Return whether a word of a query, given by its spellings as `text.query_terms` has them, is one of these."""
    return _stems().issuperset(spellings)
