"""One step of experience as the kernels see it."""

from typing import NamedTuple

from fhtd.online.kernels.compiled import Array, compiled, inlined


class Transition(NamedTuple):
    """Active features of S and S', what was done and seen, and where the episode was cut."""

    #: Tables of active lists, and the rows of S and S' in them.
    indices: Array
    values: Array
    row: int
    next_row: int
    action: int
    reward: float
    #: Probabilities of the next actions to average over; empty to maximise (control only).
    next_policy: Array
    terminated: bool
    truncated: bool
    #: pi(A|S) / mu(A|S), 1 on-policy.
    ratio: float
    #: How much of what follows S' counts, beside d_h: 1 as a rule, 0 as after a termination.
    continuation: float
    #: Report weights that stop being finite.
    watch: bool


@inlined
def scale(values: Array, factor: float) -> None:
    """Every entry times the factor, which mostly is 1."""
    if factor != 1:
        for h in range(values.shape[0]):
            values[h] *= factor


@compiled
def forget_window(cursor: Array) -> None:
    """Empty a window of the past; `cursor` has the states in it and the slot of the newest."""
    cursor[0] = 0


@inlined
def keep_active(indices: Array, values: Array, slot: int, seen: Transition) -> None:
    """Remember the active list of S in a window."""
    for k in range(indices.shape[1]):
        indices[slot, k] = seen.indices[seen.row, k]
        values[slot, k] = seen.values[seen.row, k]
