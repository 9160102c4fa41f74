"""Made-up results of `checkered-grid`."""

import numpy as np

from claim_cases.changes import RUNS, SPREAD, Change, becomes
from fhtd.experiments import find
from fhtd.reproduction import Arrays


def holding(**changes: tuple[float, float]) -> Arrays:
    """Errors (early, late) of arms at their best step size; knowing nothing would give about 7.

    At the largest step size FHTD(lambda) diverges and n-step FHTD does not. Runs differ, alike in
    all arms.
    """
    config = find("checkered-grid").config()
    wanted = {f"n={n}": (0.3, 0.12) for n in config.backups}
    wanted |= {f"lambda={decay:g}": (0.3, 0.12) for decay in config.lambdas}
    wanted |= {"n=1": (0.4, 0.1), "n=32": (0.4, 0.2), "lambda=0": (0.4, 0.1)}
    wanted |= {"lambda=1": (0.4, 0.2), "n=4": (0.2, 0.12), "lambda=0.75": (0.2, 0.12)}
    wanted |= changes
    data = {}
    for i, (arm, errors) in enumerate(wanted.items()):
        found = np.full((9, RUNS, 2), 0.9)
        found[i % 8] = np.array(errors) + 0.05 * SPREAD[:, None]
        if arm.startswith("lambda"):
            found[-1] = np.inf
        data[arm] = found
    return data


def unpaired(arm: str, early: float, late: float, spread: float) -> Change:
    """The arm's best errors, with a spread of their own on top of the one that all share."""

    def change(data: Arrays) -> None:
        best = data[arm][:8].mean(axis=(1, 2)).argmin()
        data[arm][best] = np.array([early, late]) + spread * SPREAD[:, None]

    return change


def stable_lambda(data: Arrays) -> None:
    for arm, errors in data.items():
        errors[-1] = 1000.0 if arm.startswith("n=") else 0.9


def alike_at_large_steps(data: Arrays) -> None:
    for errors in data.values():
        errors[-1] = np.inf


def two_runs(data: Arrays) -> None:
    data.update({arm: errors[:, :2] for arm, errors in data.items()})


FAILS: dict[str, list[Change]] = {
    "intermediate-n": [
        becomes(holding, **{"n=1": (0.15, 0.1)}),
        becomes(holding, **{"n=32": (0.15, 0.2)}),
    ],
    "intermediate-lambda": [
        becomes(holding, **{"lambda=0": (0.15, 0.1)}),
        becomes(holding, **{"lambda=1": (0.15, 0.2)}),
    ],
    "one-step-catches-up": [
        becomes(holding, **{"n=1": (0.4, 0.2)}),  # still behind at the end
        becomes(holding, **{"n=1": (0.15, 0.1)}),  # never behind
    ],
    "lambda-less-stable": [stable_lambda],
}
UNCLEAR: dict[str, list[Change]] = {
    "intermediate-n": [unpaired("n=32", 0.21, 0.2, 0.15)],
    "intermediate-lambda": [unpaired("lambda=0", 0.21, 0.1, 0.15)],
    "one-step-catches-up": [unpaired("n=1", 0.21, 0.1, 0.15), unpaired("n=1", 0.4, 0.125, 0.1)],
    "lambda-less-stable": [alike_at_large_steps, two_runs],
}
