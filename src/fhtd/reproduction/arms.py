"""Arms and blocks: an arm is one thing that is compared, a block some of its runs.

An arm is any hashable value whose `str` names it in files and tables: a frozen dataclass with the
settings that tell it from the others, or plain text where that says all. Names are only ever made
from arms, and never read back.
"""

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from fhtd import checks
from fhtd.statistics import Statistics

Arrays = dict[str, npt.NDArray[Any]]

#: More than anyone computes; a slip of the keyboard is refused before it takes the memory.
MOST_RUNS = 10_000_000


@dataclass(frozen=True)
class Block:
    """A unit of work: some runs of one arm, or all that the arm is."""

    arm: Any
    #: Empty where the block is not about single runs.
    runs: range = range(0)

    def __str__(self) -> str:
        """The name of its file."""
        if not self.runs:
            return str(self.arm)
        return f"{self.arm}.runs-{self.runs.start}-{self.runs.stop - 1}"


#: What every block gave.
Results = Mapping[Block, Arrays]


def run_blocks(arm: Hashable, runs: int, size: int) -> list[Block]:
    """Cut an arm's runs 0..runs-1 into blocks of `size`; more runs add blocks, changing none."""
    checks.integer("runs", runs, 1, MOST_RUNS)
    return [Block(arm, range(first, min(first + size, runs))) for first in range(0, runs, size)]


def exactly(value: float) -> str:
    """A number as part of a name, with all its digits."""
    return repr(float(value)).removesuffix(".0")


def join_runs(results: Results, arm: Hashable, field: str) -> npt.NDArray[Any]:
    """One field of an arm over all its blocks, in the order of runs."""
    found = [
        (block.runs.start, arrays[field]) for block, arrays in results.items() if block.arm == arm
    ]
    return np.concatenate([values for _, values in sorted(found, key=lambda pair: pair[0])])


def pack(name: str, statistics: Statistics) -> Arrays:
    """Statistics of one block as arrays to keep."""
    return {
        f"{name}.count": np.array([statistics.count]),
        f"{name}.mean": statistics.mean[None],
        f"{name}.squares": statistics.squares[None],
    }


def join_statistics(results: Results, arm: Hashable, name: str) -> Statistics:
    """Packed statistics of an arm over all its blocks."""
    counts, means, squares = (
        join_runs(results, arm, f"{name}.{field}") for field in ("count", "mean", "squares")
    )
    total = Statistics(int(counts[0]), means[0], squares[0])
    for i in range(1, len(counts)):
        total = total.merge(Statistics(int(counts[i]), means[i], squares[i]))
    return total
