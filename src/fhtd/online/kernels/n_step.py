"""n-step FHTD (the paper's third algorithm, any H) and n-step TD.

Column j holds the j-th learned horizon: H mod n (where not 0), ..., H - n, H. Horizon h sums
m = min(n, h) rewards and bootstraps from column j - 1, which is horizon h - m.
"""

from typing import NamedTuple

from fhtd.online.kernels.compiled import Array, add_rows, compiled, inlined, read_rows
from fhtd.online.kernels.dispatch import kernel
from fhtd.online.kernels.transition import Transition, forget_window, keep_active


class NStep(NamedTuple):
    """State of n-step FHTD (shift 1) and n-step TD (shift 0): weights and a window of n."""

    weights: Array
    #: [k, j]: weight of the reward k+1 steps ahead in the target of column j.
    rewards: Array
    #: [m, j]: factor of the value m steps ahead.
    bootstraps: Array
    #: [j]: how many rewards the full target sums.
    lengths: Array
    shift: int
    #: Columns from this one on weigh rewards alike, so that one sum serves them all.
    shared_from: int
    following: Array
    value: Array
    error: Array
    window_indices: Array
    window_values: Array
    window_rewards: Array
    window_ratios: Array
    window_continuations: Array
    #: [0]: states pending; [1]: slot of the newest.
    cursor: Array


@compiled
def _sum_rewards(state: NStep, oldest: int, available: int) -> tuple[float, float, float]:
    """error[j] = sum of the available rewards of each column's target.

    Returns the products of their importance ratios: of those that the earliest horizon sums, and
    of all. Only the earliest can sum fewer than n. And how much of what follows them counts.
    """
    n, columns = state.rewards.shape
    error, rewards = state.error, state.rewards
    last = columns - 1
    alone = state.shared_from
    for j in range(columns):
        error[j] = 0
    total = error[0]
    early = product = alive = 1.0
    slot = oldest
    for k in range(available):
        reward = alive * state.window_rewards[slot]
        alive *= state.window_continuations[slot]
        total += rewards[k, last] * reward
        product *= state.window_ratios[slot]
        if k < state.lengths[1]:
            early = product
        for j in range(1, alone):
            error[j] += rewards[k, j] * reward
        slot += 1
        if slot == n:
            slot = 0
    shared = error[alone:]
    for j in range(shared.shape[0]):
        shared[j] = total
    return early, product, alive


@compiled
def _back_up_oldest(
    state: NStep, available: int, terminated: bool, step_size: float, watch: bool
) -> float:
    """Update the oldest pending state with the rewards it has, then forget it."""
    error, value, following = state.error, state.value, state.following
    n, columns = state.rewards.shape
    shift = state.shift
    oldest = state.cursor[1] - available + 1
    if oldest < 0:
        oldest += n
    indices, values = state.window_indices, state.window_values
    early, product, alive = _sum_rewards(state, oldest, available)
    read_rows(state.weights, 0, indices, values, oldest, value)
    if terminated:
        for j in range(1, columns):
            error[j] -= value[j]
    elif shift == 0:
        for j in range(1, columns):
            error[j] += state.bootstraps[available, j] * (alive * following[j]) - value[j]
    elif available == n:
        # Written out: an index that might be negative keeps a loop from being vectorised.
        for j in range(1, columns):
            error[j] += state.bootstraps[n, j] * (alive * following[j - 1]) - value[j]
    else:
        # A time limit: the shorter horizon that a target would need is not learned, but the
        # earliest horizon may have all its rewards and needs none.
        for j in range(1, columns):
            error[j] = error[j] - value[j] if state.lengths[j] <= available else error[j] * 0
    factor = step_size * product
    if early != product:
        factor = step_size
        error[1] *= early
        for j in range(2, columns):
            error[j] *= product
    state.cursor[0] = available - 1
    return add_rows(state.weights, 0, indices, values, oldest, factor, error, 1, watch)


@compiled
def _forget_window(state: NStep) -> None:
    forget_window(state.cursor)


@kernel(NStep, _forget_window)
@inlined
def n_step_update(state: NStep, seen: Transition, rates: Array) -> float:
    """V^h(S_t) <- V^h(S_t) + alpha [sum of n rewards + V^(h-n)(S_{t+n}) - V^h(S_t)]."""
    n, step_size = state.rewards.shape[0], rates[0]
    cursor = state.cursor
    newest = cursor[1] + 1
    if newest == n:
        newest = 0
    cursor[1] = newest
    cursor[0] += 1
    keep_active(state.window_indices, state.window_values, newest, seen)
    state.window_rewards[newest] = seen.reward
    state.window_ratios[newest] = seen.ratio
    state.window_continuations[newest] = seen.continuation
    if not seen.terminated:
        read_rows(state.weights, 0, seen.indices, seen.values, seen.next_row, state.following)
    probe = 0.0
    ended = seen.terminated or seen.truncated
    while cursor[0] == n or (ended and cursor[0] > 0):
        probe += _back_up_oldest(state, cursor[0], seen.terminated, step_size, seen.watch)
    return probe
