"""The paper's figures, one file each: settings, run, picture, claims."""

import importlib
from difflib import get_close_matches
from typing import cast

from fhtd.reproduction.experiment import Claim, Experiment, Verdict

#: Names on the command line, in the paper's order; each is the module of that name.
NAMES = (
    "baird",
    "slippery-maze",
    "random-walk",
    "off-policyness",
    "checkered-grid",
    "complexity",
    "weightings",
    "convergence",
    "lunar-lander",
    "lander-sweep",
    "lander-conventions",
    "deep-values",
)

__all__ = ["NAMES", "Claim", "Experiment", "Verdict", "find"]


def find(name: str) -> Experiment:
    """The experiment of that name; an unknown name is refused with the nearest one."""
    if name not in NAMES:
        near = get_close_matches(name, NAMES, n=1, cutoff=0.4)
        hint = f"; did you mean {near[0]!r}?" if near else ""
        raise ValueError(f"unknown experiment {name!r}{hint} (experiments: {', '.join(NAMES)})")
    module = importlib.import_module(f"fhtd.experiments.{name.replace('-', '_')}")
    return cast(Experiment, module.EXPERIMENT)
