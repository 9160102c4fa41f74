"""Made-up results of `minatar`."""

import numpy as np

from claim_cases.changes import FORTH_AND_BACK, SPREAD, Change, both, shift
from fhtd.experiments import minatar
from fhtd.reproduction import Arrays

GAMES = minatar.Config().environments


def holding() -> Arrays:
    """The window above DQN in every game."""
    data: Arrays = {}
    for game in GAMES:
        data[f"{game}.frame"] = np.arange(3_000, 303_000, 3_000)
        for arm, level in (("dfhq", 10.0), ("dqn", 5.0)):
            data[f"{game}.{arm}.curves"] = level + SPREAD[:, None] * np.ones(100) / 10
    return data


FAILS: dict[str, list[Change]] = {
    "above-dqn": [both(*[shift(f"{game}.dqn.curves", 6.0) for game in GAMES])],
    "nowhere-below-dqn": [shift(f"{game}.dqn.curves", 6.0) for game in GAMES],
}
UNCLEAR: dict[str, list[Change]] = {
    "above-dqn": [both(*[shift(f"{game}.dqn.curves", 5 + 5 * FORTH_AND_BACK) for game in GAMES])],
    "nowhere-below-dqn": [shift(f"{game}.dqn.curves", 5 + 5 * FORTH_AND_BACK) for game in GAMES],
}
