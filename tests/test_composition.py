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
    for learner in starts.values():  # which is where simulations begin
        np.testing.assert_array_equal(learner.draw_weights(None), _with_zero(learner.weights))


def _with_zero(weights):
    return np.concatenate([np.zeros((2, 1)), weights], axis=1)


@pytest.mark.parametrize("task", composition.TASKS)
def test_a_run_goes_on_from_what_was_learned_before(task):
    config = Config(runs=2, walk_steps=400, maze_episodes=5)
    found = composition.run(config, 3, Block(task, range(2)))
    assert found["same"].all()
    assert found["anew"].shape == found["extended"].shape
    # What is known is of use from the first point on, and the starts do differ.
    assert found["extended"][:, :2].mean() < found["anew"][:, :2].mean()
    assert not np.array_equal(found["extended"], found["from-zero"])


@pytest.mark.parametrize("task", composition.TASKS)
def test_starts_of_a_run_are_paired(monkeypatch, task):
    """The same learner three times sees the same three times."""
    config = Config(runs=2, walk_steps=100, maze_episodes=3)
    original = composition._starts

    def alike(*given):
        extended = original(*given)["extended"]
        return dict.fromkeys(composition.STARTS, extended)

    monkeypatch.setattr(composition, "_starts", alike)
    found = composition.run(config, 3, Block(task, range(2)))
    for start in composition.STARTS:
        np.testing.assert_array_equal(found[start], found["extended"])
    assert not np.array_equal(found["extended"][0], found["extended"][1])


@pytest.mark.parametrize("task", composition.TASKS)
def test_known_horizons_of_other_weights_are_not_the_same(monkeypatch, task):
    config = Config(runs=2, walk_steps=50, maze_episodes=2)
    original = composition._starts

    def spoiled(make, known, longer, weights):
        return original(make, known, longer, weights + 0.5)

    monkeypatch.setattr(composition, "_starts", spoiled)
    assert not composition.run(config, 3, Block(task, range(2)))["same"].any()


def test_what_comes_after_is_other_experience_than_before(monkeypatch):
    seeds = []
    simulate = composition.simulate

    def noted(*given, **options):
        seeds.append(options["seed"])
        return simulate(*given, **options)

    monkeypatch.setattr(composition, "simulate", noted)
    composition.run(Config(runs=1, walk_steps=50), 3, Block("walk", range(1)))
    before, *after = seeds
    assert before == 3
    assert len(set(after)) == 1
    assert before not in after


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
