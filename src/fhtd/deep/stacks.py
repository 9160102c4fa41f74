"""Stacked pictures, each stored once: successive stacks share all frames but one.

A stack of k pictures is kept as the numbers of its frames. A frame that was met a few rows before
is recognised by its bytes, so that what is gathered is what was put in, bit for bit.
"""

from collections import OrderedDict
from typing import Any

import numpy as np
import numpy.typing as npt

from fhtd.archive import Arrays


class Store:
    """Frames by number, counted by the rows that need them.

    Args:
        size: Rows that will be kept.
        shape: Of a stack: height, width, and channels of all its frames.
        stack: How many frames it has.
        dtype: Of its numbers.
        memory: Rows over which a frame is recognised.
    """

    def __init__(
        self, size: int, shape: tuple[int, ...], stack: int, dtype: Any, memory: int
    ) -> None:
        height, width, channels = shape
        self.stack, self._depth = stack, channels // stack
        self._memory = min(memory, size)
        # A frame a row, one more for each episode's first stack; more are added when needed.
        room = size + size // 16 + 2 * stack * (memory + 1)
        self.frames = np.zeros((room, height, width, self._depth), dtype)
        self._needed = np.zeros(room, np.int64)
        self._free: list[int] = []
        self._used = 0
        self._recent: OrderedDict[bytes, tuple[int, int]] = OrderedDict()

    def put(self, stack: npt.NDArray[Any], row: int) -> npt.NDArray[np.int32]:
        """Keep a stack for a row, the one written or a later one; the numbers of its frames."""
        found = np.empty(self.stack, np.int32)
        for j in range(self.stack):
            frame = stack[..., j * self._depth : (j + 1) * self._depth]
            content = frame.tobytes()
            number, _ = self._recent.pop(content, (-1, 0))
            if number < 0:
                number = self._take()
                self.frames[number] = frame
                self._needed[number] = 1
            self._recent[content] = number, row
            self._needed[number] += 1
            found[j] = number
        return found

    def forget(self, row: int) -> None:
        """A row begins: what was last met too long before is no longer recognised."""
        while self._recent:
            content = next(iter(self._recent))
            number, met = self._recent[content]
            if met > row - self._memory:
                return
            del self._recent[content]
            self.release(np.array([number]))

    def forget_all(self) -> None:
        """Rows are counted anew."""
        for number, _ in self._recent.values():
            self.release(np.array([number]))
        self._recent.clear()

    def release(self, numbers: npt.NDArray[Any]) -> None:
        """Frames that are needed once less."""
        for number in numbers.tolist():
            self._needed[number] -= 1
            if not self._needed[number]:
                self._free.append(number)

    def _take(self) -> int:
        if self._free:
            return self._free.pop()
        if self._used == len(self.frames):
            more = max(len(self.frames) // 8, 64)
            self.frames = np.concatenate(
                [self.frames, np.zeros((more, *self.frames.shape[1:]), self.frames.dtype)]
            )
            self._needed = np.concatenate([self._needed, np.zeros(more, np.int64)])
        self._used += 1
        return self._used - 1

    def gathered(self, numbers: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """(..., stack) numbers to (..., height, width, channels) pictures."""
        found = np.moveaxis(self.frames[numbers], -4, -2)
        return np.asarray(found.reshape(*found.shape[:-2], -1))

    def refill(self, frames: npt.NDArray[Any]) -> None:
        """Begin with these frames, none of which is needed yet."""
        if len(frames) > len(self.frames):
            shape = (len(frames), *self.frames.shape[1:])
            self.frames, self._needed = np.zeros(shape, frames.dtype), np.zeros(len(frames), int)
        self.frames[: len(frames)] = frames
        self._used = len(frames)

    def need(self, numbers: npt.NDArray[Any]) -> None:
        """Count frames that rows need."""
        np.add.at(self._needed, numbers.ravel(), 1)

    def meet(self, numbers: npt.NDArray[Any], row: int) -> None:
        """Recognise the frames of a row again, as if it had just been written."""
        for number in numbers.tolist():
            content = self.frames[number].tobytes()
            if self._recent.pop(content, None) is None:
                self._needed[number] += 1
            self._recent[content] = number, row


class Column:
    """The stacks of all rows, in place of an array of pictures.

    Args:
        store: Of their frames.
        size: Rows that are kept.
        several: Stacks of a row.
    """

    def __init__(self, store: Store, size: int, several: int = 1) -> None:
        self.store = store
        shape = (size, several, store.stack) if several > 1 else (size, store.stack)
        self.numbers = np.full(shape, -1, np.int32)
        #: Told by whoever writes: the number of the row, which never begins anew.
        self.row = 0

    def __setitem__(self, slot: int, stack: npt.NDArray[Any]) -> None:
        """Replace what a row holds."""
        each = stack if self.numbers.ndim > 2 else stack[None]
        new = [self.store.put(one, self.row) for one in each]
        old = self.numbers[slot].ravel()
        if old[0] >= 0:
            self.store.release(old)
        self.numbers[slot] = np.reshape(new, self.numbers.shape[1:])

    def __getitem__(self, chosen: Any) -> npt.NDArray[Any]:
        """The pictures of some rows."""
        return self.store.gathered(self.numbers[chosen])


def snapshot(columns: tuple[Column, Column], filled: int) -> Arrays:
    """Frames in the order in which rows need them, whatever their numbers were."""
    each = [column.numbers[:filled] for column in columns]
    numbers = np.concatenate([one.ravel() for one in each])
    kept, first, place = np.unique(numbers, return_index=True, return_inverse=True)
    order = np.argsort(first)
    rank = np.empty(len(kept), np.int32)
    rank[order] = np.arange(len(kept), dtype=np.int32)
    images, next_images = np.split(rank[place], [each[0].size])
    return {
        "frames": columns[0].store.frames[kept[order]],
        "images": images.reshape(each[0].shape),
        "next_images": next_images.reshape(each[1].shape),
    }


def restore(columns: tuple[Column, Column], arrays: Arrays, filled: int, count: int) -> None:
    """Take what `snapshot` gave out of `arrays`; numbers of frames that are not there are refused.

    Args:
        columns: Empty ones of the same store.
        arrays: Of the file.
        filled: Rows that are there.
        count: Rows that were ever written.
    """
    store = columns[0].store
    frames = arrays.pop("frames")
    if frames.dtype != store.frames.dtype or frames.shape[1:] != store.frames.shape[1:]:
        raise ValueError(f"frames are {frames.dtype.str} of shape {frames.shape}")
    for column, name in zip(columns, ("images", "next_images"), strict=True):
        numbers = arrays.pop(name)
        if numbers.dtype != np.int32 or numbers.shape != (filled, *column.numbers.shape[1:]):
            raise ValueError(f"{name} are {numbers.dtype.str} of shape {numbers.shape}")
        if numbers.size and not 0 <= numbers.min() <= numbers.max() < len(frames):
            raise ValueError(f"{name} are frames that are not there")
        column.numbers[:filled] = numbers
    store.refill(frames)
    size = len(columns[0].numbers)
    for column in columns:
        store.need(column.numbers[:filled])
    for row in range(max(count - store._memory, 0), count):
        for column in columns:
            store.meet(column.numbers[row % size].ravel(), row)
