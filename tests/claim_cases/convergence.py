"""Made-up results of `convergence`."""

import numpy as np

from claim_cases.changes import RUNS, Change, put
from fhtd.experiments import find
from fhtd.reproduction import Arrays


def holding() -> Arrays:
    steps = find("convergence").config().steps
    bound = np.full((20, 4, 7), 0.5)
    bound[:5, 1, 3] = 1.5
    return {
        "time": np.array([0.0, 1.0, 2.0, 4.0]),
        "bound": bound,
        "step": np.array([steps // 1000, steps // 100, steps]),
        "distance": np.array([1.0, 0.5, 0.01])[:, None] * np.ones((20, RUNS, 3, 8)),
        "td_eigenvalues": np.array([-0.2 + 1j, 0.5, 0]),
        "fhtd_eigenvalues": np.array([0.1 + 1j, 0.5, -1e-17]),
    }


final = (slice(None), slice(None), -1)
FAILS: dict[str, list[Change]] = {
    "reaches-equilibrium": [
        put("distance", 0.2, final),
        put("distance", 0.012, (slice(None), slice(None), 1)),  # near, but no longer approaching
    ],
    "bound-on-the-way": [
        put("bound", 1.2, (slice(18), 0, 0)),
        put("bound", 1.0, (slice(18), 3, 6)),
    ],
    "converges-without-the-bound": [put("distance", 0.2, (slice(5), slice(None), -1))],
    "td-unstable": [put("td_eigenvalues", 0.3, 0)],
    "fhtd-stable": [put("fhtd_eigenvalues", -0.01 + 1j, 0)],
}
UNCLEAR: dict[str, list[Change]] = {
    "reaches-equilibrium": [
        put("distance", 0.05 + 0.04 * np.linspace(-1, 1, 20)[:, None, None], final)
    ],
    "bound-on-the-way": [put("bound", 1.2, (slice(10), 0, 0))],
    "converges-without-the-bound": [
        put("bound", 0.9, ...),
        put("distance", 0.2, (0, slice(None), -1)),
    ],
}
