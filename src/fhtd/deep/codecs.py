"""Observations and actions of an environment as arrays and back; what does not fit is refused.

A codec knows one space and nothing else of the environment. Agents see arrays only.
"""

from copy import deepcopy
from typing import Any

import numpy as np
import numpy.typing as npt

from fhtd import checks

Mask = npt.NDArray[np.bool_]


class Observations:
    """Vectors as they are, images as bytes (scaled to [0, 1] for the network), states one-hot.

    Stacks of pictures (frames first, as Gymnasium's wrappers make them) become channels. Whatever
    else Gymnasium can flatten is a vector: dictionaries, tuples, lists of choices.
    """

    def __init__(self, space: Any) -> None:
        from gymnasium import spaces

        #: What the network's input is multiplied by.
        self.scaling: float | None = None
        self._first_state: int | None = None
        #: Frames in an observation, where it is a stack of pictures.
        self.stack: int | None = None
        #: What is flattened.
        self._space: Any = None
        if isinstance(space, spaces.Discrete):
            self._first_state = int(space.start)
            self.raw_shape: tuple[int, ...] = ()
            self.shape: tuple[int, ...] = (int(space.n),)
            self.dtype: np.dtype[Any] = np.dtype(np.float32)
        elif _is_stack(space):
            self.raw_shape = space.shape
            is_one = len(space.shape) == 2
            self.stack = 1 if is_one else int(space.shape[0])
            height, width, *channels = space.shape if is_one else space.shape[1:]
            self.shape = (height, width, self.stack * int(np.prod(channels)))
            self.dtype, self.scaling = np.dtype(np.uint8), 1 / 255
        elif isinstance(space, spaces.Box) and len(space.shape) in (1, 3) and 0 not in space.shape:
            self.raw_shape = self.shape = space.shape
            is_image = space.dtype == np.uint8
            self.dtype = np.dtype(np.uint8 if is_image else np.float32)
            self.scaling = 1 / 255 if is_image else None
        else:
            flat = spaces.flatten_space(space) if space.is_np_flattenable else None
            if not isinstance(flat, spaces.Box) or 0 in flat.shape:
                raise ValueError(
                    f"environment has observations {space}; supported are vectors, images (height, "
                    "width, channels), Discrete states, and what Gymnasium can flatten to a vector"
                )
            self._space = space
            self.raw_shape = () if space.shape is None else space.shape
            self.shape, self.dtype = flat.shape, np.dtype(np.float32)

    def is_one(self, observation: Any) -> bool:
        """Whether this is one observation, and not a batch of them."""
        if self._space is not None and self._space.shape is None:
            return not isinstance(observation, list | np.ndarray)
        return bool(np.shape(observation) == self.raw_shape)

    def receive(self, raw: Any) -> Any:
        """An observation to keep: environments may write into the array that they return."""
        if isinstance(raw, np.ndarray):
            return raw.copy()
        return raw if self._space is None else deepcopy(raw)

    def encode(self, received: Any, name: str = "observation") -> npt.NDArray[Any]:
        """One observation as an array of the replay's dtype; not-finite numbers are named."""
        if self._first_state is not None:
            state = checks.integer(name, received, self._first_state) - self._first_state
            encoded = np.zeros(self.shape, np.float32)
            if state >= len(encoded):
                raise ValueError(f"{name} must be one of {len(encoded)} states, got {received}")
            encoded[state] = 1
            return encoded
        if self._space is not None:
            received = self._flattened(received, name)
        elif self.stack is not None:
            received = self._as_channels(received, name)
        array = np.asarray(received, self.dtype)
        if array.shape != self.shape:
            raise ValueError(f"{name} must have shape {self.shape}, got {array.shape}")
        if self.scaling is None and not np.isfinite(array).all():
            raise ValueError(f"{name} must be finite, got {array}")
        return array

    def _flattened(self, received: Any, name: str) -> Any:
        from gymnasium import spaces

        try:
            return spaces.flatten(self._space, received)
        except (KeyError, IndexError, TypeError, ValueError, AttributeError):
            raise ValueError(f"{name} must be one of {self._space}, got {received!r}") from None

    def _as_channels(self, received: Any, name: str) -> npt.NDArray[Any]:
        """Frames first to frames last: what was (frames, height, width, ...) is an image."""
        array = np.asarray(received)
        if array.shape != self.raw_shape:
            raise ValueError(f"{name} must have shape {self.raw_shape}, got {array.shape}")
        if array.ndim == 2:
            return array[..., None]
        return np.moveaxis(array, 0, 2).reshape(self.shape)

    def to_network(self, encoded: Any) -> Any:
        """What the network is given; within compiled functions."""
        seen = encoded.astype(np.float32)
        return seen if self.scaling is None else seen * self.scaling


def _is_stack(space: Any) -> bool:
    """Whether observations are pictures (height, width), or stacks of pictures, frames first."""
    from gymnasium import spaces

    if not isinstance(space, spaces.Box) or space.dtype != np.uint8 or 0 in space.shape:
        return False
    if len(space.shape) == 3:
        # An image whose channels come last has no side as short as a stack.
        return bool(space.shape[0] <= 16 and min(space.shape[1:]) >= 36)
    return len(space.shape) in (2, 4)


class DiscreteActions:
    """Actions 0 to n - 1, some of which a mask may forbid."""

    #: Shape of one action in a replay.
    shape: tuple[int, ...] = ()
    #: What stands where nothing has been chosen yet.
    none: int = 0

    def __init__(self, space: Any) -> None:
        self.n = int(space.n)
        self._first = int(space.start)
        self.all_permitted = np.ones(self.n, bool)
        self.all_permitted.setflags(write=False)

    def to_environment(self, action: int) -> int:
        """The environment's own number of an action."""
        return action + self._first

    def shown(self, action: int) -> int:
        """An action as users see it: numbered from 0."""
        return action

    def check(self, name: str, action: Any) -> int:
        """An action of this space."""
        return checks.integer(name, action, 0, self.n - 1)

    def are_possible(self, saved: npt.NDArray[Any]) -> bool:
        """Whether rows of a replay hold actions of this space."""
        return bool(np.isin(saved, np.arange(self.n)).all())

    def from_network(self, chosen: Any) -> list[int]:
        """The actions of a batch, as a compiled function returned them."""
        return [int(action) for action in chosen]

    def to_array(self, actions: list[int]) -> npt.NDArray[np.int32]:
        """Actions to be written down."""
        return np.array(actions, np.int32)

    def from_array(self, name: str, saved: npt.NDArray[Any]) -> list[int]:
        """The inverse of `to_array`; what is no action of this space is refused."""
        if saved.dtype != np.int32 or saved.ndim != 1 or np.any((saved < 0) | (saved >= self.n)):
            raise ValueError(f"{name} must be actions from 0 to {self.n - 1}")
        return [int(action) for action in saved]

    def random(self, rng: np.random.Generator, mask: Mask) -> int:
        """One of the permitted actions, each as likely as the others."""
        permitted = np.flatnonzero(mask)
        return int(permitted[rng.integers(len(permitted))])

    def mask_of(self, info: Any) -> Mask:
        """Which actions `info` permits under `action_mask`; all where it says nothing."""
        if not isinstance(info, dict):
            raise TypeError(f"info must be a dictionary, got {info!r}")
        return self.check_mask(info.get("action_mask"))

    def check_mask(self, mask: Any) -> Mask:
        """A usable mask: one flag per action, at least one of them set."""
        if mask is None:
            return self.all_permitted
        flags = np.array(mask).astype(bool)
        if flags.shape != (self.n,):
            raise ValueError(f"action_mask must have {self.n} entries, got {flags.shape}")
        if not flags.any():
            raise ValueError("action_mask must permit at least one action")
        return flags


#: Bounds further out than this, such as the largest number of a type, bound nothing.
_FAR_OUT = 1e18


class BoxActions:
    """Vectors of bounded numbers: within [-1, 1] here, scaled to the space's bounds outside."""

    def __init__(self, space: Any) -> None:
        low, high = (np.asarray(bound, np.float64).ravel() for bound in (space.low, space.high))
        if not np.issubdtype(space.dtype, np.floating) or not low.size:
            raise ValueError(f"environment must have actions of real numbers, got {space}")
        for sides, bounded in (
            ("unbounded", (np.abs(low) < _FAR_OUT) | (np.abs(high) < _FAR_OUT)),
            ("bounded on one side only", (np.abs(low) < _FAR_OUT) & (np.abs(high) < _FAR_OUT)),
        ):
            if not bounded.all():
                which = int(np.flatnonzero(~bounded)[0])
                raise ValueError(
                    f"environment must have bounded actions, but number {which} of {space} is "
                    f"{sides}: wrap it in gymnasium.wrappers.RescaleAction or ClipAction"
                )
        if not np.all(low < high):
            raise ValueError(f"environment must have actions to choose from, got {space}")
        self._space_shape, self._dtype = space.shape, space.dtype
        self._low, self._high = low, high
        self._middle, self._reach = (low + high) / 2, (high - low) / 2
        #: Shape of one action in a replay.
        self.shape: tuple[int, ...] = (low.size,)
        #: What stands where nothing has been chosen yet.
        self.none = np.zeros(low.size, np.float32)
        #: Masks are for actions that can be counted.
        self.all_permitted = np.ones(0, bool)
        self.all_permitted.setflags(write=False)

    @property
    def size(self) -> int:
        """How many numbers an action has."""
        return self.shape[0]

    def to_environment(self, action: npt.NDArray[np.float32]) -> npt.NDArray[Any]:
        """In the environment's own bounds, shape and type."""
        found = np.clip(self._middle + self._reach * action, self._low, self._high)
        return found.astype(self._dtype).reshape(self._space_shape)

    def from_environment(self, name: str, action: Any) -> npt.NDArray[np.float32]:
        """The inverse of `to_environment`; what is not within the bounds is refused."""
        found = np.asarray(action, np.float64)
        if found.shape != self._space_shape:
            raise ValueError(f"{name} must have shape {self._space_shape}, got {found.shape}")
        scaled = ((found.ravel() - self._middle) / self._reach).astype(np.float32)
        # Beyond the bounds by rounding alone is within them.
        if not np.all(np.abs(scaled) <= 1 + 1e-5):
            raise ValueError(
                f"{name} must be finite and within the bounds of the environment, got {action}"
            )
        return np.clip(scaled, -1, 1)

    def shown(self, action: npt.NDArray[np.float32]) -> npt.NDArray[Any]:
        """An action as users see it: the environment's own."""
        return self.to_environment(action)

    def check(self, name: str, action: Any) -> npt.NDArray[np.float32]:
        """An action of this space, scaled to [-1, 1]."""
        found = np.asarray(action, np.float32)
        if found.shape != self.shape or not self.are_possible(found):
            raise ValueError(
                f"{name} must be {self.size} finite numbers from -1 to 1, got {action}"
            )
        return found

    def are_possible(self, saved: npt.NDArray[Any]) -> bool:
        """Whether rows of a replay hold actions of this space."""
        return bool((np.abs(saved) <= 1).all())

    def from_network(self, chosen: Any) -> list[npt.NDArray[np.float32]]:
        """The actions of a batch, as a compiled function returned them; copies."""
        return list(np.array(chosen, np.float32).reshape(-1, self.size))

    def to_array(self, actions: list[npt.NDArray[np.float32]]) -> npt.NDArray[np.float32]:
        """Actions to be written down."""
        return np.array(actions, np.float32).reshape(-1, self.size)

    def from_array(self, name: str, saved: npt.NDArray[Any]) -> list[npt.NDArray[np.float32]]:
        """The inverse of `to_array`; what is no action of this space is refused."""
        if saved.dtype != np.float32 or saved.shape[1:] != self.shape:
            raise ValueError(f"{name} must be actions of {self.size} numbers")
        return [self.check(name, action) for action in saved]

    def random(self, rng: np.random.Generator, mask: Mask) -> npt.NDArray[np.float32]:
        """Any action, each as likely as the others."""
        return rng.uniform(-1, 1, self.size).astype(np.float32)

    def mask_of(self, info: Any) -> Mask:
        """Nothing: there is no list of actions to choose from."""
        if not isinstance(info, dict):
            raise TypeError(f"info must be a dictionary, got {info!r}")
        return self.check_mask(info.get("action_mask"))

    def check_mask(self, mask: Any) -> Mask:
        """Refuse a mask that says anything."""
        if mask is not None and np.size(mask):
            raise ValueError("action_mask must not be given where actions are continuous")
        return self.all_permitted


Actions = DiscreteActions | BoxActions


def actions_of(space: Any, taken: tuple[type[Actions], ...], owner: str) -> Any:
    """The codec of an action space, one of those that `owner` takes."""
    from gymnasium import spaces

    found: type[Actions] | None = None
    if isinstance(space, spaces.Discrete):
        found = DiscreteActions
    elif isinstance(space, spaces.Box):
        found = BoxActions
    if found is not None and found in taken:
        return found(space)
    words = {DiscreteActions: "discrete actions", BoxActions: "continuous actions"}
    advice = {DiscreteActions: "use DFHQ or DQN", BoxActions: "use FHSAC or SAC"}
    raise ValueError(
        f"environment must have {' or '.join(words[kind] for kind in taken)}, got {space}, for "
        f"{owner}: {'wrap it' if found is None else advice[found]}"
    )
