"""What an agent does with what it has learned: it expects, it acts, and it is evaluated."""

from collections.abc import Callable, Iterator
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from fhtd import checks
from fhtd.deep.codecs import DiscreteActions, Observations
from fhtd.deep.episodes import Step, steps
from fhtd.deep.loop import Loop
from fhtd.environments import another, make
from fhtd.evaluation import MAX_STEPS, Evaluated, evaluated, warn_of_cuts
from fhtd.targets import weighted_sums
from fhtd.weighting import Weighting


class Player:
    """The half of an agent that looks and acts; the other, `Agent`, makes it and lets it learn."""

    #: Share of random actions that commands evaluate with where none is given (paper: 0.05).
    evaluation_epsilon: ClassVar[float] = 0.05
    #: How future rewards are weighed, where the agent has a weighting; part of its file.
    weighting: Weighting | None = None
    environment: Any
    settings: Any
    observations: Observations
    actions: Any
    loop: Loop
    #: What more environments are made by, where it is not an environment itself.
    _source: Any
    #: Random numbers of `predict`, so that it does not disturb what learning draws.
    _draws: np.random.Generator

    @property
    def horizons(self) -> npt.NDArray[np.float64]:
        """The learned horizons, ascending; infinity for a value without end."""
        if self.weighting is None:
            return np.array([np.inf])
        return np.arange(1.0, self.weighting.horizon + 1)

    def reward_weights(self, length: int) -> npt.NDArray[np.float64]:
        """Weight of each future reward in each horizon's value: (horizons, at most `length`).

        Args:
            length: steps to look ahead.

        Returns:
            Row by row, the weights that the values of a horizon give to the rewards.

        Raises:
            TypeError: The agent has no weighting.
        """
        if self.weighting is None:
            raise TypeError(f"{type(self).__name__} does not say how it weighs rewards")
        learned = self.horizons.astype(int) - 1
        return np.asarray(self.weighting.coefficients()[learned, :length])

    def values(self, observation: Any) -> npt.NDArray[Any]:
        """What the agent expects: (actions, horizons), or (1, horizons) where a policy decides.

        Args:
            observation: one of the environment's.

        Returns:
            One row for each action.

        Raises:
            TypeError: The agent predicts no values.
        """
        compiled = self.loop.compiled.values
        if compiled is None:
            raise TypeError(f"{type(self).__name__} predicts no values")
        encoded = self.observations.encode(observation)
        found = compiled(self.loop.training.state.parameters, encoded[None])
        return np.asarray(found[0])

    def predict(
        self,
        observation: Any,
        state: Any = None,
        episode_start: Any = None,
        deterministic: bool = True,
        mask: Any = None,
    ) -> tuple[Any, Any]:
        """An action, or an array of them for a batch, and `state`.

        Args:
            observation: one of the environment's, or a batch of them.
            state: returned as it is; for callers that expect recurrent agents.
            episode_start: not used; for the same callers.
            deterministic: leave out exploration.
            mask: which actions are permitted.
        """
        if self.observations.is_one(observation):
            return self.actions.shown(self.decide(observation, deterministic, mask)), state
        found = [self.decide(one, deterministic, mask) for one in observation]
        return np.array([self.actions.shown(action) for action in found]), state

    def decide(self, observation: Any, deterministic: bool = True, mask: Any = None) -> Any:
        """One action for one observation, numbered from 0, or scaled to [-1, 1].

        Args:
            observation: one of the environment's.
            deterministic: leave out exploration.
            mask: which actions are permitted.

        Returns:
            An integer, or an array of numbers.

        Raises:
            TypeError: The agent is given a policy and does not choose.
        """
        act, best = self.loop.compiled.act, self.loop.compiled.best
        if act is None or best is None:
            raise TypeError(f"{type(self).__name__} does not choose actions: it is given a policy")
        allowed = self.actions.check_mask(mask)
        if not deterministic and (other := self.explored(allowed)) is not None:
            return other
        encoded = self.observations.encode(observation)
        seen = (self.loop.training.state.parameters, encoded[None], allowed[None])
        if deterministic:
            found = best(*seen)
        else:
            found = act(*seen, np.uint32(self._draws.integers(2**32)))
        return self.actions.from_network(np.asarray(found))[0]

    def expect(self, observation: Any, mask: Any = None) -> tuple[npt.NDArray[Any], Any]:
        """The values, and the action that the agent would take.

        Args:
            observation: one of the environment's.
            mask: which actions are permitted.
        """
        return self.values(observation), self.decide(observation, True, mask)

    def valued(
        self, observation: Any, values: npt.NDArray[Any], action: Any
    ) -> tuple[npt.NDArray[Any], int]:
        """Values to look at, and which row of them is about the action that is taken.

        Args:
            observation: one of the environment's.
            values: what `expect` gave.
            action: what is done.

        Returns:
            (rows, horizons) values, and the number of the row.
        """
        # A critic of states has one value, whatever is done.
        listed = isinstance(self.actions, DiscreteActions) and len(values) == self.actions.n
        return values, action if listed else 0

    def value_names(self) -> tuple[str, ...]:
        """What the rows of `valued` are about; nothing where they are the actions.

        Returns:
            One name for each row, or an empty tuple.
        """
        return ()

    def explored(self, allowed: npt.NDArray[np.bool_]) -> Any:
        """An action that `predict` takes in place of the best one, or None; never by default.

        Args:
            allowed: which actions are permitted.
        """
        return None

    def counted(self, reward: float, info: dict[str, Any]) -> list[float]:
        """The reward of each step of a transition, where horizons count steps and not actions.

        Args:
            reward: of the transition.
            info: that came with it.

        Returns:
            The reward alone, unless the agent knows of actions that take several steps.
        """
        return [reward]

    def returns(self, rewards: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        """What the final horizon predicts, from the rewards of a whole episode: one per step.

        Args:
            rewards: of each step.

        Returns:
            The weighted sum of the rewards from each step on.
        """
        found: npt.NDArray[np.float64] = weighted_sums(
            self.reward_weights(len(rewards))[-1], rewards
        )
        return found

    def evaluate(
        self,
        episodes: int = 10,
        *,
        epsilon: float = 0.0,
        seed: int = 0,
        environment: Any = None,
        max_steps: int | None = MAX_STEPS,
    ) -> npt.NDArray[np.float64]:
        """Return of each of so many episodes, acting as well as the agent can.

        In an environment of its own, so that training is not disturbed.

        Args:
            episodes: how many.
            epsilon: probability of a random action.
            seed: of the first episode; the others count on from it.
            environment: where to act; default: a new one like the training environment.
            max_steps: cut episodes after so many steps, with a warning; None lets them go on.

        Returns:
            The sum of rewards of each episode.
        """
        found = self.evaluated(
            episodes, epsilon=epsilon, seed=seed, environment=environment, max_steps=max_steps
        )
        return warn_of_cuts(found, max_steps)

    def evaluated(
        self,
        episodes: int,
        *,
        epsilon: float = 0.0,
        seed: int = 0,
        environment: Any = None,
        max_steps: int | None = MAX_STEPS,
        advance: Callable[..., None] = lambda done, state="": None,
    ) -> Evaluated:
        """The same, and how many episodes were cut.

        Args:
            episodes: how many.
            epsilon: probability of a random action.
            seed: of the first episode; the others count on from it.
            environment: where to act; default: a new one like the training environment.
            max_steps: cut episodes after so many steps; None lets them go on.
            advance: told the episodes done, and the steps of the present one in words.
        """
        checks.integer("episodes", episodes, 1)
        world = self.another() if environment is None else make(environment)
        try:
            return evaluated(
                lambda i: (
                    step.reward for step in self.episode(world, epsilon=epsilon, seed=seed + i)
                ),
                episodes,
                max_steps,
                advance,
            )
        finally:
            if environment is None:
                world.close()

    def another(self) -> Any:
        """A second environment like the one that the agent learns in."""
        return another(self.environment, self._source)

    def episode(self, environment: Any, *, epsilon: float = 0.0, seed: int = 0) -> Iterator[Step]:
        """The steps of one episode in the given environment, as they happen.

        Args:
            environment: where to act.
            epsilon: probability of a random action.
            seed: of the episode.
        """
        return steps(self, environment, epsilon, seed)
