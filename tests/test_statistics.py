"""Means, standard errors and intervals against SciPy, NumPy and simulation."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import special, stats

from fhtd.statistics import (
    Interval,
    Statistics,
    incomplete_beta,
    student_bound,
    student_quantile,
)

numbers = st.floats(-1e6, 1e6)


@given(
    runs=st.lists(st.tuples(numbers, numbers), min_size=2, max_size=30),
    cuts=st.sets(st.integers(1, 29)),
    is_complex=st.booleans(),
)
def test_merged_blocks_equal_the_whole(
    runs: list[tuple[float, float]], cuts: set[int], is_complex: bool
) -> None:
    samples = np.array(runs) * ([1, 1j] if is_complex else [1, 1])
    first, *rest = np.split(samples, sorted(cut for cut in cuts if cut < len(runs)))
    merged = Statistics.of(first)
    for block in rest:
        merged = merged.merge(Statistics.of(block))

    assert merged.count == len(runs)
    np.testing.assert_allclose(merged.mean, samples.mean(axis=0), rtol=1e-9, atol=1e-6)
    size = np.abs(samples).max() + 1e-300
    expected = np.std(samples, axis=0, ddof=1) / np.sqrt(len(runs))
    np.testing.assert_allclose(merged.standard_error / size, expected / size, rtol=1e-9, atol=1e-8)


def test_a_large_offset_does_not_drown_the_spread() -> None:
    """The sum of squares less the square of the sum would lose every digit here."""
    samples = 1e9 + np.array([1.0, 2.0, 3.0, 4.0])
    merged = Statistics.of(samples[:1]).merge(Statistics.of(samples[1:]))
    np.testing.assert_allclose(merged.deviation, np.std([1, 2, 3, 4], ddof=1), rtol=1e-12)


def test_merging_with_no_runs_changes_nothing() -> None:
    none = Statistics(0, np.zeros(2), np.zeros(2))
    some = Statistics.of([[1.0, 2.0], [5.0, 6.0]])
    for merged in (none.merge(some), some.merge(none)):
        assert merged.count == 2
        np.testing.assert_array_equal(merged.mean, [3, 4])
        np.testing.assert_array_equal(merged.squares, [8, 8])


@pytest.mark.parametrize("freedom", [1, 2, 3, 4, 5, 7, 10, 19, 30, 99, 999, 9999])
def test_quantile_is_students(freedom: int) -> None:
    assert student_quantile(freedom) == pytest.approx(stats.t.ppf(0.975, freedom), rel=1e-9)


@pytest.mark.parametrize("count", [2, 3, 8, 100])
def test_interval_is_scipys(count: int) -> None:
    samples = np.random.default_rng(count).normal(3, 2, size=count)
    low, high = stats.t.interval(0.95, count - 1, samples.mean(), stats.sem(samples))
    found = Interval.of(samples)
    assert found.mean == pytest.approx(samples.mean())
    assert (found.low, found.high) == pytest.approx((low, high), rel=2e-3)


@pytest.mark.parametrize("count", [3, 10])
def test_interval_covers_the_truth_in_95_of_100_cases(count: int) -> None:
    """With the normal's 1.96 instead of Student's t, 3 runs would cover 81% and 10 runs 92%."""
    rng = np.random.default_rng(0)
    trials = [Interval.of(rng.normal(1.0, 1.0, size=count)) for _ in range(5000)]
    coverage = np.mean([trial.low < 1 < trial.high for trial in trials])
    assert coverage == pytest.approx(0.95, abs=0.01)


def test_a_single_run_has_no_bounds() -> None:
    assert np.isnan(Statistics.of([3.0]).standard_error)
    assert Interval.of([3.0]) == Interval(3.0, -np.inf, np.inf)


def test_interval_reads_well() -> None:
    assert str(Interval(0.123456, -1.0, 1234.5678)) == "0.1235 [-1, 1235]"


@pytest.mark.parametrize(("hits", "runs"), [(0, 1), (1, 1), (0, 10), (10, 10), (7, 8), (999, 1000)])
def test_interval_of_a_share_is_clopper_and_pearsons(hits: int, runs: int) -> None:
    found = Interval.share(np.arange(runs) < hits)
    expected = stats.binomtest(hits, runs).proportion_ci(0.95, "exact")
    assert found.mean == hits / runs
    assert (found.low, found.high) == pytest.approx((expected.low, expected.high), abs=1e-12)


@given(a=st.floats(0.5, 500), b=st.floats(0.5, 500), x=st.floats(0, 1))
def test_incomplete_beta_is_scipys(a: float, b: float, x: float) -> None:
    assert incomplete_beta(a, b, x) == pytest.approx(special.betainc(a, b, x), abs=1e-11)


@pytest.mark.parametrize("freedom", [1, 3, 19, 200])
@pytest.mark.parametrize("tail", [0.025, 1e-4, 1e-8])
def test_far_tails_are_students(freedom: int, tail: float) -> None:
    assert student_bound(freedom, tail) == pytest.approx(stats.t.isf(tail, freedom), rel=1e-9)


def test_a_few_equal_values_have_no_bounds() -> None:
    assert Interval.of([2.0] * 4) == Interval(2.0, -np.inf, np.inf)
    assert Interval.of([2.0] * 5) == Interval(2.0, 2.0, 2.0)
