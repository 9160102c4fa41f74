"""Made-up results of `lunar-lander`."""

import numpy as np

from claim_cases.changes import RUNS, SPREAD, Change, both, fewer, put, scatter, shift
from fhtd.reproduction import Arrays


def holding() -> Arrays:
    """Curves that rise from 0 to 100 for DFHQ, less and more scattered for DQN."""
    rise = np.linspace(0, 100, 50)
    data: Arrays = {"frame": np.arange(10_000, 510_000, 10_000)}
    for arm, height, apart, senseless in (
        ("dfhq-0.99", 1.0, 1.0, -1),
        ("dfhq-1", 0.99, 1.0, -1),
        ("dqn-0.99", 0.8, 5.0, -1),
        ("dqn-1", -2.0, 5.0, 20_000),
    ):
        data[f"{arm}.curves"] = height * rise + apart * SPREAD[:, None]
        data[f"{arm}.senseless"] = np.full(RUNS, senseless)
    return data


FAILS: dict[str, list[Change]] = {
    "area-under-the-curve": [shift("dqn-0.99.curves", 50.0)],
    "lower-variance": [scatter("dfhq-0.99", 20.0)],
    "steady-improvement": [put("dfhq-0.99.curves", -300.0, (slice(None), slice(20, 30)))],
    "less-sensitive-to-discount": [
        shift("dfhq-1.curves", -500.0),
        shift("dfhq-1.curves", 500.0),  # a gain is a change too
    ],
    "dqn-diverges-undiscounted": [
        put("dqn-1.senseless", -1),
        put("dqn-1.senseless", 400_000),  # not at once
    ],
}
UNCLEAR: dict[str, list[Change]] = {
    "area-under-the-curve": [scatter("dqn-0.99", 200.0)],
    "lower-variance": [scatter("dfhq-0.99", 4.0)],
    "steady-improvement": [
        put("dfhq-0.99.curves", 200.0 * SPREAD[:, None], (slice(None), slice(40, 50)))
    ],
    "less-sensitive-to-discount": [scatter("dqn-1", 2000.0)],
    "dqn-diverges-undiscounted": [
        put("dqn-1.senseless", -1, 3),
        put("dfhq-1.senseless", 100_000, 0),
        both(fewer("dqn-1.senseless", 2), fewer("dfhq-1.senseless", 2)),
    ],
}
