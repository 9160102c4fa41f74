"""The Markov chain that a policy makes: how long episodes last and where time is spent.

| here                      | meaning                                                     |
|---------------------------|-------------------------------------------------------------|
| P, e                      | transition_matrix, ending_probability                       |
| episode_length            | L = 1 + P L                                                 |
| stationary_distribution   | d = d (P + e start): an ended episode restarts at once      |
"""

import numpy as np
import numpy.typing as npt

from fhtd.mdp import FiniteMDP, closure
from fhtd.oracle import model

Floats = npt.NDArray[np.float64]
States = npt.NDArray[np.bool_]


def leads_to(edges: npt.NDArray[np.bool_], targets: States) -> States:
    """The states from which some path along edges[s, s'] reaches a target; targets included."""
    origins, ends = np.nonzero(edges)
    return closure(targets, ends, origins)


def reachable(mdp: FiniteMDP, policy: npt.ArrayLike) -> States:
    """The states that an episode may visit, from the start distribution."""
    return leads_to(model.transition_matrix(mdp, policy).T > 0, mdp.start > 0)


def never_ends(mdp: FiniteMDP, policy: npt.ArrayLike) -> States:
    """The states from which no episode ends."""
    edges = model.transition_matrix(mdp, policy) > 0
    return ~leads_to(edges, model.ending_probability(mdp, policy) > 0)


def may_never_end(mdp: FiniteMDP, policy: npt.ArrayLike) -> States:
    """The states from which the episode goes on for ever with positive probability."""
    return leads_to(model.transition_matrix(mdp, policy) > 0, never_ends(mdp, policy))


def episode_length(mdp: FiniteMDP, policy: npt.ArrayLike) -> Floats:
    """Expected steps to the end of the episode from each state; inf where it may never end.

    Args:
        mdp: The MDP.
        policy: (states, actions) probabilities.

    Returns:
        (states,) lengths.

    >>> from fhtd import oracle, problems
    >>> walk = problems.random_walk(3)
    >>> oracle.episode_length(walk.mdp, walk.target)[1:4].round(9).tolist()
    [3.0, 4.0, 3.0]
    """
    transitions = model.transition_matrix(mdp, policy)
    lengths = np.full(mdp.n_states, np.inf)
    ends = ~may_never_end(mdp, policy)
    steps = np.ones(int(ends.sum()))
    lengths[ends] = np.linalg.solve(np.eye(len(steps)) - transitions[np.ix_(ends, ends)], steps)
    return lengths


def mean_episode_length(mdp: FiniteMDP, policy: npt.ArrayLike) -> float:
    """Expected length of an episode, over the start distribution.

    Args:
        mdp: The MDP.
        policy: (states, actions) probabilities.

    Returns:
        One number; inf where an episode may never end.

    >>> from fhtd import oracle, problems
    >>> walk = problems.random_walk(19)
    >>> round(oracle.mean_episode_length(walk.mdp, walk.target), 6)
    100.0
    """
    begins = mdp.start > 0
    return float(mdp.start[begins] @ episode_length(mdp, policy)[begins])


def stationary_distribution(mdp: FiniteMDP, policy: npt.ArrayLike) -> Floats:
    """The long-run fraction of decisions made in each state, from the start distribution.

    Episodes that end restart from the start distribution. Where the chain can settle in one of
    several closed sets of states, each counts by the probability of settling there.

    Args:
        mdp: The MDP.
        policy: (states, actions) probabilities.

    >>> from fhtd import oracle, problems
    >>> walk = problems.random_walk(3)
    >>> oracle.stationary_distribution(walk.mdp, walk.target).round(9).tolist()
    [0.0, 0.25, 0.5, 0.25, 0.0]
    """
    ends = model.ending_probability(mdp, policy)
    chain = model.transition_matrix(mdp, policy) + np.outer(ends, mdp.start)
    chain /= chain.sum(axis=1, keepdims=True)
    reach = _closure(chain > 0)
    recurrent = ~(reach & ~reach.T).any(axis=1)
    passing = ~recurrent
    n_passing = int(passing.sum())
    # Expected visits to the states that are left for good, from the start distribution.
    visits = np.linalg.solve(
        np.eye(n_passing) - chain[np.ix_(passing, passing)].T, mdp.start[passing]
    )
    distribution = np.zeros(mdp.n_states)
    for first in np.unique(np.argmax(reach & reach.T, axis=1)[recurrent]):
        members = reach[first]
        weight = mdp.start[members].sum() + (visits @ chain[np.ix_(passing, members)]).sum()
        distribution[members] = weight * _balance(chain[np.ix_(members, members)])
    distribution /= distribution.sum()
    return distribution


def _closure(edges: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
    """Which states can be reached from which, in any number of steps."""
    reach, size = edges | np.eye(len(edges), dtype=bool), -1
    while size != (size := int(reach.sum())):
        reach = (reach.astype(np.float64) @ reach.astype(np.float64)) > 0
    return reach


def _balance(chain: Floats) -> Floats:
    """The distribution that a chain without separate parts leaves as it is."""
    # The balance equations determine one another, so the last gives way to "sums to one".
    equations = chain.T - np.eye(len(chain))
    equations[-1] = 1.0
    constants = np.zeros(len(chain))
    constants[-1] = 1.0
    balanced: Floats = np.maximum(np.linalg.solve(equations, constants), 0.0)
    return balanced
