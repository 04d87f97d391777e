"""`recollect doctor`: health checks and suggestions, one line each, with the fix. Read-only."""

import platform
import shlex
import shutil
import sys
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

import recollect
from recollect.cli.exit_codes import EXIT_CODES
from recollect.cli.hook_settings import hook_programs
from recollect.cli.invocation import Invocation
from recollect.cli.mcp_clients import CLIENTS, HOME, entry_of
from recollect.cli.options import examples, for_home
from recollect.cli.output import counted, document, line
from recollect.cli.output import shown as put
from recollect.clock import SystemClock
from recollect.config import Settings, user_file
from recollect.errors import ConfigError, Corrupt, Invalid, RecollectError
from recollect.locations import shown

if TYPE_CHECKING:
    from recollect.home import Home

__all__ = ["HealthCheck", "app"]

app = typer.Typer()
DAY = 86_400_000
ROOM = 1_000_000_000
"""Recommended free disk space in bytes."""
NAMED = 5
"""How many files of a vault are named."""
MARKS = {"good": ("✓", "green"), "better": ("·", "yellow"), "bad": ("✗", "red")}
EXTRAS = {
    "local": ("wordllama", "search by meaning"),
    "server": ("fastapi", "`recollect serve` and `recollect mcp`"),
    "postgres": ("psycopg", "homes on PostgreSQL"),
    "git": ("pygit2", "git history of the vault"),
    "vault": ("yaml", "a vault with one file per note"),
}
"""Per extra, the package that shows whether it is installed, and what the extra provides."""


@dataclass(frozen=True, slots=True)
class HealthCheck:
    """One result: its subject, its state (good, better, bad), and what to do."""

    about: str
    state: str
    says: str
    do: str = ""


@app.command(epilog=examples("doctor", "doctor --deep"))
@for_home
def doctor(
    call: Invocation,
    deep: Annotated[
        bool, typer.Option("--deep", help="Also verify every entry, name and index, like `check`.")
    ] = False,
) -> None:
    """Run health checks, one line each, with the fix. Read-only. The exit code is 7 if a check fails."""
    from rich.text import Text

    findings = [*_program(), *_settings(call), *_memory(call, deep), *_connected(call)]
    if call.json:
        document([asdict(finding) for finding in findings])
    else:
        for finding in findings:
            mark, colour = MARKS[finding.state]
            put(Text.assemble((f"{mark} ", colour), (finding.about.ljust(10), "bold"), line(finding.says)))
            if finding.do:
                put(Text(f"  {'':10}{line(finding.do)}", "dim"))
    if any(finding.state == "bad" for finding in findings):
        raise typer.Exit(EXIT_CODES[Corrupt])


def _program() -> Iterator[HealthCheck]:
    yield HealthCheck(
        "recollect", "good", f"{recollect.__version__} on Python {platform.python_version()}, {sys.platform}"
    )
    missing = {extra: gain for extra, (package, gain) in EXTRAS.items() if find_spec(package) is None}
    if not missing:
        yield HealthCheck("extras", "good", "all installed")
    for extra, gain in missing.items():
        yield HealthCheck("extras", "better", f"{extra} is not installed; it adds {gain}", ConfigError.install(extra))


def _settings(call: Invocation) -> Iterator[HealthCheck]:
    if call.wrong:
        yield HealthCheck("settings", "bad", call.wrong, "see docs/settings.md")


def _memory(call: Invocation, deep: bool) -> Iterator[HealthCheck]:
    if call.wrong and "home" not in call.given:
        return  # without settings the location is unknown
    try:
        yield from _encryption(call)  # first: it says why the memory cannot be opened
        with recollect.open(call.home, settings=call.settings) as home:
            workspaces, where = home.workspaces(), shown(call.home)
            if not workspaces:
                says = f"nothing is stored in {where} yet"
                yield HealthCheck("memory", "better", says, _command(call, "remember", "We deploy on Tuesdays"))
                return
            agents = sum(len(home.agents(name)) for name in workspaces)
            says = f"{where}: {counted(len(workspaces), 'workspace')}, {counted(agents, 'agent')}"
            yield HealthCheck("memory", "good", says)
            yield from _disk(call.home)
            yield from _meaning(call.settings)
            yield from _upkeep(call, home)
            yield from _vaults(call, home)
            if deep:
                yield from _checked(call, home)
    except ConfigError as error:
        do = "pass another location with --home; see docs/storage.md and docs/encryption.md"
        yield HealthCheck("memory", "bad", str(error), do)
    except RecollectError as error:
        yield HealthCheck("memory", "bad", str(error), "see docs/storage.md, or restore a backup")


def _connected(call: Invocation) -> Iterator[HealthCheck]:
    """Check what the clients of this user and folder start, and which memory they use."""
    for name, client in CLIENTS.items():
        places = {Path(client.project).absolute(): " --project"} if client.project else {}
        places |= {user_file(client.user): ""} if client.user else {}
        for file, option in places.items():
            named = client.hooks or ""
            hooks = Path(named).absolute() if option else user_file(named)
            try:
                entry = entry_of(client, _text(file))
                started = hook_programs(_text(hooks), flat=client.flat_hooks) if named else set[str]()
            except Invalid:  # `connect` would reject the file, too
                continue
            if not isinstance(entry, Mapping) or "command" not in entry:
                continue
            missing = [one for one in (str(entry["command"]), *sorted(started)) if shutil.which(one) is None]
            args = [*map(str, entry.get("args") or ())]
            env = entry.get("env")
            default = env.get(HOME) if isinstance(env, Mapping) else None
            used = shown(args[args.index("--home") + 1] if "--home" in args[:-1] else str(default or Settings().home))
            if missing:
                says, do = f"starts {missing[0]}, which does not exist", f"recollect connect {name}{option}"
            elif used == shown(call.home):
                says, do = "uses this memory", ""
            else:
                says, do = f"uses the memory in {used}", f"recollect --home {shlex.quote(used)} doctor"
            yield HealthCheck("connected", "bad" if missing else "good", f"{client.title} {says}", do)


def _command(call: Invocation, *words: str) -> str:
    """Return a command on the same memory, for the user to copy."""
    usual = call.home == Settings().home
    return shlex.join(["recollect", *([] if usual else ["--home", shown(call.home)]), *words])


def _text(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return ""


def _disk(location: str) -> Iterator[HealthCheck]:
    path = Path(shown(location))
    if "://" not in location and path.exists():
        free = shutil.disk_usage(path).free
        if free < ROOM:
            yield HealthCheck("disk", "bad", f"only {free / 1e6:,.0f} MB free", "free some space, or writes will fail")
        else:
            yield HealthCheck("disk", "good", f"{free / 1e9:,.0f} GB free")


def _encryption(call: Invocation) -> Iterator[HealthCheck]:
    from recollect.wiring import encrypted_files, open_key_file

    encrypted, plain = encrypted_files(call.home)
    if encrypted and plain:
        says, do = f"{encrypted} of {encrypted + plain} files", _command(call, "encrypt")
        yield HealthCheck("encrypted", "bad", says, do)
    elif encrypted:
        yield HealthCheck("encrypted", "good", f"yes: {counted(encrypted, 'file')}")
    elif plain:
        says, do = "no: recollect does not encrypt the files of this home", "optional: see docs/encryption.md"
        yield HealthCheck("encrypted", "better", says, do)
    readable = open_key_file(call.settings)
    if readable is not None:
        says = f"other users of this machine may read the key file {readable}"
        yield HealthCheck("encrypted", "better", says, shlex.join(["chmod", "600", str(readable)]))


def _meaning(settings: Settings) -> Iterator[HealthCheck]:
    if settings.embedder.kind == "none" or (settings.embedder.kind == "auto" and find_spec("wordllama") is None):
        yield HealthCheck("meaning", "better", "search matches words only", "install an embedder; see docs/settings.md")
    else:
        yield HealthCheck("meaning", "good", f"search matches words and meaning (embedder: {settings.embedder.kind})")
    if settings.model.name is None:
        says = "no language model: summaries are selected sentences, not generated text"
        yield HealthCheck("model", "better", says, "optional: configure one in [model] of recollect.toml")
    else:
        yield HealthCheck("model", "good", f"{settings.model.name} writes summaries")


def _upkeep(call: Invocation, home: "Home") -> Iterator[HealthCheck]:
    jobs = [job for job in home.jobs.status() if job.scheduled]
    failing = {job.name: job.error for job in jobs if job.failures}
    for name, error in failing.items():
        yield HealthCheck("upkeep", "bad", f"job {name} fails: {error}", _command(call, "jobs", "run", name))
    last = max((job.last_run_at or 0 for job in jobs), default=0)
    if not last or SystemClock().now() - last > 2 * DAY:
        says = "no job has run in the last two days" if last else "no job has run yet"
        do = f"`recollect serve` and `recollect mcp` run due jobs; to run them now: {_command(call, 'jobs', 'run')}"
        yield HealthCheck("upkeep", "better", says, do)
    elif not failing:
        yield HealthCheck("upkeep", "good", "jobs run on schedule")


def _vaults(call: Invocation, home: "Home") -> Iterator[HealthCheck]:
    """List the files of the vaults that are not read."""
    for name in home.workspaces():
        try:
            status = home.vault(name).status()
        except ConfigError:  # this home has no vault
            return
        for problem in status.problems[:NAMED]:
            yield HealthCheck("vault", "better", f"not read: {problem}")
        if len(status.problems) > NAMED:
            more = f"{counted(len(status.problems) - NAMED, 'more file')} not read"
            yield HealthCheck("vault", "better", more, _command(call, "vault", "status", "--workspace", name))
        if status.files and not status.problems:
            yield HealthCheck("vault", "good", f"{name}: all of {counted(status.files, 'file')} read")


def _checked(call: Invocation, home: "Home") -> Iterator[HealthCheck]:
    report = home.check()
    if not report.findings:
        yield HealthCheck("check", "good", f"{report.entries:,} entries, {report.operations:,} operations verified")
    for found in report.findings:
        do = _command(call, "check", "--repair")
        yield HealthCheck("check", "bad", f"{found.where}: {found.message}", do)
