"""Made-up results of `representation`."""

import numpy as np

from claim_cases.changes import SPREAD, Change, scatter, shift
from fhtd.reproduction import Arrays


def holding() -> Arrays:
    """DFHQ above DQN, which its auxiliary horizons help; averages above sums."""
    heights = {"dfhq": 50, "dqn": 10, "dqn-auxiliary": 30, "dfhq-undiscounted": 20}
    heights["dfhq-average"] = 40
    return {
        "frame": np.arange(1, 21),
        **{
            f"{arm}.curves": height + SPREAD[:: 1 - 2 * (i % 2), None] * np.ones(20)
            for i, (arm, height) in enumerate(heights.items())
        },
    }


FAILS: dict[str, list[Change]] = {
    "necessary-outputs": [shift("dfhq.curves", -40.0)],
    "auxiliary-outputs": [shift("dqn.curves", 40.0)],
    "similar-magnitudes": [shift("dfhq-average.curves", -40.0)],
}
UNCLEAR: dict[str, list[Change]] = {
    "necessary-outputs": [scatter("dfhq", 100.0)],
    "auxiliary-outputs": [scatter("dqn", 100.0)],
    "similar-magnitudes": [scatter("dfhq-average", 100.0)],
}
