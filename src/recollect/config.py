"""Settings: from `recollect.toml`, then from RECOLLECT_* variables, which win. The only reader of the environment.

For example:

    home = "memory.db"          # RECOLLECT_HOME

    [embedder]
    kind = "openai"             # RECOLLECT_EMBEDDER_KIND
"""

import math
import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, is_dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from recollect.errors import ConfigError
from recollect.model.context import Profile

__all__ = [
    "PROFILES",
    "ConversationSettings",
    "DecaySettings",
    "DreamSettings",
    "EmbedderSettings",
    "GitSettings",
    "ModelSettings",
    "ServerSettings",
    "Settings",
    "UpkeepSettings",
    "VaultSettings",
    "WindowSettings",
]

FILE = "recollect.toml"
PROFILES = {
    "default": Profile(),
    "coding": Profile(budget=3_000, decisions=5, lessons=5),
    "brief": Profile(budget=500, decisions=1, lessons=1, recovery=0),
}
"""The contexts that everybody has."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EmbedderSettings:
    """What makes vectors."""

    kind: str = "auto"
    """auto (the local model where it is installed), local, openai (any compatible endpoint), none."""
    base_url: str = field(default="https://api.openai.com/v1", repr=False)
    model: str = "text-embedding-3-small"
    dimension: int = 1536
    api_key: str | None = field(default=None, repr=False)
    timeout: float = 30.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelSettings:
    """The language model that summarises. Without a name there is none, and sentences are chosen instead."""

    name: str | None = None
    base_url: str = field(default="https://api.openai.com/v1", repr=False)
    api_key: str | None = field(default=None, repr=False)
    context_tokens: int = 128_000
    timeout: float = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class WindowSettings:
    """How much of a conversation stays in the prompt: events, and a share of what the context has room for."""

    events: int = 50
    compact_at: float = 0.8


@dataclass(frozen=True, slots=True, kw_only=True)
class ConversationSettings:
    """When a silent conversation is taken for dead (hours), and how long its summary may take (seconds)."""

    stale_after: float = 24.0
    summary_timeout: float = 30.0


@dataclass(frozen=True, slots=True, kw_only=True)
class DreamSettings:
    """Whether dreaming runs by itself, and what it takes for a memory to be promoted by it."""

    enabled: bool = False
    min_score: float = 0.35
    min_recall_count: int = 3
    min_unique_queries: int = 2
    max_promotions: int = 20
    half_life_days: float = 90.0


@dataclass(frozen=True, slots=True, kw_only=True)
class UpkeepSettings:
    """How often each job runs, in seconds; and for how many days the trash and recall signals are kept."""

    checkpoints: float = 600
    extract: float = 600
    shelve: float = 600
    embed: float = 1_800
    consolidate: float = 3_600
    dream: float = 86_400
    age: float = 86_400
    retain: float = 86_400
    reindex: float = 86_400
    vacuum: float = 86_400
    reminders: float = 30
    trash_days: float = 30
    recall_days: float = 30


@dataclass(frozen=True, slots=True, kw_only=True)
class GitSettings:
    """Whether the files of the vault are under git: `agent` (a repository for each), `vault` (one for all), or not."""

    repository: str | None = None
    author: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class VaultSettings:
    """Where the markdown files are; a directory home has a place for them by itself."""

    folder: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerSettings:
    """Where `recollect serve` listens, and how much it takes."""

    host: str = "127.0.0.1"
    """Any other than a loopback address needs tokens."""
    port: int = 8377
    require_token: bool = False
    """Ask for a token also on a loopback address."""
    workers: int = 1
    """Processes that answer, all on one home."""
    log_format: str = "text"
    """text, or json."""
    body_limit: int = 32_000_000
    """The most bytes that a request may carry; an import may carry more."""
    rate: float = 200.0
    """Requests a second that one caller may make in the long run; 0 is without a limit."""
    concurrency: int = 64
    """Requests that are answered at the same time; more are asked to come again."""
    feeds: int = 2_000
    """Feeds that may be open at the same time."""
    hosts: str = ""
    """Names beside the loopback ones that the server answers to, separated by commas."""
    origins: str = ""
    """Other pages that may call it from a browser, separated by commas: https://app.example.org."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DecaySettings:
    """How fast entries fade: `default`, or `table` for the faster rates."""

    preset: str = "default"


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What a home needs to know."""

    home: str = field(default=".recollect", repr=False)
    """Where the memory is: a directory, a path ending in .db, or postgresql://…, which may hold a password."""
    workspace: str = "default"
    """The workspace that the command line uses."""
    agent: str = "default"
    """The agent that the command line speaks for."""
    embedder: EmbedderSettings = field(default_factory=EmbedderSettings)
    decay: DecaySettings = field(default_factory=DecaySettings)
    model: ModelSettings = field(default_factory=ModelSettings)
    window: WindowSettings = field(default_factory=WindowSettings)
    conversation: ConversationSettings = field(default_factory=ConversationSettings)
    dream: DreamSettings = field(default_factory=DreamSettings)
    upkeep: UpkeepSettings = field(default_factory=UpkeepSettings)
    git: GitSettings = field(default_factory=GitSettings)
    vault: VaultSettings = field(default_factory=VaultSettings)
    server: ServerSettings = field(default_factory=ServerSettings)
    profiles: Mapping[str, Profile] = field(default_factory=lambda: dict(PROFILES))
    """What a context holds, by name: [profiles.NAME] in the file."""

    @classmethod
    def read(cls, environ: Mapping[str, str] = os.environ, file: Path | None = None) -> "Settings":
        """Settings from the file (RECOLLECT_CONFIG, else recollect.toml if it is there) and the environment.

        An empty variable counts as not set. An unknown key, or a value of the wrong kind, is a ConfigError.
        """
        named = file or (Path(environ["RECOLLECT_CONFIG"]) if environ.get("RECOLLECT_CONFIG") else None)
        path = named or Path(FILE)
        given: dict[str, Any] = {}
        if named is not None or path.is_file():
            try:
                given = tomllib.loads(path.read_text(encoding="utf-8-sig"))
            except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
                raise ConfigError(f"{path} cannot be read: {error}") from error
        result = _filled(cls, given, environ, "RECOLLECT", str(path))
        assert isinstance(result, Settings)
        return result


def _filled(kind: type[Any], given: Mapping[str, Any], environ: Mapping[str, str], prefix: str, where: str) -> Any:
    """An instance of a settings class from a table of the file and the variables with a prefix."""
    known = {item.name: item for item in fields(kind)}
    for key in given:
        if key not in known:
            near = get_close_matches(key, known, 1)
            hint = f"; did you mean {near[0]!r}?" if near else f"; known are {', '.join(known)}"
            raise ConfigError(f"{where} has the unknown key {key!r}{hint}")
    values: dict[str, Any] = {}
    for name, item in known.items():
        variable = f"{prefix}_{name.upper()}"
        default = item.default_factory() if callable(item.default_factory) else item.default
        if isinstance(default, dict):
            values[name] = default | _profiles(given.get(name, {}), f"{where}, [{name}]")
        elif is_dataclass(default):
            table = given.get(name, {})
            if not isinstance(table, Mapping):
                raise ConfigError(f"{where}: {name!r} is a table; write it as [{name}]")
            values[name] = _filled(type(default), table, environ, variable, f"{where}, [{name}]")
        elif environ.get(variable):
            values[name] = _converted(environ[variable], default, variable, item.repr)
        elif name in given:
            values[name] = _converted(given[name], default, f"{where}: {name!r}", item.repr)
    return kind(**values)


def _profiles(given: Any, where: str) -> dict[str, Profile]:
    """Profiles from the tables [profiles.NAME]; what one does not say is as in `default`."""
    if not isinstance(given, Mapping) or not all(isinstance(table, Mapping) for table in given.values()):
        raise ConfigError(f"{where}: write each profile as a table [profiles.NAME]")
    return {name: _filled(Profile, table, {}, "", f"{where}, {name!r}") for name, table in given.items()}


def _converted(value: Any, default: Any, what: str, shown: bool) -> Any:
    """A value in the type of its default; text may stand for a number."""
    wanted: type[Any] = str if default is None else type(default)
    words, accepted = _KINDS[wanted]
    if wanted is bool:
        truth = value if isinstance(value, bool) else _TRUTH.get(value.lower()) if isinstance(value, str) else None
        if truth is not None:
            return truth
    elif isinstance(value, accepted) and not isinstance(value, bool):
        try:
            made = wanted(value)
            if wanted is str or math.isfinite(made):
                return made
        except (ValueError, OverflowError):
            pass
    raise ConfigError(f"{what} must be {words}, not {repr(value) if shown else type(value).__name__}")


_KINDS: dict[type, tuple[str, tuple[type, ...]]] = {
    str: ("text", (str,)),
    int: ("a whole number", (int, str)),
    float: ("a number", (float, int, str)),
    bool: ("true or false", (bool, str)),
}
_TRUTH = {"true": True, "1": True, "yes": True, "on": True, "false": False, "0": False, "no": False, "off": False}
