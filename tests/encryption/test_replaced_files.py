"""Opening a file while it is replaced by its encrypted or decrypted copy, and after such a replacement was killed."""

from __future__ import annotations

import os
from pathlib import Path

import apsw
import pytest

import recollect
from recollect.storage.sqlite import opening


def home_with(path: Path, sentence: str) -> None:
    with recollect.open(path) as home:
        home.agent("ana").remember(sentence)


def test_a_file_that_is_replaced_while_it_is_opened_is_opened_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    old, new = tmp_path / "memory.db", tmp_path / "new.db"
    home_with(old, "old")
    home_with(new, "new")

    def replace(connection: apsw.Connection) -> None:
        if connection.filename == str(old) and new.exists():
            os.replace(new, old)  # after the file was opened, before it is read

    monkeypatch.setattr(apsw, "connection_hooks", [replace])
    with recollect.open(old) as home:
        assert [entry.content for entry in home.agent("ana").list()] == ["new"]
        home.agent("ana").remember("written to the new file")
    with recollect.open(old) as home:
        assert len(home.agent("ana").list()) == 2


def test_a_file_whose_conversion_was_killed_gets_its_log_back(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    home_with(path, "kept")
    killed = apsw.Connection(str(path))
    killed.pragma("journal_mode", "delete")
    killed.close()
    with recollect.open(path) as home:
        assert [entry.content for entry in home.agent("ana").list()] == ["kept"]
    connection = opening.connect(path)
    assert connection.pragma("journal_mode") == "wal"
    connection.close()
