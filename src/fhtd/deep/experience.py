"""What an agent learns from: a replay of many transitions, or a rollout of the newest.

Both keep transitions in plain arrays, one to a row, so that a batch is gathered at once. An
experience says when a batch is due; it can be written down and restored exactly.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from fhtd import checks
from fhtd.archive import Arrays
from fhtd.deep import stacks
from fhtd.deep.layout import Layout, Sample
from fhtd.deep.settings import ReplaySettings


class Transition(NamedTuple):
    """One step of an environment, as the loop hands it on."""

    observation: npt.NDArray[Any]
    action: Any
    #: One number; or one for each signal, or for each step that the action took.
    reward: Any
    following: npt.NDArray[Any]
    terminated: bool
    truncated: bool
    next_mask: Any
    ratio: float = 1.0


class Experience(Protocol):
    """What a loop needs to know of it."""

    @property
    def layout(self) -> Layout:
        """How to read a sample."""

    def add(self, stream: int, step: Transition) -> None:
        """Take one step of one environment."""

    def forget(self, stream: int) -> None:
        """Drop what waits for later steps of an episode that will not go on."""

    def batches(self, before: int, now: int, rng: np.random.Generator) -> tuple[Sample, ...]:
        """What to learn from after the frames from `before` to `now`; nothing if not due."""

    def snapshot(self) -> tuple[dict[str, Any], Arrays]:
        """Everything, as plain data and arrays."""

    def restore(self, plain: dict[str, Any], arrays: Arrays, frames: int) -> None:
        """Take what `snapshot` gave out of `arrays`, refusing what cannot be."""


class Rows:
    """Transitions in rows, the newest overwriting the oldest; n-step windows on the way there.

    A window that a termination cuts short is kept with rewards of 0 after it; one that a time
    limit cuts short, with the number of steps it has: fewer are left to bootstrap over. The same
    goes for one action that may take several steps and took fewer.

    Args:
        size: Rows that are kept.
        layout: Of a row.
        n: Transitions in a window.
        n_streams: Environments.
        lengths: Steps to each of the states that a row holds beside the first; default: n.
        max_duration: Most steps that one transition takes.
    """

    def __init__(
        self,
        size: int,
        layout: Layout,
        n: int = 1,
        n_streams: int = 1,
        lengths: Sequence[int] | None = None,
        max_duration: int = 1,
    ) -> None:
        self.size = checks.integer("replay_size", size, 1)
        self.n = n
        #: Most steps that a row spans.
        self.span = n * max_duration
        self.layout = layout
        self._lengths = (n,) if lengths is None or len(lengths) == 1 else tuple(lengths)
        # Successive rows of one environment stand so far apart.
        self.all = layout.room(self.size, n_streams * (n + 2))
        #: Views of the columns.
        self.fields = layout.unpack(self.all)
        #: Transitions kept so far, those that were overwritten included.
        self.count = 0
        #: Steps that wait for more rewards, of each environment.
        self._windows: list[list[Transition]] = [[] for _ in range(n_streams)]

    def __len__(self) -> int:
        """Transitions that are there."""
        return min(self.count, self.size)

    def add(self, stream: int, step: Transition) -> None:
        """Take one step of experience; keep every window that it completes."""
        window = self._windows[stream]
        window.append(step)
        if step.terminated or step.truncated:
            while window:
                self._keep(window)
        elif len(window) == self.n:
            self._keep(window)

    def forget(self, stream: int) -> None:
        """Drop the steps of one environment that wait for more rewards."""
        self._windows[stream].clear()

    def _keep(self, window: list[Transition]) -> None:
        slot = self.count % self.size
        fields, first, last = self.fields, window[0], window[-1]
        if self._stacks is not None:
            for column in self._stacks:
                column.row = self.count
            self._stacks[0].store.forget(self.count)
        fields.observations[slot], fields.actions[slot] = first.observation, first.action
        length = 1
        if self.span == 1:
            fields.rewards[slot] = first.reward
        else:
            earned = first.reward if self.n == 1 else [step.reward for step in window]
            length = len(earned)
            fields.rewards[slot] = 0
            fields.rewards[slot, :length] = earned
        if len(self._lengths) == 1:
            fields.next_observations[slot] = last.following
            fields.terminated[slot] = last.terminated
            if fields.next_masks.shape[1]:
                fields.next_masks[slot] = last.next_mask
        else:
            ends = [window[min(steps, len(window)) - 1] for steps in self._lengths]
            fields.next_observations[slot] = np.array([end.following for end in ends])
            fields.terminated[slot] = [end.terminated for end in ends]
            fields.next_masks[slot] = np.array([end.next_mask for end in ends])
        # Nothing is bootstrapped after a termination, so that its length makes no difference.
        fields.lengths[slot] = self.span if last.terminated else length
        if fields.ratios is not None:
            fields.ratios[slot] = first.ratio
        self.count += 1
        window.pop(0)

    def gather(self, chosen: npt.NDArray[np.int64]) -> Sample:
        """Rows by their numbers."""
        rows, images, next_images = self.all
        return Sample(
            rows.take(chosen, axis=0),
            None if images is None else images[chosen],
            None if next_images is None else next_images[chosen],
        )

    @property
    def _stacks(self) -> "tuple[stacks.Column, stacks.Column] | None":
        """Where pictures are stacks of frames."""
        _, now, following = self.all
        return (now, following) if isinstance(now, stacks.Column) else None

    def snapshot(self) -> tuple[dict[str, Any], Arrays]:
        """The filled rows, and the windows that wait for more rewards."""
        if self._stacks is not None:
            arrays = {"rows": self.all.rows[: len(self)]}
            arrays |= stacks.snapshot(self._stacks, len(self))
        else:
            kept = zip(Sample._fields, self.all, strict=True)
            arrays = {name: array[: len(self)] for name, array in kept if array is not None}
        for i, window in enumerate(self._windows):
            if window:
                arrays[f"window_{i}_observations"] = np.array([s.observation for s in window])
                arrays[f"window_{i}_actions"] = np.array([s.action for s in window], np.float64)
                arrays[f"window_{i}_rewards"] = np.array([s.reward for s in window], np.float64)
                if len(self._lengths) > 1:
                    following = np.array([s.following for s in window])
                    arrays[f"window_{i}_followings"] = following
                    arrays[f"window_{i}_masks"] = np.array([s.next_mask for s in window], np.bool_)
        return {"count": self.count, "windows": [len(window) for window in self._windows]}, arrays

    def restore(self, plain: dict[str, Any], arrays: Arrays, frames: int) -> None:
        """Take what `snapshot` gave out of `arrays`; what learning takes for granted is checked."""
        count = checks.integer("count", plain["count"], 0, frames)
        filled = min(count, self.size)
        windows = [checks.integer("windows", n, 0, self.n - 1) for n in plain["windows"]]
        if len(windows) != len(self._windows):
            raise ValueError(f"it has {len(windows)} environments, not {len(self._windows)}")
        if self._stacks is not None:
            stacks.restore(self._stacks, arrays, filled, count)
        for name, room in self.all._asdict().items():
            if isinstance(room, np.ndarray):
                then = arrays.pop(name)
                check_kind(name, then, (filled, *room.shape[1:]), room.dtype)
                room[:filled] = then
        self._check_rows(filled)
        for i, length in enumerate(windows):
            self._windows[i] = self._restored_window(i, length, arrays) if length else []
        self.count = count

    def _restored_window(self, i: int, length: int, arrays: Arrays) -> list[Transition]:
        codec, actions = self.layout.observations, self.layout.actions
        seen = arrays.pop(f"window_{i}_observations")
        check_kind(f"window {i}", seen, (length, *codec.shape), codec.dtype)
        done = arrays.pop(f"window_{i}_actions")
        check_kind(f"window {i}", done, (length, *actions.shape), np.dtype(np.float64))
        earned = arrays.pop(f"window_{i}_rewards")
        check_kind(f"window {i}", earned, (length,), np.dtype(np.float64))
        following = seen
        masks = np.ones((length, len(actions.all_permitted)), np.bool_)
        if len(self._lengths) > 1:
            following = arrays.pop(f"window_{i}_followings")
            check_kind(f"window {i}", following, seen.shape, codec.dtype)
            found = arrays.pop(f"window_{i}_masks")
            check_kind(f"window {i}", found, masks.shape, masks.dtype)
            masks = found
        return [
            Transition(
                observation,
                int(action) if not actions.shape else action,
                float(reward),
                after,
                False,
                False,
                mask,
            )
            for observation, action, reward, after, mask in zip(
                seen, done, earned, following, masks, strict=True
            )
        ]

    def _check_rows(self, filled: int) -> None:
        """What learning takes for granted of transitions."""
        possible: dict[str, npt.ArrayLike] = {
            "terminated": [0, 1],
            "next_masks": [0, 1],
            "lengths": np.arange(1, self.span + 1),
        }
        for name, values in possible.items():
            if not np.isin(getattr(self.fields, name)[:filled], values).all():
                raise ValueError(f"replay holds {name} that are not possible")
        if not self.layout.actions.are_possible(self.fields.actions[:filled]):
            raise ValueError("replay holds actions that are not possible")


class Replay(Rows):
    """The last `replay_size` transitions, sampled uniformly."""

    def __init__(
        self,
        settings: ReplaySettings,
        layout: Layout,
        n: int = 1,
        lengths: Sequence[int] | None = None,
        max_duration: int = 1,
    ) -> None:
        size, n_envs = settings.replay_size, settings.n_envs
        super().__init__(size, layout, n, n_envs, lengths, max_duration)
        self.settings = settings

    def batches(self, before: int, now: int, rng: np.random.Generator) -> tuple[Sample, ...]:
        """As many as the frames since `before` call for."""
        settings = self.settings
        due = now // settings.train_freq - before // settings.train_freq
        if now < settings.learning_starts or not due or not len(self):
            return ()
        return tuple(
            self.sample(settings.batch_size, rng) for _ in range(due * settings.gradient_steps)
        )

    def sample(self, size: int, rng: np.random.Generator) -> Sample:
        """A batch drawn uniformly with replacement."""
        return self.gather(rng.integers(len(self), size=size))


class Rollout(Rows):
    """The newest transitions, learned from once and forgotten: for agents that learn on-policy."""

    def batches(self, before: int, now: int, rng: np.random.Generator) -> tuple[Sample, ...]:
        """All of them, in the order they came, as soon as there are `size`."""
        if self.count < self.size:
            return ()
        found = self.gather(np.arange(self.count - self.size, self.count) % self.size)
        self.count = 0
        if self._stacks is not None:
            self._stacks[0].store.forget_all()
        return (found,)


def check_kind(name: str, array: Any, shape: tuple[int, ...], dtype: Any) -> None:
    """Refuse an array of another shape or type than expected."""
    if array.shape != shape or array.dtype != dtype:
        found = f"{array.dtype.str} of shape {array.shape}"
        raise ValueError(f"{name} is {found}, expected {np.dtype(dtype).str} of shape {shape}")
