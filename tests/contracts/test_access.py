"""Tokens and requests that come twice: rights, expiry, revocation seen by other processes, answers kept for a day."""

import json
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import recollect
from recollect import Answer, Conflict, FixedClock, Home, Invalid, NotFound, Right, Token
from recollect.access import AlreadyApplied, InProgress

pytestmark = pytest.mark.directory

DAY = 24 * 3_600_000


# Tokens


def test_a_token_is_known_by_its_secret_and_by_nothing_else(home: Home) -> None:
    assert home.tokens.list() == []
    assert home.tokens.any() is False
    token, secret = home.tokens.create("laptop")
    assert (token.name, token.workspace, token.agents, token.right) == ("laptop", "*", ("*",), Right.WRITE)
    assert secret.startswith("rcl_")
    assert len(secret) >= 36
    checked = home.tokens.check(secret)
    assert checked is not None
    assert checked.id == token.id
    for wrong in ("", "rcl_", secret[:-1], secret + "x", secret.upper(), token.id, token.name, "rcl_\ud800", "ä"):
        assert home.tokens.check(wrong) is None
    assert home.tokens.check(None) is None  # type: ignore[arg-type]
    assert [one.id for one in home.tokens.list()] == [token.id]
    assert home.tokens.any() is True


def test_asking_about_tokens_creates_nothing(tmp_path: Path) -> None:
    with recollect.open(tmp_path / "memory.db") as home:
        assert home.tokens.check("rcl_" + "x" * 43) is None
        assert home.tokens.any() is False
        with pytest.raises(NotFound):
            home.tokens.revoke("laptop")
    assert not (tmp_path / "memory.db").exists()


def test_the_secret_is_nowhere_in_the_file(tmp_path: Path) -> None:
    with recollect.open(tmp_path / "memory.db") as home:
        _, secret = home.tokens.create("laptop")
        assert home.tokens.check(secret) is not None
    for path in tmp_path.iterdir():
        content = path.read_bytes()
        assert secret.encode() not in content
        assert secret.removeprefix("rcl_").encode() not in content


def test_two_secrets_are_never_alike(home: Home) -> None:
    made = [home.tokens.create(f"t{number}")[1] for number in range(5)]
    assert len(set(made)) == 5


def test_a_token_ends_when_it_expires_also_while_it_is_remembered(home: Home, clock: FixedClock) -> None:
    _, secret = home.tokens.create("short", expires=clock.now() + 2_000)
    assert home.tokens.check(secret) is not None
    clock.advance(1_999)
    assert home.tokens.check(secret) is not None
    assert home.tokens.any() is True
    clock.advance(1)
    assert home.tokens.check(secret) is None
    assert home.tokens.any() is False
    clock.advance(-10_000)  # a clock that goes back
    assert home.tokens.check(secret) is not None


def test_a_revoked_token_is_refused_at_once_and_its_name_is_free(home: Home, clock: FixedClock) -> None:
    token, secret = home.tokens.create("laptop")
    assert home.tokens.check(secret) is not None
    clock.advance(10)
    revoked = home.tokens.revoke("laptop")
    assert (revoked.id, revoked.revoked_at) == (token.id, clock.now())
    assert home.tokens.check(secret) is None
    assert home.tokens.any() is False
    assert home.tokens.list() == []
    assert [one.id for one in home.tokens.list(include_revoked=True)] == [token.id]
    assert home.tokens.revoke(token.id).revoked_at == revoked.revoked_at  # again by its id: as it was
    with pytest.raises(NotFound, match="laptop"):
        home.tokens.revoke("laptop")
    second, other = home.tokens.create("laptop")
    assert home.tokens.check(other) is not None
    assert home.tokens.check(secret) is None
    assert home.tokens.revoke(second.id).id == second.id


def test_a_name_in_use_is_a_conflict(home: Home) -> None:
    home.tokens.create("laptop")
    with pytest.raises(Conflict, match="laptop"):
        home.tokens.create(" laptop ")
    assert len(home.tokens.list()) == 1


@pytest.mark.parametrize(
    "wrong",
    [
        {"name": ""},
        {"name": "a\nb"},
        {"name": "x" * 300},
        {"workspace": ""},
        {"workspace": "a/b"},
        {"workspace": "**"},
        {"agents": "ana"},
        {"agents": ()},
        {"agents": ["a/b"]},
        {"agents": [7]},
        {"agents": 7},
        {"right": "owner"},
        {"expires": 1},
        {"expires": "soon"},
    ],
)
def test_a_token_that_makes_no_sense_is_refused_and_not_made(tmp_path: Path, wrong: dict[str, object]) -> None:
    with recollect.open(tmp_path / "memory.db") as home:
        with pytest.raises(Invalid):
            home.tokens.create(**{"name": "laptop", **wrong})  # type: ignore[arg-type]
        assert home.tokens.list() == []


def test_its_use_is_noted_once_a_minute(home: Home, clock: FixedClock) -> None:
    _, secret = home.tokens.create("laptop")
    start = clock.now()

    def used() -> int | None:
        home._shared.background.wait()
        return home.tokens.list()[0].used_at

    assert used() is None
    home.tokens.check(secret)
    assert used() == start
    clock.advance(59_000)
    home.tokens.check(secret)
    assert used() == start
    clock.advance(1_000)
    home.tokens.check(secret)
    assert used() == start + 60_000


def test_a_mistake_in_the_background_is_in_the_log(home: Home, caplog: pytest.LogCaptureFixture) -> None:
    background = home._shared.background
    background.run("a mistake", lambda: [].pop())
    background.wait()
    assert "pop from empty list" in caplog.text


def test_a_note_that_cannot_be_written_refuses_no_request(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    _, secret = home.tokens.create("laptop")

    def full(agent: str) -> None:
        raise recollect.Unavailable("the disk is full")

    monkeypatch.setattr(home.tokens._store.database, "write", full)
    assert home.tokens.check(secret) is not None
    home._shared.background.wait()


def test_tokens_are_looked_up_once_in_five_seconds(
    home: Home, clock: FixedClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, secret = home.tokens.create("laptop")
    home.tokens.check(secret)
    home._shared.background.wait()
    looked = []
    read = home.tokens._store.database.read
    monkeypatch.setattr(home.tokens._store.database, "read", lambda agent: looked.append(agent) or read(agent))
    for _ in range(10):
        assert home.tokens.check(secret) is not None
    assert looked == []
    clock.advance(5_000)
    assert home.tokens.check(secret) is not None
    assert looked == ["_shared"]


OTHER = """
import sys
import recollect
with recollect.open(sys.argv[1]) as home:
    if sys.argv[2] == "revoke":
        home.tokens.revoke(sys.argv[3])
    else:
        print(home.tokens.check(sys.argv[3]) is not None)
"""


def other_process(location: str, *args: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", OTHER, location, *args],
        capture_output=True,
        text=True,
        check=True,
        env={"PYTHONPATH": str(Path(recollect.__file__).parents[1])},
    )
    return done.stdout.strip()


def test_a_revocation_by_another_process_is_seen_within_five_seconds(
    home: Home, location: str, clock: FixedClock
) -> None:
    _, secret = home.tokens.create("laptop")
    assert home.tokens.check(secret) is not None
    assert other_process(location, "check", secret) == "True"
    other_process(location, "revoke", "laptop")
    assert other_process(location, "check", secret) == "False"
    clock.advance(5_000)
    assert home.tokens.check(secret) is None


@pytest.mark.unprepared
def test_tokens_belong_to_the_home_and_no_agent_sees_them(home: Home) -> None:
    home.tokens.create("laptop")
    for name in ("ana", "_shared"):
        mem = home.agent(name)
        assert (mem.list(), mem.changes(), mem.last_change(), mem.trash()) == ([], [], 0, [])
    assert home.agents() == []
    assert home.check().ok


def test_neither_an_export_nor_a_move_takes_tokens_along(home: Home, tmp_path: Path) -> None:
    home.agent("ana").remember("We deploy on Tuesdays", scope="account")
    home.agent("ana").channels.create("ops")  # a row of the agent _shared
    _, secret = home.tokens.create("laptop")
    home.requests.begin("r-1", "post /entries")
    home.export(tmp_path / "all.jsonl")
    lines = [json.loads(line) for line in (tmp_path / "all.jsonl").read_text().splitlines()]
    assert {line[0] for line in lines if isinstance(line, list)}.isdisjoint({"tokens", "requests"})
    with recollect.open(tmp_path / "copy") as copy:
        first, own = copy.tokens.create("its own")
        copy.import_(tmp_path / "all.jsonl")
        assert copy.tokens.list() == [first]
        assert copy.tokens.check(own) is not None
        assert copy.tokens.check(secret) is None
        assert [entry.content for entry in copy.agent("ana").list()] == ["We deploy on Tuesdays"]
    with recollect.open(tmp_path / "moved") as moved:
        home.move_to(moved)
        assert moved.tokens.list() == []


names = st.sampled_from(["default", "shop", "ana", "ben"])
rights = st.sampled_from(list(Right))


def token(workspace: str, agents: tuple[str, ...], right: Right) -> Token:
    return Token(id="1", name="t", workspace=workspace, agents=agents, right=right, created_at=0)


@given(st.sampled_from(["*", "default", "shop"]), st.sets(names, min_size=1), rights, names, names, rights)
def test_a_token_allows_what_it_names_and_every_lesser_right(
    workspace: str, agents: set[str], right: Right, where: str, who: str, wanted: Right
) -> None:
    for listed, everybody in ((tuple(agents), False), (("*",), True)):
        allowed = token(workspace, listed, right).allows(where, who, wanted)
        weight = {"read": 1, "write": 2, "admin": 3}
        covered = workspace in ("*", where) and (everybody or who in agents)
        assert allowed is (covered and weight[right] >= weight[wanted])
        assert allowed is token(workspace, listed, right).allows(where, who, str(wanted))


@given(rights, rights, rights)
def test_the_rights_are_in_one_order(one: Right, two: Right, three: Right) -> None:
    assert one.includes(one)
    assert one.includes(two) or two.includes(one)
    assert not (one.includes(two) and two.includes(one)) or one is two
    assert not (one.includes(two) and two.includes(three)) or one.includes(three)
    assert Right.ADMIN.includes(one)
    assert one.includes("read")


def test_who_has_one_workspace_or_agent_has_not_all_of_them() -> None:
    assert not token("default", ("ana",), Right.ADMIN).allows("*", "ana", "read")
    assert not token("default", ("ana",), Right.ADMIN).allows("default", "*", "read")
    assert token("*", ("*",), Right.READ).allows("*", "*", "read")


# Requests


def test_a_request_that_comes_again_gets_the_same_answer(home: Home, clock: FixedClock) -> None:
    assert home.requests.begin("r-1", "post /entries abc") is None
    home.requests.finish("r-1", 201, '{"id": "ä"}', {"Location": "/v1/entries/1"})
    expected = Answer(status=201, body='{"id": "ä"}', headers={"Location": "/v1/entries/1"})
    assert home.requests.begin("r-1", "post /entries abc") == expected
    clock.advance(DAY)
    assert home.requests.begin("r-1", "post /entries abc") == expected
    assert home.requests.begin("r-2", "post /entries abc") is None


def test_the_same_key_for_another_request_is_a_conflict(home: Home) -> None:
    home.requests.begin("r-1", "post /entries abc")
    with pytest.raises(Conflict, match="another request"):
        home.requests.begin("r-1", "post /entries xyz")
    home.requests.finish("r-1", 200, "")
    with pytest.raises(Conflict, match="another request"):
        home.requests.begin("r-1", "post /entries xyz")


def test_a_request_under_way_is_a_conflict_until_it_is_done_or_dropped(home: Home) -> None:
    home.requests.begin("r-1", "abc")
    with pytest.raises(Conflict, match="in progress"):
        home.requests.begin("r-1", "abc")
    home.requests.drop("r-1")
    assert home.requests.begin("r-1", "abc") is None
    home.requests.finish("r-1", 200, "first")
    home.requests.drop("r-1")  # what is done stays done
    home.requests.finish("r-1", 500, "second")
    assert home.requests.begin("r-1", "abc") == Answer(status=200, body="first")


def test_a_request_of_unknown_outcome_is_executed_again_and_takes_effect_once(home: Home) -> None:
    mem = home.agent("ana")
    for _ in range(2):
        assert home.requests.begin("r-1", "abc") is None
        with suppress(AlreadyApplied), home.requests.executing("r-1"):
            mem.remember("The kettle is in the kitchen.")
            mem.remember("The cups are on the shelf.")
        home.requests.fail("r-1")
    with pytest.raises(Conflict, match="another request"):
        home.requests.begin("r-1", "xyz")
    assert len(mem.list()) == 2
    with home.requests.executing("r-2"):
        mem.remember("The kettle is in the kitchen.")
    assert len(mem.list()) == 3


def test_a_write_that_was_rolled_back_leaves_no_mark(home: Home) -> None:
    mem = home.agent("ana")
    mem.remember("The kettle is in the kitchen.", name="kettle")
    for _ in range(2):
        with pytest.raises(Conflict, match="kettle"), home.requests.executing("r-1"):
            mem.remember("The kettle is on the shelf.", name="kettle")
    with home.requests.executing("r-1"):
        mem.remember("The cups are on the shelf.", name="cups")


def test_a_request_without_an_answer_is_executed_again_after_a_minute(home: Home, clock: FixedClock) -> None:
    assert home.requests.begin("r-1", "abc") is None
    clock.advance(59_000)
    with pytest.raises(InProgress, match="a minute later"):
        home.requests.begin("r-1", "abc")
    clock.advance(1_000)
    assert home.requests.begin("r-1", "abc") is None
    with pytest.raises(InProgress):
        home.requests.begin("r-1", "abc")
    home.requests.finish("r-1", 201, "done")
    assert home.requests.begin("r-1", "abc") == Answer(status=201, body="done")


def test_marks_of_requests_are_removed_after_a_day(home: Home, clock: FixedClock) -> None:
    mem = home.agent("ana")
    with home.requests.executing("r-1"):
        mem.remember("The kettle is in the kitchen.")
    clock.advance(DAY + 1)
    home.jobs.run("retain")
    with home.requests.executing("r-1"):
        mem.remember("The kettle is in the kitchen.")


def test_an_answer_too_long_to_keep_says_so(home: Home) -> None:
    home.requests.begin("r-1", "abc")
    home.requests.finish("r-1", 200, "ä" * 500_000)  # a million bytes
    assert home.requests.begin("r-1", "abc") == Answer(status=200, body="ä" * 500_000)
    home.requests.begin("r-2", "abc")
    home.requests.finish("r-2", 200, "ä" * 500_000 + ".")
    with pytest.raises(Conflict, match=r"status 200.*1,000,000"):
        home.requests.begin("r-2", "abc")


def test_requests_of_the_day_before_are_forgotten_a_hundred_at_a_time(home: Home, clock: FixedClock) -> None:
    def rows() -> int:
        with home.requests._store.read() as tx:
            return sum(tx.one("access.request", key=f"r-{number}") is not None for number in range(151))

    for number in range(150):
        home.requests.begin(f"r-{number}", "abc")
    clock.advance(DAY + 1)
    assert home.requests.begin("r-149", "xyz") is None  # old, whether or not it is among the hundred
    assert rows() == 50
    assert home.requests.begin("r-150", "abc") is None
    assert rows() == 2


@pytest.mark.parametrize("key", ["", " ", "a\nb", "x" * 257, "\ud800", 7])
def test_a_key_is_one_line_of_text(tmp_path: Path, key: str) -> None:
    with recollect.open(tmp_path / "memory.db") as home:
        for call in (
            lambda: home.requests.begin(key, "abc"),
            lambda: home.requests.finish(key, 200, ""),
            lambda: home.requests.fail(key),
            lambda: home.requests.drop(key),
        ):
            with pytest.raises(Invalid):
                call()
    assert not (tmp_path / "memory.db").exists()
