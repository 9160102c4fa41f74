"""Fixed-horizon temporal-difference learning.

One value function per horizon h = 1..H, each bootstrapping from the one before, grounded at
V^0 = 0: stable off-policy with function approximation, and it knows when rewards come.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fhtd import callbacks, deep, envs, oracle, pages, policy, problems, targets, worlds
    from fhtd.errors import DivergenceError
    from fhtd.features import Features
    from fhtd.mdp import FiniteMDP
    from fhtd.online import (
        ETD,
        FHQ,
        FHTD,
        TD,
        TDC,
        Decay,
        FHQLambda,
        FHTDLambda,
        FixedHorizonMC,
        Linear,
        NStepFHQ,
        NStepFHTD,
        NStepTD,
        QLearning,
        Questions,
        TDLambda,
        load,
    )
    from fhtd.online.simulate import simulate
    from fhtd.weighting import Weighting

__version__ = "0.2.0"

# Loaded at first use, so that `import fhtd` costs no compiler and no environment library.
_HOMES = {
    "fhtd.errors": ["DivergenceError"],
    "fhtd.features": ["Features"],
    "fhtd.mdp": ["FiniteMDP"],
    "fhtd.weighting": ["Weighting"],
    "fhtd.online.simulate": ["simulate"],
    "fhtd.online": [
        "ETD",
        "FHQ",
        "FHTD",
        "TD",
        "TDC",
        "Decay",
        "FHQLambda",
        "FHTDLambda",
        "FixedHorizonMC",
        "Linear",
        "NStepFHQ",
        "NStepFHTD",
        "NStepTD",
        "QLearning",
        "Questions",
        "TDLambda",
        "load",
    ],
}
_MODULES = [
    "callbacks",
    "deep",
    "envs",
    "oracle",
    "pages",
    "policy",
    "problems",
    "targets",
    "worlds",
]
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}

__all__ = [*_HOME_OF, *_MODULES]  # noqa: PLE0604


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return importlib.import_module(f"fhtd.{name}")
    if name not in _HOME_OF:
        raise AttributeError(f"module 'fhtd' has no attribute {name!r}")
    value = getattr(importlib.import_module(_HOME_OF[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
