"""Many environments in one figure: interquartile means and probabilities of improvement.

Scores are one array of runs for each environment. Intervals resample runs with replacement within
each environment (Agarwal et al., 2021: Deep Reinforcement Learning at the Edge of the Statistical
Precipice).

    IQM = mean of the middle half of all scores of all environments
    P(X > Y) = mean over environments of the share of pairs of runs with x > y, ties counting half
"""

from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

from fhtd.statistics import Interval

Scores = Sequence[npt.NDArray[np.float64]]

_RESAMPLINGS = 2_000
#: Fewer runs in an environment say nothing of their spread.
FEW = 5


def interquartile_mean(scores: Scores) -> float:
    """Mean of what is left when a quarter of all scores is cut at either end.

    Args:
        scores: Of each run, environment by environment.
    """
    every = np.sort(np.concatenate(list(scores)))
    cut = int(0.25 * len(every))
    return float(every[cut : len(every) - cut].mean())


def probability_of_improvement(ours: Scores, theirs: Scores) -> float:
    """That a run of ours scores above one of theirs, in an environment drawn at random.

    Args:
        ours: Scores of each run, environment by environment.
        theirs: The same of the other.
    """
    shares = [
        ((mine[:, None] > other).mean() + (mine[:, None] == other).mean() / 2)
        for mine, other in zip(ours, theirs, strict=True)
    ]
    return float(np.mean(shares))


def interval(statistic: Callable[..., float], *groups: Scores) -> Interval:
    """A statistic of one or more groups with its 95% interval from resampled runs.

    The same runs are drawn for all groups, whose runs share seeds. Without bounds where an
    environment has fewer than five runs.

    Args:
        statistic: Of as many groups as there are.
        groups: Scores of each run, environment by environment; equally many for all groups.
    """
    measured = statistic(*groups)
    sizes = [len(runs) for runs in groups[0]]
    if any([len(runs) for runs in group] != sizes for group in groups):
        raise ValueError("groups must have equally many runs in each environment")
    if min(sizes) < FEW:
        return Interval(measured, -np.inf, np.inf)
    rng = np.random.default_rng(0)
    found = np.empty(_RESAMPLINGS)
    for i in range(_RESAMPLINGS):
        drawn = [rng.integers(size, size=size) for size in sizes]
        found[i] = statistic(
            *([runs[rows] for runs, rows in zip(group, drawn, strict=True)] for group in groups)
        )
    low, high = np.quantile(found, [0.025, 0.975]).tolist()
    return Interval(measured, low, high)


def difference(ours: Scores, theirs: Scores) -> float:
    """Of interquartile means.

    Args:
        ours: Scores of each run, environment by environment.
        theirs: The same of the other.
    """
    return interquartile_mean(ours) - interquartile_mean(theirs)
