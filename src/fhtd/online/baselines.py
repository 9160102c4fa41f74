"""Infinite-horizon baselines with the same interface: TD, n-step TD, TD(lambda), TDC, ETD.

They differ from the fixed-horizon learners in one thing: the value bootstraps from itself.
"""

from typing import Any

import numpy as np
import numpy.typing as npt

from fhtd import checks
from fhtd.features import Representation
from fhtd.online.fixed_horizon import with_column_zero
from fhtd.online.kernels.eligibility import Eligibility
from fhtd.online.kernels.gradient import GradientCorrection
from fhtd.online.kernels.n_step import NStep
from fhtd.online.kernels.one_step import OneStep
from fhtd.online.learner import Layout, Learner
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
        initial: npt.ArrayLike = 0.0,
        initial_spread: float = 0.0,
        seed: int | None = None,
        allow_divergence: bool = False,
    ) -> None:
        """Begin with the first weights.

        Args:
            features: What the learner sees of an observation: built by `Features`, or your own.
            discount: The factor of the next state's value, gamma.
            step_size: A number, `Decay` or `Linear`, or a function of the updates so far.
            initial: The first weights: a number, or an array that broadcasts to `weights`.
            initial_spread: Standard deviation of normal noise on each of the first weights.
            seed: Seed of that noise, and of exploration in control; None draws one.
            allow_divergence: Let weights become non-finite instead of raising DivergenceError.
        """
        # One column with c = 1 and d = discount, read with shift 0.
        weighting = Weighting.exponential(1, discount)
        self.discount = checks.number("discount", discount)
        super().__init__(
            features,
            weighting,
            np.array([np.inf]),
            step_size=step_size,
            initial=initial,
            initial_spread=initial_spread,
            seed=seed,
            allow_divergence=allow_divergence,
        )

    def _own_bootstrap(self) -> dict[str, Any]:
        """Constants of the one-step kernels, for a value that bootstraps from itself."""
        return {
            "rewards": with_column_zero(self.weighting.rewards),
            "bootstraps": with_column_zero(self.weighting.bootstraps),
            "shift": 0,
        }

    @property
    def _discount_array(self) -> npt.NDArray[Any]:
        return np.array([self.discount], self.weighting.dtype)


class TD(PredictionLearner, InfiniteHorizonLearner):
    """One-step TD: V(S) <- V(S) + alpha rho [R + gamma V(S') - V(S)]."""

    state_type = OneStep

    def _constants(self) -> dict[str, Any]:
        return {"is_constant": True, **self._own_bootstrap()}

    def _room(self) -> dict[str, Layout]:
        return self._columns("following", "error")


class NStepTD(PredictionLearner, InfiniteHorizonLearner):
    """n-step TD: n rewards, then the value n steps ahead."""

    state_type = NStep
    _free_slots = 1

    def __init__(
        self,
        features: Representation,
        discount: complex,
        n: int,
        *,
        step_size: Rate = 0.1,
        initial: npt.ArrayLike = 0.0,
        initial_spread: float = 0.0,
        seed: int | None = None,
        allow_divergence: bool = False,
    ) -> None:
        """Begin with the first weights.

        Args:
            features: What the learner sees of an observation: built by `Features`, or your own.
            discount: The factor of the next state's value, gamma.
            n: How many rewards a target sums before it bootstraps.
            step_size: A number, `Decay` or `Linear`, or a function of the updates so far.
            initial: The first weights: a number, or an array that broadcasts to `weights`.
            initial_spread: Standard deviation of normal noise on each of the first weights.
            seed: Seed of that noise; None draws one.
            allow_divergence: Let weights become non-finite instead of raising DivergenceError.
        """
        self.n = checks.integer("n", n, 1)
        super().__init__(
            features,
            discount,
            step_size=step_size,
            initial=initial,
            initial_spread=initial_spread,
            seed=seed,
            allow_divergence=allow_divergence,
        )

    def _constants(self) -> dict[str, Any]:
        n, dtype = self.n, self.weighting.dtype
        powers = np.power(np.array(self.discount, dtype), np.arange(n + 1))[:, None]
        return {
            "rewards": with_column_zero(powers[:n]),
            "bootstraps": with_column_zero(powers),
            "lengths": np.array([0, n]),
            "shift": 0,
            "shared_from": 2,
        }

    def _memory(self) -> dict[str, Layout]:
        return self._window(self.n, "rewards", "ratios", "continuations")

    def _room(self) -> dict[str, Layout]:
        return self._columns("following", "value", "error")


class TDLambda(PredictionLearner, InfiniteHorizonLearner):
    """TD(lambda) with accumulating traces."""

    state_type = Eligibility
    is_emphatic = False

    def __init__(
        self,
        features: Representation,
        discount: complex,
        lambda_: float,
        *,
        step_size: Rate = 0.1,
        initial: npt.ArrayLike = 0.0,
        initial_spread: float = 0.0,
        seed: int | None = None,
        allow_divergence: bool = False,
    ) -> None:
        """Begin with the first weights.

        Args:
            features: What the learner sees of an observation: built by `Features`, or your own.
            discount: The factor of the next state's value, gamma.
            lambda_: From 0, one step, to 1, Monte Carlo.
            step_size: A number, `Decay` or `Linear`, or a function of the updates so far.
            initial: The first weights: a number, or an array that broadcasts to `weights`.
            initial_spread: Standard deviation of normal noise on each of the first weights.
            seed: Seed of that noise; None draws one.
            allow_divergence: Let weights become non-finite instead of raising DivergenceError.
        """
        self.lambda_ = checks.real("lambda_", lambda_, 0, 1)
        super().__init__(
            features,
            discount,
            step_size=step_size,
            initial=initial,
            initial_spread=initial_spread,
            seed=seed,
            allow_divergence=allow_divergence,
        )

    def _constants(self) -> dict[str, Any]:
        return {
            "discount": self._discount_array,
            "lambda_": self.lambda_,
            "is_emphatic": self.is_emphatic,
        }

    def _memory(self) -> dict[str, Layout]:
        dtype = self.weighting.dtype
        return {
            "trace": ((self._n_features,), dtype),
            "follow_on": ((2,), dtype),
            "carried": ((1,), np.float64),
        }


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
        initial: npt.ArrayLike = 0.0,
        initial_spread: float = 0.0,
        seed: int | None = None,
        allow_divergence: bool = False,
    ) -> None:
        """Begin with the first weights.

        Args:
            features: What the learner sees of an observation: built by `Features`, or your own.
            discount: The factor of the next state's value, gamma.
            lambda_: From 0, one step, to 1, Monte Carlo.
            step_size: A number, `Decay` or `Linear`, or a function of the updates so far.
            initial: The first weights: a number, or an array that broadcasts to `weights`.
            initial_spread: Standard deviation of normal noise on each of the first weights.
            seed: Seed of that noise; None draws one.
            allow_divergence: Let weights become non-finite instead of raising DivergenceError.
        """
        super().__init__(
            features,
            discount,
            lambda_,
            step_size=step_size,
            initial=initial,
            initial_spread=initial_spread,
            seed=seed,
            allow_divergence=allow_divergence,
        )


class TDC(PredictionLearner, InfiniteHorizonLearner):
    """TD with gradient correction: stable off-policy through a second set of weights."""

    state_type = GradientCorrection
    rates = ("step_size", "second_step_size")

    def __init__(
        self,
        features: Representation,
        discount: complex,
        *,
        step_size: Rate = 0.1,
        second_step_size: Rate = 0.1,
        initial: npt.ArrayLike = 0.0,
        initial_spread: float = 0.0,
        seed: int | None = None,
        allow_divergence: bool = False,
    ) -> None:
        """Begin with the first weights; the second set starts at 0.

        Args:
            features: What the learner sees of an observation: built by `Features`, or your own.
            discount: The factor of the next state's value, gamma.
            step_size: A number, `Decay` or `Linear`, or a function of the updates so far.
            second_step_size: The same for the second set of weights.
            initial: The first weights: a number, or an array that broadcasts to `weights`.
            initial_spread: Standard deviation of normal noise on each of the first weights.
            seed: Seed of that noise; None draws one.
            allow_divergence: Let weights become non-finite instead of raising DivergenceError.
        """
        self.second_step_size = check_rate("second_step_size", second_step_size)
        super().__init__(
            features,
            discount,
            step_size=step_size,
            initial=initial,
            initial_spread=initial_spread,
            seed=seed,
            allow_divergence=allow_divergence,
        )

    def _constants(self) -> dict[str, Any]:
        return {"discount": self._discount_array}

    def _memory(self) -> dict[str, Layout]:
        return {"secondary": ((self._n_features,), self.weighting.dtype)}
