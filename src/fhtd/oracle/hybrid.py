"""What n-step control and the hybrid converge to under a fixed behaviour, exactly.

The steps between an action and the bootstrap are the behaviour's, mu:

    q^h(s, a) = E[c_h R_1 + d_h c_(h-1) R_2 + ... + (prod d) max over a' of q^(h-m)(S_m, a')]

with S_0 = s, A_0 = a and all later actions by mu. m is 1 for h <= k, and min(n, h - k) beyond.
"""

import numpy as np
import numpy.typing as npt

from fhtd import checks
from fhtd.mdp import FiniteMDP
from fhtd.oracle import model
from fhtd.weighting import Weighting


def hybrid_values(
    mdp: FiniteMDP,
    behaviour: npt.ArrayLike,
    weighting: Weighting,
    n: int,
    one_step_horizons: int = 0,
) -> npt.NDArray[np.float64]:
    """The action values `NStepFHQ` converges to, for every horizon: (states, actions, horizons).

    With n = 1, or with all horizons of one step, they are those of `optimal`.

    Args:
        mdp: The MDP; it is outcomes that end episodes, so no state is worth 0 for being an end.
        behaviour: (states, actions) probabilities, those of the experience.
        weighting: The pair (c, d), as `Weighting.check_control` wants it.
        n: Rewards summed before bootstrapping.
        one_step_horizons: How many of the first horizons sum one reward, k.

    >>> from fhtd import Weighting, oracle, policy, problems
    >>> maze, weighting = problems.slippery_maze().mdp, Weighting.exponential(16)
    >>> random = policy.uniform(maze.n_states, maze.n_actions)
    >>> best = oracle.optimal(maze, weighting).action_values
    >>> plain = oracle.hybrid_values(maze, random, weighting, n=4)
    >>> hybrid = oracle.hybrid_values(maze, random, weighting, n=4, one_step_horizons=8)
    >>> [round(float(abs(found - best)[..., -1].max()), 2) for found in (plain, hybrid)]
    [3.35, 2.93]
    """
    weighting.check_control()
    n = checks.integer("n", n, 1, weighting.horizon)
    k = checks.integer("one_step_horizons", one_step_horizons, 0)
    mu = model.checked_policy(mdp, behaviour, "behaviour")
    r, c, d = model.action_rewards(mdp), weighting.rewards, weighting.bootstraps
    q = np.zeros((*r.shape, weighting.horizon + 1))
    for h in range(1, weighting.horizon + 1):
        m = 1 if h <= k else min(n, h - k)
        # From the bootstrap back to the state before the last step, and so on to the first.
        values = q[:, :, h - m].max(axis=1)
        for horizon in range(h - m + 1, h + 1):
            actions = c[horizon - 1] * r + d[horizon - 1] * model.next_values(mdp, values)
            values = (mu * actions).sum(axis=1)
        q[:, :, h] = actions
    return q[:, :, 1:]
