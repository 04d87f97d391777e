"""Encryption of SQLite files: keys, and how the header of a file shows whether it is encrypted.

The cipher is ChaCha20-Poly1305 of SQLite3 Multiple Ciphers, which the package apsw-sqlite3mc builds into apsw. A key is
read when it is first used. It must never be shown, logged, or passed to another process.
"""

import re
import shlex
import sys
from collections.abc import Callable
from enum import StrEnum
from pathlib import Path
from threading import Lock

import apsw

from recollect.errors import ConfigError

__all__ = ["CIPHER", "EncryptionKey", "Form", "form_of", "require_form", "unlock", "with_key"]

CIPHER = "chacha20"
COMMAND_SECONDS = 60.0
"""Longest time that a key command may take; it may ask the user for a password."""
_PLAIN = b"SQLite format 3\0"
# The cipher replaces the first 16 bytes by a salt. The next ones stay readable: page size, versions, and how many bytes
# of a page it reserves for a nonce and a tag (32).
_ENCRYPTED = re.compile(rb".{18}[\x01\x02]{2}\x20\x40\x20\x20", re.DOTALL)
_RAW = re.compile(rb"[0-9a-fA-F]{64}")


class Form(StrEnum):
    """What a file looks like from its first bytes."""

    PLAIN = "plain"
    ENCRYPTED = "encrypted"
    UNKNOWN = "unknown"


class EncryptionKey:
    """The key of a home. `source` says where it comes from, for messages."""

    def __init__(self, source: str, read: Callable[[], bytes]) -> None:
        self.source = source
        self._read = read
        self._hex = ""
        self._guard = Lock()

    @classmethod
    def from_file(cls, path: Path) -> "EncryptionKey":
        """Return the key in a file; a newline at its end does not count."""
        return cls(f"the file {path}", lambda: _file(path))

    @classmethod
    def from_command(cls, command: str) -> "EncryptionKey":
        """Return the key that a command prints; it is started without a shell."""
        return cls("the key command", lambda: _output(command))

    def hex(self) -> str:
        """Return the key as SQLite takes it; 64 hexadecimal digits are used as they are, other text is a passphrase.

        Raises ConfigError if the key cannot be read or is empty.
        """
        with self._guard:
            if not self._hex:
                text = self._read().rstrip(b"\r\n")
                if not text.strip():
                    raise ConfigError(f"{self.source} holds no key: it is empty")
                self._hex = (b"raw:" + text.lower() if _RAW.fullmatch(text) else text).hex()
            return self._hex


def unlock(connection: apsw.Connection, key: EncryptionKey) -> None:
    """Give a new connection the key of its file.

    Raises ConfigError if this SQLite has no encryption, which would ignore the key and write a plain file.
    """
    if not hasattr(apsw, "mc_version"):
        raise ConfigError(
            "a key is set, but the installed SQLite cannot encrypt. Install the one that can in the place of apsw: "
            f"{shlex.quote(sys.executable)} -m pip install --force-reinstall --no-deps apsw-sqlite3mc"
        )
    connection.pragma("cipher", CIPHER)
    connection.pragma("hexkey", key.hex())


def with_key(path: Path, key: EncryptionKey | None) -> str:
    """Return a file and its key as a URI, for statements that open a file. It must not reach a message."""
    return path.absolute().as_uri() + (f"?cipher={CIPHER}&hexkey={key.hex()}" if key else "?key=")


def form_of(path: Path) -> Form:
    """Return what a file looks like. Raises an error of apsw if it cannot be read."""
    # Through SQLite: closing a descriptor of our own would release the locks that its connections hold on the file.
    flags = [apsw.SQLITE_OPEN_MAIN_DB | apsw.SQLITE_OPEN_READONLY, 0]
    file = apsw.VFSFile("", str(path.absolute()), flags)
    try:
        header = file.xRead(24, 0)
    finally:
        file.xClose()
    if header.startswith(_PLAIN):
        return Form.PLAIN
    return Form.ENCRYPTED if _ENCRYPTED.match(header) else Form.UNKNOWN


def require_form(path: Path, key: EncryptionKey | None) -> None:
    """Raise ConfigError if a file is encrypted and there is no key, or the other way round."""
    form = form_of(path)
    if form is Form.ENCRYPTED and key is None:
        raise ConfigError(
            f"{path} is encrypted, and no key is set: set key_file or key_command in [encryption] of recollect.toml"
        )
    if form is Form.PLAIN and key is not None:
        raise ConfigError(
            f"{path} is not encrypted, but a key is set: run `recollect encrypt`, or remove the key from the settings"
        )


def _file(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise ConfigError(f"the key file {path} cannot be read: {error.strerror}") from error


def _output(command: str) -> bytes:
    """Return what a command prints. Its output must not be part of an error."""
    import subprocess

    try:
        words = shlex.split(command)
        # A server that talks to its client over stdin must not share it.
        done = subprocess.run(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, timeout=COMMAND_SECONDS)
    except subprocess.TimeoutExpired:
        raise ConfigError(f"the key command printed no key within {COMMAND_SECONDS:.0f} s") from None
    except (OSError, ValueError, IndexError) as error:
        raise ConfigError(f"the key command cannot be started: {error}") from None
    if done.returncode:
        raise ConfigError(f"the key command failed with exit code {done.returncode}")
    return done.stdout
