"""Made-up results of `lander-readings`."""

import numpy as np

from claim_cases.changes import SPREAD, Change, scatter, shift
from fhtd.reproduction import Arrays

READINGS = ("present", "limit-terminates", "limit-1000")


def holding() -> Arrays:
    """DFHQ above DQN under every reading, and further above under the other two."""
    data: Arrays = {"frame": np.arange(1, 21)}
    for reading, height in zip(READINGS, (20.0, 60.0, 90.0), strict=True):
        data[f"dfhq_{reading}.curves"] = height + SPREAD[:, None] * np.ones(20)
        data[f"dqn_{reading}.curves"] = SPREAD[::-1, None] * np.ones(20)
    return data


FAILS: dict[str, list[Change]] = {
    **{reading: [shift(f"dqn_{reading}.curves", 200.0)] for reading in READINGS},
    **{
        f"{reading}-favours-dfhq": [
            shift(f"dqn_{reading}.curves", 200.0),
            shift("dfhq_present.curves", 200.0),
        ]
        for reading in READINGS[1:]
    },
}
UNCLEAR: dict[str, list[Change]] = {
    **{reading: [scatter(f"dqn_{reading}", 300.0)] for reading in READINGS},
    **{
        f"{reading}-favours-dfhq": [
            scatter(f"dqn_{reading}", 300.0),
            scatter("dfhq_present", 300.0),
        ]
        for reading in READINGS[1:]
    },
}
