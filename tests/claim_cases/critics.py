"""Made-up results of `critics`."""

import numpy as np

from claim_cases.changes import FORTH_AND_BACK, RUNS, SPREAD, Change, both, put, shift
from fhtd.experiments import critics
from fhtd.reproduction import Arrays

#: Mean returns of an arm that has learned nothing, something, and the best, in each environment.
SOFT_WORLDS = {"Pendulum-v1": (-1150.0, -200.0), "LunarLanderContinuous-v3": (0.0, 150.0)}


def holding() -> Arrays:
    """The window a little above the others; SAC without target networks learns nothing."""
    data: Arrays = {}
    little = SPREAD[:, None] * np.ones(100)
    for world, (poor, good) in SOFT_WORLDS.items():
        data[f"{world}.frame"] = np.arange(200, 20_200, 200)
        for arm in critics.ARMS:
            middle = good - 0.1 * (good - poor)
            level = {"window": good, "sac": poor}.get(arm, middle)
            data[f"{world}.{arm}.curves"] = level + little
            data[f"{world}.{arm}.target"] = np.full(RUNS, -50.0)
            data[f"{world}.{arm}.error"] = np.full(RUNS, 1000.0 if arm == "sac" else 1.0)
    return data


def of_critics(arm: str, world: str = "Pendulum-v1", part: str = "curves") -> str:
    return f"{world}.{arm}.{part}"


FAILS: dict[str, list[Change]] = {
    "sac-loses-control": [put(of_critics("sac", part="error"), 5.0)],
    "sac-does-not-learn": [put(of_critics("sac"), -300.0)],
    "fhsac-learns": [put(of_critics(arm), -500.0) for arm in ("window", "H16", "H32")],
    "values-within-reach": [
        put(of_critics("H32", part="target"), -460.0),
        put(of_critics("H16", part="target"), 30.0),
    ],
    "window-not-below": [
        put(of_critics("window", world), soft_level, ...)
        for world, soft_level in (("Pendulum-v1", -700.0), ("LunarLanderContinuous-v3", 50.0))
    ],
    "window-above": [
        both(*[put(of_critics("window", w), poor) for w, (poor, _) in SOFT_WORLDS.items()])
    ],
}
UNCLEAR: dict[str, list[Change]] = {
    "sac-loses-control": [
        put(of_critics("sac", part="error"), 10.0 ** (1 + SPREAD)),
        put(of_critics("sac-target", part="error"), np.nan, 2),
    ],
    "sac-does-not-learn": [put(of_critics("sac"), -900 + 200 * SPREAD[:, None])],
    "fhsac-learns": [put(of_critics("H16"), -300 + 200 * SPREAD[:, None])],
    "values-within-reach": [
        put(of_critics("H16", part="target"), np.nan, 0),
        put(of_critics("H32", part="target"), -460.0, 3),
    ],
    "window-not-below": [shift(of_critics("sac-target"), 0.15 * 950 + 300 * SPREAD[:, None])],
    "window-above": [
        both(*[shift(of_critics("window", w), 4 * FORTH_AND_BACK) for w in SOFT_WORLDS]),
    ],
}
