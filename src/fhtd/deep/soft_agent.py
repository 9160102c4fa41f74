"""Soft actor-critics for continuous actions: what FHSAC and SAC share."""

from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from fhtd.deep.algorithm import Algorithm
from fhtd.deep.backup_agent import BackupAgent
from fhtd.deep.codecs import BoxActions
from fhtd.deep.settings import SoftSettings
from fhtd.deep.soft import soft_actor_critic

F = TypeVar("F", bound=SoftSettings)

#: Of so many of an action's numbers the least and the most are shown beside the policy's mean.
_SHOWN = 3


class SoftAgent(BackupAgent[F]):
    """An agent that draws from a policy which two critics judge."""

    takes = (BoxActions,)
    evaluation_epsilon = 0.0
    actions: BoxActions

    def make_algorithm(self) -> Algorithm:
        """Soft actor-critic towards the backup's targets.

        Returns:
            Its pure functions.
        """
        acting = self.acting_weights
        assert acting is not None, "a list of actions agrees, a policy does not"
        return soft_actor_critic(
            self.backup,
            self.settings,
            self.observations,
            self.actions,
            self.seed,
            entropy_weights=self.entropy_weights,
            acting=acting,
            loss_weights=self.loss_weights,
            deepen_every=self.deepens_every,
            optimiser=self.transformation,
        )

    @property
    def entropy_weights(self) -> npt.NDArray[np.float64]:
        """What the entropy of a step counts for in each output: as much as its reward."""
        return np.ones(self.backup.size)

    @property
    def loss_weights(self) -> npt.NDArray[np.float64]:
        """Weight of each output in the critics' loss."""
        return np.ones(self.backup.size)

    @property
    def deepens_every(self) -> int | None:
        """Updates between moves of the window of horizons, where there is one."""
        return None

    @property
    def temperature(self) -> float:
        """What entropy is worth at present, alpha."""
        return float(np.exp(self.state.parameters.log_temperature))

    def values(self, observation: Any, actions: Any = None) -> npt.NDArray[Any]:
        """What the critics expect on average, entropy included: (actions, horizons).

        Args:
            observation: one of the environment's.
            actions: some of the environment's; default: what the policy does without noise, and
                then the same with one number at a time at its least and at its most.

        Returns:
            One row for each action.
        """
        if actions is None:
            scaled = self._others(self.decide(observation))
        else:
            scaled = [self.actions.from_environment("actions", action) for action in actions]
        return self._judged(observation, scaled)

    def _others(self, mean: npt.NDArray[np.float32]) -> list[npt.NDArray[np.float32]]:
        """The policy's mean, and some other actions to hold against it."""
        found = [mean]
        for i in range(min(self.actions.size, _SHOWN)):
            for bound in (-1, 1):
                other = mean.copy()
                other[i] = bound
                found.append(other)
        return found

    def _judged(self, observation: Any, scaled: list[npt.NDArray[np.float32]]) -> npt.NDArray[Any]:
        compiled = self.loop.compiled.action_values
        assert compiled is not None
        seen = np.repeat(self.observations.encode(observation)[None], len(scaled), axis=0)
        return np.asarray(compiled(self.state.parameters, seen, np.array(scaled)))

    def expect(self, observation: Any, mask: Any = None) -> tuple[npt.NDArray[Any], Any]:
        """The values that `values` gives, and what the policy does without noise."""
        mean = self.decide(observation, True, mask)
        return self._judged(observation, self._others(mean)), mean

    def valued(
        self, observation: Any, values: npt.NDArray[Any], action: Any
    ) -> tuple[npt.NDArray[Any], int]:
        """The action that is taken goes before the others."""
        return np.concatenate([self._judged(observation, [action]), values]), 0

    def value_names(self) -> tuple[str, ...]:
        """The action taken, the policy's mean, and the mean with one number at a bound."""
        numbers = range(min(self.actions.size, _SHOWN))
        which = [f" of number {i + 1}" if self.actions.size > 1 else "" for i in numbers]
        others = [f"{bound}{one}" for one in which for bound in ("lowest", "highest")]
        return ("the action taken", "the policy's mean", *others)
