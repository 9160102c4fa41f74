"""Compiled learners for streams of experience: the paper's algorithms and their baselines."""

from fhtd.online.baselines import ETD, TD, TDC, NStepTD, TDLambda
from fhtd.online.n_step_control import NStepFHQ
from fhtd.online.prediction import FHTD, FHTDLambda, FixedHorizonMC, NStepFHTD
from fhtd.online.q_learning import FHQ, FHQLambda, QLearning
from fhtd.online.questions import Questions
from fhtd.online.schedule import Decay, Linear
from fhtd.online.storage import load

__all__ = [
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
]
