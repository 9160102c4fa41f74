"""Hybrid FHTD and FHQ: the first k horizons one-step, from there n-step (appendix).

Columns hold the learned horizons, ascending. Horizon h of a state is updated as soon as the m
rewards that its target sums have come:

| horizons      | m     | columns                     |
|---------------|-------|-----------------------------|
| 1, ..., k     | 1     | before `partial_from`       |
| k < h < k + n | h - k | from there to `full_from`   |
| the others    | n     | from there on               |

All targets of a transition use the values from before it.
"""

from typing import NamedTuple

import numpy as np

from fhtd.online.kernels.compiled import Array, compiled, inlined
from fhtd.online.kernels.dispatch import kernel
from fhtd.online.kernels.one_step import largest, next_action_values
from fhtd.online.kernels.transition import Transition, forget_window, keep_active, scale


class Hybrid(NamedTuple):
    """State of hybrid and n-step control, and of prediction, which has a single action."""

    weights: Array
    #: [k, j]: weight of the reward k+1 steps ahead in the target of column j.
    rewards: Array
    #: [m, j]: factor of the value m steps ahead.
    bootstraps: Array
    #: [m, j]: the column whose value that is, or -1 where that horizon is not learned.
    sources: Array
    #: [j]: how many rewards the full target sums.
    lengths: Array
    partial_from: int
    full_from: int
    #: Whether every full column bootstraps from the one before it.
    in_order: bool
    #: c and d are the same for every horizon, so that one sum of rewards serves all columns.
    is_constant: bool
    n_actions: int
    n_features: int
    is_control: bool
    following: Array
    error: Array
    window_indices: Array
    window_values: Array
    window_actions: Array
    window_rewards: Array
    window_ratios: Array
    window_continuations: Array
    #: [0]: states pending; [1]: slot of the newest.
    cursor: Array


@inlined
def _slot(state: Hybrid, length: int) -> int:
    """Where the state is kept that has so many rewards by now."""
    slot: int = state.cursor[1] - length + 1
    return slot if slot >= 0 else slot + state.window_rewards.shape[0]


@inlined
def _own_ratio(state: Hybrid, slot: int) -> float:
    """The ratio of the action whose value it is: action values are given it, and need none."""
    return 1.0 if state.is_control else state.window_ratios[slot]


@inlined
def _back_up_row(
    state: Hybrid, slot: int, length: int, first: int, last: int, ends: bool, step_size: float
) -> None:
    """`_back_up` of a single active feature under a constant weighting, in one pass."""
    n, final = state.window_rewards.shape[0], state.rewards.shape[1] - 1
    # From the last reward back to the first, which is the state's own.
    at, alive = state.cursor[1], 1.0
    weight, discount = state.rewards[0, final], state.bootstraps[1, final]
    gain, product = weight * state.window_rewards[at], 1.0
    for _ in range(1, length):
        product *= state.window_ratios[at]
        at = at - 1 if at > 0 else n - 1
        continuation = state.window_continuations[at]
        gain = weight * state.window_rewards[at] + (discount * continuation) * gain
        alive *= continuation
    product *= _own_ratio(state, slot)
    i = state.window_actions[slot] * state.n_features + state.window_indices[slot, 0]
    value = state.window_values[slot, 0]
    factor = step_size * product * value
    # Slices: an index that might be negative keeps a loop from being vectorised.
    row = state.weights[i, first:last]
    if ends:
        for j in range(row.shape[0]):
            row[j] += factor * (gain - value * row[j])
    else:
        before = state.following[first - 1 : last - 1]
        share = alive * state.bootstraps[length, final]
        for j in range(row.shape[0]):
            row[j] += factor * (gain + share * before[j] - value * row[j])


@inlined
def _sum_rewards(
    state: Hybrid, slot: int, length: int, first: int, last: int
) -> tuple[float, float]:
    """error[j] = the weighted sum of `length` rewards.

    Returns the product of their ratios, and how much of what follows them counts, but for what
    the newest transition says of that: `following` is scaled by it.
    """
    n, error = state.window_rewards.shape[0], state.error[first:last]
    product, alive = _own_ratio(state, slot), 1.0
    for j in range(error.shape[0]):
        error[j] = 0
    for k in range(length):
        reward, weighed = alive * state.window_rewards[slot], state.rewards[k, first:last]
        if k:
            product *= state.window_ratios[slot]
        if k + 1 < length:
            alive *= state.window_continuations[slot]
        for j in range(error.shape[0]):
            error[j] += weighed[j] * reward
        slot = slot + 1 if slot + 1 < n else 0
    return product, alive


@inlined
def _move_columns(
    state: Hybrid, slot: int, factor: float, first: int, last: int, watch: bool
) -> float:
    """Move columns first..last-1 of a pending state towards the targets that `error` holds.

    Returns as `add_row`.
    """
    weights, n_active = state.weights, state.window_indices.shape[1]
    offset = state.window_actions[slot] * state.n_features
    error = state.error[first:last]
    for i in range(n_active):
        row = weights[offset + state.window_indices[slot, i], first:last]
        value = state.window_values[slot, i]
        for j in range(error.shape[0]):
            error[j] -= value * row[j]
    lost = 0
    for i in range(n_active):
        row = weights[offset + state.window_indices[slot, i], first:last]
        share = factor * state.window_values[slot, i]
        if watch:
            for j in range(error.shape[0]):
                row[j] += share * error[j]
                lost += 0 if row[j] * 0 == 0 else 1
        else:
            for j in range(error.shape[0]):
                row[j] += share * error[j]
    return np.nan if lost else 0.0


@inlined
def _back_up(
    state: Hybrid,
    length: int,
    first: int,
    last: int,
    in_order: bool,
    ends: bool,
    step_size: float,
    watch: bool,
) -> float:
    """Update columns first..last-1 of the state that has `length` rewards by now.

    In order, each bootstraps from the column before it. After an end, from nothing.
    """
    slot = _slot(state, length)
    is_row = state.window_indices.shape[1] == 1 and not watch
    if is_row and state.is_constant and (in_order or ends):
        _back_up_row(state, slot, length, first, last, ends, step_size)
        return 0.0
    product, alive = _sum_rewards(state, slot, length, first, last)
    if not ends:
        error, following = state.error[first:last], state.following
        factors, sources = state.bootstraps[length, first:last], state.sources[length, first:last]
        if in_order:
            before = following[first - 1 : last - 1]
            for j in range(error.shape[0]):
                error[j] += factors[j] * (alive * before[j])
        else:
            for j in range(error.shape[0]):
                error[j] += factors[j] * (alive * following[sources[j]])
    return _move_columns(state, slot, step_size * product, first, last, watch)


@compiled
def _cut_short(state: Hybrid, terminated: bool, step_size: float, watch: bool) -> float:
    """At the end of an episode, update what pending states have not had yet, oldest first.

    A termination leaves them the rewards they have. A time limit needs the value of the last state
    at the horizon that is left over; where that is not learned, the state is dropped.
    """
    columns = state.error.shape[0]
    probe = 0.0
    for length in range(state.cursor[0], 0, -1):
        first = state.partial_from
        while first < columns and state.lengths[first] <= length:
            first += 1
        if terminated:
            probe += _back_up(state, length, first, columns, False, True, step_size, watch)
        else:
            for j in range(first, columns):
                if state.sources[length, j] >= 0:
                    probe += _back_up(state, length, j, j + 1, False, False, step_size, watch)
    state.cursor[0] = 0
    return probe


@compiled
def _forget_window(state: Hybrid) -> None:
    forget_window(state.cursor)


@kernel(Hybrid, _forget_window)
@inlined
def hybrid_update(state: Hybrid, seen: Transition, rates: Array) -> float:
    """Q^h(S, A) moves towards m rewards and then max over a of Q^(h-m)(S_{t+m}, a)."""
    n, columns = state.rewards.shape
    step_size, cursor, near, full = rates[0], state.cursor, state.partial_from, state.full_from
    ends, watch = seen.terminated, seen.watch
    newest = cursor[1] + 1 if cursor[1] + 1 < n else 0
    cursor[1] = newest
    cursor[0] += 1
    keep_active(state.window_indices, state.window_values, newest, seen)
    # State values are those of a single action, whichever was taken.
    state.window_actions[newest] = min(seen.action, state.n_actions - 1)
    state.window_rewards[newest] = seen.reward
    state.window_ratios[newest] = seen.ratio
    state.window_continuations[newest] = seen.continuation
    if not ends:
        if seen.indices.shape[1] == 1 and seen.next_policy.shape[0] == 0:
            i, factor = seen.indices[seen.next_row, 0], seen.values[seen.next_row, 0]
            following, room = state.following, state.error
            largest(state.weights, state.n_actions, state.n_features, i, factor, following, room)
            scale(following, seen.continuation)
        else:
            next_action_values(
                state.weights,
                state.n_actions,
                state.n_features,
                seen,
                state.following,
                state.error,
            )
    probe = _back_up(state, 1, 1, near, True, ends, step_size, watch)
    for j in range(near, full):
        if cursor[0] >= state.lengths[j]:
            length = state.lengths[j]
            probe += _back_up(state, length, j, j + 1, False, ends, step_size, watch)
    if cursor[0] == n:
        probe += _back_up(state, n, full, columns, state.in_order, ends, step_size, watch)
        cursor[0] = n - 1
    if ends or seen.truncated:
        probe += _cut_short(state, ends, step_size, watch)
    return probe
