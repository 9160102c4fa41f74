"""The ordinary differential equation behind linear FHQ-learning, and the bound of Proposition 1.

In the mean, weights theta under a fixed behaviour policy move along

    d theta^(h+1) / dt = E[(c R + d max_a Q^h(S', a) - Q^(h+1)(S, A)) phi(S, A)]

Its equilibrium theta_e is `linear_control_fixed_point`. The paper proves it globally stable where

    d^2 E[(max_a Q^h(S', a) - max_a Q_e^h(S', a))^2] < E[(Q^(h+1)(S, A) - Q_e^(h+1)(S, A))^2]

for every h. No MDP satisfies that for all weights: put horizon h + 1 at its equilibrium and horizon
h elsewhere, and the right side is 0. It can hold along a path.
"""

import numpy as np
import numpy.typing as npt

from fhtd import checks
from fhtd.features import StateFeatures
from fhtd.mdp import FiniteMDP
from fhtd.oracle import model
from fhtd.oracle.linear import feature_matrix, linear_control_fixed_point, sampling_distribution
from fhtd.weighting import Weighting

Floats = npt.NDArray[np.float64]


def mean_path(
    mdp: FiniteMDP,
    features: StateFeatures | npt.ArrayLike,
    behaviour: npt.ArrayLike,
    weighting: Weighting,
    times: npt.ArrayLike,
    *,
    initial: npt.ArrayLike = 0.0,
    distribution: npt.ArrayLike | None = None,
    accuracy: float = 0.1,
) -> Floats:
    """The weights on the way of the differential equation: (times, actions, features, horizons).

    Integrated by Heun's rule in steps that are short against the fastest motion.

    Args:
        mdp: The MDP.
        features: (states, features), or features of its integer states.
        behaviour: (states, actions) probabilities that actions are sampled with.
        weighting: The pair (c, d), as `Weighting.check_control` wants it.
        times: When to look, ascending from 0: sums of step sizes.
        initial: The weights at time 0, which broadcast to (actions, features, horizons).
        distribution: The probability of sampling each state; the behaviour's stationary one if
            None.
        accuracy: Length of a step as a share of the fastest motion's time.

    Raises:
        ValueError: If the times do not ascend, or an argument does not fit the MDP.

    >>> import numpy as np
    >>> from fhtd import Weighting, oracle, problems
    >>> walk, weighting = problems.random_walk(3), Weighting.exponential(2)
    >>> world = walk.mdp, np.eye(walk.mdp.n_states), walk.behaviour, weighting
    >>> path = oracle.mean_path(*world, [0.0, 500.0])
    >>> exact = oracle.linear_control_fixed_point(*world)
    >>> [bool(abs(weights - exact).max() < 1e-6) for weights in path]
    [False, True]
    """
    weighting.check_control()
    moments = checks.array("times", times, (None,))
    if len(moments) < 1 or moments[0] < 0 or np.any(np.diff(moments) <= 0):
        raise ValueError("times must ascend from at least 0")
    accuracy = checks.positive("accuracy", accuracy)
    phi, sampled = _sampled(mdp, features, behaviour, distribution)
    shape = (mdp.n_actions, phi.shape[1], weighting.horizon)
    theta = np.array(np.broadcast_to(checks.array("initial", initial), shape))
    # E[phi phi'] of each action: its largest eigenvalue is the fastest motion.
    second = np.einsum("sa,sf,sg->afg", sampled, phi, phi)
    longest = accuracy / float(np.linalg.eigvalsh(second).max())
    # E[R phi] of every horizon, and E[phi; S' = s] of every action and state.
    pull = np.einsum("sa,sa,sf,h->afh", sampled, model.action_rewards(mdp), phi, weighting.rewards)
    goes_to = np.zeros((mdp.n_states, mdp.n_actions, mdp.n_states))
    for outcome in range(mdp.rewards.shape[2]):
        chance = model.continuing_probabilities(mdp)[:, :, outcome]
        at = mdp.next_states[:, :, outcome]
        np.add.at(goes_to, (*np.indices(at.shape), at), chance)
    onward = np.einsum("sa,san,sf->afn", sampled, goes_to, phi)

    def slope(w: Floats) -> Floats:
        best = (phi @ w).max(axis=0) * weighting.bootstraps[[*range(1, weighting.horizon), 0]]
        best = np.concatenate([np.zeros((len(best), 1)), best[:, :-1]], axis=1)
        return np.asarray(pull + onward @ best - second @ w)

    kept, now = [], 0.0
    for moment in moments.tolist():
        count = int(np.ceil((moment - now) / longest))
        for _ in range(count):
            step = (moment - now) / count
            first = slope(theta)
            theta = theta + step / 2 * (first + slope(theta + step * first))
        now = moment
        kept.append(theta)
    return np.array(kept)


def ode_bound(
    mdp: FiniteMDP,
    features: StateFeatures | npt.ArrayLike,
    behaviour: npt.ArrayLike,
    weighting: Weighting,
    weights: npt.ArrayLike,
    distribution: npt.ArrayLike | None = None,
) -> tuple[Floats, Floats]:
    """Both sides of Proposition 1's bound for given weights, for h = 1, ..., H - 1.

    Args:
        mdp: The MDP.
        features: (states, features), or features of its integer states.
        behaviour: (states, actions) probabilities that actions are sampled with.
        weighting: The pair (c, d), as `Weighting.check_control` wants it.
        weights: (actions, features, horizons), as `mean_path` gives them.
        distribution: The probability of sampling each state; the behaviour's stationary one if
            None.

    Returns:
        The left side, which must be the smaller, and the right side: (horizons - 1,) each.

    Raises:
        ValueError: If an argument does not fit the MDP.

    >>> import numpy as np
    >>> from fhtd import Weighting, oracle, problems
    >>> walk = problems.random_walk(3)
    >>> states, rewards = np.eye(walk.mdp.n_states), Weighting.exponential(3, 0.9)
    >>> world = walk.mdp, states, walk.behaviour, rewards
    >>> left, right = oracle.ode_bound(*world, oracle.mean_path(*world, [1.0])[0])
    >>> left.shape, bool((left < right).all())
    ((2,), True)
    """
    phi, sampled = _sampled(mdp, features, behaviour, distribution)
    shape = (mdp.n_actions, phi.shape[1], weighting.horizon)
    theta = checks.array("weights", weights, shape)
    equilibrium = linear_control_fixed_point(mdp, phi, behaviour, weighting, distribution)
    q, q_e = (np.einsum("sf,afh->sah", phi, w) for w in (theta, equilibrium))
    gap = (q.max(axis=1) - q_e.max(axis=1))[:, :-1] ** 2
    continuing = model.continuing_probabilities(mdp)
    ahead = np.einsum("sa,sak,sakh->h", sampled, continuing, gap[mdp.next_states])
    right = np.einsum("sa,sah->h", sampled, ((q - q_e) ** 2)[:, :, 1:])
    return weighting.bootstraps[1:] ** 2 * ahead, right


def _sampled(
    mdp: FiniteMDP,
    features: StateFeatures | npt.ArrayLike,
    behaviour: npt.ArrayLike,
    distribution: npt.ArrayLike | None,
) -> tuple[Floats, Floats]:
    """Features by state, and the chance of each state and action."""
    mu = model.checked_policy(mdp, behaviour, "behaviour")
    phi = feature_matrix(mdp, features)
    return phi, sampling_distribution(mdp, mu, distribution)[:, None] * mu
