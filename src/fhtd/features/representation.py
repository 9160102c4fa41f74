"""What a learner needs of features: the active list of an observation."""

from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

#: More could not be told apart by 64-bit positions in weights of several horizons and actions.
MOST_FEATURES = 2**48

Active = tuple[npt.NDArray[np.int64], npt.NDArray[np.float64]]


class Representation(Protocol):
    """What a learner needs of features; write your own for observations of any kind.

    >>> from fhtd import FHTD, Features, Weighting
    >>> class Parity:
    ...     size, n_active, observation_shape = 2, 1, ()
    ...
    ...     def active(self, observation):
    ...         return [observation % 2], [1.0]
    >>> learner = FHTD(Parity(), Weighting.exponential(1), step_size=1.0)
    >>> learner.update(6, reward=5.0, next_observation=7)
    >>> learner.values(8).tolist()  # even, as 6 is
    [5.0]
    """

    @property
    def size(self) -> int:
        """Number of features."""

    @property
    def n_active(self) -> int:
        """Length of every active list."""

    @property
    def observation_shape(self) -> tuple[int, ...]:
        """Shape of one observation: () for a state index."""

    def active(self, observation: Any) -> Active:
        """Indices and values of the active features; pad with value 0.

        Args:
            observation: What was seen.

        Returns:
            Two arrays of length `n_active`.
        """

    def to_arrays(self) -> dict[str, npt.NDArray[Any]]:
        """The arrays that rebuild these features, for saving."""
