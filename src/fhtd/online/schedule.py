"""Step sizes, exploration rates and lambda that change over time, as data."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from fhtd import checks

#: A constant, one of the schedules below, or any function of the step number t = 0, 1, 2, ...
Rate = float | Callable[[int], float]


@dataclass(frozen=True)
class Decay:
    """initial / (1 + t / offset)^power: Robbins-Monro for powers above 1/2 up to 1."""

    #: The rate at t = 0.
    initial: float
    #: After how many steps the decay sets in.
    offset: float = 1.0
    #: How fast the rate falls after that; 0 keeps it.
    power: float = 1.0

    def __post_init__(self) -> None:
        checks.real("initial", self.initial, 0)
        checks.positive("offset", self.offset)
        checks.real("power", self.power, 0)

    def __call__(self, t: int) -> float:
        """The rate at step t."""
        return float(self.initial / (1 + t / self.offset) ** self.power)


@dataclass(frozen=True)
class Linear:
    """From initial to final in a straight line over the given number of steps, then constant."""

    #: The rate at t = 0.
    initial: float
    #: The rate from t = steps on.
    final: float
    #: How many steps it takes from the one to the other.
    steps: int

    def __post_init__(self) -> None:
        checks.real("initial", self.initial, 0)
        checks.real("final", self.final, 0)
        checks.integer("steps", self.steps, 1)

    def __call__(self, t: int) -> float:
        """The rate at step t."""
        share = min(t / self.steps, 1.0)
        return self.initial + share * (self.final - self.initial)


#: The largest value of those rates that have one.
LARGEST = {"epsilon": 1.0, "lambda_": 1.0}


def check_rate(name: str, rate: Any) -> Rate:
    """Return a rate that is a number from 0 to the largest of its kind, or a function."""
    if callable(rate):
        rate_at(name, rate, 0)
        return rate  # type: ignore[no-any-return]
    return checks.real(name, rate, 0, LARGEST.get(name, math.inf))


def rate_at(name: str, rate: Rate, t: int) -> float:
    """The rate at step t; a function's answer is checked."""
    if isinstance(rate, float):
        return rate
    assert callable(rate)
    return checks.real(f"{name}({t})", rate(t), 0, LARGEST.get(name, math.inf))


def rate_to_json(rate: Rate) -> Any:
    """Plain data for a constant or a schedule of ours; None for any other function."""
    if isinstance(rate, Decay):
        return {"decay": [rate.initial, rate.offset, rate.power]}
    if isinstance(rate, Linear):
        return {"linear": [rate.initial, rate.final, rate.steps]}
    return rate if isinstance(rate, float) else None


def rate_from_json(data: Any) -> Rate:
    """The inverse of `rate_to_json`."""
    if isinstance(data, dict) and list(data) == ["decay"]:
        return Decay(*data["decay"])
    if isinstance(data, dict) and list(data) == ["linear"]:
        return Linear(*data["linear"])
    return checks.real("rate", data)
