"""What recollect.search.ranking promises: how lists become one, and how time counts."""

from math import log

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.errors import Invalid
from recollect.model.entry import Scope
from recollect.search.ranking import (
    DecayConfig,
    Explanation,
    b_for,
    combine,
    decayed,
    explain,
    fuse,
    is_personal,
    ranks,
    relevance,
    vector_weight,
)

WEEK = 7 * 24.0

scores = st.floats(min_value=0.001, max_value=1000)
lists = st.dictionaries(st.integers(1, 30), scores, max_size=20).map(lambda found: list(found.items()))


def order(found: list[tuple[int, float]]) -> list[int]:
    return [doc for doc, _ in found]


# Ranks


def test_equal_scores_share_a_rank_and_the_next_rank_counts_them_all() -> None:
    assert ranks([(7, 5.0), (3, 4.0), (9, 4.0), (1, 2.0)]) == {7: 1, 3: 2, 9: 2, 1: 4}


def test_ranks_go_by_score_whatever_the_order_of_the_list() -> None:
    assert ranks([(1, 2.0), (7, 5.0), (3, 4.0)]) == {7: 1, 3: 2, 1: 3}


def test_a_list_without_documents_has_no_ranks() -> None:
    assert ranks([]) == {}


# Reciprocal rank fusion


def test_equal_weight_fusion_adds_the_reciprocals_of_sixty_plus_the_rank() -> None:
    fused = fuse([[(1, 9.0), (2, 8.0)], [(2, 0.9), (3, 0.8)]])
    assert fused == [
        (2, pytest.approx(1 / 62 + 1 / 61)),
        (1, pytest.approx(1 / 61)),
        (3, pytest.approx(1 / 62)),
    ]


def test_a_weight_multiplies_what_its_list_gives() -> None:
    fused = dict(fuse([[(1, 9.0)], [(2, 0.9)]], [1.0, 0.35]))
    assert fused == {1: pytest.approx(1 / 61), 2: pytest.approx(0.35 / 61)}


def test_k_sets_how_much_the_first_ranks_stand_out() -> None:
    assert fuse([[(1, 9.0), (2, 8.0)]], k=0) == [(1, 1.0), (2, 0.5)]


def test_equal_evidence_ties_in_fusion() -> None:
    fused = dict(fuse([[(1, 4.0), (2, 4.0)], [(2, 0.5), (1, 0.5)]]))
    assert fused[1] == fused[2]


def test_what_ties_stays_in_the_order_of_first_appearance() -> None:
    assert order(fuse([[(5, 4.0), (2, 4.0), (9, 4.0)]])) == [5, 2, 9]


def test_as_many_weights_as_lists_are_needed() -> None:
    with pytest.raises(ValueError):
        fuse([[(1, 1.0)], [(2, 1.0)]], [1.0])


# Words and vectors together


def test_rrf_is_equal_weight_fusion_of_the_two_lists() -> None:
    lexical, vector = [(1, 9.0), (2, 8.0)], [(2, 0.9), (3, 0.8)]
    assert combine(lexical, vector, fusion="rrf", average=20) == fuse([lexical, vector])


def test_a_hit_that_stands_out_in_one_list_beats_the_first_of_a_flat_list() -> None:
    lexical = [(1, 12.0), (2, 3.0), (3, 2.9), (4, 2.8)]
    vector = [(2, 0.51), (3, 0.50), (4, 0.50), (1, 0.49)]
    assert order(combine(lexical, vector, average=20))[0] == 1
    assert order(combine(lexical, vector, fusion="rrf", average=20))[0] == 2


def test_the_parts_are_deviations_above_the_end_of_the_list() -> None:
    # Scores 4, 2, 0: mean 2, deviation √(8/3); cosines 0.6, 0.4, 0.2: the same shape, times the weight 0.8.
    fused = dict(combine([(1, 4.0), (2, 2.0)], [(3, 0.6), (2, 0.4), (1, 0.2)], average=40))
    unit = 2 / (8 / 3) ** 0.5
    assert fused == {1: pytest.approx(2 * unit), 2: pytest.approx(1.8 * unit), 3: pytest.approx(1.6 * unit)}


def test_the_vectors_count_more_where_entries_are_long() -> None:
    lexical, vector = [(1, 4.0), (2, 2.5)], [(2, 0.6), (1, 0.2), (3, 0.0)]
    assert order(combine(lexical, vector, average=5))[0] == 1
    assert order(combine(lexical, vector, average=500))[0] == 2


def test_words_alone_keep_their_order() -> None:
    assert order(combine([(4, 9.0), (2, 5.0), (8, 1.0)], [], average=20)) == [4, 2, 8]


def test_vectors_alone_keep_their_order() -> None:
    assert order(combine([], [(4, 0.9), (2, 0.5), (8, 0.1)], average=20)) == [4, 2, 8]


def test_nothing_found_gives_nothing() -> None:
    assert combine([], [], average=20) == []


@pytest.mark.parametrize(
    "query",
    ["What did I buy?", "what's my degree", "Qual é o meu gato?", "¿Dónde vive mi hermana?", "Wo ist mein Rad?"],
)
def test_a_question_about_oneself_is_personal(query: str) -> None:
    assert is_personal(query)
    assert not is_personal("Which immigrant met Emil in Michigan?")


def test_vectors_count_more_for_a_personal_question() -> None:
    lexical, vector = [(1, 6.0), (2, 2.0), (3, 1.0)], [(2, 0.6), (1, 0.35), (3, 0.3)]
    assert order(combine(lexical, vector, average=40))[0] == 1
    assert order(combine(lexical, vector, average=40, personal=True))[0] == 2
    explained = explain(lexical, vector, average=40, personal=True)
    assert dict(combine(lexical, vector, average=40, personal=True)) == pytest.approx(
        {doc: part.lexical_part + part.vector_part for doc, part in explained.items()}
    )


def test_a_list_of_equals_gives_each_the_same() -> None:
    fused = combine([(1, 3.0), (2, 3.0)], [(1, 0.4), (2, 0.4)], average=10)
    assert fused == [(1, pytest.approx(1.4)), (2, pytest.approx(1.4))]


def test_a_single_hit_of_each_list_is_found() -> None:
    assert order(combine([(1, 3.0)], [(2, 0.4)], average=10)) == [1, 2]


def test_an_entry_without_a_vector_is_not_pushed_down_for_it() -> None:
    lexical = [(1, 9.0), (2, 8.5), (3, 1.0)]
    vector = [(2, 0.6), (3, 0.5), (4, 0.1)]
    assert order(combine(lexical, vector, average=40))[0] == 2
    assert order(combine(lexical, vector, average=40, unembedded={1}))[0] == 1


def test_an_entry_without_a_vector_gains_nothing_when_no_entry_has_one() -> None:
    lexical = [(1, 9.0), (2, 8.0)]
    assert combine(lexical, [], average=40, unembedded={1}) == combine(lexical, [], average=40)


def test_in_rrf_the_word_rank_of_an_entry_without_a_vector_counts_twice() -> None:
    fused = dict(combine([(1, 9.0), (2, 8.0)], [(2, 0.6)], fusion="rrf", average=40, unembedded={1}))
    assert fused == {1: pytest.approx(2 / 61), 2: pytest.approx(1 / 62 + 1 / 61)}


def test_an_unknown_fusion_is_refused() -> None:
    with pytest.raises(Invalid):
        combine([(1, 1.0)], [], fusion="sum", average=20)


@given(lexical=lists, vector=lists, fusion=st.sampled_from(["weighted", "rrf"]), average=st.floats(1, 1000))
def test_every_document_of_either_list_comes_once_with_a_score_that_is_not_negative(
    lexical: list[tuple[int, float]], vector: list[tuple[int, float]], fusion: str, average: float
) -> None:
    fused = combine(lexical, vector, fusion=fusion, average=average)
    assert sorted(order(fused)) == sorted({doc for doc, _ in lexical + vector})
    assert all(score >= 0 for _, score in fused)
    assert [score for _, score in fused] == sorted((score for _, score in fused), reverse=True)


@given(lexical=lists, vector=lists, factor=st.sampled_from([0.25, 2.0, 1024.0]))
def test_the_unit_of_a_list_does_not_matter(
    lexical: list[tuple[int, float]], vector: list[tuple[int, float]], factor: float
) -> None:
    scaled = [(doc, score * factor) for doc, score in lexical]
    assert dict(combine(scaled, vector, average=20)) == pytest.approx(dict(combine(lexical, vector, average=20)))


@given(lexical=lists, vector=lists, fusion=st.sampled_from(["weighted", "rrf"]))
def test_a_document_that_is_better_in_both_lists_is_never_behind(
    lexical: list[tuple[int, float]], vector: list[tuple[int, float]], fusion: str
) -> None:
    words, vectors = dict(lexical), dict(vector)
    fused = dict(combine(lexical, vector, fusion=fusion, average=20))
    both = words.keys() & vectors.keys()
    for better in both:
        for worse in both:
            if words[better] >= words[worse] and vectors[better] >= vectors[worse]:
                assert fused[better] >= fused[worse]


@given(lexical=lists, vector=lists, fusion=st.sampled_from(["weighted", "rrf"]), blind=st.sets(st.integers(1, 30)))
def test_the_explained_parts_add_up_to_the_score(
    lexical: list[tuple[int, float]], vector: list[tuple[int, float]], fusion: str, blind: set[int]
) -> None:
    fused = dict(combine(lexical, vector, fusion=fusion, average=20, unembedded=blind))
    explained = explain(lexical, vector, fusion=fusion, average=20, unembedded=blind)
    assert {doc: why.lexical_part + why.vector_part for doc, why in explained.items()} == fused


def test_an_explanation_names_the_part_of_each_list() -> None:
    explained = explain([(1, 9.0), (2, 8.0)], [(2, 0.6), (3, 0.5)], fusion="rrf", average=20)
    assert explained == {1: Explanation(1 / 61, 0.0), 2: Explanation(1 / 62, 1 / 61), 3: Explanation(0.0, 1 / 62)}


# What the length of the entries decides


@pytest.mark.parametrize(("average", "weight"), [(0, 0.4), (10, 0.4), (20, 0.6), (40, 0.8), (10_000, 0.8)])
def test_the_weight_of_vectors_rises_with_the_length_of_entries(average: float, weight: float) -> None:
    assert vector_weight(average) == pytest.approx(weight)


@pytest.mark.parametrize(("average", "b"), [(0, 0.3), (12, 0.3), (49, 0.6), (200, 0.9), (10_000, 0.9)])
def test_length_normalisation_rises_with_the_length_of_entries(average: float, b: float) -> None:
    assert b_for(average) == pytest.approx(b, abs=0.001)


# Decay


def test_the_built_in_rates() -> None:
    rates = DecayConfig()
    assert [rates.rate(scope) for scope in (Scope.ACCOUNT, Scope.WORKSPACE, Scope.CHANNEL)] == [0.999, 0.998, 0.995]


def test_the_rates_of_the_table() -> None:
    rates = DecayConfig.table()
    assert [rates.rate(scope) for scope in (Scope.ACCOUNT, Scope.WORKSPACE, Scope.CHANNEL)] == [0.998, 0.995, 0.990]
    assert rates.rate(Scope.CONVERSATION) == 1.0


def test_a_conversation_fades_only_when_asked() -> None:
    assert DecayConfig().rate(Scope.CONVERSATION) == 1.0
    assert DecayConfig(decay_conversation=True).rate(Scope.CONVERSATION) == 0.99


def test_a_scope_without_a_rate_does_not_fade() -> None:
    assert DecayConfig(account=None).rate(Scope.ACCOUNT) == 1.0
    assert DecayConfig(conversation=None, decay_conversation=True).rate(Scope.CONVERSATION) == 1.0


@pytest.mark.parametrize("rate", [0.0, -0.5, 1.001, float("nan"), float("inf")])
def test_a_rate_outside_of_zero_to_one_is_refused(rate: float) -> None:
    with pytest.raises(Invalid):
        DecayConfig(channel=rate)


@pytest.mark.parametrize(("rate", "left"), [(0.990, 0.185), (0.995, 0.431), (0.998, 0.714), (0.999, 0.845)])
def test_what_is_left_after_seven_days(rate: float, left: float) -> None:
    assert relevance(1.0, rate, WEEK, 0) == pytest.approx(left, abs=0.0005)


def test_relevance_is_importance_times_decay_times_the_logarithm_of_use() -> None:
    assert relevance(0.3, 0.998, 0, 4) == pytest.approx(0.3 * (1 + log(5)))
    assert relevance(0.3, 0.998, 0, 4) == pytest.approx(0.78, abs=0.005)
    assert relevance(0.5, 0.99, 10, 0) == pytest.approx(0.5 * 0.99**10)


def test_relevance_may_exceed_one() -> None:
    assert relevance(1.0, 0.999, 0, 10) == pytest.approx(3.398, abs=0.001)


def test_a_clock_that_went_back_counts_as_no_time() -> None:
    assert relevance(0.5, 0.99, -100, 2) == relevance(0.5, 0.99, 0, 2)


@given(
    importance=st.floats(0, 1),
    rate=st.floats(0.5, 1),
    hours=st.floats(-10, 1e6),
    uses=st.integers(0, 10**9),
    score=st.floats(0, 1e6),
)
def test_decay_takes_at_most_a_quarter_and_never_adds(
    importance: float, rate: float, hours: float, uses: int, score: float
) -> None:
    assert 0.75 * score <= decayed(score, relevance(importance, rate, hours, uses)) <= score


@pytest.mark.parametrize(
    ("importance", "hours", "uses", "factor"),
    [
        (0.5, 0, 0, 0.875),
        (0.0, 0, 0, 0.75),
        (1.0, 0, 0, 0.917),
        (0.5, 0, 10, 0.943),
        (0.5, 24 * 365, 0, 0.75),
        (0.5, WEEK, 0, 0.854),
    ],
)
def test_how_far_importance_time_and_use_move_a_score(
    importance: float, hours: float, uses: int, factor: float
) -> None:
    assert decayed(1.0, relevance(importance, 0.998, hours, uses)) == pytest.approx(factor, abs=0.0005)


def test_between_equal_matches_the_one_used_last_comes_first() -> None:
    rate = DecayConfig().rate(Scope.WORKSPACE)
    assert decayed(3.0, relevance(0.5, rate, 1, 0)) > decayed(3.0, relevance(0.5, rate, 200, 0))


def test_what_matches_a_third_better_stays_before_what_is_newer() -> None:
    dead, lively = relevance(0.5, 0.99, 100_000, 0), relevance(1.0, 0.99, 0, 1_000_000)
    assert decayed(4.0, dead) > decayed(3.0, lively)
