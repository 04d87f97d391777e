"""Settings: the file, the environment, which wins, and what is refused."""

import dataclasses
from pathlib import Path
from typing import Any

import pytest

import recollect
from recollect import ConfigError, Settings
from recollect.config import DecaySettings, DreamSettings, EmbedderSettings, user_file
from recollect.model.context import Profile
from recollect.model.entry import Scope
from recollect.search.ranking import DecayConfig

FILE = """
home = "team.db"
agent = "ana"

[embedder]
kind = "openai"
dimension = 256
timeout = 5
api_key = "sk-from-file"

[decay]
preset = "table"
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder that the program runs in."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write(folder: Path, text: str, name: str = "recollect.toml") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def test_without_anything_the_defaults_count(folder: Path) -> None:
    settings = Settings.read({})
    assert settings == Settings()
    assert (settings.home, settings.workspace, settings.agent) == (".recollect", "default", "default")
    assert settings.embedder == EmbedderSettings(
        kind="auto",
        base_url="https://api.openai.com/v1",
        model="text-embedding-3-small",
        dimension=1536,
        api_key=None,
        timeout=30.0,
    )
    assert settings.decay == DecaySettings(preset="default")


def test_the_file_in_the_folder_is_read(folder: Path) -> None:
    write(folder, FILE)
    assert Settings.read({}) == Settings(
        home="team.db",
        agent="ana",
        embedder=EmbedderSettings(kind="openai", dimension=256, timeout=5.0, api_key="sk-from-file"),
        decay=DecaySettings(preset="table"),
    )
    assert type(Settings.read({}).embedder.timeout) is float


def test_a_byte_order_mark_and_other_letters_are_no_problem(folder: Path) -> None:
    write(folder, '\ufeffhome = "größe.db"')
    assert Settings.read({}).home == "größe.db"


def test_variables_win_over_the_file(folder: Path) -> None:
    write(folder, FILE)
    settings = Settings.read(
        {
            "RECOLLECT_HOME": "other.db",
            "RECOLLECT_WORKSPACE": "project",
            "RECOLLECT_EMBEDDER_DIMENSION": "512",
            "RECOLLECT_EMBEDDER_TIMEOUT": "2.5",
            "RECOLLECT_EMBEDDER_API_KEY": "sk-from-environment",
            "RECOLLECT_DECAY_PRESET": "default",
            "HOME": "/nowhere",
            "EMBEDDER_KIND": "none",
        }
    )
    assert (settings.home, settings.workspace, settings.agent) == ("other.db", "project", "ana")
    assert settings.embedder == EmbedderSettings(
        kind="openai", dimension=512, timeout=2.5, api_key="sk-from-environment"
    )
    assert settings.decay.preset == "default"


def test_a_variable_that_is_empty_counts_as_not_set(folder: Path) -> None:
    write(folder, FILE)
    empty = dict.fromkeys(
        [
            "RECOLLECT_HOME",
            "RECOLLECT_AGENT",
            "RECOLLECT_CONFIG",
            "RECOLLECT_EMBEDDER_KIND",
            "RECOLLECT_EMBEDDER_TIMEOUT",
        ],
        "",
    )
    assert Settings.read(empty) == Settings.read({})


def test_the_environment_of_the_process_is_used_by_default(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RECOLLECT_HOME", "from the process.db")
    assert Settings.read().home == "from the process.db"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('workspace = "a/b"', ["'workspace'", "RECOLLECT_WORKSPACE", "it contains /"]),
        ('agent = ""', ["'agent'", "RECOLLECT_AGENT", "empty"]),
        ('agent = "."', ["'agent'", "starts with a dot"]),
    ],
)
def test_a_name_that_cannot_be_one_is_refused_when_it_is_read(folder: Path, text: str, words: list[str]) -> None:
    write(folder, text)
    with pytest.raises(ConfigError) as refused:
        Settings.read({})
    assert [word for word in words if word not in str(refused.value)] == []
    write(folder, 'workspace = "."')
    assert Settings.read({}).workspace == "."


def test_a_folder_that_is_not_trusted_has_no_say(folder: Path) -> None:
    write(folder, 'agent = "here"')
    (folder / "user/.recollect").mkdir(parents=True)
    user = {"HOME": str(folder / "user")}
    assert Settings.read(user, trusted=False) == Settings()
    write(folder / "user/.recollect", 'agent = "mine"')
    assert Settings.read(user, trusted=False).agent == "mine"
    assert Settings.read({"USERPROFILE": user["HOME"]}, trusted=False).agent == "mine"
    assert Settings.read(user).agent == "here"
    named = {"RECOLLECT_CONFIG": str(folder / "recollect.toml")}
    assert Settings.read({**user, **named}, trusted=False).agent == "here"
    (folder / "recollect.toml").unlink()
    assert Settings.read(user).agent == "mine"
    assert Settings.read({}) == Settings()


def test_files_of_programs_are_where_their_variables_say(folder: Path) -> None:
    moved = {"CLAUDE_CONFIG_DIR": "/c", "CODEX_HOME": "/x", "XDG_CONFIG_HOME": "/g"}
    places = {
        ".claude.json": "/c/.claude.json",
        ".claude/settings.json": "/c/settings.json",
        ".codex/config.toml": "/x/config.toml",
        ".config/zed/settings.json": "/g/zed/settings.json",
    }
    for place, file in places.items():
        assert user_file(place, moved) == Path(file)
        assert user_file(place, dict.fromkeys(moved, "")) == Path.home() / place
    assert user_file(".cursor/mcp.json", moved) == Path.home() / ".cursor/mcp.json"


def test_another_file_can_be_named(folder: Path) -> None:
    write(folder, 'agent = "here"')
    elsewhere = write(folder, 'agent = "elsewhere"', "other.toml")
    assert Settings.read({"RECOLLECT_CONFIG": str(elsewhere)}).agent == "elsewhere"
    assert Settings.read({}, elsewhere).agent == "elsewhere"
    assert Settings.read({"RECOLLECT_CONFIG": "missing.toml"}, elsewhere).agent == "elsewhere"


def test_a_path_in_a_file_is_relative_to_the_folder_of_that_file(folder: Path) -> None:
    user = folder / "user" / ".recollect"
    user.mkdir(parents=True)
    (user / "recollect.toml").write_text('home = "mem"\n[vault]\nfolder = "../notes"\n')
    settings = Settings.read({"HOME": str(folder / "user")})
    assert (settings.home, settings.vault.folder) == (str(user / "mem"), str(user / "../notes"))
    here = Settings.read({"HOME": str(folder / "user"), "RECOLLECT_HOME": "mem", "RECOLLECT_VAULT_FOLDER": "notes"})
    assert (here.home, here.vault.folder) == ("mem", "notes")
    (folder / "recollect.toml").write_text('home = "mem"\n[vault]\nfolder = "notes"\n')
    settings = Settings.read({"HOME": str(folder / "user")})
    assert (settings.home, settings.vault.folder) == ("mem", "notes")
    for home in ("~/mem", str(folder / "mem"), "postgresql://localhost/memory", " "):
        (user / "recollect.toml").write_text(f'home = "{home}"\n')
        assert Settings.read({}, user / "recollect.toml").home == home


@pytest.mark.parametrize(
    ("location", "words"),
    [
        (":memory:", ["on disk", "a temporary folder"]),
        ("host=localhost user=ana password=s3cr dbname=memory", ["postgresql://USER:PASSWORD@HOST/DATABASE"]),
        ("dbname = memory", ["postgresql://USER:PASSWORD@HOST/DATABASE"]),
        ("notes.sqlite", ["write ", "notes.db"]),
        ("notes.SQLite3", ["write ", "notes.db"]),
    ],
)
def test_a_location_that_means_something_else_elsewhere_is_refused_with_what_to_write(
    folder: Path, location: str, words: list[str]
) -> None:
    (folder / "recollect.toml").write_text(f'home = "{location}"\n')
    for asked in (lambda: recollect.open(location), lambda: recollect.open(settings=Settings.read({}))):
        with pytest.raises(ConfigError) as error:
            asked()
        assert [word for word in words if word not in str(error.value)] == []
        assert "s3cr" not in str(error.value)
    assert [path.name for path in folder.iterdir()] == ["recollect.toml"]
    (folder / location).mkdir()  # one that is there already is a memory like any other
    with recollect.open(location) as home:
        home.agent("ana").remember("We deploy on Tuesdays")


@pytest.mark.parametrize("location", ["a=b", "my host", "localhost", "ghost=1/mem", "sqlite", "notes.sqlite.db"])
def test_a_location_that_only_looks_a_little_like_it_is_taken(folder: Path, location: str) -> None:
    with recollect.open(location) as home:
        home.agent("ana").remember("We deploy on Tuesdays")


@pytest.mark.parametrize("name", ["missing.toml", "folder"])
def test_a_named_file_that_cannot_be_read_is_an_error(folder: Path, name: str) -> None:
    (folder / "folder").mkdir()
    with pytest.raises(ConfigError, match=name):
        Settings.read({"RECOLLECT_CONFIG": name})


@pytest.mark.parametrize("content", [b"home = ", b"home = 'a'\nhome = 'b'", b"[embedder", b"\xff\xfe", b"home: a"])
def test_a_file_that_is_no_toml_is_an_error(folder: Path, content: bytes) -> None:
    (folder / "recollect.toml").write_bytes(content)
    with pytest.raises(ConfigError, match=r"recollect\.toml"):
        Settings.read({})


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('hom = "a.db"', ["'hom'", "did you mean 'home'?"]),
        ('[embeder]\nkind = "none"', ["'embeder'", "did you mean 'embedder'?"]),
        ('[embedder]\nkidn = "none"', ["'kidn'", "did you mean 'kind'?", "[embedder]"]),
        ("[embedder]\ntime_out = 5", ["'time_out'", "did you mean 'timeout'?"]),
        ("colour = 1", ["'colour'", "known are home, workspace, agent, embedder, decay"]),
    ],
)
def test_an_unknown_key_is_refused_with_the_nearest_one(folder: Path, text: str, words: list[str]) -> None:
    write(folder, text)
    with pytest.raises(ConfigError) as refused:
        Settings.read({})
    assert [word for word in (*words, "recollect.toml") if word not in str(refused.value)] == []


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("home = 5", ["'home'", "text"]),
        ("home = true", ["'home'", "text"]),
        ("agent = ['a']", ["'agent'", "text", "['a']"]),
        ("embedder = 'none'", ["'embedder'", "[embedder]"]),
        ("[[embedder]]\nkind = 'none'", ["'embedder'", "[embedder]"]),
        ("[embedder]\nkind = 1", ["'kind'", "one of auto, local, onnx, openai, none", "not 1"]),
        ("[embedder]\ndimension = 'many'", ["'dimension'", "whole number", "not 'many'"]),
        ("[embedder]\ndimension = 1.5", ["'dimension'", "whole number", "not 1.5"]),
        ("[embedder]\ndimension = '1.5'", ["'dimension'", "whole number"]),
        ("[embedder]\ndimension = true", ["'dimension'", "whole number", "not True"]),
        ("[embedder]\ndimension = inf", ["'dimension'", "whole number"]),
        ("[embedder]\ntimeout = nan", ["'timeout'", "number"]),
        ("[embedder]\ntimeout = 'inf'", ["'timeout'", "number"]),
        ("[embedder]\ntimeout = 'soon'", ["'timeout'", "number", "not 'soon'"]),
        ("[embedder]\ntimeout = false", ["'timeout'", "number"]),
        ("[embedder]\ntimeout = 2026-01-01", ["'timeout'", "number"]),
        ("[embedder.kind]\nx = 1", ["'kind'", "one of auto"]),
    ],
)
def test_a_value_of_the_wrong_kind_is_refused(folder: Path, text: str, words: list[str]) -> None:
    write(folder, text)
    with pytest.raises(ConfigError) as refused:
        Settings.read({})
    assert [word for word in (*words, "recollect.toml") if word not in str(refused.value)] == []


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("RECOLLECT_EMBEDDER_DIMENSION", "many"),
        ("RECOLLECT_EMBEDDER_DIMENSION", "1.5"),
        ("RECOLLECT_EMBEDDER_DIMENSION", "9" * 5_000),
        ("RECOLLECT_EMBEDDER_TIMEOUT", "soon"),
        ("RECOLLECT_EMBEDDER_TIMEOUT", "nan"),
        ("RECOLLECT_EMBEDDER_TIMEOUT", "1e999"),
    ],
)
def test_a_variable_of_the_wrong_kind_is_refused_by_its_name(folder: Path, variable: str, value: str) -> None:
    with pytest.raises(ConfigError, match=variable):
        Settings.read({variable: value})


@pytest.mark.parametrize(
    ("variable", "meant"),
    [
        ("RECOLLECT_EMBEDDER_KNID", "did you mean RECOLLECT_EMBEDDER_KIND?"),
        ("RECOLLECT_AGNET", "did you mean RECOLLECT_AGENT?"),
        ("RECOLLECT_HOMEE", "did you mean RECOLLECT_HOME?"),
        ("RECOLLECT_CONFG", "did you mean RECOLLECT_CONFIG?"),
        ("RECOLLECT_PORT", "did you mean RECOLLECT_SERVER_PORT?"),
        ("RECOLLECT_XYZ", "unset it"),
        ("RECOLLECT_PROFILES", "unset it"),
    ],
)
def test_an_unknown_variable_is_refused_with_the_nearest_one(
    folder: Path, variable: str, meant: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(ConfigError, match=variable) as refused:
        Settings.read({variable: "8377"})
    assert meant in str(refused.value)
    monkeypatch.setenv(variable, "8377")
    with pytest.raises(ConfigError, match=variable):
        recollect.open("team.db")
    assert Settings.read({variable: ""}) == Settings()


def test_variables_that_are_no_settings_are_left_alone(folder: Path) -> None:
    others = {
        "RECOLLECT_CONVERSATION": "fresh-otter",
        "_RECOLLECT_COMPLETE": "complete_bash",
        "RECOLLECTION": "yes",
        # what a cluster tells of a service that is called recollect
        "RECOLLECT_SERVICE_HOST": "10.0.0.11",
        "RECOLLECT_SERVICE_PORT": "8377",
        "RECOLLECT_SERVICE_PORT_HTTP": "8377",
        "RECOLLECT_PORT": "tcp://10.0.0.11:8377",
        "RECOLLECT_PORT_8377_TCP": "tcp://10.0.0.11:8377",
        "RECOLLECT_PORT_8377_TCP_ADDR": "10.0.0.11",
    }
    assert Settings.read(others) == Settings()


def numbers() -> list[tuple[str, str]]:
    """Every setting that is a number, by its table and name."""
    return [
        (table.name, item.name)
        for table in dataclasses.fields(Settings)
        if dataclasses.is_dataclass(getattr(Settings(), table.name))
        for item in dataclasses.fields(getattr(Settings(), table.name))
        if type(item.default) in (int, float)
    ]


@pytest.mark.parametrize(("table", "name"), numbers())
def test_no_number_may_be_negative_wherever_it_comes_from(folder: Path, table: str, name: str) -> None:
    variable = f"RECOLLECT_{table}_{name}".upper()
    with pytest.raises(ConfigError, match=f"{variable} must be .*, not '-3'"):
        Settings.read({variable: "-3"})
    with pytest.raises(ConfigError, match=rf"\[{table}\] {name} must be .*, not -3"):
        Settings(**{table: dataclasses.replace(getattr(Settings(), table), **{name: -3})})
    write(folder, f"[{table}]\n{name} = -3")
    with pytest.raises(ConfigError, match=rf"\[{table}\]: '{name}' must be .*, not -3"):
        Settings.read({})


@pytest.mark.parametrize(
    ("variable", "value", "allowed"),
    [
        ("RECOLLECT_UPKEEP_TRASH_DAYS", "0.5", "a number from 1 to 36,525"),
        ("RECOLLECT_UPKEEP_RECALL_DAYS", "0", "a number from 1 to 36,525"),
        ("RECOLLECT_UPKEEP_AGE", "0.5", "a number from 1 to 3,155,760,000"),
        ("RECOLLECT_EMBEDDER_TIMEOUT", "0", "a number above 0, at most 3,600"),
        ("RECOLLECT_EMBEDDER_DIMENSION", "0", "a whole number from 1 to 65,536"),
        ("RECOLLECT_MODEL_TIMEOUT", "1e9", "a number above 0, at most 3,600"),
        ("RECOLLECT_WINDOW_EVENTS", "1", "a whole number, 2 or more"),
        ("RECOLLECT_WINDOW_COMPACT_AT", "1.1", "a number above 0, at most 1"),
        ("RECOLLECT_CONVERSATION_STALE_AFTER", "0", "a number above 0"),
        ("RECOLLECT_SERVER_PORT", "65536", "a whole number from 0 to 65,535"),
        ("RECOLLECT_SERVER_WORKERS", "0", "a whole number from 1 to 256"),
        ("RECOLLECT_SERVER_LOG_FORMAT", "xml", "one of text, json"),
        ("RECOLLECT_GIT_REPOSITORY", "foo", "one of agent, vault"),
        ("RECOLLECT_DECAY_PRESET", "slow", "one of default, table"),
        ("RECOLLECT_DREAM_ENABLED", "perhaps", "true or false"),
        ("RECOLLECT_DECAY_WORKSPACE", "1.1", "a number above 0, at most 1"),
        ("RECOLLECT_DECAY_CHANNEL", "0", "a number above 0, at most 1"),
        ("RECOLLECT_DECAY_ACCOUNT", "fast", "a number above 0, at most 1"),
        ("RECOLLECT_REMEMBER_LIFETIME", "mid_term", "one of long_term, short_term"),
        ("RECOLLECT_UPKEEP_MERGE", "same", "one of words, cosine"),
    ],
)
def test_a_value_beyond_its_limits_is_refused_with_what_is_allowed(
    folder: Path, variable: str, value: str, allowed: str
) -> None:
    with pytest.raises(ConfigError) as refused:
        Settings.read({variable: value})
    assert str(refused.value).startswith(f"{variable} must be {allowed}")


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("RECOLLECT_UPKEEP_TRASH_DAYS", "1"),
        ("RECOLLECT_UPKEEP_AGE", "1"),
        ("RECOLLECT_EMBEDDER_TIMEOUT", "3600"),
        ("RECOLLECT_WINDOW_COMPACT_AT", "1"),
        ("RECOLLECT_SERVER_PORT", "0"),
        ("RECOLLECT_SERVER_RATE", "0"),
        ("RECOLLECT_DREAM_MAX_PROMOTIONS", "0"),
        ("RECOLLECT_GIT_REPOSITORY", "vault"),
        ("RECOLLECT_DECAY_ACCOUNT", "1"),
    ],
)
def test_a_value_at_its_limit_is_taken(folder: Path, variable: str, value: str) -> None:
    Settings.read({variable: value})


def test_the_numbers_of_a_profile_have_limits_too(folder: Path) -> None:
    write(folder, "[profiles.mine]\nbudget = -1")
    with pytest.raises(ConfigError, match="'budget' must be a whole number, 0 or more, not -1"):
        Settings.read({})


def test_a_bad_setting_never_expires_what_was_forgotten_just_now(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with recollect.open("team.db") as home:
        forgotten = home.agent("ana").remember("an apple a day")
        home.agent("ana").forget(forgotten.id)
    monkeypatch.setenv("RECOLLECT_UPKEEP_TRASH_DAYS", "-3")
    with pytest.raises(ConfigError, match="TRASH_DAYS"):
        recollect.open("team.db")
    monkeypatch.setenv("RECOLLECT_UPKEEP_TRASH_DAYS", "1")
    with recollect.open("team.db") as home:
        assert home.jobs.run("retain").figures["expired"] == 0
        assert home.agent("ana").restore(forgotten.id).content == "an apple a day"


def test_text_may_stand_for_a_number_also_in_the_file(folder: Path) -> None:
    write(folder, '[embedder]\ndimension = "64"\ntimeout = " 3 "')
    assert (Settings.read({}).embedder.dimension, Settings.read({}).embedder.timeout) == (64, 3.0)


def test_no_secret_is_shown(folder: Path) -> None:
    settings = Settings(
        home="postgresql://ana:hunter2@db/memory",
        embedder=EmbedderSettings(api_key="sk-secret", base_url="https://ana:hunter2@models/v1"),
    )
    for shown in (repr(settings), str(settings), f"{settings.embedder!r}"):
        assert "hunter2" not in shown
        assert "sk-secret" not in shown
    assert "text-embedding-3-small" in repr(settings)
    assert dataclasses.asdict(settings)["embedder"]["api_key"] == "sk-secret"
    write(folder, "[embedder]\napi_key = 3141592653")
    with pytest.raises(ConfigError) as refused:
        Settings.read({})
    assert "3141592653" not in str(refused.value)
    assert "'api_key'" in str(refused.value)


def test_settings_cannot_be_changed() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        Settings().home = "other.db"  # type: ignore[misc]


# What a home makes of them


def test_a_home_is_opened_where_the_settings_say(folder: Path) -> None:
    write(folder, 'home = "team.db"\n[embedder]\nkind = "none"')
    with recollect.open() as home:
        home.agent("ana").remember("an apple a day")
    assert (folder / "team.db").exists()
    with recollect.open(settings=Settings(home="other.db", embedder=EmbedderSettings(kind="none"))) as home:
        home.agent("ana").remember("an apple a day")
    assert (folder / "other.db").exists()
    with recollect.open("third.db", settings=Settings(home="other.db")) as home:
        home.agent("ana").remember("an apple a day")
    assert (folder / "third.db").exists()


def test_an_unknown_embedder_is_refused(folder: Path) -> None:
    with pytest.raises(
        ConfigError, match=r"\[embedder\] kind must be one of auto, local, onnx, openai, none, not 'llama'"
    ):
        recollect.open("team.db", settings=Settings(embedder=EmbedderSettings(kind="llama")))
    assert list(folder.iterdir()) == []


def test_the_preset_of_decay_is_one_of_two(folder: Path) -> None:
    for preset, decay in (("default", DecayConfig()), ("table", DecayConfig.table())):
        with recollect.open("team.db", settings=Settings(decay=DecaySettings(preset=preset))) as home:
            assert home._shared.decay == decay
    with pytest.raises(ConfigError, match=r"\[decay\] preset must be one of default, table, not 'slow'"):
        recollect.open("team.db", settings=Settings(decay=DecaySettings(preset="slow")))


def test_a_scope_fades_at_the_rate_that_is_set_for_it_and_the_others_as_the_preset_says(folder: Path) -> None:
    write(folder, '[decay]\npreset = "table"\nworkspace = 0.9\nchannel = "0.8"')
    with recollect.open("team.db") as home:
        assert home._shared.decay == dataclasses.replace(DecayConfig.table(), workspace=0.9, channel=0.8)
    with recollect.open("team.db", settings=Settings(decay=DecaySettings(account=1))) as home:
        assert home._shared.decay == DecayConfig(account=1)
    with recollect.open("team.db", settings=Settings(decay=DecaySettings(conversation=0.5))) as home:
        assert home._shared.decay.rate(Scope.CONVERSATION) == 0.5


# Sections


def test_a_section_may_be_a_mapping() -> None:
    given = Settings(
        dream={"enabled": True, "half_life_days": "7"}, decay={"workspace": 0.9}, profiles={"mine": {"budget": 100}}
    )
    assert given.dream == DreamSettings(enabled=True, half_life_days=7.0)
    assert given.decay == DecaySettings(workspace=0.9)
    assert given.profiles == {"mine": Profile(budget=100)}


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"dream": {"enable": True}}, ["[dream]", "'enable'", "did you mean 'enabled'?"]),
        ({"dream": {"half_life_days": 0}}, ["[dream]", "'half_life_days' must be a number above 0"]),
        ({"dream": True}, ["[dream]", "DreamSettings or a mapping", "not bool"]),
        ({"dream": DecaySettings()}, ["[dream]", "DreamSettings or a mapping", "not DecaySettings"]),
        ({"profiles": Profile()}, ["profiles", "a mapping of names to profiles", "not Profile"]),
        ({"profiles": {"mine": 3}}, ["[profiles.mine]", "Profile or a mapping", "not int"]),
        ({"profiles": {"mine": {"budget": -1}}}, ["[profiles.mine]", "'budget' must be a whole number, 0 or more"]),
    ],
)
def test_a_section_that_is_neither_is_refused_with_what_to_write(given: dict[str, Any], words: list[str]) -> None:
    with pytest.raises(ConfigError) as refused:
        Settings(**given)
    assert [word for word in words if word not in str(refused.value)] == []


@pytest.mark.parametrize(
    "wrong", [{"dimension": 0}, {"timeout": 0.0}, {"timeout": -1.0}, {"model": " "}, {"base_url": "not an address"}]
)
def test_wrong_settings_of_a_remote_embedder_are_refused_when_a_home_is_opened(
    folder: Path, wrong: dict[str, object]
) -> None:
    with pytest.raises(ConfigError):
        recollect.open("team.db", settings=Settings(embedder=EmbedderSettings(kind="openai", **wrong)))  # type: ignore[arg-type]
