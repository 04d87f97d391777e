"""Entries whose names begin with a path, as the adapters for files and items of frameworks read them."""

import pytest

from recollect import Alias, Home, Invalid, Memory


def names(memory: Memory, start: str, page: int = 2) -> list[str | None]:
    return [entry.name for entry in memory.item_names.below(start, page=page)]


def test_the_entries_below_a_path_come_in_the_order_of_their_characters_page_by_page(mem: Memory) -> None:
    for name in ("a/é", "a/b/c", "a/B", "a", "a.b", "a/😀", "b/c", "a0", "a/b"):
        mem.remember(f"the text of {name}", name=name)
    mem.remember("a text without a name")
    mem.apply(Alias("b/c", "a/alias"))
    mem.forget("a/b")
    mem.retract("a/B")
    assert names(mem, "a/") == ["a/B", "a/b/c", "a/é", "a/😀"]
    assert (names(mem, "a."), names(mem, "a.b"), names(mem, "c/")) == (["a.b"], ["a.b"], [])
    assert names(mem, "%") == []
    assert [start for start in ("a/", "a/b/", "a/c", "c/", "a/alias") if mem.item_names.exist(start)] == ["a/", "a/b/"]
    with pytest.raises(Invalid):
        mem.item_names.exist("")


@pytest.mark.directory
def test_entries_of_the_account_are_among_them_in_order(mem: Memory) -> None:
    for number in range(5):
        mem.remember(f"text {number}", name=f"a/{number}", scope="account" if number % 2 else "workspace")
    assert names(mem, "a/") == [f"a/{number}" for number in range(5)]
    assert mem.item_names.exist("a/3")


def test_those_of_another_agent_are_out_of_reach(home: Home) -> None:
    home.agent("ana").remember("a text of Ana", name="a/1")
    home.agent("_shared").remember("a text for all", name="a/2")
    other = home.agent("ben")
    assert (names(other, "a/"), other.item_names.exist("a/")) == ([], False)
