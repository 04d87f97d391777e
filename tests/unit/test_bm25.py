"""The fast ranking over arrays against the plain one, document by document."""

import math
from collections.abc import Iterator
from itertools import pairwise

import numpy as np
import pytest
from bm25_oracle import bm25
from hypothesis import given
from hypothesis import strategies as st

from recollect.search import bm25 as fast
from recollect.search.bm25 import DocumentRange, PostingList, rank
from recollect.search.ranking import idf

Documents = dict[int, dict[str, int]]
TERMS = "abcdefgh"


@pytest.fixture(autouse=True, scope="module", params=[fast.TOGETHER, 0], ids=["at once", "one by one"])
def lists_are_added(request: pytest.FixtureRequest) -> Iterator[None]:
    """Long and short posting lists take different paths; here all lists take the one or the other."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fast, "TOGETHER", request.param)
        yield


def ranked(documents: Documents, cuts: list[int], query: list[list[str]], limit: int) -> list[tuple[int, float]]:
    """The ranking of documents 1 … n that lie in several parts; the cuts are the first numbers of all parts but one."""
    live = [terms for terms in documents.values() if terms]
    average = sum(sum(terms.values()) for terms in live) / len(live) if live else 1.0
    weights = [idf(len(live), min(sum(t in terms for terms in live for t in word), len(live))) for word in query]
    words = sorted(zip(weights, query, strict=True), key=lambda word: -word[0])
    bounds = [1, *sorted(set(cuts)), max(documents, default=0) + 1]
    parts = []
    for first, end in reversed(list(pairwise(bounds))):
        lengths = np.array([sum(documents.get(doc, {}).values()) for doc in range(first, end)], np.uint32)
        present = lengths[lengths > 0]
        part = DocumentRange(first, lengths, int(present.min()) if len(present) else 1)
        parts.append((part, [(weight, lists(documents, first, end, word)) for weight, word in words]))
    return rank(parts, limit, average)


def lists(documents: Documents, first: int, end: int, spellings: list[str]) -> list[PostingList]:
    found = []
    for term in spellings:
        holding = [doc for doc in range(first, end) if term in documents.get(doc, {})]
        if holding:
            offsets = np.array([doc - first for doc in holding], np.uint16)
            found.append((offsets, np.array([documents[doc][term] for doc in holding], np.uint8)))
    return found


def assert_like_the_oracle(documents: Documents, cuts: list[int], query: list[list[str]], limit: int) -> None:
    live = {doc: terms for doc, terms in documents.items() if terms}
    expected = bm25(live, query)
    found = ranked(documents, cuts, query, limit)
    exact = dict(expected)
    assert len(found) == min(limit, len(expected))
    for (doc, score), (_, best) in zip(found, expected, strict=False):
        assert math.isclose(score, exact[doc], rel_tol=1e-9)
        assert math.isclose(score, best, rel_tol=1e-9)
    for (newer, high), (older, low) in pairwise(found):
        assert high > low or (high == low and newer > older)
    kept = {doc for doc, _ in found}
    for doc in kept:
        assert kept.issuperset(other for other in exact if live[other] == live[doc] and other > doc)


terms = st.dictionaries(st.sampled_from(TERMS), st.integers(1, 6), max_size=5)
queries = st.lists(
    st.lists(st.sampled_from(TERMS + "z"), min_size=1, max_size=2, unique=True), min_size=1, max_size=5, unique_by=tuple
).filter(lambda words: len({term for word in words for term in word}) == sum(len(word) for word in words))


@given(
    st.lists(terms, max_size=60),
    st.lists(st.integers(2, 60), max_size=4),
    queries,
    st.integers(1, 20),
)
def test_the_ranking_is_that_of_the_oracle(
    found: list[dict[str, int]], cuts: list[int], query: list[list[str]], limit: int
) -> None:
    documents = dict(enumerate(found, 1))
    assert_like_the_oracle(documents, [cut for cut in cuts if cut <= len(found)], query, limit)


@given(
    st.lists(st.sampled_from([{"a": 1}, {"a": 1, "b": 1}, {"b": 1}, {"a": 2, "b": 2, "c": 1}, {}]), max_size=80),
    st.lists(st.integers(2, 80), max_size=5),
    st.sampled_from([[["a"]], [["a"], ["b"]], [["c"], ["a"], ["b"]], [["a", "b"]]]),
    st.integers(1, 20),
)
def test_among_many_equal_scores_the_newest_documents_have_the_places(
    found: list[dict[str, int]], cuts: list[int], query: list[list[str]], limit: int
) -> None:
    documents = dict(enumerate(found, 1))
    assert_like_the_oracle(documents, [cut for cut in cuts if cut <= len(found)], query, limit)


@pytest.mark.parametrize("limit", [1, 2, 999, 1_000, 1_001, 5_000])
def test_equal_documents_are_cut_at_every_limit_newest_first(limit: int) -> None:
    documents: Documents = {doc: {"a": 2, "b": 1} for doc in range(1, 1_001)}
    found = ranked(documents, [100, 400, 1_000], [["a"], ["b"]], limit)
    assert [doc for doc, _ in found] == list(range(1_000, 0, -1))[:limit]
    assert len({score for _, score in found}) == 1


def test_a_rare_word_in_an_old_part_beats_a_newer_part_full_of_common_ones() -> None:
    documents: Documents = {doc: {"common": 1 + doc % 3} for doc in range(1, 2_001)}
    documents[7] = {"common": 1, "rare": 1}
    found = ranked(documents, [500, 1_500], [["rare"], ["common"]], 3)
    assert found[0][0] == 7
    assert_like_the_oracle(documents, [500, 1_500], [["rare"], ["common"]], 3)


def test_documents_that_were_removed_have_no_place_although_their_postings_are_still_there() -> None:
    offsets, counts = np.array([0, 1, 2], np.uint16), np.array([1, 9, 1], np.uint8)
    part = DocumentRange(1, np.array([4, 0, 4], np.uint32), 4)
    assert [doc for doc, _ in rank([(part, [(1.0, [(offsets, counts)])])], 3, 4.0)] == [3, 1]


def test_nothing_is_ranked_without_parts_or_lists() -> None:
    assert rank([], 5, 1.0) == []
    assert rank([(DocumentRange(1, np.array([3], np.uint32), 3), [])], 5, 1.0) == []
    assert rank([(DocumentRange(1, np.array([3], np.uint32), 3), [(2.0, [])])], 5, 1.0) == []


def test_the_weight_of_a_word_falls_with_the_documents_that_hold_it_and_is_never_negative() -> None:
    weights = [idf(100, holding) for holding in range(101)]
    assert weights == sorted(weights, reverse=True)
    assert weights[-1] > 0
    assert idf(10, 3) == pytest.approx(math.log(1 + 7.5 / 3.5))


def test_the_oracle_is_the_formula_written_down_for_one_small_case() -> None:
    # Two documents of 2 and 4 terms, average 3; "a" is in both, "b" in the first one only.
    found = bm25({1: {"a": 1, "b": 1}, 2: {"a": 3, "c": 1}}, [["a"], ["b"]])
    in_both, in_one = math.log(1 + 0.5 / 2.5), math.log(1 + 1.5 / 1.5)
    short, long = 1.2 * (0.25 + 0.75 * 2 / 3), 1.2 * (0.25 + 0.75 * 4 / 3)
    first = in_both * 2.2 / (1 + short) + in_one * 2.2 / (1 + short)
    second = in_both * 3 * 2.2 / (3 + long)
    assert found == [(1, pytest.approx(first)), (2, pytest.approx(second))]
    assert bm25({}, [["a"]]) == []
    assert bm25({1: {"a": 1}}, [["z"]]) == []
