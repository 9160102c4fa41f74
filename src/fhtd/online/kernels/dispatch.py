"""One name, `step`, for every learner's update: the type of the state selects the kernel.

A kernel registers itself beside its state with `@kernel(State)`. The selection happens when a
caller is compiled, so the simulator is one loop for all learners, each specialised to its kernel,
and all of it is found in the disk cache by the next process.
"""

from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple, TypeVar, cast

import numba
import numpy as np
from numba import types
from numba.extending import overload

from fhtd.online.kernels.compiled import SETTINGS, Array, compiled
from fhtd.online.kernels.transition import Transition

Function = TypeVar("Function", bound=Callable[..., Any])

INLINE: Any = {"forceinline": True, **SETTINGS}

#: Answers of `learn`.
LEARNED, DIVERGED, OUT_OF_RANGE, NOT_FINITE = range(4)


class Kernel(NamedTuple):
    """The compiled functions of one type of state."""

    #: (state, transition, rates) -> 0, or NaN where a weight stopped being finite.
    update: Callable[..., float]
    #: (state): drop traces and windows; None where there are none.
    new_episode: Callable[..., None] | None
    #: (state): drop everything but the weights; None where there is nothing else.
    new_run: Callable[..., None] | None


_KERNELS: dict[type, Kernel] = {}


def kernel(
    state_type: type,
    new_episode: Callable[..., None] | None = None,
    new_run: Callable[..., None] | None = None,
) -> Callable[[Function], Function]:
    """Register the decorated compiled update as that of a state.

    Args:
        state_type: A NamedTuple with `weights`, and whatever else the update needs.
        new_episode: Compiled; drops the state's traces and windows.
        new_run: Compiled; drops everything but the weights. The same as `new_episode` if left out.
    """

    def register(update: Function) -> Function:
        _KERNELS[state_type] = Kernel(update, new_episode, new_run or new_episode)
        return update

    return register


def step(state: Any, seen: Transition, rates: Array) -> float:
    """Learn from one transition; returns 0, or NaN where a weight stopped being finite."""
    return _KERNELS[type(state)].update(state, seen, rates)


def start_episode(state: Any) -> None:
    """Drop traces and windows: they do not reach into the next episode."""
    forget = _KERNELS[type(state)].new_episode
    if forget is not None:
        forget(state)


def start_run(state: Any) -> None:
    """Drop everything of the past but the weights (in compiled code only)."""
    raise NotImplementedError


@overload(start_run, jit_options=INLINE)
def _compile_start_run(state: Any) -> Any:
    if not isinstance(state, types.NamedTuple):
        return None
    clear = _KERNELS[state.instance_class].new_run
    if clear is None:

        def nothing(state: Any) -> Any:
            pass

        return nothing

    def call(state: Any) -> Any:
        clear(state)

    return call


@overload(step, jit_options=INLINE)
def _compile_step(state: Any, seen: Any, rates: Any) -> Any:
    if not isinstance(state, types.NamedTuple):
        return None
    update = _KERNELS[state.instance_class].update

    def call(state: Any, seen: Any, rates: Any) -> Any:
        return update(state, seen, rates)

    return call


@compiled
def refusal(seen: Transition, n_rows: int, n_features: int) -> int:
    """Whether anything seen would reach outside the weights, or spoil them."""
    n_actions = n_rows // n_features
    if seen.action < 0 or seen.action >= n_actions:
        return OUT_OF_RANGE
    if seen.next_policy.shape[0] != 0 and seen.next_policy.shape[0] != n_actions:
        return OUT_OF_RANGE
    for row in (seen.row, seen.next_row):
        for k in range(seen.indices.shape[1]):
            if seen.indices[row, k] < 0 or seen.indices[row, k] >= n_features:
                return OUT_OF_RANGE
            if not np.isfinite(seen.values[row, k]):
                return NOT_FINITE
    return LEARNED


@compiled
def learn(state: Any, seen: Transition, rates: Array, n_features: int) -> int:
    """Learn from one transition that may hold anything; returns one of the answers above."""
    refused = refusal(seen, state.weights.shape[0], n_features)
    if refused:
        return refused
    return LEARNED if step(state, seen, rates) == 0 else DIVERGED


def specialised(function: Function, state_type: type) -> Function:
    """A compiled function for one type of state.

    The cache on disk belongs to all processes, and one that does not know a user's own state
    could not read it: what is compiled for such a state is not cached.
    """
    return function if state_type.__module__.startswith("fhtd.") else _uncached(function)


@cache
def _uncached(function: Any) -> Any:
    return cast(Any, numba.njit(**SETTINGS)(function.py_func))
