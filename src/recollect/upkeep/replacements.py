"""What a decision says that it replaces: "React instead of Angular" replaces Angular. Pure, and without a model.

`contradictions` compares statements about the same topic. A decision that replaces another may share only the name of
what it replaces with it, and says so in one of a few phrases, in English, Portuguese, Spanish and German.
"""

import re

from recollect import text

__all__ = ["replaced_in"]

_THING = r"(?P<thing>[^\s,.;:!?()]+(?: [^\s,.;:!?()]+){0,3}?)"
"""One to four words."""
_NEXT = "because|since|for|and|as|so|when|after|porque|pois|para|e|y|por|ya|weil|da|für|und|in|on|at|em|en"
_END = rf"(?=[,.;:!?()]|$| (?:{_NEXT})\b)"
_ARTICLE = "(?:(?:the|an?|os?|as|el|las?|los|der|die|das|dem|den|des|einem|einer) )?"
_PHRASES = [
    re.compile(phrase, re.IGNORECASE)
    for phrase in (
        rf"\b(?:instead of|rather than|in place of|em vez d[eoa]s?|ao invés d[eoa]s?|no lugar d[eoa]s?|en vez del?"
        rf"|en lugar del?|anstelle von|anstatt|statt) {_ARTICLE}{_THING}{_END}",
        rf"\b(?:switch|mov|migrat|chang)\w* (?:over )?from {_ARTICLE}{_THING} (?:over )?to\b",
        rf"\b(?:replac|swap)\w* {_ARTICLE}{_THING} (?:with|by|for)\b",
        rf"\b(?:mud|migr|troc|pass|cambi)\w* (?:de|do|da|del) {_ARTICLE}{_THING} (?:para|por|a)\b",
        rf"\b(?:substitu|troc|reemplaz|sustitu|cambi)\w* {_ARTICLE}{_THING} por\b",
        rf"\bvon {_ARTICLE}{_THING} (?:zu|auf|nach) [^.!?]{{1,60}}?(?:gewechselt|umgestiegen|umgestellt|umgezogen)\b",
        rf"\b(?:wechseln|wechselten|steigen|stiegen) von {_ARTICLE}{_THING} (?:zu|auf|nach)\b",
        r"(?P<thing>[\w.+#-]+) durch [^.!?]{1,60}? ersetz(?:t|en)\b",
    )
]


def replaced_in(older: str, newer: str) -> str | None:
    """Return what the newer text says that it replaces, if the older one is about it; None otherwise.

    An older text that replaces the same thing itself is not about it.
    """
    known = set(text.analyse(older))
    for thing, terms in _things(newer):
        if terms <= known and not any(terms <= others for _, others in _things(older)):
            return thing
    return None


def _things(written: str) -> list[tuple[str, set[str]]]:
    """Return what a text says that it replaces: the words, and their terms."""
    found = (match["thing"] for phrase in _PHRASES for match in phrase.finditer(written))
    return [(thing, terms) for thing in found if (terms := set(text.analyse(thing)))]
