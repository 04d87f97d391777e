"""Summarise turns of a conversation: when they leave the window, and when the conversation ends.

Pure functions: a model proposes, the result is returned, nothing is written. Without a model, sentences are extracted.

How turns are sent. Size is counted in UTF-8 bytes, three per token: conservative for English, about right for scripts
of three bytes per character. A quarter of the model's context holds the document, half the turns, the rest instructions
and answer. Turns that do not fit are sent in several calls, each with the document that the previous call produced; the
result is one delta from the first document to the last. The model sees turns by number, not by hash: it could not copy
64 digits reliably, and an invented number is easily detected. Turns are fenced, so none can contain another.

Model output that is too long is truncated rather than refused, because the same turns would produce the same answer
next time and never leave the window. Only an answer of the wrong shape is an error.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from recollect import fencing, statements, text
from recollect.errors import ConfigError, Invalid, Unavailable
from recollect.model.working import (
    FACTS,
    KEY_LENGTH,
    MODES,
    REFERENCES,
    SUMMARY_LENGTH,
    VALUE_LENGTH,
    Delta,
    Fact,
    SummaryDocument,
)
from recollect.providers import extractive
from recollect.providers.base import LanguageModel, complete, json_object, prompt

__all__ = ["Closing", "Folding", "SummaryTurn", "close", "fold"]

CONTEXT_TOKENS = 8_192
"""Default context size of a model, in tokens."""
SMALLEST_CONTEXT = 2_048
"""Minimum context size; with less, the instructions leave no room for turns."""
BYTES_PER_TOKEN = 3
TOOL_BYTES = 1_024
"""Maximum UTF-8 bytes of a tool result that are sent to the model."""
TRUNCATED = "... [truncated]"
ARCHIVE = 4_000
"""Maximum characters of an archive without a model, and of a document's summary before it is shortened."""
UPDATE = 1_000
"""Maximum characters that one fold without a model adds to a document."""
SHORTENED = 2_000
"""Maximum characters of a shortened document summary, and of a closing summary without a model."""
ANSWER = 8_000
"""Maximum characters kept of a summary that a model writes."""


@dataclass(frozen=True, slots=True)
class SummaryTurn:
    """One event of a conversation, as input to a summary; `role` is user, assistant, tool or system."""

    role: str
    text: str
    hash: str


@dataclass(frozen=True, slots=True)
class Folding:
    """The result of a fold: archive text, delta to the summary document; `by` is "model" or "fallback"."""

    archive: str
    delta: Delta
    by: str


@dataclass(frozen=True, slots=True)
class Closing:
    """The closing summary of a conversation with its insights; `by` is "model" or "fallback"."""

    summary: str
    decisions: tuple[str, ...]
    lessons: tuple[str, ...]
    by: str


def _object(**fields: object) -> dict[str, object]:
    """Return the JSON schema of an object with exactly these fields."""
    return {"type": "object", "properties": fields, "required": list(fields), "additionalProperties": False}


def _array(items: object) -> dict[str, object]:
    """Return the JSON schema of a list of at most 20 items: a weak model may never end an unbounded one."""
    return {"type": "array", "items": items, "maxItems": 20}


_QUOTE = re.compile(r"((?:user|assistant|system): )?(.+)")
_TEXT = {"type": "string"}
_NUMBER = {"type": "integer", "minimum": 0}
_FOLDING = _object(
    archive=_TEXT,
    memory_delta=_object(
        mode={"type": "string", "enum": list(MODES)},
        summary_update=_TEXT,
        add_fact=_array(_object(key=_TEXT, value=_TEXT, source_event=_NUMBER)),
        remove_fact=_array(_TEXT),
        add_references=_array(_NUMBER),
        remove_references=_array(_TEXT),
    ),
)
_CLOSING = _object(summary=_TEXT, decisions=_array(_TEXT), lessons=_array(_TEXT))


def fold(
    model: LanguageModel | None,
    document: SummaryDocument,
    turns: Sequence[SummaryTurn],
    *,
    context_tokens: int = CONTEXT_TOKENS,
) -> Folding:
    """Summarise turns that leave the window into an archive's text and a delta to the lane's document.

    Raises Unavailable if the model fails, is misconfigured or returns a malformed answer; the caller should then change
    nothing.
    """
    if not turns:
        raise Invalid("there are no turns to summarise")
    if model is None:
        return _fold_without_model(document, turns)
    room = max(context_tokens, SMALLEST_CONTEXT) * BYTES_PER_TOKEN
    after = document
    archives = []
    for batch in _batches(turns, room // 2):
        memory = _cut(after.render() or "(empty)", room // 4)
        content = f"The memory as it is now:\n\n{memory}\n\nThe turns that leave:\n\n" + "\n\n".join(batch)
        answer = _ask(model, "fold", content, _FOLDING)
        archives.append(_prose(answer, "archive", SUMMARY_LENGTH))
        after = after.apply(_delta(_field(answer, "memory_delta", dict), after, turns))
    return Folding("\n\n".join(archives), _difference(document, after), "model")


def close(
    model: LanguageModel | None,
    turns: Sequence[SummaryTurn],
    *,
    timeout: float = 30.0,
    context_tokens: int = CONTEXT_TOKENS,
    known: Callable[[str, str], bool] = lambda category, line: False,
    by: str = "sentences",
) -> Closing:
    """Summarise a conversation that ends. Falls back to extraction if the model fails or exceeds `timeout`.

    Decisions and lessons are found by their words (see `statements`); a model may add others. Those that are `known`,
    by category and text, are omitted.
    """
    found = statements.insights(((turn.role, turn.text) for turn in turns), wide=True, known=known, by=by)
    if model is not None and turns:
        room = max(context_tokens, SMALLEST_CONTEXT) * BYTES_PER_TOKEN // 2
        try:
            answer = _ask(model, "close", "\n\n".join(_shortened(turns, room)), _CLOSING, timeout)
            decisions = _joined(found.decisions, _strings(answer, "decisions"))
            lessons = _joined(found.lessons, _strings(answer, "lessons"))
            decided = set(map(text.normalise, decisions))
            return Closing(
                summary=_prose(answer, "summary", ANSWER),
                decisions=tuple(one for one in decisions if not known("decisions", one)),
                lessons=tuple(
                    one for one in lessons if not known("lessons", one) and text.normalise(one) not in decided
                ),
                by="model",
            )
        except Unavailable:
            pass  # use the extractive summary below
    said = _said(turns)
    return Closing(extractive.summarise(said, SHORTENED) if said else "", found.decisions, found.lessons, "fallback")


# Without a model


def _fold_without_model(document: SummaryDocument, turns: Sequence[SummaryTurn]) -> Folding:
    """Extract sentences, each prefixed with its role: a user's quote must never read as an instruction."""
    leads, said = _quotes(turns)
    update = extractive.summarise(said, UPDATE, leads)
    if len(document.summary) + len(update) + 2 < ARCHIVE:
        delta = Delta("append", update)
    else:
        delta = Delta("overwrite", _shortened_quotes(f"{document.summary}\n{update}", SHORTENED))
    return Folding(extractive.summarise(said, ARCHIVE, leads), delta, "fallback")


def _said(turns: Sequence[SummaryTurn]) -> list[str]:
    """Return the texts of all roles but tool: tool results may contain secrets, and summaries are indexed."""
    return _quotes(turns)[1]


def _quotes(turns: Sequence[SummaryTurn]) -> tuple[list[str], list[str]]:
    """Return a role prefix for each text, and the texts."""
    said = [(f"{turn.role}: ", words) for turn in turns if turn.role != "tool" and (words := _storable(turn.text))]
    if turns and not said:
        said = [("", f"{len(turns)} turn(s) without words, kept in the journal.")]
    return [lead for lead, _ in said], [words for _, words in said]


def _shortened_quotes(summary: str, most: int) -> str:
    """Shorten a summary to `most` characters; sentences of a line with a role prefix keep the prefix."""
    lines = [_QUOTE.match(line) for line in summary.splitlines()]
    quotes = [(line[1] or "", line[2]) for line in lines if line is not None]
    return extractive.summarise([words for _, words in quotes], most, [lead for lead, _ in quotes])


# What is sent


def _ask(
    model: LanguageModel, name: str, content: str, schema: Mapping[str, object], timeout: float | None = None
) -> dict[str, object]:
    """Return the JSON object that the model answers; raise Unavailable."""
    messages = [{"role": "system", "content": prompt(name)}, {"role": "user", "content": content}]
    try:
        return json_object(complete(model, messages, schema=schema, timeout=timeout))
    except ConfigError as error:
        raise Unavailable(str(error)) from error


def _batches(turns: Sequence[SummaryTurn], room: int) -> Iterator[list[str]]:
    """Yield the formatted turns in order, in batches of at most `room` bytes; a turn that is too long is split."""
    batch: list[str] = []
    used = 0
    for number, turn in enumerate(turns, start=1):
        for line in _lines(number, turn, room):
            size = len(_bytes(line)) + 2
            if batch and used + size > room:
                yield batch
                batch, used = [], 0
            batch.append(line)
            used += size
    yield batch


def _lines(number: int, turn: SummaryTurn, room: int) -> Iterator[str]:
    """Yield a turn as one or more lines with its number and role, each at most `room` bytes."""
    label = f"[{number}] {turn.role}: "
    rest = _bytes(fencing.behind_label(_cut(turn.text, TOOL_BYTES) if turn.role == "tool" else turn.text))
    while True:
        piece = rest[: room - len(_bytes(label)) - 2].decode(errors="ignore")
        yield label + piece
        rest = rest[len(_bytes(piece)) :]
        if not rest:
            return


def _shortened(turns: Sequence[SummaryTurn], room: int) -> list[str]:
    """Format the turns within `room` bytes: the newest in full, the others as extracted sentences."""
    lines = [line for number, turn in enumerate(turns, start=1) for line in _lines(number, turn, room // 2)]
    sizes = [len(_bytes(line)) + 2 for line in lines]
    if sum(sizes) <= room:
        return lines
    kept, used = len(lines), 0
    while kept and used + sizes[kept - 1] <= room // 2:
        kept -= 1
        used += sizes[kept]
    newest = lines[kept:]
    older = fencing.quoted(extractive.summarise(lines[:kept], room // 2))
    return ["The older part, shortened:", _cut(older, room // 2 - 100), "The newest part:", *newest]


def _bytes(content: str) -> bytes:
    return content.encode(errors="replace")


def _cut(content: str, most: int) -> str:
    """Truncate a text to `most` bytes, with a marker if it was longer."""
    whole = _bytes(content)
    return content if len(whole) <= most else whole[:most].decode(errors="ignore") + TRUNCATED


# What came back


def _field(answer: Mapping[str, object], name: str, kind: type) -> Any:
    """Return a field of a model's answer; raise Unavailable if it is missing or of another type."""
    value = answer.get(name)
    if not isinstance(value, kind):
        raise Unavailable(f"the model's answer has {type(value).__name__} for {name!r}; expected {kind.__name__}")
    return value


def _prose(answer: Mapping[str, object], name: str, most: int) -> str:
    """Return a summary of a model's answer; raise Unavailable if it contains no letter."""
    written = _clean(_field(answer, name, str), most)
    if not any(map(str.isalpha, written)):
        raise Unavailable(f"the model wrote {written[:80]!r} as {name}; expected sentences: use another model")
    return written


def _strings(answer: Mapping[str, object], name: str) -> list[str]:
    return [value for value in _field(answer, name, list) if isinstance(value, str)]


def _clean(content: str, most: int) -> str:
    """Return a model's text in storable form, shortened to `most` characters."""
    cleaned = _storable(content)
    return cleaned if len(cleaned) <= most else extractive.summarise([cleaned], most)


def _storable(content: str) -> str:
    """Return the text as valid Unicode without NUL, stripped."""
    return _bytes(content).decode().replace("\0", "").strip()


def _delta(answer: Mapping[str, Any], document: SummaryDocument, turns: Sequence[SummaryTurn]) -> Delta:
    """Convert a model's delta to one that fits the document: new facts and references evict the oldest.

    Turn numbers become hashes. Items that name an unknown turn, fact or reference are ignored.
    """
    mode = _field(answer, "mode", str)
    if mode not in MODES:
        raise Unavailable(f"the model's delta has the mode {mode[:80]!r}; expected one of {', '.join(MODES)}")
    update = _clean(_field(answer, "summary_update", str), ANSWER)
    if mode == "append" and len(document.summary) + len(update) + 2 > SUMMARY_LENGTH:
        mode, update = "overwrite", extractive.summarise([document.summary, update], SUMMARY_LENGTH // 2)
    facts = _facts(_field(answer, "add_fact", list), turns)
    events = dict.fromkeys(found for one in _field(answer, "add_references", list) if (found := _hash(one, turns)))
    added = list(events)[:REFERENCES]
    keys = [fact.key for fact in document.facts]
    return Delta(
        mode=mode,
        summary_update=update or None,  # a blank update would clear the summary
        add_references=tuple(added),
        remove_references=(
            *_known(document.referenced_sessions, _strings(answer, "remove_references")),
            *_leaving(document.referenced_events, _strings(answer, "remove_references"), added, REFERENCES),
        ),
        add_fact=tuple(facts.values()),
        remove_fact=_leaving(keys, _strings(answer, "remove_fact"), facts, FACTS),
    )


def _facts(proposed: Iterable[object], turns: Sequence[SummaryTurn]) -> dict[str, Fact]:
    """Return the facts that a model proposes by key, truncated to the limits of a document."""
    facts: dict[str, Fact] = {}
    for one in proposed:
        if not isinstance(one, dict):
            raise Unavailable(f"the model's answer has a fact of type {type(one).__name__}; expected an object")
        key = _clean(" ".join(_field(one, "key", str).split()), SUMMARY_LENGTH)[:KEY_LENGTH].strip()
        value = _clean(_field(one, "value", str), VALUE_LENGTH)
        if key.isprintable() and key and value and len(facts) < FACTS:
            facts[key] = Fact(key, value, _hash(one.get("source_event"), turns))
    return facts


def _hash(number: object, turns: Sequence[SummaryTurn]) -> str | None:
    """Return the hash of the turn with this number, or None."""
    if isinstance(number, int) and 1 <= number <= len(turns):
        return turns[number - 1].hash
    return None


def _known(old: Iterable[str], removed: Iterable[str]) -> list[str]:
    gone = set(removed)
    return [one for one in old if one in gone]


def _leaving(old: Sequence[str], removed: Iterable[str], added: Collection[str], most: int) -> tuple[str, ...]:
    """Return the old items to remove: those in `removed`, and the oldest that exceed `most` with those added."""
    gone = _known(old, removed)
    staying = [one for one in old if one not in gone and one not in added]
    return (*gone, *staying[: max(len(staying) + len(added) - most, 0)])


def _difference(before: SummaryDocument, after: SummaryDocument) -> Delta:
    """Return the delta between two documents."""
    mode, update = "overwrite", after.summary
    if not before.summary or after.summary.startswith(before.summary + "\n\n"):
        mode, update = "append", after.summary[len(before.summary) :].strip()
    old = (*before.referenced_sessions, *before.referenced_events)
    new = (*after.referenced_sessions, *after.referenced_events)
    keys = {fact.key for fact in after.facts}
    return Delta(
        mode=mode if after.summary != before.summary else "append",
        summary_update=update if after.summary != before.summary else None,
        add_references=tuple(one for one in new if one not in old),
        remove_references=tuple(one for one in old if one not in new),
        add_fact=tuple(fact for fact in after.facts if fact not in before.facts),
        remove_fact=tuple(fact.key for fact in before.facts if fact.key not in keys),
    )


def _joined(found: Sequence[str], proposed: Sequence[str]) -> tuple[str, ...]:
    """Merge found and proposed insights, within the same limits and without duplicates."""
    cut = (statements.within(_clean(" ".join(one.split()), SUMMARY_LENGTH)) for one in proposed)
    kept = {text.normalise(one): one for one in found}
    for one in cut:
        if len(one) > statements.LINE:
            kept.setdefault(text.normalise(one), one)
    return tuple(kept.values())[: statements.MOST]
