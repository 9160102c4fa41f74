"""Learning curves of deep agents: from episodes to areas, run by run."""

from collections.abc import Hashable, Sequence

import numpy as np
import numpy.typing as npt

from fhtd import checks
from fhtd.reproduction.arms import MOST_RUNS, Arrays, Block, Results

#: Episodes that a point of a learning curve is the mean of (paper: 10).
WINDOW = 10


def curve(
    ends: npt.NDArray[np.generic], returns: npt.NDArray[np.generic], at: npt.NDArray[np.int64]
) -> npt.NDArray[np.float64]:
    """Mean return of the last 10 episodes that had ended at each of these frames.

    NaN before the first has ended; the mean of fewer while there are fewer.
    """
    sums = np.concatenate([[0.0], np.cumsum(returns, dtype=np.float64)])
    done = np.searchsorted(ends, at, side="right")
    first = np.maximum(done - WINDOW, 0)
    with np.errstate(invalid="ignore"):
        return np.asarray((sums[done] - sums[first]) / (done - first))


def curves(
    results: Results, arm: Hashable, runs: int, at: npt.NDArray[np.int64], first_run: int = 0
) -> npt.NDArray[np.float64]:
    """(runs, points) of an arm; before a first episode has ended, its return is taken."""
    found = np.empty((runs, len(at)))
    for run in range(runs):
        one = results[one_run(arm, first_run + run)]
        line = curve(one["frame"], one["return"], at)
        first = one["return"][0] if len(one["return"]) else np.nan
        found[run] = np.where(np.isnan(line), first, line)
    return found


def one_run(arm: Hashable, run: int) -> Block:
    """One run is one block."""
    return Block(arm, range(run, run + 1))


def blocks_of(arms: Sequence[Hashable], runs: int, first_run: int = 0) -> list[Block]:
    """All arms' first runs before any arm's second, so that few runs are already a comparison."""
    checks.integer("runs", runs, 1, MOST_RUNS)
    return [one_run(arm, first_run + run) for run in range(runs) for arm in arms]


def points(frames: int) -> npt.NDArray[np.int64]:
    """Frames at which curves are drawn: at most 500, evenly, the last included."""
    count = min(frames, 500)
    return np.linspace(frames / count, frames, count).astype(np.int64)


def areas(data: Arrays, arm: Hashable) -> npt.NDArray[np.float64]:
    """Mean over frames of each run's curve."""
    return np.asarray(data[f"{arm}.curves"].mean(axis=1))


def last_fifths(data: Arrays, arm: Hashable) -> npt.NDArray[np.float64]:
    """Mean over the last fifth of the frames of each run's curve."""
    found = data[f"{arm}.curves"]
    return np.asarray(found[:, -(found.shape[1] // 5 or 1) :].mean(axis=1))
