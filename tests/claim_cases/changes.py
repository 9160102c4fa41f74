"""Changes to made-up results."""

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from fhtd.reproduction import Arrays

RUNS = 8
#: From -1 to 1 over the runs, with mean 0: a spread that leaves the mean in doubt.
SPREAD = np.linspace(-1, 1, RUNS)
Floats = npt.NDArray[np.float64]
Change = Callable[[Arrays], None]


def put(name: str, value: Any, at: Any = ...) -> Change:
    """Set a part of one array."""

    def change(data: Arrays) -> None:
        data[name][at] = value

    return change


def both(*changes: Change) -> Change:
    """One change after the other."""

    def change(data: Arrays) -> None:
        for one in changes:
            one(data)

    return change


#: Enough for the share of runs that converge.
MANY = 400


def fewer(name: str, count: int) -> Change:
    """Only so many runs."""
    return lambda data: data.update({name: data[name][:count]})


def becomes(build: Callable[..., Arrays], *options: Any, **more: Any) -> Change:
    """Replace the data by what `build` gives."""
    return lambda data: data.update(build(*options, **more))


def scatter(arm: str, size: float) -> Change:
    """Make an arm's runs differ by so much."""

    def change(data: Arrays) -> None:
        data[f"{arm}.curves"] += size * SPREAD[:, None]

    return change


def shift(name: str, by: Any) -> Change:
    """Move an array."""

    def change(data: Arrays) -> None:
        data[name] = data[name] + by

    return change


#: In doubt with any other, and paired with none.
FORTH_AND_BACK = 200 * np.array([1, -1] * (RUNS // 2))[:, None]
