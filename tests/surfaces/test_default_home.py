"""Which memory the command line uses in a folder: its own, or the one that programs are connected to."""

from __future__ import annotations

from pathlib import Path

import pytest
from surfaces.command import Command, Ended

import recollect


class User:
    """A user with two projects, the commands in them, and a home folder that is not the real one."""

    def __init__(self, folder: Path) -> None:
        self.home = folder / "user"
        for name in ("shop", "boats"):
            (self.home / name / ".git").mkdir(parents=True)
            (self.home / name / "src").mkdir()

    def __call__(self, folder: str, *words: str, code: int = 0) -> Ended:
        return Command(self.home / folder)(*words, code=code, HOME=str(self.home), USERPROFILE=str(self.home))


@pytest.fixture
def user(tmp_path: Path) -> User:
    return User(tmp_path)


def test_a_project_uses_the_connected_memory_and_its_own_workspace(user: User) -> None:
    user("shop", "connect", "cursor")
    said = user("shop/src", "remember", "Prices include tax").err
    assert f"using the memory in {user.home / '.recollect'}, workspace shop, as `recollect connect` set it up" in said
    assert "using the memory" not in user("shop/src", "remember", "We ship on Mondays").err
    assert user("boats", "note", "list").text == ""
    user("boats", "remember", "The ferry leaves at nine")
    with recollect.open(user.home / ".recollect") as home:
        assert home.workspaces() == ["boats", "shop"]
    assert "Prices include tax" in user("shop", "recall", "prices").text
    assert "Prices" not in user("boats", "recall", "prices").text
    assert not (user.home / "shop/.recollect").exists()


def test_options_and_variables_win_over_the_connected_memory(user: User) -> None:
    user("shop", "connect", "cursor")
    user("shop", "remember", "Prices include tax", "--home", "own.db")
    user("shop", "remember", "Prices include tax", "--workspace", "team")
    with recollect.open(user.home / ".recollect") as home:
        assert home.workspaces() == ["team"]
    assert (user.home / "shop/own.db").is_file()


def test_a_folder_with_its_own_memory_uses_it_also_further_down(user: User) -> None:
    user("shop", "remember", "Prices include tax")  # nothing is connected yet
    user("shop", "connect", "cursor")
    assert (user.home / "shop/.recollect").is_dir()
    assert "Prices include tax" in user("shop", "note", "list").text
    ended = user("shop/src", "note", "list")
    assert "Prices include tax" in ended.text
    assert f"using the memory in {user.home / 'shop/.recollect'}; " in ended.err
    (user.home / "shop/.git").rmdir()  # without a repository a folder above is another place
    assert user("shop/src", "note", "list").text == ""


def test_the_memory_of_another_location_is_used_where_it_is_connected(user: User) -> None:
    user("shop", "connect", "cursor", "--home", "../team.db")
    user("boats", "remember", "The ferry leaves at nine")
    with recollect.open(user.home / "team.db") as home:
        assert [one.content for one in home.agent("default").list()] == ["The ferry leaves at nine"]
    user("shop", "connect", "codex", "--home", "../memory", "--workspace", "all")
    user("boats", "remember", "All boats are blue")
    with recollect.open(user.home / "memory") as home:
        assert home.workspaces() == ["all"]
    user("shop", "connect", "codex", "--undo")
    assert "The ferry leaves at nine" in user("shop", "note", "list").text
    user("shop", "connect", "cursor", "--undo")
    assert user("shop", "note", "list").text == ""


def test_a_connection_of_a_project_changes_nothing_elsewhere(user: User) -> None:
    user("shop", "connect", "cursor", "--project")
    user("boats", "remember", "The ferry leaves at nine")
    assert (user.home / "boats/.recollect").is_dir()
    user("shop", "connect", "cursor")  # for the user, too
    user("shop/src", "remember", "Prices include tax")
    assert (user.home / "shop/.recollect").is_dir()
    assert not (user.home / ".recollect").exists()


def test_a_memory_of_the_user_that_was_connected_earlier_is_found(user: User) -> None:
    with recollect.open(user.home / ".recollect") as home:
        home.agent("default", "shop").remember("Prices include tax")
    assert "Prices include tax" in user("shop", "note", "list").text
    assert user("", "note", "list").text == ""  # the home folder is no project


def test_the_memory_of_a_project_is_ignored_by_git(user: User) -> None:
    user("shop", "remember", "Prices include tax")
    assert (user.home / "shop/.recollect/.gitignore").read_text() == "*\n"
    (user.home / "shop/.recollect/.gitignore").write_text("*.db\n")
    user("shop", "remember", "We ship on Mondays", "--workspace", "other")
    assert (user.home / "shop/.recollect/.gitignore").read_text() == "*.db\n"
    (user.home / "shop/.recollect/.gitignore").unlink()  # as one that an earlier version has made
    user("shop", "note", "list")
    assert (user.home / "shop/.recollect/.gitignore").read_text() == "*\n"
