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
