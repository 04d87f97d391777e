"""Front matter: keys are added and changed in the text, and a change gives what parsing the new text gives."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.vault.front_matter import FrontMatter, Value, split

HEADS = [
    "",
    "\ufeff",
    "---\n---\n",
    "---\r\ntitle: Mast  # mine\r\nrating: 5\r\n---\r\n",
    "---\ntags:\n  - boat\n  - sail\n---\n",
    "---\n  title: Mast\n  tags: [boat, sail]\n---\n",
    "\ufeff---\n# a comment\n---\n",
]
scalars = st.sampled_from(
    ["Winch", "yes", "12", "2016-05-04T10:00:00Z", 'a "quote"', "a: b", "- x", "", "ü # no", "[x]"]
)
values = scalars | st.none() | st.lists(scalars, max_size=3).map(tuple)


@given(
    st.sampled_from(HEADS),
    st.dictionaries(st.sampled_from(["title", "tags", "recollect_id", "created"]), values, max_size=4),
    st.sampled_from(["\n", "\r\n"]),
)
def test_a_change_gives_what_parsing_its_text_gives(head: str, changes: dict[str, Value], newline: str) -> None:
    changed = FrontMatter.parse(head).changed(changes, newline=newline)
    assert changed == FrontMatter.parse(changed.text)
    assert split(changed.text + "body") == (changed.text, "body")
    assert changed.changed({"more": "x"}).changed({"more": "y"}) == FrontMatter.parse(
        changed.changed({"more": "y"}).text
    )


@pytest.mark.parametrize("head", HEADS)
def test_a_key_that_is_added_changes_no_other_byte(head: str) -> None:
    changed = FrontMatter.parse(head).changed({"recollect_id": "a-1"})
    assert changed.get("recollect_id") == "a-1"
    without = changed.text.replace(f"{changed._indent}recollect_id: a-1\n", "")
    assert without in (head, head + "---\n---\n")
