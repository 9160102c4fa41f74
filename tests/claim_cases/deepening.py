"""Made-up results of `deepening`."""

import numpy as np

from claim_cases.changes import FORTH_AND_BACK, SPREAD, Change, put, shift
from fhtd.experiments import deepening, find
from fhtd.reproduction import Arrays


def holding() -> Arrays:
    """The default window lands, the others less well."""
    experiment = find("deepening")
    names = [*deepening.grid(experiment.config()), deepening.PLAIN]
    data: Arrays = {"LunarLander-v3.frame": np.arange(1_000, 101_000, 1_000)}
    for name in names:
        height = 220.0 if name == deepening.name_of(*deepening.CHOSEN) else 100.0
        data[f"LunarLander-v3.{name}.curves"] = height + 5 * SPREAD[:, None] * np.ones(100)
    return data


def of_window(name: str) -> str:
    return f"LunarLander-v3.{name}.curves"


FAILS: dict[str, list[Change]] = {
    "several-horizons": [shift(of_window(f"K1-T{t}"), 200.0) for t in (100, 400, 1600)],
    "layer-norm": [shift(of_window(deepening.PLAIN), 200.0)],
    "not-too-slowly": [shift(of_window("K8-T1600"), 200.0)],
    "lands": [put(of_window("K8-T400"), 190.0, (slice(None), slice(80, None)))],
}
UNCLEAR: dict[str, list[Change]] = {
    "several-horizons": [shift(of_window("K1-T400"), 100.0 + FORTH_AND_BACK)],
    "layer-norm": [shift(of_window(deepening.PLAIN), FORTH_AND_BACK)],
    "not-too-slowly": [shift(of_window("K8-T1600"), FORTH_AND_BACK)],
    "lands": [shift(of_window("K8-T400"), -20.0)],
}
