"""Fixed points of linear learning, and the stability analysis."""

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fhtd import oracle, problems
from fhtd.features import Features
from fhtd.mdp import FiniteMDP
from fhtd.weighting import Weighting
from strategies import distributions, feature_matrices, finite_mdps, policies, weightings
from worlds import deterministic_mdp, forever

H = 4
WEIGHTING = Weighting.exponential(H, 0.9)


def possible(mdp: FiniteMDP) -> list[tuple[int, int, int]]:
    """Every outcome (state, action, k)."""
    return list(np.ndindex(*mdp.probabilities.shape))


@given(st.data(), finite_mdps(endings="always possible"), weightings(H))
@settings(deadline=None)
def test_expected_prediction_update_is_zero_at_the_fixed_point(
    data: st.DataObject, mdp: FiniteMDP, weighting: Weighting
) -> None:
    phi = data.draw(feature_matrices(mdp.n_states))
    policy, d = data.draw(policies(mdp)), data.draw(distributions(mdp.n_states))
    weights = oracle.linear_fixed_point(mdp, phi, policy, weighting, d)
    assert weights.shape == (phi.shape[1], H)
    assert weights.dtype == weighting.dtype
    before = np.zeros(phi.shape[1])
    for h in range(H):
        update = np.zeros(phi.shape[1], complex)
        for at in possible(mdp):
            s, a, _ = at
            after = 0 if mdp.terminal[at] else before @ phi[mdp.next_states[at]]
            target = weighting.rewards[h] * mdp.rewards[at] + weighting.bootstraps[h] * after
            chance = d[s] * policy[s, a] * mdp.probabilities[at]
            update += chance * (target - weights[:, h] @ phi[s]) * phi[s]
        assert np.allclose(update, 0, atol=1e-8 * (1 + np.abs(weights).max()))
        before = weights[:, h]


@given(
    st.data(),
    finite_mdps(endings="always possible"),
    weightings(H, allow_complex=False, allow_negative=False),
)
@settings(deadline=None)
def test_expected_control_update_is_zero_at_the_equilibrium(
    data: st.DataObject, mdp: FiniteMDP, weighting: Weighting
) -> None:
    phi = data.draw(feature_matrices(mdp.n_states))
    behaviour = data.draw(policies(mdp, smallest=1))
    weights = oracle.linear_control_fixed_point(mdp, phi, behaviour, weighting)
    assert weights.shape == (mdp.n_actions, phi.shape[1], H)
    d = oracle.stationary_distribution(mdp, behaviour)
    before = np.zeros(weights.shape[:2])
    for h in range(H):
        update = np.zeros_like(before)
        for at in possible(mdp):
            s, a, _ = at
            after = 0.0 if mdp.terminal[at] else max(before @ phi[mdp.next_states[at]])
            target = weighting.rewards[h] * mdp.rewards[at] + weighting.bootstraps[h] * after
            chance = d[s] * behaviour[s, a] * mdp.probabilities[at]
            update[a] += chance * (target - weights[a, :, h] @ phi[s]) * phi[s]
        assert np.allclose(update, 0, atol=1e-8 * (1 + np.abs(weights).max()))
        before = weights[:, :, h]


@given(st.data(), finite_mdps(), weightings(H))
@settings(deadline=None)
def test_one_hot_features_give_the_exact_values(
    data: st.DataObject, mdp: FiniteMDP, weighting: Weighting
) -> None:
    policy, even = data.draw(policies(mdp)), np.full(mdp.n_states, 1 / mdp.n_states)
    table = Features.tabular(mdp.n_states)
    weights = oracle.linear_fixed_point(mdp, table, policy, weighting, even)
    assert np.allclose(weights, oracle.state_values(mdp, policy, weighting))


@given(finite_mdps(), weightings(H, allow_complex=False, allow_negative=False))
@settings(deadline=None)
def test_one_hot_features_give_the_optimal_values(mdp: FiniteMDP, weighting: Weighting) -> None:
    even = np.full(mdp.n_states, 1 / mdp.n_states)
    behaviour = np.full((mdp.n_states, mdp.n_actions), 1 / mdp.n_actions)
    table = Features.tabular(mdp.n_states)
    weights = oracle.linear_control_fixed_point(mdp, table, behaviour, weighting, even)
    best = oracle.optimal(mdp, weighting).action_values
    assert np.allclose(weights, best.transpose(1, 0, 2))


def test_joint_features_generalise_blocks() -> None:
    problem = problems.random_walk(5)
    mdp, phi = problem.mdp, np.random.default_rng(0).normal(size=(7, 3))
    joint = np.zeros((7, 2, 6))
    joint[:, 0, :3], joint[:, 1, 3:] = phi, phi
    blocks = oracle.linear_control_fixed_point(mdp, phi, problem.behaviour, WEIGHTING)
    together = oracle.linear_control_fixed_point(mdp, joint, problem.behaviour, WEIGHTING)
    assert np.allclose(together.reshape(2, 3, H), blocks)


def test_dependent_features_give_the_weights_of_least_norm() -> None:
    mdp = problems.random_walk(3).mdp
    policy = np.full((5, 2), 0.5)
    twice = np.concatenate([np.eye(5), np.eye(5)], axis=1)
    weights = oracle.linear_fixed_point(mdp, twice, policy, WEIGHTING, np.full(5, 0.2))
    values = oracle.state_values(mdp, policy, WEIGHTING)
    # Two equal features share a value equally when the norm is least.
    assert np.allclose(weights, np.concatenate([values, values]) / 2)


def test_fixed_point_depends_on_the_sampling_distribution() -> None:
    problem = problems.random_walk(3)
    policy, one = problem.target, np.ones((5, 1))
    ends = np.array([0, 0.5, 0, 0.5, 0])
    left = np.array([0, 1.0, 0, 0, 0])
    balanced = oracle.linear_fixed_point(problem.mdp, one, policy, WEIGHTING, ends)
    skewed = oracle.linear_fixed_point(problem.mdp, one, policy, WEIGHTING, left)
    assert np.allclose(balanced, 0)
    # All states share one value, w = -1/2 + 0.9 w / 2 in the leftmost.
    expected = [-0.5]
    for _ in range(H - 1):
        expected.append(-0.5 + 0.45 * expected[-1])
    assert np.allclose(skewed[0], expected)


def test_baird_comes_to_rest_at_zero() -> None:
    baird = problems.baird()
    sampled = oracle.stationary_distribution(baird.mdp, baird.behaviour)
    weights = oracle.linear_fixed_point(
        baird.mdp, baird.features, baird.target, Weighting.exponential(100, 0.99), sampled
    )
    assert np.array_equal(weights, np.zeros((8, 100)))


def repeated_updates(
    matrix: npt.NDArray[np.float64], weights: npt.NDArray[np.float64], steps: int
) -> float:
    """The largest weight after steps of w <- w - 0.1 A w."""
    for _ in range(steps):
        weights = weights - 0.1 * matrix @ weights
    return float(np.abs(weights).max())


def baird_stability() -> oracle.Stability:
    baird = problems.baird()
    sampled = oracle.stationary_distribution(baird.mdp, baird.behaviour)
    return oracle.stability(baird.mdp, baird.features, baird.target, sampled, baird.discount)


def test_baird_matrices_are_the_expected_updates() -> None:
    baird, found = problems.baird(), baird_stability()
    phi = baird.features.matrix
    td = sum(np.outer(phi[s], phi[s] - 0.99 * phi[6]) for s in range(7)) / 7
    assert np.allclose(found.td_matrix, td)
    assert np.allclose(found.fhtd_matrix, sum(np.outer(x, x) for x in phi) / 7)


def test_td_is_unstable_on_baird_and_fhtd_is_not() -> None:
    found = baird_stability()
    assert not found.td_is_stable
    assert found.td_eigenvalue < -0.1
    assert found.fhtd_is_stable
    assert found.fhtd_eigenvalue == 0
    assert found.fhtd_moving_eigenvalue > 0.1
    assert found.n_idle == 1
    weights = problems.baird().initial_weights
    assert weights is not None
    assert repeated_updates(found.td_matrix, weights, 1000) > 1e6
    assert repeated_updates(found.fhtd_matrix, weights, 1000) < 10
    assert str(found).startswith("TD is unstable: ")
    assert "FHTD is stable: " in found.summary
    assert "1 of 8 directions" in found.summary


def test_td_is_stable_on_baird_on_policy() -> None:
    baird = problems.baird()
    found = oracle.stability(baird.mdp, baird.features, baird.behaviour, None, 0.99)
    assert found.td_is_stable
    assert found.fhtd_is_stable
    assert found.summary.startswith("TD is stable: ")
    weights = np.array(baird.initial_weights)
    assert repeated_updates(found.td_matrix, weights, 1000) <= 10


@given(st.data(), finite_mdps(), st.floats(0, 0.95))
@settings(deadline=None)
def test_on_policy_sampling_is_always_stable(
    data: st.DataObject, mdp: FiniteMDP, discount: float
) -> None:
    phi, policy = data.draw(feature_matrices(mdp.n_states)), data.draw(policies(mdp))
    found = oracle.stability(mdp, phi, policy, None, discount)
    assert found.td_is_stable
    assert found.fhtd_is_stable


@given(st.data(), finite_mdps())
@settings(deadline=None)
def test_fhtd_is_always_stable(data: st.DataObject, mdp: FiniteMDP) -> None:
    phi, policy = data.draw(feature_matrices(mdp.n_states)), data.draw(policies(mdp))
    sampled = data.draw(distributions(mdp.n_states))
    found = oracle.stability(mdp, phi, policy, sampled, 0.0)
    assert found.fhtd_is_stable
    assert found.td_is_stable
    assert np.allclose(found.td_matrix, found.fhtd_matrix)


def test_without_discount_a_continuing_problem_only_balances() -> None:
    found = oracle.stability(forever(), [[1.0]], [[1.0]], None, 1.0)
    assert found.td_eigenvalue == 0
    assert found.td_is_stable is None
    assert repr(found) == "Stability(TD: undecided, FHTD: stable)"
    assert found.n_idle == 0
    assert "need not settle" in found.summary


@pytest.mark.parametrize("tiny", [1e-3, 1e-11, 1e-16, 1e-30, 1e-300])
@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
def test_states_that_are_hardly_ever_sampled_do_not_unsettle_fhtd(
    tiny: float, scale: float
) -> None:
    there_and_back = deterministic_mdp([[(1, 0.0, False)], [(0, 0.0, False)]])
    features, sampled = scale * np.eye(2), [1 - tiny, tiny]
    found = oracle.stability(there_and_back, features, np.ones((2, 1)), sampled, 0.9)
    assert found.fhtd_is_stable
    assert found.n_idle == 0
    assert found.fhtd_eigenvalue == pytest.approx(scale**2 * tiny, rel=1e-6, abs=1e-16)
    # TD's matrix has the determinant tiny (1 - tiny) (1 - 0.81) > 0 and a positive trace.
    assert found.td_is_stable is (True if tiny > 1e-13 else None)


def test_a_walk_to_the_left_is_stable_on_policy() -> None:
    n = 14
    table = {
        s: {0: [(0.1, min(s + 1, n - 1), 0.0, False), (0.9, max(s - 1, 0), 0.0, False)]}
        for s in range(n)
    }
    mdp = FiniteMDP.from_table(table, np.eye(n)[0])
    found = oracle.stability(mdp, np.eye(n), np.ones((n, 1)), None, 0.9)
    assert repr(found) == "Stability(TD: stable, FHTD: stable)"
    assert 0 < found.td_moving_eigenvalue < found.fhtd_moving_eigenvalue


def test_eigenvalues_that_meet_are_still_decided() -> None:
    # From each state to the next but never sampled alike: A is close to a Jordan block.
    mdp = deterministic_mdp([[(1, 0.0, False)], [(1, 0.0, True)]])
    for discount in (0.9, -3.0, 3.0):
        found = oracle.stability(mdp, np.eye(2), np.ones((2, 1)), [0.5, 0.5], discount)
        assert found.td_is_stable is True
    growing = oracle.stability(forever(), [[1.0]], [[1.0]], None, 1.0 + 1e-9)
    assert growing.td_is_stable is False


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: oracle.linear_fixed_point(forever(), [[1.0], [1.0]], [[1.0]], WEIGHTING),
            "features must have shape",
        ),
        (
            lambda: oracle.linear_fixed_point(forever(), [[1.0]], [[1.0]], WEIGHTING, [0.5]),
            "distribution must sum to 1",
        ),
        (
            lambda: oracle.linear_control_fixed_point(forever(), [[1.0]], [[0.5]], WEIGHTING),
            "behaviour must sum to 1",
        ),
        (
            lambda: oracle.linear_control_fixed_point(
                forever(), [[1.0]], [[1.0]], Weighting.fourier(4, 1)
            ),
            "weighting must be real",
        ),
        (
            lambda: oracle.linear_control_fixed_point(
                forever(), [[1.0]], [[1.0]], Weighting.exponential(4, -0.5)
            ),
            "weighting must have bootstraps of at least 0",
        ),
        (
            lambda: oracle.stability(forever(), [[1.0]], [[1.0]], None, np.inf),
            "discount must be finite",
        ),
    ],
)
def test_bad_input_is_refused_by_name(call: Callable[[], Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call()
