"""Means, shares and their 95% intervals over runs; means are mergeable block by block."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt


@dataclass(frozen=True, eq=False)
class Statistics:
    """Count, mean and sum of squared deviations over runs; runs are the unit."""

    count: int
    mean: npt.NDArray[Any]
    squares: npt.NDArray[np.float64]

    @classmethod
    def of(cls, samples: npt.ArrayLike) -> "Statistics":
        """Over the first axis of an array of runs."""
        values = np.asarray(samples)
        mean = values.mean(axis=0)
        return cls(len(values), mean, (np.abs(values - mean) ** 2).sum(axis=0))

    def merge(self, other: "Statistics") -> "Statistics":
        """The statistics of both sets of runs (Chan, Golub & LeVeque's pairwise rule)."""
        count = self.count + other.count
        if not self.count or not other.count:
            return other if other.count else self
        change = other.mean - self.mean
        mean = self.mean + change * (other.count / count)
        spread = np.abs(change) ** 2 * (self.count * other.count / count)
        return Statistics(count, mean, self.squares + other.squares + spread)

    @property
    def deviation(self) -> npt.NDArray[np.float64]:
        """Sample standard deviation; NaN for a single run."""
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.asarray(np.sqrt(self.squares / np.float64(self.count - 1)))

    @property
    def standard_error(self) -> npt.NDArray[np.float64]:
        """Standard error of the mean over runs; NaN for a single run."""
        return np.asarray(self.deviation / np.sqrt(self.count))


#: Fewer values that are all alike say nothing of their spread.
_FEW = 5


@dataclass(frozen=True)
class Interval:
    """A mean over runs with its 95% confidence interval.

    >>> from fhtd.statistics import Interval
    >>> gain = Interval.of([1.0, 2.0, 3.0, 2.0])
    >>> round(gain.low, 1), gain.mean, round(gain.high, 1)
    (0.7, 2.0, 3.3)
    >>> print(Interval.share([True] * 9 + [False]))
    0.9 [0.555, 0.9975]
    """

    mean: float
    low: float
    high: float

    @classmethod
    def of(cls, samples: npt.ArrayLike) -> "Interval":
        """From one number per run, by Student's t.

        A single run has no bounds, nor have a few that are all alike: they say nothing of their
        spread.
        """
        values = np.asarray(samples, np.float64)
        if len(values) < 2 or (len(values) < _FEW and bool((values == values[0]).all())):
            return cls(float(values.mean()), -np.inf, np.inf)
        error = float(Statistics.of(values).standard_error)
        return cls.around(float(values.mean()), error, len(values))

    @classmethod
    def around(cls, mean: float, standard_error: float, count: int) -> "Interval":
        """From a mean and its standard error over `count` runs."""
        reach = student_quantile(count - 1) * standard_error
        return cls(mean, mean - reach, mean + reach)

    @classmethod
    def share(cls, hits: npt.ArrayLike) -> "Interval":
        """Of the runs for which something is so, by Clopper and Pearson's exact rule."""
        seen = np.asarray(hits, bool)
        count, total = int(seen.sum()), len(seen)
        low = 0.0 if count == 0 else _beta_quantile(0.025, count, total - count + 1)
        high = 1.0 if count == total else _beta_quantile(0.975, count + 1, total - count)
        return cls(count / total, low, high)

    def __str__(self) -> str:
        return f"{self.mean:.4g} [{self.low:.4g}, {self.high:.4g}]"


@cache
def student_quantile(freedom: int) -> float:
    """97.5% quantile of Student's t."""
    return student_bound(freedom, 0.025)


def student_bound(freedom: int, tail: float) -> float:
    """What Student's t exceeds with a probability of `tail`, however small."""
    # P(T > t) is half of I_x(v / 2, 1 / 2) at x = v / (v + t^2).
    x = _inverse(lambda x: incomplete_beta(freedom / 2, 0.5, x), 2 * tail)
    return math.sqrt(freedom * (1 - x) / x)


def _beta_quantile(probability: float, a: float, b: float) -> float:
    return _inverse(lambda x: incomplete_beta(a, b, x), probability)


def _inverse(function: Callable[[float], float], value: float) -> float:
    """Where a function that rises from 0 to 1 over that range takes a value, by bisection."""
    low, high = 0.0, 1.0
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if function(middle) < value else (low, middle)
    return (low + high) / 2


def incomplete_beta(a: float, b: float, x: float) -> float:
    """The regularised incomplete beta function I_x(a, b), by Lentz's continued fraction."""
    if x <= 0 or x >= 1:
        return float(x >= 1)
    if x > (a + 1) / (a + b + 2):  # where the fraction converges slowly
        return 1 - incomplete_beta(b, a, 1 - x)
    gamma = math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b)
    front = math.exp(gamma + a * math.log(x) + b * math.log1p(-x)) / a
    tiny = 1e-300
    c, d = 1.0, 1 / (1 - (a + b) * x / (a + 1))
    total = d
    for m in range(1, 10_000):
        for term in (
            m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)),
            -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1)),
        ):
            d = 1 / (1 + term * d or tiny)
            c = 1 + term / c or tiny
            total *= c * d
        if abs(c * d - 1) < 1e-15:
            break
    return front * total
