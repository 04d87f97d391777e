"""The summary document of a lane and the deltas that change it. Pure values: an invalid delta changes nothing."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

from recollect import fencing, names
from recollect.errors import Corrupt, Invalid

__all__ = [
    "FACTS",
    "KEY_LENGTH",
    "MODES",
    "REFERENCES",
    "SUMMARY_LENGTH",
    "VALUE_LENGTH",
    "Delta",
    "Fact",
    "SummaryDocument",
]

MODES = ("append", "overwrite")
SUMMARY_LENGTH = 16_000
"""Maximum length of a summary in characters. The document is part of every prompt, so its size is bounded."""
FACTS = 200
"""Maximum number of facts in a document, and in one delta."""
KEY_LENGTH = 200
VALUE_LENGTH = 1_000
REFERENCES = 200
"""Maximum number of conversations, and of events, that a document references."""

_EVENT = re.compile(r"[0-9a-f]{64}\Z")
_CONVERSATION = re.compile(r"[0-9A-Za-z]{11}\Z")


@dataclass(frozen=True, slots=True)
class Fact:
    """A key and value to keep verbatim, and the hash of the event it comes from."""

    key: str
    value: str
    source_event: str | None = None

    def __post_init__(self) -> None:
        names.name(self.key, "key of a fact")
        _text(f"value of the fact {self.key!r}", self.value, VALUE_LENGTH)
        if len(self.key) > KEY_LENGTH or self.key != self.key.strip():
            raise Invalid(f"the key of a fact has at most {KEY_LENGTH} characters and no space around it: {self.key!r}")
        if self.source_event is not None and not _matches(_EVENT, self.source_event):
            raise Invalid(
                f"the source_event of the fact {self.key!r} is {str(self.source_event)[:80]!r}; give the hash of an "
                "event, 64 hexadecimal digits, or leave it out"
            )

    @classmethod
    def read(cls, value: object) -> Self:
        """Parse a fact from {"key": …, "value": …, "source_event": …}."""
        fields = _fields("fact", value, ("key", "value", "source_event"))
        key = fields.get("key")
        return cls(key.strip() if isinstance(key, str) else key, fields.get("value"), fields.get("source_event"))  # type: ignore[arg-type]


@dataclass(frozen=True, slots=True)
class Delta:
    """A change to a summary document. Removals apply before additions, so removing and adding a key replaces it.

    A `summary_update` of None keeps the summary; an empty one clears it in overwrite mode.
    """

    mode: str = "append"
    summary_update: str | None = None
    add_references: tuple[str, ...] = ()
    remove_references: tuple[str, ...] = ()
    add_fact: tuple[Fact, ...] = ()
    remove_fact: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.mode not in MODES:
            raise Invalid(f"the mode of a delta is {str(self.mode)[:80]!r}; use one of {', '.join(MODES)}")
        if self.summary_update is not None:
            _text("summary_update", self.summary_update, SUMMARY_LENGTH)
        for reference in _few("add_references", self.add_references, 2 * REFERENCES):
            if not (_matches(_EVENT, reference) or _matches(_CONVERSATION, reference)):
                raise Invalid(
                    f"add_references has {str(reference)[:80]!r}; give hashes of events (64 hexadecimal digits) or "
                    "ref codes of conversations (11 letters and digits)"
                )
        for text in _few("remove_references", self.remove_references, 2 * REFERENCES):
            names.plain("reference to remove", text, lines=True)
        for key in _few("remove_fact", self.remove_fact, FACTS):
            names.plain("key of a fact to remove", key, lines=True)
        _few("add_fact", self.add_fact, FACTS)

    @classmethod
    def read(cls, value: object) -> Self:
        """Parse a delta written by a model or a user: {"memory_delta": {…}} or the inner object.

        Raise Invalid if any part is invalid.
        """
        if isinstance(value, Mapping) and "memory_delta" in value:
            value = _fields("delta", value, ("memory_delta",))["memory_delta"]
        fields = _fields("memory_delta", value, cls.__slots__)
        return cls(
            mode=fields.get("mode", "append"),
            summary_update=fields.get("summary_update"),
            add_references=tuple(_list("add_references", fields.get("add_references"))),
            remove_references=tuple(_list("remove_references", fields.get("remove_references"))),
            add_fact=tuple(Fact.read(one) for one in _one_or_many(fields.get("add_fact"))),
            remove_fact=tuple(map(_fact_key, _one_or_many(fields.get("remove_fact")))),
        )


@dataclass(frozen=True, slots=True)
class SummaryDocument:
    """The summary that replaces, in a prompt, everything that has left the window of a lane."""

    summary: str = ""
    facts: tuple[Fact, ...] = ()
    referenced_sessions: tuple[str, ...] = ()
    referenced_events: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        _text("summary", self.summary, SUMMARY_LENGTH)
        _few("facts", self.facts, FACTS)
        for what, pattern, references in (
            ("referenced_sessions", _CONVERSATION, self.referenced_sessions),
            ("referenced_events", _EVENT, self.referenced_events),
        ):
            if not all(_matches(pattern, one) for one in _few(what, references, REFERENCES)):
                raise Invalid(f"the {what} of a summary document contain an invalid reference")

    def apply(self, delta: Delta) -> Self:
        """Return a new document with the delta applied; raise Invalid if it would be too large."""
        facts = {fact.key: fact for fact in self.facts if fact.key not in set(delta.remove_fact)}
        facts |= {fact.key: fact for fact in delta.add_fact}
        removed = set(delta.remove_references)

        def references(old: tuple[str, ...], pattern: re.Pattern[str]) -> tuple[str, ...]:
            kept = [one for one in old if one not in removed]
            return tuple(dict.fromkeys([*kept, *(one for one in delta.add_references if pattern.match(one))]))

        return type(self)(
            summary=self._summary(delta),
            facts=tuple(facts.values()),
            referenced_sessions=references(self.referenced_sessions, _CONVERSATION),
            referenced_events=references(self.referenced_events, _EVENT),
        )

    def _summary(self, delta: Delta) -> str:
        if delta.summary_update is None:
            return self.summary
        if delta.mode == "overwrite":
            return delta.summary_update.strip()
        return "\n\n".join(part for part in (self.summary, delta.summary_update.strip()) if part)

    def to_json(self) -> dict[str, Any]:
        """Return the document as JSON-serialisable values."""
        return {
            "summary": self.summary,
            "facts": [{"key": fact.key, "value": fact.value, "source_event": fact.source_event} for fact in self.facts],
            "referenced_sessions": list(self.referenced_sessions),
            "referenced_events": list(self.referenced_events),
        }

    @classmethod
    def read(cls, value: object) -> Self:
        """Parse the output of `to_json()`; raise Corrupt for anything else: only deltas change a document."""
        try:
            fields = _fields("summary document", value, cls.__slots__)
            return cls(
                summary=fields.get("summary", ""),
                facts=tuple(map(Fact.read, _list("facts", fields.get("facts")))),
                referenced_sessions=tuple(_list("referenced_sessions", fields.get("referenced_sessions"))),
                referenced_events=tuple(_list("referenced_events", fields.get("referenced_events"))),
            )
        except Invalid as error:
            raise Corrupt(f"the stored summary document cannot be read: {error}") from None

    def render(self) -> str:
        """Render the document for a prompt, with its text fenced; empty if the document is empty."""
        parts = [
            f"Summary of the conversation so far:\n{fencing.quoted(self.summary)}" if self.summary else "",
            _listed("Facts:", (fencing.one_line(f"{fact.key}: {fact.value}") for fact in self.facts)),
            _listed("Conversations to look up:", self.referenced_sessions),
            _listed("Events to look up:", self.referenced_events),
        ]
        return "\n\n".join(part for part in parts if part)


def _listed(heading: str, lines: Iterable[str]) -> str:
    written = [f"- {line}" for line in lines]
    return "\n".join([heading, *written]) if written else ""


def _matches(pattern: re.Pattern[str], value: object) -> bool:
    return isinstance(value, str) and pattern.match(value) is not None


def _text(what: str, value: object, most: int) -> str:
    """Return the value as storable text; raise Invalid if it is longer than `most` characters."""
    text = names.plain(what, value, lines=True)
    if len(text) > most:
        raise Invalid(f"the {what} has {len(text):,} characters; at most {most:,} are allowed: make it shorter")
    return text


def _few(what: str, values: Sequence[Any], most: int) -> Sequence[Any]:
    if len(values) > most:
        raise Invalid(f"the {what} are {len(values):,}; at most {most:,} are allowed: remove some")
    return values


def _fields(what: str, value: object, known: Sequence[str]) -> Mapping[str, Any]:
    """Return the fields of a JSON object; raise Invalid for an unknown field, whose content would be lost."""
    if not isinstance(value, Mapping):
        raise Invalid(f"a {what} must be a JSON object, not {type(value).__name__}")
    unknown = sorted(str(field)[:80] for field in value if field not in known)
    if unknown:
        raise Invalid(f"a {what} has no field {unknown[0]!r}; its fields are {', '.join(known)}")
    return value


def _list(what: str, value: object) -> Sequence[Any]:
    if value is None:
        return ()
    if not isinstance(value, list | tuple):
        raise Invalid(f"the {what} must be a list, not {type(value).__name__}")
    return value


def _fact_key(value: object) -> Any:
    """Return the key of a fact to remove, given as the key itself or as {"key": …}, with or without its value."""
    return _fields("fact", value, ("key", "value", "source_event")).get("key") if isinstance(value, Mapping) else value


def _one_or_many(value: object) -> Sequence[Any]:
    """Return a list unchanged, None as an empty sequence, and any other value as a sequence of one."""
    if value is None:
        return ()
    return value if isinstance(value, list | tuple) else (value,)
