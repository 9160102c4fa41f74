"""DFHQ: deep fixed-horizon Q-learning, the paper's agent."""

from dataclasses import dataclass
from typing import Any, Literal, Unpack

import optax

from fhtd import checks
from fhtd.deep import windows
from fhtd.deep.algorithm import Algorithm
from fhtd.deep.backup import Backup
from fhtd.deep.backup_agent import HorizonAgent, acting_weights, scaled_loss_weights
from fhtd.deep.presets import presets_of
from fhtd.deep.q_agent import QAgent
from fhtd.deep.q_learning import q_learning
from fhtd.deep.settings import MOST_HORIZONS, QOptions, QSettings, check_durations
from fhtd.horizons import closed_horizons
from fhtd.weighting import Weighting


@dataclass(frozen=True, kw_only=True)
class DFHQSettings(QSettings):
    """Settings of DFHQ (paper: section on deep control, and the appendix's table).

    Raises:
        ValueError: A setting is out of range, or two of them do not go together.

    >>> from fhtd.deep import DFHQ, DFHQSettings
    >>> settings = DFHQSettings(horizon=16, discount=0.95, hidden=(32,))
    >>> len(DFHQ("CartPole-v1", settings=settings).horizons)
    16
    """

    horizon: int = 64
    """Final horizon H (paper: 64)."""
    horizons: tuple[int, ...] | None = None
    """Which horizons to learn: any ascending set that is closed under the backup."""
    one_step_horizons: int = 0
    """How many of the first horizons sum one reward where `n_step` is above 1: a hybrid (paper:
    suggested in the appendix on off-policyness)."""
    deepen_every: int | None = None
    """Updates after which the horizons move on by one: `horizon` of them are a window over a frozen
    one beneath, and the final horizon grows without bound (paper: suggested as future work)."""
    unshared: bool = False
    """Give every horizon a network of its own, as the theory assumes."""
    loss_weights: tuple[float, ...] | None = None
    """Weight of each learned horizon in the loss (paper: equal)."""
    acting: Literal["final", "mean", "agreement"] | int | tuple[float, ...] = "final"
    """What to act on: the final horizon, the mean of all or of the last k, a weight for each, or
    what all agree on, each with its own worst action at 0 and its best at 1 (paper: final)."""

    def __post_init__(self) -> None:
        super().__post_init__()
        checks.integer("horizon", self.horizon, 1, MOST_HORIZONS)
        checks.boolean("unshared", self.unshared)
        check_durations(self)
        checks.integer("one_step_horizons", self.one_step_horizons, 0)
        if self.one_step_horizons and self.n_step == 1:
            raise ValueError("one_step_horizons needs n_step above 1: with 1, all are one-step")
        if self.one_step_horizons and self.deepen_every is not None:
            raise ValueError(
                "one_step_horizons needs deepen_every=None: a window that moves leaves the first "
                "horizons behind"
            )
        if self.deepen_every is not None:
            checks.integer("deepen_every", self.deepen_every, 1, 2**31 - 1)
            if self.unshared:
                raise ValueError(
                    "deepen_every needs hidden layers that are shared: give deepen_every=None with "
                    "unshared"
                )
        if isinstance(self.acting, str) and self.acting not in ("final", "mean", "agreement"):
            raise ValueError(
                f"acting must be final, mean, agreement, a number or weights: {self.acting!r}"
            )
        learned = closed_horizons(
            self.horizon, self.n_step, self.horizons, self.one_step_horizons, n_name="n_step"
        )
        size = len(learned)
        scaled_loss_weights(self.loss_weights, size)
        if self.acting != "agreement":
            acting_weights(self.acting, size)


class DFHQOptions(QOptions, total=False):
    """Keywords of DFHQ."""

    horizon: int
    horizons: tuple[int, ...] | None
    one_step_horizons: int
    deepen_every: int | None
    unshared: bool
    loss_weights: tuple[float, ...] | None
    acting: Literal["final", "mean", "agreement"] | int | tuple[float, ...]


class DFHQ(HorizonAgent[DFHQSettings], QAgent[DFHQSettings]):
    """Deep fixed-horizon Q-learning: every horizon an output over shared hidden layers.

    Q^h(S, A) is learned towards c_h R + d_h max over a of Q^(h-1)(S', a), with Q^0 = 0: no output
    bootstraps from itself, so that no target network is needed.

    Args:
        environment: a Gymnasium environment with discrete actions, or its id.
        weighting: of future rewards; replaces the exponential one of `horizon` and `discount`. Its
            horizons stay where they are unless `deepen_every` is given too.
        seed: of everything: first weights, exploration, replay and episodes.
        preset: name of the settings to begin with: `default`, `paper`, or an environment's id where
            `fhtd presets` lists it.
        settings: all settings at once, in place of a preset; those given by name go before them.
        transformation: any optimiser of optax, in place of the settings `optimiser`,
            `learning_rate` and `max_grad_norm`; schedules are part of it.

    Raises:
        ValueError: A setting is out of range, or both a weighting and `horizon` are given.
        TypeError: It has no such setting, or the actions are not discrete.

    >>> from fhtd.deep import DFHQ
    >>> agent = DFHQ("CartPole-v1", hidden=(16,), horizon=8, deepen_every=None, seed=0)
    >>> agent.learn(300)
    DFHQ(8 horizons to 8, 300 frames, ...)
    >>> agent.values([0.0, 0.0, 0.0, 0.0]).shape  # actions, horizons
    (2, 8)
    """

    settings_type = DFHQSettings
    presets = presets_of("dfhq")
    settings: DFHQSettings

    def __init__(
        self,
        environment: Any,
        *,
        weighting: Weighting | None = None,
        seed: int = 0,
        preset: str | None = None,
        settings: DFHQSettings | None = None,
        transformation: optax.GradientTransformation | None = None,
        **changes: Unpack[DFHQOptions],
    ) -> None:
        given: dict[str, Any] = dict(changes)
        self._taking(weighting, settings, given)
        self.take_transformation(transformation)
        super().__init__(environment, seed=seed, preset=preset, settings=settings, **given)

    def backup_of(self, weighting: Weighting) -> Backup:
        """Of single steps, n steps, or both; or of as many as an action takes.

        Args:
            weighting: of future rewards.

        Returns:
            The backup of all learned horizons.
        """
        settings = self.settings
        if not settings.one_step_horizons:
            return super().backup_of(weighting)
        return Backup.fixed_horizons(
            weighting, settings.n_step, settings.horizons, settings.one_step_horizons
        )

    def make_algorithm(self) -> Algorithm:
        """Q-learning towards the backup's targets.

        Returns:
            Its pure functions.
        """
        settings, size = self.settings, self.backup.size
        return q_learning(
            self.backup,
            settings,
            self.observations,
            self.actions,
            self.seed,
            acting=self.acting_weights,
            loss_weights=scaled_loss_weights(settings.loss_weights, size),
            unshared=settings.unshared,
            deepen_every=settings.deepen_every,
            optimiser=self.transformation,
        )

    def deepen(self) -> None:
        """Move the window of horizons on by one, as `deepen_every` does after so many updates.

        Raises:
            ValueError: The agent has no `deepen_every`.
        """
        state = self.state
        if state.base is None:
            raise ValueError("deepen needs an agent with deepen_every: its horizons stay otherwise")
        target, its_base = state.target, state.target_base
        if target is not None:
            target, its_base = windows.moved(target, its_base)
        first = 1 if self.settings.normalise else 0
        arrays, base = windows.moved(state.parameters[first:], state.base)
        parameters = (*state.parameters[:first], *arrays)
        self.state = state._replace(
            parameters=parameters, target=target, base=base, target_base=its_base
        )

    def grown(self, more: int) -> Any:
        """The present state with so many more outputs, copies of the last.

        Args:
            more: how many.
        """
        state, first = self.state, 1 if self.settings.normalise else 0
        parts = (state.parameters[first:], state.target, state.optimiser)
        arrays, target, memory = windows.grown(
            parts, parts[0], self.actions.n, more, unshared=self.settings.unshared
        )
        parameters = (*state.parameters[:first], *arrays)
        return state._replace(parameters=parameters, target=target, optimiser=memory)
