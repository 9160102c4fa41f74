"""The compiler settings of every kernel, and the few operations that all of them share.

Rows of weights run over horizons: `weights[feature, h]`; column 0 is V^0 = 0 and never written, but
for a window that moves on, whose frozen base it is.
The weights of action a start at row `offset` = a * n_features. Active lists are rows of two tables,
`indices` and `values`.
"""

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba
import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]
Function = TypeVar("Function", bound=Callable[..., Any])


#: a*b + c may be fused, as in C. No reference counts (_nrt): the caller holds every array and
#: kernels allocate none; counting each view atomically took five times as long as the arithmetic
#: and made threads wait for one another.
SETTINGS: dict[str, Any] = {
    "nogil": True,
    "error_model": "numpy",
    "fastmath": {"contract"},
    "_nrt": False,
}


def compiled(function: Function) -> Function:
    """Compile, without the interpreter lock, cached on disk."""
    return cast(Function, numba.njit(cache=True, **SETTINGS)(function))


def inlined(function: Function) -> Function:
    """As `compiled`, always within its caller: a call would copy every array's descriptor."""
    return cast(Function, numba.njit(cache=True, forceinline=True, **SETTINGS)(function))


def inlined_uncached(function: Function) -> Function:
    """As `inlined`, for what takes any state: the cache is to know states of the package only."""
    return cast(Function, numba.njit(forceinline=True, **SETTINGS)(function))


@inlined
def add_row(weights: Array, i: int, factor: float, error: Array, first: int, watch: bool) -> float:
    """weights[i, h] += factor error[h] from h = first; if watched, NaN where not finite, else 0."""
    # Counting is vectorised; a sum of numbers would be taken one after the other.
    lost = 0
    if watch:
        for h in range(first, weights.shape[1]):
            weights[i, h] += factor * error[h]
            lost += 0 if weights[i, h] * 0 == 0 else 1
    else:
        for h in range(first, weights.shape[1]):
            weights[i, h] += factor * error[h]
    return np.nan if lost else 0.0


@compiled
def add_rows(
    weights: Array,
    offset: int,
    indices: Array,
    values: Array,
    row: int,
    factor: float,
    error: Array,
    first: int,
    watch: bool,
) -> float:
    """Add factor error^h phi to w^h from h = first; if watched, NaN where not finite, else 0."""
    probe = 0.0
    for k in range(indices.shape[1]):
        i = offset + indices[row, k]
        probe += add_row(weights, i, factor * values[row, k], error, first, watch)
    return probe


@compiled
def read_rows(
    weights: Array, offset: int, indices: Array, values: Array, row: int, out: Array
) -> None:
    """out[h] = w^h . phi for every horizon."""
    i = offset + indices[row, 0]
    factor = values[row, 0]
    for h in range(out.shape[0]):
        out[h] = factor * weights[i, h]
    for k in range(1, indices.shape[1]):
        i = offset + indices[row, k]
        factor = values[row, k]
        for h in range(out.shape[0]):
            out[h] += factor * weights[i, h]


@inlined
def move_row(
    weights: Array, i: int, value: float, factor: float, targets: Array, watch: bool
) -> float:
    """weights[i, h] += factor value (targets[h] - value weights[i, h]), and as `add_row`.

    What `read_rows` and `add_rows` do for a single active feature, in one pass.
    """
    factor *= value
    lost = 0
    if watch:
        for h in range(1, weights.shape[1]):
            weights[i, h] += factor * (targets[h] - value * weights[i, h])
            lost += 0 if weights[i, h] * 0 == 0 else 1
    else:
        for h in range(1, weights.shape[1]):
            weights[i, h] += factor * (targets[h] - value * weights[i, h])
    return np.nan if lost else 0.0


@compiled
def read_column(
    weights: Array, offset: int, indices: Array, values: Array, row: int, h: int
) -> float:
    """w^h . phi for one horizon."""
    total = weights[0, 0] * 0
    for k in range(indices.shape[1]):
        total += values[row, k] * weights[offset + indices[row, k], h]
    return total


@compiled
def one_step_targets(
    out: Array, reward: float, following: Array, terminated: bool, c: Array, d: Array, shift: int
) -> None:
    """out[h] = c_h R + d_h V^(h-shift)(S').

    Eq. one-step FHTD target for shift 1. Shift 0 lets a value bootstrap from itself: that is TD.
    """
    if terminated:
        for h in range(1, out.shape[0]):
            out[h] = c[h] * reward
    elif shift:
        for h in range(1, out.shape[0]):
            out[h] = c[h] * reward + d[h] * following[h - 1]
    else:
        for h in range(1, out.shape[0]):
            out[h] = c[h] * reward + d[h] * following[h]


@compiled
def one_step_errors(
    error: Array, reward: float, following: Array, terminated: bool, c: Array, d: Array, shift: int
) -> None:
    """error[h] goes from V^h(S) to delta^h = c_h R + d_h V^(h-shift)(S') - V^h(S)."""
    # Not `one_step_targets` and a difference: a second pass takes longer and rounds once more.
    if terminated:
        for h in range(1, error.shape[0]):
            error[h] = c[h] * reward - error[h]
    elif shift:
        for h in range(1, error.shape[0]):
            error[h] = c[h] * reward + d[h] * following[h - 1] - error[h]
    else:
        for h in range(1, error.shape[0]):
            error[h] = c[h] * reward + d[h] * following[h] - error[h]
