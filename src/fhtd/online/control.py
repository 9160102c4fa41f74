"""FHQ-learning, FHQ(lambda) and Q-learning: one set of weights per action, and acting on them."""

from collections.abc import Callable
from typing import Any, ClassVar, Literal, Self

import numpy as np
import numpy.typing as npt

from fhtd import checks
from fhtd.features import Representation
from fhtd.online.baselines import InfiniteHorizonLearner
from fhtd.online.fixed_horizon import check_weighting, with_column_zero
from fhtd.online.kernels.one_step import OneStepControl
from fhtd.online.kernels.traces import ControlTraces
from fhtd.online.learner import Layout, Learner
from fhtd.online.schedule import Rate, check_rate, rate_at
from fhtd.online.window import WindowLearner
from fhtd.weighting import Weighting


class ControlLearner(Learner):
    """Learns action values from transitions (S, A, R, S'), and acts on them.

    `epsilon`, the probability of a uniformly random action, is a number or a schedule over the
    transitions learned so far.
    """

    epsilon: Rate
    #: What to act on: `final`, the last horizon, or what all horizons agree on.
    acting: str = "final"

    @property
    def _shape(self) -> tuple[int, ...]:
        return (self.n_actions, self._n_features)

    @property
    def _sizes(self) -> dict[str, int]:
        """How the kernel finds the weights of an action."""
        return {"n_actions": self.n_actions, "n_features": self._n_features}

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

        Args:
            observation: What was seen before the step, S.
            action: The action taken, A.
            reward: The reward of the step, R.
            next_observation: What was seen after it, S'.
            terminated: The episode ended: S' is worth 0.
            truncated: The episode was cut, by a time limit say: S' keeps its value.
            next_policy: Probabilities of the next actions. With them S' is worth their expectation,
                which evaluates that policy; without, its best action.
        """
        action = checks.integer("action", _plain(action), 0, self.n_actions - 1)
        probabilities = np.zeros(0)
        if next_policy is not None:
            probabilities = checks.probabilities("next_policy", next_policy, (self.n_actions,))
            self._check_expectation()
        elif self.weighting.no_maximum:
            raise ValueError(f"next_policy is needed: {self.weighting.no_maximum}")
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
        """An epsilon-greedy action, for the final horizon mostly; ties are broken at random.

        Args:
            observation: What is seen of the present state.
        """
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
        if self.acting == "final":
            indices, values = self.features.active(observation)
            scores = self.weights[:, indices, -1] @ values
        else:
            found = self.values(observation)
            lowest, highest = found.min(axis=0), found.max(axis=0)
            alike = highest == lowest
            scores = ((found - lowest) / np.where(alike, 1, highest - lowest)).mean(axis=1)
        return np.flatnonzero(scores == scores.max())

    def predict(
        self,
        observation: Any,
        state: Any = None,
        episode_start: Any = None,
        deterministic: bool = True,
    ) -> tuple[Any, Any]:
        """The greedy action (lowest index of equals) or an exploring one, and `state` as given.

        Args:
            observation: What is seen of the present state; a batch gives an array of actions.
            state: Passed through: the learner has no memory of its own while acting.
            episode_start: Not used; it is part of the interface that others call.
            deterministic: Whether to take the greedy action; otherwise as `act` does.
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

        It begins with a reset of the environment, so traces of earlier experience are dropped.

        Args:
            environment: A Gymnasium environment with discrete actions, or its id.
            total_timesteps: How many steps to take.
            seed: Seed of the environment's first reset.
            progress_bar: Show the progress on the terminal.
            callback: Called as `callback(learner, episode)` after each episode, with its `return`
                and `length`; returning False ends learning.
        """
        from fhtd.online.interaction import learn

        learn(self, environment, total_timesteps, seed, progress_bar, callback)
        return self


def _plain(action: Any) -> Any:
    """An integer out of an array of one, as some policies return."""
    return action.item() if isinstance(action, np.ndarray) and action.size == 1 else action


class FHQ(ControlLearner, WindowLearner):
    """Fixed-horizon Q-learning: every horizon greedy for itself (Algorithm 2)."""

    state_type: ClassVar[Callable[..., Any]] = OneStepControl

    def __init__(
        self,
        features: Representation,
        n_actions: int,
        weighting: Weighting,
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
            features: What the learner sees of an observation: built by `Features`, or your own.
            n_actions: How many actions there are.
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
        """
        self.n_actions = checks.integer("n_actions", n_actions, 1)
        self.epsilon = check_rate("epsilon", epsilon, 1)
        if acting not in ("final", "agreement"):
            raise ValueError(f"acting must be final or agreement, got {acting!r}")
        self.acting = acting
        super().__init__(
            features,
            weighting,
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
    """FHQ(lambda): traces that end where an action was not greedy for its horizon (Algorithm 5)."""

    state_type = ControlTraces

    def __init__(
        self,
        features: Representation,
        n_actions: int,
        weighting: Weighting,
        lambda_: float,
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
            features: What the learner sees of an observation: built by `Features`, or your own.
            n_actions: How many actions there are.
            weighting: How much each future reward counts: real, with bootstraps of at least 0.
            lambda_: From 0, one step, to 1: credit reaches back until an action was not greedy.
            step_size: A number, `Decay` or `Linear`, or a function of the updates so far.
            epsilon: Probability of a random action in `act`: a number, a schedule or a function.
            initial: The first weights: a number, or an array that broadcasts to `weights`.
            initial_spread: Standard deviation of normal noise on each of the first weights.
            seed: Seed of that noise and of exploration; None draws one.
            allow_divergence: Let weights become non-finite instead of raising DivergenceError.
        """
        self.lambda_ = checks.real("lambda_", lambda_, 0, 1)
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
            "lambda_": self.lambda_,
            "decays": with_column_zero(self.lambda_ * self.weighting.bootstraps),
            **self._coefficients(),
            **self._sizes,
        }

    def _memory(self) -> dict[str, Layout]:
        horizon = self.weighting.horizon
        return self._window(horizon) | {
            "window_actions": ((horizon,), np.int64),
            "window_greedy": ((horizon, horizon + 1), np.uint8),
        }

    def _room(self) -> dict[str, Layout]:
        return self._columns("following", "error", "spare")


class QLearning(ControlLearner, InfiniteHorizonLearner):
    """Q-learning: Q(S, A) <- Q(S, A) + alpha [R + gamma max_a Q(S', a) - Q(S, A)]."""

    state_type = OneStepControl

    def __init__(
        self,
        features: Representation,
        n_actions: int,
        discount: complex,
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
            features: What the learner sees of an observation: built by `Features`, or your own.
            n_actions: How many actions there are.
            discount: The factor of the next state's value, gamma.
            step_size: A number, `Decay` or `Linear`, or a function of the updates so far.
            epsilon: Probability of a random action in `act`: a number, a schedule or a function.
            initial: The first weights: a number, or an array that broadcasts to `weights`.
            initial_spread: Standard deviation of normal noise on each of the first weights.
            seed: Seed of that noise and of exploration; None draws one.
            allow_divergence: Let weights become non-finite instead of raising DivergenceError.
        """
        self.n_actions = checks.integer("n_actions", n_actions, 1)
        self.epsilon = check_rate("epsilon", epsilon, 1)
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
        return {**self._own_bootstrap(), **self._sizes}

    def _room(self) -> dict[str, Layout]:
        return self._columns("following", "error")
