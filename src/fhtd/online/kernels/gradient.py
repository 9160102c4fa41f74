"""TDC, linear TD with gradient correction: an infinite-horizon baseline that does not diverge."""

from typing import NamedTuple

from fhtd.online.kernels.compiled import Array, compiled, inlined, read_column
from fhtd.online.kernels.dispatch import kernel
from fhtd.online.kernels.transition import Transition


class GradientCorrection(NamedTuple):
    """State of TDC: weights w in column 1, and the secondary weights v."""

    weights: Array
    discount: Array
    secondary: Array


@compiled
def _forget_secondary(state: GradientCorrection) -> None:
    state.secondary[:] = 0


@kernel(GradientCorrection, new_run=_forget_secondary)
@inlined
def gradient_correction_update(state: GradientCorrection, seen: Transition, rates: Array) -> float:
    """W += alpha rho (delta phi - gamma (v.phi) phi'), v += beta rho (delta - v.phi) phi."""
    weights, secondary = state.weights, state.secondary
    step_size, second_step_size = rates[0], rates[1]
    discount = state.discount[0] * seen.continuation
    error = seen.reward - read_column(weights, 0, seen.indices, seen.values, seen.row, 1)
    if not seen.terminated:
        error += discount * read_column(weights, 0, seen.indices, seen.values, seen.next_row, 1)
    expected = error * 0
    for k in range(seen.indices.shape[1]):
        expected += seen.values[seen.row, k] * secondary[seen.indices[seen.row, k]]
    probe = error * 0
    for k in range(seen.indices.shape[1]):
        i, factor = seen.indices[seen.row, k], seen.ratio * seen.values[seen.row, k]
        weights[i, 1] += step_size * factor * error
        secondary[i] += second_step_size * factor * (error - expected)
        probe += (weights[i, 1] + secondary[i]) * 0
    if not seen.terminated:
        for k in range(seen.indices.shape[1]):
            i = seen.indices[seen.next_row, k]
            value = seen.values[seen.next_row, k]
            weights[i, 1] -= step_size * seen.ratio * discount * expected * value
            probe += weights[i, 1] * 0
    return probe
