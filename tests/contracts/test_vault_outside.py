"""No file outside a vault can be read or written through it: not by a link, a named pipe or a git repository."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import recollect
from recollect.vault.files import LeftAlone, opened, read_bytes, replace_file

pytestmark = pytest.mark.directory

if TYPE_CHECKING:
    from recollect.home import Home
    from recollect.memory import Memory

SECRET = "the vault code is 4711"
NAMES = ("_project.md", "ana/USER.md", "ana/SOUL.md", "ana/SOUL-CORE.md", "ana/MEMORY.md", "ana/DREAMS.md")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "notes"


@pytest.fixture
def shown(location: str, folder: Path) -> Iterator[Home]:
    """A home with a vault and one note in it."""
    with recollect.open(location, vault=folder) as home:
        home.agent("ana").remember("The gate is blue", category="decisions", name="gate")
        home.vault().sync()
        yield home


def link_to_a_file(path: Path, outside: Path) -> None:
    (outside / "secret.md").write_text(SECRET)
    path.symlink_to(outside / "secret.md")


def link_of_the_folder(path: Path, outside: Path) -> None:
    (outside / path.name).write_text(SECRET)
    for one in path.parent.iterdir():
        one.rename(outside / one.name)
    path.parent.rmdir()
    path.parent.symlink_to(outside)


def named_pipe(path: Path, outside: Path) -> None:
    os.mkfifo(path)


def reads(mem: Memory) -> Iterator[str]:
    """Everything that a prompt is made of."""
    talk = mem.conversations.start()
    talk.user("hello")
    yield mem.context("gate").text
    yield mem.orient("gate").markdown
    for lane in ("edge", "core"):
        yield str(talk.messages(lane))
    yield str(mem.project())


TRICKS = [
    (name, trick)
    for name in NAMES
    for trick in (link_to_a_file, link_of_the_folder, named_pipe)
    if "/" in name or trick is not link_of_the_folder  # the vault's own folder may be a link: its owner named it
]


@pytest.mark.parametrize(  # how files are opened does not depend on the database
    ("location", "name", "trick"),
    [
        *(("file", name, trick) for name, trick in TRICKS),
        *((location, "ana/SOUL.md", link_to_a_file) for location in ("directory", "postgres")),
    ],
    indirect=["location"],
)
def test_no_prompt_holds_what_is_outside_the_vault(
    shown: Home, folder: Path, tmp_path: Path, name: str, trick: Callable[[Path, Path], None]
) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    trick(folder / name, outside)
    assert not [text for text in reads(shown.agent("ana")) if SECRET in text]
    before = {path: path.read_bytes() for path in outside.iterdir()}
    shown.jobs.run("dream")
    shown.vault().sync()
    assert {path: path.read_bytes() for path in outside.iterdir()} == before


def test_the_project_file_is_not_written_through_a_link(shown: Home, folder: Path, tmp_path: Path) -> None:
    link_to_a_file(folder / "_project.md", tmp_path)
    assert shown.agent("ana").set_project("Boats") is True
    assert shown.agent("ana").project() == "Boats"
    assert (tmp_path / "secret.md").read_text() == SECRET


def test_an_erasure_does_not_look_into_files_behind_links(shown: Home, folder: Path, tmp_path: Path) -> None:
    mem = shown.agent("ana")
    mem.remember(SECRET, name="code")
    link_to_a_file(folder / "ana" / "trip.md", tmp_path)
    (tmp_path / "more").mkdir()
    (tmp_path / "more" / "trip.md").write_text(SECRET)
    (folder / "ana" / "more").symlink_to(tmp_path / "more")
    assert not [text for text in mem.forget("code", erase=True).remaining if "trip.md" in text]


@pytest.mark.parametrize("name", ["../secret.md", "ana/../../secret.md", "/etc/hostname"])
def test_a_name_never_leads_out_of_the_folder(folder: Path, tmp_path: Path, name: str) -> None:
    (folder / "ana").mkdir(parents=True)
    (tmp_path / "secret.md").write_text(SECRET)
    with pytest.raises(LeftAlone):
        read_bytes(folder, name)
    with pytest.raises(LeftAlone):
        replace_file(folder, name, b"x", None)


def test_a_folder_that_becomes_a_link_between_two_steps_is_not_followed(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "ana").mkdir(parents=True)
    (folder / "ana" / "tasks.md").write_text("mine")
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "tasks.md").write_text(SECRET)
    really = os.stat

    def swapped(*given: object, **more: object) -> os.stat_result:
        if given[0] == "tasks.md" and not (folder / "ana").is_symlink():
            (folder / "ana").rename(folder / "moved")
            (folder / "ana").symlink_to(tmp_path / "outside")
        return really(*given, **more)  # type: ignore[arg-type]

    monkeypatch.setattr(os, "stat", swapped)
    with opened(folder, "ana/tasks.md") as file:
        assert file.read() == b"mine"
    assert (folder / "ana").is_symlink()


def test_a_file_over_the_limit_is_not_read(folder: Path) -> None:
    folder.mkdir()
    (folder / "a.md").write_bytes(b"x" * 11)
    assert read_bytes(folder, "a.md", 11) == b"x" * 11
    with pytest.raises(LeftAlone, match="it has 11 bytes; at most 10 are read"):
        read_bytes(folder, "a.md", 10)


# Folders that are imported


def import_folder(tmp_path: Path) -> Path:
    folder, outside = tmp_path / ".memory", tmp_path / "outside"
    (folder / "dev").mkdir(parents=True)
    (folder / "conversations").mkdir()
    outside.mkdir()
    (outside / "secret.md").write_text(SECRET)
    (outside / "secret.json").write_text(f'{{"messages": [{{"role": "user", "text": "{SECRET}"}}]}}')
    for name in ("_project.md", "bob.md", "dev/decisions.md", "Note.md"):
        (folder / name).symlink_to(outside / "secret.md")
    (folder / "conversations" / "dev.json").symlink_to(outside / "secret.json")
    os.mkfifo(folder / "dev" / "tasks.md")
    os.mkfifo(folder / "pipe.md")
    os.mkfifo(folder / "conversations" / "pipe.json")
    (folder / "dev" / "lessons.md").write_text("ropes rot\n")
    return folder


@pytest.mark.parametrize("format", ["memory-folder", "obsidian"])
def test_an_imported_folder_gives_nothing_that_is_outside_of_it(home: Home, tmp_path: Path, format: str) -> None:
    done = home.import_(import_folder(tmp_path), format=format)
    known = [home.agent(agent) for agent in home.agents()]
    assert [entry.content for mem in known for entry in mem.list()] == ["ropes rot"]
    assert not [mem for mem in known if mem.project() or mem.conversations.list()]
    left = {remark.partition(" ")[0] for remark in done.remarks}
    assert {"bob.md", "pipe.md"} <= left


# Git


def commits(home: Home) -> str:
    return str(home.vault().history("ana", 100, True))


@pytest.fixture
def versioned(tmp_path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Home]:
    pytest.importorskip("pygit2", reason="pygit2 is not installed; it comes with recollect[git]")
    monkeypatch.setenv("RECOLLECT_GIT_REPOSITORY", "agent")
    with recollect.open(tmp_path / "home", vault=folder) as home:
        for agent in ("ana", "bob"):
            home.agent(agent).remember(SECRET if agent == "bob" else "mine", category="decisions")
            home.vault().checkpoint(agent, "first")
            home.agent(agent).remember("more", category="tasks")
            home.vault().checkpoint(agent, "second")
        yield home


def another_work_tree(git: Path) -> None:
    config = git / "config"
    config.write_text(f"{config.read_text()}\n[core]\n\tworktree = {git.parent.parent / 'bob'}\n")


def another_common_folder(git: Path) -> None:
    (git / "commondir").write_text("../../bob/.git\n")


def objects_of_another(git: Path) -> None:
    (git / "objects" / "info").mkdir(exist_ok=True)
    (git / "objects" / "info" / "alternates").write_text(f"{git.parent.parent / 'bob' / '.git' / 'objects'}\n")
    (git / "refs" / "heads" / "main").write_bytes((git.parent.parent / "bob/.git/refs/heads/main").read_bytes())


def linked_parts(git: Path) -> None:
    for name in ("objects", "refs"):
        (git / name).rename(git / f"old-{name}")
        (git / name).symlink_to(git.parent.parent / "bob" / ".git" / name)


@pytest.mark.parametrize("trick", [another_work_tree, another_common_folder, objects_of_another, linked_parts])
def test_a_repository_that_uses_another_one_is_left_alone(
    versioned: Home, folder: Path, trick: Callable[[Path], None]
) -> None:
    trick(folder / "ana" / ".git")
    versioned.agent("ana").remember("again", category="lessons")
    with pytest.raises(recollect.Conflict):
        versioned.vault().checkpoint("ana", "third")
    with pytest.raises(recollect.Conflict):
        commits(versioned)


def test_a_link_in_the_folder_is_not_committed(versioned: Home, folder: Path) -> None:
    (folder / "ana" / "trip.md").symlink_to(folder / "bob" / "decisions.md")
    (folder / "ana" / "bob").symlink_to(folder / "bob")
    assert versioned.vault().checkpoint("ana", "third").skipped
    versioned.agent("ana").remember("again", category="lessons")
    assert not versioned.vault().checkpoint("ana", "third").skipped
    assert "+again" in commits(versioned)
    assert SECRET not in commits(versioned)
    assert "trip.md" not in commits(versioned)
