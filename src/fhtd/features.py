"""Features as active lists: which weights an observation uses, and with what factor.

A table has one active feature, Baird's counterexample two, a tile coder one per tiling, a dense
vector all of them. So every learner has one kernel for all representations.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from fhtd import checks

#: More could not be told apart by 64-bit positions in weights of several horizons and actions.
_MOST_FEATURES = 2**48

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
        indices: npt.NDArray[np.int64] = getattr(self, "_indices")  # noqa: B009
        return indices, values

    def to_arrays(self) -> dict[str, npt.NDArray[Any]]:
        """The arrays that rebuild these features."""
        return {"size": np.array(self.size)}


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
        _tile_count(tiles, count)
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
        return _tile_count(self.tiles, self.n_tilings)

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


@dataclass(frozen=True, eq=False)
class ActionFeatures:
    """Features of a state and an action together: an observation is the pair of both.

    Each action has a copy of the state's features, so that learners of state values learn the
    action values of a policy: of one step, of n, with lambda, or by Monte Carlo. The ratio of a
    transition is then that of the next action, pi(A'|S') / mu(A'|S').

    Raises:
        TypeError: `features` are none.
        ValueError: There are no actions, or more than can be counted.

    >>> from fhtd import Features, NStepFHTD, Weighting
    >>> pairs = Features.with_actions(Features.tabular(1), n_actions=2)
    >>> learner = NStepFHTD(pairs, Weighting.exponential(4), n=2, step_size=0.5)
    >>> for t in range(200):  # action 1 pays 1, and the policy alternates
    ...     learner.update((0, t % 2), float(t % 2), (0, (t + 1) % 2))
    >>> [learner.values((0, action)).round(3).tolist() for action in (0, 1)]
    [[1.0, 2.0], [1.0, 2.0]]
    """

    #: Of the state alone.
    features: Any
    #: How many actions there are.
    n_actions: int

    def __post_init__(self) -> None:
        for needed in ("size", "n_active", "observation_shape", "active"):
            if not hasattr(self.features, needed):
                raise TypeError(f"features must be built by Features, got {self.features!r}")
        count = checks.integer("n_actions", self.n_actions, 1, _MOST_FEATURES // self.features.size)
        object.__setattr__(self, "n_actions", count)

    @property
    def size(self) -> int:
        """Those of the state, for each action."""
        return int(self.features.size) * self.n_actions

    @property
    def n_active(self) -> int:
        """As many as of the state."""
        return int(self.features.n_active)

    @property
    def observation_shape(self) -> tuple[int, ...]:
        """Two things: what is seen of the state, and the action."""
        return (2,)

    def active(self, observation: Any) -> Active:
        """The active list of the state, among the features of the action.

        Args:
            observation: The pair (observation of the state, action).

        Raises:
            TypeError: It is no pair.
            ValueError: There is no such action, or no such state.
        """
        if not isinstance(observation, tuple | list) or len(observation) != 2:
            raise TypeError(
                f"observation must be a pair (observation, action), got {observation!r}"
            )
        seen, action = observation
        action = checks.integer("observation's action", action, 0, self.n_actions - 1)
        indices, values = self.features.active(seen)
        return np.asarray(indices) + action * self.features.size, values

    def to_arrays(self) -> dict[str, npt.NDArray[Any]]:
        """The arrays that rebuild these features.

        Raises:
            TypeError: The state's features are of your own, and have none.
        """
        kind = type(self.features).__name__
        if kind not in _KINDS:
            raise TypeError(f"features of the state, {kind}, cannot be saved")
        own = {f"state_{name}": array for name, array in self.features.to_arrays().items()}
        return {"n_actions": np.array(self.n_actions), "kind": np.array(_KINDS.index(kind)), **own}


#: Features of states that files may hold, by their place in this list.
_KINDS = ("StateFeatures", "DenseFeatures", "TileCoder")


def _tile_count(tiles: npt.NDArray[Any], n_tilings: int) -> int:
    """Tiles in all tilings, refused where positions could not be counted."""
    # Python's integers do not overflow.
    count = math.prod(int(along) + 1 for along in tiles) * n_tilings
    if count > _MOST_FEATURES:
        raise ValueError(f"tiles and n_tilings make {float(count):.1e} features, too many to count")
    return count


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
            which = checks.integer("kind", arrays["kind"].item(), 0, len(_KINDS) - 1)
            count = checks.integer("n_actions", arrays["n_actions"].item(), 1, largest)
            own = {name.removeprefix("state_"): array for name, array in arrays.items()}
            most = None if largest is None else largest // count
            return ActionFeatures(Features.from_arrays(_KINDS[which], own, most), count)
        if kind == "TileCoder":
            count = arrays["n_tilings"].item()
            checks.integer("n_tilings", count, 1, largest)
            checks.integer("size", _tile_count(arrays["tiles"].ravel(), count), 1, largest)
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
