"""The command line. It translates words into one call of the library and the result into text or JSON, nothing else."""

import os
import sys
from io import TextIOWrapper

import typer

from recollect.cli.app import app
from recollect.cli.exits import exit_code
from recollect.cli.output import complain
from recollect.errors import RecollectError

__all__ = ["main"]


def main() -> int:
    """Run one command of `sys.argv`; the exit code. No error that recollect knows ends in a traceback."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal that lacks a letter shows a mark for it
    try:
        code = _run()
        sys.stdout.flush()
        return 0 if sys.argv[1:2] == ["hook"] else code  # a hook never fails its host
    except BrokenPipeError:  # whoever read the output has seen enough
        _drop_output()
        return 1
    except OSError as error:
        _drop_output()
        complain(f"input or output failed: {error.strerror or error}")
        return 1


def _run() -> int:
    try:
        return typer.main.get_command(app).main(prog_name="recollect", standalone_mode=False) or 0
    except RecollectError as error:
        complain(str(error))
        return exit_code(error)
    except typer.TyperException as error:  # a misspelt option, a missing argument
        complain(_usage(error))
        return error.exit_code


def _drop_output() -> None:
    """Let what is still in the buffer go nowhere, so that the end of the program does not try it again."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _usage(error: typer.TyperException) -> str:
    context = getattr(error, "ctx", None)
    message = error.format_message().replace("Value error, ", "").rstrip(".")
    return f"{message}; see {context.command_path if context else 'recollect'} --help"
