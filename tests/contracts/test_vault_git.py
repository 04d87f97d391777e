"""The vault in git: real repositories in real folders, looked at with git itself where it is there."""

import logging
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

import recollect
from recollect import ConfigError, Conflict, Corrupt, FixedClock, Home, Invalid, Memory, Unavailable
from recollect.vault.git import Checkpoint, GitHistory, Repository, checkpoint_subject, close_message, dream_subject
from recollect.vault.sync import Vault

pytestmark = pytest.mark.directory

pytest.importorskip("pygit2", reason="pygit2 is not installed; it comes with recollect[git]")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "vault" / "ana"


@pytest.fixture
def repository(folder: Path, clock: FixedClock) -> Repository:
    return Repository(folder, clock, author="ana")


def files_of(folder: Path, commit: str = "HEAD") -> list[str]:
    import pygit2

    found = pygit2.Repository(str(folder / ".git"))
    index = pygit2.Index()
    index.read_tree(found.revparse_single(commit).peel(pygit2.Tree))
    return sorted(entry.path for entry in index)


def test_a_new_repository_has_its_rules_and_a_first_commit(repository: Repository, folder: Path) -> None:
    repository.commit_all("nothing changed")
    assert (folder / ".gitignore").read_text() == "transcripts/\nmedia/\n*.tmp\n*.swp\n.DS_Store\n"
    assert files_of(folder) == [".gitattributes", ".gitignore"]
    (first,) = repository.history().commits
    assert (first.subject, first.body, first.author, first.timestamp_unix) == ("workspace init", "", "ana", 1767225600)
    assert (folder / ".git" / "HEAD").read_text() == "ref: refs/heads/main\n"
    repository.commit_all("nothing changed")
    assert len(repository.history().commits) == 1


def test_a_commit_holds_everything_that_is_not_ignored(repository: Repository, folder: Path) -> None:
    repository.commit_all("nothing changed")
    (folder / "media").mkdir()
    for name in ("decisions.md", "media/photo.png", "x.tmp", ".x.swp", ".DS_Store", "notes ü.md"):
        (folder / name).write_text(name)
    made = repository.commit_all("checkpoint: one", "a body\nof two lines")
    assert made is not None
    assert (made.subject, made.body, made.short_oid) == ("checkpoint: one", "a body\nof two lines", made.oid[:7])
    assert files_of(folder) == [".gitattributes", ".gitignore", "decisions.md", "notes ü.md"]
    assert repository.commit_all("again") is None
    (folder / "decisions.md").unlink()
    (folder / "notes ü.md").write_text("changed")
    assert repository.commit_all("fewer") is not None
    assert files_of(folder) == [".gitattributes", ".gitignore", "notes ü.md"]
    assert repository.commit_all("again") is None


def test_a_file_over_a_mebibyte_is_left_out_and_reported(
    repository: Repository, folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    repository.commit_all("nothing changed")
    (folder / "large.md").write_bytes(b"x" * (1_048_576 + 1))
    (folder / "just.md").write_bytes(b"x" * 1_048_576)
    with caplog.at_level(logging.WARNING, "recollect.git"):
        repository.commit_all("one")
    assert "large.md" in caplog.text
    assert "just.md" in files_of(folder)
    assert "large.md" not in files_of(folder)
    assert repository.commit_all("again") is None
    (folder / "just.md").write_bytes(b"x" * 1_048_577)
    assert repository.commit_all("grown") is None
    assert "just.md" in files_of(folder)


def test_the_subjects_are_these() -> None:
    assert dream_subject(3) == "dream: 3 promotion(s)"
    assert dream_subject(0) == "dream: 0 promotion(s)"
    assert close_message("a1b2", "ana") == ("session-close: a1b2", "agent=ana")
    assert checkpoint_subject() == "checkpoint: manual"
    assert checkpoint_subject("before\nthe move") == "checkpoint: before the move"


def test_a_checkpoint_says_what_it_made_or_why_not(repository: Repository, folder: Path) -> None:
    repository.commit_all("nothing changed")
    assert repository.checkpoint() == Checkpoint(skipped=True, reason="nothing changed since the last commit")
    (folder / "tasks.md").write_text("- [ ] one\n")
    made = repository.checkpoint("tasks")
    assert (made.subject, made.skipped) == ("checkpoint: tasks", False)
    assert made.oid == repository.history(1).commits[0].short_oid


def test_history_gives_the_newest_first_and_the_difference_on_request(
    repository: Repository, folder: Path, clock: FixedClock
) -> None:
    assert repository.history() == GitHistory(commits=())
    repository.commit_all("nothing changed")
    for number in range(3):
        clock.advance(60_000)
        (folder / "lessons.md").write_text(f"lesson {number}\n")
        repository.checkpoint(str(number))
    found = repository.history(2, include_diff=True)
    assert [commit.subject for commit in found.commits] == ["checkpoint: 2", "checkpoint: 1"]
    assert found.diff is not None
    assert "-lesson 1\n+lesson 2\n" in found.diff
    assert "lesson 0" not in found.diff
    assert repository.history(1, include_diff=True).diff is None
    assert repository.history().diff is None
    assert len(repository.history(100).commits) == 4
    for limit in (0, 101, -1, True):
        with pytest.raises(Invalid):
            repository.history(limit)


def test_the_vault_as_one_repository_leaves_raw_conversations_out(tmp_path: Path, clock: FixedClock) -> None:
    whole = Repository(tmp_path, clock, author="recollect", whole_vault=True)
    for name in ("ana/decisions.md", "_project.md", "conversations/ana.json", ".vault/id"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(name)
    whole.checkpoint()
    assert files_of(tmp_path) == [".gitattributes", ".gitignore", "_project.md", "ana/decisions.md"]


def test_a_repository_around_the_folder_is_not_touched(tmp_path: Path, folder: Path, clock: FixedClock) -> None:
    outer = Repository(tmp_path, clock, author="person")
    outer.commit_all("nothing changed")
    folder.mkdir(parents=True)
    (folder / "decisions.md").write_text("a")
    Repository(folder, clock, author="ana").checkpoint()
    assert [commit.subject for commit in outer.history().commits] == ["workspace init"]
    assert files_of(folder) == [".gitattributes", ".gitignore", "decisions.md"]


def test_rules_that_a_person_wrote_are_kept(repository: Repository, folder: Path) -> None:
    folder.mkdir(parents=True)
    (folder / ".gitignore").write_text("private.md\n")
    (folder / "private.md").write_text("mine")
    repository.commit_all("nothing changed")
    assert files_of(folder) == [".gitattributes", ".gitignore"]


@pytest.mark.skipif(shutil.which("git") is None, reason="git itself is not installed")
def test_a_repository_in_the_middle_of_a_merge_is_left_alone(repository: Repository, folder: Path) -> None:
    def git(*words: str) -> None:
        who = ["-c", "user.name=p", "-c", "user.email=p@localhost"]
        subprocess.run(["git", "-C", str(folder), *who, *words], capture_output=True, check=words[0] != "merge")

    repository.commit_all("nothing changed")
    for branch, text in (("other", "theirs"), ("main", "ours")):
        git("checkout", "-q", *(["-b"] if branch == "other" else []), branch)
        (folder / "decisions.md").write_text(text)
        git("add", ".")
        git("commit", "-q", "-m", branch)
    git("merge", "other")
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    for attempt in (repository.checkpoint, lambda: repository.commit_all("x")):
        with pytest.raises(Conflict, match="merge"):
            attempt()
    assert {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()} == before
    assert repository.history(1).commits[0].subject == "main"
    git("merge", "--abort")
    (folder / "decisions.md").write_text("after")
    assert repository.checkpoint().subject == "checkpoint: manual"


def test_a_repository_that_is_locked_says_so(repository: Repository, folder: Path) -> None:
    repository.commit_all("nothing changed")
    (folder / "decisions.md").write_text("a")
    (folder / ".git" / "index.lock").write_text("")
    with pytest.raises(Unavailable):
        repository.checkpoint()
    (folder / ".git" / "index.lock").unlink()
    assert not repository.checkpoint().skipped


def test_a_repository_that_is_elsewhere_or_broken_is_left_alone(
    repository: Repository, folder: Path, tmp_path: Path, clock: FixedClock
) -> None:
    other = Repository(tmp_path / "other", clock, author="person")
    other.commit_all("nothing changed")
    folder.mkdir(parents=True)
    (folder / ".git").symlink_to(tmp_path / "other" / ".git")
    with pytest.raises(Conflict):
        repository.checkpoint()
    assert len(other.history().commits) == 1
    (folder / ".git").unlink()
    (folder / ".git").mkdir()
    with pytest.raises(Corrupt):
        repository.checkpoint()


def test_without_pygit2_the_error_says_what_to_install(repository: Repository, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "pygit2", None)
    with pytest.raises(ConfigError, match=r"pip install '\.\[git\]'"):
        repository.commit_all("nothing changed")


# Through the vault


def vault_of(home: Home, folder: Path, clock: FixedClock, repository: str | None) -> Vault:
    database = home._place.workspace("default")
    stores = home._store
    return Vault(folder, lambda agent: stores("default", agent), database.admin.agents, clock, repository=repository)


def test_a_checkpoint_of_an_agent_holds_what_was_just_remembered(tmp_path: Path, clock: FixedClock) -> None:
    with recollect.open(tmp_path / "memory.db", clock=clock) as home:
        vault = vault_of(home, tmp_path / "vault", clock, "agent")
        home.agent("ana").remember("Use SSE.", category="decisions")
        assert vault.checkpoint("ana", "first").subject == "checkpoint: first"
        home.agent("ana").remember("Use HTTP/2.", category="decisions")
        home.agent("ben").remember("not hers", category="decisions")
        assert vault.checkpoint("ana", "second").subject == "checkpoint: second"
        assert vault.commit("ana", *close_message("a1", "ana")) is None
        assert [commit.subject for commit in vault.history("ana").commits] == [
            "checkpoint: second",
            "checkpoint: first",
            "workspace init",
        ]
        assert "+Use HTTP/2." in (vault.history("ana", include_diff=True).diff or "")
        assert vault.history("ben").commits == ()


def test_a_vault_in_one_repository_and_one_without_git(tmp_path: Path, clock: FixedClock) -> None:
    with recollect.open(tmp_path / "memory.db", clock=clock) as home:
        home.agent("ana").remember("Use SSE.", category="decisions")
        whole = vault_of(home, tmp_path / "vault", clock, "vault")
        whole.checkpoint("ana")
        assert files_of(tmp_path / "vault") == [".gitattributes", ".gitignore", "ana/decisions.md"]
        off = vault_of(home, tmp_path / "other", clock, None)
        assert off.checkpoint("ana").skipped
        assert off.commit("ana", "x") is None
        assert off.history("ana") == GitHistory(commits=())
        with pytest.raises(ConfigError):
            vault_of(home, tmp_path, clock, "always")
        (tmp_path / "third").mkdir()
        (tmp_path / "third" / "ana").symlink_to(tmp_path / "vault")
        with pytest.raises(Conflict):
            vault_of(home, tmp_path / "third", clock, "agent").checkpoint("ana")


def test_agents_that_share_a_repository_see_and_commit_their_own_files_only(tmp_path: Path, clock: FixedClock) -> None:
    with recollect.open(tmp_path / "memory.db", clock=clock) as home:
        folder = tmp_path / "vault"
        vault = vault_of(home, folder, clock, "vault")
        for agent, text in (("ana", "Use SSE."), ("bob", "The harbour opens with mackerel.")):
            home.agent(agent).remember(text, category="decisions")
            vault.sync(agent)
        assert vault.checkpoint("bob", "the secret of bob").oid
        assert files_of(folder) == [".gitattributes", ".gitignore", "bob/decisions.md"]
        assert vault.history("ana") == GitHistory(commits=())
        for number in (1, 2):
            home.agent("ana").remember(f"Use HTTP/{number}.", category="decisions")
            home.agent("bob").remember(f"Mackerel number {number}.", category="decisions")
            assert vault.checkpoint("bob", "another secret").oid
            assert vault.checkpoint("ana", f"number {number}").oid
        assert vault.checkpoint("ana").skipped
        (folder / "_project.md").write_text("A ferry.\n")
        assert vault.checkpoint("bob", "the project").oid
        found = vault.history("ana", include_diff=True)
        assert [commit.subject for commit in found.commits] == [
            "checkpoint: the project",
            "checkpoint: number 2",
            "checkpoint: number 1",
        ]
        assert "+Use HTTP/2." in (found.diff or "")
        assert "+A ferry." in (found.diff or "")
        assert "ackerel" not in (found.diff or "")
        assert [commit.subject for commit in vault.history("ana", 1).commits] == ["checkpoint: the project"]
        assert "+Mackerel number 2." in (vault.history("bob", include_diff=True).diff or "")
        with pytest.raises(Invalid):
            vault.history("../ana")


# Automatic commits


@pytest.fixture
def live(tmp_path: Path, clock: FixedClock, monkeypatch: pytest.MonkeyPatch) -> Iterator[Home]:
    """A home with git on and a vault that was made."""
    monkeypatch.setenv("RECOLLECT_GIT_REPOSITORY", "agent")
    with recollect.open(tmp_path / "home", clock=clock) as home:
        home.vault().sync()
        home.agent("ana").remember("Ropes rot.", category="lessons")
        yield home


def subjects(home: Home, agent: str = "ana") -> list[str]:
    return [commit.subject for commit in home.vault().history(agent).commits]


def talked(mem: Memory) -> str:
    talk = mem.conversations.start()
    talk.user("Which day?")
    talk.assistant("We decided to deploy on Tuesdays.")
    return talk.id


def dreamt_of(home: Home, clock: FixedClock) -> None:
    for query in ("ropes", "which ropes", "ropes?"):
        home.agent("ana").recall(query)
        clock.advance(86_400_000)
    home.flush()


def test_the_end_of_a_conversation_is_a_commit_with_its_hand_off(live: Home) -> None:
    mem = live.agent("ana")
    identity = talked(mem)
    mem.conversations.get(identity).end()
    (last, *_) = live.vault().history("ana").commits
    assert (last.subject, last.body) == (f"session-close: {identity}", "agent=ana")
    assert {"decisions.md", "handoffs.md"} < set(files_of(live.vault().folder / "ana"))
    mem.conversations.start().end()  # nothing was said, nothing is left
    assert subjects(live) == [f"session-close: {identity}", "workspace init"]


@pytest.mark.parametrize("by", ["the next conversation", "upkeep"])
def test_a_conversation_that_died_is_a_commit_too(live: Home, clock: FixedClock, by: str) -> None:
    identity = talked(live.agent("ana"))
    clock.advance(3 * 86_400_000)
    if by == "upkeep":
        live.jobs.run("age")
    else:
        live.agent("ana").conversations.start()
    assert subjects(live) == [f"session-close: {identity}", "workspace init"]
    assert "Which day?" in (live.vault().folder / "ana" / "handoffs.md").read_text()


def test_every_dream_is_a_commit_with_its_diary(live: Home, clock: FixedClock) -> None:
    live.agent("ben").remember("not hers", category="lessons")
    dreamt_of(live, clock)
    assert live.jobs.run("dream", dry_run=True).figures["promoted"] == 1
    assert subjects(live) == []
    assert live.jobs.run("dream").error is None
    assert subjects(live) == ["dream: 1 promotion(s)", "workspace init"]
    assert "MEMORY.md" in files_of(live.vault().folder / "ana")
    clock.advance(1_000 * 60)
    live.jobs.run("dream")
    assert subjects(live) == ["dream: 0 promotion(s)", "dream: 1 promotion(s)", "workspace init"]
    assert subjects(live, "ben") == ["dream: 0 promotion(s)", "dream: 0 promotion(s)", "workspace init"]
    assert files_of(live.vault().folder / "ben") == [".gitattributes", ".gitignore", "DREAMS.md", "lessons.md"]


@pytest.mark.parametrize(("trouble", "received"), [("index.lock", "git cannot work"), ("MERGE_HEAD", "has a merge")])
def test_git_in_trouble_fails_no_dream_and_no_ending(
    live: Home, clock: FixedClock, caplog: pytest.LogCaptureFixture, trouble: str, received: str
) -> None:
    live.vault().checkpoint("ana")
    (live.vault().folder / "ana" / ".git" / trouble).write_text(f"{live.vault().history('ana').commits[0].oid}\n")
    mem = live.agent("ana")
    dreamt_of(live, clock)
    with caplog.at_level(logging.WARNING, "recollect.vault"):
        assert mem.conversations.get(talked(mem)).end().handoff is not None
        assert live.jobs.run("dream").error is None
    assert caplog.text.count(received) == 2
    assert subjects(live)[0] == "checkpoint: manual"


@pytest.mark.parametrize("repository", ["agent", "vault"])
def test_the_end_of_the_very_first_conversation_is_a_commit(
    location: str, tmp_path: Path, clock: FixedClock, monkeypatch: pytest.MonkeyPatch, repository: str
) -> None:
    monkeypatch.setenv("RECOLLECT_GIT_REPOSITORY", repository)
    with recollect.open(location, vault=tmp_path / "notes", clock=clock) as home:
        mem = home.agent("ana")
        assert home.vault().history("ana").commits == ()
        identity = talked(mem)
        mem.conversations.get(identity).end()
        assert subjects(home)[0] == f"session-close: {identity}"
        folder = tmp_path / "notes"
        assert "handoffs.md" in " ".join(files_of(folder / "ana" if repository == "agent" else folder))


def test_the_history_of_a_deleted_workspace_stays_and_brings_nothing_back(
    tmp_path: Path, clock: FixedClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RECOLLECT_GIT_REPOSITORY", "agent")
    with recollect.open(tmp_path / "memory.db", vault=tmp_path / "notes", clock=clock) as home:
        home.agent("ana").remember("Ropes rot.", category="lessons")
        home.vault().checkpoint("ana", "the ropes")
        home.delete_workspace("default")
        assert sorted(os.listdir(tmp_path / "notes" / "ana")) == [".git", ".gitattributes", ".gitignore"]
        home.agent("ana").remember("Boats float.", category="decisions")
        home.vault().checkpoint("ana", "the boats")
        assert [entry.content for entry in home.agent("ana").list()] == ["Boats float."]
        assert files_of(tmp_path / "notes" / "ana") == [".gitattributes", ".gitignore", "decisions.md"]
        assert subjects(home) == ["checkpoint: the boats", "checkpoint: the ropes", "workspace init"]


# Erasing


def test_the_receipt_of_an_erasure_names_the_commits_that_still_hold_the_text(live: Home) -> None:
    mem, vault = live.agent("ana"), live.vault()
    mem.remember("The password of the harbour is mackerel", name="secret", category="decisions")
    vault.checkpoint("ana")
    mem.remember("Another day", category="decisions")
    vault.checkpoint("ana")
    receipt = mem.forget("secret", erase=True)
    (received,) = [line for line in receipt.remaining if "git" in line]
    assert received.startswith(f"2 commits of the git repository in {vault.folder / 'ana'} still hold")
    assert "mackerel" not in (vault.folder / "ana" / "decisions.md").read_text()
    harmless = mem.remember("Nobody has committed this one", category="decisions")
    assert not [line for line in mem.forget(harmless.id, erase=True).remaining if "git" in line]


def test_a_repository_that_cannot_be_read_is_reported_in_the_receipt(live: Home) -> None:
    mem = live.agent("ana")
    (live.vault().folder / "ana" / ".git").mkdir(parents=True)
    (received,) = [line for line in mem.forget(mem.list()[0].id, erase=True).remaining if "git" in line]
    assert "could not be looked through" in received
