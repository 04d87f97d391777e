"""What the tests of encryption share: the command line on the SQLite that encrypts, in processes of its own."""

from __future__ import annotations

import functools
import os
from pathlib import Path

import pytest
from surfaces.command import Command, Ended, environment
from surfaces.fork_server import ForkServer

import recollect

ROOT = Path(__file__).parents[2]
ENCRYPTION = ROOT / ".venv" / "encryption"
KEY = "0123456789abcdef" * 4


def python_path() -> str:
    """The search path that finds the SQLite that encrypts first, and this source."""
    assert ENCRYPTION.is_dir(), "make it with: python3 scripts/environment.py dev"
    return os.pathsep.join([str(ENCRYPTION), str(Path(recollect.__file__).parents[1])])


class EncryptingCommand(Command):
    """Run `recollect ARGS…` with apsw-sqlite3mc as its apsw. A key in what it prints fails the test."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder, encrypting_server)

    def __call__(self, *args: str | bytes, stdin: bytes = b"", code: int = 0, **changes: str) -> Ended:
        result = super().__call__(*args, stdin=stdin, code=code, **changes)
        for hidden in (KEY, KEY.encode().hex()):
            assert hidden not in result.text + result.err
        return result


@functools.cache
def encrypting_server() -> ForkServer:
    """The server of this process that forks commands with the SQLite that encrypts."""
    return ForkServer(environment(PYTHONPATH=python_path()))


@pytest.fixture
def cli(tmp_path: Path) -> EncryptingCommand:
    """The command line in a folder that holds a key."""
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "key").write_text(KEY + "\n")
    (folder / "key").chmod(0o600)
    return EncryptingCommand(folder)


@pytest.fixture(params=["team.db", "team"], ids=["file", "directory"])
def place(request: pytest.FixtureRequest) -> str:
    """A home in a single file, and one in a directory."""
    return str(request.param)
