"""Finite MDPs and policies as data: what they hold, where they come from, what they refuse."""

import math
from collections.abc import Callable
from typing import Any

import gymnasium
import numpy as np
import pytest

import fhtd.envs
from fhtd import oracle, policy
from fhtd.mdp import FiniteMDP


def fields(**changes: Any) -> dict[str, Any]:
    """Two states, one action, two outcomes: stay with -1, or go to state 1 with 2 and end."""
    parts: dict[str, Any] = {
        "probabilities": [[[0.25, 0.75]], [[1.0, 0.0]]],
        "next_states": [[[0, 1]], [[1, 0]]],
        "rewards": [[[-1.0, 2.0]], [[0.0, 0.0]]],
        "terminal": [[[False, True]], [[True, False]]],
        "start": [1.0, 0.0],
    }
    return parts | changes


def build(**changes: Any) -> FiniteMDP:
    return FiniteMDP(**fields(**changes))


def test_sizes_and_names() -> None:
    mdp = build()
    assert (mdp.n_states, mdp.n_actions) == (2, 1)
    assert mdp.action_names == ("0",)
    assert build(action_names=["go"]).action_names == ("go",)
    assert mdp.terminal_states.tolist() == [False, True]


def test_arrays_are_copies_that_cannot_be_written() -> None:
    start = np.array([1.0, 0.0])
    mdp = build(start=start, positions=np.array([[0, 0], [0, 1]]))
    start[0] = 0.5
    assert mdp.start[0] == 1.0
    for name in ("probabilities", "next_states", "rewards", "terminal", "start", "positions"):
        with pytest.raises(ValueError, match="read-only"):
            getattr(mdp, name)[0] = 0
    with pytest.raises(AttributeError):
        mdp.name = "other"  # type: ignore[misc]


def test_a_state_with_decisions_is_not_terminal() -> None:
    # Being a start, or being entered without an ending, makes a state one that decides.
    assert not build(start=[0.5, 0.5]).terminal_states.any()
    entered = build(terminal=[[[False, False]], [[True, False]]])
    assert not entered.terminal_states.any()
    # A state that is never reached ends nothing.
    impossible = build(probabilities=[[[1.0, 0.0]], [[1.0, 0.0]]])
    assert not impossible.terminal_states.any()


BAD: list[tuple[dict[str, Any], type[Exception], str]] = [
    ({"probabilities": [[[0.3, 0.75]], [[1.0, 0.0]]]}, ValueError, "probabilities must sum to 1"),
    ({"probabilities": [[[1.25, -0.25]], [[1, 0]]]}, ValueError, "probabilities must hold prob"),
    ({"probabilities": [[0.25, 0.75], [1.0, 0.0]]}, ValueError, "probabilities must have shape"),
    ({"probabilities": np.zeros((0, 1, 1))}, ValueError, "must have states, actions, outcomes"),
    ({"probabilities": [[[math.nan, 1.0]], [[1, 0]]]}, ValueError, "must hold finite numbers"),
    ({"next_states": [[[0, 2]], [[1, 0]]]}, ValueError, "next_states must be states from 0 to 1"),
    ({"next_states": [[[0, -1]], [[1, 0]]]}, ValueError, "next_states must be states from 0 to 1"),
    ({"next_states": [[[0.0, 1.0]], [[1, 0]]]}, TypeError, "next_states must hold integers"),
    ({"next_states": [[[0]], [[1]]]}, ValueError, "next_states must have shape"),
    ({"rewards": [[[-1.0, math.inf]], [[0, 0]]]}, ValueError, "rewards must hold finite"),
    ({"rewards": [[[-1.0]], [[0.0]]]}, ValueError, "rewards must have shape"),
    ({"rewards": [[["a", "b"]], [["c", "d"]]]}, TypeError, "rewards must hold numbers"),
    ({"rewards": [[[1j, 0]], [[0, 0]]]}, TypeError, "rewards must hold real numbers"),
    ({"terminal": [[[0, 1]], [[1, 0]]]}, ValueError, "terminal must be booleans of shape"),
    ({"terminal": [True, False]}, ValueError, "terminal must be booleans of shape"),
    ({"start": [0.5, 0.4]}, ValueError, "start must sum to 1"),
    ({"start": [1.0]}, ValueError, "start must have shape"),
    ({"action_names": ("stay", "go")}, ValueError, "action_names must name 1 actions"),
    ({"positions": [[0, 0]]}, ValueError, "positions must be integers of shape"),
    ({"positions": [[0.0, 0.0], [0.0, 1.0]]}, ValueError, "positions must be integers"),
    ({"positions": [[0, 0], [0, -1]]}, ValueError, "positions must be at least 0"),
]


@pytest.mark.parametrize(("changes", "error", "message"), BAD)
def test_bad_fields_are_refused_by_name(
    changes: dict[str, Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        build(**changes)


def test_a_table_pads_short_lists_of_outcomes() -> None:
    table = {
        0: {0: [(0.25, 0, -1.0, False), (0.75, 1, 2.0, True)]},
        1: {0: [(1.0, 1, 0.0, True)]},
    }
    mdp, same = FiniteMDP.from_table(table, [1.0, 0.0], name="two"), build()
    assert mdp.name == "two"
    assert np.array_equal(mdp.probabilities, same.probabilities)
    assert np.array_equal(mdp.rewards, same.rewards)
    assert mdp.terminal[0].tolist() == same.terminal[0].tolist()


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ({}, "table must have the states 0, 1, 2"),
        ({1: {0: [(1.0, 1, 0.0, True)]}}, "table must have the states 0, 1, 2"),
        ({0: {1: [(1.0, 0, 0.0, True)]}}, "table must list actions 0 to 0 in state 0"),
        ({0: {0: []}}, "probabilities must sum to 1"),
        ({0: {0: [(1.0, 3, 0.0, True)]}}, "must be from 0 to 0"),
    ],
)
def test_bad_tables_are_refused(table: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        FiniteMDP.from_table(table, [1.0])


@pytest.mark.parametrize(
    ("environment", "n_states", "n_actions", "best"),
    [
        # The best return without discount: a chance of 14/17 to cross the ice, 13 steps along the
        # cliff, and 20 for a delivery less the mean number of steps before it.
        ("FrozenLake-v1", 16, 4, 14 / 17),
        ("CliffWalking-v1", 48, 4, -13.0),
        ("Taxi-v4", 500, 6, 7.93),
    ],
)
def test_gymnasiums_tables(environment: str, n_states: int, n_actions: int, best: float) -> None:
    mdp = FiniteMDP.from_gymnasium(environment)
    assert (mdp.n_states, mdp.n_actions, mdp.name) == (n_states, n_actions, environment)
    assert mdp.start @ oracle.infinite_optimal(mdp, 1.0).state_values == pytest.approx(best)


@pytest.mark.parametrize("environment", ["FrozenLake-v1", "CliffWalking-v1", "Taxi-v4"])
def test_gymnasiums_environments_step_as_their_tables_say(environment: str) -> None:
    env = gymnasium.make(environment)
    mdp = FiniteMDP.from_gymnasium(env)
    env.action_space.seed(0)
    state, _ = env.reset(seed=0)
    assert mdp.start[state] > 0
    for _ in range(500):
        action = env.action_space.sample()
        following, reward, ended, cut, _ = env.step(action)
        outcomes = zip(
            mdp.probabilities[state, action],
            mdp.next_states[state, action],
            mdp.rewards[state, action],
            mdp.terminal[state, action],
            strict=True,
        )
        assert any(p > 0 and (s, r, e) == (following, reward, ended) for p, s, r, e in outcomes)
        state = following if not (ended or cut) else env.reset()[0]


def test_frozen_lake_ends_in_its_holes_and_its_goal() -> None:
    mdp = FiniteMDP.from_gymnasium("FrozenLake-v1")
    assert np.flatnonzero(mdp.terminal_states).tolist() == [5, 7, 11, 12, 15]


@pytest.mark.parametrize("environment", fhtd.envs.IDS)
def test_our_environments_give_their_mdp_back(environment: str) -> None:
    env = gymnasium.make(environment)
    mdp = FiniteMDP.from_gymnasium(env)
    assert mdp is env.unwrapped.mdp  # type: ignore[attr-defined]


def test_an_environment_without_a_table_is_refused() -> None:
    with pytest.raises(ValueError, match="has no transition table P"):
        FiniteMDP.from_gymnasium("CartPole-v1")


def test_uniform_and_deterministic_policies() -> None:
    assert np.array_equal(policy.uniform(2, 4), np.full((2, 4), 0.25))
    assert np.array_equal(policy.deterministic([1, 0], 2), [[0, 1], [1, 0]])


def test_greedy_shares_ties_and_spreads_epsilon() -> None:
    q = [[1.0, 1.0, 0.0, 0.0], [0.0, 3.0, 2.0, 1.0]]
    assert np.allclose(policy.greedy(q), [[0.5, 0.5, 0.0, 0.0], [0.0, 1.0, 0.0, 0.0]])
    assert np.allclose(policy.greedy(q, 0.2)[1], [0.05, 0.85, 0.05, 0.05])
    assert np.allclose(policy.greedy(q, 1.0), 0.25)


def test_importance_ratios() -> None:
    ratios = policy.importance_ratios([[1.0, 0.0], [0.5, 0.5]], [[0.25, 0.75], [0.5, 0.5]])
    assert np.allclose(ratios, [[4, 0], [1, 1]])
    assert policy.importance_ratios([[1.0, 0.0]], [[1.0, 0.0]]).tolist() == [[1.0, 0.0]]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: policy.uniform(0, 2), "n_states must be at least 1"),
        (lambda: policy.uniform(2, 0), "n_actions must be at least 1"),
        (lambda: policy.deterministic([0, 2], 2), "actions must be from 0 to 1"),
        (lambda: policy.deterministic([[0]], 2), "actions must be a list of one action index"),
        (lambda: policy.deterministic([0.0], 2), "actions must be a list of one action index"),
        (lambda: policy.greedy([1.0, 2.0]), "action_values must have shape"),
        (lambda: policy.greedy([[math.nan]]), "action_values must hold finite"),
        (lambda: policy.greedy([[1.0]], 1.5), "epsilon must be finite and at least 0 and at most"),
        (lambda: policy.importance_ratios([[0.5, 0.4]], [[0.5, 0.5]]), "target must sum to 1"),
        (lambda: policy.importance_ratios([[1, 0]], [[1.0]]), "behaviour must have shape"),
        (
            lambda: policy.importance_ratios([[1, 0], [0, 1]], [[1, 0], [1, 0]]),
            "behaviour never takes action 1 in state 1",
        ),
    ],
)
def test_bad_policies_are_refused_by_name(call: Callable[[], Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call()
