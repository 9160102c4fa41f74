"""Made-up results of `lander-conventions`."""

from typing import Any

import numpy as np

from claim_cases.changes import SPREAD, Change, shift
from fhtd.experiments import find
from fhtd.reproduction import Arrays

CONVENTIONS = [
    f"{o}-{i}" for o in find("lander-conventions").config().optimisers for i in ("glorot", "torch")
]


def holding() -> Arrays:
    """DFHQ at 50, DQN at 30, under every reading."""
    data: Arrays = {}
    for name in CONVENTIONS:
        arm = "_".join(name.rsplit("-", 1))
        data[f"dfhq_{arm}.curves"] = 50.0 + SPREAD[:, None] * np.ones(20)
        data[f"dqn_{arm}.curves"] = 30.0 + SPREAD[::-1, None] * np.ones(20)
    return data


def of_convention(name: str, by: Any) -> Change:
    """Move DQN's runs."""
    return shift(f"dqn_{'_'.join(name.rsplit('-', 1))}.curves", by)


FAILS = {name: [of_convention(name, 100.0)] for name in CONVENTIONS}
UNCLEAR = {name: [of_convention(name, 100.0 * SPREAD[:, None])] for name in CONVENTIONS}
