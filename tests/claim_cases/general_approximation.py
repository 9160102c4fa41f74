"""Made-up results of `general-approximation`."""

import numpy as np

from claim_cases.changes import RUNS, SPREAD, Change, put
from fhtd.reproduction import Arrays


def holding() -> Arrays:
    """Wide networks fit everything, others within their own delta; all come to rest."""
    data: Arrays = {"step": np.arange(1, 51)}
    for arm, loss, delta in (("wide", 1e-7, 1e-7), ("middle", 0.01, 0.08), ("narrow", 0.2, 1.0)):
        data[f"{arm}.loss"] = loss * (2 + SPREAD[:, None, None]) / 2 * np.ones((RUNS, 50, 8))
        data[f"{arm}.delta"] = np.full(RUNS, delta)
        data[f"{arm}.error"] = np.full((RUNS, 8), loss)
        data[f"{arm}.change"] = np.full((RUNS, 8), 1e-4)
    return data


at_last = (slice(None), -1)
FAILS: dict[str, list[Change]] = {
    "within-delta-wide": [put("wide.loss", 0.01, (slice(None), -1, 3))],
    "within-delta-middle": [put("middle.loss", 0.2, (slice(None), -1, 3))],
    "within-delta-narrow": [put("narrow.loss", 1.5, (slice(None), -1, 7))],
    "strong-and-right": [put("wide.delta", 0.2), put("wide.error", 0.1, at_last)],
    "weak-does-not": [put("narrow.loss", 1e-9, at_last)],
    "all-converge": [
        put(f"{arm}.change", 0.05, (slice(None), 2)) for arm in ("wide", "middle", "narrow")
    ],
}
UNCLEAR: dict[str, list[Change]] = {
    "within-delta-wide": [put("wide.delta", SPREAD)],
    "within-delta-middle": [put("middle.delta", 0.01 + SPREAD)],
    "within-delta-narrow": [put("narrow.delta", 0.2 + SPREAD)],
    "strong-and-right": [put("wide.error", 0.05 + 0.04 * SPREAD, at_last)],
    "weak-does-not": [put("wide.delta", 0.2 + SPREAD)],
    "all-converge": [put("narrow.change", 0.01 + 0.009 * SPREAD, (slice(None), 2))],
}
