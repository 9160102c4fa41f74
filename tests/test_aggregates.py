"""Interquartile means, probabilities of improvement and their intervals, against SciPy."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from fhtd.comparison.aggregates import (
    difference,
    interquartile_mean,
    interval,
    probability_of_improvement,
)

scores = st.lists(st.lists(st.integers(-50, 50), min_size=1, max_size=12), min_size=1, max_size=4)


@given(scores)
def test_the_interquartile_mean_is_scipys_trimmed_mean(runs: list[list[int]]) -> None:
    arrays = [np.array(one, float) for one in runs]
    expected = stats.trim_mean(np.concatenate(arrays), 0.25)
    assert interquartile_mean(arrays) == pytest.approx(expected)


@given(scores, st.integers(0, 2**32 - 1))
def test_improvement_is_mann_and_whitneys_statistic(runs: list[list[int]], seed: int) -> None:
    ours = [np.array(one, float) for one in runs]
    rng = np.random.default_rng(seed)
    theirs = [rng.integers(-50, 50, size=7).astype(float) for _ in ours]
    shares = [
        stats.mannwhitneyu(mine, other).statistic / (len(mine) * len(other))
        for mine, other in zip(ours, theirs, strict=True)
    ]
    assert probability_of_improvement(ours, theirs) == pytest.approx(np.mean(shares))
    assert probability_of_improvement(theirs, ours) == pytest.approx(1 - np.mean(shares))


def test_an_interval_resamples_within_each_environment() -> None:
    """Runs that are alike in each environment leave no doubt, however the environments differ."""
    found = interval(interquartile_mean, [np.full(6, 1.0), np.full(6, 100.0)])
    assert found.mean == found.low == found.high


def test_an_interval_of_means_agrees_with_scipys() -> None:
    rng = np.random.default_rng(1)
    runs = rng.normal(size=40)
    found = interval(lambda group: float(group[0].mean()), [runs])
    theirs = stats.bootstrap((runs,), np.mean, n_resamples=5_000, method="percentile", rng=2)
    assert found.low == pytest.approx(theirs.confidence_interval.low, abs=0.03)
    assert found.high == pytest.approx(theirs.confidence_interval.high, abs=0.03)


def test_groups_are_drawn_together() -> None:
    """A constant gain over runs that differ wildly is seen."""
    runs = [np.linspace(-100, 100, 8), np.linspace(-50, 50, 8)]
    found = interval(
        lambda ours, theirs: float(np.mean(ours) - np.mean(theirs)), [one + 1 for one in runs], runs
    )
    assert (found.low, found.high) == (pytest.approx(1.0), pytest.approx(1.0))
    with pytest.raises(ValueError, match="equally many runs"):
        interval(difference, runs, [runs[0], runs[1][:5]])


def test_few_runs_have_no_bounds() -> None:
    found = interval(interquartile_mean, [np.arange(9.0), np.arange(4.0)])
    assert (found.low, found.high) == (-np.inf, np.inf)
