"""Concept tags: up to eight keywords for the topic of a text. Deterministic, no statistics, no model.

Three sources, in this order: words of a small glossary anywhere in the text, compounds such as `blue-green/deploy.yml`,
and plain words. Noise (function words, file extensions, dates, numbers, words common in every memory) is dropped; the
first eight of the rest are used.
"""

import re
import unicodedata
from collections.abc import Iterable
from functools import lru_cache, partial
from operator import is_

__all__ = ["LIMIT", "chunk_tags", "concept_tags"]

LIMIT = 8
LONGEST = 32
LONG_CHUNK = 64
"""Maximum length of a chunk on the fast path: the search for compounds takes quadratic time."""
SCANNED = 4_000
"""Characters of a text that are scanned: the topic is at its beginning."""


def _words(written: str) -> frozenset[str]:
    return frozenset(written.split())


def _terms(written: str) -> tuple[str, ...]:
    return tuple(written.split(", "))


_GLOSSARY = _terms(
    "backup, embedding, failover, gateway, glacier, gpt, openai, router, network, vlan, s3, kv, qmd, "
    "copia de seguridad, sauvegarde, sicherung, respaldo, réseau, netzwerk, enrutador, routeur, "
    "备份, 网络, 路由器, 嵌入, バックアップ, ネットワーク, ルーター, 백업, 네트워크"
)
_JOINTS = "._/-"
_SPACES = bytes(code if chr(code).isalnum() else 32 for code in range(256))
_NOISE = _words(
    # common in every memory
    "about agent agents answer assistant chat code context conversation data date day default details entry example "
    "file files info item items list memories memory message messages note notes number project query question record "
    "reply result results search section session sessions source summary system task tasks text thing things time "
    "today todo tool tools tomorrow topic update user users value week yesterday "
    # English
    "able after again all also always and another any are back because been before being between both but can could "
    "did does doing done down each even ever every for from further get gets getting give given goes going good had "
    "has have having her here hers him his how however into its just keep know last less let like made make many may "
    "maybe might more most much must need needs never new next not nothing now off often old one only other our out "
    "over own please put really said same say says see seen set shall she should since some someone something soon "
    "still such sure take tell than that the their them then there these they think this those through too two under "
    "until upon use used uses using very want was way well went were what when where which while who whom whose why "
    "will with within without would yes yet you your "
    # Spanish and Portuguese
    "algo ao aos aqui assim até aun aunque cada como con contra cosas cual cuando dar das decir del depois desde dia "
    "donde dos ela ele eles ella ellas ellos em entonces entre era eran es esa esas ese eso esos esse essa esta estaba "
    "estado estamos estão estar estas este esto estos está están foi fue fueron hace hacer hacia han hasta hay hoje "
    "hoy isso isto las les los mais mas mejor menos mesmo mi mientras misma mismo mucho mucha muito na nada nas nem "
    "ni no nos nosotros nossa nosso não nuestra nuestro nunca otra otro outra outro para pela pelo pero poco podemos "
    "poder por porque primero pues qual quando que quem quien qué se ser será sido siempre sin sobre solo somos son "
    "soy su sua suas são sus também también tanto tem tener tengo tenemos tiene tienen toda todas todo todos tu tudo "
    "um uma uno una unos unas usted vamos ver vez você vocês ya "
    # file extensions
    "bmp cfg conf css csv doc docx gif htm html ini ipynb jpeg jpg json jsonl lock log md mdx mjs pdf png ppt pptx py "
    "rst sh sql svg toml ts tsv tsx txt wav xls xlsx xml yaml yml zip"
)
_COMPOUND = re.compile(r"[^\W_]+(?:[._/\-][^\W_]+)+")
_WORD = re.compile(r"[^\W_]+")
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}(\.\w+)?")
_KANA = re.compile(r"[\u3040-\u30ff\uff66-\uff9f]+")
_CJK = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\uff66-\uff9f]")
_EDGES = re.compile(r"^[\W_]+|[\W_]+$")
_UNSURE_PIECE = re.compile("|".join(sorted({re.escape(term.split()[-1]) for term in _GLOSSARY})))


_is_none = partial(is_, None)


def chunk_tags(chunk: str) -> tuple[str, ...] | None:
    """Return the tags of a chunk without white space; None if they depend on the context or need the slow path."""
    folded = chunk if chunk.islower() else chunk.lower()
    if len(chunk) > LONG_CHUNK or not chunk.isascii() or _UNSURE_PIECE.search(folded):
        return None
    if folded.isalpha():
        return (folded,) if _is_quick_tag(folded) else ()
    if _COMPOUND.search(folded):
        return None
    return tuple(filter(_is_quick_tag, _ascii_words(folded)))


def concept_tags(text: str, limit: int = LIMIT, known: Iterable[tuple[str, ...] | None] = (None,)) -> tuple[str, ...]:
    """Return the concept tags of a text, at most eight. `known` are the `chunk_tags` of all its chunks, if computed."""
    most = max(min(limit, LIMIT), 0)
    found = _first_known(known, most) if len(text) <= SCANNED else None
    if found is None:
        found = _scanned(text[:SCANNED], most)
    return tuple(found)[:most]


def _first_known(known: Iterable[tuple[str, ...] | None], most: int) -> dict[str, None] | None:
    """Return at least the first `most` tags of the chunks; None if those of one chunk are not known."""
    found: dict[str, None] = {}
    every = list(known)
    if any(map(_is_none, every)):
        return None
    for tags in filter(None, every):
        for tag in tags:
            found[tag] = None
        if len(found) >= most:
            break
    return found


def _scanned(start: str, most: int) -> dict[str, None]:
    """Return at least the first `most` tags of a text: glossary words, then compounds, then plain words."""
    ascii_only = start.isascii()
    folded = start.lower() if ascii_only else unicodedata.normalize("NFKC", start)
    found = dict.fromkeys(_glossary(folded.lower()))
    if any(map(folded.__contains__, _JOINTS)):
        for chunk in folded.split():
            found.update(dict.fromkeys(_compounds(chunk)))
    if ascii_only:  # fast path, same result as below
        for word in filter(_is_quick_tag, _ascii_words(folded)):
            found[word] = None
            if len(found) >= most:
                break
        return found
    for chunk in folded.split():
        if len(found) >= most:
            break
        found.update(dict.fromkeys(_plain(chunk)))
    return found


def _ascii_words(folded: str) -> list[str]:
    return folded.encode().translate(_SPACES).decode().split()


def _is_quick_tag(word: str) -> bool:
    """Return `_says_something` for a word of ASCII letters and digits."""
    return word not in _NOISE and ((2 < len(word) <= LONGEST and not word.isdigit()) or word in _GLOSSARY)


def _glossary(folded: str) -> tuple[str, ...]:
    """Return the glossary words in a text, as tags."""
    if not any(map(folded.__contains__, _GLOSSARY)):
        return ()
    # Also inside other words (networking, gpt4o), except terms of two letters, which are inside too many.
    words = _WORD.findall(folded)
    return _tags(
        term for term in _GLOSSARY if term in folded and (len(term) > 2 or not term.isascii() or term in words)
    )


@lru_cache(65_536)
def _compounds(chunk: str) -> tuple[str, ...]:
    return _tags(_COMPOUND.findall(chunk))


@lru_cache(65_536)
def _plain(chunk: str) -> tuple[str, ...]:
    return _tags(_WORD.findall(chunk))


def _tags(candidates: Iterable[str]) -> tuple[str, ...]:
    """Normalise candidates to tags and drop noise."""
    tags = (_EDGES.sub("", candidate).replace("_", "-").lower() for candidate in candidates)
    return tuple(tag for tag in tags if _says_something(tag))


def _says_something(tag: str) -> bool:
    if not tag or len(tag.encode()) > LONGEST or tag.isdigit() or _DATE.fullmatch(tag) or tag in _NOISE:
        return False
    if _CJK.search(tag):
        return len(tag) >= (3 if _KANA.fullmatch(tag) else 2)
    return len(tag) >= 3 or tag in _GLOSSARY
