"""A finite MDP as a picture and as text.

| here        | meaning                                                                   |
|-------------|---------------------------------------------------------------------------|
| place       | row and column of a state: its position, or its turn in rows of cells     |
| entry       | mean reward of the outcomes that lead into a state                        |
| tone        | entry on a scale from -1 (bad) to 1 (good) over the whole map             |
"""

from functools import cached_property

import numpy as np
import numpy.typing as npt

from fhtd.envs import shapes
from fhtd.mdp import FiniteMDP

Floats = npt.NDArray[np.float64]
Image = npt.NDArray[np.uint8]

#: States without positions are laid out in rows of at most this many cells.
ROW_LENGTH = 25
#: The longer side of a picture aims at this many pixels; cells stay within the two sizes.
PICTURE_SIZE, SMALLEST_CELL, LARGEST_CELL = 640, 12, 48


class Drawing:
    """One MDP, drawn again and again with the agent in another state."""

    def __init__(self, mdp: FiniteMDP) -> None:
        self.mdp = mdp
        self.place = places(mdp)
        self.shape = tuple(int(n) for n in self.place.max(axis=0) + 1)
        self.cell = int(np.clip(PICTURE_SIZE // max(self.shape), SMALLEST_CELL, LARGEST_CELL))

    def picture(self, state: int) -> Image:
        """Red, green and blue of each pixel: the map with the agent."""
        image = self.background.copy()
        window = self._window(state)
        image[window] = shapes.agent(image[window])
        return image

    @cached_property
    def background(self) -> Image:
        """The map alone: cells by reward, flags where episodes end, a ring at a single start."""
        mdp, rows, columns = self.mdp, *self.shape
        empty = shapes.shrink(shapes.blocked(self.cell))
        if mdp.positions is None:
            empty = np.full_like(empty, shapes.PAPER.astype(np.uint8))
        inner = np.tile(empty, (rows, columns, 1))
        image = np.empty(np.add(inner.shape, (2 * self.margin, 2 * self.margin, 0)), np.uint8)
        image[:] = shapes.PAPER
        image[self.margin : -self.margin, self.margin : -self.margin] = inner
        starts = mdp.start > 0
        for state, tone in enumerate(tones(mdp)):
            tile = shapes.cell(self.cell, tone)
            if mdp.terminal_states[state]:
                tile = shapes.flag(tile)
            elif starts[state] and starts.sum() == 1:
                tile = shapes.ring(tile)
            image[self._window(state)] = shapes.shrink(tile)
        return image

    @property
    def margin(self) -> int:
        """Pixels around the map."""
        return max(2, self.cell // 6)

    def text(self, state: int, last_action: int | None = None) -> str:
        """The map in characters: the agent in brackets, T where episodes end, # for no state.

        Other cells show the reward for entering them, or a dot where all are alike.
        """
        mdp, ends, entry = self.mdp, self.mdp.terminal_states, entries(self.mdp)
        labels = np.full(self.shape, "" if mdp.positions is None else "#", object)
        for s, (row, column) in enumerate(self.place):
            reward = f"{entry[s]:+.3g}" if entry[s] else "0"
            labels[row, column] = "T" if ends[s] else "." if alike(entry[~ends]) else reward
        width = max(map(len, labels.ravel()))
        cells = [[f" {label:>{width}} " for label in row] for row in labels]
        row, column = self.place[state]
        cells[row][column] = f"[{labels[row, column]:>{width}}]"
        after = "" if last_action is None else f", after {mdp.action_names[last_action]}"
        return "\n".join([mdp.name + after, *("".join(row).rstrip() for row in cells), ""])

    def _window(self, state: int) -> tuple[slice, slice]:
        row, column = (self.margin + int(x) * self.cell for x in self.place[state])
        return slice(row, row + self.cell), slice(column, column + self.cell)


def places(mdp: FiniteMDP) -> npt.NDArray[np.int64]:
    """Row and column of every state."""
    if mdp.positions is not None:
        return mdp.positions
    states = np.arange(mdp.n_states)
    return np.stack([states // ROW_LENGTH, states % ROW_LENGTH], axis=1)


def entries(mdp: FiniteMDP) -> Floats:
    """Mean reward of the outcomes that lead into each state; 0 where none does."""
    p = mdp.probabilities.copy()
    p[mdp.terminal_states] = 0.0
    following = mdp.next_states.ravel()
    weight = np.bincount(following, p.ravel(), mdp.n_states)
    total = np.bincount(following, (p * mdp.rewards).ravel(), mdp.n_states)
    return np.divide(total, weight, out=np.zeros(mdp.n_states), where=weight > 0)


def alike(values: Floats) -> bool:
    """Whether values differ by rounding at most."""
    return bool(np.ptp(values) <= 1e-9 * np.abs(values).max())


def tones(mdp: FiniteMDP) -> Floats:
    """How good entering each state is, from -1 to 1; 0 where the way is all alike."""
    entry, way = entries(mdp), ~mdp.terminal_states
    middle = entry[way][0] if alike(entry[way]) else 0.0
    # Ends often pay far more than the way there, which should stay readable.
    scale = np.abs(entry[way] - middle).max()
    if alike(entry[way]):
        scale = np.abs(entry - middle).max()
    return np.clip((entry - middle) / (scale or 1.0), -1, 1)
