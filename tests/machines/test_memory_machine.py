"""A memory under random operations, compared after each of them with a model of a few dictionaries."""

import shutil
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from itertools import count
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)
from postgres import Server

import recollect
from recollect import Add, Alias, Conflict, Entry, FixedClock, Home, NotFound, RecollectError, Remove, Rename, Write

NAMES = ["quartz", "Quartz", "basalt", "flint"]
WORDS = ["amber", "cobalt", "indigo", "sepia"]


@dataclass
class Note:
    """What the model knows of an entry."""

    content: str
    kind: str
    scope: str
    lifetime: str
    created: int
    updated: int
    name: str | None = None
    aliases: frozenset[str] = frozenset()
    tags: tuple[str, ...] = ()


@dataclass
class Model:
    """Living entries and the trash by id, in the order of removal, and the names of the operations on each."""

    living: dict[str, Note] = field(default_factory=dict)
    trash: dict[str, Note] = field(default_factory=dict)
    log: dict[str, list[str]] = field(default_factory=dict)
    erased: set[str] = field(default_factory=set)

    def find(self, target: str) -> str:
        for entry_id, note in self.living.items():
            if target in (entry_id, note.name) or target in note.aliases:
                return entry_id
        raise NotFound(target)

    def owner(self, name: str) -> str | None:
        return next((i for i, note in self.living.items() if name == note.name or name in note.aliases), None)

    def must_be_free(self, name: str | None) -> None:
        if name is not None and self.owner(name) is not None:
            raise Conflict(name)

    def rename(self, target: str, name: str, now: int) -> None:
        entry_id = self.find(target)
        note = self.living[entry_id]
        if note.name == name:
            return
        if self.owner(name) != entry_id:
            self.must_be_free(name)
        if note.name is not None:
            note.aliases |= {note.name}
        elif note.lifetime == "short_term":
            note.lifetime = "long_term"
        note.name, note.aliases, note.updated = name, note.aliases - {name}, now
        self.log[entry_id].append("rename")

    def alias(self, target: str, name: str) -> None:
        entry_id = self.find(target)
        owner = self.owner(name)
        if owner == entry_id:
            return
        if owner is not None:
            if self.living[owner].name == name:
                raise Conflict(name)
            self.living[owner].aliases -= {name}
        self.living[entry_id].aliases |= {name}
        self.log[entry_id].append("alias")

    def write(self, target: str, content: str, tags: tuple[str, ...] | None, now: int) -> None:
        entry_id = self.find(target)
        note = self.living[entry_id]
        if (content, note.tags if tags is None else tags) == (note.content, note.tags):
            return
        note.content, note.tags, note.updated = content, note.tags if tags is None else tags, now
        self.log[entry_id].append("write")

    def remove(self, target: str) -> None:
        entry_id = self.find(target)
        self.trash[entry_id] = self.living.pop(entry_id)
        self.log[entry_id].append("remove")

    def restore(self, target: str, name: str | None, now: int) -> None:
        chosen = [i for i, note in self.trash.items() if target in (i, note.name)]
        chosen = chosen or [i for i, note in self.trash.items() if target in note.aliases]
        if not chosen:
            living = self.find(target)
            if "remove" not in self.log[living]:
                raise NotFound(target)
            raise Conflict(target)
        note = self.trash[chosen[-1]]
        wanted = name or note.name
        self.must_be_free(wanted)
        aliases = frozenset(alias for alias in note.aliases if alias != wanted and self.owner(alias) is None)
        self.living[chosen[-1]] = replace(note, name=wanted, aliases=aliases, updated=now)
        del self.trash[chosen[-1]]
        self.log[chosen[-1]].append("add")

    def erase(self, entry_id: str) -> None:
        if entry_id in self.living:
            del self.living[entry_id]
            self.log[entry_id].append("remove")
        elif entry_id in self.trash:
            del self.trash[entry_id]
        elif "remove" not in self.log[entry_id]:
            raise NotFound(entry_id)
        self.erased.add(entry_id)


names = st.sampled_from(NAMES)
places = st.integers(0, 1_000)
contents = st.lists(st.sampled_from(WORDS), min_size=1, max_size=3).map(" ".join)
tags = st.lists(st.sampled_from(WORDS), max_size=2, unique=True).map(tuple)


class MemoryMachine(RuleBasedStateMachine):
    """One agent's memory and its model."""

    def __init__(self, place: Callable[[], tuple[str, str, Callable[[Home], None]]]) -> None:
        super().__init__()
        self.location, self.agent, self.clean = place()
        self.clock = FixedClock()
        self.model = Model()
        self.seqs: dict[str, int] = {}
        self.open()

    def open(self) -> None:
        self.home = recollect.open(self.location, clock=self.clock)
        self.mem = self.home.agent(self.agent)

    def teardown(self) -> None:
        try:
            assert self.home.check().findings == ()
        finally:
            self.clean(self.home)
            self.home.close()

    # What may happen

    def target(self, place: int) -> str:
        """A name, or the id of an entry that is or was there."""
        return (NAMES + list(self.model.log))[place % (len(NAMES) + len(self.model.log))]

    def both(self, real: Callable[[], object], model: Callable[[], object]) -> None:
        """The memory and its model do the same, or refuse for the same reason and change nothing."""
        expected: type[RecollectError] | None = None
        try:
            model()
        except RecollectError as error:
            expected = type(error)
        if expected is None:
            real()
        else:
            with pytest.raises(expected):
                real()

    def made(self, entry: Entry, note: Note) -> None:
        assert entry.id not in self.model.log
        self.model.living[entry.id], self.model.log[entry.id] = note, ["add"]
        self.seqs[entry.id] = entry.seq

    @initialize(content=contents)
    def a_first_entry(self, content: str) -> None:
        self.add(content, None, "note", "workspace", None)

    @rule(
        content=contents,
        name=st.none() | names,
        kind=st.sampled_from(["note", "note", "archive", "chunk"]),
        scope=st.sampled_from(["workspace", "workspace", "account"]),
        lifetime=st.sampled_from([None, "short_term"]),
    )
    def add(self, content: str, name: str | None, kind: str, scope: str, lifetime: str | None) -> None:
        asked = lifetime if kind == "note" and name is None else None
        draft = Add(content, name=name, kind=kind, scope=scope, lifetime=asked)
        if name is not None and self.model.owner(name) is not None:
            with pytest.raises(Conflict):
                self.mem.apply(draft)
            return
        lives = "mid_term" if kind == "chunk" else asked or "long_term"
        now = self.clock.now()
        self.made(self.mem.apply(draft), Note(content, kind, scope, lives, now, now, name))

    @rule(place=places, name=names)
    def rename(self, place: int, name: str) -> None:
        target = self.target(place)
        self.both(
            lambda: self.mem.apply(Rename(target, name)), lambda: self.model.rename(target, name, self.clock.now())
        )

    @rule(place=places, name=names)
    def alias(self, place: int, name: str) -> None:
        target = self.target(place)
        self.both(lambda: self.mem.apply(Alias(target, name)), lambda: self.model.alias(target, name))

    @rule(place=places, content=contents, tags=st.none() | tags)
    def write(self, place: int, content: str, tags: tuple[str, ...] | None) -> None:
        target = self.target(place)
        self.both(
            lambda: self.mem.apply(Write(target, content=content, tags=tags)),
            lambda: self.model.write(target, content, tags, self.clock.now()),
        )

    @rule(key=names, content=contents, tags=tags)
    def upsert(self, key: str, content: str, tags: tuple[str, ...]) -> None:
        owner = self.model.owner(key)
        if owner is not None and self.model.living[owner].kind != "note":
            with pytest.raises(Conflict):
                self.mem.upsert(key, content, tags=tags)
            return
        entry = self.mem.upsert(key, content, tags=tags)
        now = self.clock.now()
        if owner is None:
            self.made(entry, Note(content, "note", "workspace", "long_term", now, now, key, tags=tags))
        else:
            self.model.write(key, content, tags or None, now)

    @rule(place=places)
    def remove(self, place: int) -> None:
        target = self.target(place)
        self.both(lambda: self.mem.apply(Remove(target)), lambda: self.model.remove(target))

    @rule(place=places, name=st.none() | names)
    def restore_by_id(self, place: int, name: str | None) -> None:
        target = list(self.model.log)[place % len(self.model.log)]
        if target in self.model.erased:
            with pytest.raises(NotFound):
                self.mem.restore(target, name=name)
            return
        self.both(
            lambda: self.mem.restore(target, name=name),
            lambda: self.model.restore(target, name, self.clock.now()),
        )

    @rule(name=names)
    def restore_by_name(self, name: str) -> None:
        scopes = {note.scope for note in self.model.trash.values() if name in (note.name, *note.aliases)}
        if len(scopes) < 2:  # else it depends on where each scope is kept
            self.both(lambda: self.mem.restore(name), lambda: self.model.restore(name, None, self.clock.now()))

    @rule(place=places)
    def erase(self, place: int) -> None:
        target = list(self.model.log)[place % len(self.model.log)]
        self.both(lambda: self.mem.forget(target, erase=True), lambda: self.model.erase(target))

    @rule(milliseconds=st.integers(1, 100))
    def time_passes(self, milliseconds: int) -> None:
        self.clock.advance(milliseconds)

    @rule()
    def reopen(self) -> None:
        self.home.close()
        self.open()

    @precondition(lambda self: self.model.trash)
    @rule(content=contents)
    def replace_what_is_in_the_trash(self, content: str) -> None:
        name = next(iter(self.model.trash.values())).name
        self.add(content, name, "note", "workspace", None)

    # What must be so after each step

    @invariant()
    def everything_is_as_in_the_model(self) -> None:
        listed = self.mem.list(limit=1_000)
        assert {entry.id: as_note(entry) for entry in listed} == self.model.living
        assert listed == sorted(listed, key=lambda entry: (entry.created_at, entry.seq, entry.id), reverse=True)
        assert {entry.id: entry.seq for entry in listed}.items() <= self.seqs.items()
        by_id = {entry.id: entry for entry in listed}
        for name in NAMES:
            owner = self.model.owner(name)
            if owner is None:
                with pytest.raises(NotFound):
                    self.mem.get(name)
            else:
                assert self.mem.get(name) == by_id[owner]
        for entry_id, operations in self.model.log.items():
            revisions = self.mem.history(entry_id)
            assert [revision.operation for revision in revisions] == operations
            if entry_id in self.model.living:
                assert self.mem.get(entry_id) == by_id[entry_id]
            else:
                with pytest.raises(NotFound):
                    self.mem.get(entry_id)
            if entry_id in self.model.erased:
                assert all(not revision.before and not revision.after for revision in revisions)

    @invariant()
    def every_entry_is_found_by_its_words_and_only_by_them(self) -> None:
        for word in (*WORDS, "quartz", "flint"):
            # By content: of entries that say the same only the best is a hit.
            expected = {
                note.content
                for note in self.model.living.values()
                if word in {*note.content.split(), *note.tags, (note.name or "").lower()}
            }
            # Recorded, it would count as an access a moment later, while the entries are compared.
            assert {hit.entry.content for hit in self.mem.recall(word, limit=1_000, record=False)} == expected


def as_note(entry: Entry) -> Note:
    assert list(entry.aliases) == sorted(entry.aliases)
    return Note(
        content=entry.content,
        kind=entry.kind,
        scope=entry.scope,
        lifetime=entry.lifetime,
        created=entry.created_at,
        updated=entry.updated_at,
        name=entry.name,
        aliases=frozenset(entry.aliases),
        tags=entry.tags,
    )


def in_folder(name: str) -> tuple[str, str, Callable[[Home], None]]:
    folder = tempfile.mkdtemp(prefix="recollect-machine-")

    def clean(home: Home) -> None:
        home.close()
        shutil.rmtree(folder)

    return str(Path(folder) / name), "ana", clean


@pytest.fixture(scope="module")
def database_url(postgres_server: Server) -> Iterator[str]:
    url = postgres_server.fresh_database()
    yield url
    postgres_server.drop_database(url)


def test_a_single_file_behaves_like_the_model() -> None:
    run_state_machine_as_test(
        lambda: MemoryMachine(lambda: in_folder("memory.db")),
        settings=settings(max_examples=50, stateful_step_count=25),
    )


def test_a_directory_behaves_like_the_model() -> None:
    run_state_machine_as_test(
        lambda: MemoryMachine(lambda: in_folder("home")), settings=settings(max_examples=12, stateful_step_count=25)
    )


def test_postgresql_behaves_like_the_model(database_url: str) -> None:
    agents = count()

    def place() -> tuple[str, str, Callable[[Home], None]]:
        # A new agent each time: the account of an agent outlives its workspace.
        return database_url, f"ana{next(agents)}", lambda home: home.delete_workspace("default")

    run_state_machine_as_test(lambda: MemoryMachine(place), settings=settings(max_examples=5, stateful_step_count=20))
