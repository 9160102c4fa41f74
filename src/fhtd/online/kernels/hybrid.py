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

from fhtd.online.kernels.compiled import Array, compiled, inlined
from fhtd.online.kernels.dispatch import kernel
from fhtd.online.kernels.one_step import next_action_values
from fhtd.online.kernels.transition import Transition, forget_window, keep_active


class Hybrid(NamedTuple):
    """State of hybrid and n-step control; with a single action, of prediction."""

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
    following: Array
    error: Array
    window_indices: Array
    window_values: Array
    window_actions: Array
    window_rewards: Array
    window_ratios: Array
    #: [0]: states pending; [1]: slot of the newest.
    cursor: Array


@inlined
def _move_columns(
    state: Hybrid, slot: int, factor: float, first: int, last: int, watch: bool
) -> float:
    """Move columns first..last-1 of a pending state towards the targets that `error` holds."""
    weights, error = state.weights, state.error
    offset = state.window_actions[slot] * state.n_features
    n_active = state.window_indices.shape[1]
    for i in range(n_active):
        row, value = offset + state.window_indices[slot, i], state.window_values[slot, i]
        for j in range(first, last):
            error[j] -= value * weights[row, j]
    probe = weights[0, 0] * 0
    for i in range(n_active):
        row = offset + state.window_indices[slot, i]
        share = factor * state.window_values[slot, i]
        if watch:
            for j in range(first, last):
                weights[row, j] += share * error[j]
                probe += weights[row, j] * 0
        else:
            for j in range(first, last):
                weights[row, j] += share * error[j]
    return probe


@inlined
def _sum_rewards(state: Hybrid, slot: int, length: int, first: int, last: int) -> float:
    """error[j] = the weighted sum of `length` rewards; returns the product of their ratios."""
    n, error, rewards = state.window_rewards.shape[0], state.error, state.rewards
    total = error[0] * 0
    product = 1.0
    if state.is_constant:
        for k in range(length):
            total += rewards[k, last - 1] * state.window_rewards[slot]
            product *= state.window_ratios[slot]
            slot = slot + 1 if slot + 1 < n else 0
    for j in range(first, last):
        error[j] = total
    if not state.is_constant:
        for k in range(length):
            reward = state.window_rewards[slot]
            product *= state.window_ratios[slot]
            for j in range(first, last):
                error[j] += rewards[k, j] * reward
            slot = slot + 1 if slot + 1 < n else 0
    return product


@inlined
def _slot(state: Hybrid, length: int) -> int:
    """Where the state is kept that has so many rewards by now."""
    slot: int = state.cursor[1] - length + 1
    return slot if slot >= 0 else slot + state.window_rewards.shape[0]


@inlined
def _back_up_full(state: Hybrid, terminated: bool, step_size: float, watch: bool) -> float:
    """Update the full columns of the oldest pending state, then forget it."""
    n, columns = state.rewards.shape
    error, following, factors = state.error, state.following, state.bootstraps
    first, slot = state.full_from, _slot(state, n)
    product = _sum_rewards(state, slot, n, first, columns)
    if not terminated:
        if state.in_order:
            for j in range(first, columns):
                error[j] += factors[n, j] * following[j - 1]
        else:
            for j in range(first, columns):
                error[j] += factors[n, j] * following[state.sources[n, j]]
    state.cursor[0] = n - 1
    return _move_columns(state, slot, step_size * product, first, columns, watch)


@inlined
def _back_up_partial(
    state: Hybrid, j: int, terminated: bool, step_size: float, watch: bool
) -> float:
    """Update one column between: its state is as many steps back as it sums rewards."""
    length = state.lengths[j]
    slot = _slot(state, length)
    product = _sum_rewards(state, slot, length, j, j + 1)
    if not terminated:
        source = state.sources[length, j]
        state.error[j] += state.bootstraps[length, j] * state.following[source]
    return _move_columns(state, slot, step_size * product, j, j + 1, watch)


@compiled
def _cut_short(state: Hybrid, terminated: bool, step_size: float, watch: bool) -> float:
    """At the end of an episode, update what pending states have not had yet, oldest first.

    A termination leaves them the rewards they have. A time limit needs the value of the last state
    at the horizon that is left over; where that is not learned, the state is dropped.
    """
    columns, error = state.error.shape[0], state.error
    probe = state.weights[0, 0] * 0
    for length in range(state.cursor[0], 0, -1):
        slot = _slot(state, length)
        for j in range(state.partial_from, columns):
            source = state.sources[length, j] if length < state.lengths[j] else -1
            if length < state.lengths[j] and (terminated or source >= 0):
                product = _sum_rewards(state, slot, length, j, j + 1)
                if not terminated:
                    error[j] += state.bootstraps[length, j] * state.following[source]
                probe += _move_columns(state, slot, step_size * product, j, j + 1, watch)
    state.cursor[0] = 0
    return probe


@compiled
def _forget_window(state: Hybrid) -> None:
    forget_window(state.cursor)


@kernel(Hybrid, _forget_window)
@inlined
def hybrid_update(state: Hybrid, seen: Transition, rates: Array) -> float:
    """Q^h(S, A) moves towards m rewards and then max over a of Q^(h-m)(S_{t+m}, a)."""
    n = state.rewards.shape[0]
    step_size, cursor, near = rates[0], state.cursor, state.partial_from
    newest = cursor[1] + 1 if cursor[1] + 1 < n else 0
    cursor[1] = newest
    cursor[0] += 1
    keep_active(state.window_indices, state.window_values, newest, seen)
    # State values are those of a single action, whichever was taken.
    state.window_actions[newest] = min(seen.action, state.n_actions - 1)
    state.window_rewards[newest] = seen.reward
    state.window_ratios[newest] = seen.ratio
    weights, error, following = state.weights, state.error, state.following
    if not seen.terminated:
        next_action_values(weights, state.n_actions, state.n_features, seen, following, error)
    for j in range(1, near):
        error[j] = state.rewards[0, j] * seen.reward
    if not seen.terminated:
        for j in range(1, near):
            error[j] += state.bootstraps[1, j] * following[j - 1]
    probe = _move_columns(state, newest, step_size * seen.ratio, 1, near, seen.watch)
    for j in range(near, state.full_from):
        if cursor[0] >= state.lengths[j]:
            probe += _back_up_partial(state, j, seen.terminated, step_size, seen.watch)
    if cursor[0] == n:
        probe += _back_up_full(state, seen.terminated, step_size, seen.watch)
    if seen.terminated or seen.truncated:
        probe += _cut_short(state, seen.terminated, step_size, seen.watch)
    return probe
