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

    #: Shape and type of one action in a replay.
    shape: tuple[int, ...] = ()

    def __init__(self, space: Any) -> None:
        self.n = int(space.n)
        self._first = int(space.start)
        self.all_permitted = np.ones(self.n, bool)
        self.all_permitted.setflags(write=False)

    def to_environment(self, action: int) -> int:
        """The environment's own number of an action."""
        return action + self._first

    def check(self, name: str, action: Any) -> int:
        """An action of this space."""
        return checks.integer(name, action, 0, self.n - 1)

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


def actions_of(space: Any) -> DiscreteActions:
    """The codec of an action space."""
    from gymnasium import spaces

    if not isinstance(space, spaces.Discrete):
        raise ValueError(
            f"environment must have discrete actions, got {space}: deep agents maximise over a "
            "list of actions"
        )
    return DiscreteActions(space)
