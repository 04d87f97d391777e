"""Runs a command: parses the arguments, reports errors, and turns them into exit codes."""

import gc
import logging
import signal
import sys
import warnings
from collections.abc import Sequence
from io import TextIOWrapper
from typing import TYPE_CHECKING, Any

from recollect.cli.argv import separate_text
from recollect.cli.exit_codes import exit_code
from recollect.cli.hook_client import plain_options
from recollect.cli.invocation import Invocation
from recollect.cli.messages import for_shell
from recollect.cli.output import complain, remark
from recollect.cli.streams import drop, nowhere
from recollect.errors import RecollectError
from recollect.model.vault import FILES_LOG

if TYPE_CHECKING:
    import typer

__all__ = ["run"]

VALUED = ("--home", "--workspace", "--agent")
"""Global options that take a value."""
HELP = {"-h", "--help"}
"""Options that may list all commands."""
LINE = 200
"""Maximum length of the short help of a command."""


class _StderrHandler(logging.Handler):
    """Prints log records of the library to stderr, each as one terminal-safe line.

    Problems with files of the vault are left out: `vault` and `doctor` name them, and no other command repeats them.
    """

    def emit(self, record: logging.LogRecord) -> None:
        if record.name != FILES_LOG:
            remark(for_shell(record.getMessage()))


def run() -> int:
    """Run the command in `sys.argv` and return the exit code. Known errors never end in a traceback."""
    # Background jobs of a shell script start with SIGINT ignored and could not be interrupted.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    sys.stdout, sys.stderr = sys.stdout or nowhere(), sys.stderr or nowhere()  # None if the stream is closed
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="replace")  # characters outside of the terminal's encoding
    logging.lastResort = _StderrHandler(logging.WARNING)  # unless a command configures logging
    warnings.showwarning = _log_warning
    try:
        code = _execute_and_flush()
    except OSError:  # stderr cannot be written either
        code = drop(sys.stderr)
    return 0 if _command(sys.argv[1:]) == "hook" else code  # a hook never fails its host


def _execute_and_flush() -> int:
    try:
        code = _execute()
        sys.stdout.flush()
        return code
    except BrokenPipeError:  # the reader closed the pipe
        return drop(sys.stdout)
    except OSError as error:
        drop(sys.stdout)
        complain(f"input or output failed: {error.strerror or error}")
        return 1


def _command(words: Sequence[str]) -> str | None:
    """Return the first word that is neither an option nor its value, whether it is a valid command or not."""
    pairs = zip(words, ["", *words], strict=False)
    return next((word for word, before in pairs if word[:1] != "-" and before not in VALUED), None)


def _execute() -> int:
    words = sys.argv[1:]
    hook = plain_options(words[1:]) if words[:1] == ["hook"] else None
    try:
        return _parsed(words) if hook is None else _hook(**hook)
    except RecollectError as error:
        complain(for_shell(str(error)))
        return exit_code(error)


def _parsed(words: list[str]) -> int:
    """Run a command with Typer."""
    import typer

    from recollect.cli.app import app_with, overview

    command = _command(words)
    of_all = not HELP.isdisjoint(words[: words.index(command)] if command else words)
    app = overview() if of_all else app_with(command)
    if HELP.isdisjoint(words):
        import recollect.wiring  # noqa: F401  # what nearly every command loads is no garbage, either
    gc.freeze()
    gc.enable()
    try:
        program = _listed(typer.main.get_command(app))
        return program.main(separate_text(program, words), prog_name="recollect", standalone_mode=False) or 0
    except typer.TyperException as error:  # a misspelt option, a missing argument
        complain(_usage(error))
        return error.exit_code


def _hook(event: str, *, folder: str = "", profile: str = "default", **given: str) -> int:
    """Handle a hook as `connect` writes it, without Typer, which takes longer to load than a hook to run."""
    from recollect.cli.hook_call import handle

    given.pop("keep-running", None)  # no process could be started
    handle(event, Invocation.read("hook", json=False, **given), folder, profile)
    return 0


def _listed(group: Any) -> Any:
    """Set the short help of all subcommands to their full first sentence, which Typer would truncate."""
    for command in getattr(group, "commands", {}).values():
        command.short_help = _listed(command).get_short_help_str(LINE)
    return group


def _takes_text(command: Any) -> bool:
    return any(parameter.param_type_name == "argument" for parameter in command.params)


def _log_warning(message: Warning | str, *_: Any, **__: Any) -> None:
    """Log a warning without its source line. `logging.captureWarnings` would bypass the handler of last resort."""
    logging.getLogger("py.warnings").warning("%s", message)


def _usage(error: "typer.TyperException") -> str:
    context = getattr(error, "ctx", None)
    message = error.format_message().replace("Value error, ", "").rstrip(".")
    if message.startswith("No such option") and context and _takes_text(context.command):
        message += f"{' P' if message.endswith('?') else '; p'}ut -- before text that begins with a dash"
    see = " See" if message.endswith("?") else "; see"
    return f"{message}{see} {context.command_path if context else 'recollect'} --help"
