"""Infinite-horizon baselines with the same interface: TD, n-step TD, TD(lambda), TDC, ETD.

They differ from the fixed-horizon learners in one thing: the value bootstraps from itself.
"""

from typing import Any, Unpack

import numpy as np
import numpy.typing as npt

from fhtd import checks
from fhtd.features import Representation
from fhtd.online.fixed_horizon import with_column_zero
from fhtd.online.kernels.eligibility import Eligibility
from fhtd.online.kernels.gradient import GradientCorrection
from fhtd.online.kernels.n_step import NStep
from fhtd.online.kernels.one_step import OneStep
from fhtd.online.learner import Learner, Options
from fhtd.online.prediction import PredictionLearner
from fhtd.online.schedule import Rate, check_rate
from fhtd.weighting import Weighting


class InfiniteHorizonLearner(Learner):
    """Learns one value: the discounted sum of all future rewards."""

    def __init__(
        self,
        features: Representation,
        discount: complex,
        *,
        step_size: Rate = 0.1,
        **options: Unpack[Options],
    ) -> None:
        # One column with c = 1 and d = discount, read with shift 0.
        weighting = Weighting.exponential(1, discount)
        self.discount = checks.number("discount", discount)
        super().__init__(features, weighting, np.array([np.inf]), step_size=step_size, **options)

    @property
    def _discount_array(self) -> npt.NDArray[Any]:
        return np.array([self.discount], self.weighting.dtype)


class TD(PredictionLearner, InfiniteHorizonLearner):
    """One-step TD: V(S) <- V(S) + alpha rho [R + gamma V(S') - V(S)]."""

    def _build_state(self, weights: npt.NDArray[Any]) -> OneStep:
        return OneStep(
            weights=weights,
            rewards=with_column_zero(self.weighting.rewards),
            bootstraps=with_column_zero(self.weighting.bootstraps),
            shift=0,
            is_constant=True,
            following=np.zeros(2, self.weighting.dtype),
            error=np.zeros(2, self.weighting.dtype),
        )


class NStepTD(PredictionLearner, InfiniteHorizonLearner):
    """n-step TD: n rewards, then the value n steps ahead."""

    def __init__(
        self,
        features: Representation,
        discount: complex,
        n: int,
        *,
        step_size: Rate = 0.1,
        **options: Unpack[Options],
    ) -> None:
        self.n = checks.integer("n", n, 1)
        super().__init__(features, discount, step_size=step_size, **options)

    def _build_state(self, weights: npt.NDArray[Any]) -> NStep:
        n, dtype = self.n, self.weighting.dtype
        powers = np.power(np.array(self.discount, dtype), np.arange(n + 1))[:, None]
        return NStep(
            weights=weights,
            rewards=with_column_zero(powers[:n]),
            bootstraps=with_column_zero(powers),
            lengths=np.array([0, n]),
            shift=0,
            shared_from=2,
            following=np.zeros(2, dtype),
            value=np.zeros(2, dtype),
            error=np.zeros(2, dtype),
            window_indices=np.zeros((n, self.features.n_active), np.int64),
            window_values=np.zeros((n, self.features.n_active)),
            window_rewards=np.zeros(n),
            window_ratios=np.ones(n),
            cursor=np.array([0, n - 1]),
        )


class TDLambda(PredictionLearner, InfiniteHorizonLearner):
    """TD(lambda) with accumulating traces."""

    is_emphatic = False

    def __init__(
        self,
        features: Representation,
        discount: complex,
        lambda_: float,
        *,
        step_size: Rate = 0.1,
        **options: Unpack[Options],
    ) -> None:
        self.lambda_ = checks.real("lambda_", lambda_, 0, 1)
        super().__init__(features, discount, step_size=step_size, **options)

    def _build_state(self, weights: npt.NDArray[Any]) -> Eligibility:
        return Eligibility(
            weights=weights,
            discount=self._discount_array,
            lambda_=self.lambda_,
            is_emphatic=self.is_emphatic,
            trace=np.zeros(len(weights), weights.dtype),
            follow_on=np.zeros(2, weights.dtype),
        )


class ETD(TDLambda):
    """Emphatic TD(lambda) with interest 1: stable off-policy by reweighting the updates."""

    is_emphatic = True

    def __init__(
        self,
        features: Representation,
        discount: complex,
        lambda_: float = 0.0,
        *,
        step_size: Rate = 0.1,
        **options: Unpack[Options],
    ) -> None:
        super().__init__(features, discount, lambda_, step_size=step_size, **options)


class TDC(PredictionLearner, InfiniteHorizonLearner):
    """TD with gradient correction: stable off-policy through a second set of weights."""

    def __init__(
        self,
        features: Representation,
        discount: complex,
        *,
        step_size: Rate = 0.1,
        second_step_size: Rate = 0.1,
        **options: Unpack[Options],
    ) -> None:
        self.second_step_size = check_rate("second_step_size", second_step_size)
        super().__init__(features, discount, step_size=step_size, **options)

    def _build_state(self, weights: npt.NDArray[Any]) -> GradientCorrection:
        return GradientCorrection(
            weights=weights,
            discount=self._discount_array,
            secondary=np.zeros(len(weights), weights.dtype),
        )
