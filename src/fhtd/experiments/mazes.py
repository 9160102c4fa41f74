"""Control in the slippery maze: arms at several step sizes, and each arm at its own best one."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from fhtd import checks, problems
from fhtd.online.control import ControlLearner
from fhtd.online.simulate import simulate
from fhtd.reproduction import Arrays, Block, Results, exactly, join_runs, run_blocks, style
from fhtd.statistics import Interval

_BLOCK = 100


class Config(Protocol):
    """What the settings of such an experiment have in common."""

    @property
    def runs(self) -> int:
        """Independent runs of each arm."""

    @property
    def episodes(self) -> int:
        """Episodes over which the mean length is taken."""

    @property
    def step_sizes(self) -> tuple[float, ...]:
        """Step sizes at which each arm is run."""

    @property
    def epsilon(self) -> float:
        """Probability of a random action."""


@dataclass(frozen=True)
class At:
    """An arm at a step size."""

    arm: Any
    step_size: float

    def __str__(self) -> str:
        return f"{self.arm}@{exactly(self.step_size)}"


def check(config: Config) -> None:
    """Refuse what no such experiment can be run with."""
    checks.integer("runs", config.runs, 1)
    checks.integer("episodes", config.episodes, 1)
    checks.real("epsilon", config.epsilon, 0, 1)
    for step_size in config.step_sizes:
        checks.positive("step_sizes", step_size)
    if not config.step_sizes:
        raise ValueError("step_sizes must not be empty")


def check_horizons(horizons: Sequence[int]) -> None:
    """Refuse what cannot be compared from short to long."""
    for horizon in horizons:
        checks.integer("horizons", horizon, 1)
    if len(horizons) < 2 or list(horizons) != sorted(set(horizons)):
        raise ValueError("horizons must ascend and hold at least two values")


def blocks(config: Config, arms: Iterable[Any]) -> list[Block]:
    """Every arm at every step size."""
    return [
        block
        for arm in arms
        for step_size in config.step_sizes
        for block in run_blocks(At(arm, step_size), config.runs, _BLOCK)
    ]


def run(config: Config, seed: int, block: Block, make: Any) -> Arrays:
    """Mean episode length of each run of a learner that `make` makes of features and actions."""
    maze = problems.slippery_maze()
    learner: ControlLearner = make(maze.features, maze.mdp.n_actions)
    found = simulate(
        learner,
        maze.mdp,
        episodes=config.episodes,
        runs=block.runs,
        record_at=[],
        seed=seed,
        threads=1,
    )
    assert found.lengths is not None
    return {"length": found.lengths.mean(axis=1)}


def combine(config: Config, results: Results, arms: Iterable[Any]) -> Arrays:
    """(step sizes, runs) of mean episode lengths for each arm."""
    return {
        str(arm): np.stack(
            [join_runs(results, At(arm, step_size), "length") for step_size in config.step_sizes]
        )
        for arm in arms
    }


def best(data: Arrays, arm: Any) -> npt.NDArray[np.float64]:
    """Runs of an arm at its own best step size."""
    lengths = data[str(arm)]
    found: npt.NDArray[np.float64] = lengths[np.argmin(lengths.mean(axis=1))]
    return found


def gap(data: Arrays, worse: Any, better: Any) -> Interval:
    """How many more steps `worse` takes, each at its best step size, paired over seeds."""
    return Interval.of(best(data, worse) - best(data, better))


def table(config: Config, data: Arrays, names: dict[Any, str]) -> Arrays:
    """Every arm, by its name for a reader, at every step size."""
    rows = [(arm, i) for arm in names for i in range(len(config.step_sizes))]
    stats = [Interval.of(data[str(arm)][i]) for arm, i in rows]
    return style.as_columns(
        ("arm", "step_size", "mean_length", "low", "high"),
        [names[arm] for arm, _ in rows],
        [config.step_sizes[i] for _, i in rows],
        *([getattr(one, part) for one in stats] for part in ("mean", "low", "high")),
    )
