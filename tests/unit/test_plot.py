"""Pictures in a terminal."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from recollect.cli.plot import bars, drawn, resampled


def test_columns_are_as_high_as_their_values() -> None:
    assert drawn([0, 1, 2, 4], "four days") == [
        "  4 │   █",
        "    │   █",
        "    │   █",
        "    │  ██",
        "    │ ▄██",
        "  0 │ ███",
        "    └────",
        "     four days",
    ]


def test_nothing_is_a_flat_line() -> None:
    assert drawn([0, 0], "two days")[0] == "  0 │"
    assert drawn([], "no days")[-1] == "     no days"


def test_bars_are_as_long_as_their_counts() -> None:
    assert bars([("notes", 30), ("chunks", 15), ("none", 0)]) == [
        "  notes   30  " + "█" * 30,
        "  chunks  15  " + "█" * 15,
        "  none     0",
    ]


def test_wide_letters_take_two_cells() -> None:
    assert bars([("日本", 1), ("rest", 2)]) == ["  日本  1  " + "█" * 15, "  rest  2  " + "█" * 30]


def test_a_curve_is_straight_between_its_points_and_steps_where_two_share_a_moment() -> None:
    curve = [(0, 1.0), (10, 0.5), (10, 0.9), (20, 0.7)]
    assert [round(value, 9) for _, value in resampled(curve, 5)] == [1.0, 0.75, 0.9, 0.8, 0.7]


@given(st.lists(st.tuples(st.integers(0, 10**12), st.floats(0, 1)), min_size=1, max_size=20), st.integers(1, 80))
def test_resampling_stays_within_the_curve(points: list[tuple[int, float]], number: int) -> None:
    curve = sorted(points)
    made = resampled(curve, number)
    low, high = min(value for _, value in curve), max(value for _, value in curve)
    assert len(made) == number
    assert all(low - 1e-9 <= value <= high + 1e-9 for _, value in made)
    assert len(drawn([value for _, value in made], "x")) == 8
