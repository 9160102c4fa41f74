"""Times taken in turns, so that a slow moment of the machine falls on every contender alike."""

import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Timing:
    """Nanoseconds per step over the repetitions."""

    #: What the work takes when nothing else gets in its way; ratios are ratios of this.
    minimum: float
    median: float

    def times(self, other: "Timing") -> float:
        """How many times as long this takes as the other."""
        return self.minimum / other.minimum


@dataclass(frozen=True)
class Contender:
    """`run(steps)` does so many steps; enough of them that the call itself does not count."""

    run: Callable[[int], object]
    steps: int


def take_turns(contenders: Mapping[str, Contender], repetitions: int) -> dict[str, Timing]:
    """Every contender once, then again, and so on; a first round of a few steps warms up."""
    for contender in contenders.values():
        contender.run(10)
    times: dict[str, list[float]] = {name: [] for name in contenders}
    for _ in range(repetitions):
        for name, contender in contenders.items():
            begun = time.perf_counter()
            contender.run(contender.steps)
            times[name].append((time.perf_counter() - begun) / contender.steps * 1e9)
    return {name: Timing(min(taken), statistics.median(taken)) for name, taken in times.items()}
