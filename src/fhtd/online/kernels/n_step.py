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


@inlined
def _slot_of_oldest(state: NStep) -> int:
    """Where the state is kept that has waited longest."""
    slot: int = state.cursor[1] - state.cursor[0] + 1
    return slot if slot >= 0 else slot + state.window_rewards.shape[0]


@inlined
def _back_up_row(state: NStep, seen: Transition, step_size: float) -> None:
    """`_back_up_oldest` of a single active feature with all its n rewards, in one pass.

    For columns that all sum the same rewards. From the last horizon down, each reads only what is
    not yet written: the old values, also where S_{t+n} is S_t.
    """
    weights, bootstraps = state.weights, state.bootstraps
    n, columns = state.rewards.shape
    oldest = slot = _slot_of_oldest(state)
    gain = state.rewards[0, columns - 1] * state.window_rewards[slot]
    product, alive = state.window_ratios[slot], state.window_continuations[slot]
    for k in range(1, n):
        slot = slot + 1 if slot + 1 < n else 0
        gain += state.rewards[k, columns - 1] * (alive * state.window_rewards[slot])
        product *= state.window_ratios[slot]
        alive *= state.window_continuations[slot]
    i, following = state.window_indices[oldest, 0], seen.indices[seen.next_row, 0]
    value, share = state.window_values[oldest, 0], alive * seen.values[seen.next_row, 0]
    factor = step_size * product * value
    for j in range(columns - 1, 0, -1):
        weights[i, j] += factor * (
            gain + bootstraps[n, j] * (share * weights[following, j - 1]) - value * weights[i, j]
        )
    state.cursor[0] = n - 1


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
    oldest = _slot_of_oldest(state)
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
    ended = seen.terminated or seen.truncated
    alike = state.shift == 1 and state.shared_from == 1 and state.lengths[1] == n
    is_row = alike and seen.indices.shape[1] == 1
    if is_row and cursor[0] == n and not (ended or seen.watch):
        _back_up_row(state, seen, step_size)
        return 0.0
    if cursor[0] < n and not ended:
        return 0.0
    if not seen.terminated:
        read_rows(state.weights, 0, seen.indices, seen.values, seen.next_row, state.following)
    probe = 0.0
    while cursor[0] == n or (ended and cursor[0] > 0):
        probe += _back_up_oldest(state, cursor[0], seen.terminated, step_size, seen.watch)
    return probe
