"""Replay of n-step transitions in plain arrays, newest overwriting oldest."""

from typing import Any

import numpy as np
import numpy.typing as npt

from fhtd import checks


class Replay:
    """Transitions (S_t, A_t, R_{t+1..t+n}, S_{t+n}, terminated), sampled uniformly.

    A window that a termination cuts short is kept with rewards of 0 after it. One that a time
    limit cuts short is dropped: the shorter horizon it would need may not be learned.
    """

    def __init__(
        self,
        size: int,
        shape: tuple[int, ...],
        dtype: npt.DTypeLike,
        n: int,
        n_actions: int,
        n_streams: int = 1,
    ) -> None:
        self.size = checks.integer("replay_size", size, 1)
        self.n = n
        check_memory(self.size, shape, np.dtype(dtype), n)
        self.observations = np.zeros((size, *shape), dtype)
        self.next_observations = np.zeros((size, *shape), dtype)
        self.actions = np.zeros(size, np.int32)
        self.rewards = np.zeros((size, n), np.float32)
        self.terminated = np.zeros(size, np.float32)
        #: Actions that may be taken next; all of them without a mask.
        self.next_masks = np.ones((size, n_actions), bool)
        self.count = 0
        #: Steps that wait for more rewards, of each environment.
        self._windows: list[list[tuple[Any, int, float]]] = [[] for _ in range(n_streams)]

    def __len__(self) -> int:
        """Transitions that can be sampled."""
        return min(self.count, self.size)

    def add(
        self,
        observation: Any,
        action: int,
        reward: float,
        following: Any,
        terminated: bool,
        truncated: bool,
        next_mask: Any = True,
        stream: int = 0,
    ) -> None:
        """Take one step of experience; keep every window that it completes."""
        window = self._windows[stream]
        window.append((observation, action, reward))
        if terminated:
            while window:
                self._keep(window, following, True, next_mask)
        elif len(window) == self.n:
            self._keep(window, following, False, next_mask)
        if truncated:
            window.clear()

    def forget_window(self, stream: int) -> None:
        """Drop the steps of one environment that wait for more rewards."""
        self._windows[stream].clear()

    def _keep(
        self,
        window: list[tuple[Any, int, float]],
        following: Any,
        terminated: bool,
        next_mask: Any,
    ) -> None:
        slot = self.count % self.size
        observation, action, _ = window[0]
        self.observations[slot] = observation
        self.actions[slot] = action
        self.rewards[slot] = 0
        for k, (_, _, reward) in enumerate(window):
            self.rewards[slot, k] = reward
        self.next_observations[slot] = following
        self.terminated[slot] = terminated
        self.next_masks[slot] = next_mask
        self.count += 1
        window.pop(0)

    def sample(self, size: int, rng: np.random.Generator) -> tuple[npt.NDArray[Any], ...]:
        """A batch drawn uniformly with replacement."""
        rows = rng.integers(len(self), size=size)
        return (
            self.observations[rows],
            self.actions[rows],
            self.rewards[rows],
            self.next_observations[rows],
            self.terminated[rows],
            self.next_masks[rows],
        )


def check_memory(size: int, shape: tuple[int, ...], dtype: np.dtype[Any], n: int) -> None:
    """Refuse a replay that would not fit into the memory that is free."""
    needed = size * (2 * int(np.prod(shape)) * dtype.itemsize + 4 * n + 16)
    free = _free_memory()
    if free is not None and needed > free:
        raise ValueError(
            f"replay_size {size} needs {needed / 2**30:.1f} GiB for observations of shape {shape}, "
            f"but only {free / 2**30:.1f} GiB are free"
        )


def _free_memory() -> int | None:
    """Bytes available, or None where the system does not say."""
    try:
        with open("/proc/meminfo") as file:
            for line in file:
                if line.startswith("MemAvailable:"):
                    return int(line.split()[1]) * 1024
    except OSError:
        pass
    return None
