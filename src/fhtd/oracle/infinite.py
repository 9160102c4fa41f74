"""Exact infinite-horizon values: what the baselines TD and Q-learning estimate.

| here                   | paper                                                      |
|------------------------|------------------------------------------------------------|
| infinite_state_values  | v(s), Eq. Bellman equation: v = r + gamma P v              |
| infinite_optimal       | q_*(s, a), Eq. Q-learning target, by policy iteration      |
"""

from typing import Any

import numpy as np
import numpy.typing as npt

from fhtd import checks
from fhtd.mdp import FiniteMDP
from fhtd.oracle import chain, model
from fhtd.oracle.fixed import OptimalValues, greedy_sets

#: Policy iteration changes an action for a gain above this fraction of the largest value.
IMPROVEMENT_TOLERANCE = 1e-11


def infinite_state_values(
    mdp: FiniteMDP, policy: npt.ArrayLike, discount: complex
) -> npt.NDArray[Any]:
    """V = (I - gamma P)^-1 r. A discount of magnitude 1 needs episodes that surely end.

    Under such a discount, states from which an episode may never end get nan where the start
    distribution does not lead to them, and are refused by name where it does.

    Args:
        mdp: The MDP.
        policy: (states, actions) probabilities.
        discount: The factor gamma of each later reward, at most 1 in magnitude.

    Returns:
        (states,) values.

    Raises:
        ValueError: The discount is above 1 in magnitude, or is 1 and some episode never ends.

    >>> from fhtd import oracle, problems
    >>> walk = problems.random_walk(3)
    >>> oracle.infinite_state_values(walk.mdp, walk.target, 1.0)[1:4].tolist()
    [-0.5, 0.0, 0.5]
    """
    discount = checks.number("discount", discount)
    if abs(discount) > 1:
        raise ValueError(f"discount must be at most 1 in magnitude, got {discount!r}")
    pi = model.checked_policy(mdp, policy)
    v = _solve(mdp, pi, discount)
    _require_endings(mdp, pi, v)
    return v


def infinite_optimal(mdp: FiniteMDP, discount: float) -> OptimalValues:
    """The best action values, state values and greedy sets, without a horizon axis.

    With discount 1 it is the best over the policies whose episodes surely end. Then an ending
    must be possible from every state in reach, and no reward collectable for ever; states
    out of reach from which an episode may never end get nan.

    Args:
        mdp: The MDP.
        discount: The factor gamma of each later reward, from 0 to 1.

    Raises:
        ValueError: The discount is 1 and reward could be collected for ever, or nothing ends.

    >>> from fhtd import oracle, problems
    >>> best = oracle.infinite_optimal(problems.slippery_maze().mdp, discount=1.0)
    >>> round(float(problems.slippery_maze().mdp.start @ best.state_values), 2)
    -61.77
    """
    discount = checks.real("discount", discount, 0, 1)
    r = model.action_rewards(mdp)
    pi = np.full(r.shape, 1 / mdp.n_actions)
    v = _solve(mdp, pi, discount)
    _require_endings(mdp, pi, v)
    while True:
        q = r + discount * model.next_values(mdp, np.nan_to_num(v))
        scale = np.abs(q[~np.isnan(v)]).max(initial=0.0)
        gains = q.max(axis=1) > v + IMPROVEMENT_TOLERANCE * scale
        if not gains.any():
            break
        # Only rows with a strict gain change. So a policy that surely ends is followed by another
        # one, unless the change closes a loop, and then the loop's reward has no bound.
        pi[gains] = np.eye(mdp.n_actions)[q[gains].argmax(axis=1)]
        better = _solve(mdp, pi, discount)
        endless = np.isnan(better) & ~np.isnan(v)
        if endless.any():
            raise ValueError(
                f"discount must be below 1, got {discount:g}: the best policy would collect "
                f"reward for ever from {_named(endless)}"
            )
        v = better
    q[np.isnan(v)] = np.nan
    return OptimalValues(
        checks.frozen(q), checks.frozen(q.max(axis=1)), checks.frozen(greedy_sets(q))
    )


def _solve(mdp: FiniteMDP, pi: npt.NDArray[np.float64], discount: complex) -> npt.NDArray[Any]:
    """Solve the Bellman equation; nan where its sum may have no limit."""
    solvable = np.ones(mdp.n_states, bool)
    if abs(discount) >= 1:
        solvable = ~chain.may_never_end(mdp, pi)
    r = model.expected_reward(mdp, pi)[solvable]
    transitions = model.transition_matrix(mdp, pi)[np.ix_(solvable, solvable)]
    values = np.full(mdp.n_states, np.nan, np.result_type(r, discount))
    values[solvable] = np.linalg.solve(np.eye(len(r)) - discount * transitions, r)
    return values


def _require_endings(mdp: FiniteMDP, pi: npt.NDArray[np.float64], values: npt.NDArray[Any]) -> None:
    """Refuse, by name, states in reach that keep episodes from ending."""
    reached = chain.reachable(mdp, pi)
    if np.any(np.isnan(values) & reached):
        trapped = chain.never_ends(mdp, pi) & reached
        raise ValueError(
            "discount must be below 1 in magnitude unless every episode ends; "
            f"none ends from {_named(trapped)}"
        )


def _named(states: npt.NDArray[np.bool_]) -> str:
    """The states of a mask in words, the first ten of them."""
    listed = np.flatnonzero(states)
    names = ", ".join(map(str, listed[:10])) + (", ..." if len(listed) > 10 else "")
    return f"state {names}" if len(listed) == 1 else f"states {names}"
