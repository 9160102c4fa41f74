"""Exact values of options: policies that are followed until they end (temporal abstraction).

An option o acts by pi_o and ends on entering s with the chance beta_o(s); then the next is chosen.
With h steps left,

    U_o^h(s) = sum over a, s', r of pi_o(a|s) p(s', r|s, a) [c_h r + d_h W_o^(h-1)(s')]
    W_o^h(s) = beta_o(s) V^h(s) + (1 - beta_o(s)) U_o^h(s)

where V^h(s) is the expectation of U_o^h(s) over a choice of options, or its maximum; all are 0 at
h = 0, and after a termination. Learners find U from one update an option: `update(...,
duration=...)`.
"""

from typing import Any

import numpy as np
import numpy.typing as npt

from fhtd import checks
from fhtd.mdp import FiniteMDP
from fhtd.oracle.model import action_rewards, continuing_probabilities
from fhtd.weighting import Weighting


def option_values(
    mdp: FiniteMDP,
    policies: npt.ArrayLike,
    endings: npt.ArrayLike,
    weighting: Weighting,
    choice: npt.ArrayLike | None = None,
) -> npt.NDArray[Any]:
    """U_o^h(s) of every state, option and horizon, counted in single steps.

    Args:
        mdp: The world.
        policies: pi_o(a|s), (options, states, actions).
        endings: beta_o(s), the chance that option o ends on entering s, (options, states).
        weighting: How much each future reward counts.
        choice: The chance of each option where one is chosen, (states, options); by default the
            best for the steps that are left, as FHQ-learning over options has it.

    Returns:
        (states, options, horizons).

    Raises:
        ValueError: If an array has another shape, or is not made of probabilities.

    >>> import numpy as np
    >>> from fhtd import FiniteMDP, Weighting, oracle
    >>> steps = {s: {0: [(1.0, (s + 1) % 4, float(s), False)]} for s in range(4)}
    >>> ring = FiniteMDP.from_table(steps, start=[1, 0, 0, 0])
    >>> twice = np.array([[0.0, 0.0, 1.0, 0.0]])  # go on until state 2
    >>> oracle.option_values(ring, np.ones((1, 4, 1)), twice, Weighting.exponential(3))[0].tolist()
    [[0.0, 1.0, 3.0]]
    """
    beta = checks.array("endings", endings, (None, mdp.n_states))
    if np.any(beta < 0) or np.any(beta > 1):
        raise ValueError("endings must be probabilities from 0 to 1")
    shape = (len(beta), mdp.n_states, mdp.n_actions)
    pi = checks.probabilities("policies", policies, shape)
    chosen = None
    if choice is not None:
        chosen = checks.probabilities("choice", choice, (mdp.n_states, len(beta)))
    elif weighting.no_maximum:
        raise ValueError(f"choice is needed: {weighting.no_maximum}")
    rewards = np.einsum("osa,sa->so", pi, action_rewards(mdp))
    going_on, following = continuing_probabilities(mdp), mdp.next_states
    values = np.zeros((mdp.n_states, len(beta), weighting.horizon), weighting.dtype)
    left = np.zeros(values.shape[:2], weighting.dtype)
    for h in range(weighting.horizon):
        # left is U at horizon h: what an option is worth to those who go on with it.
        best = left.max(axis=1) if chosen is None else (chosen * left).sum(axis=1)
        ahead = beta.T * best[:, None] + (1 - beta.T) * left
        after = np.einsum("osa,sak,sako->so", pi, going_on, ahead[following])
        left = weighting.rewards[h] * rewards + weighting.bootstraps[h] * after
        values[:, :, h] = left
    return values
