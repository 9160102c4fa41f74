"""Every learner, built alike, for tests that hold for all of them."""

import numpy as np

from fhtd import (
    ETD,
    FHQ,
    FHTD,
    TD,
    TDC,
    Features,
    FHQLambda,
    FHTDLambda,
    FixedHorizonMC,
    NStepFHQ,
    NStepFHTD,
    NStepTD,
    QLearning,
    TDLambda,
    Weighting,
)

HORIZON = 6
WEIGHTING = Weighting.exponential(HORIZON, 0.9)

PREDICTION = {
    "FHTD": lambda f, w=WEIGHTING, **o: FHTD(f, w, **o),
    "NStepFHTD": lambda f, w=WEIGHTING, **o: NStepFHTD(f, w, 4, **o),
    "hybrid FHTD": lambda f, w=WEIGHTING, **o: NStepFHTD(f, w, 4, one_step_horizons=1, **o),
    "FHTDLambda": lambda f, w=WEIGHTING, **o: FHTDLambda(f, w, 0.7, **o),
    "FixedHorizonMC": lambda f, w=WEIGHTING, **o: FixedHorizonMC(f, w, **o),
}
BASELINES = {
    "TD": lambda f, **o: TD(f, 0.9, **o),
    "NStepTD": lambda f, **o: NStepTD(f, 0.9, 3, **o),
    "TDLambda": lambda f, **o: TDLambda(f, 0.9, 0.7, **o),
    "TDC": lambda f, **o: TDC(f, 0.9, **o),
    "ETD": lambda f, **o: ETD(f, 0.9, **o),
}
CONTROL = {
    "FHQ": lambda f, w=WEIGHTING, **o: FHQ(f, 2, w, **o),
    "NStepFHQ": lambda f, w=WEIGHTING, **o: NStepFHQ(f, 2, w, 4, **o),
    "hybrid": lambda f, w=WEIGHTING, **o: NStepFHQ(f, 2, w, 4, one_step_horizons=1, **o),
    "FHQLambda": lambda f, w=WEIGHTING, **o: FHQLambda(f, 2, w, 0.7, **o),
}
CONTROL_BASELINES = {"QLearning": lambda f, **o: QLearning(f, 2, 0.9, **o)}
FIXED = PREDICTION | CONTROL
ALL = PREDICTION | BASELINES | CONTROL | CONTROL_BASELINES


def is_control(name):
    return name in CONTROL or name in CONTROL_BASELINES


def feed(name, learner, rng, steps, n_states=5):
    """Random experience with both kinds of boundary; the same for the same generator."""
    observation = int(rng.integers(n_states))
    for _ in range(steps):
        following = int(rng.integers(n_states))
        action, reward = int(rng.integers(2)), float(rng.normal())
        terminated, truncated = bool(rng.random() < 0.1), bool(rng.random() < 0.1)
        ratio = float(rng.uniform(0, 1.5))
        if is_control(name):
            learner.update(observation, action, reward, following, terminated, truncated)
        else:
            learner.update(observation, reward, following, terminated, truncated, ratio)
        observation = int(rng.integers(n_states)) if terminated or truncated else following


def overlapping_features(n_states=5):
    """Features that states share, so that every update touches several states."""
    return Features.from_matrix(np.random.default_rng(0).normal(size=(n_states, 3)) / 2)
