"""The ways to turn observations into features, by name."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from fhtd import checks
from fhtd.features.actions import STATE_KINDS, ActionFeatures
from fhtd.features.dense import DenseFeatures
from fhtd.features.state import StateFeatures
from fhtd.features.tiles import TileCoder, tile_count


class Features:
    """The ways to turn observations into features, by name.

    >>> from fhtd import Features
    >>> Features.tabular(5).size
    5
    >>> tiles = Features.tile_coded([0.0, -1.0], [1.0, 1.0], tiles=4, n_tilings=8)
    >>> indices, values = tiles.active([0.3, 0.2])
    >>> len(indices), values.tolist()
    (8, [1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0])
    """

    @staticmethod
    def tabular(n_states: int) -> StateFeatures:
        """One feature per integer state.

        Args:
            n_states: How many states there are; they are numbered from 0.

        Returns:
            As many features as states, one of them active.
        """
        n_states = checks.integer("n_states", n_states, 1)
        return StateFeatures(np.arange(n_states)[:, None], np.ones((n_states, 1)), n_states)

    @staticmethod
    def from_matrix(matrix: npt.ArrayLike) -> StateFeatures:
        """Features of integer states, row by row.

        Args:
            matrix: (states, features); row s is the feature vector of state s.

        Returns:
            The same features as lists of the non-zero ones.

        Raises:
            ValueError: The matrix is empty.

        >>> from fhtd import Features
        >>> features = Features.from_matrix([[2, 0, 1], [0, 1, 2]])
        >>> features.n_active, features.matrix.tolist()
        (2, [[2.0, 0.0, 1.0], [0.0, 1.0, 2.0]])
        """
        phi = checks.array("matrix", matrix, (None, None))
        if 0 in phi.shape:
            raise ValueError(f"matrix must have states and features, got shape {phi.shape}")
        used = phi != 0
        width = max(1, int(used.sum(axis=1).max()))
        # The non-zero columns of each row first, in order; the rest of the list has value 0.
        order = np.argsort(~used, axis=1, kind="stable")[:, :width]
        return StateFeatures(order, np.take_along_axis(phi, order, axis=1), phi.shape[1])

    @staticmethod
    def dense(size: int) -> DenseFeatures:
        """The observation is the feature vector.

        Args:
            size: Its length.
        """
        return DenseFeatures(size)

    @staticmethod
    def tile_coded(
        low: npt.ArrayLike,
        high: npt.ArrayLike,
        tiles: int | Sequence[int] = 8,
        n_tilings: int = 8,
    ) -> TileCoder:
        """Shifted grid tilings of a box.

        Args:
            low: The least value along each dimension; what lies below counts as that.
            high: The greatest value along each dimension.
            tiles: Tiles along each dimension, or one number for all.
            n_tilings: How many grids, each shifted by another fraction of a tile.

        Returns:
            One active feature for each tiling.
        """
        return TileCoder(np.asarray(low), np.asarray(high), np.asarray(tiles), n_tilings)

    @staticmethod
    def with_actions(features: Any, n_actions: int) -> ActionFeatures:
        """A copy of the features for each action: for the action values of a policy.

        Args:
            features: Of the state alone.
            n_actions: How many actions there are; they are numbered from 0.

        Returns:
            Features of pairs (observation, action).
        """
        return ActionFeatures(features, n_actions)

    @staticmethod
    def from_space(space: Any, tiles: int | Sequence[int] = 8, n_tilings: int = 8) -> Any:
        """A table for a Gymnasium `Discrete` space, tile coding for a bounded `Box` vector.

        Args:
            space: The observation space.
            tiles: Tiles along each dimension of a box, or one number for all.
            n_tilings: How many grids, each shifted by another fraction of a tile.

        Raises:
            ValueError: It is neither; `tile_coded` takes bounds of your own.

        >>> import gymnasium
        >>> from fhtd import Features
        >>> Features.from_space(gymnasium.make("FrozenLake-v1").observation_space).size
        16
        """
        kind = type(space).__name__
        if kind == "Discrete" and space.start == 0:
            return Features.tabular(int(space.n))
        bounded = kind == "Box" and np.all(np.isfinite(space.low) & np.isfinite(space.high))
        if bounded and len(space.shape) == 1 and np.all(np.abs(space.high) < 1e18):
            return Features.tile_coded(space.low, space.high, tiles, n_tilings)
        raise ValueError(
            f"observation space {space} has no ready features: expected Discrete from 0 or a "
            "bounded one-dimensional Box; build Features.tile_coded with your own bounds"
        )

    @staticmethod
    def from_arrays(
        kind: str, arrays: dict[str, npt.NDArray[Any]], largest: int | None = None
    ) -> Any:
        """Rebuild saved features; the inverse of `to_arrays`.

        Args:
            kind: The name of their class.
            arrays: What `to_arrays` gave.
            largest: Refuse more features than these, before memory is taken for them.

        Returns:
            Features of the class that is named.

        Raises:
            ValueError: It is no class of this package, or has too many features.
        """
        if kind == "ActionFeatures":
            which = checks.integer("kind", arrays["kind"].item(), 0, len(STATE_KINDS) - 1)
            count = checks.integer("n_actions", arrays["n_actions"].item(), 1, largest)
            own = {name.removeprefix("state_"): array for name, array in arrays.items()}
            most = None if largest is None else largest // count
            return ActionFeatures(Features.from_arrays(STATE_KINDS[which], own, most), count)
        if kind == "TileCoder":
            count = arrays["n_tilings"].item()
            checks.integer("n_tilings", count, 1, largest)
            checks.integer("size", tile_count(arrays["tiles"].ravel(), count), 1, largest)
            return TileCoder(arrays["low"], arrays["high"], arrays["tiles"], count)
        if kind not in ("StateFeatures", "DenseFeatures"):
            raise ValueError(
                f"its features, {kind!r}, are not of this package; pass them: load(path, "
                "features=...)"
            )
        size = checks.integer("size", arrays["size"].item(), 1, largest)
        if kind == "DenseFeatures":
            return DenseFeatures(size)
        return StateFeatures(arrays["indices"], arrays["values"], size)
