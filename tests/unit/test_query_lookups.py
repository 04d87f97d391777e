"""What recalls of the same words share."""

from typing import Any

from recollect.engine.recall_candidates import QueryLookups

STORE: Any = object()
RANKED = [(doc, 1 / doc) for doc in range(1, 301)]


def test_a_ranking_is_computed_again_only_for_more_than_was_ranked_ahead() -> None:
    asked: list[int] = []

    def ranking(limit: int) -> list[tuple[int, float]]:
        asked.append(limit)
        return RANKED[:limit]

    looks = QueryLookups(ahead=100)

    assert looks.ranked(STORE, ranking, 10) == RANKED[:10]
    assert looks.ranked(STORE, ranking, 100) == RANKED[:100]
    assert asked == [100]
    assert looks.ranked(STORE, ranking, 200) == RANKED[:200]
    assert asked == [100, 200]


def test_rankings_of_a_damaged_index_are_forgotten() -> None:
    looks = QueryLookups(ahead=100)
    looks.ranked(STORE, lambda limit: RANKED[:limit], 10)
    looks.forget()

    assert looks.ranked(STORE, lambda limit: RANKED[50:60], 10) == RANKED[50:60]
