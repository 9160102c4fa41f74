"""Agents that learn action values: what DFHQ and DQN share."""

from os import PathLike
from pathlib import Path
from typing import Any, Self, TypeVar

import numpy as np
import numpy.typing as npt
import optax

from fhtd.deep import checkpoint
from fhtd.deep.agent import Agent
from fhtd.deep.backup import Backup
from fhtd.deep.experience import Experience, Layout, Replay
from fhtd.deep.q_learning import agreement
from fhtd.deep.settings import QSettings
from fhtd.environments import one_of

Q = TypeVar("Q", bound=QSettings)


class QAgent(Agent[Q]):
    """An agent whose outputs are learned towards its `backup`, from a replay."""

    backup: Backup
    #: Any optimiser of optax, in place of the one that the settings name.
    transformation: optax.GradientTransformation | None = None

    def take_transformation(self, transformation: Any) -> None:
        """Keep an optimiser of the user's own, before the agent is built.

        Args:
            transformation: one of optax's, or None.
        """
        if transformation is not None and not (
            hasattr(transformation, "init") and hasattr(transformation, "update")
        ):
            raise TypeError(
                "transformation must be an optimiser of optax, such as optax.adam(1e-3), got "
                f"{transformation!r}"
            )
        self.transformation = transformation

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
    def acting_weights(self) -> npt.NDArray[np.float64] | None:
        """Weight of each output in the score that actions are chosen by; None for agreement."""
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
        return values, int(np.where(allowed, self.scores(values, allowed), -np.inf).argmax())

    def scores(
        self, values: npt.NDArray[Any], allowed: npt.NDArray[np.bool_]
    ) -> npt.NDArray[np.float64]:
        """What actions are chosen by.

        Args:
            values: (actions, outputs), as `values` gives them.
            allowed: which actions are permitted.
        """
        weights = self.acting_weights
        if weights is None:
            return np.asarray(agreement(values, allowed[:, None]))
        return np.asarray(values @ weights)

    def explored(self, allowed: npt.NDArray[np.bool_]) -> int | None:
        """A random action with the final epsilon."""
        if self._draws.random() < self.settings.epsilon_final:
            return self.actions.random(self._draws, allowed)
        return None

    def save(self, path: str | PathLike[str]) -> None:
        """Write everything to one file, without pickle, but for an optimiser of one's own.

        Args:
            path: of the file.
        """
        own = self.transformation is not None
        checkpoint.save(self, Path(path), {"transformation": True} if own else None)

    @classmethod
    def load(
        cls,
        path: str | PathLike[str],
        environment: Any = None,
        *,
        env: Any = None,
        transformation: Any = None,
    ) -> Self:
        """Read what `save` wrote; an optimiser of one's own has to be given again.

        Args:
            path: of the file.
            environment: to go on in; default: made by the id that was saved.
            env: the same, by the name that other libraries have for it.
            transformation: the optimiser, where it was not one of the settings.
        """
        place = one_of(environment, env)
        return checkpoint.load(cls, Path(path), place, transformation=transformation)

    @classmethod
    def from_saved(
        cls, environment: Any, saved: "checkpoint.Saved", transformation: Any = None
    ) -> Self:
        """With the saved weighting, where there is one.

        Args:
            environment: to act in.
            saved: what the file says.
            transformation: the optimiser, where it was not one of the settings.
        """
        settings: Any = saved.settings
        if saved.manifest.get("transformation") is True and transformation is None:
            raise ValueError(
                "it learned with an optimiser of your own: give it to load as transformation"
            )
        options: dict[str, Any] = {"transformation": transformation}
        if saved.weighting is not None:
            if saved.weighting.horizon != settings.horizon:
                raise ValueError(f"its weighting is not one of {settings.horizon} horizons")
            options["weighting"] = saved.weighting
        return cls(environment, seed=saved.seed, settings=settings, **options)
