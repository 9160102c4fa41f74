"""Baird's counterexample: off-policy TD with linear features diverges here."""

import numpy as np

from fhtd.features import Features
from fhtd.mdp import FiniteMDP
from fhtd.policy import deterministic
from fhtd.problems.problem import Problem

N_STATES = 7


def baird() -> Problem:
    """Seven states, no reward: `dashed` goes to one of the first six, `solid` to the seventh.

    The target policy always takes `solid`, the behaviour once in seven times. State i of the
    first six is worth 2 w_i + w_8, the seventh w_7 + 2 w_8.

    Returns:
        The counterexample with its 8 features and first weights (1, 1, 1, 1, 1, 1, 10, 1).

    >>> from fhtd import problems
    >>> baird = problems.baird()
    >>> baird.features.matrix[[0, 6]].tolist()
    [[2.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0], [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0, 2.0]]
    """
    lower = N_STATES - 1
    shape = (N_STATES, 2, lower)
    p = np.zeros(shape)
    p[:, 0] = 1 / lower
    p[:, 1, 0] = 1.0
    following = np.zeros(shape, np.int64)
    following[:, 0] = np.arange(lower)
    following[:, 1] = lower
    mdp = FiniteMDP(
        p,
        following,
        np.zeros(shape),
        np.zeros(shape, bool),
        np.full(N_STATES, 1 / N_STATES),
        name="Baird's counterexample",
        action_names=("dashed", "solid"),
    )
    phi = np.zeros((N_STATES, N_STATES + 1))
    phi[:lower, :lower] = 2 * np.eye(lower)
    phi[:lower, -1] = 1.0
    phi[lower, lower:] = 1.0, 2.0
    return Problem(
        mdp,
        Features.from_matrix(phi),
        target=deterministic([1] * N_STATES, 2),
        behaviour=np.tile([lower / N_STATES, 1 / N_STATES], (N_STATES, 1)),
        discount=0.99,
        initial_weights=np.array([1.0, 1, 1, 1, 1, 1, 10, 1]),
    )
