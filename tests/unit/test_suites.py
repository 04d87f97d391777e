"""The script that runs the suites of the frameworks: what it reports, and that each suite is complete."""

import contextlib
import importlib.util
import json
import re
import sys
import tomllib
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[2]
FOLDERS = sorted(path.parent for path in (ROOT / "suites").glob("*/suite.toml"))
VITEST = [folder.name for folder in FOLDERS if (folder / "package.json").is_file()]
NAMES = [folder.name for folder in FOLDERS if folder.name not in VITEST]


@pytest.fixture(scope="module")
def suites() -> ModuleType:
    spec = importlib.util.spec_from_file_location("suites_script", ROOT / "scripts" / "suites.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


def test_a_suite_that_failed_fails_the_run(suites: ModuleType, capsys: pytest.CaptureFixture[str]) -> None:
    passed = suites.Result("one", "ours", {"passed": 3}, ok=True)
    assert suites.report([passed]) == 0
    assert suites.report([passed, suites.Result("two", "ours", {"passed": 3, "failed": 1})]) == 1
    assert "FAILED   two ours: 3 passed, 1 failed" in capsys.readouterr().out


def test_a_suite_that_was_skipped_is_reported_and_not_counted_as_passed(
    suites: ModuleType, capsys: pytest.CaptureFixture[str]
) -> None:
    assert suites.report([suites.Result("one", "all", skipped="no network")]) == 0
    shown = capsys.readouterr().out
    assert "SKIPPED  one all: no network" in shown
    assert "WARNING: 1 suites were SKIPPED" in shown
    assert "passed " not in shown


def test_a_suite_whose_environment_cannot_be_made_is_skipped(
    suites: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    suite = suites.Suite.read(ROOT / "suites" / "openai_agents")

    def unreachable(*_: object) -> Path:
        raise suites.Unavailable("the index does not answer")

    monkeypatch.setattr(suites, "environment", unreachable)
    (found,) = suites.runs(suite, ("sqlite",), "", [])
    assert (found.skipped, found.ok) == ("the index does not answer", False)


def test_what_has_not_begun_when_the_time_is_over_is_skipped(
    suites: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    suite = suites.Suite.read(ROOT / "suites" / "openai_agents")
    monkeypatch.setattr(suites, "environment", lambda *_: Path(sys.executable))
    monkeypatch.setattr(suites.clock, "end", 0.0)
    (found,) = suites.runs(suite, ("sqlite",), "", [])
    assert (found.suite, found.part, found.ok) == ("openai_agents", "all", False)
    assert "it had not started after 12 minutes" in found.skipped


def test_a_folder_that_could_not_be_filled_is_not_taken_for_complete(suites: ModuleType, tmp_path: Path) -> None:
    with contextlib.suppress(OSError), suites.made_once(tmp_path / "made") as folder:
        folder.mkdir()
        raise OSError("interrupted")
    assert not (tmp_path / "made").exists()
    with suites.made_once(tmp_path / "made") as folder:
        assert not folder.exists()
        folder.mkdir()
    with suites.made_once(tmp_path / "made") as folder:
        assert folder is None


@pytest.mark.parametrize("name", NAMES)
def test_each_suite_has_a_lock_an_extra_a_page_and_a_row(suites: ModuleType, name: str) -> None:
    suite = suites.Suite.read(ROOT / "suites" / name)
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    assert suite.lock.is_file()
    assert suite.extra in extras
    assert "://" not in suite.lock.read_text(encoding="utf-8")
    page = (ROOT / "docs" / f"{suite.extra}.md").read_text(encoding="utf-8")
    (program, *_) = re.findall(r"^```py\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    assert len(program.splitlines()) <= 25
    assert f"(docs/{suite.extra}.md)" in (ROOT / "README.md").read_text(encoding="utf-8")
    assert any("run_twice" in path.read_text(encoding="utf-8") for path in suite.folder.glob("test_*.py"))


@pytest.mark.parametrize("name", VITEST)
def test_each_suite_of_vitest_has_a_hashed_lock_a_page_and_a_row(suites: ModuleType, name: str) -> None:
    suite = suites.Suite.read(ROOT / "suites" / name)
    lock = (suite.folder / "package-lock.json").read_text(encoding="utf-8")
    assert "://" not in lock
    packages = [one for where, one in json.loads(lock)["packages"].items() if where]
    assert all("integrity" in one for one in packages)
    assert (ROOT / "docs" / f"{suite.extra}.md").is_file()
    assert f"(docs/{suite.extra}.md)" in (ROOT / "README.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", VITEST)
def test_a_suite_of_vitest_without_the_tests_of_the_vendor_is_skipped(
    suites: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, name: str
) -> None:
    monkeypatch.setattr(suites, "CACHE", tmp_path)
    (found,) = suites.runs(suites.Suite.read(ROOT / "suites" / name), ("sqlite",), "", [])
    assert (found.part, found.ok) == ("vendor", False)
    assert "in its repository only" in found.skipped
