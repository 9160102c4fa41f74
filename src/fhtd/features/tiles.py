"""Tile coding: shifted grids over a box."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from fhtd import checks
from fhtd.features.representation import MOST_FEATURES, Active


def tile_count(tiles: npt.NDArray[Any], n_tilings: int) -> int:
    """Tiles in all tilings, refused where positions could not be counted."""
    # Python's integers do not overflow.
    count = math.prod(int(along) + 1 for along in tiles) * n_tilings
    if count > MOST_FEATURES:
        raise ValueError(f"tiles and n_tilings make {float(count):.1e} features, too many to count")
    return count


@dataclass(frozen=True, eq=False)
class TileCoder:
    """Grid tilings of a box, each shifted: one active feature per tiling, no hashing.

    Tiling i is displaced by (1, 3, 5, ...) i / n_tilings tiles along the dimensions, the
    asymmetric offsets that Sutton & Barto (2018, section 9.5.4) recommend. Observations outside
    the box count as its border.

    Raises:
        ValueError: `high` is not above `low`, or there are no tiles or too many.
        TypeError: `tiles` are not integers.

    >>> import numpy as np
    >>> from fhtd.features import TileCoder
    >>> coder = TileCoder(np.array([0.0]), np.array([1.0]), np.array(4), n_tilings=2)
    >>> coder.size, coder.active([0.6])[0].tolist()
    (10, [2, 7])
    """

    #: The least value along each dimension.
    low: npt.NDArray[np.float64]
    #: The greatest value along each dimension.
    high: npt.NDArray[np.float64]
    #: Tiles along each dimension, or one number for all.
    tiles: npt.NDArray[np.int64]
    #: How many grids.
    n_tilings: int

    def __post_init__(self) -> None:
        low = checks.array("low", self.low, (None,))
        high = checks.array("high", self.high, low.shape)
        if len(low) < 1 or np.any(high <= low):
            raise ValueError("high must be greater than low in every dimension")
        tiles = np.asarray(self.tiles)
        if not np.issubdtype(tiles.dtype, np.integer):
            raise TypeError(f"tiles must hold integers, got dtype {tiles.dtype}")
        if tiles.ndim == 0:
            tiles = np.full(low.shape, tiles)
        if tiles.shape != low.shape or np.any(tiles < 1):
            raise ValueError(f"tiles must be at least 1 for each of the {len(low)} dimensions")
        count = checks.integer("n_tilings", self.n_tilings, 1)
        tile_count(tiles, count)
        # One more tile along each dimension makes room for the displacement.
        extents = tiles.astype(np.int64) + 1
        strides = np.concatenate([np.cumprod(extents[::-1])[::-1][1:], [1]])
        offsets = np.arange(count)[:, None] * (2 * np.arange(len(low)) + 1) / count % 1.0
        derived = {
            "low": low,
            "high": high,
            "tiles": tiles.astype(np.int64),
            "_strides": strides,
            "_offsets": offsets,
            "_base": np.arange(count) * int(np.prod(extents)),
            "_ones": np.ones(count),
        }
        for field, value in derived.items():
            object.__setattr__(self, field, checks.frozen(value))
        object.__setattr__(self, "n_tilings", count)

    @property
    def size(self) -> int:
        """Number of tiles in all tilings."""
        return tile_count(self.tiles, self.n_tilings)

    @property
    def n_active(self) -> int:
        """One tile per tiling."""
        return self.n_tilings

    @property
    def observation_shape(self) -> tuple[int, ...]:
        """A vector within the box."""
        return self.low.shape

    def active(self, observation: Any) -> Active:
        """The tile of each tiling that holds the observation.

        Args:
            observation: A point of the box, or beyond it.
        """
        place = checks.array("observation", observation, self.low.shape)
        place = np.clip((place - self.low) / (self.high - self.low), 0, 1) * self.tiles
        cells = np.floor(place + self.__dict__["_offsets"]).astype(np.int64)
        indices = self.__dict__["_base"] + cells @ self.__dict__["_strides"]
        return indices, self.__dict__["_ones"]

    def to_arrays(self) -> dict[str, npt.NDArray[Any]]:
        """The arrays that rebuild these features."""
        return {
            "low": self.low,
            "high": self.high,
            "tiles": self.tiles,
            "n_tilings": np.array(self.n_tilings),
        }
