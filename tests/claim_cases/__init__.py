"""Made-up results on which the claims of each experiment must hold, fail, or stay undecided.

The module of an experiment has `holding`, which builds data in the shape that `combine` gives, on
which every claim holds; `FAILS` and `UNCLEAR` change that data so that one claim must fail or
cannot be decided.
"""

import importlib

from fhtd.experiments import NAMES

_MODULES = {
    name: importlib.import_module(f"claim_cases.{name.replace('-', '_')}") for name in NAMES
}
HOLDING = {name: module.holding for name, module in _MODULES.items()}
FAILING = {name: module.FAILS for name, module in _MODULES.items()}
UNCLEAR = {name: module.UNCLEAR for name, module in _MODULES.items()}
#: Claims that are exact.
DECIDED = {
    "slippery-maze": {"optimal-length"},
    "convergence": {"td-unstable", "fhtd-stable"},
}
