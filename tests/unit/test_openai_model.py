"""What the client of an OpenAI-compatible chat server promises, against a real HTTP server that answers by a script."""

import json
import threading
import traceback
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from recollect import ConfigError, FixedClock, Unavailable
from recollect.providers.openai import OpenAIModel

KEY = "sk-5up3r-s3cr3t-k3y"
MESSAGES = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Which pier?"}]
SCHEMA = {"type": "object", "properties": {"pier": {"type": "integer"}}, "required": ["pier"]}

Behaviour = Callable[[BaseHTTPRequestHandler], None]


@pytest.fixture(autouse=True)
def no_proxy_of_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)


def raw(body: bytes, status: int = 200) -> Behaviour:
    def answer(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(status)
        handler.send_header("Content-Length", str(len(body)))
        handler.end_headers()
        handler.wfile.write(body)

    return answer


def says(content: object, reason: str = "stop") -> Behaviour:
    message = {"role": "assistant", "content": content}
    return raw(json.dumps({"choices": [{"index": 0, "message": message, "finish_reason": reason}]}).encode())


def status(code: int, message: str = "") -> Behaviour:
    return raw(json.dumps({"error": {"message": message or f"status {code} it is"}}).encode(), code)


class ChatServer:
    """POST on a free port of 127.0.0.1. `script` holds how to answer the next requests, the last one for all others."""

    def __init__(self) -> None:
        self.script: list[Behaviour] = [says("Pier four.")]
        self.bodies: list[dict[str, Any]] = []
        self.paths: list[str] = []
        self.keys: list[str | None] = []
        chat = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                chat.bodies.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
                chat.paths.append(self.path)
                chat.keys.append(self.headers["Authorization"])
                behave = chat.script.pop(0) if len(chat.script) > 1 else chat.script[0]
                behave(self)

            def log_message(self, format: str, *args: Any) -> None:
                """Say nothing."""

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}/v1"


@pytest.fixture
def chat() -> Iterator[ChatServer]:
    made = ChatServer()
    thread = threading.Thread(target=made.server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield made
    made.server.shutdown()
    thread.join()
    made.server.server_close()


def model(chat: ChatServer, **settings: Any) -> OpenAIModel:
    return OpenAIModel(**{"base_url": chat.url, "api_key": KEY, "model": "smol", "sleep": lambda _: None, **settings})


# What is sent


def test_one_request_carries_the_model_the_messages_and_the_key(chat: ChatServer) -> None:
    assert model(chat).complete(MESSAGES) == "Pier four."
    assert chat.bodies == [{"model": "smol", "messages": MESSAGES, "temperature": 0}]
    assert chat.paths == ["/v1/chat/completions"]
    assert chat.keys == [f"Bearer {KEY}"]
    assert model(chat).name == "smol"


def test_a_schema_is_sent_as_the_form_of_the_answer(chat: ChatServer) -> None:
    chat.script = [says('{"pier": 4}')]
    assert model(chat).complete(MESSAGES, schema=SCHEMA) == '{"pier": 4}'
    (body,) = chat.bodies
    assert body["messages"] == MESSAGES
    assert body["response_format"] == {
        "type": "json_schema",
        "json_schema": {"name": "answer", "strict": True, "schema": SCHEMA},
    }


@pytest.mark.parametrize("code", [400, 422])
def test_a_server_that_takes_no_schema_is_asked_for_json_in_words_from_then_on(chat: ChatServer, code: int) -> None:
    chat.script = [status(code), says('{"pier": 4}')]
    asked = model(chat)
    assert asked.complete(MESSAGES, schema=SCHEMA) == '{"pier": 4}'
    assert asked.complete(MESSAGES, schema=SCHEMA) == '{"pier": 4}'
    assert ["response_format" in body for body in chat.bodies] == [True, False, False]
    assert chat.bodies[1]["messages"][:2] == MESSAGES
    assert json.dumps(SCHEMA) in chat.bodies[1]["messages"][2]["content"]
    assert chat.bodies[1]["temperature"] == 0


def test_a_server_that_refuses_the_texts_is_still_given_a_schema_the_next_time(chat: ChatServer) -> None:
    chat.script = [status(400, "too many tokens"), status(400, "too many tokens"), says('{"pier": 4}')]
    asked = model(chat)
    with pytest.raises(ConfigError, match="too many tokens"):
        asked.complete(MESSAGES, schema=SCHEMA)
    asked.complete(MESSAGES, schema=SCHEMA)
    assert ["response_format" in body for body in chat.bodies] == [True, False, True]


def test_a_model_that_takes_no_temperature_is_asked_without_one_and_keeps_its_schema(chat: ChatServer) -> None:
    chat.script = [status(400, "'temperature' does not support 0 with this model"), says('{"pier": 4}')]
    asked = model(chat)
    asked.complete(MESSAGES, schema=SCHEMA)
    asked.complete(MESSAGES)
    assert ["temperature" in body for body in chat.bodies] == [True, False, False]
    assert "response_format" in chat.bodies[1]


# What goes wrong


@pytest.mark.parametrize(
    "nonsense",
    [
        raw(b""),
        raw(b"<html>"),
        raw(b"[]"),
        raw(b"{}"),
        raw(b'{"choices": []}'),
        raw(b'{"choices": [7]}'),
        raw(b'{"choices": {"0": 1}}'),
        raw(b'{"choices": [{"message": "text"}]}'),
        raw(b"[" * 100_000),
        raw(b"\xff"),
        says(None),
        says(["text"]),
        says(7),
    ],
)
def test_an_answer_of_another_form_is_unavailable(chat: ChatServer, nonsense: Behaviour) -> None:
    chat.script = [nonsense]
    with pytest.raises(Unavailable, match="did not return a text") as caught:
        model(chat).complete(MESSAGES)
    assert len(str(caught.value)) < 600


def test_an_answer_that_was_cut_off_is_unavailable(chat: ChatServer) -> None:
    chat.script = [says('{"pier":', "length")]
    with pytest.raises(Unavailable, match="cut off"):
        model(chat).complete(MESSAGES, schema=SCHEMA)


def test_a_busy_server_is_asked_again_and_a_wrong_key_is_a_wrong_setting(chat: ChatServer) -> None:
    chat.script = [status(503), status(429), says("Pier four.")]
    assert model(chat).complete(MESSAGES) == "Pier four."
    chat.script = [status(401, f"bad key {KEY}")]
    with pytest.raises(ConfigError, match="language model's api_key") as caught:
        model(chat).complete(MESSAGES)
    assert KEY not in "".join(traceback.format_exception(caught.value))
    assert len(chat.bodies) == 4


def test_the_key_is_in_no_representation(chat: ChatServer) -> None:
    assert KEY not in repr(model(chat))
    assert "'smol'" in repr(model(chat))


@pytest.mark.parametrize("setting", [{"model": " "}, {"base_url": "host"}, {"timeout": 0}, {"retries": 4}], ids=str)
def test_a_setting_that_makes_no_sense_is_refused_when_it_is_given(setting: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match="language model"):
        OpenAIModel(**{"model": "smol", **setting})


# The time it may take


def test_the_time_bounds_all_attempts_together(chat: ChatServer) -> None:
    clock = FixedClock()
    chat.script = [status(503)]
    asked = model(chat, clock=clock, sleep=lambda seconds: clock.advance(int(seconds * 1000)))
    with pytest.raises(Unavailable, match=r"in the time given.*2 attempt"):
        asked.complete(MESSAGES, timeout=3.0)
    assert len(chat.bodies) == 2
    with pytest.raises(Unavailable, match="4 attempt"):
        asked.complete(MESSAGES, timeout=100.0)


def test_the_time_continues_when_a_server_refuses_a_schema(chat: ChatServer) -> None:
    clock = FixedClock()

    def slow(handler: BaseHTTPRequestHandler) -> None:
        clock.advance(2_500)
        status(400)(handler)

    chat.script = [slow, status(503)]
    with pytest.raises(Unavailable, match=r"in the time given.*1 attempt"):
        model(chat, clock=clock).complete(MESSAGES, schema=SCHEMA, timeout=3.0)


def test_a_server_that_never_answers_is_left_in_time(chat: ChatServer) -> None:
    ended = threading.Event()
    chat.script = [lambda handler: ended.wait(10) and None]
    with pytest.raises(Unavailable, match="in the time given: TimeoutError"):
        model(chat).complete(MESSAGES, timeout=0.05)
    ended.set()


def test_a_server_that_answers_drop_by_drop_is_left_in_time(chat: ChatServer) -> None:
    clock = FixedClock()

    def drip(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(200)
        handler.end_headers()
        for _ in range(1000):
            clock.advance(500)
            try:
                handler.wfile.write(b" ")
            except OSError:
                return

    chat.script = [drip]
    with pytest.raises(Unavailable, match="takes too long"):
        model(chat, clock=clock).complete(MESSAGES, timeout=3.0)
    assert len(chat.bodies) == 1
