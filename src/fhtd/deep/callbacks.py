"""Callbacks of deep agents: those of every learner."""

from fhtd.boards import TensorBoard, WeightsAndBiases
from fhtd.callbacks import (
    Callback,
    Checkpoint,
    Evaluation,
    Every,
    Group,
    StopAtReturn,
    together,
)

__all__ = [
    "Callback",
    "Checkpoint",
    "Evaluation",
    "Every",
    "Group",
    "StopAtReturn",
    "TensorBoard",
    "WeightsAndBiases",
    "together",
]
