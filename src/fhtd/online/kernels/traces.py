"""FHTD(lambda) and FHQ(lambda) (the paper's last two algorithms), O(H^2) per step.

The error of horizon h at time t is credited to horizon h+i of the state i steps back. Walking
back through the window, `error[h']` holds delta^(h'-i)_t times its trace so far.
"""

from typing import Any, NamedTuple

from fhtd.online.kernels.compiled import (
    Array,
    add_rows,
    compiled,
    inlined,
    one_step_errors,
    read_rows,
)
from fhtd.online.kernels.dispatch import kernel
from fhtd.online.kernels.one_step import next_action_values
from fhtd.online.kernels.transition import Transition, forget_window, keep_active, scale


class Traces(NamedTuple):
    """State of FHTD(lambda): weights and a window of the last H active lists and ratios."""

    weights: Array
    rewards: Array
    bootstraps: Array
    #: c and d are the same for every horizon.
    is_constant: bool
    following: Array
    error: Array
    window_indices: Array
    window_values: Array
    window_ratios: Array
    #: lambda of the state after each, times how much of it counts.
    window_links: Array
    #: [0]: states in the window; [1]: slot of the newest.
    cursor: Array


class ControlTraces(NamedTuple):
    """State of FHQ(lambda): the window also says which horizons each action was greedy for."""

    weights: Array
    rewards: Array
    bootstraps: Array
    following: Array
    error: Array
    spare: Array
    window_indices: Array
    window_values: Array
    window_actions: Array
    window_greedy: Array
    window_links: Array
    cursor: Array
    n_actions: int
    n_features: int


@inlined
def _advance(cursor: Array, horizon: int) -> int:
    newest = cursor[1] + 1
    if newest == horizon:
        newest = 0
    cursor[1] = newest
    cursor[0] = min(cursor[0] + 1, horizon)
    return newest


@compiled
def _add_shifted(weights: Array, row: int, factor: float, error: Array, i: int) -> None:
    """weights[row, h] += factor error[h - i] for h > i."""
    target, source = weights[row, i:], error[: error.shape[0] - i]
    for h in range(1, source.shape[0]):
        target[h] += factor * source[h]


@compiled
def _forget_traces(state: Any) -> None:
    forget_window(state.cursor)


@kernel(Traces, _forget_traces)
@inlined
def traces_update(state: Traces, seen: Transition, rates: Array) -> float:
    """w^(h+i) += alpha delta^h rho_t [prod_{j=1..i} lambda d_{h+j} rho_{t-j}] phi_{t-i}."""
    weights, error, d = state.weights, state.error, state.bootstraps
    step_size = rates[0]
    window_indices, window_values = state.window_indices, state.window_values
    size = state.window_ratios.shape[0]
    slot = _advance(state.cursor, size)
    keep_active(state.window_indices, state.window_values, slot, seen)
    state.window_ratios[slot] = seen.ratio
    state.window_links[slot] = rates[1] * seen.continuation
    if not seen.terminated:
        read_rows(weights, 0, seen.indices, seen.values, seen.next_row, state.following)
        scale(state.following, seen.continuation)
    read_rows(weights, 0, seen.indices, seen.values, seen.row, error)
    one_step_errors(
        error, seen.reward, state.following, seen.terminated, state.rewards, state.bootstraps, 1
    )
    # The decay may be complex, and the factor then is.
    factor = step_size * seen.ratio * (d[0] * 0 + 1)
    probe = add_rows(weights, 0, seen.indices, seen.values, seen.row, factor, error, 1, seen.watch)
    for i in range(1, state.cursor[0]):
        slot -= 1
        if slot < 0:
            slot = size - 1
        factor *= state.window_ratios[slot]
        link = state.window_links[slot]
        if factor == 0 or link == 0:
            break
        if state.is_constant and not seen.watch:
            # One decay for all horizons goes into the factor, and the errors stay where they are.
            factor *= link * d[1]
            for k in range(window_indices.shape[1]):
                gain = factor * window_values[slot, k]
                _add_shifted(weights, window_indices[slot, k], gain, error, i)
            continue
        # From the last horizon down, each reads only what is not yet written.
        for h in range(error.shape[0] - 1, i, -1):
            error[h] = link * d[h] * error[h - 1]
        probe += add_rows(
            weights, 0, window_indices, window_values, slot, factor, error, i + 1, seen.watch
        )
    if seen.terminated or seen.truncated:
        state.cursor[0] = 0
    return probe


@compiled
def _mark_greedy(state: ControlTraces, seen: Transition, slot: int) -> None:
    """Pi[h] = 1 where the action taken maximises Q^h(S, .), else 0."""
    greedy = state.window_greedy
    best, chosen = state.following, state.error
    offset = seen.action * state.n_features
    read_rows(state.weights, offset, seen.indices, seen.values, seen.row, chosen)
    greedy[slot, :] = 1
    for action in range(state.n_actions):
        if action != seen.action:
            offset = action * state.n_features
            read_rows(state.weights, offset, seen.indices, seen.values, seen.row, best)
            for h in range(1, best.shape[0]):
                if best[h] > chosen[h]:
                    greedy[slot, h] = 0


@kernel(ControlTraces, _forget_traces)
@inlined
def control_traces_update(state: ControlTraces, seen: Transition, rates: Array) -> float:
    """As FHTD(lambda), with the trace cut where the action was not greedy for its horizon."""
    weights, d = state.weights, state.bootstraps
    error, spare, step_size = state.error, state.spare, rates[0]
    horizons = error.shape[0]
    size = state.window_actions.shape[0]
    slot = _advance(state.cursor, size)
    keep_active(state.window_indices, state.window_values, slot, seen)
    state.window_actions[slot] = seen.action
    state.window_links[slot] = rates[1] * seen.continuation
    _mark_greedy(state, seen, slot)
    if not seen.terminated:
        next_action_values(weights, state.n_actions, state.n_features, seen, state.following, spare)
    offset = seen.action * state.n_features
    read_rows(weights, offset, seen.indices, seen.values, seen.row, error)
    one_step_errors(
        error, seen.reward, state.following, seen.terminated, state.rewards, state.bootstraps, 1
    )
    probe = add_rows(
        weights, offset, seen.indices, seen.values, seen.row, step_size, error, 1, seen.watch
    )
    for i in range(1, state.cursor[0]):
        after = slot
        slot -= 1
        if slot < 0:
            slot = size - 1
        alive, link = False, state.window_links[slot]
        for h in range(horizons - 1, i, -1):
            error[h] = link * d[h] * state.window_greedy[after, h - 1] * error[h - 1]
            alive |= error[h] != 0
        if not alive:
            break
        probe += add_rows(
            weights,
            state.window_actions[slot] * state.n_features,
            state.window_indices,
            state.window_values,
            slot,
            step_size,
            error,
            i + 1,
            seen.watch,
        )
    if seen.terminated or seen.truncated:
        state.cursor[0] = 0
    return probe
