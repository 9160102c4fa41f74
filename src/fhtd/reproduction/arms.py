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
    """A unit of work: some runs of one arm, or all that the arm is.

    >>> from fhtd.reproduction import Block
    >>> str(Block("fhtd", range(0, 50)))
    'fhtd.runs-0-49'
    """

    #: What is compared, and what its `str` is called in files.
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
    """Cut an arm's runs 0..runs-1 into blocks of `size`; more runs add blocks, changing none.

    Args:
        arm: What is compared.
        runs: How many runs there are.
        size: Runs in a block; the last may have fewer.

    Returns:
        The blocks, in the order of their runs.

    >>> from fhtd.reproduction import run_blocks
    >>> [str(block) for block in run_blocks("fhtd", runs=25, size=10)]
    ['fhtd.runs-0-9', 'fhtd.runs-10-19', 'fhtd.runs-20-24']
    """
    checks.integer("runs", runs, 1, MOST_RUNS)
    return [Block(arm, range(first, min(first + size, runs))) for first in range(0, runs, size)]


def exactly(value: float) -> str:
    """A number as part of a name, with all its digits.

    Args:
        value: The number.

    >>> from fhtd.reproduction import exactly
    >>> exactly(0.1), exactly(2.0)
    ('0.1', '2')
    """
    return repr(float(value)).removesuffix(".0")


def join_runs(results: Results, arm: Hashable, field: str) -> npt.NDArray[Any]:
    """One field of an arm over all its blocks, in the order of runs.

    Args:
        results: What every block gave.
        arm: Whose blocks.
        field: Which of their arrays.

    Returns:
        An array with the runs first.

    >>> import numpy as np
    >>> from fhtd.reproduction import join_runs, run_blocks
    >>> results = {block: {"end": np.array(block.runs)} for block in run_blocks("walk", 5, 2)}
    >>> join_runs(results, "walk", "end").tolist()
    [0, 1, 2, 3, 4]
    """
    found = [
        (block.runs.start, arrays[field]) for block, arrays in results.items() if block.arm == arm
    ]
    return np.concatenate([values for _, values in sorted(found, key=lambda pair: pair[0])])


def pack(name: str, statistics: Statistics) -> Arrays:
    """Statistics of one block as arrays to keep.

    Args:
        name: What they are called.
        statistics: Of the runs of the block.

    Returns:
        Three arrays by name.

    >>> from fhtd.reproduction import pack
    >>> from fhtd.statistics import Statistics
    >>> sorted(pack("error", Statistics.of([1.0, 3.0])))
    ['error.count', 'error.mean', 'error.squares']
    """
    return {
        f"{name}.count": np.array([statistics.count]),
        f"{name}.mean": statistics.mean[None],
        f"{name}.squares": statistics.squares[None],
    }


def join_statistics(results: Results, arm: Hashable, name: str) -> Statistics:
    """Packed statistics of an arm over all its blocks.

    Args:
        results: What every block gave.
        arm: Whose blocks.
        name: What `pack` called them.

    Returns:
        Those of all runs together.

    >>> from fhtd.reproduction import Block, join_statistics, pack
    >>> from fhtd.statistics import Statistics
    >>> first, second = Block("walk", range(0, 2)), Block("walk", range(2, 4))
    >>> results = {
    ...     first: pack("error", Statistics.of([1.0, 3.0])),
    ...     second: pack("error", Statistics.of([5.0, 7.0])),
    ... }
    >>> float(join_statistics(results, "walk", "error").mean)
    4.0
    """
    counts, means, squares = (
        join_runs(results, arm, f"{name}.{field}") for field in ("count", "mean", "squares")
    )
    total = Statistics(int(counts[0]), means[0], squares[0])
    for i in range(1, len(counts)):
        total = total.merge(Statistics(int(counts[i]), means[i], squares[i]))
    return total
