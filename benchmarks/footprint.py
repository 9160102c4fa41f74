"""Bytes that a learner holds: its weights, and everything else."""

from dataclasses import dataclass

import numpy as np

from fhtd import Weighting, problems
from fhtd.online import FHQ, FHTD, FHQLambda, FHTDLambda, FixedHorizonMC, NStepFHTD
from fhtd.online.learner import Learner

HORIZON = 1024
N = 32


@dataclass(frozen=True)
class Footprint:
    name: str
    weights: int
    #: The last states (and, for control, where their actions were greedy), by learner.
    window: int
    #: Coefficients and room to work.
    rest: int

    @property
    def per_horizon(self) -> float:
        """Numbers of 8 bytes per horizon, besides weights and window."""
        return self.rest / 8 / HORIZON


def footprint(name: str, learner: Learner) -> Footprint:
    held = {
        field: value.nbytes
        for field, value in learner._state._asdict().items()
        if isinstance(value, np.ndarray)
    }
    weights = held.pop("weights")
    window = sum(held.pop(field) for field in list(held) if field.startswith("window_"))
    return Footprint(name, weights, window, sum(held.values()))


def footprints() -> list[Footprint]:
    """Every fixed-horizon learner in the random walk (its 21 states) with H = 1024."""
    features = problems.random_walk().features
    weighting = Weighting.exponential(HORIZON, 0.99)
    learners = {
        "FHTD": FHTD(features, weighting),
        f"NStepFHTD, n = {N}": NStepFHTD(features, weighting, N),
        f"NStepFHTD, n = {HORIZON}": NStepFHTD(features, weighting, HORIZON),
        "FHTDLambda": FHTDLambda(features, weighting, 0.9),
        "FixedHorizonMC": FixedHorizonMC(features, weighting),
        "FHQ, 2 actions": FHQ(features, 2, weighting),
        "FHQLambda, 2 actions": FHQLambda(features, 2, weighting, 0.9),
    }
    return [footprint(name, learner) for name, learner in learners.items()]
