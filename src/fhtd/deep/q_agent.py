"""Agents that learn action values: what DFHQ and DQN share."""

from typing import Any, Self, TypeVar

import numpy as np
import numpy.typing as npt

from fhtd.deep import checkpoint
from fhtd.deep.agent import Agent
from fhtd.deep.backup import Backup
from fhtd.deep.experience import Experience, Layout, Replay
from fhtd.deep.settings import QSettings

Q = TypeVar("Q", bound=QSettings)


class QAgent(Agent[Q]):
    """An agent whose outputs are learned towards its `backup`, from a replay."""

    backup: Backup

    def make_backup(self) -> Backup:
        """Which rewards each output sums, and which output it bootstraps from."""
        raise TypeError(f"{type(self).__name__} must have make_backup")

    def _make_loop(self) -> Any:
        self.backup = self.make_backup()
        return super()._make_loop()

    def make_experience(self) -> Experience:
        """Windows of as many steps as the backup sums."""
        layout = Layout(self.observations, self.actions, self.backup.n)
        return Replay(self.settings, layout, self.backup.n)

    @property
    def horizons(self) -> npt.NDArray[np.float64]:
        """The learned horizons, ascending; infinity for DQN."""
        return self.backup.horizons

    @property
    def acting_weights(self) -> npt.NDArray[np.float64]:
        """Weight of each output in the score that actions are chosen by."""
        return np.ones(self.backup.size)

    @property
    def epsilon(self) -> float:
        """Probability of a random action in the next frame."""
        return self.settings.epsilon(self.frames)

    def exploration(self) -> dict[str, float]:
        """The present epsilon."""
        return {"rollout/exploration_rate": self.epsilon}

    def expect(self, observation: Any, mask: Any = None) -> tuple[npt.NDArray[Any], int]:
        """Both from one pass of the network."""
        allowed = self.actions.check_mask(mask)
        values = self.values(observation)
        return values, int(np.where(allowed, values @ self.acting_weights, -np.inf).argmax())

    def explored(self, allowed: npt.NDArray[np.bool_]) -> int | None:
        """A random action with the final epsilon."""
        if self._draws.random() < self.settings.epsilon_final:
            return self.actions.random(self._draws, allowed)
        return None

    @classmethod
    def from_saved(cls, environment: Any, saved: "checkpoint.Saved") -> Self:
        """With the saved weighting, where there is one."""
        settings: Any = saved.settings
        options: dict[str, Any] = {}
        if saved.weighting is not None:
            if saved.weighting.horizon != settings.horizon:
                raise ValueError(f"its weighting is not one of {settings.horizon} horizons")
            options["weighting"] = saved.weighting
        return cls(environment, seed=saved.seed, settings=settings, **options)
