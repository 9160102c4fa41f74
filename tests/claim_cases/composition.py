"""Made-up results of `composition`."""

from collections.abc import Mapping

import numpy as np

from claim_cases.changes import MANY, SPREAD, Change, becomes, fewer, put
from fhtd.reproduction import Arrays


def holding(values: Mapping[str, float] | None = None, spread: float = 0.0) -> Arrays:
    """Curves that are level: from nothing the worst, extended the best."""
    levels = {"walk.anew": 0.5, "walk.from-zero": 0.4, "walk.extended": 0.2}
    levels |= {"maze.anew": 0.5, "maze.from-zero": 0.4, "maze.extended": 0.2}
    data: Arrays = {
        name: np.outer(level + 0.01 * SPREAD, np.ones(5))
        for name, level in (levels | dict(values or {})).items()
    }
    for name in values or {}:
        data[name] = data[name] + spread * SPREAD[:, None]
    return data | {f"{task}.same": np.ones(MANY, np.bool_) for task in ("walk", "maze")}


FAILS: dict[str, list[Change]] = {
    "values-are-reused": [becomes(holding, {"walk.extended": 0.6})],
    "values-by-bootstrapping": [becomes(holding, {"walk.from-zero": 0.6})],
    "policies-are-reused": [becomes(holding, {"maze.extended": 0.6})],
    "policies-by-bootstrapping": [becomes(holding, {"maze.from-zero": 0.6})],
    "unaffected-by-longer": [put("walk.same", False), put("maze.same", False, slice(40))],
}
UNCLEAR: dict[str, list[Change]] = {
    "values-are-reused": [becomes(holding, {"walk.extended": 0.49}, spread=0.3)],
    "values-by-bootstrapping": [becomes(holding, {"walk.from-zero": 0.5}, spread=0.3)],
    "policies-are-reused": [becomes(holding, {"maze.extended": 0.49}, spread=0.3)],
    "policies-by-bootstrapping": [becomes(holding, {"maze.from-zero": 0.49}, spread=0.3)],
    "unaffected-by-longer": [
        put("maze.same", False, 3),  # not every run, and yet nearly all
        fewer("walk.same", 60),
    ],
}
