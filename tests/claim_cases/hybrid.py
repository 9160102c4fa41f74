"""Made-up results of `hybrid`."""

import numpy as np

from claim_cases.changes import RUNS, SPREAD, Change, both, put
from fhtd.experiments import find, hybrid
from fhtd.reproduction import Arrays


def holding() -> Arrays:
    """Hardly an error without exploration; with it, what the first one-step horizons remove."""
    config = find("hybrid").config()
    shape = (RUNS, 2, len(config.backups), len(config.one_step_horizons))
    error = np.zeros(shape)
    error[:, 0] = 0.001
    error[:, 1] = 0.1
    error[:, 1, 2, 4] = 0.05
    data: Arrays = {"error": error * (1 + 0.01 * SPREAD[:, None, None, None]), "loss": error}
    for horizon in config.maze_horizons:
        for arm in hybrid.arms(config, horizon):
            level = {"maze-16-1-0": 200.0, "maze-48-1-0": 200.0, "maze-16-8-0": 300.0}
            lengths = np.full((len(config.step_sizes), RUNS), 900.0)
            lengths[3] = level.get(str(arm), 205.0) + 20 * SPREAD
            data[str(arm)] = lengths
    return data


WITH_8 = (slice(None), 1, 2, 4)  # exploring, n = 8, k = 8
WITHOUT = (slice(None), 1, 2, 0)
FAILS: dict[str, list[Change]] = {
    "early-horizons-matter-most": [put("error", 0.095, WITH_8)],
    "it-is-the-exploration": [put("error", 0.05, (slice(None), 0, 2, 0))],
    "better-than-a-smaller-n": [put("error", 0.04, (slice(None), 1, 1, 0))],
    "two-one-step-horizons-help": [put("maze-16-8-0", 195 + 20 * SPREAD, 3)],
    "as-good-where-short": [put("maze-16-2-8", 230 + 20 * SPREAD, 3)],
    "as-good-where-long": [put("maze-48-2-8", 230 + 20 * SPREAD, 3)],
}
UNCLEAR: dict[str, list[Change]] = {
    "early-horizons-matter-most": [put("error", 0.0875 + 0.01 * SPREAD, WITH_8)],
    "it-is-the-exploration": [
        both(put("error", 0.1, WITHOUT), put("error", 0.01 + SPREAD / 100, (slice(None), 0, 2, 0)))
    ],
    "better-than-a-smaller-n": [put("error", 0.05 + 0.01 * SPREAD, (slice(None), 1, 1, 0))],
    "two-one-step-horizons-help": [put("maze-16-8-0", 205 - 20 * SPREAD, 3)],
    "as-good-where-short": [put("maze-16-2-8", 220 - 40 * SPREAD, 3)],
    "as-good-where-long": [put("maze-48-2-8", 220 - 40 * SPREAD, 3)],
}
