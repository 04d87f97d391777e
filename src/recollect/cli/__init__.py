"""The command line. It translates words into one call of the library and the result into text or JSON, nothing else."""

import os
import sys
from collections.abc import Sequence
from io import TextIOWrapper
from typing import Any, TextIO

import typer

from recollect.cli.app import app
from recollect.cli.exits import exit_code
from recollect.cli.output import complain
from recollect.errors import RecollectError

__all__ = ["main"]

VALUED = ("--home", "--workspace", "--agent")
"""The options before a command that take a value."""
LINE = 200
"""Characters that a sentence about a command has at the most."""


def main() -> int:
    """Run one command of `sys.argv`; the exit code. No error that recollect knows ends in a traceback."""
    sys.stdout, sys.stderr = sys.stdout or _nowhere(), sys.stderr or _nowhere()  # None is one that is closed
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal that lacks a letter shows a mark for it
    try:
        code = _told()
    except OSError:  # not even a complaint can be written
        code = _drop(sys.stderr)
    return 0 if _command(sys.argv[1:]) == "hook" else code  # a hook never fails its host


def _told() -> int:
    try:
        code = _run()
        sys.stdout.flush()
        return code
    except BrokenPipeError:  # whoever read the output has seen enough
        return _drop(sys.stdout)
    except OSError as error:
        _drop(sys.stdout)
        complain(f"input or output failed: {error.strerror or error}")
        return 1


def _command(words: Sequence[str]) -> str | None:
    """The first word that is neither an option nor the value of one, whether it can be understood or not."""
    before = ["", *words]
    return next(
        (word for word, last in zip(words, before, strict=False) if word[:1] != "-" and last not in VALUED), None
    )  # fmt: skip


def _run() -> int:
    try:
        return _listed(typer.main.get_command(app)).main(prog_name="recollect", standalone_mode=False) or 0
    except RecollectError as error:
        complain(_shelled(str(error)))
        return exit_code(error)
    except typer.TyperException as error:  # a misspelt option, a missing argument
        complain(_usage(error))
        return error.exit_code


def _listed(group: Any) -> Any:
    """The same command, whose lists show a sentence about each one below it as a whole; cut, it says little."""
    for command in getattr(group, "commands", {}).values():
        command.short_help = _listed(command).get_short_help_str(LINE)
    return group


def _shelled(message: str) -> str:
    """The message with advice for a shell: what is wrong with its words is wrong with its locale."""
    wrong, found, _ = message.partition("a lone surrogate, which is not valid Unicode; ")
    return f"{wrong}bytes that are not UTF-8; give it as UTF-8, in a locale such as C.UTF-8" if found else message


def _nowhere() -> TextIO:
    return open(os.devnull, "w", encoding="utf-8")


def _drop(stream: TextIO) -> int:
    """Let what is still in the buffer go nowhere, so that the end of the program does not try it again."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
    return 1


def _usage(error: typer.TyperException) -> str:
    context = getattr(error, "ctx", None)
    message = error.format_message().replace("Value error, ", "").rstrip(".")
    see = " See" if message.endswith("?") else "; see"
    return f"{message}{see} {context.command_path if context else 'recollect'} --help"
