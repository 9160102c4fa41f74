"""Exact fixed-horizon values against closed forms and enumerated trajectories."""

import ast
import itertools
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fhtd import oracle, problems
from fhtd.mdp import FiniteMDP
from fhtd.weighting import Weighting
from strategies import finite_mdps, policies, weightings
from worlds import deterministic_mdp, forever

Floats = npt.NDArray[np.float64]
Choice = Callable[[int, int], Floats]


def trajectories(
    mdp: FiniteMDP, choose: Choice, state: int, steps: int, step: int = 0
) -> Iterator[tuple[float, list[float]]]:
    """Every course of `steps` steps, with its probability and its rewards (fewer if it ends)."""
    if step == steps:
        yield 1.0, []
        return
    for action, chosen in enumerate(choose(step, state)):
        for k, p in enumerate(mdp.probabilities[state, action]):
            if chosen * p == 0:
                continue
            at = state, action, k
            reward = float(mdp.rewards[at])
            if mdp.terminal[at]:
                yield chosen * p, [reward]
                continue
            rest = trajectories(mdp, choose, int(mdp.next_states[at]), steps, step + 1)
            for q, rewards in rest:
                yield chosen * p * q, [reward, *rewards]


def enumerated(mdp: FiniteMDP, choose: Choice, state: int, steps: int, weights: Any) -> complex:
    """Expected weighted sum of rewards, trajectory by trajectory."""
    total = 0j
    for p, rewards in trajectories(mdp, choose, state, steps):
        total += p * sum(w * r for w, r in zip(weights, rewards, strict=False))
    return total


def stationary(policy: Floats) -> Choice:
    return lambda step, state: policy[state]


H = 3
DISCOUNT = st.floats(-1.5, 1.5, width=16)


@st.composite
def weighted(draw: st.DrawFn) -> tuple[Weighting, Callable[[int, int], complex]]:
    """A named weighting, and the weight of reward k in horizon h from its definition."""
    gamma, kind = draw(DISCOUNT), draw(st.integers(0, 4))
    if kind == 0:
        return Weighting.exponential(H, gamma), lambda h, k: gamma**k
    if kind == 1:
        return Weighting.average(H), lambda h, k: 1 / h
    if kind == 2:
        w = [draw(DISCOUNT) for _ in range(H)]
        return Weighting.from_weights(w), lambda h, k: w[H - h + k]
    if kind == 3:
        rate = abs(gamma)
        return Weighting.hyperbolic(H, rate), lambda h, k: 1 / (1 + rate * (H - h + k))
    turn = gamma * np.exp(-2j * np.pi / H)
    return Weighting.fourier(H, 1, gamma), lambda h, k: turn**k


@settings(max_examples=40, deadline=None)
@given(st.data(), finite_mdps(3, 2, 2), weighted())
def test_values_are_those_of_all_trajectories(
    data: st.DataObject,
    mdp: FiniteMDP,
    case: tuple[Weighting, Callable[[int, int], complex]],
) -> None:
    policy = data.draw(policies(mdp))
    weighting, weight = case
    v = oracle.state_values(mdp, policy, weighting)
    q = oracle.action_values(mdp, policy, weighting)
    assert v.shape == (mdp.n_states, H)
    assert q.shape == (mdp.n_states, mdp.n_actions, H)
    assert v.dtype == weighting.dtype
    for state, h in itertools.product(range(mdp.n_states), range(1, H + 1)):
        weights = [weight(h, k) for k in range(h)]
        expected = enumerated(mdp, stationary(policy), state, h, weights)
        assert v[state, h - 1] == pytest.approx(expected, abs=1e-9)
        for action in range(mdp.n_actions):
            first = np.eye(mdp.n_actions)[action]

            def choose(step: int, s: int, first: Floats = first) -> Floats:
                return first if step == 0 else policy[s]

            expected = enumerated(mdp, choose, state, h, weights)
            assert q[state, action, h - 1] == pytest.approx(expected, abs=1e-9)


@settings(max_examples=40, deadline=None)
@given(st.data(), finite_mdps(3, 2, 2))
def test_expected_rewards_are_those_of_all_trajectories(
    data: st.DataObject, mdp: FiniteMDP
) -> None:
    policy = data.draw(policies(mdp))
    rewards = oracle.expected_rewards(mdp, policy, H)
    for state, k in itertools.product(range(mdp.n_states), range(H)):
        unit = [float(i == k) for i in range(H)]
        expected = enumerated(mdp, stationary(policy), state, H, unit)
        assert rewards[state, k] == pytest.approx(expected, abs=1e-9)


@settings(max_examples=25, deadline=None)
@given(finite_mdps(2, 2, 2), weightings(H, allow_complex=False, allow_negative=False))
def test_optimal_is_the_best_of_all_time_dependent_policies(
    mdp: FiniteMDP, weighting: Weighting
) -> None:
    best = oracle.optimal(mdp, weighting)
    table = weighting.coefficients()
    plans = itertools.product(range(mdp.n_actions), repeat=H * mdp.n_states)
    values = []
    for plan in plans:
        actions = np.eye(mdp.n_actions)[np.reshape(plan, (H, mdp.n_states))]

        def choose(step: int, s: int, actions: Floats = actions) -> Floats:
            row: Floats = actions[step, s]
            return row

        values.append([enumerated(mdp, choose, s, H, table[H - 1]) for s in range(mdp.n_states)])
    assert np.allclose(best.state_values[:, H - 1], np.max(values, axis=0))


@given(st.data(), finite_mdps(), st.integers(1, 12))
@settings(deadline=None)
def test_fourier_weightings_transform_the_expected_rewards(
    data: st.DataObject, mdp: FiniteMDP, horizon: int
) -> None:
    policy = data.draw(policies(mdp))
    spectrum = np.fft.fft(oracle.expected_rewards(mdp, policy, horizon), axis=1)
    for frequency in range(horizon):
        values = oracle.state_values(mdp, policy, Weighting.fourier(horizon, frequency))
        assert np.allclose(values[:, -1], spectrum[:, frequency])


@given(st.data(), finite_mdps())
@settings(deadline=None)
def test_subtracting_horizons_gives_single_rewards(data: st.DataObject, mdp: FiniteMDP) -> None:
    policy = data.draw(policies(mdp))
    exact = oracle.expected_rewards(mdp, policy, 6)
    for weighting in (
        Weighting.exponential(6, 0.8),
        Weighting.average(6),
        Weighting.hyperbolic(6),
        Weighting.reward_scaled(6, 0.9),
        Weighting.fourier(6, 1),
    ):
        values = oracle.state_values(mdp, policy, weighting)
        assert np.allclose(weighting.expected_rewards(values), exact)


def test_constant_reward_closed_forms() -> None:
    policy, h = [[1.0]], np.arange(1, 21)
    values = {
        "sum": oracle.state_values(forever(), policy, Weighting.exponential(20)),
        "discounted": oracle.state_values(forever(), policy, Weighting.exponential(20, 0.9)),
        "average": oracle.state_values(forever(), policy, Weighting.average(20)),
    }
    assert np.allclose(values["sum"], h)
    assert np.allclose(values["discounted"], (1 - 0.9**h) / (1 - 0.9))
    assert np.allclose(values["average"], 1)


def test_fourier_of_a_cycle_peaks_at_its_frequency() -> None:
    rewards = [1.0, 0.0, 0.0, 0.0]
    cycle = deterministic_mdp([[((s + 1) % 4, r, False)] for s, r in enumerate(rewards)])
    for frequency in range(8):
        weighting = Weighting.fourier(8, frequency)
        value = oracle.state_values(cycle, np.ones((4, 1)), weighting)[0, -1]
        assert value == pytest.approx(2.0 if frequency % 2 == 0 else 0.0)


def test_dropping_the_terminal_mask_changes_the_values() -> None:
    walk = problems.random_walk().mdp
    # A terminal cell that is left again: what a bootstrap across the boundary would see.
    following = walk.next_states.copy()
    following[0], following[20] = 1, 19
    back, unmasked = (
        FiniteMDP(walk.probabilities, following, walk.rewards, ends, walk.start)
        for ends in (walk.terminal, np.zeros_like(walk.terminal))
    )
    policy, weighting = np.full((21, 2), 0.5), Weighting.exponential(50)
    right = oracle.state_values(back, policy, weighting)[1:20]
    assert np.allclose(right, oracle.state_values(walk, policy, weighting)[1:20])
    wrong = oracle.state_values(unmasked, policy, weighting)[1:20]
    assert np.abs(right - wrong).max() > 0.1


@pytest.mark.parametrize("start", [[1.0, 0.0, 0.0], [0.5, 0.5, 0.0], [0.0, 0.0, 1.0]])
def test_what_a_state_is_worth_does_not_depend_on_where_episodes_start(start: list[float]) -> None:
    """Endings are outcomes: state 1, which ends episodes of state 0, has a row of its own."""
    rows = [[(1, 1.0, True)], [(2, 5.0, False)], [(1, 7.0, True)]]
    mdp = deterministic_mdp(rows, start)
    weighting, policy = Weighting.exponential(3), np.ones((3, 1))
    expected = [[1.0, 1.0, 1.0], [5.0, 12.0, 12.0], [7.0, 7.0, 7.0]]
    assert oracle.state_values(mdp, policy, weighting).tolist() == expected
    assert oracle.action_values(mdp, policy, weighting)[:, 0].tolist() == expected
    assert oracle.optimal(mdp, weighting).state_values.tolist() == expected
    assert oracle.infinite_state_values(mdp, policy, 1.0).tolist() == [1.0, 12.0, 7.0]
    assert oracle.infinite_optimal(mdp, 1.0).state_values.tolist() == [1.0, 12.0, 7.0]
    assert oracle.episode_length(mdp, policy).tolist() == [1.0, 2.0, 1.0]


def test_taxi_is_worth_what_plain_dynamic_programming_says() -> None:
    mdp = FiniteMDP.from_gymnasium("Taxi-v4")
    q = np.zeros((500, 6))
    for _ in range(5):
        ahead = np.where(mdp.terminal, 0.0, 0.9 * q.max(axis=1)[mdp.next_states])
        q = (mdp.probabilities * (mdp.rewards + ahead)).sum(axis=2)
    best = oracle.optimal(mdp, Weighting.exponential(5, 0.9)).action_values[:, :, -1]
    np.testing.assert_allclose(best, q)


def test_each_horizon_has_its_own_greedy_actions() -> None:
    # Action 0 pays 1 at once; action 1 pays nothing, and then 3, or 1 in the variant.
    def fork(later: float) -> FiniteMDP:
        first = [(2, 1.0, True), (1, 0.0, False)]
        return deterministic_mdp([first, [(2, later, True)] * 2, [(2, 0.0, True)] * 2])

    weighting = Weighting.exponential(3)
    best = oracle.optimal(fork(3.0), weighting)
    assert best.greedy[0].T.tolist() == [[True, False], [False, True], [False, True]]
    assert best.state_values[0].tolist() == [1.0, 3.0, 3.0]
    tied = oracle.optimal(fork(1.0), weighting)
    assert tied.greedy[0].T.tolist() == [[True, False], [True, True], [True, True]]
    assert tied.policy[0, :, 2].tolist() == [0.5, 0.5]


@pytest.mark.parametrize("scale", [1e-9, 1 / 3, 1e9])
def test_ties_do_not_depend_on_the_unit_of_reward(scale: float) -> None:
    mdp = problems.random_grid(seed=2).mdp
    scaled = FiniteMDP(
        mdp.probabilities, mdp.next_states, mdp.rewards * scale, mdp.terminal, mdp.start
    )
    weighting = Weighting.exponential(64, 1.0)
    assert np.array_equal(
        oracle.optimal(scaled, weighting).greedy, oracle.optimal(mdp, weighting).greedy
    )


def test_no_maximum_no_optimum() -> None:
    with pytest.raises(ValueError, match="weighting must be real"):
        oracle.optimal(forever(), Weighting.fourier(4, 1))
    with pytest.raises(ValueError, match="weighting must have bootstraps of at least 0"):
        oracle.optimal(forever(), Weighting.exponential(4, -0.5))


def test_oracle_shares_no_code_with_what_it_judges() -> None:
    imported = set()
    for path in (Path(oracle.__file__).parent).glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ImportFrom) and node.module:
                imported |= {f"{node.module}.{alias.name}" for alias in node.names}
            elif isinstance(node, ast.Import):
                imported |= {alias.name for alias in node.names}
    judged = ("fhtd.targets", "fhtd.online", "fhtd.deep", "numba", "jax", "scipy")
    assert imported
    assert not [name for name in imported if name.startswith(judged)]


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (
            lambda: oracle.state_values(forever(), [[0.5]], Weighting.average(2)),
            ValueError,
            "policy must sum to 1",
        ),
        (
            lambda: oracle.state_values(forever(), [[1.0], [1.0]], Weighting.average(2)),
            ValueError,
            "policy must have shape",
        ),
        (
            lambda: oracle.expected_rewards(forever(), [[1.0]], 0),
            ValueError,
            "horizon must be at least 1",
        ),
    ],
)
def test_bad_input_is_refused_by_name(
    call: Callable[[], Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        call()
