"""Longer horizons over known ones, and when values in Baird's counterexample have settled."""

import numpy as np
import pytest

from fhtd import FHTD, Features, Weighting
from fhtd.experiments import baird, composition
from fhtd.experiments.composition import Config
from fhtd.reproduction import Block


def test_each_start_is_what_its_name_says():
    weights = np.arange(1.0, 7.0).reshape(2, 3)

    def make(horizon, initial):
        return FHTD(Features.tabular(2), Weighting.exponential(horizon), initial=initial)

    starts = composition._starts(make, 3, 5, weights)
    assert list(starts) == list(composition.STARTS)
    assert not starts["anew"].weights.any()
    np.testing.assert_array_equal(starts["from-zero"].weights[:, :3], weights)
    assert not starts["from-zero"].weights[:, 3:].any()
    np.testing.assert_array_equal(starts["extended"].weights[:, :3], weights)
    np.testing.assert_array_equal(starts["extended"].weights[:, 3:], weights[:, [2, 2]])


@pytest.mark.parametrize("task", composition.TASKS)
def test_a_run_goes_on_from_what_was_learned_before(task):
    config = Config(runs=2, walk_steps=400, maze_episodes=5)
    found = composition.run(config, 3, Block(task, range(2)))
    assert found["same"].all()
    assert found["anew"].shape == found["extended"].shape
    # What is known is of use from the first point on, and the starts do differ.
    assert found["extended"][:, :2].mean() < found["anew"][:, :2].mean()
    assert not np.array_equal(found["extended"], found["from-zero"])


def test_the_known_horizons_are_those_of_the_run(monkeypatch):
    """A learner that is compared with one of other weights is not the same."""
    config = Config(runs=2, walk_steps=50)
    extend = FHTD.extend

    def spoiled(self, horizon, initial=None):
        return extend(FHTD(self.features, self.weighting, initial=0.5), horizon, initial)

    monkeypatch.setattr(FHTD, "extend", spoiled)
    assert not composition.run(config, 3, Block("walk", range(2)))["same"].any()


def test_values_have_settled_where_they_stay_small():
    errors = np.array(
        [
            [9.0, 0.1, 9.0, 0.1, 0.1],  # leaves once more
            [0.1, 0.1, 0.1, 0.1, 0.1],
            [9.0, 9.0, 9.0, 9.0, 9.0],
            [9.0, np.inf, np.nan, np.nan, np.nan],
            [9.0, 9.0, 9.0, 9.0, 0.1],
        ]
    )
    found = baird._settled_at(errors, 1.0, np.array([1, 2, 4, 8, 16]))
    assert found.tolist() == [8.0, 1.0, np.inf, np.inf, 16.0]
