"""Fixed-horizon Monte Carlo for every horizon at once, in O(H) per step.

When a reward arrives, one more state's return is complete for each horizon h: the state h steps
back. Their returns follow from one another: G^h_t = c_h R_{t+1} + d_h G^(h-1)_{t+1}.
"""

from typing import NamedTuple

from fhtd.online.kernels.compiled import Array, add_rows, compiled, inlined, read_column, read_rows
from fhtd.online.kernels.dispatch import kernel
from fhtd.online.kernels.transition import Transition, forget_window, keep_active


class MonteCarlo(NamedTuple):
    """State of fixed-horizon Monte Carlo: weights and a window of H."""

    weights: Array
    rewards: Array
    bootstraps: Array
    #: c and d are the same for every horizon.
    is_constant: bool
    #: [m, h]: returns of the state m steps before the end; row and column 0 stay 0. Where c and d
    #: are constant, horizons beyond the end have one return, and there is one column.
    returns: Array
    products: Array
    error: Array
    window_indices: Array
    window_values: Array
    window_rewards: Array
    window_ratios: Array
    window_continuations: Array
    #: [0]: states pending; [1]: slot of the newest.
    cursor: Array


@compiled
def _update_completed(state: MonteCarlo, step_size: float) -> float:
    """Update horizon h of the state h steps back, for every h that the episode has reached."""
    weights = state.weights
    indices, values = state.window_indices, state.window_values
    slot = state.cursor[1]
    total = weights[0, 0] * 0
    probe = weights[0, 0] * 0
    product = 1.0
    for h in range(1, state.cursor[0] + 1):
        total *= state.window_continuations[slot]
        total = state.rewards[h] * state.window_rewards[slot] + state.bootstraps[h] * total
        product *= state.window_ratios[slot]
        error = total - read_column(weights, 0, indices, values, slot, h)
        factor = step_size * product
        for k in range(indices.shape[1]):
            i = indices[slot, k]
            weights[i, h] += factor * values[slot, k] * error
            probe += weights[i, h] * 0
        slot = slot - 1 if slot else state.window_rewards.shape[0] - 1
    return probe


@compiled
def _update_cut_short(state: MonteCarlo, step_size: float, watch: bool) -> float:
    """At a termination, update the horizons that outlast the episode, oldest state first."""
    weights, error, returns = state.weights, state.error, state.returns
    indices, values = state.window_indices, state.window_values
    size = state.window_rewards.shape[0]
    pending = state.cursor[0]
    slot = state.cursor[1]
    product = 1.0
    # Row m: the returns of the state m steps before the end, from those of the state after it.
    for m in range(1, pending + 1):
        reward, alive = state.window_rewards[slot], state.window_continuations[slot]
        if state.is_constant:
            later = alive * returns[m - 1, 0]
            returns[m, 0] = state.rewards[1] * reward + state.bootstraps[1] * later
        for h in range(1, returns.shape[1]):
            later = alive * returns[m - 1, h - 1]
            returns[m, h] = state.rewards[h] * reward + state.bootstraps[h] * later
        product *= state.window_ratios[slot]
        state.products[m] = product
        slot = slot - 1 if slot else size - 1
    probe = weights[0, 0] * 0
    for m in range(pending, 0, -1):
        slot = slot + 1 if slot + 1 < size else 0
        read_rows(weights, 0, indices, values, slot, error)
        for h in range(m + 1, error.shape[0]):
            error[h] = returns[m, 0 if state.is_constant else h] - error[h]
        factor = step_size * state.products[m]
        probe += add_rows(weights, 0, indices, values, slot, factor, error, m + 1, watch)
    return probe


@compiled
def _forget_window(state: MonteCarlo) -> None:
    forget_window(state.cursor)


@kernel(MonteCarlo, _forget_window)
@inlined
def monte_carlo_update(state: MonteCarlo, seen: Transition, rates: Array) -> float:
    """V^h(S_t) <- V^h(S_t) + alpha rho_t..rho_{t+h-1} [G^h_t - V^h(S_t)]."""
    cursor, step_size = state.cursor, rates[0]
    horizon = state.window_rewards.shape[0]
    newest = cursor[1] + 1
    if newest == horizon:
        newest = 0
    cursor[1] = newest
    cursor[0] = min(cursor[0] + 1, horizon)
    keep_active(state.window_indices, state.window_values, newest, seen)
    state.window_rewards[newest] = seen.reward
    state.window_ratios[newest] = seen.ratio
    state.window_continuations[newest] = seen.continuation
    probe = _update_completed(state, step_size)
    if seen.terminated:
        probe += _update_cut_short(state, step_size, seen.watch)
    if seen.terminated or seen.truncated:
        cursor[0] = 0
    return probe
