"""Observations that are feature vectors themselves."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from fhtd import checks
from fhtd.features.representation import Active


@dataclass(frozen=True, eq=False)
class DenseFeatures:
    """The observation itself is the feature vector.

    >>> from fhtd.features import DenseFeatures
    >>> indices, values = DenseFeatures(3).active([0.5, 0.0, -1.0])
    >>> indices.tolist(), values.tolist()
    ([0, 1, 2], [0.5, 0.0, -1.0])
    """

    #: Number of features.
    size: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "size", checks.integer("size", self.size, 1))
        object.__setattr__(self, "_indices", checks.frozen(np.arange(self.size)))

    @property
    def n_active(self) -> int:
        """Every feature is active."""
        return self.size

    @property
    def observation_shape(self) -> tuple[int, ...]:
        """One number per feature."""
        return (self.size,)

    def active(self, observation: Any) -> Active:
        """All indices, and the observation as values.

        Args:
            observation: The feature vector.

        Returns:
            Two arrays of length `size`.
        """
        values = checks.array("observation", observation, (self.size,))
        return self.__dict__["_indices"], values

    def to_arrays(self) -> dict[str, npt.NDArray[Any]]:
        """The arrays that rebuild these features."""
        return {"size": np.array(self.size)}
