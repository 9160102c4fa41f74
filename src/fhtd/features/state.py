"""Features of numbered states: tables, and matrices with a row for each state."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from fhtd import checks
from fhtd.features.representation import Active


@dataclass(frozen=True, eq=False)
class StateFeatures:
    """Features of integer states: row s of `indices` and `values` is the active list of s.

    Raises:
        ValueError: The arrays are empty, not shaped alike, or name a feature that is not there.

    >>> from fhtd.features import StateFeatures
    >>> ones = [[1.0, 1.0], [1.0, 1.0]]
    >>> StateFeatures(indices=[[0, 1], [1, 2]], values=ones, size=3).matrix.tolist()
    [[1.0, 1.0, 0.0], [0.0, 1.0, 1.0]]
    """

    #: (states, active features): which features are active.
    indices: npt.NDArray[np.int64]
    #: (states, active features): their values; 0 fills a list up.
    values: npt.NDArray[np.float64]
    #: Number of features.
    size: int

    def __post_init__(self) -> None:
        values = checks.array("values", self.values, (None, None))
        indices = np.asarray(self.indices)
        if indices.shape != values.shape or not np.issubdtype(indices.dtype, np.integer):
            raise ValueError(f"indices must be integers of shape {values.shape}")
        size = checks.integer("size", self.size, 1)
        if 0 in indices.shape:
            raise ValueError(f"indices must list states and features, got shape {indices.shape}")
        if np.any(indices < 0) or np.any(indices >= size):
            raise ValueError(f"indices must be from 0 to {size - 1}")
        object.__setattr__(self, "indices", checks.frozen(indices.astype(np.int64)))
        object.__setattr__(self, "values", checks.frozen(values))

    @property
    def n_states(self) -> int:
        """Number of states with features."""
        return len(self.indices)

    @property
    def n_active(self) -> int:
        """Length of every active list."""
        return int(self.indices.shape[1])

    @property
    def observation_shape(self) -> tuple[int, ...]:
        """A state is one integer."""
        return ()

    @property
    def matrix(self) -> npt.NDArray[np.float64]:
        """The dense (states, features) matrix Phi."""
        phi = np.zeros((self.n_states, self.size))
        np.add.at(phi, (np.arange(self.n_states)[:, None], self.indices), self.values)
        return phi

    def active(self, observation: Any) -> Active:
        """The active list of one state.

        Args:
            observation: The state, an integer.

        Raises:
            ValueError: There is no such state.
        """
        if type(observation) is not int:
            if isinstance(observation, np.ndarray) and observation.ndim == 0:
                observation = observation[()]
            observation = checks.integer("observation", observation, 0)
        if not 0 <= observation < len(self.indices):
            raise ValueError(
                f"observation must be a state from 0 to {self.n_states - 1}, got {observation}"
            )
        return self.indices[observation], self.values[observation]

    def to_arrays(self) -> dict[str, npt.NDArray[Any]]:
        """The arrays that rebuild these features."""
        return {"indices": self.indices, "values": self.values, "size": np.array(self.size)}
