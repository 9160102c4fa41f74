"""One name, `step`, for every learner's update: the type of the state selects the kernel.

The selection happens when a caller is compiled, so the simulator is one loop for all learners,
each specialised to its kernel, and all of it is found in the disk cache by the next process.
"""

from collections.abc import Callable
from typing import Any

from numba import types
from numba.extending import overload

from fhtd.online.kernels.compiled import SETTINGS, compiled
from fhtd.online.kernels.eligibility import Eligibility, eligibility_update
from fhtd.online.kernels.gradient import GradientCorrection, gradient_correction_update
from fhtd.online.kernels.monte_carlo import MonteCarlo, monte_carlo_update
from fhtd.online.kernels.n_step import NStep, n_step_update
from fhtd.online.kernels.one_step import (
    OneStep,
    OneStepControl,
    one_step_control_update,
    one_step_update,
)
from fhtd.online.kernels.traces import (
    ControlTraces,
    Traces,
    control_traces_update,
    traces_update,
)
from fhtd.online.kernels.transition import Transition

INLINE: Any = {"forceinline": True, **SETTINGS}

UPDATES: dict[type, Callable[..., float]] = {
    OneStep: one_step_update,
    OneStepControl: one_step_control_update,
    NStep: n_step_update,
    MonteCarlo: monte_carlo_update,
    Traces: traces_update,
    ControlTraces: control_traces_update,
    Eligibility: eligibility_update,
    GradientCorrection: gradient_correction_update,
}


@compiled
def _forget_nothing(state: Any) -> None:
    """One-step learners have no past."""


@compiled
def _forget_window(state: Any) -> None:
    state.cursor[0] = 0


@compiled
def _forget_trace(state: Eligibility) -> None:
    state.trace[:] = 0
    state.follow_on[:] = 0


@compiled
def _forget_secondary(state: GradientCorrection) -> None:
    state.secondary[:] = 0


FORGETS: dict[type, Callable[..., None]] = {
    OneStep: _forget_nothing,
    OneStepControl: _forget_nothing,
    NStep: _forget_window,
    MonteCarlo: _forget_window,
    Traces: _forget_window,
    ControlTraces: _forget_window,
    Eligibility: _forget_trace,
    GradientCorrection: _forget_secondary,
}


def step(state: Any, seen: Transition, step_size: float, second_step_size: float) -> float:
    """Learn from one transition; returns 0, or NaN where a weight stopped being finite."""
    return UPDATES[type(state)](state, seen, step_size, second_step_size)


def forget(state: Any) -> None:
    """Start a new run: drop everything of the past but the weights."""
    FORGETS[type(state)](state)


@overload(forget, jit_options=INLINE)
def _compile_forget(state: Any) -> Any:
    if not isinstance(state, types.NamedTuple):
        return None
    clear = FORGETS[state.instance_class]

    def call(state: Any) -> Any:
        clear(state)

    return call


@overload(step, jit_options=INLINE)
def _compile_step(state: Any, seen: Any, step_size: Any, second_step_size: Any) -> Any:
    if not isinstance(state, types.NamedTuple):
        return None
    update = UPDATES[state.instance_class]

    def call(state: Any, seen: Any, step_size: Any, second_step_size: Any) -> Any:
        return update(state, seen, step_size, second_step_size)

    return call


@compiled
def learn(state: Any, seen: Transition, step_size: float, second_step_size: float) -> bool:
    """Learn from one transition; whether every weight touched is still finite."""
    return step(state, seen, step_size, second_step_size) == 0
