"""What a policy makes of a finite MDP: expected rewards and transition probabilities.

| here                 | paper                                                        |
|----------------------|--------------------------------------------------------------|
| expected_reward      | r(s) = sum_a pi(a|s) sum_{s',r} p(s',r|s,a) r                |
| transition_matrix    | P, over the outcomes that do not end the episode             |
| ending_probability   | what the rows of P lack to 1                                 |

Outcomes end an episode, not states: after an ending nothing more comes, whichever state it led to.
What is said of a state is what would follow if a decision were made there, wherever episodes start.
"""

from typing import Any

import numpy as np
import numpy.typing as npt

from fhtd import checks
from fhtd.mdp import FiniteMDP

Array = npt.NDArray[Any]
Floats = npt.NDArray[np.float64]


def checked_policy(mdp: FiniteMDP, policy: npt.ArrayLike, name: str = "policy") -> Floats:
    """The policy as probabilities of shape (states, actions)."""
    return checks.probabilities(name, policy, (mdp.n_states, mdp.n_actions))


def continuing_probabilities(mdp: FiniteMDP) -> Floats:
    """p(s',r|s,a) of each outcome (states, actions, outcomes), 0 where the episode ends."""
    return np.where(mdp.terminal, 0.0, mdp.probabilities)


def action_rewards(mdp: FiniteMDP) -> Floats:
    """Expected reward of each action: (states, actions)."""
    r: Floats = (mdp.probabilities * mdp.rewards).sum(axis=2)
    return r


def next_values(mdp: FiniteMDP, state_values: Array) -> Array:
    """Expected value of the next state for each action, 0 after an ending: (states, actions)."""
    following: Array = continuing_probabilities(mdp) * state_values[mdp.next_states]
    total: Array = following.sum(axis=2)
    return total


def expected_reward(mdp: FiniteMDP, policy: npt.ArrayLike) -> Floats:
    """Expected reward of one step of the policy from each state.

    Args:
        mdp: The MDP.
        policy: (states, actions) probabilities.

    Returns:
        (states,) rewards.

    >>> from fhtd import oracle, problems
    >>> walk = problems.random_walk(3)
    >>> oracle.expected_reward(walk.mdp, walk.target).tolist()
    [0.0, -0.5, 0.0, 0.5, 0.0]
    """
    pi = checked_policy(mdp, policy)
    r: Floats = (pi * action_rewards(mdp)).sum(axis=1)
    return r


def transition_matrix(mdp: FiniteMDP, policy: npt.ArrayLike) -> Floats:
    """Probability of going on from state s (row) to state s' (column) in one step.

    Args:
        mdp: The MDP.
        policy: (states, actions) probabilities.

    Returns:
        (states, states); rows sum to less than 1 where the episode may end.

    >>> from fhtd import oracle, problems
    >>> walk = problems.random_walk(3)
    >>> oracle.transition_matrix(walk.mdp, walk.target)[1:4].sum(axis=1).tolist()
    [0.5, 1.0, 0.5]
    """
    pi = checked_policy(mdp, policy)
    weights = pi[:, :, None] * continuing_probabilities(mdp)
    matrix = np.zeros((mdp.n_states, mdp.n_states))
    rows = np.broadcast_to(np.arange(mdp.n_states)[:, None, None], weights.shape)
    np.add.at(matrix, (rows, mdp.next_states), weights)
    return matrix


def ending_probability(mdp: FiniteMDP, policy: npt.ArrayLike) -> Floats:
    """Probability that the next step ends the episode."""
    pi = checked_policy(mdp, policy)
    ends: Floats = (pi[:, :, None] * mdp.probabilities * mdp.terminal).sum(axis=(1, 2))
    return ends
