"""How the time per step grows: with H for one-step FHTD, with n for n-step FHTD."""

from dataclasses import dataclass
from functools import partial
from math import log
from pathlib import Path

import numpy as np
from cases import run_fhtd
from timing import Contender, take_turns

from fhtd import Weighting, problems
from fhtd.online import FHTD, NStepFHTD
from fhtd.reproduction import style

HORIZONS = (64, 128, 256, 512, 1024)
LONGEST = 1024
BACKUPS = tuple(2**k for k in range(11))


def over_horizons(repetitions: int) -> dict[int, float]:
    """Nanoseconds per step of one-step FHTD in the random walk, by H."""
    problem = problems.random_walk()
    contenders = {}
    for horizon in HORIZONS:
        learner = FHTD(problem.features, Weighting.exponential(horizon, 0.99), step_size=0.1)
        contenders[str(horizon)] = Contender(partial(run_fhtd, learner, problem), 200_000)
    found = take_turns(contenders, repetitions)
    return {horizon: found[str(horizon)].minimum for horizon in HORIZONS}


def exponent(times: dict[int, float]) -> float:
    """k of the power law H^k through the first and the last horizon."""
    first, *_, last = times
    return log(times[last] / times[first]) / log(last / first)


def over_backups(repetitions: int) -> dict[int, float]:
    """Nanoseconds per step of n-step FHTD for H = 1024, by n, where episodes do not end."""
    problem = problems.random_grid(size=4)
    contenders = {}
    for n in BACKUPS:
        weighting = Weighting.exponential(LONGEST, 0.99)
        learner = NStepFHTD(problem.features, weighting, n, step_size=0.01)
        contenders[str(n)] = Contender(partial(run_fhtd, learner, problem), 50_000)
    found = take_turns(contenders, repetitions)
    return {n: found[str(n)].minimum for n in BACKUPS}


def count(n: int) -> float:
    """The paper's count of operations."""
    return n - 1 + LONGEST / n


@dataclass(frozen=True)
class Fit:
    """t = step + reward n + horizon H/n, in nanoseconds."""

    step: float
    reward: float
    horizon: float

    def __call__(self, n: int) -> float:
        return self.step + self.reward * n + self.horizon * LONGEST / n

    @property
    def cheapest(self) -> float:
        """Where the derivative vanishes; sqrt(H) if a reward cost as much as a horizon."""
        return float(np.sqrt(LONGEST * self.horizon / self.reward))


def fit(times: dict[int, float]) -> Fit:
    """Least squares of the relative error: all lengths of backups count alike."""
    n, t = np.array(list(times)), np.array(list(times.values()))
    terms = np.stack([np.ones(len(n)), n, LONGEST / n], axis=1)
    found, *_ = np.linalg.lstsq(terms / t[:, None], np.ones(len(n)), rcond=None)
    return Fit(*found.tolist())


def plot(times: dict[int, float], fitted: Fit, path: Path) -> None:
    """The measured cost beside the paper's count, scaled to agree at n = 1."""
    figure, axes = style.panels(1, 1, width=5.2, height=3.6)
    panel = axes[0, 0]
    n = list(times)
    scale = times[1] / count(1)
    style.line(panel, n, list(times.values()), None, "measured", 0, markers=True)
    label = f"{fitted.step:.0f} + {fitted.reward:.2f} n + {fitted.horizon:.2f} H/n"
    style.line(panel, n, [fitted(i) for i in n], None, label, 1)
    style.line(panel, n, [scale * count(i) for i in n], None, "n - 1 + H/n, scaled", 2)
    panel.set_xscale("log", base=2)
    panel.set_yscale("log")
    style.label(panel, f"n-step FHTD, H = {LONGEST}", "n", "nanoseconds per step")
    figure.savefig(path, dpi=150)
