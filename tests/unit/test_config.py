"""Settings: the file, the environment, which wins, and what is refused."""

import dataclasses
from pathlib import Path

import pytest

import recollect
from recollect import ConfigError, Settings
from recollect.config import DecaySettings, EmbedderSettings
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
        kind="auto", base_url="https://api.openai.com/v1", model="text-embedding-3-small", dimension=1536, api_key=None,
        timeout=30.0,
    )  # fmt: skip
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


def test_another_file_can_be_named(folder: Path) -> None:
    write(folder, 'agent = "here"')
    elsewhere = write(folder, 'agent = "elsewhere"', "other.toml")
    assert Settings.read({"RECOLLECT_CONFIG": str(elsewhere)}).agent == "elsewhere"
    assert Settings.read({}, elsewhere).agent == "elsewhere"
    assert Settings.read({"RECOLLECT_CONFIG": "missing.toml"}, elsewhere).agent == "elsewhere"


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
        ("[embedder]\nkind = 1", ["'kind'", "text", "not 1"]),
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
        ("[embedder.kind]\nx = 1", ["'kind'", "text"]),
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
    with pytest.raises(ConfigError, match=r"'llama' is not an embedder.*auto, local, openai, none"):
        recollect.open("team.db", settings=Settings(embedder=EmbedderSettings(kind="llama")))
    assert list(folder.iterdir()) == []


def test_the_preset_of_decay_is_one_of_two(folder: Path) -> None:
    for preset, decay in (("default", DecayConfig()), ("table", DecayConfig.table())):
        with recollect.open("team.db", settings=Settings(decay=DecaySettings(preset=preset))) as home:
            assert home._shared.decay == decay
    with pytest.raises(ConfigError, match=r"'slow' is not a preset .*default, table"):
        recollect.open("team.db", settings=Settings(decay=DecaySettings(preset="slow")))


@pytest.mark.parametrize(
    "wrong", [{"dimension": 0}, {"timeout": 0.0}, {"timeout": -1.0}, {"model": " "}, {"base_url": "not an address"}]
)
def test_wrong_settings_of_a_remote_embedder_are_refused_when_a_home_is_opened(
    folder: Path, wrong: dict[str, object]
) -> None:
    with pytest.raises(ConfigError):
        recollect.open("team.db", settings=Settings(embedder=EmbedderSettings(kind="openai", **wrong)))  # type: ignore[arg-type]
