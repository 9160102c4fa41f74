"""Made-up results of `weightings`."""

import numpy as np

from claim_cases.changes import RUNS, SPREAD, Change, Floats, put
from fhtd.reproduction import Arrays

WEIGHTINGS = ("exponential", "average", "hyperbolic", "arbitrary", "reward-scaled", "fourier")


def holding() -> Arrays:
    """Errors that end at 1%, and a learned profile that is 1% too large."""
    data: Arrays = {"step": np.array([1, 2, 3])}
    for problem in ("checkered-grid", "random-walk"):
        for name in WEIGHTINGS:
            data[f"{problem}@{name}"] = np.array([0.9, 0.5, 0.01]) * np.ones((RUNS, 1))
        exact = np.sin(np.arange(5 * 16)).reshape(5, 16)
        data[f"{problem}.exact"] = exact
        data[f"{problem}.profile"] = 1.01 * exact * np.ones((RUNS, 1, 1))
    return data


def profile_off_by(problem: str, share: float | Floats) -> Change:
    def change(data: Arrays) -> None:
        factor = 1 + np.asarray(share) * np.ones(RUNS)
        data[f"{problem}.profile"] = factor[:, None, None] * data[f"{problem}.exact"]

    return change


FAILS: dict[str, list[Change]] = {
    # On one of the two problems only.
    f"learns-{name}": [
        put(f"checkered-grid@{name}", 0.5, (slice(None), -1)),
        put(f"random-walk@{name}", 0.5, (slice(None), -1)),
    ]
    for name in WEIGHTINGS
} | {"knows-when": [profile_off_by("checkered-grid", 0.6), profile_off_by("random-walk", -0.6)]}
UNCLEAR: dict[str, list[Change]] = {
    f"learns-{name}": [put(f"random-walk@{name}", 0.15 + SPREAD / 10, (slice(None), -1))]
    for name in WEIGHTINGS
} | {"knows-when": [profile_off_by("random-walk", 0.25 + SPREAD / 5)]}
