"""Observations and actions of a Gymnasium environment as arrays, and what is refused."""

from typing import Any

import numpy as np
import numpy.typing as npt

from fhtd import checks


class Encoder:
    """Vectors as they are, images as bytes (scaled to [0, 1] for the network), states one-hot."""

    def __init__(self, environment: Any) -> None:
        from gymnasium import spaces

        space, actions = environment.observation_space, environment.action_space
        if not isinstance(actions, spaces.Discrete):
            raise ValueError(
                f"environment must have discrete actions, got {actions}: deep agents maximise "
                "over a list of actions"
            )
        self.n_actions = int(actions.n)
        self._all_actions = np.ones(self.n_actions, bool)
        self._all_actions.setflags(write=False)
        self._first_action = int(actions.start)
        self.scaling: float | None = None
        self._first_state: int | None = None
        if isinstance(space, spaces.Discrete):
            self._first_state = int(space.start)
            self.observation_shape: tuple[int, ...] = ()
            self.shape: tuple[int, ...] = (int(space.n),)
            self.dtype: np.dtype[Any] = np.dtype(np.float32)
        elif isinstance(space, spaces.Box) and len(space.shape) in (1, 3):
            self.observation_shape = self.shape = space.shape
            is_image = space.dtype == np.uint8
            self.dtype = np.dtype(np.uint8 if is_image else np.float32)
            self.scaling = 1 / 255 if is_image else None
        else:
            raise ValueError(
                f"environment has observations {space}; supported are vectors, images (height, "
                "width, channels) and Discrete states: flatten or wrap it"
            )

    @property
    def network_shape(self) -> tuple[int, ...]:
        """Shape of one observation as the network sees it."""
        return self.shape

    def encode(self, observation: Any, name: str = "observation") -> npt.NDArray[Any]:
        """One observation as an array of the replay's dtype; not-finite numbers are named."""
        if self._first_state is not None:
            state = checks.integer(name, observation, self._first_state) - self._first_state
            encoded = np.zeros(self.shape, np.float32)
            if state >= len(encoded):
                raise ValueError(f"{name} must be one of {len(encoded)} states, got {observation}")
            encoded[state] = 1
            return encoded
        array = np.asarray(observation, self.dtype)
        if array.shape != self.shape:
            raise ValueError(f"{name} must have shape {self.shape}, got {array.shape}")
        if self.scaling is None and not np.isfinite(array).all():
            raise ValueError(f"{name} must be finite, got {array}")
        return array

    def scale(self, encoded: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """What the network is given."""
        return (
            encoded
            if self.scaling is None
            else encoded.astype(np.float32) * np.float32(self.scaling)
        )

    def to_environment(self, action: int) -> int:
        """The environment's own number of an action."""
        return action + self._first_action

    def mask_of(self, info: dict[str, Any]) -> npt.NDArray[np.bool_]:
        """Which actions `info` permits under `action_mask`; all where it says nothing."""
        return self.check_mask(info.get("action_mask"))

    def check_mask(self, mask: Any) -> npt.NDArray[np.bool_]:
        """A usable mask: one flag per action, at least one of them set."""
        if mask is None:
            return self._all_actions
        flags = np.asarray(mask).astype(bool)
        if flags.shape != (self.n_actions,):
            raise ValueError(f"action_mask must have {self.n_actions} entries, got {flags.shape}")
        if not flags.any():
            raise ValueError("action_mask must permit at least one action")
        return flags
