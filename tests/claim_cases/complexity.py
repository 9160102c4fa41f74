"""Made-up results of `complexity`."""

import numpy as np

from claim_cases.changes import SPREAD, Change, Floats, becomes
from fhtd.experiments.complexity import backups
from fhtd.reproduction import Arrays


def holding(exponent: float = 2.0, root: float = 0.5) -> Arrays:
    """Cost as the paper counts it, times a factor per repetition that all settings share."""
    load = np.exp(SPREAD)[:, None]
    data = {}
    for horizon in (64, 256, 1024):
        n = np.array(backups(horizon))
        count = n - 1 + horizon / n
        data[f"n-step-{horizon}"] = load * count / count.min() * horizon**root
    data["lambda"] = load * np.array([32.0, 64, 128, 256, 512]) ** exponent
    return data


def cost_at(n: int, factor: float | Floats) -> Change:
    """The cost of n for the longest horizon, relative to the cheapest."""

    def change(data: Arrays) -> None:
        times = data["n-step-1024"]
        times[:, n] = times.min(axis=1) * factor

    return change


FAILS: dict[str, list[Change]] = {
    "intermediate-n-cheapest": [cost_at(0, 0.8), cost_at(-1, 0.8)],
    "sublinear-in-horizon": [becomes(holding, root=1.2)],
    "lambda-quadratic": [becomes(holding, exponent=1.0), becomes(holding, exponent=3.0)],
}
UNCLEAR: dict[str, list[Change]] = {
    "intermediate-n-cheapest": [cost_at(0, 1 + SPREAD / 2), cost_at(-1, 1 + SPREAD / 2)],
    "sublinear-in-horizon": [becomes(holding, root=1 + SPREAD[:, None])],
    "lambda-quadratic": [becomes(holding, exponent=1.5 + SPREAD[:, None])],
}
