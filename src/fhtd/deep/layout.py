"""How transitions lie in rows, and what a batch of them is to an algorithm."""

from typing import Any, NamedTuple

import numpy as np

from fhtd import checks
from fhtd.deep import stacks
from fhtd.deep.codecs import Actions, Observations


class Batch(NamedTuple):
    """Transitions, one to a row; NumPy or JAX arrays."""

    observations: Any
    #: (batch,), or (batch, length) where an action is a vector.
    actions: Any
    #: (batch, n), or (batch, signals).
    rewards: Any
    #: These three are (batch, ...), or (batch, followings, ...) where more than one state that
    #: follows is kept.
    next_observations: Any
    terminated: Any
    #: Actions that may be taken next, as 0 or 1; all of them without a mask.
    next_masks: Any
    #: Steps between observation and the last that follows: as many as there are rewards, or fewer
    #: where a time limit cut them short or the action took fewer.
    lengths: Any
    #: Importance ratios, where the experience keeps them.
    ratios: Any = None


class Sample(NamedTuple):
    """A batch as it is drawn: everything in one matrix, but for images."""

    rows: Any
    images: Any
    next_images: Any


class Layout:
    """Which columns of a row hold what; vectors lie in the row, images beside it.

    Args:
        observations: How they come.
        actions: How they come.
        n_rewards: Rewards, or signals, of a row.
        n_followings: States after the first that a row holds.
        has_masks: Whether it says which actions are permitted next.
        has_ratios: Whether it holds importance ratios.
    """

    def __init__(
        self,
        observations: Observations,
        actions: Actions,
        n_rewards: int,
        n_followings: int = 1,
        *,
        has_masks: bool = True,
        has_ratios: bool = False,
    ) -> None:
        self.observations, self.actions = observations, actions
        self.is_image = len(observations.shape) > 1
        length = 0 if self.is_image else int(np.prod(observations.shape))
        width = int(np.prod(actions.shape))
        masks = len(actions.all_permitted) if has_masks else 0
        k = self.n_followings = n_followings
        parts = [length, width, n_rewards, k * length, k, k * masks, 1]
        ends = np.cumsum([*parts, *([1] if has_ratios else [])]).tolist()
        self._columns = [slice(*span) for span in zip([0, *ends[:-1]], ends, strict=True)]
        self.width: int = ends[-1]
        self.n_rewards = n_rewards

    def unpack(self, sample: Sample) -> Batch:
        """The fields of a sample; views where it is NumPy's."""
        now, action, rewards, following, terminated, masks, length, *ratios = (
            sample.rows[:, span] for span in self._columns
        )
        if self.n_followings == 1:
            terminated = terminated[:, 0]
        else:
            # Every state that follows apart; still views where the sample is NumPy's.
            apart = (len(sample.rows), self.n_followings, -1)
            following, masks = following.reshape(apart), masks.reshape(apart)
        if self.is_image:
            now, following = sample.images, sample.next_images
        return Batch(
            now,
            action if self.actions.shape else action[:, 0],
            rewards,
            following,
            terminated,
            masks,
            length[:, 0],
            ratios[0][:, 0] if ratios else None,
        )

    @property
    def following_shape(self) -> tuple[int, ...]:
        """Of what a row holds of the pictures after the first: one, or several."""
        shape: tuple[int, ...] = self.observations.shape
        return (self.n_followings, *shape) if self.n_followings > 1 else shape

    def room(self, size: int, memory: int) -> Sample:
        """Empty rows; refused where they would not fit into memory.

        Frames of stacked pictures are recognised over `memory` rows, and stored once.
        """
        shape, dtype = self.observations.shape, self.observations.dtype
        stack, k = self.observations.stack, self.n_followings
        images = (1 + k) * int(np.prod(shape)) * dtype.itemsize if self.is_image else 0
        if stack is not None:
            # A frame for each row, however many stacks it is in.
            images //= (1 + k) * stack
        needs = f"replay_size {size} for observations of shape {shape} needs"
        checks.fits_memory(needs, size * (images + 4 * self.width))
        rows = np.zeros((size, self.width), np.float32)
        if stack is not None:
            store = stacks.Store(size, shape, stack, dtype, memory)
            return Sample(rows, stacks.Column(store, size), stacks.Column(store, size, k))
        if not self.is_image:
            return Sample(rows, None, None)
        following = np.zeros((size, *self.following_shape), dtype)
        return Sample(rows, np.zeros((size, *shape), dtype), following)
