"""Ids, names and path segments."""

import os
import random
import threading
import uuid

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect import names
from recollect.errors import Invalid

MOMENT = 1_767_225_600_000


def test_an_id_is_a_version_7_uuid_that_begins_with_its_moment() -> None:
    made = uuid.UUID(names.new_id(MOMENT))
    assert made.version == 7
    assert made.variant == uuid.RFC_4122
    assert made.int >> 80 == MOMENT
    assert names.is_id(str(made))


def test_ids_of_one_moment_sort_in_the_order_of_making() -> None:
    made = [names.new_id(MOMENT + 1) for _ in range(5_000)]
    assert made == sorted(made)
    assert len(set(made)) == 5_000
    assert names.new_id(MOMENT + 2) > made[-1]


def test_threads_never_get_the_same_id() -> None:
    made: list[str] = []

    def make() -> None:
        own = [names.new_id(MOMENT) for _ in range(2_000)]
        assert own == sorted(own)
        made.extend(own)

    threads = [threading.Thread(target=make) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(made)) == 8_000


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_forked_process_never_gets_an_id_of_its_parent() -> None:
    names.new_id(MOMENT)
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.write(writer, names.new_id(MOMENT).encode())
        os._exit(0)
    own = names.new_id(MOMENT)
    os.waitpid(child, 0)
    with open(reader) as pipe:
        os.close(writer)
        assert own != pipe.read()


def test_a_program_that_seeds_its_random_numbers_gets_other_ids() -> None:
    random.seed(1)
    first = names.new_id(MOMENT + 1)
    random.seed(1)
    assert names.new_id(MOMENT + 2)[14:] != first[14:]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "port",
        "019b76da-a800-7000-8000-00000000000",
        "019b76da-a800-7000-8000-0000000000000",
        "019B76DA-A800-7000-8000-000000000000",
        "019b76daa80070008000000000000000",
        "019b76da-a800-7000-8000-000000000000\n",
        "{019b76da-a800-7000-8000-000000000000}",
    ],
)
def test_other_text_is_not_an_id(text: str) -> None:
    assert names.is_id(text) is False


@given(st.text(max_size=300))
def test_a_name_is_one_line_of_1_to_256_characters_or_invalid(text: str) -> None:
    try:
        name = names.name(text)
    except Invalid:
        assert not text.strip() or len(text.strip()) > 256 or not text.strip().isprintable()
    else:
        assert name == text.strip()
        assert 1 <= len(name) <= 256
        assert len(name.splitlines()) == 1
        assert names.name(name) == name
        name.encode()


@pytest.mark.parametrize(
    "bad", ["a\nb", "a\rb", "a\tb", "a\0b", "a\x7fb", "a\x85b", "a\u2028b", "a\u2029b", "\ud800", " ", "", "x" * 257]
)
def test_control_characters_empty_and_endless_names_are_refused(bad: str) -> None:
    with pytest.raises(Invalid):
        names.name(bad)


@pytest.mark.parametrize("other", [None, 7, b"port", ["port"]])
def test_a_name_that_is_no_text_is_refused_by_its_type(other: object) -> None:
    with pytest.raises(Invalid, match=type(other).__name__):
        names.name(other)


def test_content_may_have_lines_and_tabs_but_no_nul_and_no_lone_surrogate() -> None:
    assert names.plain("content", "a\n\tb\r\n\x0b\u2028", lines=True) == "a\n\tb\r\n\x0b\u2028"
    for bad in ("a\0", "\udc00"):
        with pytest.raises(Invalid):
            names.plain("content", bad, lines=True)


@pytest.mark.parametrize(
    "good", ["ana", "Ana", "ana-2", "a.b", "_shared", "日本", "émile", "O'Brien", "two words", "x" * 64, "🚀", "comet"]
)
def test_a_segment_is_a_plain_word(good: str) -> None:
    assert names.segment(good, "an agent") == good
    assert names.segment(f"  {good}\n", "an agent") == good


@pytest.mark.parametrize(
    "bad",
    [
        "..",
        ".",
        "../x",
        "a/b",
        "a\\b",
        "/",
        ".git",
        "end.",
        "a:b",
        "a*",
        "a?",
        'a"',
        "<a",
        "a>",
        "a|b",
        "con",
        "CON",
        "nul.txt",
        "Com1",
        "conversations",
        "x" * 65,
        "日" * 67,
        "e\u0301mile",
        "a\nb",
        "",
        "\t",
        "a\0",
        None,
        3,
    ],
)
def test_what_is_no_safe_path_segment_on_some_platform_is_refused(bad: object) -> None:
    with pytest.raises(Invalid):
        names.segment(bad, "a workspace")


@pytest.mark.parametrize(
    ("folder", "made"),
    [
        ("shop", "shop"),
        ("my shop", "my shop"),
        (".dotfiles", "dotfiles"),
        ("a:b?", "a-b-"),
        ("e\u0301mile", "émile"),
        ("con.js", "project-con.js"),
        ("conversations", "project-conversations"),
        ("x" * 70, "x" * 64),
        ("", "default"),
        ("...", "default"),
        ("??", "default"),
        ("caf\udce9", "caf-"),
    ],
)
def test_a_segment_is_made_of_any_text(folder: str, made: str) -> None:
    assert names.as_segment(folder, "default") == made


@given(st.text(st.characters(), max_size=80) | st.text("conaux. ", max_size=80))
def test_what_is_made_a_segment_is_one(text: str) -> None:
    made = names.as_segment(text, "default")
    assert names.segment(made, "a workspace") == made


@given(st.text(max_size=80))
def test_no_segment_leads_out_of_its_folder(text: str) -> None:
    try:
        segment = names.segment(text, "a workspace")
    except Invalid:
        return
    assert not set(segment) & set('/\\\0:*?"<>|')
    assert segment not in ("", ".", "..")
    assert len(segment.encode()) <= 200


def test_a_short_hash_tells_parts_apart_that_look_the_same_when_joined() -> None:
    assert names.short_hash("a", "bc") != names.short_hash("ab", "c")
    assert names.short_hash("a", "b") == names.short_hash("a", "b")
    assert len(names.short_hash("a")) == 12
