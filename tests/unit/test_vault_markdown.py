"""The markdown of the vault: any text comes back as it was, and any content survives the way into a file and back."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from recollect.vault.markdown import Block, File, clean, new_block, parse, slug, tags_in

AT = 1_773_679_871_839
TWO = (
    "# Decisions\n\n"
    "<!-- id:1773679871839 -->\n## 2026-03-16T16:51 · #react #auto-extract\n\nUse SSE.\n\n---\n\n"
    "<!-- id:1773679000000 -->\n## 2026-03-16T16:36\n\nKeep one process.\n\n---\n"
)
PIECES = [
    "<!-- id:7 -->",
    "<!-- id:8 -->",
    "<!--id: 9-->",
    "## 2026-03-16T16:51 · #a #b-c",
    "## 2026-03-16T16:51",
    "---",
    "```",
    "~~~",
    "text",
    "  indented",
    "\\<!-- id:7 -->",
    "\\\\## 2026-03-16T16:51",
    "<!-- a comment",
    "-->",
    "# T",
    "\ufeff",
    "\r",
    "\n",
    "\r\n",
    "\n\n",
    "\r\n\r\n",
    " ",
    "\t",
    "\x0b",
    "\u2028",
    "é",
    "#tag",
    "----",
    "<!-- id:0 -->",
]
texts = st.lists(st.sampled_from(PIECES), max_size=25).map("".join) | st.text()
lines = st.lists(st.sampled_from(PIECES), max_size=25).map("\n".join)


@given(texts | lines)
@example(TWO)
@example(TWO.replace("\n", "\r\n"))
@example("\ufeff" + TWO.rstrip("\n"))
@example("")
def test_any_text_returns_unchanged(text: str) -> None:
    assert parse(text).text == text


@given(
    texts | lines, st.sampled_from(["\n", "\r\n", "\r"]), st.lists(st.sampled_from(["a", "b-c", "d/e"]), unique=True)
)
@example("---", "\n", [])
@example("a\n\n---", "\r\n", ["a"])
@example("```\n<!-- id:5 -->", "\n", [])
def test_any_content_survives_the_way_into_a_file_and_back(content: str, newline: str, tags: list[str]) -> None:
    before = new_block(5, AT, (), "before", newline)
    file = File("", (), newline).inserted([before, new_block(4, AT, tuple(tags), content, newline)])
    file = file.inserted([new_block(3, AT, (), "after", newline)])
    again = parse(file.text)
    assert [block.number for block in again.blocks] == [5, 4, 3]
    if clean(content):
        assert again.blocks[1].content == clean(content)
    assert [again.blocks[0].content, again.blocks[2].content] == ["before", "after"]
    assert again.blocks[1].tags == (tuple(tags) or tags_in(content))


@given(texts | lines, st.integers(0, 5), texts.filter(lambda text: bool(clean(text))))
@example("<!--id:1-->\n<!--id:1-->\n0\n## 0000-00-00T00:00#0", 1, "```")
def test_a_new_content_for_one_block_leaves_every_other_byte_alone(text: str, place: int, content: str) -> None:
    file = parse(text)
    if place >= len(file.blocks):
        return
    old = file.blocks[place]
    new = old.with_content(content, file.newline)
    # Every block has its number before one is written: only so it begins although a fence before it was left open.
    after = [block if block.number else block.with_number(9, file.newline) for block in file.blocks[place + 1 :]]
    assert new.content == clean(content)
    assert new.number == old.number
    assert new.heading.startswith(old.heading)
    changed = parse(
        file.preamble
        + "".join(block.text for block in file.blocks[:place])
        + new.text
        + "".join(block.text for block in after)
    )
    assert changed.blocks[:place] == file.blocks[:place]
    assert changed.blocks[place].content == clean(content)
    assert list(changed.blocks[place + 1 :]) == after


@given(texts | lines)
def test_a_block_can_be_inserted_into_any_file(text: str) -> None:
    file = parse(text)
    new = new_block(3, AT, (), "new", file.newline)
    longer = parse(file.inserted([new]).text)
    assert len(longer.blocks) == len(file.blocks) + 1
    assert new.opening + new.heading + new.body in longer.text
    assert sorted(b.content for b in longer.blocks) == sorted(["new", *(b.content for b in file.blocks)])


def test_an_entry_looks_like_this() -> None:
    assert new_block(1773679871839, AT, ("react", "typescript"), "Free-form memory content in markdown.").text == (
        "<!-- id:1773679871839 -->\n"
        "## 2026-03-16T16:51 · #react #typescript\n"
        "\n"
        "Free-form memory content in markdown.\n"
        "\n"
        "---\n"
    )


def test_a_file_is_read_into_preamble_and_blocks() -> None:
    file = parse(TWO)
    assert file.preamble == "# Decisions\n\n"
    assert [(b.number, b.at, b.tags, b.content) for b in file.blocks] == [
        (1773679871839, 1773679860000, ("react", "auto-extract"), "Use SSE."),
        (1773679000000, 1773678960000, (), "Keep one process."),
    ]


def test_a_rule_inside_content_is_content_and_the_last_one_is_not() -> None:
    assert parse("<!-- id:1 -->\n## 2026-03-16T16:51\n\na\n\n---\n\nb\n\n---\n").blocks[0].content == "a\n\n---\n\nb"


def test_a_dated_heading_without_an_id_begins_a_new_block() -> None:
    file = parse(TWO + "\n## 2026-03-17T09:00 · #new\n\nBy hand.\n")
    assert [block.number for block in file.blocks] == [1773679871839, 1773679000000, None]
    assert file.blocks[2].content == "By hand."
    assert file.blocks[2].with_number(5, "\n").text == "<!-- id:5 -->\n## 2026-03-17T09:00 · #new\n\nBy hand.\n"


def test_a_dated_heading_inside_a_code_fence_is_code() -> None:
    file = parse("<!-- id:1 -->\n## 2026-03-16T16:51\n\n```\n## 2026-03-17T09:00\n```\n\n---\n")
    assert [block.content for block in file.blocks] == ["```\n## 2026-03-17T09:00\n```"]


def test_a_fence_that_never_ends_hides_no_block_with_an_id() -> None:
    file = parse("<!-- id:2 -->\n## 2026-03-16T16:51\n\n```\ncode\n\n<!-- id:1 -->\n## 2026-03-16T16:51\n\nb\n")
    assert [block.number for block in file.blocks] == [2, 1]


def test_content_that_looks_like_an_id_comment_is_led_by_a_backslash() -> None:
    block = new_block(1, AT, (), "a\n<!-- id:2 -->\n\\## 2026-03-16T16:51")
    assert "\n\\<!-- id:2 -->\n\\\\## 2026-03-16T16:51\n" in block.text
    assert parse(block.text).blocks[0].content == "a\n<!-- id:2 -->\n\\## 2026-03-16T16:51"


def test_a_new_heading_keeps_the_rest_of_the_block() -> None:
    block = parse(TWO).blocks[1].with_heading(AT, ("x y", "c++", "+"), "\n")
    assert block.text == "<!-- id:1773679000000 -->\n## 2026-03-16T16:51 · #x-y #c\n\nKeep one process.\n\n---\n"


def test_text_below_the_end_of_a_block_can_be_cut_off() -> None:
    block = parse(TWO).blocks[1]
    longer = parse(TWO + "\n\n- [ ] one more\n").blocks[1]
    first, second = longer.split(len(block.text))
    assert first.text == block.text + "\n\n"
    assert (second.number, second.at, second.content) == (None, None, "- [ ] one more")
    assert block.closed
    assert not second.closed
    unclosed = parse(
        "<!-- id:1 -->\n## 2026-03-16T16:51\n\n```\n\n---\n\ntext\n\n## 2026-03-17T10:00\n\nmore\n"
    ).blocks[0]
    assert [piece.content for piece in unclosed.split(len("<!-- id:1 -->\n## 2026-03-16T16:51\n\n```\n\n---"))] == [
        "```",
        "text",
        "more",
    ]


@pytest.mark.parametrize("date", ["2026-13-45T10:00", "0001-01-01T00:00", "2026-01-01T25:61"])
def test_a_date_that_is_none_is_no_date(date: str) -> None:
    assert parse(f"<!-- id:1 -->\n## {date}\n\na\n").blocks[0].at is None


def test_a_block_of_nothing_but_an_id_can_be_filled() -> None:
    assert Block("<!-- id:1 -->", "", "").with_content("a", "\n").text == "<!-- id:1 -->\n\na\n\n---\n"


def test_tags_of_the_text_count_where_the_heading_has_none() -> None:
    assert parse("<!-- id:1 -->\n## 2026-03-16T16:51\n\nabout #stack and #configuração\n").blocks[0].tags == (
        "stack",
        "configuração",
    )
    assert slug("machine learning") == "machine-learning"


def test_a_byte_order_mark_hides_no_block() -> None:
    assert [block.number for block in parse("\ufeff" + TWO.removeprefix("# Decisions\n\n")).blocks] == [
        1773679871839,
        1773679000000,
    ]


def test_a_fence_ends_with_its_block() -> None:
    file = parse("<!-- id:2 -->\n```\n<!-- id:1 -->\n## 2026-03-16T16:51\n\nb\n\n## 2026-03-17T10:00\n\nnew\n")
    assert [block.number for block in file.blocks] == [2, 1, None]
