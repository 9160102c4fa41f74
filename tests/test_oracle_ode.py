"""The mean path of FHQ-learning, and the bound of Proposition 1, against plain loops."""

import numpy as np
import pytest

from fhtd import FHQ, Features, Weighting, oracle
from fhtd.experiments import convergence

WEIGHTING = Weighting(rewards=[1.0, 0.8, 0.5], bootstraps=[1.0, 0.9, 0.7])


@pytest.fixture
def world():
    return convergence.world(convergence.Config(n_states=4, n_features=2), 5, 0)


def expected_change(mdp, features, behaviour, weights):
    """E[delta phi] by hand: a step of size 1 from every state and action, weighed by its chance."""
    at = oracle.stationary_distribution(mdp, behaviour)
    total = np.zeros_like(weights)
    for s in range(mdp.n_states):
        for a in range(mdp.n_actions):
            for k in range(mdp.rewards.shape[2]):
                agent = FHQ(features, mdp.n_actions, WEIGHTING, step_size=1.0, initial=weights)
                agent.update(s, a, mdp.rewards[s, a, k], mdp.next_states[s, a, k])
                chance = at[s] * behaviour[s, a] * mdp.probabilities[s, a, k]
                total += chance * (agent.weights - weights)
    return total


def test_the_path_sets_out_as_the_mean_update_does(world):
    weights = np.random.default_rng(1).normal(size=(3, 2, 3))
    brief = 1e-5
    (after,) = oracle.mean_path(*world, WEIGHTING, [brief], initial=weights)
    np.testing.assert_allclose(
        (after - weights) / brief, expected_change(*world, weights), rtol=1e-3, atol=1e-4
    )


def test_the_path_ends_at_the_equilibrium(world):
    path = oracle.mean_path(*world, WEIGHTING, [0.0, 5_000.0], initial=1.0)
    assert np.all(path[0] == 1.0)
    exact = oracle.linear_control_fixed_point(*world, WEIGHTING)
    np.testing.assert_allclose(path[1], exact, atol=1e-6)


def test_the_first_horizon_decays_as_an_exponential(world):
    mdp, features, behaviour = world
    mu = oracle.stationary_distribution(mdp, behaviour)[:, None] * behaviour
    times = np.array([0.5, 2.0, 9.0])
    path = oracle.mean_path(*world, WEIGHTING, times, accuracy=0.01)
    exact = oracle.linear_control_fixed_point(*world, WEIGHTING)
    for a in range(mdp.n_actions):
        rates, modes = np.linalg.eigh((features.matrix.T * mu[:, a]) @ features.matrix)
        for t, found in zip(times, path[:, a, :, 0], strict=True):
            left = modes @ (np.exp(-rates * t) * (modes.T @ exact[a, :, 0]))
            np.testing.assert_allclose(found, exact[a, :, 0] - left, atol=1e-5)


def test_both_sides_of_the_bound_are_those_of_plain_loops(world):
    mdp, features, behaviour = world
    weights = np.random.default_rng(2).normal(size=(3, 2, 3))
    left, right = oracle.ode_bound(*world, WEIGHTING, weights)
    exact = oracle.linear_control_fixed_point(*world, WEIGHTING)
    at = oracle.stationary_distribution(mdp, behaviour)

    def value(w, s, a, h):
        return float(w[a, :, h] @ features.matrix[s])

    for h in range(2):
        near = far = 0.0
        for s in range(4):
            for a in range(3):
                chance = at[s] * behaviour[s, a]
                far += chance * (value(weights, s, a, h + 1) - value(exact, s, a, h + 1)) ** 2
                for k in range(4):
                    after = mdp.next_states[s, a, k]
                    best, best_e = (
                        max(value(w, after, b, h) for b in range(3)) for w in (weights, exact)
                    )
                    near += chance * mdp.probabilities[s, a, k] * (best - best_e) ** 2
        np.testing.assert_allclose(left[h], WEIGHTING.bootstraps[h + 1] ** 2 * near)
        np.testing.assert_allclose(right[h], far)


def test_no_world_meets_the_bound_for_all_weights(world):
    weights = oracle.linear_control_fixed_point(*world, WEIGHTING)
    weights[:, :, 0] += 1.0
    left, right = oracle.ode_bound(*world, WEIGHTING, weights)
    assert left[0] > 0
    assert right[0] == 0


@pytest.mark.parametrize("times", [[], [-1.0], [1.0, 1.0], [2.0, 1.0], [np.nan]])
def test_times_must_ascend(world, times):
    with pytest.raises(ValueError, match=r"^times"):
        oracle.mean_path(*world, WEIGHTING, times)


def test_features_of_another_mdp_are_refused(world):
    mdp, _, behaviour = world
    with pytest.raises(ValueError, match="features"):
        oracle.ode_bound(mdp, Features.tabular(9), behaviour, WEIGHTING, np.zeros((3, 9, 3)))
