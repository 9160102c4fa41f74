"""Replay of n-step transitions in plain arrays, newest overwriting oldest."""

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from fhtd import checks


class Batch(NamedTuple):
    """Transitions, one to a row; NumPy or JAX arrays."""

    observations: Any
    actions: Any
    #: (batch, n).
    rewards: Any
    next_observations: Any
    terminated: Any
    #: Actions that may be taken next, as 0 or 1; all of them without a mask.
    next_masks: Any
    #: Steps between the two observations: n, or fewer at a time limit.
    lengths: Any


class Sample(NamedTuple):
    """A batch as it is drawn: everything in one matrix, but for images."""

    rows: Any
    images: Any
    next_images: Any


class Layout:
    """Which columns of a row hold what; vectors lie in the row, images beside it."""

    def __init__(self, shape: tuple[int, ...], n: int, n_actions: int) -> None:
        self.is_image = len(shape) > 1
        length = 0 if self.is_image else int(np.prod(shape))
        ends = np.cumsum([length, 1, n, length, 1, n_actions, 1]).tolist()
        self._columns = [slice(*span) for span in zip([0, *ends[:-1]], ends, strict=True)]
        self.width: int = ends[-1]

    def unpack(self, sample: Sample) -> Batch:
        """The fields of a sample; views where it is NumPy's."""
        now, action, rewards, following, terminated, masks, length = (
            sample.rows[:, span] for span in self._columns
        )
        if self.is_image:
            now, following = sample.images, sample.next_images
        return Batch(now, action[:, 0], rewards, following, terminated[:, 0], masks, length[:, 0])


class Replay:
    """Transitions (S_t, A_t, R_{t+1..t+n}, S_{t+n}, terminated), sampled uniformly.

    A window that a termination cuts short is kept with rewards of 0 after it; one that a time
    limit cuts short, with the number of steps it has: fewer are left to bootstrap over.
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
        self.layout = Layout(shape, n, n_actions)
        check_memory(self.size, shape, np.dtype(dtype), self.layout.width)
        images = [np.zeros((size, *shape), dtype) if self.layout.is_image else None for _ in "ab"]
        #: One row to a transition, so that a batch is gathered at once.
        self.all = Sample(np.zeros((size, self.layout.width), np.float32), *images)
        #: Views of the columns.
        self.fields = self.layout.unpack(self.all)
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
        if terminated or truncated:
            while window:
                self._keep(window, following, terminated, next_mask)
        elif len(window) == self.n:
            self._keep(window, following, False, next_mask)

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
        fields = self.fields
        fields.observations[slot], fields.actions[slot], _ = window[0]
        fields.rewards[slot] = 0
        fields.rewards[slot, : len(window)] = [reward for _, _, reward in window]
        fields.next_observations[slot] = following
        fields.terminated[slot] = terminated
        fields.next_masks[slot] = next_mask
        # Nothing is bootstrapped after a termination, so that its length makes no difference.
        fields.lengths[slot] = self.n if terminated else len(window)
        self.count += 1
        window.pop(0)

    def sample(self, size: int, rng: np.random.Generator) -> Sample:
        """A batch drawn uniformly with replacement."""
        chosen = rng.integers(len(self), size=size)
        rows, images, next_images = self.all
        return Sample(
            rows.take(chosen, axis=0),
            None if images is None else images[chosen],
            None if next_images is None else next_images[chosen],
        )


def check_memory(size: int, shape: tuple[int, ...], dtype: np.dtype[Any], width: int) -> None:
    """Refuse a replay that would not fit into the memory that is free."""
    images = 2 * int(np.prod(shape)) * dtype.itemsize if len(shape) > 1 else 0
    needs = f"replay_size {size} for observations of shape {shape} needs"
    checks.fits_memory(needs, size * (images + 4 * width))
