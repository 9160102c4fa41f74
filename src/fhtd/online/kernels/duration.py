"""Temporal abstraction: one update from a transition that took several steps, of an option say.

    G^h = sum_{k<m} (prod_{j<k} d_{h-j}) c_{h-k} R_{t+k+1} + (prod_{j<D} d_{h-j}) V^(h-D)(S_{t+D})

with m = min(D, h), and V^(h-D) = 0 where h <= D: what comes after horizon h does not count.
"""

from collections.abc import Callable
from typing import Any

from fhtd.online.kernels.compiled import (
    Array,
    add_rows,
    compiled,
    inlined,
    move_row,
    read_rows,
)
from fhtd.online.kernels.dispatch import DIVERGED, LEARNED, refusal
from fhtd.online.kernels.one_step import OneStep, OneStepControl, next_action_values
from fhtd.online.kernels.transition import Transition, scale


@inlined
def _constant_targets(
    out: Array, following: Array, rewards: Array, terminated: bool, state: Any, base: int
) -> None:
    """Where c and d are the same for every horizon: one sum for all longer horizons, O(H + D).

    Column j is horizon base + j.
    """
    duration, columns = rewards.shape[0], out.shape[0]
    c, d = state.rewards[1], state.bootstraps[1]
    total, factor = c * 0, c * 0 + 1
    for m in range(1, duration + 1):
        total += factor * (c * rewards[m - 1])
        factor *= d
        if state.shift and m < duration and base < m < base + columns:
            out[m - base] = total
    # A value that bootstraps from itself has no horizon, and counts all rewards.
    first = max(1, duration - base) if state.shift else 1
    back = duration if state.shift else 0
    reached = columns if terminated else min(max(first, back), columns)
    for j in range(first, reached):
        out[j] = total
    # Slices: an index that might be negative keeps a loop from being vectorised.
    longer = out[reached:]
    before = following[max(reached - back, 0) :]
    for j in range(longer.shape[0]):
        longer[j] = total + factor * before[j]


@compiled
def _targets(
    out: Array, following: Array, rewards: Array, terminated: bool, c: Array, d: Array
) -> None:
    """The same for any weighting, by one backup after another, O(H D)."""
    for h in range(out.shape[0]):
        out[h] = 0 if terminated else following[h]
    for k in range(rewards.shape[0] - 1, -1, -1):
        # From the last horizon down, each reads only what is not yet written.
        for h in range(out.shape[0] - 1, 0, -1):
            out[h] = c[h] * rewards[k] + d[h] * out[h - 1]
        out[0] = 0


@inlined
def _back_up(
    state: Any,
    seen: Transition,
    offset: int,
    rewards: Array,
    rates: Array,
    room: Array,
    base: int,
    is_constant: bool,
) -> int:
    """Move the values of what was done towards the targets."""
    weights, targets = state.weights, state.error
    if is_constant:
        _constant_targets(targets, state.following, rewards, seen.terminated, state, base)
    else:
        c, d = state.rewards, state.bootstraps
        _targets(targets, state.following, rewards, seen.terminated, c, d)
    factor = rates[0] * seen.ratio
    indices, values, row = seen.indices, seen.values, seen.row
    # Horizons that would bootstrap from beneath the base, where none is learned, stay.
    stays = base and not seen.terminated and seen.continuation != 0
    if indices.shape[1] == 1 and not stays:
        i = offset + indices[row, 0]
        probe = move_row(weights, i, values[row, 0], factor, targets, seen.watch)
    else:
        read_rows(weights, offset, indices, values, row, room)
        for h in range(1, room.shape[0]):
            learned = not stays or h >= rewards.shape[0] or base + h <= rewards.shape[0]
            room[h] = targets[h] - room[h] if learned else 0
        probe = add_rows(weights, offset, indices, values, row, factor, room, 1, seen.watch)
    return LEARNED if probe == 0 else DIVERGED


@inlined
def prediction_update(
    state: OneStep,
    seen: Transition,
    rewards: Array,
    rates: Array,
    n_features: int,
    room: Array,
    base: int,
    is_constant: bool,
) -> int:
    """Towards the rewards of several steps, then the value of the state they led to."""
    refused = refusal(seen, state.weights.shape[0], n_features)
    if refused:
        return refused
    if not seen.terminated:
        read_rows(state.weights, 0, seen.indices, seen.values, seen.next_row, state.following)
        scale(state.following, seen.continuation)
    return _back_up(state, seen, 0, rewards, rates, room, base, is_constant)


@inlined
def control_update(
    state: OneStepControl,
    seen: Transition,
    rewards: Array,
    rates: Array,
    n_features: int,
    room: Array,
    base: int,
    is_constant: bool,
) -> int:
    """The same towards the best action there, or the expectation under a policy."""
    refused = refusal(seen, state.weights.shape[0], n_features)
    if refused:
        return refused
    if not seen.terminated:
        next_action_values(
            state.weights, state.n_actions, state.n_features, seen, state.following, state.error
        )
    offset = seen.action * n_features
    return _back_up(state, seen, offset, rewards, rates, room, base, is_constant)


#: By the type of the state; others cannot bootstrap after any number of steps.
KERNELS: dict[Any, Callable[..., int]] = {
    OneStep: prediction_update,
    OneStepControl: control_update,
}
