"""Where linear fixed-horizon learning comes to rest, for given features and sampling.

| here                        | paper                                                   |
|-----------------------------|---------------------------------------------------------|
| linear_fixed_point          | A w^h = b^h, with A = Phi' D Phi ("One-step FHTD")      |
| linear_control_fixed_point  | the equilibrium constructed in Proposition 1            |
| distribution                | D, the probability of sampling each state               |

Where A is singular (features linearly dependent, or states never sampled) many weights are at
rest; the ones of least norm are given.
"""

from typing import Any

import numpy as np
import numpy.typing as npt

from fhtd import checks
from fhtd.features import StateFeatures
from fhtd.mdp import FiniteMDP
from fhtd.oracle import chain, model
from fhtd.weighting import Weighting

Floats = npt.NDArray[np.float64]


def feature_matrix(mdp: FiniteMDP, features: StateFeatures | npt.ArrayLike) -> Floats:
    """Phi, one row of features per state."""
    matrix = features.matrix if isinstance(features, StateFeatures) else features
    return checks.array("features", matrix, (mdp.n_states, None))


def sampling_distribution(
    mdp: FiniteMDP, policy: npt.ArrayLike, distribution: npt.ArrayLike | None
) -> Floats:
    """The diagonal of D: as given, or else the policy's own stationary distribution."""
    if distribution is None:
        return chain.stationary_distribution(mdp, policy)
    return checks.probabilities("distribution", distribution, (mdp.n_states,))


def linear_fixed_point(
    mdp: FiniteMDP,
    features: StateFeatures | npt.ArrayLike,
    policy: npt.ArrayLike,
    weighting: Weighting,
    distribution: npt.ArrayLike | None = None,
) -> npt.NDArray[Any]:
    """Weights (features, horizons) with Phi' D (c_h r + d_h P Phi w^(h-1) - Phi w^h) = 0.

    Args:
        mdp: The MDP.
        features: (states, features), or features of its integer states.
        policy: (states, actions) probabilities of the target policy.
        weighting: The pair (c, d).
        distribution: The probability of sampling each state; the policy's stationary one if None.

    Returns:
        The weights of least norm among those at rest.

    >>> from fhtd import Weighting, oracle, problems
    >>> walk, weighting = problems.random_walk(), Weighting.exponential(5)
    >>> weights = oracle.linear_fixed_point(walk.mdp, walk.features, walk.target, weighting)
    >>> weights[17].round(5).tolist()  # with a feature for each state: the exact values
    [0.0, 0.0, 0.125, 0.125, 0.21875]
    """
    phi = feature_matrix(mdp, features)
    r, transitions = model.expected_reward(mdp, policy), model.transition_matrix(mdp, policy)
    projection = _projection(phi, sampling_distribution(mdp, policy, distribution))
    c, d = weighting.rewards, weighting.bootstraps
    weights = np.zeros((phi.shape[1], weighting.horizon), weighting.dtype)
    w = np.zeros(phi.shape[1], weighting.dtype)
    for h in range(weighting.horizon):
        w = projection @ (c[h] * r + d[h] * (transitions @ (phi @ w)))
        weights[:, h] = w
    return weights


def linear_control_fixed_point(
    mdp: FiniteMDP,
    features: StateFeatures | npt.ArrayLike,
    behaviour: npt.ArrayLike,
    weighting: Weighting,
    distribution: npt.ArrayLike | None = None,
) -> Floats:
    """FHQ's equilibrium: weights (actions, features, horizons), each action with its own block.

    Args:
        mdp: The MDP.
        features: (states, features), or features of its integer states. An array (states, actions,
            features), phi(s, a), has one block for all actions and gives weights (features,
            horizons).
        behaviour: (states, actions) probabilities that actions are sampled with.
        weighting: The pair (c, d), as `Weighting.check_control` wants it.
        distribution: The probability of sampling each state; the behaviour's stationary one if
            None.

    Returns:
        The weights of least norm among those at rest.

    Raises:
        ValueError: There is no maximum under this weighting.

    >>> from fhtd import Weighting, oracle, problems
    >>> walk, weighting = problems.random_walk(), Weighting.exponential(5)
    >>> oracle.linear_control_fixed_point(
    ...     walk.mdp, walk.features, walk.behaviour, weighting
    ... ).shape
    (2, 21, 5)
    """
    weighting.check_control()
    mu = model.checked_policy(mdp, behaviour, "behaviour")
    sampled = sampling_distribution(mdp, mu, distribution)[:, None] * mu
    joint = not isinstance(features, StateFeatures) and np.ndim(features) == 3
    if joint:
        shape = (mdp.n_states, mdp.n_actions, None)
        phi = checks.array("features", features, shape)
        blocks = _projection(phi.reshape(-1, phi.shape[2]), sampled.ravel())
    else:
        phi = feature_matrix(mdp, features)
        blocks = np.stack([_projection(phi, sampled[:, a]) for a in range(mdp.n_actions)])
    r = model.action_rewards(mdp)
    c, d = weighting.rewards, weighting.bootstraps
    weights = np.zeros((*blocks.shape[:-1], weighting.horizon))
    v = np.zeros(mdp.n_states)
    for h in range(weighting.horizon):
        target = c[h] * r + d[h] * model.next_values(mdp, v)
        if joint:
            w = blocks @ target.ravel()
            q = phi @ w
        else:
            w = np.einsum("afs,sa->af", blocks, target)
            q = phi @ w.T
        v = q.max(axis=1)
        weights[..., h] = w
    return weights


def _projection(phi: Floats, sampled: Floats) -> Floats:
    """The matrix that turns targets into the least-norm weights nearest to them under D."""
    root = np.sqrt(sampled)
    # The pseudo-inverse of D^(1/2) Phi, since that of Phi' D Phi would square its condition.
    negligible = max(phi.shape) * np.finfo(np.float64).eps
    inverse = np.linalg.pinv(root[:, None] * phi, rcond=negligible)
    return np.asarray(inverse * root, np.float64)
