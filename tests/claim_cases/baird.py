"""Made-up results of `baird`."""

import numpy as np

from claim_cases.changes import MANY, RUNS, SPREAD, Change, both, fewer, put
from fhtd.reproduction import Arrays


def holding() -> Arrays:
    means = np.array([10.0, 5000.0, 2.0])[:, None] * np.ones(8)
    near_zero = np.full((MANY, 7), 1e-9)
    return {
        "step": np.array([1, 50, 100]),
        "fhtd.mean": means,
        "fhtd.error": 0.1 * means,
        "fhtd.final_weights": np.full((MANY, 8), 2.0),
        "fhtd.final_values": near_zero.copy(),
        "fhtd-random.final_values": near_zero.copy(),
        "td.final_values": np.full((RUNS, 7), -1e12),
        "fhtd.settled_at": np.full(MANY, 6000.0),
        # Quicker in a quarter of the runs.
        "fhtd-random.settled_at": np.where(np.arange(MANY) % 4, 7000.0, 5000.0),
    }


FAILS: dict[str, list[Change]] = {
    "converges": [
        put("fhtd.final_values", -1.0, (slice(20), 6)),  # one state of some runs is enough
        put("fhtd.final_values", np.nan, (slice(20), 0)),
    ],
    "transient": [
        both(put("fhtd.mean", 11.0, 1), put("fhtd.error", 0.1)),  # no growth on the way
        put("fhtd.final_weights", 11.0, (slice(None), 0)),  # one weight does not recover
    ],
    "td-diverges": [put("td.final_values", 12.0)],
    "random-converges": [put("fhtd-random.final_values", 1.0, (slice(20), 0))],
    "random-sometimes-quicker": [
        put("fhtd-random.settled_at", 6000.0),  # no sooner is not quicker
        put("fhtd-random.settled_at", np.inf),
    ],
}
UNCLEAR: dict[str, list[Change]] = {
    "converges": [
        put("fhtd.final_values", -1.0, (3, 6)),  # not every run, and yet nearly all
        fewer("fhtd.final_values", 300),
        fewer("fhtd.final_values", 2),
    ],
    "transient": [
        put("fhtd.error", 5000.0),
        put("fhtd.final_weights", 10 + np.linspace(-1, 1, MANY), (slice(None), 0)),
        fewer("fhtd.final_weights", 1),
    ],
    "td-diverges": [put("td.final_values", 12 * 10 ** (3 + 3 * SPREAD[:, None]))],
    "random-converges": [fewer("fhtd-random.final_values", 2)],
    "random-sometimes-quicker": [
        put("fhtd-random.settled_at", np.where(np.arange(MANY) % 20, 7000.0, 5000.0)),
        both(fewer("fhtd.settled_at", 2), fewer("fhtd-random.settled_at", 2)),
    ],
}
