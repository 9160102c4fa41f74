"""Exact fixed-horizon values for every horizon at once, by the recursion that defines them.

| here                  | paper                                                       |
|-----------------------|-------------------------------------------------------------|
| state_values          | v^h(s), Eq. Bellman equation of fixed-horizon values        |
| action_values         | q^h(s, a)                                                   |
| optimal               | q^h_*(s, a), the target of FHQ-learning                     |
| c, d, H               | `weighting.rewards`, `.bootstraps`, `.horizon`              |

The horizon is the last axis; its entry h-1 belongs to horizon h.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from fhtd import checks
from fhtd.mdp import FiniteMDP
from fhtd.oracle import model
from fhtd.weighting import Weighting

#: Actions count as equally good within this fraction of the horizon's largest absolute value.
TIE_TOLERANCE = 1e-9


@dataclass(frozen=True, eq=False)
class OptimalValues:
    """The best that can be done, with the horizon last (no such axis for infinite horizons).

    >>> from fhtd import Weighting, oracle, problems
    >>> best = oracle.optimal(problems.slippery_maze().mdp, Weighting.exponential(20))
    >>> best.action_values.shape, best.policy.shape  # states, actions, horizons
    ((34, 4, 20), (34, 4, 20))
    """

    #: (states, actions, horizons)
    action_values: npt.NDArray[np.float64]
    #: (states, horizons)
    state_values: npt.NDArray[np.float64]
    #: (states, actions, horizons): which actions are best, within TIE_TOLERANCE.
    greedy: npt.NDArray[np.bool_]

    @property
    def policy(self) -> npt.NDArray[np.float64]:
        """Greedy actions with equal probability, shaped as `greedy`."""
        shared: npt.NDArray[np.float64] = self.greedy / self.greedy.sum(axis=1, keepdims=True)
        return shared


def greedy_sets(action_values: npt.NDArray[np.float64]) -> npt.NDArray[np.bool_]:
    """The best actions (axis 1), ties included; every action where values are undefined."""
    best = action_values.max(axis=1, keepdims=True)
    scale = np.nanmax(np.abs(action_values), axis=(0, 1), keepdims=True, initial=0.0)
    worse: npt.NDArray[np.bool_] = action_values < best - TIE_TOLERANCE * scale
    return ~worse


def state_values(mdp: FiniteMDP, policy: npt.ArrayLike, weighting: Weighting) -> npt.NDArray[Any]:
    """v^h = c_h r + d_h P v^(h-1), v^0 = 0: (states, horizons).

    Args:
        mdp: The MDP; it is outcomes that end episodes, so no state is worth 0 for being an end.
        policy: (states, actions) probabilities.
        weighting: The pair (c, d).

    Returns:
        The exact value of every state and horizon.

    >>> from fhtd import Weighting, oracle, problems
    >>> walk = problems.random_walk()
    >>> values = oracle.state_values(walk.mdp, walk.target, Weighting.exponential(5))
    >>> values[17].tolist()  # three steps from the right end
    [0.0, 0.0, 0.125, 0.125, 0.21875]
    """
    r, transitions = model.expected_reward(mdp, policy), model.transition_matrix(mdp, policy)
    c, d = weighting.rewards, weighting.bootstraps
    values = np.zeros((mdp.n_states, weighting.horizon), weighting.dtype)
    v = np.zeros(mdp.n_states, weighting.dtype)
    for h in range(weighting.horizon):
        v = c[h] * r + d[h] * (transitions @ v)
        values[:, h] = v
    return values


def action_values(mdp: FiniteMDP, policy: npt.ArrayLike, weighting: Weighting) -> npt.NDArray[Any]:
    """q^h = c_h r + d_h E[v^(h-1)(S')], the policy followed after the action: (S, A, H).

    Args:
        mdp: The MDP; it is outcomes that end episodes, so no state is worth 0 for being an end.
        policy: (states, actions) probabilities.
        weighting: The pair (c, d).

    Returns:
        The exact value of every state, action and horizon.

    >>> from fhtd import Weighting, oracle, problems
    >>> walk = problems.random_walk()
    >>> q = oracle.action_values(walk.mdp, walk.target, Weighting.exponential(2))
    >>> q[19].tolist()  # beside the right end: left, right
    [[0.0, 0.0], [1.0, 1.0]]
    """
    pi = model.checked_policy(mdp, policy)
    r = model.action_rewards(mdp)
    c, d = weighting.rewards, weighting.bootstraps
    values = np.zeros((*r.shape, weighting.horizon), weighting.dtype)
    v = np.zeros(mdp.n_states, weighting.dtype)
    for h in range(weighting.horizon):
        values[:, :, h] = c[h] * r + d[h] * model.next_values(mdp, v)
        v = (pi * values[:, :, h]).sum(axis=1)
    return values


def optimal(mdp: FiniteMDP, weighting: Weighting) -> OptimalValues:
    """q^h_* = c_h r + d_h E[max_a' q^(h-1)_*(S', a')]: each horizon has its own best actions.

    Args:
        mdp: The MDP; it is outcomes that end episodes, so no state is worth 0 for being an end.
        weighting: The pair (c, d), as `Weighting.check_control` wants it.

    Returns:
        Action values, state values and the best actions of every horizon.

    Raises:
        ValueError: There is no maximum under this weighting.

    >>> from fhtd import Weighting, oracle, problems
    >>> best = oracle.optimal(problems.random_walk().mdp, Weighting.exponential(5))
    >>> best.state_values[17].tolist()  # three steps from the right end
    [0.0, 0.0, 1.0, 1.0, 1.0]
    """
    weighting.check_control()
    r = model.action_rewards(mdp)
    c, d = weighting.rewards, weighting.bootstraps
    q = np.zeros((*r.shape, weighting.horizon))
    v = np.zeros(mdp.n_states)
    for h in range(weighting.horizon):
        q[:, :, h] = c[h] * r + d[h] * model.next_values(mdp, v)
        v = q[:, :, h].max(axis=1)
    return OptimalValues(
        checks.frozen(q), checks.frozen(q.max(axis=1)), checks.frozen(greedy_sets(q))
    )


def expected_rewards(
    mdp: FiniteMDP, policy: npt.ArrayLike, horizon: int
) -> npt.NDArray[np.float64]:
    """E[R_{t+h} | S_t = s], the reward of the h-th step from now: (states, horizons).

    Args:
        mdp: The MDP.
        policy: (states, actions) probabilities.
        horizon: How many steps to look ahead.

    Returns:
        The exact expectation for every state and step.

    >>> from fhtd import oracle, problems
    >>> walk = problems.random_walk()
    >>> oracle.expected_rewards(walk.mdp, walk.target, 5)[17].tolist()
    [0.0, 0.0, 0.125, 0.0, 0.09375]
    """
    horizon = checks.integer("horizon", horizon, 1)
    transitions = model.transition_matrix(mdp, policy)
    rewards = np.empty((mdp.n_states, horizon))
    rewards[:, 0] = model.expected_reward(mdp, policy)
    for h in range(1, horizon):
        rewards[:, h] = transitions @ rewards[:, h - 1]
    return rewards
