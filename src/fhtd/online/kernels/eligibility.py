"""TD(lambda) with accumulating traces, and emphatic TD(lambda): infinite-horizon baselines."""

from typing import NamedTuple

from fhtd.online.kernels.compiled import Array, inlined, read_column
from fhtd.online.kernels.dispatch import kernel
from fhtd.online.kernels.transition import Transition


class Eligibility(NamedTuple):
    """State of TD(lambda) and ETD(lambda); the single value lives in column 1."""

    weights: Array
    discount: Array
    lambda_: float
    is_emphatic: bool
    trace: Array
    #: [0]: follow-on trace F; [1]: the ratio of the step before.
    follow_on: Array
    #: How much of the present state counted in the step before.
    carried: Array


@inlined
def _forget_trace(state: Eligibility) -> None:
    state.trace[:] = 0
    state.follow_on[:] = 0


@kernel(Eligibility, _forget_trace)
@inlined
def eligibility_update(state: Eligibility, seen: Transition, rates: Array) -> float:
    """Z <- rho (gamma lambda z + M phi), w <- w + alpha delta z; M = 1 unless emphatic.

    Gamma of a transition is the discount times its continuation; z decays by the last one's.

    Emphatic: F <- gamma rho_{t-1} F + 1 and M = lambda + (1 - lambda) F.
    """
    weights, trace, step_size = state.weights, state.trace, rates[0]
    discount = state.discount[0]
    error = seen.reward - read_column(weights, 0, seen.indices, seen.values, seen.row, 1)
    if not seen.terminated:
        following = read_column(weights, 0, seen.indices, seen.values, seen.next_row, 1)
        error += discount * (seen.continuation * following)
    emphasis = discount * 0 + 1
    if state.is_emphatic:
        before = state.carried[0] * state.follow_on[0]
        state.follow_on[0] = discount * state.follow_on[1] * before + 1
        state.follow_on[1] = seen.ratio
        emphasis = state.lambda_ + (1 - state.lambda_) * state.follow_on[0]
    decay = seen.ratio * discount * state.lambda_ * state.carried[0]
    state.carried[0] = seen.continuation
    for i in range(trace.shape[0]):
        trace[i] *= decay
    for k in range(seen.indices.shape[1]):
        trace[seen.indices[seen.row, k]] += seen.ratio * emphasis * seen.values[seen.row, k]
    probe = error * 0
    for i in range(trace.shape[0]):
        weights[i, 1] += step_size * error * trace[i]
        probe += weights[i, 1] * 0
    if seen.terminated or seen.truncated:
        _forget_trace(state)
    return probe
