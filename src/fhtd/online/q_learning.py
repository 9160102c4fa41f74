"""FHQ-learning, FHQ(lambda) and Q-learning: one set of weights for each action."""

from collections.abc import Callable
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from fhtd import checks
from fhtd.online.baselines import InfiniteHorizonLearner
from fhtd.online.control import ControlLearner
from fhtd.online.fixed_horizon import check_weighting
from fhtd.online.kernels.one_step import OneStepControl
from fhtd.online.kernels.traces import ControlTraces
from fhtd.online.learner import Layout
from fhtd.online.schedule import Rate, check_rate, rate_at
from fhtd.online.window import WindowLearner
from fhtd.weighting import Weighting


class FHQ(ControlLearner, WindowLearner):
    """Fixed-horizon Q-learning: every horizon greedy for itself (Algorithm 2).

    Q^h(S, A) <- Q^h(S, A) + alpha [c_h R + d_h max over a of Q^(h-1)(S', a) - Q^h(S, A)], Q^0 = 0.

    >>> from fhtd import FHQ, Features, Weighting
    >>> agent = FHQ(Features.tabular(2), n_actions=2, weighting=Weighting.exponential(2), seed=0)
    >>> for _ in range(200):
    ...     agent.update(0, 0, 1.0, 0)  # stay, for 1
    ...     agent.update(0, 1, 0.0, 1)  # or go where
    ...     agent.update(1, 0, 5.0, 0, terminated=True)  # 5 can be had
    >>> agent.values(0).round(2).tolist()  # one step: stay; two steps: go
    [[1.0, 2.0], [0.0, 5.0]]
    >>> agent.predict(0)[0]
    1
    """

    state_type: Callable[..., Any] = OneStepControl

    def __init__(
        self,
        features: Any,
        n_actions: int | None = None,
        weighting: Weighting | None = None,
        *,
        step_size: Rate = 0.1,
        epsilon: Rate = 0.1,
        initial: npt.ArrayLike = 0.0,
        initial_spread: float = 0.0,
        seed: int | None = None,
        allow_divergence: bool = False,
        deepen_every: int | None = None,
        acting: Literal["final", "agreement"] = "final",
    ) -> None:
        """Begin with the first weights.

        Args:
            features: What the learner sees of an observation: built by `Features`, or your own; or
                a Gymnasium environment or its id, whose spaces say it.
            n_actions: How many actions there are; an environment says it.
            weighting: How much each future reward counts, such as `Weighting.exponential(100)`.
            step_size: A number, `Decay` or `Linear`, or a function of the updates so far.
            epsilon: Probability of a random action in `act`: a number, a schedule or a function.
            initial: The first weights: a number, or an array that broadcasts to `weights`.
            initial_spread: Standard deviation of normal noise on each of the first weights.
            seed: Seed of that noise and of exploration; None draws one.
            allow_divergence: Let weights become non-finite instead of raising DivergenceError.
            deepen_every: Updates after which the horizons move on, as `deepen` does; None: never.
            acting: What to act on: the final horizon, or what all horizons agree on, each with its
                own worst action at 0 and its best at 1.

        Raises:
            ValueError: A number is out of range, or there is no such way of `acting`.
        """
        features = self._seen(features, n_actions)
        self.epsilon = check_rate("epsilon", epsilon)
        if acting not in ("final", "agreement"):
            raise ValueError(f"acting must be final or agreement, got {acting!r}")
        self.acting = acting
        super().__init__(
            features,
            check_weighting(weighting),
            step_size=step_size,
            initial=initial,
            initial_spread=initial_spread,
            seed=seed,
            allow_divergence=allow_divergence,
            deepen_every=deepen_every,
        )

    def _constants(self) -> dict[str, Any]:
        return {"shift": 1, **self._coefficients(), **self._sizes}

    def _room(self) -> dict[str, Layout]:
        return self._columns("following", "error")


class FHQLambda(FHQ):
    """FHQ(lambda): traces that end where an action was not greedy for its horizon (Algorithm 5).

    >>> from fhtd import FHQLambda, Features, Weighting
    >>> agent = FHQLambda(Features.tabular(1), 2, Weighting.exponential(3), lambda_=0.5, seed=0)
    >>> for _ in range(200):
    ...     agent.update(0, 0, 1.0, 0)
    >>> agent.values(0)[0].round(2).tolist()
    [1.0, 2.0, 3.0]
    """

    state_type = ControlTraces
    rates = ("step_size", "lambda_")

    def __init__(
        self,
        features: Any,
        n_actions: int | None = None,
        weighting: Weighting | None = None,
        lambda_: Rate | None = None,
        *,
        step_size: Rate = 0.1,
        epsilon: Rate = 0.1,
        initial: npt.ArrayLike = 0.0,
        initial_spread: float = 0.0,
        seed: int | None = None,
        allow_divergence: bool = False,
    ) -> None:
        """Begin with the first weights.

        Args:
            features: What the learner sees of an observation: built by `Features`, or your own; or
                a Gymnasium environment or its id, whose spaces say it.
            n_actions: How many actions there are; an environment says it.
            weighting: How much each future reward counts: real, with bootstraps of at least 0.
            lambda_: From 0, one step, to 1: credit reaches back until an action was not greedy. A
                number, or a schedule or function of the updates so far.
            step_size: A number, `Decay` or `Linear`, or a function of the updates so far.
            epsilon: Probability of a random action in `act`: a number, a schedule or a function.
            initial: The first weights: a number, or an array that broadcasts to `weights`.
            initial_spread: Standard deviation of normal noise on each of the first weights.
            seed: Seed of that noise and of exploration; None draws one.
            allow_divergence: Let weights become non-finite instead of raising DivergenceError.
        """
        self.lambda_ = check_rate("lambda_", lambda_)
        check_weighting(weighting).check_control()
        super().__init__(
            features,
            n_actions,
            weighting,
            step_size=step_size,
            epsilon=epsilon,
            initial=initial,
            initial_spread=initial_spread,
            seed=seed,
            allow_divergence=allow_divergence,
        )

    def _check_window(self, name: str) -> None:
        raise TypeError(
            f"{name} is not for FHQ(lambda): its traces reach over horizons left behind"
        )

    def _check_expectation(self) -> None:
        raise ValueError("next_policy is not defined for FHQ(lambda), whose traces are greedy")

    def _constants(self) -> dict[str, Any]:
        return {
            **self._coefficients(),
            **self._sizes,
        }

    @property
    def _memory_before(self) -> dict[str, float]:
        return {"window_links": rate_at("lambda_", self.lambda_, 0)}

    def _memory(self) -> dict[str, Layout]:
        horizon = self.weighting.horizon
        return self._window(horizon) | {
            "window_actions": ((horizon,), np.int64),
            "window_greedy": ((horizon, horizon + 1), np.uint8),
            "window_links": ((horizon,), np.float64),
        }

    def _room(self) -> dict[str, Layout]:
        return self._columns("following", "error", "spare")


class QLearning(ControlLearner, InfiniteHorizonLearner):
    """Q-learning: Q(S, A) <- Q(S, A) + alpha [R + gamma max_a Q(S', a) - Q(S, A)].

    >>> from fhtd import Features, QLearning
    >>> agent = QLearning(Features.tabular(2), n_actions=2, discount=0.5, seed=0)
    >>> for _ in range(200):
    ...     agent.update(0, 0, 1.0, 0)  # stay, for 1
    ...     agent.update(0, 1, 0.0, 1)  # or go where
    ...     agent.update(1, 0, 5.0, 0, terminated=True)  # 5 can be had
    >>> agent.values(0).round(2).tolist()
    [[2.25], [2.5]]
    """

    state_type = OneStepControl

    def __init__(
        self,
        features: Any,
        n_actions: int | None = None,
        discount: complex | None = None,
        *,
        step_size: Rate = 0.1,
        epsilon: Rate = 0.1,
        initial: npt.ArrayLike = 0.0,
        initial_spread: float = 0.0,
        seed: int | None = None,
        allow_divergence: bool = False,
    ) -> None:
        """Begin with the first weights.

        Args:
            features: What the learner sees of an observation: built by `Features`, or your own; or
                a Gymnasium environment or its id, whose spaces say it.
            n_actions: How many actions there are; an environment says it.
            discount: The factor of the next state's value, gamma.
            step_size: A number, `Decay` or `Linear`, or a function of the updates so far.
            epsilon: Probability of a random action in `act`: a number, a schedule or a function.
            initial: The first weights: a number, or an array that broadcasts to `weights`.
            initial_spread: Standard deviation of normal noise on each of the first weights.
            seed: Seed of that noise and of exploration; None draws one.
            allow_divergence: Let weights become non-finite instead of raising DivergenceError.
        """
        features = self._seen(features, n_actions)
        self.epsilon = check_rate("epsilon", epsilon)
        super().__init__(
            features,
            checks.number("discount", discount),
            step_size=step_size,
            initial=initial,
            initial_spread=initial_spread,
            seed=seed,
            allow_divergence=allow_divergence,
        )

    def _constants(self) -> dict[str, Any]:
        return {**self._own_bootstrap(), **self._sizes}

    def _room(self) -> dict[str, Layout]:
        return self._columns("following", "error")
