"""Channels, conversations and scratchpads over HTTP."""

from __future__ import annotations

from pathlib import Path

from surfaces.server import Server, serving

import recollect
from recollect.clock import FixedClock

DAY = 86_400_000


def started(server: Server, **body: object) -> str:
    """The path of a new conversation."""
    answer = server.client.post("/v1/conversations", json=body)
    assert answer.status_code == 201, answer.text
    assert answer.headers["location"] == f"/v1/conversations/{answer.json()['ref_code']}"
    return str(answer.headers["location"])


def user(content: str, **more: object) -> dict[str, object]:
    return {"type": "UserMsg", "content": content, **more}


def a_whole_life(server: Server) -> None:
    """A conversation from its start to its archive, as it is on every kind of database."""
    client, path = server.client, started(server, chat_id="chat-7", model_id="m-1")
    assert client.post(f"{path}/events", json=user("When do we deploy?")).status_code == 201
    calls = [{"id": "call-1", "type": "function", "function": {"name": "calendar", "arguments": '{"team": "ops"}'}}]
    together = [
        {"type": "ModelOutput", "content": "", "tool_calls": calls},
        {"type": "ToolResultCommitted", "content": "Tuesday 10:00", "tool_call_id": "call-1"},
        {"type": "ModelOutput", "content": "We decided to deploy on Tuesdays at ten."},
    ]
    stored = client.post(f"{path}/events", json=together).json()
    assert [event["seq"] for event in stored] == [2, 3, 4]
    assert stored[1]["previous"] == stored[0]["hash"]
    assert client.get(f"{path}/events/{stored[2]['hash'][:12]}").json() == stored[2]
    prompt = client.post(
        f"{path}/messages", json={"instructions": "Answer briefly.", "context": "It is Monday."}
    ).json()
    assert [message["role"] for message in prompt] == ["system", "system", "user", "assistant", "tool", "assistant"]
    assert client.post(f"{path}/events", json=user("And who deploys?")).status_code == 201
    done = client.post(f"{path}/compact").json()
    assert (done["folded"], done["by"]) == (4, "fallback")
    assert [event["content"] for event in client.get(f"{path}/window").json()] == ["And who deploys?"]
    assert [message["role"] for message in client.get(f"{path}/replay").json()] == ["user", "user"]
    assert client.get(f"{path}/checkpoint").json() is None
    assert client.post(f"{path}/checkpoint").status_code == 204
    recovery = client.get("/v1/recovery").json()
    assert client.get(f"{path}/checkpoint").json() == recovery
    assert recovery["conversation"]["chat_id"] == "chat-7"
    assert recovery["events"][-1]["content"] == "And who deploys?"
    hit = client.get("/v1/conversations/search", params={"q": "deploy Tuesdays", "limit": 1}).json()[0]
    assert hit["event"]["hash"] == stored[2]["hash"]
    ended = client.post(f"{path}/end").json()
    assert ended["conversation"]["status"] == "idle"
    assert ended["handoff"]["tags"] == ["auto-handoff", "session-close"]
    assert [entry["content"] for entry in ended["decisions"]] == ["We decided to deploy on Tuesdays at ten."]
    assert client.post(f"{path}/archive").status_code == 204
    assert client.get("/v1/conversations").json() == {"items": [], "next": None}
    archived = client.get("/v1/conversations", params={"include_archived": True}).json()["items"]
    assert [info["status"] for info in archived] == ["archived"]


def test_a_conversation_lives_from_start_to_archive(server: Server) -> None:
    a_whole_life(server)


def test_a_conversation_lives_on_postgresql_as_well(postgres_url: str) -> None:
    with recollect.open(postgres_url) as home, serving(home) as server:
        a_whole_life(server)


def test_a_client_may_post_its_whole_list_again_and_only_the_new_end_is_appended(server: Server) -> None:
    path = started(server)
    messages = [
        {"role": "system", "content": "Be kind."},
        {"role": "user", "content": "Hello"},
        {"role": "assistant", "content": "Hi, what can I do?", "refusal": None},
    ]
    first = server.client.post(f"{path}/events", json={"messages": messages})
    assert (first.status_code, len(first.json())) == (201, 2)
    again = server.client.post(f"{path}/events", json={"messages": messages})
    assert (again.status_code, again.json()) == (200, [])
    messages.append({"role": "user", "content": [{"type": "text", "text": "Remind me of the release"}]})
    added = server.client.post(f"{path}/events", json={"messages": messages})
    assert [event["content"] for event in added.json()] == ["Remind me of the release"]
    core = server.client.post(f"{path}/events", json={"messages": messages[1:2], "lane": "core"})
    assert [event["lane"] for event in core.json()] == ["core"]


def test_events_come_in_pages_by_their_numbers(server: Server) -> None:
    path = started(server)
    server.client.post(f"{path}/events", json=[user(f"line {number}") for number in range(5)])
    first = server.client.get(f"{path}/events", params={"limit": 2}).json()
    assert ([event["content"] for event in first["items"]], first["next"]) == (["line 0", "line 1"], "2")
    rest = server.client.get(f"{path}/events", params={"after": 2}).json()
    assert ([event["seq"] for event in rest["items"]], rest["next"]) == ([3, 4, 5], None)
    assert server.client.get(f"{path}/events", params={"cursor": "2"}).json() == rest
    last = server.client.get(f"{path}/events", params={"before": 2**53 - 1, "limit": 2}).json()
    assert ([event["seq"] for event in last["items"]], last["next"]) == ([5, 4], "4")
    older = {"before": 2**53 - 1, "cursor": "4"}
    assert [event["seq"] for event in server.client.get(f"{path}/events", params=older).json()["items"]] == [3, 2, 1]


def test_conversations_come_in_pages_newest_first_and_each_once(server: Server) -> None:
    made = [started(server, chat_id=f"chat-{number}") for number in range(5)]
    found, cursor = [], None
    while True:
        query = {"limit": 2} | ({"cursor": cursor} if cursor else {})
        answer = server.client.get("/v1/conversations", params=query).json()
        found += [info["ref_code"] for info in answer["items"]]
        cursor = answer["next"]
        if cursor is None:
            break
    assert [f"/v1/conversations/{ref}" for ref in found] == made[::-1]
    assert server.client.get("/v1/conversations", params={"cursor": "nobody"}).status_code == 422
    one = server.client.get("/v1/conversations", params={"chat_id": "chat-3"}).json()["items"]
    assert [info["chat_id"] for info in one] == ["chat-3"]


def test_channels_are_made_listed_and_used(server: Server) -> None:
    made = server.client.post("/v1/channels", json={"name": "releases", "description": "What ships when"})
    assert (made.status_code, made.json()["name"]) == (201, "releases")
    assert server.client.post("/v1/channels", json={"name": "releases"}).status_code == 409
    names = [channel["name"] for channel in server.client.get("/v1/channels").json()["items"]]
    assert names == ["general", "releases"]
    path = started(server, channel="releases")
    assert server.client.get(path).json()["channel_id"] == "releases"
    listed = server.client.get("/v1/conversations", params={"channel": "general"}).json()["items"]
    assert listed == []
    assert server.client.post("/v1/conversations", json={"channel": "no such"}).status_code == 404


def test_a_step_that_is_not_allowed_is_a_conflict_and_changes_nothing(server: Server) -> None:
    path = started(server)
    assert server.client.post(f"{path}/idle").status_code == 204
    for step in ("idle", "end"):
        answer = server.client.post(f"{path}/{step}")
        assert (answer.status_code, answer.headers["content-type"]) == (409, "application/problem+json")
    assert server.client.post(f"{path}/events", json=user("too late")).status_code == 409
    assert server.client.post(f"{path}/archive").status_code == 204
    assert server.client.post(f"{path}/archive").status_code == 409
    assert server.client.get(path).json()["status"] == "archived"
    assert server.client.get(f"{path}/events").json()["items"] == []


def test_a_tools_result_needs_its_call_and_a_call_has_one_result(server: Server) -> None:
    path = started(server)
    result = {"type": "ToolResultCommitted", "content": "Tuesday", "tool_call_id": "call-1"}
    without = server.client.post(f"{path}/events", json=result)
    assert without.status_code == 422
    assert "call-1" in without.json()["detail"]
    call = {"type": "ModelOutput", "content": "", "tool_calls": [{"id": "call-1", "name": "calendar"}]}
    assert server.client.post(f"{path}/events", json=[call, result]).status_code == 201
    assert server.client.post(f"{path}/events", json=result).status_code == 409
    assert len(server.client.get(f"{path}/events").json()["items"]) == 2


WRONG_EVENTS: list[object] = [
    None,
    "hello",
    7,
    {},
    [],
    {"content": "no type"},
    {"type": "UserMsg"},
    {"type": "CompactMarker", "content": "x"},
    {"type": "Nothing", "content": "x"},
    user(""),
    user(" \n"),
    user("a\0b"),
    user(5),  # type: ignore[arg-type]
    user("x", lane="side"),
    user("x", speaker=""),
    user("x", speaker="s" * 257),
    user("x", speaker="two\nlines"),
    user("x", internal="yes"),
    user("x", payload=[]),
    user("x", payload={"speaker": "no"}),
    user("x", created_at="yesterday"),
    user("x", created_at=-1),
    user("x", tool_calls=[{"id": "c", "name": "n"}]),
    user("x", tool_call_id="c"),
    user("x", seq=7),
    [user("fine"), user("")],
    {"type": "ModelOutput", "content": ""},
    {"type": "ModelOutput", "content": "x", "tool_calls": [{"id": "c"}]},
    {"type": "ModelOutput", "content": "x", "tool_calls": [{"name": "n"}]},
    {"type": "ModelOutput", "content": "x", "tool_calls": [{"id": "c", "name": "n"}, {"id": "c", "name": "n"}]},
    {"type": "ToolResultCommitted", "content": "x"},
    {"type": "CoreJobStart", "content": "x", "lane": "edge"},
    {"messages": "hello"},
    {"messages": [{"content": "no role"}]},
    {"messages": [{"role": "king", "content": "x"}]},
    {"messages": [{"role": "tool", "content": "x"}]},
    {"messages": [{"role": "user", "content": 5}]},
    {"messages": [], "lane": "side"},
    {"messages": [], "more": 1},
]


def test_a_wrong_event_is_refused_and_nothing_is_appended(server: Server) -> None:
    path = started(server)
    for body in WRONG_EVENTS:
        answer = server.client.post(f"{path}/events", json=body)
        assert (answer.status_code, answer.json()["status"]) == (422, 422), (body, answer.text)
    assert server.client.get(f"{path}/events").json()["items"] == []


def test_the_error_about_a_wrong_type_of_event_lists_the_types_as_they_are_written(server: Server) -> None:
    answer = server.client.post(f"{started(server)}/events", json=user("a") | {"type": "Shout"})
    assert answer.status_code == 422
    (wrong,) = answer.json()["errors"]
    assert wrong["problem"].startswith("'type' must be one of 'UserMsg', 'ModelOutput', ")
    assert wrong["problem"].endswith(", not 'Shout'")
    assert "EventType" not in answer.text


def test_other_wrong_requests_are_refused_with_what_is_wrong(server: Server) -> None:
    path = started(server)
    wrong = [
        ("POST", "/v1/channels", {}),
        ("POST", "/v1/channels", {"name": "n" * 257}),
        ("POST", "/v1/channels", {"name": "x", "description": 5}),
        ("POST", "/v1/channels", {"name": "x", "color": "red"}),
        ("POST", "/v1/conversations", {"participants": "bob"}),
        ("POST", "/v1/conversations", {"participants": ["../bob"]}),
        ("POST", "/v1/conversations", {"chat_id": "c" * 257}),
        ("POST", "/v1/conversations", {"chat_id": 5}),
        ("POST", f"{path}/messages", {"lane": "side"}),
        ("POST", f"{path}/messages", {"skills": [{"description": "no name"}]}),
        ("POST", f"{path}/messages", {"identity": {"USER.md": 5}}),
        ("POST", f"{path}/summary/delta", {}),
        ("POST", f"{path}/summary/delta", {"delta": {"mode": "replace"}}),
        ("POST", f"{path}/summary/delta", {"delta": {"summary_update": "s" * 16_001}}),
        ("POST", f"{path}/summary/delta", {"delta": {"add_references": ["nothing"]}}),
        ("POST", f"{path}/summary/delta", {"delta": {"add_fact": {"key": "k"}}}),
        ("POST", f"{path}/summary/delta", {"delta": {"sumary": "a slip"}}),
        ("POST", f"{path}/compact", {"lane": "side"}),
        ("PUT", f"{path}/scratchpad/step", {}),
        ("PUT", f"{path}/scratchpad/{'k' * 257}", {"value": 1}),
        ("PUT", f"{path}/scratchpad/step", {"value": "v" * 1_000_001}),
    ]
    for verb, where, body in wrong:
        answer = server.client.request(verb, where, json=body)
        assert answer.status_code == 422, (verb, where, answer.text)
    for where in (
        "/v1/conversations?limit=0",
        "/v1/conversations?limit=many",
        "/v1/conversations?include_archived=perhaps",
        "/v1/conversations/search",
        "/v1/conversations/search?q=x&unit=word",
        "/v1/conversations/search?q=x&since=yesterday",
        f"{path}/events?after=-1",
        f"{path}/events?before=-1",
        f"{path}/events?after=1&before=5",
        f"{path}/events?cursor=one",
        f"{path}/find",
        f"{path}/window?lane=side",
    ):
        assert server.client.get(where).status_code == 422, where
    assert (
        server.client.post(f"{path}/events", content=b"{", headers={"content-type": "application/json"}).status_code
        == 400
    )


def test_what_is_not_there_is_not_found(server: Server) -> None:
    path = started(server)
    for verb, where in (
        ("GET", "/v1/conversations/nobody"),
        ("GET", "/v1/conversations/nobody/events"),
        ("POST", "/v1/conversations/nobody/end"),
        ("GET", f"{path}/events/{'0' * 64}"),
        ("GET", f"{path}/scratchpad/step"),
        ("DELETE", f"{path}/scratchpad/step"),
    ):
        answer = server.client.request(verb, where)
        assert (answer.status_code, answer.headers["content-type"]) == (404, "application/problem+json"), where


def test_the_summary_changes_by_deltas(server: Server) -> None:
    path = started(server)
    change = {"delta": {"summary_update": "They plan a release.", "add_fact": {"key": "day", "value": "Tuesday"}}}
    assert server.client.post(f"{path}/summary/delta", json=change).status_code == 200
    more = {"delta": {"memory_delta": {"add_fact": [{"key": "time", "value": "10:00"}], "remove_fact": "day"}}}
    changed = server.client.post(f"{path}/summary/delta", json=more).json()
    assert changed["summary"] == "They plan a release."
    assert changed["facts"] == [{"key": "time", "value": "10:00", "source_event": None}]
    assert server.client.get(f"{path}/summary").json() == changed
    assert server.client.get(f"{path}/summary", params={"lane": "core"}).json()["summary"] == ""


def test_a_scratchpad_holds_json_by_key(server: Server) -> None:
    path = started(server) + "/scratchpad"
    for key, value in (("step", 3), ("a%2Fb c", {"done": [True, None]}), ("empty", None)):
        assert server.client.put(f"{path}/{key}", json={"value": value}).json() == {"value": value}
        assert server.client.get(f"{path}/{key}").json() == {"value": value}
    assert server.client.get(path).json() == {"step": 3, "a/b c": {"done": [True, None]}, "empty": None}
    assert server.client.delete(f"{path}/step").status_code == 204
    assert list(server.client.get(path).json()) == ["a/b c", "empty"]
    assert server.client.delete(path).status_code == 204
    assert server.client.get(path).json() == {}


def test_a_participant_may_use_the_scratchpad_and_nothing_else(server: Server) -> None:
    path = started(server, participants=["bob"])
    theirs = {"agent": "bob", "owner": "default"}
    pad = f"{path}/scratchpad/step"
    assert server.client.put(pad, params=theirs, json={"value": 1}).status_code == 200
    assert server.client.get(pad).json() == {"value": 1}
    assert server.client.get(pad, params=theirs | {"agent": "eve"}).status_code == 403
    assert server.client.get(pad, params={"agent": "bob"}).status_code == 404
    assert server.client.get(f"{path}/events", params={"agent": "bob"}).status_code == 404


def test_an_agent_sees_its_own_conversations_only(server: Server) -> None:
    path = started(server)
    for where in ("", "/events", "/window", "/summary", "/replay", "/find?q=x", "/scratchpad"):
        assert server.client.get(path + where, params={"agent": "bob"}).status_code == 404, where
    assert server.client.post(f"{path}/events", params={"agent": "bob"}, json=user("hi")).status_code == 404
    assert server.client.post(f"{path}/end", params={"agent": "bob"}).status_code == 404
    assert server.client.get("/v1/conversations", params={"agent": "bob"}).json()["items"] == []


def test_a_token_opens_its_own_agent_only_and_one_for_reading_changes_nothing(server: Server) -> None:
    path = started(server)
    server.client.post(f"{path}/events", json=user("a word about deploys"))
    server.client.post(f"{path}/end")
    _, bobs = server.home.tokens.create("bob", agents=("bob",), right="write")
    _, reading = server.home.tokens.create("looks", agents=("default",), right="read")
    with server.as_(bobs) as bob:
        assert bob.post("/v1/conversations", json={}).status_code == 201
        for answer in (
            bob.get("/v1/conversations", params={"agent": "default"}),
            bob.get(path, params={"agent": "default"}),
            bob.post(f"{path}/archive", params={"agent": "default"}),
            bob.get("/v1/conversations/search", params={"q": "deploys", "target_agent": "default"}),
            bob.get(f"{path}/detail", params={"target_agent": "default"}),
            bob.get("/v1/recovery", params={"agent": "default"}),
        ):
            assert answer.status_code == 403, answer.text
        assert bob.get(path).status_code == 404
    with server.as_(reading) as reader:
        assert reader.get(f"{path}/events").status_code == 200
        assert reader.post(f"{path}/messages").status_code == 200
        for answer in (
            reader.post("/v1/conversations", json={}),
            reader.post(f"{path}/events", json=user("x")),
            reader.post(f"{path}/archive"),
            reader.put(f"{path}/scratchpad/step", json={"value": 1}),
            reader.post("/v1/channels", json={"name": "x"}),
        ):
            assert answer.status_code == 403, answer.text


def test_another_agents_past_can_be_searched_by_naming_it_and_what_is_still_active_cannot(server: Server) -> None:
    path = started(server)
    server.client.post(f"{path}/events", json=user("a word about deploys"))
    asked = {"agent": "bob", "q": "deploys", "target_agent": "default"}
    whose = {"agent": "bob", "target_agent": "default"}
    assert server.client.get("/v1/conversations/search", params=asked).json() == []
    assert server.client.get(f"{path}/detail", params=whose).status_code == 403
    server.client.post(f"{path}/end")
    (hit,) = server.client.get("/v1/conversations/search", params=asked | {"unit": "conversation"}).json()
    assert hit["event"]["content"] == "a word about deploys"
    assert server.client.get(f"{path}/detail", params=whose).json() == [hit["event"]]


def test_conversations_that_fell_silent_are_ended_on_request_and_recovery_ends_after_seven_days(tmp_path: Path) -> None:
    clock = FixedClock()
    with recollect.open(tmp_path / "memory.db", clock=clock) as home, serving(home) as server:
        path = started(server)
        server.client.post(f"{path}/events", json=user("We will use SSE for the stream."))
        assert server.client.post("/v1/conversations/end-stale").json() == []
        clock.advance(2 * DAY)
        (ended,) = server.client.post("/v1/conversations/end-stale").json()
        assert ended["conversation"]["status"] == "idle"
        assert server.client.get("/v1/recovery").json()["events"][0]["content"] == "We will use SSE for the stream."
        clock.advance(8 * DAY)
        assert server.client.get("/v1/recovery").json() is None


def test_a_chat_is_gone_on_with_and_messages_keep_their_time(server: Server) -> None:
    path = started(server, chat_id="chat-1", resume=True)
    assert started(server, chat_id="chat-1", resume=True) == path
    assert started(server, chat_id="chat-1") != path
    assert server.client.post("/v1/conversations", json={"resume": True}).status_code == 422
    messages = [{"role": "user", "content": "Hello", "at": 5_000}, {"role": "agent", "text": "hm", "internal": True}]
    added = server.client.post(f"{path}/events", json={"messages": messages}).json()
    assert [(one["created_at"] == 5_000, one["internal"]) for one in added] == [(True, False), (False, True)]
    assert server.client.post(f"{path}/events", json={"messages": messages}).json() == []
    wrong = [{"role": "user", "content": "Hello", "timestamp": "soon"}]
    assert server.client.post(f"{path}/events", json={"messages": wrong}).status_code == 422


def test_what_the_project_is_about_is_said_once_unless_it_is_replaced(server: Server) -> None:
    def put(content: str, **more: bool) -> object:
        return server.client.put("/v1/project", json={"content": content, **more}).json()

    assert server.client.get("/v1/project").json() == {"content": None}
    assert put("Boats.", replace=False) == {"written": True}
    assert put("Ropes.", replace=False) == {"written": False}
    assert server.client.get("/v1/project").json() == {"content": "Boats."}
    assert put("Ropes.") == {"written": True}
    assert server.client.put("/v1/project", json={"content": " "}).status_code == 422


def test_several_categories_are_recalled_at_once(server: Server) -> None:
    for category in ("decisions", "lessons", "tasks"):
        server.client.post("/v1/entries", json={"content": f"the gate, {category}", "category": category})
    for wanted, count in (("lessons", 1), (["lessons", "decisions"], 2), (None, 3)):
        found = server.client.post("/v1/recall", json={"query": "gate", "category": wanted}).json()
        assert len(found) == count, wanted
    assert server.client.post("/v1/recall", json={"query": "gate", "category": []}).status_code == 422


def test_a_question_too_long_for_an_address_goes_with_post(server: Server) -> None:
    path = started(server)
    server.client.post(f"{path}/events", json=user("We deploy on Tuesdays"))
    for where in ("/v1/conversations/search", f"{path}/find"):
        assert server.client.get(where, params={"q": "deploy " * 1_000}).status_code == 422
        long = server.client.post(where, json={"query": "deploy " * 1_000, "limit": 3})
        assert (long.status_code, long.json()) == (200, server.client.get(where, params={"q": "deploy"}).json())
        assert [turn["event"]["content"] for turn in long.json()] == ["We deploy on Tuesdays"]
        assert server.client.post(where, json={"query": "deploy", "limt": 3}).status_code == 422
    for more in ({"until": 5}, {"since": "2020-01-01"}, {"meaning": False}, {"unit": "conversation"}):
        found = server.client.post("/v1/conversations/search", json={"query": "deploy", **more})
        assert (found.status_code, len(found.json())) == (200, 0 if "until" in more else 1), more
