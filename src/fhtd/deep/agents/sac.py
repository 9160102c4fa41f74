"""SAC: soft actor-critic of the same parts as FHSAC; one output that bootstraps from itself."""

from dataclasses import dataclass
from typing import Any, Unpack

import optax

from fhtd.deep.backup import Backup
from fhtd.deep.presets import presets_of
from fhtd.deep.settings import SoftOptions, SoftSettings
from fhtd.deep.soft_agent import SoftAgent


@dataclass(frozen=True, kw_only=True)
class SACSettings(SoftSettings):
    """Settings of SAC.

    >>> from fhtd.deep import SACSettings
    >>> SACSettings(tau=0.005).batch_size
    256
    """


class SAC(SoftAgent[SACSettings]):
    """Soft actor-critic (Haarnoja et al., 2018), with target networks unless `tau` is None.

    Q(S, A) is learned towards R + gamma (min over critics of Q(S', A') - alpha log pi(A'|S')).

    Args:
        environment: a Gymnasium environment with bounded continuous actions, or its id.
        seed: of everything: first weights, exploration, replay and episodes.
        preset: name of the settings to begin with: `default`, or an environment's id where `fhtd
            presets` lists it.
        settings: all settings at once, in place of a preset; those given by name go before them.
        transformation: any optimiser of optax, in place of the settings `optimiser`,
            `learning_rate` and `max_grad_norm`; schedules are part of it.

    Raises:
        ValueError: A setting is out of range.
        TypeError: It has no such setting, or the actions are not continuous and bounded.

    >>> from fhtd.deep import SAC
    >>> small = dict(hidden=(8,), batch_size=16, learning_starts=20, replay_size=1_000)
    >>> agent = SAC("Pendulum-v1", seed=0, **small).learn(30)
    >>> agent.values([1.0, 0.0, 0.0], actions=[[-2.0], [2.0]]).shape  # actions, one value each
    (2, 1)
    """

    settings_type = SACSettings
    presets = presets_of("sac")

    def __init__(
        self,
        environment: Any,
        *,
        seed: int = 0,
        preset: str | None = None,
        settings: SACSettings | None = None,
        transformation: optax.GradientTransformation | None = None,
        **changes: Unpack[SoftOptions],
    ) -> None:
        self.take_transformation(transformation)
        super().__init__(environment, seed=seed, preset=preset, settings=settings, **changes)

    def make_backup(self) -> Backup:
        """The single output points at itself."""
        settings = self.settings
        if settings.max_duration == 1:
            return Backup.infinite_horizon(settings.discount, settings.n_step)
        most = settings.max_duration
        return Backup.infinite_horizon(settings.discount, most, n_name="max_duration")
