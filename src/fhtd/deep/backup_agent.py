"""Agents whose outputs are learned towards a backup, from a replay; and those with many horizons.

| agent       | backup                      | what it learns                                |
|-------------|-----------------------------|-----------------------------------------------|
| DFHQ, FHSAC | each output one further back | a value for each of its horizons, which may move |
| DQN, SAC    | the last output at itself   | a value without end                           |
"""

from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import Any, Self, TypeVar

import numpy as np
import numpy.typing as npt
import optax

from fhtd import checks
from fhtd.deep import checkpoint
from fhtd.deep.agent import Agent
from fhtd.deep.backup import Backup
from fhtd.deep.experience import Experience, Replay
from fhtd.deep.layout import Layout
from fhtd.deep.loop import Measure, Present
from fhtd.deep.settings import ReplaySettings
from fhtd.deep.windows import Base
from fhtd.environments import STEP_REWARDS, one_of, step_rewards
from fhtd.weighting import Weighting

R = TypeVar("R", bound=ReplaySettings)


class BackupAgent(Agent[R]):
    """An agent whose outputs are learned towards its `backup`, from a replay."""

    backup: Backup
    #: Any optimiser of optax, in place of the one that the settings name.
    transformation: optax.GradientTransformation | None = None

    def take_transformation(self, transformation: Any) -> None:
        """Keep an optimiser of the user's own, before the agent is built.

        Args:
            transformation: one of optax's, or None.

        Raises:
            TypeError: It is no optimiser of optax.
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
        """Windows of as many steps as the backup sums, or single actions that take as many.

        Returns:
            The replay.
        """
        backup, most = self.backup, self.max_duration
        layout = Layout(self.observations, self.actions, backup.n, len(backup.lengths))
        n = backup.n if most == 1 else 1
        return Replay(self.settings, layout, n, backup.lengths, backup.n // n)

    @property
    def max_duration(self) -> int:
        """Most steps that one action takes."""
        return int(getattr(self.settings, "max_duration", 1))

    def make_measure(self) -> Measure | None:
        """The reward of every step that an action took, where that may be several.

        Returns:
            A function of the loop's, or None where rewards are learned from as they come.
        """
        if self.max_duration == 1:
            return None

        def measure(
            now: Present, action: Any, reward: float, following: Any, info: dict[str, Any]
        ) -> list[float]:
            if STEP_REWARDS not in info:
                raise ValueError(
                    f"max_duration above 1 needs an environment that lists the rewards of an "
                    f"action's steps in info['{STEP_REWARDS}'], as fhtd.envs.Repeat does"
                )
            # No horizon is so long that it sees more of them.
            return self.counted(reward, info)[: self.backup.n]

        return measure

    def counted(self, reward: float, info: dict[str, Any]) -> list[float]:
        """The reward of each step that an action took, where that may be several.

        Returns:
            As many as `info` has, at most `max_duration`; the reward alone where that is 1.

        Raises:
            ValueError: There are more of them, or they do not sum to the reward.
        """
        most = self.max_duration
        if most == 1:
            return [reward]
        found = step_rewards(reward, info)
        if len(found) > most:
            raise ValueError(
                f"info['{STEP_REWARDS}'] must have at most {most} rewards, as max_duration says, "
                f"got {len(found)}"
            )
        return [checks.real(f"info['{STEP_REWARDS}']", one) for one in found]

    @property
    def horizons(self) -> npt.NDArray[np.float64]:
        """The learned horizons, ascending; infinity for a value without end."""
        return self.backup.horizons

    @property
    def acting_weights(self) -> npt.NDArray[np.float64] | None:
        """Weight of each output in the score that actions are chosen by; None for agreement."""
        return np.ones(self.backup.size)

    def reward_weights(self, length: int) -> npt.NDArray[np.float64]:
        """Powers of the discount, as far as each horizon reaches: to the end of the episode.

        Returns:
            A row for each output.
        """
        ahead = np.arange(length)
        return np.where(ahead < self.horizons[:, None], self.settings.discount**ahead, 0.0)

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

        Returns:
            The agent, as it was.

        Raises:
            ValueError: It is not such a file, or a damaged one, or the optimiser is missing.
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

        Returns:
            A new agent.

        Raises:
            ValueError: The optimiser is missing, or the weighting has other horizons.
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


class HorizonAgent(BackupAgent[R]):
    """An agent with an output for each of its horizons, which may move on as a window."""

    weighting: Weighting
    settings: Any

    def make_backup(self) -> Backup:
        """Horizon h points at h - n.

        Returns:
            The backup of all learned horizons.
        """
        settings = self.settings
        self.weighting = self._given_weighting or Weighting.exponential(
            settings.horizon, settings.discount
        )
        backup = self.backup_of(self.weighting)
        return backup if settings.deepen_every is None else backup.over_base(self.weighting)

    def backup_of(self, weighting: Weighting) -> Backup:
        """How far each horizon looks ahead, by the settings.

        Args:
            weighting: of future rewards.

        Returns:
            The backup of a window that stays where it is.
        """
        settings = self.settings
        if settings.max_duration == 1:
            return Backup.fixed_horizons(weighting, settings.n_step, settings.horizons)
        # An action may take any number of steps: all horizons are needed.
        every = range(1, weighting.horizon + 1)
        most = min(settings.max_duration, weighting.horizon)
        return Backup.fixed_horizons(weighting, most, every, n_name="max_duration")

    def _taking(self, weighting: Weighting | None, settings: Any, given: dict[str, Any]) -> None:
        """Remember a weighting of the user's own; its horizons stay unless asked to move."""
        if weighting is not None:
            if {"horizon", "discount"} & set(given):
                raise ValueError("give either a weighting, or horizon and discount")
            weighting.check_control()
            given["horizon"] = weighting.horizon
            if settings is None:
                given.setdefault("deepen_every", None)
        self._given_weighting = weighting

    @property
    def moves(self) -> int:
        """How often the window of horizons has moved."""
        base = self.state.base
        if base is None:
            return 0
        # Two critics have a base each, which move together.
        return int((base if isinstance(base, Base) else base[0]).moves)

    @property
    def base(self) -> int:
        """The horizon beneath the window: 0 until it has moved."""
        return self.moves * self.backup.n

    @property
    def horizons(self) -> npt.NDArray[np.float64]:
        """The learned horizons as they are now, ascending."""
        return self.backup.horizons + self.base

    def output_names(self) -> list[str]:
        """By horizon; by place in the window where the horizons move.

        Returns:
            One name for each output.
        """
        if self.settings.deepen_every is None:
            return super().output_names()
        return [f"output{j}" for j in range(1, self.backup.size + 1)]

    def deepening(self) -> dict[str, float]:
        """The final horizon, where it grows."""
        moves = self.settings.deepen_every is not None
        return {"train/horizon": float(self.horizons[-1])} if moves else {}

    def reward_weights(self, length: int) -> npt.NDArray[np.float64]:
        """Weight of each future reward in each horizon's value: (horizons, at most `length`).

        Returns:
            Row by row, the weights that the values of a horizon give to the rewards.
        """
        if not self.base:
            return Agent.reward_weights(self, length)
        ahead = np.arange(length)
        weights = self.weighting.rewards[0] * self.weighting.bootstraps[0] ** ahead
        return np.asarray(np.where(ahead < self.horizons[:, None], weights, 0.0))

    def grown(self, more: int) -> Any:
        """The present state with so many more outputs, copies of the last.

        Args:
            more: how many.
        """
        raise TypeError(f"{type(self).__name__} must have grown")

    def extend(self, horizon: int | Weighting) -> Self:
        """Grow to a longer final horizon in place, keeping all that is learned.

        New horizons begin as copies of the longest so far. Episodes, replay and random numbers go
        on as they are. In a window, `horizon` is how many it holds.

        Args:
            horizon: a number where the weighting continues by itself (exponential, average), or a
                Weighting whose first coefficients are the present ones.

        Returns:
            The agent itself.

        Raises:
            ValueError: The weighting or a setting does not say how the new horizons go on.

        >>> from fhtd.deep import DFHQ
        >>> agent = DFHQ("CartPole-v1", hidden=(8,), horizon=4, deepen_every=None, seed=0)
        >>> agent.extend(6).horizons.tolist()
        [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]
        """
        old, before = self.settings, self.backup
        if (old.horizons, old.loss_weights) != (None, None) or isinstance(old.acting, tuple):
            raise ValueError(
                "extend needs an agent without `horizons`, `loss_weights` or weights in `acting`: "
                "they say nothing of the new horizons"
            )
        weighting = self.weighting.continued(horizon)
        longer = self.backup_of(weighting)
        if not np.array_equal(longer.horizons[: before.size], before.horizons):
            raise ValueError(
                f"horizon must be {old.horizon} and a multiple of n_step, got {weighting.horizon}"
            )
        if (longer.n, longer.lengths) != (before.n, before.lengths):
            raise ValueError(
                f"extend to {weighting.horizon} needs states {longer.lengths} steps ahead, and the "
                f"replay holds those {before.lengths} steps ahead: begin with a longer horizon"
            )
        more = longer.size - before.size
        if not more:
            return self
        state, given = self.grown(more), self._given_weighting
        self.settings = replace(old, horizon=weighting.horizon)
        if given is not None:
            self._given_weighting = weighting
        self.backup = self.make_backup()
        try:
            self.loop.learn_by(self.make_algorithm(), state)
        except ValueError:
            self.settings, self._given_weighting, self.backup = old, given, before
            self.weighting = given or Weighting.exponential(old.horizon, old.discount)
            raise ValueError(
                "extend cannot grow what transformation remembers: its arrays are not shaped as "
                "the parameters are"
            ) from None
        self.loop.settings = self.settings
        return self

    @property
    def acting_weights(self) -> npt.NDArray[np.float64] | None:
        """Weight of each horizon in the score that actions are chosen by; None for agreement."""
        acting = self.settings.acting
        return None if acting == "agreement" else acting_weights(acting, self.backup.size)


def acting_weights(acting: Any, size: int) -> npt.NDArray[np.float64]:
    """The setting `acting` as a weight for each of so many horizons."""
    if isinstance(acting, str) and acting not in ("final", "mean"):
        raise ValueError(f"acting must be final, mean, a number or weights: {acting!r}")
    if acting == "final":
        return np.asarray(np.eye(size)[-1])
    if acting == "mean":
        return np.full(size, 1 / size)
    if isinstance(acting, int):
        last = checks.integer("acting", acting, 1, size)
        return np.where(np.arange(size) >= size - last, 1 / last, 0.0)
    return checks.array("acting", acting, (size,))


def scaled_loss_weights(weights: tuple[float, ...] | None, size: int) -> npt.NDArray[np.float64]:
    """The setting `loss_weights` for so many horizons, scaled to a mean of 1."""
    if weights is None:
        return np.ones(size)
    found = checks.array("loss_weights", weights, (size,))
    if np.any(found < 0) or not found.sum() > 0:
        raise ValueError("loss_weights must be at least 0 and not all 0")
    return np.asarray(found / found.mean())
