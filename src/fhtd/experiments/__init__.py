"""The paper's figures, one file each: settings, run, picture, claims."""

import importlib
from difflib import get_close_matches
from typing import cast

from fhtd.references import resolve
from fhtd.reproduction import Claim, Experiment, Verdict

#: Names on the command line, in the paper's order; each is the module of that name.
NAMES = (
    "baird",
    "slippery-maze",
    "random-walk",
    "off-policyness",
    "hybrid",
    "checkered-grid",
    "complexity",
    "weightings",
    "composition",
    "convergence",
    "general-approximation",
    "acting",
    "lunar-lander",
    "lander-sweep",
    "lander-best",
    "lander-conventions",
    "lander-readings",
    "representation",
    "deep-values",
    "deepening",
    "peers",
    "minatar",
    "critics",
)

__all__ = ["NAMES", "Claim", "Experiment", "Verdict", "find"]


def find(name: str) -> Experiment:
    """The experiment of that name, or of your own.

    Args:
        name: One of `NAMES`, or MODULE:NAME for an `Experiment` in a module that can be imported,
            from the present folder too.

    Raises:
        ValueError: If there is none; an unknown name is refused with the nearest one.
    """
    if ":" in name:
        return _imported(name)
    if name not in NAMES:
        near = get_close_matches(name, NAMES, n=1, cutoff=0.4)
        hint = f"; did you mean {near[0]!r}?" if near else ""
        raise ValueError(
            f"unknown experiment {name!r}{hint} (experiments: {', '.join(NAMES)}; "
            "MODULE:NAME is one of your own)"
        )
    module = importlib.import_module(f"fhtd.experiments.{name.replace('-', '_')}")
    return cast(Experiment, module.EXPERIMENT)


def _imported(place: str) -> Experiment:
    found = resolve(place, "experiment")
    if not isinstance(found, Experiment):
        raise ValueError(f"{place} must be an Experiment, got {found!r}")
    if found.name in NAMES:
        raise ValueError(f"{place} must have a name of its own, got {found.name!r}")
    return found
