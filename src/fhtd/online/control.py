"""FHQ-learning, FHQ(lambda) and Q-learning: one set of weights per action, and acting on them."""

from collections.abc import Callable
from typing import Any, Self, Unpack

import numpy as np
import numpy.typing as npt

from fhtd import checks
from fhtd.features import Representation
from fhtd.online.baselines import InfiniteHorizonLearner
from fhtd.online.fixed_horizon import FixedHorizonLearner, check_weighting, with_column_zero
from fhtd.online.kernels.one_step import OneStepControl
from fhtd.online.kernels.traces import ControlTraces
from fhtd.online.learner import Learner, Options
from fhtd.online.schedule import Rate, check_rate, rate_at
from fhtd.weighting import Weighting


class ControlLearner(Learner):
    """Learns action values from transitions (S, A, R, S'), and acts on the final horizon.

    `epsilon`, the probability of a uniformly random action, is a number or a schedule over the
    transitions learned so far.
    """

    epsilon: Rate

    @property
    def _shape(self) -> tuple[int, ...]:
        return (self.n_actions, self.features.size)

    def update(
        self,
        observation: Any,
        action: int,
        reward: float,
        next_observation: Any,
        terminated: bool = False,
        truncated: bool = False,
        next_policy: npt.ArrayLike | None = None,
    ) -> None:
        """Learn from one transition.

        The next state is worth its best action, or with `next_policy`, the expectation under
        these action probabilities (which evaluates that policy instead of improving on it).
        """
        action = checks.integer("action", _plain(action), 0, self.n_actions - 1)
        probabilities = np.zeros(0)
        if next_policy is not None:
            probabilities = checks.probabilities("next_policy", next_policy, (self.n_actions,))
            self._check_expectation()
        elif self.weighting.is_complex:
            raise ValueError(
                "next_policy is needed under a complex weighting: complex values have no maximum"
            )
        self._learn(
            observation,
            action,
            reward,
            next_observation,
            terminated,
            truncated,
            next_policy=probabilities,
        )

    def _check_expectation(self) -> None:
        """Refuse a next policy where the algorithm is defined for the greedy one only."""

    def act(self, observation: Any) -> int:
        """An epsilon-greedy action for the final horizon; ties are broken at random."""
        self._check_real()
        epsilon = rate_at("epsilon", self.epsilon, self.step, 1)
        if epsilon and self._rng.random() < epsilon:
            return int(self._rng.integers(self.n_actions))
        return int(self._rng.choice(self._greedy(observation)))

    def _first_greedy(self, observation: Any) -> int:
        return int(self._greedy(observation)[0])

    def _check_real(self) -> None:
        if self.weighting.is_complex:
            raise ValueError("weighting is complex, and complex values have no greedy action")

    def _greedy(self, observation: Any) -> npt.NDArray[np.intp]:
        self._check_real()
        indices, values = self.features.active(observation)
        final = self.weights[:, indices, -1] @ values
        return np.flatnonzero(final == final.max())

    def predict(
        self,
        observation: Any,
        state: Any = None,
        episode_start: Any = None,
        deterministic: bool = True,
    ) -> tuple[Any, Any]:
        """The greedy action (lowest index of equals), or an exploring one; `state` passes through.

        A batch of observations gives an array of actions.
        """
        choose = self._first_greedy if deterministic else self.act
        if np.ndim(observation) == len(self.features.observation_shape):
            return choose(observation), state
        return np.array([choose(one) for one in observation]), state

    def learn(
        self,
        environment: Any,
        total_timesteps: int,
        *,
        seed: int | None = None,
        progress_bar: bool = False,
        callback: Callable[[Self, dict[str, float]], bool | None] | None = None,
    ) -> Self:
        """Act and learn for so many steps in a Gymnasium environment, given itself or by id.

        `callback(learner, episode)` is called after each episode with its `return` and `length`
        and ends learning by returning False. `seed` seeds the environment's first reset.
        """
        from fhtd.online.interaction import learn

        learn(self, environment, total_timesteps, seed, progress_bar, callback)
        return self


def _plain(action: Any) -> Any:
    """An integer out of an array of one, as some policies return."""
    return action.item() if isinstance(action, np.ndarray) and action.size == 1 else action


class FHQ(ControlLearner, FixedHorizonLearner):
    """Fixed-horizon Q-learning: every horizon greedy for itself (Algorithm 2)."""

    def __init__(
        self,
        features: Representation,
        n_actions: int,
        weighting: Weighting,
        *,
        step_size: Rate = 0.1,
        epsilon: Rate = 0.1,
        **options: Unpack[Options],
    ) -> None:
        weighting = check_weighting(weighting)
        self.n_actions = checks.integer("n_actions", n_actions, 1)
        self.epsilon = check_rate("epsilon", epsilon, 1)
        horizons = self._learned_horizons(weighting.horizon)
        super().__init__(features, weighting, horizons, step_size=step_size, **options)

    def _build_state(self, weights: npt.NDArray[Any]) -> Any:
        return OneStepControl(
            weights=weights,
            shift=1,
            **self._coefficients(),
            **self._scratch("following", "error"),
            n_actions=self.n_actions,
            n_features=self.features.size,
        )


class FHQLambda(FHQ):
    """FHQ(lambda): traces that end where an action was not greedy for its horizon (Algorithm 5)."""

    def __init__(
        self,
        features: Representation,
        n_actions: int,
        weighting: Weighting,
        lambda_: float,
        *,
        step_size: Rate = 0.1,
        epsilon: Rate = 0.1,
        **options: Unpack[Options],
    ) -> None:
        self.lambda_ = checks.real("lambda_", lambda_, 0, 1)
        if check_weighting(weighting).is_complex:
            raise ValueError("weighting must be real: complex values have no greedy action")
        super().__init__(
            features, n_actions, weighting, step_size=step_size, epsilon=epsilon, **options
        )

    def _check_expectation(self) -> None:
        raise ValueError("next_policy is not defined for FHQ(lambda), whose traces are greedy")

    def _build_state(self, weights: npt.NDArray[Any]) -> ControlTraces:
        horizon = self.weighting.horizon
        return ControlTraces(
            weights=weights,
            lambda_=self.lambda_,
            **self._coefficients(),
            decays=with_column_zero(self.lambda_ * self.weighting.bootstraps),
            **self._scratch("following", "error", "spare"),
            window_actions=np.zeros(horizon, np.int64),
            window_greedy=np.zeros((horizon, horizon + 1), np.uint8),
            n_actions=self.n_actions,
            n_features=self.features.size,
            **self._window(horizon),
        )


class QLearning(ControlLearner, InfiniteHorizonLearner):
    """Q-learning: Q(S, A) <- Q(S, A) + alpha [R + gamma max_a Q(S', a) - Q(S, A)]."""

    def __init__(
        self,
        features: Representation,
        n_actions: int,
        discount: complex,
        *,
        step_size: Rate = 0.1,
        epsilon: Rate = 0.1,
        **options: Unpack[Options],
    ) -> None:
        self.n_actions = checks.integer("n_actions", n_actions, 1)
        self.epsilon = check_rate("epsilon", epsilon, 1)
        super().__init__(features, discount, step_size=step_size, **options)

    def _build_state(self, weights: npt.NDArray[Any]) -> OneStepControl:
        return OneStepControl(
            weights=weights,
            rewards=with_column_zero(self.weighting.rewards),
            bootstraps=with_column_zero(self.weighting.bootstraps),
            shift=0,
            following=np.zeros(2, self.weighting.dtype),
            error=np.zeros(2, self.weighting.dtype),
            n_actions=self.n_actions,
            n_features=self.features.size,
        )
