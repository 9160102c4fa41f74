"""Fixed-horizon targets over a trajectory, for every horizon at once; NumPy or JAX arrays.

All are one recursion, G^h_t = c_h R_{t+1} + d_h U^(h-1)_{t+1} with U^0 = 0, and differ in what U
is: the value of the next state (one-step), the target of the next step (Monte Carlo), the first
after n of the second (n-step), or a mixture of both (lambda).

| here                   | paper                                                            |
|------------------------|------------------------------------------------------------------|
| rewards[t]             | R_{t+1}                                                          |
| next_values[t, h-1]    | V^h(S_{t+1}); for control max_a Q^h(S_{t+1}, a)                  |
| terminated[t]          | S_{t+1} is terminal and worth 0                                  |
| truncated[t]           | S_{t+1} is the last state seen of an episode: bootstrap there    |
| result[t, h-1]         | target for V^h(S_t)                                              |

Time is the first axis, the horizon the last. The end of the arrays counts as a truncation.
"""

from typing import Any

import numpy as np

from fhtd import checks
from fhtd.weighting import Weighting

Array = Any


def one_step(
    weighting: Weighting, rewards: Array, next_values: Array, terminated: Array | None = None
) -> Array:
    """c_h R_{t+1} + d_h V^(h-1)(S_{t+1}): Eq. one-step FHTD and FHQ-learning targets.

    Args:
        weighting: The pair (c, d).
        rewards: R_{t+1} of every step, time first.
        next_values: V^h(S_{t+1}) of every step, the horizon last.
        terminated: Where S_{t+1} is terminal and worth 0; nowhere by default.

    Returns:
        (steps, horizons) targets.

    Raises:
        ValueError: The shapes do not fit together.

    >>> import numpy as np
    >>> from fhtd import Weighting, targets
    >>> rewards, next_values = np.array([1.0, 2.0]), np.full((2, 3), 10.0)
    >>> targets.one_step(Weighting.exponential(3), rewards, next_values).tolist()
    [[1.0, 11.0, 11.0], [2.0, 12.0, 12.0]]
    """
    xp, rewards, values, continues, _ = _prepare(weighting, rewards, next_values, terminated, None)
    return _back_up(xp, weighting, rewards, continues, values)


def long_step(
    weighting: Weighting,
    durations: Array,
    rewards: Array,
    next_values: Array,
    terminated: Array | None = None,
) -> Array:
    """Transitions that took several steps each: min(D, h) rewards, then V^(h-D)(S').

    Temporal abstraction: an option, a repeated action or skipped frames are one transition.

    Args:
        weighting: The pair (c, d).
        durations: D of each transition, from 1 to the last axis of the rewards.
        rewards: (transitions, longest) rewards in order; those after D steps are not looked at.
        next_values: V^h(S') of every transition, the horizon last.
        terminated: Where S' is terminal and worth 0; nowhere by default.

    Returns:
        (transitions, horizons) targets.

    Raises:
        ValueError: The shapes do not fit together, or a duration is out of range.

    >>> import numpy as np
    >>> from fhtd import Weighting, targets
    >>> rewards, next_values = np.array([[1.0, 2.0]]), np.array([[10.0, 20.0, 30.0]])
    >>> targets.long_step(Weighting.exponential(3), np.array([2]), rewards, next_values).tolist()
    [[1.0, 3.0, 13.0]]
    """
    xp = _namespace(rewards, next_values, durations, terminated)
    rewards, durations = xp.asarray(rewards) * 1.0, xp.asarray(durations)
    if rewards.ndim != 2 or durations.shape != rewards.shape[:1]:
        raise ValueError(
            "durations must have one entry for each of the (transitions, longest) rewards, got "
            f"shapes {durations.shape} and {rewards.shape}"
        )
    whole = xp.issubdtype(durations.dtype, xp.integer)
    inside = xp is not np or not (np.any(durations < 1) or np.any(durations > rewards.shape[1]))
    if not (whole and inside):
        raise ValueError(f"durations must be integers from 1 to {rewards.shape[1]}")
    first = rewards[:, 0]
    xp, _, values, continues, _ = _prepare(weighting, first, next_values, terminated, None)
    target = continues[:, None] * values
    for k in range(rewards.shape[1] - 1, -1, -1):
        longer = _back_up(xp, weighting, rewards[:, k], xp.ones_like(first), target)
        target = xp.where((k < durations)[:, None], longer, target)
    return target


def n_step(
    weighting: Weighting,
    n: int,
    rewards: Array,
    next_values: Array,
    terminated: Array | None = None,
    truncated: Array | None = None,
) -> Array:
    """Eq. n-step FHTD target: min(n, h) rewards, then the value of the horizon that is left.

    Fewer rewards where the episode ends sooner.

    Args:
        weighting: The pair (c, d).
        n: How many rewards to sum before bootstrapping.
        rewards: R_{t+1} of every step, time first.
        next_values: V^h(S_{t+1}) of every step, the horizon last.
        terminated: Where S_{t+1} is terminal and worth 0; nowhere by default.
        truncated: Where an episode was cut after S_{t+1}: the target bootstraps there.

    Returns:
        (steps, horizons) targets.

    Raises:
        ValueError: The shapes do not fit together.

    >>> import numpy as np
    >>> from fhtd import Weighting, targets
    >>> rewards, next_values = np.array([1.0, 2.0, 4.0]), np.full((3, 3), 10.0)
    >>> targets.n_step(Weighting.exponential(3), 2, rewards, next_values)[0].tolist()
    [1.0, 3.0, 13.0]
    """
    n = checks.integer("n", n, 1)
    xp, rewards, values, continues, cut = _prepare(
        weighting, rewards, next_values, terminated, truncated
    )
    target = _back_up(xp, weighting, rewards, continues, values)
    for _ in range(min(n, weighting.horizon) - 1):
        later = xp.concatenate([target[1:], values[-1:]])
        target = _back_up(xp, weighting, rewards, continues, xp.where(cut, values, later))
    return target


def lambda_returns(
    weighting: Weighting,
    lambda_: float,
    rewards: Array,
    next_values: Array,
    terminated: Array | None = None,
    truncated: Array | None = None,
) -> Array:
    """Eq. FHTD(lambda) return of all horizons by one backward pass, O(T H).

    Args:
        weighting: The pair (c, d).
        lambda_: From 0, one step, to 1, Monte Carlo.
        rewards: R_{t+1} of every step, time first.
        next_values: V^h(S_{t+1}) of every step, the horizon last.
        terminated: Where S_{t+1} is terminal and worth 0; nowhere by default.
        truncated: Where an episode was cut after S_{t+1}: the return bootstraps there.

    Returns:
        (steps, horizons) returns.

    Raises:
        ValueError: The shapes do not fit together.

    >>> import numpy as np
    >>> from fhtd import Weighting, targets
    >>> weighting, rewards = Weighting.exponential(2), np.array([1.0, 2.0])
    >>> for lambda_ in (0.0, 0.5, 1.0):
    ...     targets.lambda_returns(weighting, lambda_, rewards, np.full((2, 2), 10.0))[0].tolist()
    [1.0, 11.0]
    [1.0, 7.0]
    [1.0, 3.0]
    """
    if isinstance(lambda_, (int, float)):
        lambda_ = checks.real("lambda_", lambda_, 0, 1)
    xp, rewards, values, continues, cut = _prepare(
        weighting, rewards, next_values, terminated, truncated
    )

    def earlier(later: Array, step: tuple[Array, Array, Array, Array]) -> Array:
        reward, value, goes_on, is_cut = step
        ahead = xp.where(is_cut, value, (1 - lambda_) * value + lambda_ * later)
        return _back_up(xp, weighting, reward, goes_on, ahead)

    return _scan_backward(xp, earlier, values[-1], (rewards, values, continues, cut))


def monte_carlo(
    weighting: Weighting,
    rewards: Array,
    terminated: Array | None = None,
    truncated: Array | None = None,
) -> tuple[Array, Array]:
    """Weighted sums of the h rewards that follow, and whether all of them were seen.

    A sum that ends at a termination is complete; one that ends at a truncation is not.

    Args:
        weighting: The pair (c, d).
        rewards: R_{t+1} of every step, time first.
        terminated: Where S_{t+1} is terminal; nowhere by default.
        truncated: Where an episode was cut after S_{t+1}.

    Returns:
        (steps, horizons) sums, and (steps, horizons) booleans.

    >>> import numpy as np
    >>> from fhtd import Weighting, targets
    >>> sums, whole = targets.monte_carlo(Weighting.exponential(2), np.array([1.0, 2.0]))
    >>> sums.tolist(), whole.tolist()
    ([[1.0, 3.0], [2.0, 2.0]], [[True, True], [True, False]])
    """
    xp = _namespace(rewards)
    rewards = xp.asarray(rewards) * 1.0
    zeros = xp.zeros((*rewards.shape, weighting.horizon), rewards.dtype)
    sums = lambda_returns(weighting, 1.0, rewards, zeros, terminated, truncated)
    # The same recursion counts what is missing: 1 for every horizon cut off by a truncation.
    count = Weighting(np.zeros(weighting.horizon), np.ones(weighting.horizon))
    ones = xp.ones((*rewards.shape, weighting.horizon), rewards.dtype)
    missing = lambda_returns(count, 1.0, 0 * rewards, ones, terminated, truncated)
    return sums, missing == 0


def weighted_sums(weights: Array, rewards: Array) -> Array:
    """sum_k w_k R_{t+1+k} at every step of a whole episode, after which nothing comes.

    Args:
        weights: w_k, the weight of the reward k steps after the next.
        rewards: All rewards of the episode.

    Returns:
        (steps,) sums.

    >>> from fhtd import targets
    >>> targets.weighted_sums([1.0, 0.5], [4.0, 2.0, 8.0]).tolist()
    [5.0, 6.0, 8.0]
    """
    nothing = np.zeros(max(len(weights) - 1, 0))
    # NumPy's correlation takes the conjugate of its second argument.
    return np.correlate(np.concatenate([rewards, nothing]), np.conj(weights), "valid")


def _back_up(
    xp: Any, weighting: Weighting, rewards: Array, continues: Array, following: Array
) -> Array:
    """c_h R + d_h U^(h-1), with U^0 = 0."""
    shorter = xp.concatenate([xp.zeros_like(following[..., :1]), following[..., :-1]], axis=-1)
    c, d = xp.asarray(weighting.rewards), xp.asarray(weighting.bootstraps)
    return c * rewards[..., None] + d * (continues[..., None] * shorter)


def _scan_backward(xp: Any, earlier: Any, last: Array, steps: tuple[Array, ...]) -> Array:
    """Results of carrying `last` backward through the steps, in forward order."""
    if xp is not np:
        import jax

        def body(later: Array, step: tuple[Array, ...]) -> tuple[Array, Array]:
            result = earlier(later, step)
            return result, result

        first = earlier(last, tuple(array[-1] for array in steps))
        rest = tuple(array[:-1] for array in steps)
        _, results = jax.lax.scan(body, first, rest, reverse=True)
        return xp.concatenate([results, first[None]])
    results = []
    later = last
    for t in reversed(range(len(steps[0]))):
        later = earlier(later, tuple(array[t] for array in steps))
        results.append(later)
    return np.stack(results[::-1])


def _prepare(
    weighting: Weighting,
    rewards: Array,
    next_values: Array,
    terminated: Array | None,
    truncated: Array | None,
) -> tuple[Any, Array, Array, Array, Array]:
    """Arrays of one library: rewards, values, 1 where S' counts, and where episodes are cut."""
    if not isinstance(weighting, Weighting):
        raise TypeError(f"weighting must be a Weighting, got {weighting!r}")
    xp = _namespace(rewards, next_values, terminated, truncated)
    rewards, values = xp.asarray(rewards) * 1.0, xp.asarray(next_values)
    if rewards.ndim < 1 or rewards.shape[0] < 1:
        raise ValueError(f"rewards must have at least one step, got shape {rewards.shape}")
    expected = (*rewards.shape, weighting.horizon)
    if values.shape != expected:
        raise ValueError(f"next_values must have shape {expected}, got {values.shape}")
    ends = _flags(xp, "terminated", terminated, rewards.shape)
    cuts = _flags(xp, "truncated", truncated, rewards.shape)
    last = xp.arange(rewards.shape[0]) == rewards.shape[0] - 1
    last = last.reshape((-1,) + (1,) * (rewards.ndim - 1))
    cut = (ends | cuts | last)[..., None]
    continues = xp.where(ends, 0.0, 1.0)
    return xp, rewards, values, continues.astype(rewards.dtype), cut


def _flags(xp: Any, name: str, given: Array | None, shape: tuple[int, ...]) -> Array:
    """True or False of every step, from those or from 1 and 0."""
    if given is None:
        return xp.zeros(shape, bool)
    found = xp.asarray(given)
    if found.shape != shape:
        raise ValueError(f"{name} must have shape {shape}, got {found.shape}")
    if xp is not np and not xp.issubdtype(found.dtype, xp.integer) and found.dtype != bool:
        raise ValueError(f"{name} must be True or False of every step, got {found.dtype}")
    flags = found.astype(bool)
    # What counts in part is `continuation` elsewhere; as a flag it would end the episode.
    if xp is np and np.any(flags != found):
        raise ValueError(f"{name} must be True or False of every step, got {found}")
    return flags


def _namespace(*arrays: Array) -> Any:
    """jax.numpy where any array is JAX's (traced ones too), else NumPy."""
    for array in arrays:
        if type(array).__module__.partition(".")[0] in ("jax", "jaxlib"):
            import jax.numpy

            return jax.numpy
    return np
