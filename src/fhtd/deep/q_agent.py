"""Agents that learn action values: what DFHQ and DQN share."""

from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from fhtd.deep.backup_agent import BackupAgent
from fhtd.deep.q_learning import agreement
from fhtd.deep.settings import QSettings

Q = TypeVar("Q", bound=QSettings)


class QAgent(BackupAgent[Q]):
    """An agent that takes the action of most value, or sometimes any."""

    @property
    def epsilon(self) -> float:
        """Probability of a random action in the next frame."""
        return self.settings.epsilon(self.frames)

    def exploration(self) -> dict[str, float]:
        """The present epsilon."""
        return {"rollout/exploration_rate": self.epsilon}

    def expect(self, observation: Any, mask: Any = None) -> tuple[npt.NDArray[Any], int]:
        """Both from one pass of the network.

        Returns:
            (actions, outputs) values, and the number of the action.
        """
        allowed = self.actions.check_mask(mask)
        values = self.values(observation)
        return values, int(np.where(allowed, self.scores(values, allowed), -np.inf).argmax())

    def scores(
        self, values: npt.NDArray[Any], allowed: npt.NDArray[np.bool_]
    ) -> npt.NDArray[np.float64]:
        """What actions are chosen by.

        Args:
            values: (actions, outputs), as `values` gives them.
            allowed: which actions are permitted.

        Returns:
            One number for each action.
        """
        weights = self.acting_weights
        if weights is None:
            return np.asarray(agreement(values, allowed[:, None]))
        return np.asarray(values @ weights)

    def explored(self, allowed: npt.NDArray[np.bool_]) -> int | None:
        """A random action with the final epsilon."""
        if self._draws.random() < self.settings.epsilon_final:
            found: int = self.actions.random(self._draws, allowed)
            return found
        return None
