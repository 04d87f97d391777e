"""Settings: from `recollect.toml`, then from RECOLLECT_* variables, which win. Reads the environment.

For example:

    home = "memory.db"          # RECOLLECT_HOME

    [embedder]
    kind = "openai"             # RECOLLECT_EMBEDDER_KIND
"""

import math
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import Field, dataclass, field, fields, is_dataclass
from pathlib import Path
from typing import Any

from recollect import names
from recollect.errors import ConfigError, Invalid
from recollect.model.context import Profile
from recollect.model.entry import Origin

__all__ = [
    "FILE",
    "PROFILES",
    "ConversationSettings",
    "DecaySettings",
    "DreamSettings",
    "EmbedderSettings",
    "EncryptionSettings",
    "GitSettings",
    "ModelSettings",
    "RecallSettings",
    "RememberSettings",
    "ServerSettings",
    "Settings",
    "UpkeepSettings",
    "VaultSettings",
    "WindowSettings",
    "user_file",
]

FILE = "recollect.toml"
"""Name of a settings file."""
PROFILES = {
    "default": Profile(),
    "coding": Profile(budget=3_000, decisions=5, lessons=5),
    "brief": Profile(budget=500, decisions=1, lessons=1, recovery=0),
    "prompt": Profile(budget=500, project=False, handoff=False, tasks=False, recovery=0),
}
"""The built-in profiles."""
PATHS = (("vault", "folder"), ("encryption", "key_file"), ("embedder", "folder"), ("recall", "reranker"))
"""Settings that are paths, as (section, name)."""
OWN = ("RECOLLECT_CONFIG", "RECOLLECT_CONVERSATION")
"""Variables that are not settings: the path of the file, and the conversation that `recollect mcp` resumes."""
CLUSTER = re.compile(r"RECOLLECT_(\w+_)?(SERVICE_(HOST|PORT)|PORT_\d)\w*|RECOLLECT_(\w+_)?PORT=\w+://.*")
"""Variables that Kubernetes sets in every pod if there is a service whose name starts with recollect."""
MOVED = {
    ".claude.json": ("CLAUDE_CONFIG_DIR", ".claude.json"),
    ".claude/": ("CLAUDE_CONFIG_DIR", ""),
    ".codex/": ("CODEX_HOME", ""),
    ".config/": ("XDG_CONFIG_HOME", ""),
}
"""How the files of programs begin in the user's home folder, and which variable puts them elsewhere, under what."""
HOUR, DAY, CENTURY = 3_600, 86_400, 36_525
"""Seconds, seconds, and days."""


@dataclass(frozen=True, slots=True)
class _Allowed:
    """The allowed values of a setting: numbers from `least` (or above it) to `most`, or one of several words."""

    least: int = 0
    most: float = math.inf
    above: bool = False
    words: tuple[str, ...] = ()

    def holds(self, value: Any) -> bool:
        """Return whether a value of the right type is allowed."""
        if isinstance(value, str):
            return not self.words or value in self.words
        return self.least <= value <= self.most and not (self.above and value == self.least)

    def said(self, kind: str) -> str:
        """Describe the allowed values, to follow `must be`."""
        if self.words:
            return f"one of {', '.join(self.words)}"
        if kind not in ("a number", "a whole number"):
            return kind
        limits = f"above {self.least:,}" if self.above else f"{self.least:,} or more"
        if self.most < math.inf:
            limits = f"{limits}, at most {self.most:,}" if self.above else f"from {self.least:,} to {self.most:,}"
        return f"{kind}{',' if 'or more' in limits else ''} {limits}"


def _number(default: float | None, least: int = 0, most: float = math.inf, *, above: bool = False) -> Any:
    """A numeric setting within limits, by default 0 or more."""
    kind = float if default is None else type(default)
    return field(default=default, metadata={"kind": kind, "allowed": _Allowed(least, most, above)})


def _word(*words: str, default: str | None = None) -> Any:
    """A setting that is one of several words."""
    return field(default=default, metadata={"allowed": _Allowed(words=words)})


@dataclass(frozen=True, slots=True, kw_only=True)
class EmbedderSettings:
    """The embedder."""

    kind: str = _word("auto", "local", "onnx", "openai", "none", default="auto")
    """`auto` (the local model if it is installed), `local`, `onnx` (a transformer of the user), `openai` (any
    compatible endpoint) or `none`."""
    folder: str | None = None
    """Folder with the `model.onnx` and `tokenizer.json` of `onnx`."""
    base_url: str = field(default="https://api.openai.com/v1", repr=False)
    model: str = "text-embedding-3-small"
    dimension: int = _number(1536, 1, 65_536)
    api_key: str | None = field(default=None, repr=False)
    timeout: float = _number(30.0, most=HOUR, above=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelSettings:
    """The language model for summaries. Without a name there is none, and summaries are extractive."""

    name: str | None = None
    base_url: str = field(default="https://api.openai.com/v1", repr=False)
    api_key: str | None = field(default=None, repr=False)
    context_tokens: int = _number(128_000, 1)
    timeout: float = _number(60.0, most=HOUR, above=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class RememberSettings:
    """Defaults of new notes."""

    lifetime: str = _word("long_term", "short_term", default="long_term")
    """Lifetime of a note without a name. A note with a name is long_term."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WindowSettings:
    """When a window is compacted: number of events, or share of the model's context."""

    events: int = _number(50, 2)
    compact_at: float = _number(0.8, most=1, above=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class ConversationSettings:
    """Hours until a quiet conversation is stale, timeout of its summary in seconds, and the number of recently ended
    conversations that keep the vectors of their chunks.
    """

    stale_after: float = _number(24.0, most=24 * CENTURY, above=True)
    summary_timeout: float = _number(30.0, most=HOUR, above=True)
    mid_term: int = _number(10)
    extraction: str = _word("sentences", "keywords", default="sentences")
    """How decisions and lessons are found: statements of all speakers, or the agent's lines with a keyword."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DreamSettings:
    """Whether the job `dream` is scheduled, and the thresholds for a promotion."""

    enabled: bool = False
    min_score: float = _number(0.35, most=1)
    min_recall_count: int = 3
    min_unique_queries: int = 2
    max_promotions: int = 20
    half_life_days: float = _number(90.0, most=CENTURY, above=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class UpkeepSettings:
    """Intervals of the jobs in seconds, and retention of the trash and of recall signals in days."""

    checkpoints: float = _number(600.0, 1, CENTURY * DAY)
    extract: float = _number(600.0, 1, CENTURY * DAY)
    shelve: float = _number(600.0, 1, CENTURY * DAY)
    chunk: float = _number(600.0, 1, CENTURY * DAY)
    embed: float = _number(1_800.0, 1, CENTURY * DAY)
    review: float = _number(600.0, 1, CENTURY * DAY)
    consolidate: float = _number(3_600.0, 1, CENTURY * DAY)
    dream: float = _number(86_400.0, 1, CENTURY * DAY)
    age: float = _number(86_400.0, 1, CENTURY * DAY)
    retain: float = _number(86_400.0, 1, CENTURY * DAY)
    reindex: float = _number(86_400.0, 1, CENTURY * DAY)
    vacuum: float = _number(86_400.0, 1, CENTURY * DAY)
    reminders: float = _number(30.0, 1, CENTURY * DAY)
    merge: str = _word("words", "cosine", default="words")
    """Merge short-term notes with the same words (`words`), or with a cosine above 0.95 (`cosine`)."""
    shelved: str = _word("derived", "all", default="derived")
    """Notes that a scheduled `shelve` may replace: `derived` (extracted by jobs) or `all`."""
    review_questions: int = _number(20, 0)
    """Questions to a language model per run of `review`; 0 asks none."""
    trash_days: float = _number(30.0, 1, CENTURY)
    """Retention of forgotten entries. At least a day, so that a mistake can be undone."""
    recall_days: float = _number(30.0, 1, CENTURY)


@dataclass(frozen=True, slots=True, kw_only=True)
class GitSettings:
    """Git history of the vault: `agent` (one repository per agent), `vault` (one for all), or none."""

    repository: str | None = _word("agent", "vault")
    author: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class VaultSettings:
    """The markdown files of notes."""

    folder: str | None = None
    """Where they are; a directory home has a folder by default."""
    layout: str = _word("categories", "notes", default="categories")
    """`categories` (one file per agent and category) or `notes` (one file per note)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EncryptionSettings:
    """Where the key of an encrypted SQLite home comes from; the key itself is no setting."""

    key_file: str | None = None
    """Path of a file that contains the key."""
    key_command: str | None = None
    """Command that prints the key, started without a shell."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerSettings:
    """Address and limits of `recollect serve`."""

    host: str = "127.0.0.1"
    """An address that is not loopback requires tokens."""
    port: int = _number(8377, most=65_535)
    require_token: bool = False
    """Require a token on a loopback address too."""
    workers: int = _number(1, 1, 256)
    """Number of processes, all on one home."""
    log_format: str = _word("text", "json", default="text")
    """`text` or `json`."""
    traces: bool = False
    """Make a span of OpenTelemetry per request; needs the extra `otel`."""
    body_limit: int = _number(32_000_000, 1)
    """Maximum size of a request body in bytes; imports may be larger."""
    rate: float = 200.0
    """Sustained requests per second of one caller; 0 disables the limit."""
    concurrency: int = _number(64, 1)
    """Maximum number of concurrent requests; others are rejected with Retry-After."""
    feeds: int = 2_000
    """Maximum number of open feeds."""
    memory_limit: int = _number(0)
    """Resident memory of a process in megabytes above which it drops its caches; 0 disables the limit."""
    hosts: str = ""
    """Host names that the server accepts besides loopback, separated by commas."""
    origins: str = ""
    """Origins that may call it from a browser, separated by commas: https://app.example.org."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DecaySettings:
    """Decay rates: those of a preset, `default` or the faster `table`, overridden per scope.

    A rate is the share of relevance left after an hour without access; 1 means no decay.
    """

    preset: str = _word("default", "table", default="default")
    account: float | None = _number(None, most=1, above=True)
    workspace: float | None = _number(None, most=1, above=True)
    channel: float | None = _number(None, most=1, above=True)
    conversation: float | None = _number(None, most=1, above=True)
    """Entries of a conversation do not decay unless this is set."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RecallSettings:
    """Deduplication and reranking of recall results."""

    duplicates: str = _word("words", "cosine", default="words")
    """Remove hits with the same words as a better one (`words`), or with a close vector (`cosine`)."""
    reranker: str | None = None
    """Folder with the `model.onnx` and `tokenizer.json` of a cross-encoder, which orders the best hits."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """The settings of a home. Raises ConfigError if a value is not allowed, wherever it comes from.

    A section is an instance of its class or a mapping: `Settings(dream={"enabled": True})`.
    """

    home: str = field(default=".recollect", repr=False)
    """The location: a directory, a path ending in .db, or postgresql://…, which may contain a password."""
    workspace: str = "default"
    """Workspace of the command line."""
    agent: str = "default"
    """Agent of the command line."""
    embedder: EmbedderSettings = field(default_factory=EmbedderSettings)
    decay: DecaySettings = field(default_factory=DecaySettings)
    recall: RecallSettings = field(default_factory=RecallSettings)
    remember: RememberSettings = field(default_factory=RememberSettings)
    model: ModelSettings = field(default_factory=ModelSettings)
    window: WindowSettings = field(default_factory=WindowSettings)
    conversation: ConversationSettings = field(default_factory=ConversationSettings)
    dream: DreamSettings = field(default_factory=DreamSettings)
    upkeep: UpkeepSettings = field(default_factory=UpkeepSettings)
    git: GitSettings = field(default_factory=GitSettings)
    vault: VaultSettings = field(default_factory=VaultSettings)
    encryption: EncryptionSettings = field(default_factory=EncryptionSettings)
    server: ServerSettings = field(default_factory=ServerSettings)
    profiles: Mapping[str, Profile] = field(default_factory=lambda: dict(PROFILES))
    """Profiles of contexts by name: [profiles.NAME] in the file."""

    def __post_init__(self) -> None:
        project = "default" if self.workspace == "." else self.workspace  # the dot stands for the folder's
        for name, what, value in (("agent", "an agent", self.agent), ("workspace", "a workspace", project)):
            try:
                names.segment(value, what)
            except Invalid as error:
                raise ConfigError(f"{name!r} in {FILE} or RECOLLECT_{name.upper()}: {error}") from None
        for item in fields(self):
            default, value = _default(item), getattr(self, item.name)
            if isinstance(default, dict):
                made: Any = {name: _section(Profile, one, f"profiles.{name}") for name, one in _tables(value).items()}
                object.__setattr__(self, item.name, made)
            elif is_dataclass(default):
                object.__setattr__(self, item.name, _section(type(default), value, item.name))

    @classmethod
    def read(
        cls, environ: Mapping[str, str] = os.environ, file: Path | None = None, *, trusted: bool = True
    ) -> "Settings":
        """Read the settings from a file and the environment; the environment takes precedence.

        The file is the one that RECOLLECT_CONFIG names, else the first that exists of ./recollect.toml and
        ~/.recollect/recollect.toml. With `trusted=False` the file of the current folder is ignored, because it could
        name a server that would receive conversations and keys.

        A path in a file is relative to the folder of that file. An empty variable counts as not set.

        Raises ConfigError if a key or a RECOLLECT_* variable is unknown, or a value is not allowed.
        """
        named = file or (Path(environ["RECOLLECT_CONFIG"]) if environ.get("RECOLLECT_CONFIG") else None)
        usual = [Path(FILE)] if trusted else []
        usual += [Path(environ[name], ".recollect", FILE) for name in ("HOME", "USERPROFILE") if environ.get(name)][:1]
        path = named or next((one for one in usual if one.is_file()), None)
        given: dict[str, Any] = {}
        if path is not None:
            import tomllib

            try:
                given = tomllib.loads(path.read_text(encoding="utf-8-sig"))
            except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
                raise ConfigError(f"{path} cannot be read: {error}") from error
            paths: list[tuple[Any, str]] = [(given, "home")]
            paths += [(given.get(table), name) for table, name in PATHS]
            for table, name in paths:
                if isinstance(table, dict) and name in table:
                    table[name] = _beside(path, table[name])
            if named is None and path == Path(FILE):
                _refuse_command(given)
        _refuse_unknown(environ)
        result = _filled(cls, given, environ, "RECOLLECT", str(path or FILE))
        assert isinstance(result, Settings)
        return result


def _refuse_command(given: Mapping[str, Any]) -> None:
    """Reject a key command in the file of the current folder: its author could run a program."""
    table = given.get("encryption")
    if isinstance(table, Mapping) and "key_command" in table:
        raise ConfigError(
            f"key_command in ./{FILE} is not run, because the file of a folder may be written by others; move it to "
            f"~/.recollect/{FILE}, or set RECOLLECT_ENCRYPTION_KEY_COMMAND"
        )


def _tables(value: object) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise ConfigError(f"profiles must be a mapping of names to profiles, not {type(value).__name__}")
    return value


def _section(kind: type[Any], value: object, name: str) -> Any:
    """Return a section of the settings: the given instance, validated, or one built from a mapping."""
    if isinstance(value, Mapping):
        value = _filled(kind, value, {}, "", f"[{name}]")
    if not isinstance(value, kind):
        raise ConfigError(f"[{name}] must be a {kind.__name__} or a mapping of its fields, not {type(value).__name__}")
    for one in fields(kind):
        _converted(getattr(value, one.name), one, f"[{name}] {one.name}")
    return value


def _beside(file: Path, value: Any) -> Any:
    """Resolve a relative path against the folder of the settings file; return other values unchanged."""
    relative = isinstance(value, str) and value.strip() and "://" not in value and not value.startswith("~")
    return str(file.parent / value) if relative else value


def user_file(place: str, environ: Mapping[str, str] = os.environ) -> Path:
    """Return the path of a user's file: in the home folder, or where its program's variable points."""
    for begin, (variable, within) in MOVED.items():
        if place.startswith(begin) and environ.get(variable):
            return Path(environ[variable], within, place.removeprefix(begin)).absolute()
    return Path.home() / place


def _variables(kind: type[Any], prefix: str) -> Iterator[str]:
    """Return the environment variables of a settings class."""
    for item in fields(kind):
        default, name = _default(item), f"{prefix}_{item.name.upper()}"
        if is_dataclass(default):
            yield from _variables(type(default), name)
        elif not isinstance(default, dict):
            yield name


def _refuse_unknown(environ: Mapping[str, str]) -> None:
    """Reject unknown RECOLLECT_* variables: a misspelled one could write to the wrong memory."""
    known = [*_variables(Settings, "RECOLLECT"), *OWN]
    for variable, value in environ.items():
        ours = variable.startswith("RECOLLECT_") and variable not in known and value
        if ours and not CLUSTER.fullmatch(variable) and not CLUSTER.fullmatch(f"{variable}={value}"):
            from difflib import get_close_matches

            short = variable.removeprefix("RECOLLECT_")
            near = get_close_matches(short, [name.removeprefix("RECOLLECT_") for name in known], 1)
            near = [f"RECOLLECT_{name}" for name in near] or [name for name in known if name.endswith(f"_{short}")]
            hint = (
                f"did you mean {near[0]}?"
                if near
                else "unset it, or name a setting: RECOLLECT_HOME, RECOLLECT_AGENT, …"
            )
            raise ConfigError(f"the variable {variable} is unknown; {hint}")


def _default(item: Field[Any]) -> Any:
    return item.default_factory() if callable(item.default_factory) else item.default


def _filled(kind: type[Any], given: Mapping[str, Any], environ: Mapping[str, str], prefix: str, where: str) -> Any:
    """Return an instance of a settings class from a table of the file and the variables with a prefix."""
    known = {item.name: item for item in fields(kind)}
    for key in given:
        if key not in known:
            from difflib import get_close_matches

            near = get_close_matches(key, known, 1)
            hint = f"; did you mean {near[0]!r}?" if near else f"; known are {', '.join(known)}"
            raise ConfigError(f"{where} has the unknown key {key!r}{hint}")
    values: dict[str, Any] = {}
    for name, item in known.items():
        variable = f"{prefix}_{name.upper()}"
        default = _default(item)
        if isinstance(default, dict):
            values[name] = default | _profiles(given.get(name, {}), f"{where}, [{name}]")
        elif is_dataclass(default):
            table = given.get(name, {})
            if not isinstance(table, Mapping):
                raise ConfigError(f"{where}: {name!r} is a table; write it as [{name}]")
            values[name] = _filled(type(default), table, environ, variable, f"{where}, [{name}]")
        elif environ.get(variable):
            values[name] = _converted(environ[variable], item, variable)
        elif name in given:
            values[name] = _converted(given[name], item, f"{where}: {name!r}")
    return kind(**values)


def _profiles(given: Any, where: str) -> dict[str, Profile]:
    """Return the profiles of the tables [profiles.NAME]; missing fields are those of `default`."""
    if not isinstance(given, Mapping) or not all(isinstance(table, Mapping) for table in given.values()):
        raise ConfigError(f"{where}: write each profile as a table [profiles.NAME]")
    return {name: _filled(Profile, table, {}, "", f"{where}, {name!r}") for name, table in given.items()}


def _converted(value: Any, item: Field[Any], what: str) -> Any:
    """Convert a value to the type of the setting's default and check its limits; text may represent a number."""
    default = _default(item)
    if value is None and default is None:
        return None
    wanted: type[Any] = item.metadata.get("kind", str if default is None else type(default))
    words, accepted = _KINDS[wanted]
    allowed = item.metadata.get("allowed", _Allowed())
    if wanted is bool:
        truth = value if isinstance(value, bool) else _TRUTH.get(value.lower()) if isinstance(value, str) else None
        if truth is not None:
            return truth
    elif isinstance(value, accepted) and not isinstance(value, bool):
        try:
            made = wanted(value)
            if (isinstance(made, str) or math.isfinite(made)) and allowed.holds(made):
                return made
        except (ValueError, OverflowError):
            pass
    raise ConfigError(f"{what} must be {allowed.said(words)}, not {repr(value) if item.repr else type(value).__name__}")


_KINDS: dict[type, tuple[str, tuple[type, ...]]] = {
    str: ("text", (str,)),
    int: ("a whole number", (int, str)),
    float: ("a number", (float, int, str)),
    bool: ("true or false", (bool, str)),
    Origin: (f"one of {', '.join(Origin)}", (str,)),
}
_TRUTH = {"true": True, "1": True, "yes": True, "on": True, "false": False, "0": False, "no": False, "off": False}
