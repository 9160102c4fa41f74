"""What one figure of the paper is made of: settings, units of work, a picture, and claims.

Each experiment is one file with a `Config` (frozen; the paper's values as defaults) and an
`EXPERIMENT` that ties its functions together. Work is cut into named blocks that depend on
nothing but the settings and the seed, so that each can be computed anywhere, kept, and never
computed twice.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import numpy.typing as npt

from fhtd import checks
from fhtd.reproduction.chart import Chart
from fhtd.statistics import Interval, Statistics

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Arrays = dict[str, npt.NDArray[Any]]

#: More than anyone computes; a slip of the keyboard is refused before it takes the memory.
MOST_RUNS = 10_000_000


class Verdict(StrEnum):
    """What the measurement says of a claim."""

    HOLDS = "holds"
    FAILS = "fails"
    INCONCLUSIVE = "inconclusive"


@dataclass(frozen=True)
class Claim:
    """One statement of the paper, in our words, with what was measured."""

    name: str
    #: The paper's statement.
    statement: str
    #: When it holds and when it fails.
    rule: str
    #: The measured figure, with its interval over seeds.
    measured: str
    verdict: Verdict


class Scratch(Protocol):
    """Where a long block keeps its checkpoint until it is finished."""

    @property
    def folder(self) -> Path:
        """A folder that survives the process; on another machine, as far as `saved` was called."""

    def write_json(self, name: str, content: Any) -> None:
        """Keep plain data in a file of the folder, whole or not at all."""

    def read_json(self, name: str) -> Any:
        """What `write_json` kept, or None."""

    def saved(self) -> None:
        """Say that the folder holds a checkpoint to go on from."""


@dataclass(frozen=True)
class Experiment:
    """One figure or result of the paper.

    blocks(config) names the units of work; run(config, seed, block) computes one of them;
    combine(config, results) joins all into the data that `plot`, `claims` and `tables` read.
    """

    name: str
    title: str
    #: Where it is in the paper.
    source: str
    #: What it shows, in one sentence.
    shows: str
    #: About how long it takes at the paper's scale on two cores.
    cost: str
    config: type[Any]
    blocks: Callable[[Any], list[str]]
    #: A resumable experiment's run takes a `Scratch` as well.
    run: Callable[..., Arrays]
    combine: Callable[[Any, Mapping[str, Arrays]], Arrays]
    plot: Callable[[Any, Arrays], "Figure"]
    claims: Callable[[Any, Arrays], list[Claim]]
    tables: Callable[[Any, Arrays], dict[str, Arrays]]
    #: Raised whenever a change makes the same settings give other numbers.
    revision: int = 1
    #: Fields of the configuration that only say how many blocks there are.
    extent: tuple[str, ...] = ("runs",)
    #: How its tables are drawn as charts to look into.
    charts: tuple[Chart, ...] = ()
    #: It measures time, so nothing else should run beside it.
    needs_quiet: bool = False
    #: Too long to be part of `all`.
    takes_hours: bool = False
    #: Blocks take so long that they keep checkpoints.
    resumable: bool = False
    #: The experiment whose blocks it reads, where it is not its own.
    work: str = ""
    #: Memory that one block takes, in megabytes.
    megabytes: int = 300

    def settings(self, config: Any) -> dict[str, Any]:
        """The configuration as plain data."""
        return {field.name: getattr(config, field.name) for field in fields(config)}

    def identity(self, config: Any) -> dict[str, Any]:
        """What the content of a block depends on, beside its name and the seed."""
        settings = self.settings(config)
        kept = {key: value for key, value in settings.items() if key not in self.extent}
        return {"experiment": self.work or self.name, "revision": self.revision, "settings": kept}


def run_blocks(runs: int, size: int) -> list[range]:
    """Cut runs 0..runs-1 into blocks of `size`; more runs later add blocks, changing none."""
    checks.integer("runs", runs, 1, MOST_RUNS)
    return [range(first, min(first + size, runs)) for first in range(0, runs, size)]


def exactly(value: float) -> str:
    """A number as part of a name, to be read back as the very same number."""
    return repr(float(value)).removesuffix(".0")


def block_name(arm: str, runs: range) -> str:
    """The name of a block of runs of one arm."""
    return f"{arm}.runs-{runs.start}-{runs.stop - 1}"


def parse_block(block: str) -> tuple[str, range]:
    """The inverse of `block_name`."""
    arm, _, span = block.rpartition(".runs-")
    first, _, last = span.partition("-")
    return arm, range(int(first), int(last) + 1)


def join_runs(results: Mapping[str, Arrays], arm: str, field: str) -> npt.NDArray[Any]:
    """One field of an arm over all its blocks, in the order of runs."""
    found = []
    for name, arrays in results.items():
        owner, runs = parse_block(name)
        if owner == arm:
            found.append((runs.start, arrays[field]))
    return np.concatenate([values for _, values in sorted(found, key=lambda pair: pair[0])])


def pack(name: str, statistics: Statistics) -> Arrays:
    """Statistics of one block as arrays to keep."""
    return {
        f"{name}.count": np.array([statistics.count]),
        f"{name}.mean": statistics.mean[None],
        f"{name}.squares": statistics.squares[None],
    }


def join_statistics(results: Mapping[str, Arrays], arm: str, name: str) -> Statistics:
    """Packed statistics of an arm over all its blocks."""
    counts, means, squares = (
        join_runs(results, arm, f"{name}.{field}") for field in ("count", "mean", "squares")
    )
    total = Statistics(int(counts[0]), means[0], squares[0])
    for i in range(1, len(counts)):
        total = total.merge(Statistics(int(counts[i]), means[i], squares[i]))
    return total


def above(interval: Interval, bound: float) -> Verdict:
    """Holds where the whole interval lies above the bound, fails where it lies below."""
    if interval.low > bound:
        return Verdict.HOLDS
    return Verdict.FAILS if interval.high < bound else Verdict.INCONCLUSIVE


def below(interval: Interval, bound: float) -> Verdict:
    """Holds where the whole interval lies below the bound, fails where it lies above."""
    if interval.high < bound:
        return Verdict.HOLDS
    return Verdict.FAILS if interval.low > bound else Verdict.INCONCLUSIVE


def truth_of(statement: bool) -> Verdict:
    """For what is exact and needs no interval."""
    return Verdict.HOLDS if statement else Verdict.FAILS


def worst(verdicts: list[Verdict]) -> Verdict:
    """All must hold: fails if one fails, inconclusive if one is."""
    for verdict in (Verdict.FAILS, Verdict.INCONCLUSIVE):
        if verdict in verdicts:
            return verdict
    return Verdict.HOLDS
