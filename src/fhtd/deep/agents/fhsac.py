"""FHSAC: soft actor-critic whose critics have fixed horizons, and need no target networks."""

from dataclasses import dataclass
from typing import Any, Literal, Unpack

import numpy as np
import numpy.typing as npt
import optax

from fhtd import checks
from fhtd.deep import windows
from fhtd.deep.backup_agent import HorizonAgent, acting_weights, scaled_loss_weights
from fhtd.deep.presets import presets_of
from fhtd.deep.settings import MOST_HORIZONS, SoftOptions, SoftSettings, check_durations
from fhtd.deep.soft import moved
from fhtd.deep.soft_agent import SoftAgent
from fhtd.horizons import closed_horizons
from fhtd.weighting import Weighting


@dataclass(frozen=True, kw_only=True)
class FHSACSettings(SoftSettings):
    """Settings of FHSAC.

    >>> from fhtd.deep import FHSACSettings
    >>> FHSACSettings(horizon=8, acting="mean").tau is None  # no target networks
    True
    """

    horizon: int = 32
    """Final horizon H."""
    horizons: tuple[int, ...] | None = None
    """Which horizons to learn: any ascending set that is closed under the backup."""
    deepen_every: int | None = None
    """Updates after which the horizons move on by one: `horizon` of them are a window over a frozen
    one beneath, and the final horizon grows without bound."""
    loss_weights: tuple[float, ...] | None = None
    """Weight of each learned horizon in the critics' loss."""
    acting: Literal["final", "mean"] | int | tuple[float, ...] = "final"
    """What the actor maximises: the final horizon, the mean of all or of the last k, or a weight
    for each."""

    def __post_init__(self) -> None:
        super().__post_init__()
        checks.integer("horizon", self.horizon, 1, MOST_HORIZONS)
        check_durations(self)
        if self.deepen_every is not None:
            checks.integer("deepen_every", self.deepen_every, 1, 2**31 - 1)
        size = len(closed_horizons(self.horizon, self.n_step, self.horizons, n_name="n_step"))
        scaled_loss_weights(self.loss_weights, size)
        acting_weights(self.acting, size)


class FHSACOptions(SoftOptions, total=False):
    """Keywords of FHSAC."""

    horizon: int
    horizons: tuple[int, ...] | None
    deepen_every: int | None
    loss_weights: tuple[float, ...] | None
    acting: Literal["final", "mean"] | int | tuple[float, ...]


class FHSAC(HorizonAgent[FHSACSettings], SoftAgent[FHSACSettings]):
    """Fixed-horizon soft actor-critic: every critic has an output for every horizon.

    Q^h(S, A) is learned towards c_h R + d_h U^(h-1)(S'), with U^0 = 0 and U^h(S') = min over
    critics of Q^h(S', A') - alpha c_h log pi(A'|S') for an A' drawn from the policy. No output
    bootstraps from itself, so that no target networks are needed; the critics evaluate the one
    present policy at every horizon.

    Args:
        environment: a Gymnasium environment with bounded continuous actions, or its id.
        weighting: of future rewards and of the entropy of their steps; replaces the exponential one
            of `horizon` and `discount`. Its horizons stay where they are unless `deepen_every` is
            given too.
        seed: of everything: first weights, exploration, replay and episodes.
        preset: name of the settings to begin with: `default`, or an environment's id where `fhtd
            presets` lists it.
        settings: all settings at once, in place of a preset; those given by name go before them.
        transformation: any optimiser of optax, in place of the settings `optimiser`,
            `learning_rate` and `max_grad_norm`; schedules are part of it.

    Raises:
        ValueError: A setting is out of range, or the weighting leaves the entropy without weight.
        TypeError: It has no such setting, or the actions are not continuous and bounded.

    >>> from fhtd.deep import FHSAC
    >>> small = dict(hidden=(8,), batch_size=16, learning_starts=20, replay_size=1_000)
    >>> agent = FHSAC("Pendulum-v1", horizon=4, seed=0, **small).learn(30)
    >>> agent.predict([1.0, 0.0, 0.0])[0].shape
    (1,)
    >>> agent.values([1.0, 0.0, 0.0], actions=[[-2.0], [2.0]]).shape  # actions, horizons
    (2, 4)
    """

    settings_type = FHSACSettings
    presets = presets_of("fhsac")
    settings: FHSACSettings

    def __init__(
        self,
        environment: Any,
        *,
        weighting: Weighting | None = None,
        seed: int = 0,
        preset: str | None = None,
        settings: FHSACSettings | None = None,
        transformation: optax.GradientTransformation | None = None,
        **changes: Unpack[FHSACOptions],
    ) -> None:
        given: dict[str, Any] = dict(changes)
        self._taking(weighting, settings, given)
        if weighting is not None and np.any(weighting.rewards < 0):
            raise ValueError(
                "weighting must have rewards of at least 0 for FHSAC, as the policy's entropy is "
                f"weighed in the same way, got {weighting.rewards.min():g}"
            )
        self.take_transformation(transformation)
        super().__init__(environment, seed=seed, preset=preset, settings=settings, **given)
        acting = acting_weights(self.settings.acting, self.backup.size)
        if not acting @ self.entropy_weights > 0:
            raise ValueError(
                "acting must give weight to horizons whose first reward counts: the policy's "
                "entropy is weighed in the same way, and must be worth something"
            )

    @property
    def entropy_weights(self) -> npt.NDArray[np.float64]:
        """c_h: the entropy of a step counts for as much as its reward."""
        return np.asarray(self.weighting.rewards[self.backup.horizons.astype(int) - 1])

    @property
    def loss_weights(self) -> npt.NDArray[np.float64]:
        """Weight of each horizon in the critics' loss."""
        return scaled_loss_weights(self.settings.loss_weights, self.backup.size)

    @property
    def deepens_every(self) -> int | None:
        """Updates between moves of the window of horizons, where there is one."""
        return self.settings.deepen_every

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
            target, its_base = moved(target, its_base)
        critics, base = moved(state.parameters.critics, state.base)
        parameters = state.parameters._replace(critics=critics)
        self.state = state._replace(
            parameters=parameters, target=target, base=base, target_base=its_base
        )

    def grown(self, more: int) -> Any:
        """The present state with so many more outputs of both critics, copies of the last.

        Args:
            more: how many.
        """
        state = self.state
        critics = state.parameters.critics
        parts = (critics, state.target, state.optimiser)
        critics, target, memory = windows.grown(parts, critics[0], 1, more, unshared=False)
        parameters = state.parameters._replace(critics=critics)
        return state._replace(parameters=parameters, target=target, optimiser=memory)
