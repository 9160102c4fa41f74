"""A policy over finite states and actions is an array (states, actions) of probabilities."""

import numpy as np
import numpy.typing as npt

from fhtd import checks

Policy = npt.NDArray[np.float64]


def uniform(n_states: int, n_actions: int) -> Policy:
    """Every action equally likely in every state.

    Args:
        n_states: How many states there are.
        n_actions: How many actions there are.

    Returns:
        (states, actions) probabilities.

    >>> from fhtd import policy
    >>> policy.uniform(2, 4).tolist()
    [[0.25, 0.25, 0.25, 0.25], [0.25, 0.25, 0.25, 0.25]]
    """
    shape = (checks.integer("n_states", n_states, 1), checks.integer("n_actions", n_actions, 1))
    return np.full(shape, 1 / shape[1])


def deterministic(actions: npt.ArrayLike, n_actions: int) -> Policy:
    """Always the given action in each state.

    Args:
        actions: One action for each state.
        n_actions: How many actions there are.

    Returns:
        (states, actions) probabilities, each 0 or 1.

    Raises:
        ValueError: `actions` are not a list of integers, or name an action that is not there.

    >>> from fhtd import policy
    >>> policy.deterministic([1, 0], n_actions=2).tolist()
    [[0.0, 1.0], [1.0, 0.0]]
    """
    n_actions = checks.integer("n_actions", n_actions, 1)
    chosen = np.asarray(actions)
    if chosen.ndim != 1 or not np.issubdtype(chosen.dtype, np.integer):
        raise ValueError("actions must be a list of one action index per state")
    if np.any(chosen < 0) or np.any(chosen >= n_actions):
        raise ValueError(f"actions must be from 0 to {n_actions - 1}")
    return np.asarray(np.eye(n_actions)[chosen])


def greedy(action_values: npt.ArrayLike, epsilon: float = 0.0) -> Policy:
    """The best actions of each state, ties shared equally.

    Args:
        action_values: (states, actions).
        epsilon: The probability that is spread over all actions instead.

    Returns:
        (states, actions) probabilities.

    >>> from fhtd import policy
    >>> policy.greedy([[1.0, 2.0], [3.0, 3.0]], epsilon=0.2).round(2).tolist()
    [[0.1, 0.9], [0.5, 0.5]]
    """
    q = checks.array("action_values", action_values, (None, None))
    epsilon = checks.real("epsilon", epsilon, 0, 1)
    best = (q == q.max(axis=1, keepdims=True)).astype(np.float64)
    greedy = best / best.sum(axis=1, keepdims=True)
    return np.asarray((1 - epsilon) * greedy + epsilon / q.shape[1])


def importance_ratios(target: npt.ArrayLike, behaviour: npt.ArrayLike) -> Policy:
    """pi(a|s) / mu(a|s); refuses a target action that the behaviour never takes.

    Args:
        target: (states, actions) probabilities of the policy to learn about, pi.
        behaviour: (states, actions) probabilities of the policy that acts, mu.

    Returns:
        (states, actions) ratios, 0 where neither policy takes the action.

    Raises:
        ValueError: The behaviour never takes an action that the target may take.

    >>> from fhtd import policy
    >>> always, mostly = policy.deterministic([1], 2), [[0.75, 0.25]]
    >>> policy.importance_ratios(always, mostly).tolist()
    [[0.0, 4.0]]
    """
    pi = checks.probabilities("target", target, (None, None))
    mu = checks.probabilities("behaviour", behaviour, pi.shape)
    missing = np.argwhere((pi > 0) & (mu == 0))
    if len(missing):
        state, action = missing[0]
        raise ValueError(
            f"behaviour never takes action {action} in state {state}, which target may take"
        )
    return np.divide(pi, mu, out=np.zeros_like(pi), where=mu > 0)
