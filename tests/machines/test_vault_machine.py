"""A vault edited at random from both sides, compared with a model, and searched for text that was lost."""

import os
import re
import shutil
import tempfile
from itertools import count
from pathlib import Path

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

import recollect
from recollect import FixedClock, Rename, Write
from recollect.vault.sync import Vault

CATEGORIES = ["decisions", "lessons"]
FENCED = "code\n```\n## 2026-01-01T00:00\n```"
TEXTS = ["a", "a\n\n---", "---\nb", FENCED, "b\n<!-- id:5 -->", "x\r\ny", "#tag text", "<!-- c\n-->", "é\n\nz"]
TYPED = ["a", "a\n\n---\n\nb", FENCED, "#tag", "\\<!-- id:5 -->\n", "<!-- c\n-->"]
BLOCK = re.compile(r"^(?=<!-- id:\d+ -->\r?\n)", re.MULTILINE)
WORD = re.compile(r"w\d+w")
UNREAD = "line 2 is not read: a note starts with a heading such as `## 2026-03-16T14:32 · #tag`"


class VaultMachine(RuleBasedStateMachine):
    """The editor knows text only: it cuts files at the id comments. The model knows what each entry must say.

    Every text begins with a word that occurs nowhere else, and by that word it is known.
    """

    @initialize(newline=st.sampled_from(["\n", "\r\n"]))
    def start(self, newline: str) -> None:
        self.root = Path(tempfile.mkdtemp())
        self.clock, self.newline, self.numbers = FixedClock(), newline, count(1)
        self.home = recollect.open(self.root / "memory.db", clock=self.clock)
        self.mem = self.home.agent("ana")
        self.vault = self.opened()
        self.living: dict[str, tuple[str, str]] = {}
        """The word and the category of each entry by its id: what the library said last."""
        self.blocks: dict[int, str] = {}
        """Whose block a number in a file is."""
        self.typed: dict[str, tuple[str, str]] = {}
        """What was typed over the block of an entry since the last sync."""
        self.fresh: set[tuple[str, str]] = set()
        """What was typed as a new block since the last sync."""
        self.cut: set[str] = set()
        """The entries whose blocks were cut out since the last sync."""
        self.words: set[str] = set()
        """Every word that must not be lost."""
        for category in CATEGORIES:
            self.save(category, f"# {category}{newline}text{newline}")

    def opened(self) -> Vault:
        self.database = self.home._place.workspace("default")
        stores = self.home._store
        return Vault(
            self.root / "vault", lambda agent: stores("default", agent), self.database.admin.agents, self.clock
        )

    def teardown(self) -> None:
        if hasattr(self, "home"):
            findings = self.home.check().findings
            self.home.close()
            shutil.rmtree(self.root)
            assert findings == ()

    def text(self, rest: str) -> tuple[str, str]:
        word = f"w{next(self.numbers)}w"
        self.words.add(word)
        self.clock.advance(60_000)
        return word, f"{word} {rest}"

    # The library

    @rule(category=st.sampled_from(CATEGORIES), rest=st.sampled_from(TEXTS))
    def remember(self, category: str, rest: str) -> None:
        word, content = self.text(rest)
        self.living[self.mem.remember(content, category=category).id] = (word, category)

    @precondition(lambda self: self.living)
    @rule(data=st.data(), rest=st.sampled_from(TEXTS))
    def write(self, data: st.DataObject, rest: str) -> None:
        chosen = data.draw(st.sampled_from(sorted(self.living)))
        word, content = self.text(rest)
        self.mem.apply(Write(chosen, content=content, origin="user"))
        self.living[chosen] = (word, self.living[chosen][1])

    @precondition(lambda self: self.living)
    @rule(data=st.data())
    def move(self, data: st.DataObject) -> None:
        chosen = data.draw(st.sampled_from(sorted(self.living)))
        word, category = self.living[chosen]
        other = CATEGORIES[1 - CATEGORIES.index(category)]
        if chosen not in self.cut:
            self.mem.apply(Write(chosen, category=other))
            self.living[chosen] = (word, other)

    @precondition(lambda self: self.living)
    @rule(data=st.data())
    def rename(self, data: st.DataObject) -> None:
        self.mem.apply(Rename(data.draw(st.sampled_from(sorted(self.living))), f"name {next(self.numbers)}"))

    @precondition(lambda self: self.living)
    @rule(data=st.data())
    def forget(self, data: st.DataObject) -> None:
        chosen = data.draw(st.sampled_from(sorted(self.living)))
        self.mem.forget(chosen)
        del self.living[chosen]
        self.cut.discard(chosen)

    # The editor

    def path(self, category: str) -> Path:
        return self.root / "vault" / "ana" / f"{category}.md"

    def load(self, category: str) -> list[str]:
        path = self.path(category)
        return BLOCK.split(path.read_bytes().decode()) if path.exists() else [""]

    def save(self, category: str, text: str) -> None:
        path = self.path(category)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode())
        moment = next(self.numbers) * 1_000_000_000  # every save has a time of its own, however fast it comes
        os.utime(path, ns=(moment, moment))

    def chosen(self, data: st.DataObject, parts: list[str], least: int) -> tuple[int, str] | None:
        """A block with an id, and its entry."""
        places = [place for place, part in enumerate(parts) if part.startswith("<!-- id:")]
        if len(places) < least:
            return None
        place = data.draw(st.sampled_from(places))
        return place, self.blocks[int(re.findall(r"\d+", parts[place])[0])]

    def unread(self, word: str) -> bool:
        return word in {said for said, _ in [*self.typed.values(), *self.fresh]}

    @rule(
        category=st.sampled_from(CATEGORIES),
        rest=st.sampled_from(TYPED),
        ending=st.sampled_from(["", "\n", "\n\n---\n"]),
    )
    def type_a_new_block(self, category: str, rest: str, ending: str) -> None:
        whole = "".join(self.load(category))
        word, content = self.text(rest)
        self.fresh.add((word, category))
        before = "" if whole.endswith("\n") else "\n"
        day = 1 + next(self.numbers) % 28
        block = f"{before}\n## 2026-02-{day:02}T10:00\n\n{content}{ending}"
        self.save(category, whole + block.replace("\n", self.newline))

    @rule(category=st.sampled_from(CATEGORIES), rest=st.sampled_from(TYPED), data=st.data())
    def type_over_a_block(self, category: str, rest: str, data: st.DataObject) -> None:
        parts = self.load(category)
        found = self.chosen(data, parts, 1)
        if found is None:
            return
        place, entry_id = found
        old = WORD.findall(parts[place])[0]
        if self.unread(old):
            self.words.discard(old)  # an edit replaces a text that was not read yet
        word, content = self.text(rest)
        # The first line is replaced, and what stands below it stays.
        parts[place] = re.sub(rf"{old}[^\r\n]*", lambda _: content.replace("\n", self.newline), parts[place], count=1)
        self.typed[entry_id] = (word, category)
        self.save(category, "".join(parts))

    @rule(category=st.sampled_from(CATEGORIES), data=st.data())
    def cut_a_block_out(self, category: str, data: st.DataObject) -> None:
        parts = self.load(category)
        found = self.chosen(data, parts, 2)  # a file that loses its last block is not believed
        if found is None:
            return
        place, entry_id = found
        for word in WORD.findall(parts.pop(place)):
            if self.unread(word):
                self.words.discard(word)
                self.fresh.discard((word, category))
        self.typed.pop(entry_id, None)
        if self.living.get(entry_id, ("", ""))[1] == category:
            self.cut.add(entry_id)
        self.save(category, "".join(parts))

    @precondition(lambda self: not (self.typed or self.fresh or self.cut))
    @rule(category=st.sampled_from(CATEGORIES), again=st.booleans())
    def lose_the_file(self, category: str, again: bool) -> None:
        self.path(category).unlink(missing_ok=True)
        self.sync(again)

    @precondition(lambda self: not (self.typed or self.fresh or self.cut))
    @rule(category=st.sampled_from(CATEGORIES), rest=st.sampled_from(TYPED))
    def write_the_file_without_reading_it(self, category: str, rest: str) -> None:
        if len(self.load(category)) > 2:
            self.save(category, "")
            self.type_a_new_block(category, rest, "\n")

    # Together

    @rule(again=st.booleans())
    def sync(self, again: bool) -> None:
        if again:
            self.vault = self.opened()
        problems = {one.message for one in self.vault.sync().problems}
        assert problems <= {UNREAD}
        for entry_id in self.cut - self.typed.keys():
            del self.living[entry_id]
        self.living.update(self.typed)
        found = {entry.id: entry for entry in self.mem.list(limit=1_000)}
        said = {entry_id: (entry.content.split()[0], str(entry.category)) for entry_id, entry in found.items()}
        new = {entry_id: what for entry_id, what in said.items() if entry_id not in self.living}
        assert sorted(new.values()) == sorted(self.fresh)
        self.living.update(new)
        assert said == self.living
        assert not self.vault.sync()
        for category in CATEGORIES:
            shown = WORD.findall("".join(self.load(category)))
            assert sorted(shown) == sorted(word for word, where in self.living.values() if where == category)
        self.blocks = {entry.vault_id: entry_id for entry_id, entry in found.items() if entry.vault_id}
        self.typed, self.fresh, self.cut = {}, set(), set()

    @invariant()
    def nothing_is_lost(self) -> None:
        if hasattr(self, "home"):
            with self.home._store("default", "ana").read() as tx:
                log = str(tx.all("operations.after", seq=0, limit=100_000))
            files = "".join("".join(self.load(category)) for category in CATEGORIES)
            assert self.words <= {*WORD.findall(log), *WORD.findall(files)}


def test_a_vault_edited_from_both_sides_agrees_with_a_model_and_loses_nothing() -> None:
    run_state_machine_as_test(VaultMachine, settings=settings(max_examples=60, stateful_step_count=25, deadline=None))
