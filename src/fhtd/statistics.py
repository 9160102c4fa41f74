"""Means and standard errors over runs, mergeable block by block."""

from dataclasses import dataclass
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


@dataclass(frozen=True)
class Interval:
    """A mean over runs with its 95% confidence interval."""

    mean: float
    low: float
    high: float

    @classmethod
    def of(cls, samples: npt.ArrayLike) -> "Interval":
        """From one number per run, by Student's t; a single run has no bounds."""
        values = np.asarray(samples, np.float64)
        if len(values) < 2:
            return cls(float(values.mean()), -np.inf, np.inf)
        error = float(Statistics.of(values).standard_error)
        return cls.around(float(values.mean()), error, len(values))

    @classmethod
    def around(cls, mean: float, standard_error: float, count: int) -> "Interval":
        """From a mean and its standard error over `count` runs."""
        reach = student_quantile(count - 1) * standard_error
        return cls(mean, mean - reach, mean + reach)

    def __str__(self) -> str:
        return f"{self.mean:.4g} [{self.low:.4g}, {self.high:.4g}]"


def student_quantile(freedom: int) -> float:
    """97.5% quantile of Student's t, by the Cornish-Fisher expansion about the normal."""
    if freedom < 3:
        return {1: 12.706204736, 2: 4.302652730}[freedom]
    z, v = 1.959963984540054, float(freedom)
    return (
        z
        + (z**3 + z) / (4 * v)
        + (5 * z**5 + 16 * z**3 + 3 * z) / (96 * v**2)
        + (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / (384 * v**3)
        + (79 * z**9 + 776 * z**7 + 1482 * z**5 - 1920 * z**3 - 945 * z) / (92160 * v**4)
    )
