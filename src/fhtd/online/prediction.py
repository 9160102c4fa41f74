"""The paper's prediction learners: one-step, n-step, lambda and Monte Carlo FHTD."""

from typing import Any, Unpack

import numpy as np
import numpy.typing as npt

from fhtd import checks
from fhtd.features import Representation
from fhtd.online.fixed_horizon import FixedHorizonLearner, check_weighting, with_column_zero
from fhtd.online.kernels.monte_carlo import MonteCarlo
from fhtd.online.kernels.n_step import NStep
from fhtd.online.kernels.one_step import OneStep
from fhtd.online.kernels.traces import Traces
from fhtd.online.learner import Learner, Options
from fhtd.online.schedule import Rate
from fhtd.weighting import Weighting


class PredictionLearner(Learner):
    """Learns state values from transitions (S, R, S')."""

    def update(
        self,
        observation: Any,
        reward: float,
        next_observation: Any,
        terminated: bool = False,
        truncated: bool = False,
        ratio: float = 1.0,
    ) -> None:
        """Learn from one transition; `ratio` is pi(A|S) / mu(A|S), 1 when on-policy."""
        self._learn(observation, 0, reward, next_observation, terminated, truncated, ratio)


class FHTD(PredictionLearner, FixedHorizonLearner):
    """One-step FHTD: H values, each bootstrapping from the one before (Algorithm 1)."""

    def __init__(
        self,
        features: Representation,
        weighting: Weighting,
        *,
        step_size: Rate = 0.1,
        **options: Unpack[Options],
    ) -> None:
        weighting = check_weighting(weighting)
        horizons = self._learned_horizons(weighting.horizon)
        super().__init__(features, weighting, horizons, step_size=step_size, **options)

    def _build_state(self, weights: npt.NDArray[Any]) -> OneStep:
        return OneStep(
            weights=weights,
            shift=1,
            is_constant=self.weighting.is_constant,
            **self._coefficients(),
            **self._scratch("following", "error"),
        )


class NStepFHTD(PredictionLearner, FixedHorizonLearner):
    """n-step FHTD: only every n-th horizon is learned, from n rewards each (Algorithm 3)."""

    def __init__(
        self,
        features: Representation,
        weighting: Weighting,
        n: int,
        *,
        step_size: Rate = 0.1,
        **options: Unpack[Options],
    ) -> None:
        weighting = check_weighting(weighting)
        self.n = checks.integer("n", n, 1, weighting.horizon)
        horizons = self._learned_horizons(weighting.horizon)
        super().__init__(features, weighting, horizons, step_size=step_size, **options)

    def _learned_horizons(self, horizon: int) -> npt.NDArray[np.int64]:
        return np.arange(horizon, 0, -self.n)[::-1]

    def _build_state(self, weights: npt.NDArray[Any]) -> NStep:
        n = self.n
        h = self.horizons.astype(int)
        rewards = self.weighting.coefficients()[h - 1, :n].T
        bootstraps = np.ones((n + 1, len(h)), self.weighting.dtype)
        for m in range(1, n + 1):
            d = self.weighting.bootstraps[np.maximum(h - m, 0)]
            bootstraps[m] = bootstraps[m - 1] * np.where(h >= m, d, 1)
        alike = (rewards == rewards[:, -1:]).all(axis=0)
        shared_from = len(h) + 1
        while shared_from > 1 and alike[shared_from - 2]:
            shared_from -= 1
        return NStep(
            weights=weights,
            rewards=with_column_zero(rewards),
            bootstraps=with_column_zero(bootstraps),
            lengths=with_column_zero(np.minimum(h, n)),
            shift=1,
            shared_from=shared_from,
            **self._scratch("following", "value", "error"),
            window_rewards=np.zeros(n),
            window_ratios=np.ones(n),
            **self._window(n),
        )


class FHTDLambda(PredictionLearner, FixedHorizonLearner):
    """FHTD(lambda): smooth from one-step (0) to Monte Carlo (1), O(H^2) per step (Algorithm 4)."""

    def __init__(
        self,
        features: Representation,
        weighting: Weighting,
        lambda_: float,
        *,
        step_size: Rate = 0.1,
        **options: Unpack[Options],
    ) -> None:
        weighting = check_weighting(weighting)
        self.lambda_ = checks.real("lambda_", lambda_, 0, 1)
        horizons = self._learned_horizons(weighting.horizon)
        super().__init__(features, weighting, horizons, step_size=step_size, **options)

    def _build_state(self, weights: npt.NDArray[Any]) -> Traces:
        return Traces(
            weights=weights,
            lambda_=self.lambda_,
            **self._coefficients(),
            decays=with_column_zero(self.lambda_ * self.weighting.bootstraps),
            is_constant=self.weighting.is_constant,
            **self._scratch("following", "error"),
            window_ratios=np.ones(self.weighting.horizon),
            **self._window(self.weighting.horizon),
        )


class FixedHorizonMC(PredictionLearner, FixedHorizonLearner):
    """Fixed-horizon Monte Carlo for every horizon, O(H) per step; it never bootstraps."""

    def __init__(
        self,
        features: Representation,
        weighting: Weighting,
        *,
        step_size: Rate = 0.1,
        **options: Unpack[Options],
    ) -> None:
        weighting = check_weighting(weighting)
        horizons = self._learned_horizons(weighting.horizon)
        super().__init__(features, weighting, horizons, step_size=step_size, **options)

    def _build_state(self, weights: npt.NDArray[Any]) -> MonteCarlo:
        horizon, is_constant = self.weighting.horizon, self.weighting.is_constant
        columns = 1 if is_constant else horizon + 1
        return MonteCarlo(
            weights=weights,
            **self._coefficients(),
            is_constant=is_constant,
            returns=np.zeros((horizon + 1, columns), self.weighting.dtype),
            products=np.ones(horizon + 1),
            **self._scratch("error"),
            window_rewards=np.zeros(horizon),
            window_ratios=np.ones(horizon),
            **self._window(horizon),
        )
