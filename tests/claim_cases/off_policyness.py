"""Made-up results of `off-policyness`."""

import numpy as np

from claim_cases.changes import RUNS, SPREAD, Change, both, put
from fhtd.reproduction import Arrays


def holding() -> Arrays:
    """Disagreement in half of the states, in the first 4 of 64 horizons only."""
    agreement = np.ones((RUNS, 2, 64))
    agreement[:, :, :4] = 0.5
    return {"agreement": agreement}


FAILS: dict[str, list[Change]] = {
    # Each under one tie rule only.
    "early-disagreement": [put("agreement", 0.5, (slice(None), rule)) for rule in (0, 1)],
    "late-agreement": [put("agreement", 0.7, (slice(None), rule, 31)) for rule in (0, 1)],
}
UNCLEAR: dict[str, list[Change]] = {
    # Half of the worlds disagree early only, half late only.
    "early-disagreement": [
        both(
            put("agreement", 1.0, (slice(0, RUNS // 2), 0, slice(0, 4))),
            put("agreement", 0.5, (slice(0, RUNS // 2), 0, slice(40, 44))),
        )
    ],
    "late-agreement": [put("agreement", 0.9 + SPREAD / 10, (slice(None), 1, 31))],
}
