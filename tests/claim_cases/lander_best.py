"""Made-up results of `lander-best`."""

import numpy as np

from claim_cases.changes import SPREAD, Change, shift
from fhtd.reproduction import Arrays

BEST = ("dfhq64_0.99_256_0.0001_1.curves", "dqn_0.99_256_0.0001_1.curves")


def holding() -> Arrays:
    """DFHQ above DQN."""
    curves = (height + SPREAD[:, None] * np.ones(20) for height in (50.0, 30.0))
    return {"frame": np.arange(1, 21), **dict(zip(BEST, curves, strict=True))}


FAILS: dict[str, list[Change]] = {"dfhq-best-new-seeds": [shift(BEST[1], 100.0)]}
UNCLEAR: dict[str, list[Change]] = {
    "dfhq-best-new-seeds": [shift(BEST[1], 100.0 * SPREAD[:, None])]
}
