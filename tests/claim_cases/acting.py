"""Made-up results of `acting`."""

from collections.abc import Mapping

import numpy as np

from claim_cases.changes import SPREAD, Change, becomes
from fhtd.reproduction import Arrays


def holding(values: Mapping[str, float] | None = None, spread: float = 0.0) -> Arrays:
    """Lengths by what is acted on, at its second step size; the others are worse."""
    lengths = {"final-8": 120.0, "final-16": 100.0, "final-32": 105.0, "final-48": 110.0}
    lengths |= {"agreement-48": 100.0} | dict(values or {})
    sizes = np.array([40.0, 0.0, 10.0, 20.0, 30.0, 50.0, 60.0])[:, None]
    return {
        name: length + sizes + 0.1 * SPREAD + (spread * SPREAD if "agree" in name else 0)
        for name, length in lengths.items()
    }


FAILS: dict[str, list[Change]] = {
    "better-than-the-longest": [becomes(holding, {"agreement-48": 115.0})],
    "as-good-as-the-best": [becomes(holding, {"agreement-48": 101.0})],
}
UNCLEAR: dict[str, list[Change]] = {
    "better-than-the-longest": [becomes(holding, {"agreement-48": 109.0}, spread=5.0)],
    "as-good-as-the-best": [becomes(holding, {"agreement-48": 101.0}, spread=5.0)],
}
