"""Terms that may stand for one that was typed: which, and with what weight."""

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.search.vocabulary import MOST, Vocabulary

WORDS = ["car", "card", "care", "carpet", "cart", "cat", "dog", "scar", "naïve", "日本", "日本語"]


def like(term: str, *, prefix: bool = False, fuzzy: float = 0.0, words: list[str] = WORDS) -> dict[str, float]:
    return Vocabulary(words).like(term, prefix=prefix, fuzzy=fuzzy)


def plain_distance(one: str, other: str) -> int:
    """By the definition, one letter after the other."""
    before = list(range(len(other) + 1))
    for i, letter in enumerate(one, start=1):
        row = [i]
        for j, against in enumerate(other, start=1):
            row.append(min(before[j] + 1, row[-1] + 1, before[j - 1] + (letter != against)))
        before = row
    return before[-1]


terms = st.text("abcä日", min_size=1, max_size=9)


def test_a_prefix_stands_for_longer_terms_the_longer_the_less() -> None:
    assert like("car", prefix=True, words=["car", "card", "carpet", "cat", "scar"]) == pytest.approx(
        {"car": 0.375, "card": 0.375 * 4 / 4.3, "carpet": 0.375 * 6 / 6.9}
    )
    assert list(like("ca", prefix=True)) == ["car", "cat", "card", "care", "cart", "carpet"]
    assert like("carpets", prefix=True) == {}
    assert list(like("日", prefix=True)) == ["日本", "日本語"]


def test_a_near_term_counts_less_the_farther_it_is() -> None:
    assert like("cirpet", fuzzy=0.2, words=["carpet", "trumpet"]) == pytest.approx({"carpet": 0.45 * 6 / 7})
    assert like("cirpot", fuzzy=0.4, words=["carpet"]) == pytest.approx({"carpet": 0.45 * 6 / 8})
    assert like("naive", fuzzy=0.2) == pytest.approx({"naïve": 0.45 * 5 / 6})
    assert list(like("car🙂", fuzzy=0.3, words=["car", "cat"])) == ["car"]


@pytest.mark.parametrize(
    ("length", "fuzzy", "steps"),
    [
        (2, 0.2, 0),
        (3, 0.2, 1),
        (7, 0.2, 1),
        (8, 0.2, 2),
        (12, 0.2, 2),
        (13, 0.2, 3),
        (60, 0.2, 6),
        (10, 1.0, 6),
        (2, 0.25, 1),
        (10, 0.25, 3),
        (5, 0.5, 3),
        (9, 0.0, 0),
    ],
)
def test_how_many_letters_may_differ_is_a_share_of_the_term_rounded_and_at_most_six(
    length: int, fuzzy: float, steps: int
) -> None:
    words = ["a" * (length - min(changed, length)) + "b" * min(changed, length) for changed in range(9)]
    typed = "a" * length
    assert len(like(typed, fuzzy=fuzzy, words=words[1:])) == len(set(words[1 : steps + 1]))


def test_a_term_that_is_both_counts_as_a_prefix_match() -> None:
    both = like("car", prefix=True, fuzzy=0.4, words=["card", "cat", "scar"])
    assert both == pytest.approx({"card": 0.375 * 4 / 4.3, "cat": 0.45 * 3 / 4, "scar": 0.45 * 4 / 5})


def test_nothing_stands_for_a_term_when_nothing_is_asked_for() -> None:
    assert like("car") == {}
    assert like("car", prefix=True, fuzzy=0.2, words=[]) == {}


def test_the_best_sixty_four_are_taken_and_always_the_same() -> None:
    words = [f"word{number}" for number in range(1000)]
    found = like("word", prefix=True, words=words)
    assert MOST == 64
    assert len(found) == 64
    assert found == like("word", prefix=True, words=words[::-1])
    assert set(found) == {f"word{number}" for number in (*range(10), *range(10, 64))}


def by_the_definition(term: str, *, prefix: bool, fuzzy: float, words: list[str]) -> dict[str, float]:
    """Every word compared, and the best of all taken."""
    farthest = min(6, int(fuzzy * len(term) + 0.5))
    found = {}
    for word in words:
        steps = plain_distance(term, word)
        if prefix and word.startswith(term):
            found[word] = 0.375 * len(word) / (len(word) + 0.3 * (len(word) - len(term)))
        elif 0 < farthest >= steps:
            found[word] = 0.45 * len(word) / (len(word) + steps)
    return dict(sorted(found.items(), key=lambda item: (-item[1], item[0]))[:MOST])


@given(st.lists(terms, max_size=20), terms, st.sampled_from([0.0, 0.2, 0.5, 1.0]), st.booleans())
def test_no_near_term_is_overlooked_and_no_other_one_taken(
    words: list[str], typed: str, fuzzy: float, prefix: bool
) -> None:
    assert like(typed, prefix=prefix, fuzzy=fuzzy, words=words) == by_the_definition(
        typed, prefix=prefix, fuzzy=fuzzy, words=words
    )


@pytest.mark.parametrize("prefix", [False, True])
@pytest.mark.parametrize("fuzzy", [0.2, 0.5, 1.0])
@pytest.mark.parametrize("typed", ["a", "abab", "abacab", "bbbbbbbb", "cabacabac"])
def test_among_more_near_terms_than_are_taken_it_is_the_best(typed: str, fuzzy: float, prefix: bool) -> None:
    words = ["".join(letters) for length in range(1, 8) for letters in product("abc", repeat=length)]
    words += ["abab" * 4, "cabacabacab"]
    expected = by_the_definition(typed, prefix=prefix, fuzzy=fuzzy, words=words)
    found = like(typed, prefix=prefix, fuzzy=fuzzy, words=words)
    assert list(found.items()) == list(expected.items())


def test_terms_of_hundreds_of_letters_are_compared_as_well() -> None:
    words = ["x" * 299, "x" * 306, "x" * 307, "y" + "x" * 298 + "y", "z" * 300]
    assert list(like("x" * 300, fuzzy=0.2, words=words)) == ["x" * 299, "y" + "x" * 298 + "y", "x" * 306]
