"""The random walk: a corridor that ends with -1 on the left and +1 on the right."""

import numpy as np

from fhtd import checks
from fhtd.mdp import FiniteMDP
from fhtd.problems.grid import equiprobable
from fhtd.problems.problem import Problem


def random_walk(n_states: int = 19) -> Problem:
    """States 1 to n_states between the terminal states 0 and n_states + 1; starts in the middle.

    The paper's walk has no choice in it; here it is the equiprobable policy over two actions,
    which leaves the same process and room for other policies.

    Args:
        n_states: States between the two ends, an odd number.

    Returns:
        The walk with one feature for each state, under the equiprobable policy.

    Raises:
        ValueError: `n_states` is even, so that there is no middle.

    >>> from fhtd import problems
    >>> problems.random_walk(5).mdp.terminal_states.tolist()
    [True, False, False, False, False, False, True]
    """
    n_states = checks.integer("n_states", n_states, 1)
    if n_states % 2 == 0:
        raise ValueError(f"n_states must be odd to have a middle, got {n_states}")
    states = np.arange(n_states + 2)
    ends = (states == 0) | (states == n_states + 1)
    following = np.stack([states - 1, states + 1], axis=1)
    following[ends] = states[ends][:, None]
    rewards = np.where(following == 0, -1.0, np.where(following == n_states + 1, 1.0, 0.0))
    rewards[ends] = 0.0
    mdp = FiniteMDP(
        np.ones((len(states), 2, 1)),
        following[:, :, None],
        rewards[:, :, None],
        ends[following][:, :, None],
        (states == n_states // 2 + 1).astype(np.float64),
        name=f"{n_states}-state random walk",
        action_names=("left", "right"),
        positions=np.stack([np.zeros_like(states), states], axis=1),
    )
    return equiprobable(mdp)
