"""What the client of an OpenAI-compatible server promises, against a real HTTP server that misbehaves when told to."""

import base64
import math
import random
import socket
import struct
import threading
import traceback
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from embedders import Behaviour, EmbeddingServer, HashEmbedder, Request, in_a_new_process, write_certificate
from hypothesis import given
from hypothesis import strategies as st

from recollect import ConfigError, Unavailable
from recollect.providers import http, openai
from recollect.providers.base import embed
from recollect.providers.openai import OpenAIEmbedder

KEY = "sk-5up3r-s3cr3t-k3y"
TEXTS = ["the harbour office opens at eight", "stir two eggs into melted chocolate", "a third thing"]


@pytest.fixture(autouse=True)
def no_proxy_of_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)


@pytest.fixture
def server() -> Iterator[EmbeddingServer]:
    with EmbeddingServer() as running:
        yield running


class Client:
    """An embedder for the server, and how long it wanted to sleep."""

    def __init__(self, base_url: str, **settings: Any) -> None:
        self.delays: list[float] = []
        settings = {"api_key": KEY, "model": "hash", "dimension": 64, **settings}
        self.embedder = OpenAIEmbedder(base_url=base_url, sleep=self.delays.append, **settings)

    def embed(self, texts: list[str] = TEXTS) -> np.ndarray[Any, Any]:
        return embed(self.embedder, texts)


@pytest.fixture
def client(server: EmbeddingServer) -> Client:
    return Client(server.url)


def assert_right(rows: np.ndarray[Any, Any], texts: list[str] = TEXTS) -> None:
    assert rows == pytest.approx(embed(HashEmbedder(), texts), abs=1e-6)


def assert_backed_off(delays: list[float], *least: float) -> None:
    """One delay for each of these, up to a quarter longer."""
    assert len(delays) == len(least)
    for delay, seconds in zip(delays, least, strict=True):
        assert seconds <= delay <= seconds * 1.25


def status(code: int, **headers: str) -> Behaviour:
    sent = {name.replace("_", "-"): value for name, value in headers.items()}
    return lambda request: request.json({"error": {"message": f"status {code} it is"}}, code, sent)


def hang_up(request: Request) -> None:
    request.hang_up()


# What is sent


def test_one_request_carries_the_model_the_texts_and_the_key(server: EmbeddingServer, client: Client) -> None:
    assert_right(client.embed())
    (request,) = server.requests
    assert request.path == "/v1/embeddings"
    assert request.body == {"model": "hash", "input": TEXTS}
    assert request.headers["Authorization"] == f"Bearer {KEY}"
    assert request.headers["Content-Type"] == "application/json"
    assert client.delays == []


@pytest.mark.parametrize("key", [None, "", "  "])
def test_without_a_key_no_authorization_is_sent(server: EmbeddingServer, key: str | None) -> None:
    Client(server.url, api_key=key).embed()
    assert "Authorization" not in server.requests[0].headers


def test_the_line_break_that_a_file_leaves_after_a_key_is_not_part_of_it(server: EmbeddingServer) -> None:
    Client(server.url, api_key=f"{KEY}\n").embed()
    assert server.requests[0].headers["Authorization"] == f"Bearer {KEY}"


def test_seventy_texts_go_in_three_batches_and_come_back_in_order(server: EmbeddingServer, client: Client) -> None:
    texts = [f"pier {number}" for number in range(70)]
    assert_right(client.embed(texts), texts)
    assert [len(request.texts) for request in server.requests] == [32, 32, 6]


def test_the_defaults_are_those_of_openai(server: EmbeddingServer) -> None:
    server.always = lambda request: request.embeddings(request.vectors(1536))
    embedder = OpenAIEmbedder(base_url=server.url)
    assert (embedder.model, embedder.dimension) == ("text-embedding-3-small", 1536)
    assert "api.openai.com/v1/embeddings" in repr(OpenAIEmbedder())
    assert embed(embedder, TEXTS).shape == (3, 1536)


@pytest.mark.parametrize(("model", "sent"), [("text-embedding-3-large", 64), ("nomic-embed-text", None)])
def test_only_a_model_that_can_shorten_its_vectors_is_sent_the_dimension(
    server: EmbeddingServer, model: str, sent: int | None
) -> None:
    Client(server.url, model=model).embed()
    assert server.requests[0].body.get("dimensions") == sent


def test_a_long_text_is_cut_at_a_whole_character(server: EmbeddingServer, client: Client) -> None:
    client.embed(["漢" * 100_000, "a" * 16_000, "b" * 16_001])
    assert server.requests[0].texts == ["漢" * 5_333, "a" * 16_000, "b" * 16_000]


@pytest.mark.parametrize("slash", ["", "/", "//"])
def test_a_slash_at_the_end_of_the_address_makes_no_difference(server: EmbeddingServer, slash: str) -> None:
    Client(server.url + slash).embed()
    assert server.requests[0].path == "/v1/embeddings"


# Good answers in unusual forms


def test_vectors_are_put_in_order_by_their_index(server: EmbeddingServer, client: Client) -> None:
    def backwards(request: Request) -> None:
        answer: Any = request.items(request.vectors())
        answer["data"].reverse()
        request.json(answer)

    server.always = backwards
    assert_right(client.embed())


@pytest.mark.parametrize("index", [{}, {"index": None}], ids=["left out", "null"])
def test_vectors_without_an_index_keep_their_order(
    server: EmbeddingServer, client: Client, index: dict[str, None]
) -> None:
    server.always = lambda request: request.json({"data": [{"embedding": row, **index} for row in request.vectors()]})
    assert_right(client.embed())


def test_vectors_may_come_in_base64(server: EmbeddingServer, client: Client) -> None:
    server.always = lambda request: request.embeddings(
        [base64.b64encode(struct.pack("<64f", *row)).decode() for row in request.vectors()]
    )
    assert_right(client.embed())


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False, width=32), min_size=1, max_size=8))
def test_base64_and_numbers_mean_the_same(vector: list[float]) -> None:
    packed = base64.b64encode(struct.pack(f"<{len(vector)}f", *vector)).decode()
    assert np.array_equal(openai._numbers(packed), np.array(openai._numbers(vector), np.float32))  # type: ignore[arg-type]


def test_a_server_may_say_that_a_text_has_no_vector(server: EmbeddingServer, client: Client) -> None:
    server.always = lambda request: request.embeddings([[0.0] * 64 for _ in request.texts])
    assert not client.embed().any()


# Failures that may pass


@pytest.mark.parametrize("code", [429, 500, 502, 503, 504, 599])
def test_a_status_that_may_pass_is_tried_again(server: EmbeddingServer, client: Client, code: int) -> None:
    server.script = [status(code)]
    assert_right(client.embed())
    assert len(server.requests) == 2
    assert_backed_off(client.delays, 1)


def test_there_are_three_retries_after_one_two_and_four_seconds(server: EmbeddingServer, client: Client) -> None:
    server.script = [status(500), status(429), hang_up]
    assert_right(client.embed())
    assert len(server.requests) == 4
    assert_backed_off(client.delays, 1, 2, 4)


def test_each_batch_has_its_own_retries(server: EmbeddingServer, client: Client) -> None:
    texts = [f"pier {number}" for number in range(40)]
    server.script = [status(500), lambda request: request.embeddings(request.vectors()), status(500)]
    assert_right(client.embed(texts), texts)
    assert_backed_off(client.delays, 1, 1)


def test_a_server_that_fails_forever_is_unavailable_after_three_retries(
    server: EmbeddingServer, client: Client
) -> None:
    server.always = status(500)
    with pytest.raises(Unavailable, match=r"HTTP 500.*status 500 it is.*4 attempt"):
        client.embed()
    assert len(server.requests) == 4
    assert_backed_off(client.delays, 1, 2, 4)


def test_delays_differ_so_that_clients_do_not_come_back_at_once(server: EmbeddingServer, client: Client) -> None:
    server.always = status(503)
    for _ in range(4):
        with pytest.raises(Unavailable):
            client.embed()
    assert len(set(client.delays)) == 12


def test_retries_can_be_fewer(server: EmbeddingServer) -> None:
    server.always = status(500)
    hasty = Client(server.url, retries=0)
    with pytest.raises(Unavailable, match="1 attempt"):
        hasty.embed()
    assert hasty.delays == []
    assert len(server.requests) == 1


def test_a_server_that_says_when_to_come_back_is_obeyed(server: EmbeddingServer, client: Client) -> None:
    server.script = [status(429, Retry_After="7"), status(503, Retry_After="60"), status(429, Retry_After="0")]
    assert_right(client.embed())
    assert client.delays[:2] == [7, 60]
    assert_backed_off(client.delays[2:], 4)


def test_a_server_that_wants_to_be_left_alone_for_long_is_unavailable_at_once(
    server: EmbeddingServer, client: Client
) -> None:
    server.always = status(429, Retry_After="61")
    with pytest.raises(Unavailable, match="HTTP 429"):
        client.embed()
    assert client.delays == []
    assert len(server.requests) == 1


@pytest.mark.parametrize("value", ["", "soon", "-5", "nan", "1e9", "²", "Wed, 21 Oct 2026 07:28:00 GMT"])
def test_a_retry_after_that_is_no_number_of_seconds_is_passed_over(value: str) -> None:
    assert http._seconds(value) == 0


def test_a_timeout_is_tried_again(server: EmbeddingServer) -> None:
    patient = Client(server.url, timeout=1)
    server.script = [lambda request: request.hang()]
    assert_right(patient.embed())
    assert_backed_off(patient.delays, 1)


def test_a_timeout_in_the_middle_of_an_answer_is_unavailable(server: EmbeddingServer) -> None:
    def half(request: Request) -> None:
        request.raw(b'{"data": [', headers={"Content-Length": "1000"})
        request.hang()

    server.always = half
    with pytest.raises(Unavailable, match=r"(?i)time"):
        Client(server.url, timeout=0.1, retries=0).embed()


def test_an_error_whose_text_is_cut_off_counts_by_its_status(server: EmbeddingServer, client: Client) -> None:
    server.always = lambda request: request.raw(b"64\r\n{", 500, {"Transfer-Encoding": "chunked"})
    with pytest.raises(Unavailable, match="HTTP 500"):
        client.embed()
    assert_backed_off(client.delays, 1, 2, 4)


def test_a_refused_connection_is_unavailable_after_three_retries() -> None:
    with socket.socket() as nobody_listens:
        nobody_listens.bind(("127.0.0.1", 0))
        client = Client(f"http://127.0.0.1:{nobody_listens.getsockname()[1]}/v1")
        with pytest.raises(Unavailable, match="refused"):
            client.embed()
    assert_backed_off(client.delays, 1, 2, 4)


@pytest.mark.parametrize(
    "headers", [{"Content-Length": "1000"}, {"Transfer-Encoding": "chunked"}], ids=["counted", "chunked"]
)
def test_an_answer_that_is_cut_off_is_tried_again(
    server: EmbeddingServer, client: Client, headers: dict[str, str]
) -> None:
    def cut_off(request: Request) -> None:
        body = b"64\r\n{" if "Transfer-Encoding" in headers else b'{"data": ['
        request.raw(body, headers=headers)

    server.script = [cut_off]
    assert_right(client.embed())
    assert_backed_off(client.delays, 1)


# Failures that do not pass


@pytest.mark.parametrize("code", [401, 403])
def test_a_wrong_key_is_a_wrong_setting_and_not_tried_again(server: EmbeddingServer, client: Client, code: int) -> None:
    server.always = status(code)
    with pytest.raises(ConfigError, match="api_key"):
        client.embed()
    assert len(server.requests) == 1
    assert client.delays == []


@pytest.mark.parametrize("code", [402, 404, 405, 408, 410, 418])
def test_any_other_refusal_is_a_wrong_setting_and_not_tried_again(
    server: EmbeddingServer, client: Client, code: int
) -> None:
    server.always = status(code)
    with pytest.raises(ConfigError, match=f"HTTP {code}.*status {code} it is"):
        client.embed()
    assert len(server.requests) == 1
    assert client.delays == []


@pytest.mark.parametrize("code", [301, 302, 303, 307, 308])
def test_a_redirect_is_not_followed(server: EmbeddingServer, client: Client, code: int) -> None:
    server.always = lambda request: request.raw(b"", code, {"Location": f"{server.url}/elsewhere"})
    with pytest.raises(ConfigError, match=f"HTTP {code}.*base_url"):
        client.embed()
    assert len(server.requests) == 1
    assert server.followed == []


def test_a_certificate_that_is_not_trusted_is_a_wrong_setting(tmp_path: Path) -> None:
    with EmbeddingServer(write_certificate(tmp_path)) as server:
        client = Client(server.url)
        with pytest.raises(ConfigError, match=r"certificate .* not trusted: self.signed"):
            client.embed()
        assert server.requests == []
    assert client.delays == []


# Texts that the server refuses


@pytest.mark.parametrize("code", [400, 413, 422])
def test_one_refused_text_does_not_keep_the_others_from_their_vectors(
    server: EmbeddingServer, client: Client, code: int
) -> None:
    def picky(request: Request) -> None:
        if any("poison" in text for text in request.texts):
            request.json({"error": "poison"}, code)
        else:
            request.embeddings(request.vectors())

    server.always = picky
    rows = client.embed(["first", "poison", "third"])
    assert rows.any(axis=1).tolist() == [True, False, True]
    assert_right(rows[[0, 2]], ["first", "third"])
    assert [len(request.texts) for request in server.requests] == [3, 1, 1, 1]
    assert client.delays == []


def test_a_text_that_is_too_long_for_the_model_is_halved_until_it_fits(server: EmbeddingServer, client: Client) -> None:
    def small(request: Request) -> None:
        if any(len(text) > 2_000 for text in request.texts):
            request.json({"error": "more than 512 tokens"}, 400)
        else:
            request.embeddings(request.vectors())

    server.always = small
    long = "harbour " * 1_000
    assert_right(client.embed([long]), [long[:2_000]])
    assert [len(request.texts[0]) for request in server.requests] == [8_000, 4_000, 2_000]
    assert_right(client.embed(["short", long]), ["short", long[:2_000]])


def test_when_every_text_is_refused_the_settings_are_wrong(server: EmbeddingServer, client: Client) -> None:
    server.always = status(400)
    with pytest.raises(ConfigError, match=r"HTTP 400.*status 400 it is.*'hash'.*64"):
        client.embed()
    with pytest.raises(ConfigError, match="HTTP 400"):
        client.embed(["one"])
    assert client.delays == []


# Nonsense


def listed(data: object) -> Behaviour:
    return lambda request: request.json({"data": data})


@pytest.mark.parametrize(
    ("nonsense", "said"),
    [
        (lambda request: request.embeddings(request.vectors(32)), "3 vector(s) of 32 numbers"),
        (lambda request: request.embeddings([[1.0] * 64, [1.0] * 63, [1.0] * 64]), "no table of numbers"),
        (lambda request: request.embeddings([[math.nan] * 64] * 3), "NaN or infinity in 3 of 3"),
        (lambda request: request.embeddings([[math.inf] * 64] * 3), "NaN or infinity"),
        (lambda request: request.embeddings([[None] * 64] * 3), "not real numbers"),
        (lambda request: request.embeddings([["1"] * 64] * 3), "not real numbers"),
        (lambda request: request.embeddings([[]] * 3), "3 vector(s) of 0 numbers"),
        (lambda request: request.embeddings([None] * 3), "not real numbers"),
        (lambda request: request.embeddings(request.vectors()[:2]), "answered 2 vector(s)"),
        (lambda request: request.embeddings(request.vectors() * 2), "answered 6 vector(s)"),
        (lambda request: request.embeddings([]), "answered 0 vector(s)"),
        (lambda request: request.embeddings(["AAAA"] * 3), "not return embeddings"),
        (lambda request: request.embeddings(["!" + "A" * 342 + "=="] * 3), "not return embeddings"),
        (lambda request: request.embeddings(["AACAfw=="] * 3), "3 vector(s) of 1 numbers"),
        (listed([{"index": 0, "embedding": [1.0] * 64}] * 3), "numbered [0]"),
        (listed([{"index": place, "embedding": [1.0] * 64} for place in (1, 2, 3)]), "numbered [1, 2, 3]"),
        (listed([{"index": place, "embedding": [1.0] * 64} for place in (0, 1, 2, 2)]), "answered 4 vector(s)"),
        (listed([{"index": "0", "embedding": [1.0] * 64}] * 3), "not return embeddings"),
        (listed([{"index": [0], "embedding": [1.0] * 64}] * 3), "not return embeddings"),
        (listed([{"index": 0}]), "not return embeddings"),
        (listed(["text"]), "not return embeddings"),
        (listed({"a": 1}), "not return embeddings"),
        (listed(None), "not return embeddings"),
        (lambda request: request.json([]), "not return embeddings"),
        (lambda request: request.json({"error": {"message": "loading"}}), "loading"),
        (lambda request: request.raw(b"<!DOCTYPE html><h1>Sign in</h1>"), "<h1>Sign in</h1>"),
        (lambda request: request.raw(b""), "not return embeddings"),
        (lambda request: request.raw(b"", 204), "not return embeddings"),
        (lambda request: request.raw(b"\xff\xfe\x00"), "not return embeddings"),
        (lambda request: request.raw(random.Random(3).randbytes(1_000_000)), "not return embeddings"),
        (lambda request: request.raw(b"[" * 1_000_000), "not return embeddings"),
        (lambda request: request.raw(b'{"data": ' + b"9" * 10_000 + b"}"), "not return embeddings"),
    ],
    ids=[
        "wrong dimension",
        "ragged",
        "NaN",
        "infinity",
        "null",
        "strings",
        "empty vectors",
        "null vectors",
        "too few",
        "too many",
        "none",
        "base64 of 3 bytes",
        "not base64",
        "base64 of one number",
        "equal indexes",
        "indexes from 1",
        "one index twice",
        "index as text",
        "index as list",
        "no embedding",
        "texts",
        "object",
        "null data",
        "a list",
        "an error with status 200",
        "HTML",
        "nothing",
        "no content",
        "not UTF-8",
        "a megabyte of garbage",
        "a megabyte of brackets",
        "an endless number",
    ],
)
def test_nonsense_is_unavailable_says_what_came_and_is_not_tried_again(
    server: EmbeddingServer, client: Client, nonsense: Behaviour, said: str
) -> None:
    server.always = nonsense
    with pytest.raises(Unavailable) as caught:
        client.embed()
    assert said in str(caught.value)
    assert len(str(caught.value)) < 600
    assert str(caught.value).isprintable()
    assert len(server.requests) == 1


def test_an_answer_of_the_allowed_length_is_read_and_a_longer_one_is_not(
    server: EmbeddingServer, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(http, "ANSWER_BYTES", 10_000)
    server.always = lambda request: request.raw(b" " * 10_001)
    with pytest.raises(Unavailable, match="more than 10,000 bytes"):
        client.embed()
    server.always = lambda request: request.raw(b" " * 10_000)
    with pytest.raises(Unavailable, match="did not return"):
        client.embed()


def test_a_client_leaves_a_server_that_never_stops_answering(server: EmbeddingServer, client: Client) -> None:
    sent = iter(range(2_000))
    left = threading.Event()

    def endless(request: Request) -> None:
        try:
            request.stream(b" " * 100_000 for _ in sent)
        except OSError:
            left.set()

    server.always = endless
    with pytest.raises(Unavailable, match="more than 16,000,000 bytes"):
        client.embed()
    assert left.wait(10)
    assert next(sent, None)


# Secrets


@pytest.mark.parametrize("code", [200, 400, 401, 404, 429, 500])
def test_a_server_that_repeats_the_key_does_not_get_it_into_an_error(
    server: EmbeddingServer, client: Client, code: int
) -> None:
    server.always = lambda request: request.raw(request.headers["Authorization"].encode() * 200, code)
    with pytest.raises((ConfigError, Unavailable)) as caught:
        client.embed()
    written = "".join(traceback.format_exception(caught.value))
    assert "[api_key]" in str(caught.value)
    assert KEY not in written
    assert KEY[:10] not in written


def test_the_key_is_in_no_representation(client: Client) -> None:
    assert KEY not in repr(client.embedder)
    assert KEY not in str(client.embedder)
    assert "'hash'" in repr(client.embedder)


@pytest.mark.parametrize("key", ["sk-s3cr3t\nX-Injected: 1", "sk-s3cr3t\r\n\r\nGET /", "sk-s3cr3t-ü", "sk-s3cr3t\0"])
def test_a_key_that_no_header_can_carry_is_refused_and_not_repeated(key: str) -> None:
    with pytest.raises(ConfigError) as caught:
        OpenAIEmbedder(api_key=key)
    assert "s3cr3t" not in str(caught.value)


@pytest.mark.parametrize(
    "url",
    [
        "",
        " ",
        "api.openai.com/v1",
        "ftp://host/v1",
        "file:///etc/passwd",
        "http://",
        "https:///v1",
        "http:host",
        "https://user:s3cr3t@host/v1",
        "https://s3cr3t@host",
        "https://host/v1?key=s3cr3t",
        "https://host/v1#s3cr3t",
        "https://host/a b",
        "https://ho st/v1",
        "https://host/v1\r\nX: 1",
        "https://host:99999/v1",
        "https://host:0/v1",
        "https://host:port/v1",
        "https://[::1/v1",
        "https://[nonsense]/v1",
        "https://hüst/v1",
        "data:,hello",
    ],
)
def test_an_address_that_is_none_is_a_wrong_setting_and_not_repeated(url: str) -> None:
    with pytest.raises(ConfigError, match="base_url") as caught:
        OpenAIEmbedder(base_url=url)
    assert "s3cr3t" not in "".join(traceback.format_exception(caught.value))


@pytest.mark.parametrize(
    "url",
    ["http://localhost:11434/v1", "https://[::1]:8080", "HTTPS://Host.example/openai/v1/", "http://my_host/a/b-c.d"],
)
def test_ordinary_addresses_are_taken(url: str) -> None:
    assert f"{url.rstrip('/')}/embeddings" in repr(OpenAIEmbedder(base_url=url))


@pytest.mark.parametrize(
    "setting",
    [
        {"model": ""},
        {"model": "  "},
        {"dimension": 0},
        {"dimension": -1},
        {"timeout": 0},
        {"timeout": -1.0},
        {"timeout": math.nan},
        {"timeout": math.inf},
        {"retries": -1},
        {"retries": 4},
    ],
    ids=str,
)
def test_a_setting_that_makes_no_sense_is_refused_when_it_is_given(setting: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match=next(iter(setting))):
        OpenAIEmbedder(**setting)


# The way there


def test_a_proxy_from_the_environment_is_used(server: EmbeddingServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", server.url.removesuffix("/v1"))
    client = Client("http://embeddings.example/v1")
    assert_right(client.embed())
    assert server.requests[0].path == "http://embeddings.example/v1/embeddings"


def test_a_host_that_the_environment_exempts_is_asked_directly(
    server: EmbeddingServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    assert_right(Client(server.url).embed())


def test_https_works_with_a_certificate_that_the_machine_trusts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    certificate = write_certificate(tmp_path)
    with EmbeddingServer(certificate) as server:
        client = Client(server.url)
        assert server.url.startswith("https:")
        monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
        assert_right(client.embed())
        monkeypatch.delenv("SSL_CERT_FILE")
        assert_right(client.embed())  # the trusted certificates are read once


def test_making_an_embedder_opens_no_connection_and_reads_no_certificates() -> None:
    program = """
import sys
events = []
import ssl
from recollect.providers.openai import OpenAIEmbedder
sys.addaudithook(lambda event, arguments: events.append(event))
ssl.create_default_context = None
OpenAIEmbedder(api_key="k")
print([event for event in events if event.startswith("socket")])
"""
    assert in_a_new_process(program) == "[]\n"
