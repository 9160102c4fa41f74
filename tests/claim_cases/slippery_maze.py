"""Made-up results of `slippery-maze`."""

from collections.abc import Mapping

import numpy as np

from claim_cases.changes import RUNS, SPREAD, Change, becomes
from fhtd.reproduction import Arrays


def holding(values: Mapping[str, float] | None = None, spread: float = 0.0) -> Arrays:
    """At one step size as wanted, at others far worse; runs differ, alike in all arms."""
    wanted = {"fhq-8": 200.0, "fhq-16": 100.0, "fhq-32": 120.0, "fhq-48": 130.0, "q-1": 150.0}
    wanted |= {f"q-{discount}": 110.0 for discount in (0.875, 0.938, 0.969, 0.979)}
    wanted |= values or {}
    data = {}
    for i, (arm, length) in enumerate(sorted(wanted.items())):
        lengths = np.full((10, RUNS), 9000.0 if arm == "fhq-16" else 1000.0)
        lengths[i % 10] = length + 80 * SPREAD + (spread * SPREAD if arm in (values or {}) else 0)
        data[arm] = lengths
    return data


ALL_DISCOUNTS = ("q-0.875", "q-0.938", "q-0.969", "q-0.979")
FAILS: dict[str, list[Change]] = {
    "too-short-is-poor": [becomes(holding, {"fhq-8": 90.0})],
    "shorter-than-32": [becomes(holding, {"fhq-32": 90.0})],
    "shorter-than-48": [becomes(holding, {"fhq-48": 90.0})],
    "discounts-alike": [becomes(holding, {"q-0.938": 130.0}), becomes(holding, {"q-0.979": 90.0})],
    "fhq-against-q": [
        becomes(holding, dict.fromkeys(ALL_DISCOUNTS, 95.0)),
        becomes(holding, {"q-0.969": 99.0}),  # the best discount is what counts
    ],
    "shorter-than-episode": [
        becomes(holding, {"q-1": 105.0}),  # longer than FHQ takes, shorter than Q-learning does
        becomes(holding, {"q-1": 90.0}),
    ],
    "optimal-length": [],  # from the oracle, not from data: it has a test of its own
}
UNCLEAR: dict[str, list[Change]] = {
    "too-short-is-poor": [becomes(holding, {"fhq-8": 101.0}, spread=50)],
    "shorter-than-32": [becomes(holding, {"fhq-32": 101.0}, spread=50)],
    "shorter-than-48": [becomes(holding, {"fhq-48": 101.0}, spread=50)],
    "discounts-alike": [becomes(holding, {"q-0.969": 121.0}, spread=20)],
    "fhq-against-q": [becomes(holding, dict.fromkeys(ALL_DISCOUNTS, 101.0), spread=50)],
    "shorter-than-episode": [becomes(holding, {"q-1": 111.0}, spread=50)],
}
