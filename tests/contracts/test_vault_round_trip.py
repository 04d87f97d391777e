"""A folder of 2,000 notes as people have it: what goes into the memory and out again has the same bytes."""

import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from obsidian_vault import write_obsidian_vault

import recollect
from recollect.config import EmbedderSettings, Settings, VaultSettings

SETTINGS = Settings(embedder=EmbedderSettings(kind="none"), vault=VaultSettings(layout="notes"))
NOTES = 2_000


def markdown(folder: Path) -> Iterator[tuple[str, bytes]]:
    for path in sorted(folder.rglob("*.md")):
        if not any(part.startswith(".") for part in path.relative_to(folder).parts):
            yield path.relative_to(folder).as_posix(), path.read_bytes()


def as_written(content: bytes) -> bytes:
    """A file without the id that recollect adds, alone or in front matter of its own."""
    mark, text = (content[:3], content[3:]) if content.startswith(b"\xef\xbb\xbf") else (b"", content)
    alone = re.match(rb"---(\r?\n)recollect_id: [0-9a-f-]{36}\1---\1", text)
    rest = text[alone.end() :] if alone else re.sub(rb"(?m)^recollect_id: [0-9a-f-]{36}\r?\n", b"", text, count=1)
    return mark + rest


@pytest.mark.slow
@pytest.mark.parametrize(("location", "notes"), [("file", NOTES), ("postgres", NOTES // 4)], indirect=["location"])
def test_a_round_trip_of_a_vault_changes_no_byte_of_what_a_person_wrote(
    location: str, notes: int, tmp_path: Path
) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    written = write_obsidian_vault(first / "ana", notes)
    with recollect.open(location, settings=SETTINGS, vault=first) as home:
        report = home.vault().sync()
        assert {problem.message for problem in report.problems} <= {
            "line 5: the value of importance is not valid and is ignored",
            "line 4: the value of importance is not valid and is ignored",
        }
        assert report.added == len(written) == notes
        assert {path: as_written(content) for path, content in markdown(first / "ana")} == written
        assert not home.vault().sync().changed
        taken_in = dict(markdown(first / "ana"))
    with recollect.open(location, settings=SETTINGS, vault=second) as home:
        assert len(home.vault().sync().written) == notes
        exported = dict(markdown(second / "ana"))
        assert sorted(exported.values()) == sorted(taken_in.values())
        assert not home.vault().sync()
        edited = next(path for path, content in exported.items() if b"rating:   1" in content)
        (second / "ana" / edited).write_bytes(exported[edited].replace(b"is number", b"was number", 1))
        assert home.vault().sync().changed == 1
        assert dict(markdown(second / "ana")) == exported | {
            edited: exported[edited].replace(b"is number", b"was number", 1)
        }
    with recollect.open(location, settings=SETTINGS, vault=first) as home:
        report = home.vault().sync()
        assert (len(report.written), report.changed) == (1, 0)
        assert sorted(dict(markdown(first / "ana")).values()) == sorted(dict(markdown(second / "ana")).values())
    shutil.rmtree(second)
