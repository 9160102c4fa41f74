"""What learners of action values share: acting on them, learning in an environment, evaluation."""

from os import PathLike
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from fhtd import checks
from fhtd.environments import one_of
from fhtd.evaluation import MAX_STEPS, warn_of_cuts
from fhtd.features import Representation
from fhtd.online.interaction import evaluate, features_of, learn
from fhtd.online.learner import Learner
from fhtd.online.schedule import Rate, rate_at


class ControlLearner(Learner):
    """Learns action values from transitions (S, A, R, S'), and acts on them.

    `epsilon`, the probability of a uniformly random action, is a number or a schedule over the
    transitions learned so far.
    """

    epsilon: Rate
    #: What to act on: `final`, the last horizon, or what all horizons agree on.
    acting: str = "final"
    #: Where it acts, if it was built for an environment or has learned in one; not part of files.
    environment: Any = None

    def _seen(self, features: Any, n_actions: Any) -> Any:
        """Features and number of actions, from an environment where one is given in their place."""
        if isinstance(features, str | type) or hasattr(features, "observation_space"):
            self.environment = features
            features, found = features_of(features)
            n_actions = found if n_actions is None else n_actions
        self.n_actions = checks.integer("n_actions", n_actions, 1)
        return features

    @property
    def frames(self) -> int:
        """Transitions learned from so far, by the name that deep agents have for them."""
        return self.step

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
        reward: float | npt.ArrayLike,
        next_observation: Any,
        terminated: bool = False,
        truncated: bool = False,
        next_policy: npt.ArrayLike | None = None,
        continuation: float = 1.0,
        duration: int = 1,
    ) -> None:
        """Learn from one transition.

        Args:
            observation: What was seen before the step, S.
            action: The action taken, A.
            reward: The reward of the step, R; of several steps, one each.
            next_observation: What was seen after it, S'; None will do where the episode ended.
            terminated: The episode ended: S' is worth 0.
            truncated: The episode was cut, by a time limit say: S' keeps its value.
            next_policy: Probabilities of the next actions. With them S' is worth their expectation,
                which evaluates that policy; without, its best action. FHQLambda takes none.
            continuation: How much of what follows S' counts, beside the weighting: 1 as a rule, 0
                as after a termination, but the stream goes on.
            duration: How many steps the transition took, of an option or skipped frames: horizon h
                then bootstraps from h - duration, and `reward` holds all its rewards in order. FHQ
                and Q-learning take others than 1.

        Raises:
            ValueError: An argument does not fit, or `next_policy` is needed under this weighting.
            DivergenceError: The weights are not finite any more, unless `allow_divergence`.
        """
        self._learn(
            observation,
            self._checked_action(action),
            reward,
            next_observation,
            terminated,
            truncated,
            next_policy=self._checked_policy(next_policy),
            continuation=continuation,
            duration=duration,
        )

    def _checked_action(self, action: Any) -> int:
        return checks.integer("action", _plain(action), 0, self.n_actions - 1)

    def _checked_policy(self, next_policy: npt.ArrayLike | None) -> npt.NDArray[np.float64]:
        """Its probabilities; none where the best action is asked for."""
        if next_policy is not None:
            found = checks.probabilities("next_policy", next_policy, (self.n_actions,))
            self._check_expectation()
            return found
        if self.weighting.no_maximum:
            raise ValueError(f"next_policy is needed: {self.weighting.no_maximum}")
        return np.zeros(0)

    def _check_expectation(self) -> None:
        """Refuse a next policy where the algorithm is defined for the greedy one only."""

    def act(self, observation: Any) -> int:
        """An epsilon-greedy action, for the final horizon mostly; ties are broken at random.

        Args:
            observation: What is seen of the present state.
        """
        self._check_real()
        epsilon = rate_at("epsilon", self.epsilon, self.step)
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
        best = np.flatnonzero(scores == scores.max())
        # Values that have diverged have no best; compiled code takes the first action there, too.
        return best if len(best) else np.zeros(1, np.intp)

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
        environment: Any = None,
        total_timesteps: int | None = None,
        *,
        seed: int | None = None,
        callback: Any = None,
        progress_bar: bool = False,
        verbose: int = 0,
        log_interval: int = 10,
    ) -> Self:
        """Act and learn for so many steps in a Gymnasium environment, given itself or by id.

        It begins with a reset of the environment, so traces of earlier experience are dropped.
        A learner that was built for an environment needs only the steps: `learn(10_000)`.

        Args:
            environment: A Gymnasium environment with discrete actions, or its id.
            total_timesteps: How many steps to take.
            seed: Seed of the environment's first reset.
            callback: Called as `callback(learner, episode)` after each episode, with its `return`,
                `length`, `frame` and number `episode`; returning False ends learning. Or one of
                `fhtd.callbacks`, or a list of them.
            progress_bar: Show the progress on the terminal.
            verbose: 1 prints a line of the log now and then.
            log_interval: Episodes between lines of the log, printed and given to callbacks.

        Returns:
            The learner itself.

        Raises:
            TypeError: There is no environment or no number of steps.
            DivergenceError: The weights are not finite any more, unless `allow_divergence`.
        """
        if total_timesteps is None and isinstance(environment, int):
            environment, total_timesteps = None, environment
        if environment is None:
            environment = self.environment
        if environment is None or total_timesteps is None:
            raise TypeError(
                "learn needs an environment and total_timesteps: learn(environment, 10_000), or "
                f"learn(10_000) of {type(self).__name__}(environment, weighting=...)"
            )
        if self.environment is None:
            self.environment = environment
        checks.integer("log_interval", log_interval, 1)
        learn(
            self, environment, total_timesteps, seed, progress_bar, callback, verbose, log_interval
        )
        return self

    def evaluate(
        self,
        episodes: int = 10,
        *,
        epsilon: float = 0.0,
        seed: int = 0,
        environment: Any = None,
        max_steps: int | None = MAX_STEPS,
    ) -> npt.NDArray[np.float64]:
        """Return of each of so many episodes, acting greedily on the final horizon.

        In an environment of its own, so that learning is not disturbed.

        Args:
            episodes: How many.
            epsilon: Probability of a random action.
            seed: Of the first episode; the others count on from it.
            environment: Where to act; default: a new one like that it was built for or learned in.
            max_steps: Cut episodes after so many steps, with a warning; None lets them go on.

        Returns:
            The sum of rewards of each episode.

        Raises:
            TypeError: It has no environment yet, and none is given.
        """
        place = self.environment if environment is None else environment
        if place is None:
            raise TypeError("evaluate needs an environment: it has not learned in one yet")
        found = evaluate(self, place, environment is None, episodes, epsilon, seed, max_steps)
        return warn_of_cuts(found, max_steps)

    @classmethod
    def load(
        cls,
        path: str | PathLike[str],
        *,
        environment: Any = None,
        env: Any = None,
        features: Representation | None = None,
        step_size: Rate | None = None,
        second_step_size: Rate | None = None,
        epsilon: Rate | None = None,
        lambda_: Rate | None = None,
    ) -> Self:
        """Read what `save` wrote; the keywords give back what a file cannot hold.

        Args:
            path: The file.
            environment: Where to go on, so that `learn` and `evaluate` need not be told.
            env: The same, by the name that other libraries have for it.
            features: The features, where they were of your own.
            step_size: The step size, where it was a function of yours.
            second_step_size: Of learners that have one.
            epsilon: The rate of exploration, where it was a function of yours.
            lambda_: The trace decay, where it was a function of yours.

        Returns:
            The learner, as it was.

        Raises:
            ValueError: It is not such a file, a damaged one, or one of another class.

        >>> from fhtd import FHQ, Weighting
        >>> learner = FHQ("fhtd/RandomWalk-v0", weighting=Weighting.exponential(8))
        >>> learner.learn(100).save("learner.npz")
        >>> FHQ.load("learner.npz", environment="fhtd/RandomWalk-v0").learn(100).frames
        200
        """
        learner = super().load(
            path,
            features=features,
            step_size=step_size,
            second_step_size=second_step_size,
            epsilon=epsilon,
            lambda_=lambda_,
        )
        learner.environment = one_of(environment, env)
        return learner


def _plain(action: Any) -> Any:
    """An integer out of an array of one, as some policies return."""
    return action.item() if isinstance(action, np.ndarray) and action.size == 1 else action
