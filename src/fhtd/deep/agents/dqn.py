"""DQN: deep Q-learning of the same parts as DFHQ; its last output bootstraps from itself."""

from dataclasses import dataclass
from typing import Any, Unpack

import numpy as np
import numpy.typing as npt
import optax

from fhtd import checks
from fhtd.deep.algorithm import Algorithm
from fhtd.deep.backup import Backup
from fhtd.deep.presets import presets_of
from fhtd.deep.q_agent import QAgent
from fhtd.deep.q_learning import q_learning
from fhtd.deep.settings import MOST_HORIZONS, QOptions, QSettings


@dataclass(frozen=True, kw_only=True)
class DQNSettings(QSettings):
    """Settings of DQN.

    Raises:
        ValueError: A setting is out of range, or two of them do not go together.

    >>> from fhtd.deep import DQNSettings
    >>> DQNSettings(target_update_interval=100, double=True).epsilon(25_000)
    0.55
    """

    auxiliary_horizons: int = 0
    """Fixed horizons 1, 2, ... to learn beside the value without end, on the same hidden layers;
    nothing that is acted on bootstraps from them (paper: none)."""

    def __post_init__(self) -> None:
        super().__post_init__()
        checks.integer("auxiliary_horizons", self.auxiliary_horizons, 0, MOST_HORIZONS)
        if self.double and self.target_update_interval == 1:
            raise ValueError("double needs a target network: give target_update_interval above 1")


class DQNOptions(QOptions, total=False):
    """Keywords of DQN."""

    auxiliary_horizons: int


class DQN(QAgent[DQNSettings]):
    """Deep Q-learning: Q(S, A) is learned towards R + gamma max over a of Q(S', a).

    Args:
        environment: a Gymnasium environment with discrete actions, or its id.
        seed: of everything: first weights, exploration, replay and episodes.
        preset: name of the settings to begin with: `default`, `paper`, or an environment's id where
            `fhtd presets` lists it.
        settings: all settings at once, in place of a preset; those given by name go before them.
        transformation: any optimiser of optax, in place of the settings `optimiser`,
            `learning_rate` and `max_grad_norm`; schedules are part of it.

    Raises:
        ValueError: A setting is out of range.
        TypeError: It has no such setting, or the actions are not discrete.

    >>> from fhtd.deep import DQN
    >>> agent = DQN("CartPole-v1", hidden=(16,), seed=0).learn(300)
    >>> agent.values([0.0, 0.0, 0.0, 0.0]).shape  # actions, one value each
    (2, 1)
    >>> DQN("CartPole-v1", hidden=(16,), auxiliary_horizons=3).horizons.tolist()
    [1.0, 2.0, 3.0, inf]
    """

    settings_type = DQNSettings
    presets = presets_of("dqn")

    def __init__(
        self,
        environment: Any,
        *,
        seed: int = 0,
        preset: str | None = None,
        settings: DQNSettings | None = None,
        transformation: optax.GradientTransformation | None = None,
        **changes: Unpack[DQNOptions],
    ) -> None:
        self.take_transformation(transformation)
        super().__init__(environment, seed=seed, preset=preset, settings=settings, **changes)

    def make_backup(self) -> Backup:
        """The last output points at itself; auxiliary ones come before it."""
        settings = self.settings
        discount, auxiliary = settings.discount, settings.auxiliary_horizons
        if settings.max_duration == 1:
            return Backup.infinite_horizon(discount, settings.n_step, auxiliary)
        most = settings.max_duration
        return Backup.infinite_horizon(discount, most, auxiliary, n_name="max_duration")

    @property
    def acting_weights(self) -> npt.NDArray[np.float64]:
        """Only the value without end is acted on."""
        return np.asarray(np.eye(self.backup.size)[-1])

    def make_algorithm(self) -> Algorithm:
        """Q-learning towards the backup's targets.

        Returns:
            Its pure functions.
        """
        return q_learning(
            self.backup,
            self.settings,
            self.observations,
            self.actions,
            self.seed,
            acting=self.acting_weights,
            loss_weights=np.ones(self.backup.size),
            optimiser=self.transformation,
        )
