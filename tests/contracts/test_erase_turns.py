"""Erasing a turn removes its text and what was derived from it; the hash chain goes on, and the rest is still found."""

import gzip
from pathlib import Path

import pytest
from traces import in_tables, left_of, on_disk, on_server

import recollect
from recollect import Conversation, Home, Memory, Receipt

SECRET = "zqhunterbb"
TOLD = f"the database password is {SECRET}, keep it for the migration"
DECISION = f"We decided to rotate {SECRET} every week."


@pytest.fixture
def places(location: str, request: pytest.FixtureRequest) -> "Places":
    """Where a text could be left: the files of the databases, the tables and an export."""
    return Places(location, request)


class Places:
    """Reads every byte that a home keeps."""

    def __init__(self, location: str, request: pytest.FixtureRequest) -> None:
        self.location, self._request = location, request

    def holding(self, home: Home, words: list[str], tmp_path: Path) -> list[str]:
        """Return the words that a table, a file of the database, a file of the vault or an export contains."""
        export = tmp_path / f"export-{len(list(tmp_path.glob('export-*')))}.jsonl.gz"
        home.export(export)
        found = left_of(words, in_tables(self.location)) + left_of(words, gzip.decompress(export.read_bytes()))
        if "://" in self.location:
            return found + left_of(words, on_server(self._request.getfixturevalue("postgres_server"), self.location))
        files = b"".join(path.read_bytes() for path in Path(self.location).rglob("*.md"))
        return found + left_of(words, on_disk(self.location)) + left_of(words, files)


def figures(receipt: Receipt) -> dict[str, int]:
    """What a receipt says was removed, by place."""
    return {erased.place: erased.removed for erased in receipt.removed}


def rewritten(receipt: Receipt) -> dict[str, int]:
    """What a receipt says was rewritten, by place."""
    return {one.place: one.rewritten for one in receipt.rewritten}


def talk(mem: Memory) -> tuple[Conversation, recollect.Event]:
    """A conversation in which a user pastes a password, and the turn in which that happens."""
    conv = mem.conversations.start()
    conv.user("we plan the move to the new harbour office")
    conv.assistant("We decided to move on a Tuesday because the quay is quiet then.")
    told = conv.user(TOLD)
    conv.assistant("Noted, the lighthouse migration can start.")
    conv.user("which crane do we rent?")
    conv.assistant("We will use the yellow crane.")
    return conv, told


def test_a_pasted_password_is_gone_from_every_byte_and_the_other_turns_are_found(
    home: Home, mem: Memory, places: Places, tmp_path: Path
) -> None:
    conv, told = talk(mem)
    conv.compact()
    conv.checkpoint()
    conv.end()
    mem.recall(f"is {SECRET} the password?")
    home.flush()
    assert SECRET in str(conv.summary()) + str(conv.info.closing_summary)
    assert places.holding(home, [SECRET], tmp_path)

    receipt = conv.erase(told)

    assert places.holding(home, [SECRET], tmp_path) == []
    assert mem.recall(SECRET) == []
    assert mem.conversations.search(SECRET) == []
    assert home.check().findings == ()
    assert home.check().erased == 1
    assert figures(receipt)["turns"] == 1
    assert rewritten(receipt)["chunks"] == 1
    assert receipt.events == (told.seq,)
    assert next(turn.event.content for turn in mem.conversations.search("lighthouse migration")).startswith("Noted")
    assert "yellow crane" in mem.recall("which crane")[0].entry.content
    assert "quay" in conv.summary().summary
