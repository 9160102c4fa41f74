"""One-step FHTD and FHQ-learning (the paper's first two algorithms), and TD and Q-learning.

The horizons of one transition are updated together, from the values before it: the equations'
reading, not the in-place order of the pseudocode.
"""

from typing import Any, NamedTuple

from fhtd.online.kernels.compiled import (
    Array,
    add_rows,
    compiled,
    inlined,
    move_row,
    one_step_errors,
    one_step_targets,
    read_rows,
)
from fhtd.online.kernels.dispatch import kernel
from fhtd.online.kernels.transition import Transition, scale


class OneStep(NamedTuple):
    """State of FHTD (shift 1) and TD (shift 0)."""

    weights: Array
    rewards: Array
    bootstraps: Array
    shift: int
    #: c and d are the same for every horizon.
    is_constant: bool
    following: Array
    error: Array


class OneStepControl(NamedTuple):
    """State of FHQ-learning (shift 1) and Q-learning (shift 0)."""

    weights: Array
    rewards: Array
    bootstraps: Array
    shift: int
    following: Array
    error: Array
    n_actions: int
    n_features: int


@inlined
def _update_one_row(state: OneStep, seen: Transition, step_size: float) -> None:
    """The same for a single active feature, in one pass.

    From the last horizon down, each reads only what is not yet written: the old values, also
    where S' is S.
    """
    weights, c, d, reward = state.weights, state.rewards, state.bootstraps, seen.reward
    i, following = seen.indices[seen.row, 0], seen.indices[seen.next_row, 0]
    value = seen.values[seen.row, 0]
    next_value = seen.values[seen.next_row, 0] * seen.continuation
    factor = step_size * seen.ratio * value
    if state.is_constant:
        gain, discount = c[1] * reward, d[1] * next_value
        for h in range(weights.shape[1] - 1, 0, -1):
            weights[i, h] += factor * (
                gain + discount * weights[following, h - 1] - value * weights[i, h]
            )
    else:
        for h in range(weights.shape[1] - 1, 0, -1):
            weights[i, h] += factor * (
                c[h] * reward
                + d[h] * next_value * weights[following, h - 1]
                - value * weights[i, h]
            )


@kernel(OneStep)
@inlined
def one_step_update(state: OneStep, seen: Transition, rates: Array) -> float:
    """V^h(S) <- V^h(S) + alpha rho [c_h R + d_h V^(h-1)(S') - V^h(S)]."""
    weights, error, step_size = state.weights, state.error, rates[0]
    if seen.indices.shape[1] == 1 and state.shift and not (seen.terminated or seen.watch):
        _update_one_row(state, seen, step_size)
        return 0.0
    if not seen.terminated:
        read_rows(weights, 0, seen.indices, seen.values, seen.next_row, state.following)
        scale(state.following, seen.continuation)
    read_rows(weights, 0, seen.indices, seen.values, seen.row, error)
    one_step_errors(
        error,
        seen.reward,
        state.following,
        seen.terminated,
        state.rewards,
        state.bootstraps,
        state.shift,
    )
    return add_rows(
        weights,
        0,
        seen.indices,
        seen.values,
        seen.row,
        step_size * seen.ratio,
        error,
        1,
        seen.watch,
    )


@inlined
def _larger(best: Any, value: Any) -> Any:
    """The value where it is larger. A choice is vectorised, a branch is not.

    Complex values have no order; the learner refuses to maximise them.
    """
    return value if value.real > best.real else best


@inlined
def largest(
    weights: Array, n_actions: int, n_features: int, i: int, factor: float, out: Array, room: Array
) -> None:
    """out[h] = max_a Q^h for a single active feature i; two actions a pass, an odd one twice."""
    passes = (n_actions + 1) // 2
    # Each pass writes where the next reads: "keep what is there if it is larger" would be compiled
    # to a masked store, and the next pass would wait for it to reach the cache.
    into, before = (out, room) if passes % 2 else (room, out)
    for action in range(0, n_actions, 2):
        one = i + action * n_features
        other = i + min(action + 1, n_actions - 1) * n_features
        for h in range(out.shape[0]):
            found = factor * weights[one, h]
            if action:
                found = _larger(before[h], found)
            into[h] = _larger(found, factor * weights[other, h])
        into, before = before, into


@compiled
def next_action_values(
    weights: Array,
    n_actions: int,
    n_features: int,
    seen: Transition,
    out: Array,
    scratch: Array,
) -> None:
    """out[h] = max_a Q^h(S', a), or the expectation under a next policy, as far as it counts."""
    indices, values, row = seen.indices, seen.values, seen.next_row
    policy = seen.next_policy
    if policy.shape[0]:
        read_rows(weights, 0, indices, values, row, out)
        for h in range(out.shape[0]):
            out[h] *= policy[0]
        for action in range(1, n_actions):
            read_rows(weights, action * n_features, indices, values, row, scratch)
            for h in range(out.shape[0]):
                out[h] += policy[action] * scratch[h]
    elif indices.shape[1] == 1:
        i, factor = indices[row, 0], values[row, 0]
        largest(weights, n_actions, n_features, i, factor, out, scratch)
    else:
        read_rows(weights, 0, indices, values, row, out)
        for action in range(1, n_actions):
            read_rows(weights, action * n_features, indices, values, row, scratch)
            for h in range(out.shape[0]):
                out[h] = _larger(out[h], scratch[h])
    scale(out, seen.continuation)


@kernel(OneStepControl)
@inlined
def one_step_control_update(state: OneStepControl, seen: Transition, rates: Array) -> float:
    """Q^h(S, A) <- Q^h(S, A) + alpha [c_h R + d_h max_a Q^(h-1)(S', a) - Q^h(S, A)]."""
    weights, error, step_size = state.weights, state.error, rates[0]
    if not seen.terminated:
        next_action_values(weights, state.n_actions, state.n_features, seen, state.following, error)
    offset, row = seen.action * state.n_features, seen.row
    following, c, d = state.following, state.rewards, state.bootstraps
    if seen.indices.shape[1] == 1:
        one_step_targets(error, seen.reward, following, seen.terminated, c, d, state.shift)
        i, value = offset + seen.indices[row, 0], seen.values[row, 0]
        return move_row(weights, i, value, step_size, error, seen.watch)
    read_rows(weights, offset, seen.indices, seen.values, row, error)
    one_step_errors(error, seen.reward, following, seen.terminated, c, d, state.shift)
    return add_rows(
        weights, offset, seen.indices, seen.values, row, step_size, error, 1, seen.watch
    )
