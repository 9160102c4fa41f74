"""DFHQ: deep fixed-horizon Q-learning, the paper's agent."""

from dataclasses import dataclass, replace
from typing import Any, Literal, Self, Unpack

import numpy as np
import numpy.typing as npt
import optax

from fhtd import checks
from fhtd.deep import windows
from fhtd.deep.algorithm import Algorithm
from fhtd.deep.backup import Backup, closed_horizons
from fhtd.deep.presets import presets_of
from fhtd.deep.q_agent import QAgent
from fhtd.deep.q_learning import q_learning
from fhtd.deep.settings import MOST_HORIZONS, QOptions, QSettings
from fhtd.weighting import Weighting


@dataclass(frozen=True, kw_only=True)
class DFHQSettings(QSettings):
    """Settings of DFHQ (paper: section on deep control, and the appendix's table)."""

    horizon: int = 64
    """Final horizon H (paper: 64)."""
    horizons: tuple[int, ...] | None = None
    """Which horizons to learn: any ascending set that is closed under the backup."""
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
        size = len(closed_horizons(self.horizon, self.n_step, self.horizons))
        scaled_loss_weights(self.loss_weights, size)
        acting_weights(self.acting, size)


class DFHQOptions(QOptions, total=False):
    """Keywords of DFHQ."""

    horizon: int
    horizons: tuple[int, ...] | None
    deepen_every: int | None
    unshared: bool
    loss_weights: tuple[float, ...] | None
    acting: Literal["final", "mean", "agreement"] | int | tuple[float, ...]


class DFHQ(QAgent[DFHQSettings]):
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
    """

    settings_type = DFHQSettings
    presets = presets_of("dfhq")
    weighting: Weighting

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
        if weighting is not None:
            if {"horizon", "discount"} & set(given):
                raise ValueError("give either a weighting, or horizon and discount")
            weighting.check_control()
            given["horizon"] = weighting.horizon
            if settings is None:
                given.setdefault("deepen_every", None)
        self._given_weighting = weighting
        self.take_transformation(transformation)
        super().__init__(environment, seed=seed, preset=preset, settings=settings, **given)

    def make_backup(self) -> Backup:
        """Horizon h points at h - n."""
        settings = self.settings
        self.weighting = self._given_weighting or Weighting.exponential(
            settings.horizon, settings.discount
        )
        backup = Backup.fixed_horizons(self.weighting, settings.n_step, settings.horizons)
        return backup if settings.deepen_every is None else backup.over_base(self.weighting)

    def make_algorithm(self) -> Algorithm:
        """Q-learning towards the backup's targets."""
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

    @property
    def base(self) -> int:
        """The horizon beneath the window: 0 until it has moved."""
        base = self.state.base
        return 0 if base is None else int(base.moves) * self.backup.n

    @property
    def horizons(self) -> npt.NDArray[np.float64]:
        """The learned horizons as they are now, ascending."""
        return self.backup.horizons + self.base

    def output_names(self) -> list[str]:
        """By horizon; by place in the window where the horizons move."""
        if self.settings.deepen_every is None:
            return super().output_names()
        return [f"output{j}" for j in range(1, self.backup.size + 1)]

    def deepening(self) -> dict[str, float]:
        """The final horizon, where it grows."""
        moves = self.settings.deepen_every is not None
        return {"train/horizon": float(self.horizons[-1])} if moves else {}

    def reward_weights(self, length: int) -> npt.NDArray[np.float64]:
        """Weight of each future reward in each horizon's value: (horizons, at most `length`)."""
        if not self.base:
            return super().reward_weights(length)
        ahead = np.arange(length)
        weights = self.weighting.rewards[0] * self.weighting.bootstraps[0] ** ahead
        return np.asarray(np.where(ahead < self.horizons[:, None], weights, 0.0))

    def deepen(self) -> None:
        """Move the window of horizons on by one, as `deepen_every` does after so many updates."""
        state = self.state
        if state.base is None:
            raise ValueError("deepen needs an agent with deepen_every: its horizons stay otherwise")
        target = state.target
        if target is not None:
            target, _ = windows.moved(target, state.base)
        first = 1 if self.settings.normalise else 0
        arrays, base = windows.moved(state.parameters[first:], state.base)
        parameters = (*state.parameters[:first], *arrays)
        self.state = state._replace(parameters=parameters, target=target, base=base)

    def extend(self, horizon: int | Weighting) -> Self:
        """Grow to a longer final horizon in place, keeping all that is learned.

        New horizons begin as copies of the longest so far. Episodes, replay and random numbers go
        on as they are. In a window, `horizon` is how many it holds.

        Args:
            horizon: a number where the weighting continues by itself (exponential, average), or a
                Weighting whose first coefficients are the present ones.
        """
        old, before = self.settings, self.backup
        if (old.horizons, old.loss_weights) != (None, None) or isinstance(old.acting, tuple):
            raise ValueError(
                "extend needs an agent without `horizons`, `loss_weights` or weights in `acting`: "
                "they say nothing of the new horizons"
            )
        weighting = self.weighting.continued(horizon)
        # A backup of the longer weighting must learn the present horizons and then more.
        settings = replace(old, horizon=weighting.horizon)
        longer = Backup.fixed_horizons(weighting, old.n_step)
        if not np.array_equal(longer.horizons[: before.size], before.horizons):
            raise ValueError(
                f"horizon must be {old.horizon} and a multiple of n_step, got {weighting.horizon}"
            )
        more = longer.size - before.size
        if not more:
            return self
        state, self.settings = self.state, settings
        if self._given_weighting is not None:
            self._given_weighting = weighting
        first = 1 if settings.normalise else 0
        parts = (state.parameters[first:], state.target, state.optimiser)
        arrays, target, memory = windows.grown(
            parts, parts[0], self.actions.n, more, unshared=settings.unshared
        )
        self.backup = self.make_backup()
        self.loop.settings = settings
        self.loop.learn_by(
            self.make_algorithm(),
            state._replace(
                parameters=(*state.parameters[:first], *arrays), target=target, optimiser=memory
            ),
        )
        return self

    @property
    def acting_weights(self) -> npt.NDArray[np.float64] | None:
        """Weight of each horizon in the score that actions are chosen by; None for agreement."""
        return acting_weights(self.settings.acting, self.backup.size)


def acting_weights(acting: Any, size: int) -> npt.NDArray[np.float64] | None:
    """The setting `acting` as a weight for each of so many horizons; None for agreement."""
    if acting == "agreement":
        return None
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
