"""Recognises standing rules and preferences: texts that hold whatever the task is ("never on a Friday").

Pure. A rule is found by its words, in English, Portuguese, German and Spanish. `QUERY` has the words by which an index
finds candidates; `is_rule()` decides. A report about the past ("it had never worked") is not a rule. `scope()` is what
a rule is for ("when I ask about sources").
"""

import re

__all__ = ["PHRASE", "QUERY", "is_rule", "scope"]

QUERY = (
    "always never prefer prefers preference forward sempre nunca prefiro prefere partir siempre prefiero prefiere "
    "adelante immer niemals nie bevorzuge bevorzugt sofort jetzt"
)
"""Words of which most rules have one."""
PHRASE = "from now on"
"""A rule that consists of stop words, which an index does not have."""

_RULE = re.compile(
    r"\b(?:always|never|from now on|going forward|prefers?|preference|"
    r"sempre|nunca|jamais|de agora em diante|daqui em diante|a partir de agora|prefir[oa]|preferimos|prefere[ms]?|"
    r"immer|nie|niemals|ab jetzt|ab sofort|von nun an|bevorzug(?:e|t|en)|"
    r"siempre|jam[aá]s|de ahora en adelante|a partir de ahora|prefier[oae]n?|preferimos)\b",
    re.IGNORECASE,
)
_PAST = re.compile(
    r"\b(?:has|have|had|was|were|did|could|would|i've|we've|they've|he's|she's|'ve)\s+(?:not\s+)?(?:always|never)\b"
    r"|\b(?:always|never)\s+(?:\w+ed|was|were|been|had|did|saw|knew|thought|felt|went|got|came|made|took|heard)\b"
    r"|\b(?:sempre|nunca)\s+(?:foi|foram|era|eram|tinha|tinham|houve|funcionou)\b"
    r"|\b(?:siempre|nunca)\s+(?:fue|fueron|era|eran|hab[ií]a|hubo|funcion[oó])\b"
    r"|\b(?:war|waren|hatte|hatten)\s+(?:\w+\s+)?(?:immer|nie|niemals)\b",
    re.IGNORECASE,
)


def is_rule(content: str) -> bool:
    """Return whether a text states a standing rule or a preference."""
    return _RULE.search(_PAST.sub(" ", content)) is not None


_SCOPE = re.compile(
    r"\b(?:(?:when|whenever|if|every time|each time) (?:i|we) (?:ask|inquire)(?: you)?(?: about| for)?"
    r"|(?:quando|se|sempre que)(?: eu)? (?:perguntar|pergunto|pedir|peço)(?: sobre| por)?"
    r"|(?:cuando|si|siempre que)(?: yo)? (?:pregunte|pregunto|pida|pido)(?: sobre| por)?"
    r"|(?:wenn|sobald) ich(?: dich)? (?:nach|um)) ([^\n.,;:!?]{1,200}?)(?: frage| bitte)?(?=[\n.,;:!?]|$)",
    re.IGNORECASE,
)


def scope(content: str) -> str | None:
    """Return what a rule is for, if it says so: "sources" of "Always use APA when I ask about sources"."""
    found = _SCOPE.search(content) if is_rule(content) else None
    return found[1] if found is not None else None
