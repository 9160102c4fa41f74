"""Features as active lists: which weights an observation uses, and with what factor.

A table has one active feature, Baird's counterexample two, a tile coder one per tiling, a dense
vector all of them. So every learner has one kernel for all representations.
"""

from fhtd.features.actions import ActionFeatures
from fhtd.features.dense import DenseFeatures
from fhtd.features.features import Features
from fhtd.features.representation import Active, Representation
from fhtd.features.state import StateFeatures
from fhtd.features.tiles import TileCoder

__all__ = [
    "ActionFeatures",
    "Active",
    "DenseFeatures",
    "Features",
    "Representation",
    "StateFeatures",
    "TileCoder",
]
