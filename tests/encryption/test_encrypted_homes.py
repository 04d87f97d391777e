"""Encrypted homes as their users meet them: what is on disk, what is refused, and moving an existing home."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from encryption.conftest import KEY, EncryptingCommand, python_path
from surfaces.command import Command, environment

SECRET = "The vault opens with seven-blue-herons"
KEYED = {"RECOLLECT_ENCRYPTION_KEY_FILE": "key"}


def files(folder: Path) -> list[Path]:
    """The database files of a home and all that SQLite puts beside them."""
    return [path for path in folder.rglob("*.db*") if path.is_file()]


def readable(folder: Path) -> bool:
    """Whether a word of SECRET is in one of the database files."""
    assert files(folder)
    return any(b"herons" in path.read_bytes() for path in files(folder))


def doctor(cli: EncryptingCommand, place: str, code: int = 0, **changes: str) -> list[tuple[str, str]]:
    """What the doctor says about encryption."""
    findings = cli("--home", place, "doctor", "--json", code=code, **changes).json
    return [(one["state"], one["says"]) for one in findings if one["about"] == "encrypted"]


def test_a_home_with_a_key_is_encrypted_from_its_first_write(cli: EncryptingCommand, place: str) -> None:
    cli("--home", place, "remember", SECRET, **KEYED)
    assert not readable(cli.folder)
    assert "herons" in cli("--home", place, "recall", "what opens the vault?", **KEYED).text
    assert doctor(cli, place, **KEYED)[0][0] == "good"
    cli("--home", place, "check", **KEYED)


def test_an_existing_home_is_encrypted_and_decrypted_by_one_command(cli: EncryptingCommand, place: str) -> None:
    cli("--home", place, "remember", SECRET)
    assert readable(cli.folder)
    before = cli("--home", place, "note", "list", "--json").json
    assert doctor(cli, place) == [("better", "no: recollect does not encrypt the files of this home")]

    assert cli("--home", place, "encrypt", "--json", **KEYED).json == {"changed": 1, "files": 1}
    assert not readable(cli.folder)
    assert cli("--home", place, "note", "list", "--json", **KEYED).json == before
    cli("--home", place, "check", **KEYED)
    assert cli("--home", place, "encrypt", "--json", **KEYED).json["changed"] == 0

    assert cli("--home", place, "decrypt", "--json", **KEYED).json["changed"] == 1
    assert readable(cli.folder)
    assert cli("--home", place, "note", "list", "--json").json == before
    assert cli("--home", place, "decrypt", "--json").json["changed"] == 0


def test_every_workspace_is_encrypted_and_one_that_was_left_out_is_reported(cli: EncryptingCommand) -> None:
    cli("--home", "team", "remember", SECRET)
    cli("--home", "team", "encrypt", **KEYED)
    other = ("--home", "elsewhere", "--workspace", "shop")
    cli(*other, "remember", SECRET)
    shutil.move(cli.folder / "elsewhere/workspaces/shop", cli.folder / "team/workspaces/shop")

    assert doctor(cli, "team", code=7, **KEYED) == [("bad", "1 of 2 files")]
    assert "recollect encrypt" in cli("--home", "team", "--workspace", "shop", "recall", "x", code=8, **KEYED).err
    assert cli("--home", "team", "encrypt", "--json", **KEYED).json == {"changed": 1, "files": 2}
    assert "herons" in cli("--home", "team", "--workspace", "shop", "recall", "vault", **KEYED).text
    assert not readable(cli.folder / "team")


def test_a_backup_of_an_encrypted_home_is_encrypted(cli: EncryptingCommand, place: str) -> None:
    cli("--home", place, "remember", SECRET, **KEYED)
    copy = f"copies/{place}"
    cli("--home", place, "backup", copy, **KEYED)
    assert not readable(cli.folder)
    assert "herons" in cli("--home", copy, "recall", "vault", **KEYED).text
    assert "is encrypted" in cli("--home", copy, "recall", "vault", code=8).err


def test_the_key_is_changed_and_the_old_one_no_longer_opens(cli: EncryptingCommand, place: str) -> None:
    cli("--home", place, "remember", SECRET, **KEYED)
    (cli.folder / "new").write_text("a long passphrase, 'quoted' & unusual: ünïcode %41?#")
    said = cli("--home", place, "encrypt", "--new-key-file", "new", **KEYED)
    assert "set the new key" in said.text
    assert "another key" in cli("--home", place, "recall", "vault", code=8, **KEYED).err
    assert "herons" in cli("--home", place, "recall", "vault", RECOLLECT_ENCRYPTION_KEY_FILE="new").text
    # An interrupted change is repeated with the same command.
    again = cli("--home", place, "encrypt", "--new-key-file", "new", "--json", **KEYED)
    assert again.json["changed"] == 0


def test_a_command_can_print_the_key(cli: EncryptingCommand, place: str) -> None:
    by_command = {"RECOLLECT_ENCRYPTION_KEY_COMMAND": f"{sys.executable} -c 'print(open(\"key\").read())'"}
    cli("--home", place, "remember", SECRET, **KEYED)
    assert "herons" in cli("--home", place, "recall", "vault", **by_command).text


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({}, "is encrypted, and no key is set"),
        ({"RECOLLECT_ENCRYPTION_KEY_FILE": "wrong"}, "cannot be decrypted with the key from the file"),
        ({"RECOLLECT_ENCRYPTION_KEY_FILE": "empty"}, "holds no key: it is empty"),
        ({"RECOLLECT_ENCRYPTION_KEY_FILE": "missing"}, "cannot be read: No such file or directory"),
        ({"RECOLLECT_ENCRYPTION_KEY_COMMAND": "false"}, "failed with exit code 1"),
        ({"RECOLLECT_ENCRYPTION_KEY_COMMAND": "true"}, "holds no key: it is empty"),
        ({"RECOLLECT_ENCRYPTION_KEY_COMMAND": "no-such-program"}, "cannot be started"),
        ({"RECOLLECT_ENCRYPTION_KEY_COMMAND": "'"}, "cannot be started"),
        ({**KEYED, "RECOLLECT_ENCRYPTION_KEY_COMMAND": "cat key"}, "remove one of them"),
    ],
)
def test_without_the_right_key_nothing_is_read_or_changed(
    cli: EncryptingCommand, changes: dict[str, str], says: str
) -> None:
    cli("--home", "team.db", "remember", SECRET, **KEYED)
    (cli.folder / "wrong").write_text("f" * 64)
    (cli.folder / "empty").write_text("\n")
    before = (cli.folder / "team.db").read_bytes()
    opening = [("remember", "x"), ("recall", "vault"), ("check",), ("backup", "copy.db"), ("decrypt",)]
    for command in opening if "RECOLLECT_ENCRYPTION_KEY_COMMAND" not in changes else opening[:1]:
        assert says in cli("--home", "team.db", *command, code=8, **changes).err, command
    assert (cli.folder / "team.db").read_bytes() == before
    assert not (cli.folder / "copy.db").exists()


def test_a_plain_home_is_not_written_in_clear_once_a_key_is_set(cli: EncryptingCommand, place: str) -> None:
    cli("--home", place, "remember", SECRET)
    assert "is not encrypted, but a key is set" in cli("--home", place, "remember", "x", code=8, **KEYED).err


def test_a_sqlite_without_encryption_says_what_to_install_and_writes_nothing(
    cli: EncryptingCommand, place: str
) -> None:
    plain = Command(cli.folder)
    assert "apsw-sqlite3mc" in plain("--home", place, "remember", SECRET, code=8, **KEYED).err
    assert not files(cli.folder)
    cli("--home", place, "remember", SECRET, **KEYED)
    assert "apsw-sqlite3mc" in plain("--home", place, "recall", "vault", code=8, **KEYED).err
    assert "is encrypted, and no key is set" in plain("--home", place, "recall", "vault", code=8).err


def test_encrypt_needs_a_key_a_home_and_files(cli: EncryptingCommand) -> None:
    cli("--home", "team.db", "remember", SECRET)
    assert "no key to encrypt with" in cli("--home", "team.db", "encrypt", code=8).err
    assert "nothing is stored" in cli("--home", "other.db", "encrypt", code=3, **KEYED).err
    assert "SQLite" in cli("--home", "postgresql://localhost/none", "encrypt", code=8, **KEYED).err
    assert readable(cli.folder)


def test_a_key_file_that_others_may_read_is_reported(cli: EncryptingCommand) -> None:
    cli("--home", "team.db", "remember", SECRET, **KEYED)
    (cli.folder / "key").chmod(0o644)
    assert ("better", "other users of this machine may read the key file key") in doctor(cli, "team.db", **KEYED)


def test_a_key_command_of_a_foreign_folder_is_not_run(cli: EncryptingCommand) -> None:
    text = '[encryption]\nkey_command = "touch ran"\n'
    (cli.folder / "recollect.toml").write_text(text)
    assert "key_command in ./recollect.toml is not run" in cli("recall", "x", code=8).err
    (cli.folder / "named.toml").write_text(text)
    assert "empty" in cli("remember", "x", code=8, RECOLLECT_CONFIG="named.toml").err
    assert (cli.folder / "ran").exists()


def test_a_key_file_is_relative_to_its_settings_file(cli: EncryptingCommand) -> None:
    (cli.folder / "recollect.toml").write_text('home = "team.db"\n[encryption]\nkey_file = "key"\n')
    cli("remember", SECRET)
    (cli.folder / "deeper").mkdir()
    inside = EncryptingCommand(cli.folder / "deeper")
    assert "herons" in inside("recall", "vault", RECOLLECT_CONFIG="../recollect.toml").text


def test_a_home_in_use_is_not_converted(cli: EncryptingCommand) -> None:
    cli("--home", "team.db", "remember", SECRET)
    program = (
        "import sys, recollect\n"
        "with recollect.open('team.db') as home:\n"
        "    home.agent('default').list(); print('open', flush=True); sys.stdin.readline()\n"
        "    home.agent('default').remember('Written while it was refused')\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", program],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        cwd=cli.folder,
        env=environment(PYTHONPATH=python_path()),
    ) as user:
        assert user.stdout is not None
        assert user.stdout.readline() == b"open\n"
        assert "is in use by another process" in cli("--home", "team.db", "encrypt", code=6, **KEYED).err
        user.communicate(b"\n")
    assert user.returncode == 0
    cli("--home", "team.db", "encrypt", **KEYED)
    assert len(cli("--home", "team.db", "note", "list", "--json", **KEYED).json) == 2


@pytest.mark.parametrize("meddler", ["no key", "wrong key", "a SQLite without encryption", "nobody"])
def test_a_process_without_the_key_loses_nothing_of_the_log_that_a_killed_one_left(
    cli: EncryptingCommand, meddler: str
) -> None:
    program = (
        "import os, signal, recollect\n"
        "home = recollect.open('team.db')\n"
        "for number in range(20): home.agent('default').remember(f'seven-blue-herons {number}')\n"
        "os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    killed = subprocess.run(
        [sys.executable, "-c", program], cwd=cli.folder, env=environment(PYTHONPATH=python_path(), **KEYED), check=False
    )
    assert killed.returncode == -signal.SIGKILL
    assert os.path.getsize(cli.folder / "team.db-wal") > 0
    assert not readable(cli.folder)  # the log is encrypted, too
    (cli.folder / "wrong").write_text("f" * 64)
    if meddler == "no key":
        cli("--home", "team.db", "recall", "x", code=8)
    elif meddler == "wrong key":
        cli("--home", "team.db", "recall", "x", code=8, RECOLLECT_ENCRYPTION_KEY_FILE="wrong")
    elif meddler == "a SQLite without encryption":
        Command(cli.folder)("--home", "team.db", "recall", "x", code=8)
    assert len(cli("--home", "team.db", "note", "list", "--limit", "50", "--json", **KEYED).json) == 20
    cli("--home", "team.db", "check", **KEYED)


def test_the_key_is_not_in_an_export(cli: EncryptingCommand) -> None:
    cli("--home", "team.db", "remember", SECRET, **KEYED)
    cli("--home", "team.db", "export", "all.jsonl", **KEYED)
    assert KEY not in (cli.folder / "all.jsonl").read_text()


def test_a_backup_of_postgresql_is_encrypted_if_there_is_a_key(cli: EncryptingCommand, postgres_url: str) -> None:
    cli("--home", postgres_url, "remember", SECRET, **KEYED)
    cli("--home", postgres_url, "backup", "copy", **KEYED)
    assert not readable(cli.folder)
    assert "herons" in cli("--home", "copy", "recall", "vault", **KEYED).text
    assert doctor(cli, postgres_url, **KEYED) == []


def test_a_changed_page_is_an_error_and_not_a_wrong_answer(cli: EncryptingCommand) -> None:
    cli("--home", "team.db", "remember", SECRET, **KEYED)
    path = cli.folder / "team.db"
    good = path.read_bytes()
    for page in range(1, len(good) // 4096, 10):
        path.write_bytes(good[: page * 4096 + 100] + b"changed!" + good[page * 4096 + 108 :])
        cli("--home", "team.db", "check", code=7, **KEYED)


def test_an_erasure_looks_for_left_bytes_in_the_decrypted_pages(cli: EncryptingCommand) -> None:
    program = (
        "import recollect\n"
        "from recollect.storage.sqlite import opening\n"
        "from recollect.storage.sqlite.administration import SqliteAdministration\n"
        "opening._EVERY_CONNECTION = (('secure_delete', 'off'),)  # nothing is overwritten\n"
        "SqliteAdministration.scrub = lambda self, agent: ([], [])\n"
        "with recollect.open('team.db') as home:\n"
        "    mem = home.agent('ana')\n"
        "    entry = mem.remember('the password is seven-blue-herons')\n"
        "    print(mem.forget(entry.id, erase=True).remaining)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=cli.folder,
        env=environment(PYTHONPATH=python_path(), **KEYED),
        capture_output=True,
        check=True,
    )
    assert b"outside of any row" in done.stdout
