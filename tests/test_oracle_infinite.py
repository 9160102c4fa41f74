"""Exact infinite-horizon values, episode lengths and distributions of states."""

import itertools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fhtd import oracle, problems
from fhtd.mdp import FiniteMDP
from fhtd.weighting import Weighting
from strategies import finite_mdps, policies
from worlds import deterministic_mdp, forever, trap, wrong


def test_constant_reward_closed_forms() -> None:
    assert oracle.infinite_state_values(forever(), [[1.0]], 0.9)[0] == pytest.approx(10)
    turning = oracle.infinite_state_values(forever(), [[1.0]], 0.5j)
    assert turning[0] == pytest.approx(1 / (1 - 0.5j))
    assert oracle.infinite_state_values(forever(), [[1.0]], 0.0)[0] == 1.0


@given(st.data(), finite_mdps(), st.floats(0, 0.95))
@settings(deadline=None)
def test_distance_to_the_infinite_horizon_is_bounded(
    data: st.DataObject, mdp: FiniteMDP, discount: float
) -> None:
    policy = data.draw(policies(mdp))
    v = oracle.infinite_state_values(mdp, policy, discount)[:, None]
    v_h = oracle.state_values(mdp, policy, Weighting.exponential(30, discount))
    bound = discount ** np.arange(1, 31) * np.abs(mdp.rewards).max() / (1 - discount)
    assert np.all(np.abs(v_h - v) <= bound + 1e-9)


@given(finite_mdps(3, 2, 2), st.floats(0, 0.95))
@settings(max_examples=40, deadline=None)
def test_infinite_optimum_is_the_best_of_all_deterministic_policies(
    mdp: FiniteMDP, discount: float
) -> None:
    best = oracle.infinite_optimal(mdp, discount)
    plans = itertools.product(range(mdp.n_actions), repeat=mdp.n_states)
    rows = [
        oracle.infinite_state_values(mdp, np.eye(mdp.n_actions)[list(plan)], discount)
        for plan in plans
    ]
    assert np.allclose(best.state_values, np.max(rows, axis=0))
    assert np.allclose(oracle.infinite_state_values(mdp, best.policy, discount), best.state_values)


@given(finite_mdps(endings="always possible"))
@settings(max_examples=40, deadline=None)
def test_long_horizons_approach_the_undiscounted_optimum(mdp: FiniteMDP) -> None:
    best = oracle.infinite_optimal(mdp, 1.0)
    long = oracle.optimal(mdp, Weighting.exponential(400))
    assert np.allclose(best.action_values, long.action_values[:, :, -1])
    assert np.allclose(best.state_values, long.state_values[:, -1])


def test_undiscounted_optimum_ends_its_episodes() -> None:
    # Waiting is free and leaving costs 1, yet a policy that waits for ever never ends.
    waiting = deterministic_mdp([[(0, 0.0, False), (1, -1.0, True)], [(1, 0.0, True)] * 2])
    best = oracle.infinite_optimal(waiting, 1.0)
    assert best.state_values.tolist() == [-1.0, 0.0]
    assert best.greedy[0].tolist() == [True, True]


def test_endless_reward_is_refused() -> None:
    endless = deterministic_mdp([[(0, 1.0, False), (1, 0.0, True)], [(1, 0.0, True)] * 2])
    with pytest.raises(ValueError, match="collect reward for ever from state 0"):
        oracle.infinite_optimal(endless, 1.0)
    assert oracle.infinite_optimal(endless, 0.5).state_values[0] == pytest.approx(2)


def test_states_that_never_end_are_named() -> None:
    policy = np.ones((5, 1))
    with pytest.raises(ValueError, match=r"discount must be below 1.*none ends from states 1, 2"):
        oracle.infinite_state_values(trap(start=0), policy, 1.0)
    with pytest.raises(ValueError, match="none ends from states 1, 2"):
        oracle.infinite_optimal(trap(start=0), 1.0)
    beside = oracle.infinite_state_values(trap(start=4), policy, 1.0)
    assert np.isnan(beside).tolist() == [True, True, True, False, False]
    assert beside[4] == 5.0
    best = oracle.infinite_optimal(trap(start=4), 1.0)
    assert best.state_values[4] == 5.0
    assert math.isnan(best.state_values[0])
    assert np.allclose(oracle.infinite_state_values(trap(start=0), policy, 0.5)[1], 2)


@pytest.mark.parametrize("name", ["baird", "random-grid"])
def test_continuing_problems_need_a_discount(name: str) -> None:
    problem = problems.PROBLEMS[name]()
    with pytest.raises(ValueError, match="discount must be below 1 in magnitude"):
        oracle.infinite_state_values(problem.mdp, problem.target, 1.0)


def test_episode_lengths_in_closed_form() -> None:
    walk = problems.random_walk().mdp
    even = np.full((21, 2), 0.5)
    s = np.arange(21)
    assert np.allclose(oracle.episode_length(walk, even)[1:20], (s * (20 - s))[1:20])
    assert oracle.mean_episode_length(walk, even) == pytest.approx(100)
    coin = FiniteMDP.from_table({0: {0: [(0.2, 0, 0.0, True), (0.8, 0, 0.0, False)]}}, [1.0])
    assert oracle.mean_episode_length(coin, [[1.0]]) == pytest.approx(5)


def test_episodes_that_may_never_end_are_infinitely_long() -> None:
    lengths = oracle.episode_length(trap(start=4), np.ones((5, 1)))
    assert lengths.tolist() == [math.inf, math.inf, math.inf, 1.0, 1.0]
    assert oracle.mean_episode_length(trap(start=4), np.ones((5, 1))) == 1.0
    assert oracle.mean_episode_length(trap(start=0), np.ones((5, 1))) == math.inf


def test_a_terminal_state_may_loop_without_ending() -> None:
    # Some tables close an episode's last state by a loop that does not say that it ends.
    mdp = deterministic_mdp([[(1, 1.0, True)], [(1, 0.0, False)]])
    assert oracle.episode_length(mdp, np.ones((2, 1))).tolist() == [1.0, math.inf]
    values = oracle.infinite_state_values(mdp, np.ones((2, 1)), 1.0)
    np.testing.assert_array_equal(values, [1.0, math.nan])


def simulate(mdp: FiniteMDP, policy: Any, steps: int, seed: int) -> tuple[Any, list[int]]:
    """How often each state was left, and how long episodes were."""
    rng = np.random.default_rng(seed)
    visits, lengths, length = np.zeros(mdp.n_states), [], 0
    state = rng.choice(mdp.n_states, p=mdp.start)
    for _ in range(steps):
        visits[state] += 1
        length += 1
        action = rng.choice(mdp.n_actions, p=policy[state])
        k = rng.choice(mdp.probabilities.shape[2], p=mdp.probabilities[state, action])
        ended = mdp.terminal[state, action, k]
        state = mdp.next_states[state, action, k]
        if ended:
            lengths.append(length)
            length, state = 0, rng.choice(mdp.n_states, p=mdp.start)
    return visits / steps, lengths


def test_simulation_agrees_on_lengths_and_distribution() -> None:
    problem = problems.checkered_grid()
    visits, lengths = simulate(problem.mdp, problem.behaviour, 40_000, seed=1)
    exact = oracle.mean_episode_length(problem.mdp, problem.behaviour)
    error = np.std(lengths) / math.sqrt(len(lengths))
    assert abs(np.mean(lengths) - exact) < 5 * error < 0.2 * exact
    distribution = oracle.stationary_distribution(problem.mdp, problem.behaviour)
    assert np.abs(visits - distribution).max() < 0.01
    assert np.all(distribution[problem.mdp.terminal_states] == 0)


def test_stationary_distribution_in_closed_form() -> None:
    # Restarting in the middle: visits to each state are those of the walk's Green function.
    walk = problems.random_walk().mdp
    s = np.arange(21)
    expected = np.minimum(s, 20 - s) / 100
    assert np.allclose(oracle.stationary_distribution(walk, np.full((21, 2), 0.5)), expected)
    # Leaving state 0 with probability 0.1 and state 1 with 0.3.
    table = {
        0: {0: [(0.9, 0, 0.0, False), (0.1, 1, 0.0, False)]},
        1: {0: [(0.7, 1, 0.0, False), (0.3, 0, 0.0, False)]},
    }
    pair = FiniteMDP.from_table(table, [1.0, 0.0])
    assert np.allclose(oracle.stationary_distribution(pair, np.ones((2, 1))), [0.75, 0.25])


def test_separate_parts_count_by_the_chance_of_settling_there() -> None:
    # From 0: a quarter to the absorbing 1, the rest to the cycle of 2 and 3.
    table = {
        0: {0: [(0.25, 1, 0.0, False), (0.75, 2, 0.0, False)]},
        1: {0: [(1.0, 1, 0.0, False)]},
        2: {0: [(1.0, 3, 0.0, False)]},
        3: {0: [(1.0, 2, 0.0, False)]},
    }
    policy = np.ones((4, 1))
    from_zero = oracle.stationary_distribution(FiniteMDP.from_table(table, [1, 0, 0, 0]), policy)
    assert np.allclose(from_zero, [0, 0.25, 0.375, 0.375])
    mixed = oracle.stationary_distribution(FiniteMDP.from_table(table, [0, 0.5, 0.5, 0]), policy)
    assert np.allclose(mixed, [0, 0.5, 0.25, 0.25])


@given(st.data(), finite_mdps())
@settings(deadline=None)
def test_stationary_distribution_is_left_as_it_is_by_a_step(
    data: st.DataObject, mdp: FiniteMDP
) -> None:
    policy = data.draw(policies(mdp))
    d = oracle.stationary_distribution(mdp, policy)
    after = np.zeros(mdp.n_states)
    for state, action, k in np.ndindex(mdp.probabilities.shape):
        at = state, action, k
        flow = d[state] * policy[state, action] * mdp.probabilities[at]
        if mdp.terminal[at]:
            after += flow * mdp.start
        else:
            after[mdp.next_states[at]] += flow
    assert d.sum() == pytest.approx(1)
    assert np.all(d >= 0)
    assert np.allclose(after, d)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (
            lambda: oracle.infinite_state_values(forever(), [[1.0]], 1.5),
            ValueError,
            "discount must be at most 1",
        ),
        (
            lambda: oracle.infinite_state_values(forever(), [[1.0]], wrong("1")),
            TypeError,
            "discount must be a real or complex",
        ),
        (lambda: oracle.infinite_optimal(forever(), -0.5), ValueError, "discount must be finite"),
        (
            lambda: oracle.infinite_optimal(forever(), wrong(1j)),
            TypeError,
            "discount must be a real",
        ),
    ],
)
def test_bad_input_is_refused_by_name(
    call: Callable[[], Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        call()
