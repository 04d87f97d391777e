"""Stored text in a prompt: characters, lines, control tokens and labels, whatever the text says."""

import re
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect import fencing

INVISIBLE = [
    "\u200b",
    "\u200d",
    "\ufeff",
    "\u2060",
    "\u00ad",
    "\u202e",
    "\u2066",
    "\U000e0041",
    "\ufe0f",
    "\U000e0101",
    "\u3164",
    "\u034f",
    "\u0000",
    "\u001b",
    "\u0085",
]


@pytest.mark.slow
def test_every_control_and_format_character_is_removed_and_no_letter_is() -> None:
    everything = {chr(code) for code in range(0x110000) if not 0xD800 <= code < 0xE000}
    kept = set(fencing.clean("".join(sorted(everything))))
    assert {one for one in kept if unicodedata.category(one) in ("Cc", "Cf", "Zl", "Zp")} == {"\n", "\t"}
    lost = {one: unicodedata.category(one) for one in everything - kept}
    assert set(lost.values()) == {"Cc", "Cf", "Mn", "Cn", "Lo", "So", "Zl", "Zp"}
    assert {one for one, category in lost.items() if category in ("Lo", "So")} == set("\u115f\u1160\u2800\u3164\uffa0")


@pytest.mark.parametrize("character", INVISIBLE)
def test_nothing_hides_in_front_of_a_word_or_inside_a_token(character: str) -> None:
    assert fencing.one_line(f"{character}system{character}:") in ("system:", "system :")
    assert "<|" not in fencing.clean(f"<{character}|im_start|>")
    assert "[INST]" not in fencing.clean(f"[{character}INST{character}]")


@pytest.mark.parametrize(
    "token",
    [
        "<|im_start|>",
        "<|eot_id|>",
        "<\uff5cUser\uff5c>",
        "<start_of_turn>",
        "<end_of_turn>",
        "<<SYS>>",
        "<</SYS>>",
        "<s>",
        "</s>",
        "<bos>",
        "<system-reminder>",
        "</function_results>",
        "[INST]",
        "[/INST]",
        "[TOOL_CALLS]",
        "[gMASK]",
        "[|user|]",
        "[/SYSTEM_PROMPT]",
        "<!-- x",
        "\uff1c|im_start|\uff1e",
        "\uff3bINST\uff3d",
    ],
)
def test_a_control_token_is_broken_by_a_space_and_stays_readable(token: str) -> None:
    for shown in (fencing.clean(f"a {token} b"), fencing.one_line(token), fencing.quoted(f"x\n{token}")):
        assert token not in shown
        assert token.replace("<<", "<").replace("＜＜", "＜")[1:] in shown.replace("< ", "<")


@pytest.mark.parametrize(
    "text",
    [
        "x <= 5 and y<3",
        "a <- b",
        "- [ ] order ropes",
        "[x] done",
        "[User]: hello",
        "[a link](https://example.org)",
        "[1] and [JIRA-12]",
        "use `a->b` or a < b",
        "Größe: 5 m, naïve 日本語 हिन्दी",
    ],
)
def test_ordinary_text_stays_as_it_is(text: str) -> None:
    assert fencing.clean(text) == fencing.one_line(text) == text
    assert fencing.quoted(text) == f"> {text}"


@given(st.text())
def test_each_line_of_a_quoted_text_has_the_lead(text: str) -> None:
    shown = fencing.quoted(text)
    assert shown.splitlines() == shown.split("\n")
    assert all(line == ">" or line.startswith("> ") for line in shown.split("\n"))
    assert fencing.quoted(text) == shown


@given(st.text())
def test_a_label_is_short_and_has_no_punctuation_that_means_something(text: str) -> None:
    shown = fencing.label(text)
    assert len(shown) <= 61
    assert not re.search(r"[()\[\]<>{},;|`*\"'#\n]", shown)


@given(
    st.lists(st.sampled_from(["Open Tasks:", "**open  tasks**", "## Öpen tasks", "- - -", "—————", "text", "# Shop"]))
)
def test_text_of_the_operator_has_the_lead_on_reserved_lines_alone(lines: list[str]) -> None:
    shown = fencing.operator_text("\n".join(["begin", *lines, "end"]), {"opentasks"})
    assert shown.split("\n")[1:-1] == [line if line in ("text", "# Shop") else f"> {line}" for line in lines]


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("Ana: system", "Ana_ system"),
        ("system:", "system_"),
        ("file:notes.md", "file:notes.md"),
        ("10:30 call", "10:30 call"),
    ],
)
def test_a_name_cannot_end_before_its_own_colon(name: str, shown: str) -> None:
    assert fencing.label(name) == shown
