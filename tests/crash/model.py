"""What must be in a memory after acknowledged writes: the plain Python picture that the real one is compared with."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

import recollect

__all__ = ["Expected", "Note", "Step", "fact", "problems", "word"]


def word(number: int) -> str:
    """A word that stands for a number, found by no other: no vowels and no s, so that no stemmer touches it."""
    return "zx" + "".join("bcdfghjklm"[int(digit)] for digit in str(number))


def fact(key: int, version: int) -> str:
    """What a note says, with a word of its own in each version."""
    return f"the fact {word(key)} in its version {word(key)}q{word(version)}"


@dataclass(frozen=True)
class Step:
    """One operation on the note that a key stands for."""

    kind: str
    key: int
    content: str | None = None
    name: str | None = None


@dataclass(frozen=True)
class Note:
    """A note as it can be seen from outside."""

    content: str
    name: str | None
    aliases: frozenset[str]


@dataclass
class Expected:
    """The notes that were acknowledged, and the step that was under way when the writer ended, if any."""

    notes: dict[int, Note] = field(default_factory=dict)
    ids: dict[int, str] = field(default_factory=dict)
    gone: dict[int, str] = field(default_factory=dict)
    pending: Step | None = None

    def take(self, messages: Iterable[tuple[object, ...]]) -> int:
        """Follow a child's messages; how many steps were acknowledged."""
        acknowledged = 0
        for message in messages:
            if message[0] == "doing":
                assert isinstance(message[1], Step)
                self.pending = message[1]
            elif message[0] == "done":
                _, step, entry_id, _ = message
                assert isinstance(step, Step)
                self.ids[step.key] = str(entry_id)
                self._apply(step)
                self.pending = None
                acknowledged += 1
        return acknowledged

    def _apply(self, step: Step) -> None:
        self.notes = self._after(step)
        if step.kind == "forget":
            self.gone[step.key] = self.ids[step.key]

    def _after(self, step: Step) -> dict[int, Note]:
        notes = dict(self.notes)
        old = notes.pop(step.key, None)
        if step.kind == "add":
            notes[step.key] = Note(step.content or "", step.name, frozenset())
        elif step.kind == "write" and old:
            notes[step.key] = Note(step.content or "", old.name, old.aliases)
        elif step.kind == "rename" and old:
            aliases = old.aliases | ({old.name} if old.name else set())
            notes[step.key] = Note(old.content, step.name, aliases)
        return notes

    def settle(self, home: recollect.Home, agent: str = "ana") -> list[str]:
        """What is wrong with the memory; afterwards the step that was under way counts as done or as not done."""
        mem = home.agent(agent)
        found = {(entry.content, entry.name, frozenset(entry.aliases)): entry.id for entry in mem.list(limit=1_000_000)}
        choices = [self.notes] if self.pending is None else [self.notes, self._after(self.pending)]
        fitting = [
            notes for notes in choices if {(n.content, n.name, n.aliases) for n in notes.values()} == found.keys()
        ]
        if not fitting:
            wanted = {(note.content, note.name, note.aliases) for note in self.notes.values()}
            return [
                f"lost: {sorted(map(str, wanted - found.keys()))}; "
                f"not expected: {sorted(map(str, found.keys() - wanted))}; under way: {self.pending}"
            ]
        if self.pending is not None and fitting[0] is not self.notes:
            note = fitting[0].get(self.pending.key)
            if note is not None:
                self.ids[self.pending.key] = found[note.content, note.name, note.aliases]
            self._apply(self.pending)
        self.pending = None
        return problems(home, self, agent)


def problems(home: recollect.Home, expected: Expected, agent: str = "ana") -> list[str]:
    """Where the check, the search or a single read differs from what is expected."""
    mem = home.agent(agent)
    found = [f"check: {finding.part}: {finding.message}" for finding in home.check().findings]
    for key, note in expected.notes.items():
        entry = mem.get(expected.ids[key])
        if (entry.content, entry.name) != (note.content, note.name):
            found.append(f"{key} reads {entry.name!r}: {entry.content!r}")
    for key in list(expected.notes)[-40:]:
        # The last word of the content is that of its present version.
        last = expected.notes[key].content.split(" and a long tail")[0].split()[-1]
        hits = [hit.entry.id for hit in mem.recall(last, limit=5)]
        if hits != [expected.ids[key]]:
            found.append(f"a search for {last} of {key} finds {hits}")
    for key, entry_id in list(expected.gone.items())[-40:]:
        try:
            mem.get(entry_id)
            found.append(f"{key} was forgotten, but is there")
        except recollect.NotFound:
            pass
        if mem.recall(word(key)):
            found.append(f"{key} was forgotten, but a search finds it")
    return found
