"""DFHTD: what a given policy will bring, at every horizon, in signals of the user's own choice."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple, Self, Unpack

import jax
import jax.numpy as jnp
import numpy as np
import numpy.typing as npt
import optax
from jax import Array

from fhtd import archive, checks
from fhtd.deep import checkpoint, networks, windows
from fhtd.deep.agent import Agent
from fhtd.deep.algorithm import Algorithm, Metrics
from fhtd.deep.backup import Backup
from fhtd.deep.backup_agent import scaled_loss_weights
from fhtd.deep.codecs import BoxActions, DiscreteActions
from fhtd.deep.experience import Experience, Replay
from fhtd.deep.layout import Batch, Layout
from fhtd.deep.loop import Choose, Measure, Present
from fhtd.deep.settings import MOST_HORIZONS, ReplayOptions, ReplaySettings
from fhtd.weighting import Weighting

#: Action probabilities, or one action, for an observation.
Policy = Callable[[Any], Any]
#: A number computed from (observation, action, reward, next observation, info).
Cumulant = Callable[[Any, Any, float, Any, dict[str, Any]], float]


@dataclass(frozen=True, kw_only=True)
class DFHTDSettings(ReplaySettings):
    """Settings of DFHTD.

    >>> from fhtd.deep import DFHTDSettings
    >>> DFHTDSettings(horizon=16).unshared
    False
    """

    horizon: int = 64
    """Final horizon H."""
    unshared: bool = False
    """Give every horizon a network of its own, as the theory assumes."""
    loss_weights: tuple[float, ...] | None = None
    """Weight of each horizon in the loss."""

    def __post_init__(self) -> None:
        super().__post_init__()
        checks.integer("horizon", self.horizon, 1, MOST_HORIZONS)
        checks.boolean("unshared", self.unshared)
        scaled_loss_weights(self.loss_weights, self.horizon)


class DFHTDOptions(ReplayOptions, total=False):
    """Keywords of DFHTD."""

    horizon: int
    unshared: bool
    loss_weights: tuple[float, ...] | None


class State(NamedTuple):
    """All that learning changes."""

    parameters: tuple[Array, ...]
    optimiser: Any
    updates: Array


class DFHTD(Agent[DFHTDSettings]):
    """Deep multi-horizon evaluation of a policy, on-policy or from another behaviour.

    V^h(S) is learned towards c_h C + d_h g V^(h-1)(S'), V^0 = 0, for each signal C; g, how much of
    what follows counts, is 1 unless `continuation` says otherwise.

    Args:
        environment: a Gymnasium environment with discrete or bounded continuous actions, or its id.
        policy: what to evaluate: a function from observation to an action or, where actions are
            discrete, to action probabilities; or an agent with `predict`; or, where actions are
            continuous, anything with `draw(observation, generator)`, which gives an action.
        behaviour: the same, to act by; importance ratios correct for the difference. Where actions
            are continuous, both need `log_density(observation, action)` for that.
        cumulants: signals to predict, by name; default: the reward.
        continuation: how much of what follows a transition counts, beside the weighting: a function
            of what cumulants are functions of, 1 as a rule, 0 as after a termination.
        weighting: any, complex ones too; default: exponential with `horizon` and `discount`.
        seed: of everything.
        settings: all settings at once; those given by name go before them.

    Raises:
        ValueError: A setting is out of range, both a weighting and `horizon` are given, or no
            signal.
        TypeError: `policy` cannot be asked, `continuation` is no function, or densities are needed
            and missing.

    >>> from fhtd.deep import DFHTD
    >>> seen = {
    ...     "reward": lambda state, action, reward, following, info: reward,
    ...     "angle": lambda state, action, reward, following, info: float(following[2]),
    ... }
    >>> predictor = DFHTD(
    ...     "CartPole-v1", policy=lambda state: [0.5, 0.5], cumulants=seen, horizon=8, hidden=(8,)
    ... )
    >>> values = predictor.learn(200).values([0.0, 0.0, 0.0, 0.0])
    >>> {name: array.shape for name, array in values.items()}
    {'reward': (8,), 'angle': (8,)}
    """

    settings_type = DFHTDSettings
    takes = (DiscreteActions, BoxActions)
    weighting: Weighting

    def __init__(
        self,
        environment: Any,
        policy: Any,
        *,
        behaviour: Any = None,
        cumulants: Mapping[str, Cumulant] | None = None,
        continuation: Cumulant | None = None,
        weighting: Weighting | None = None,
        seed: int = 0,
        settings: DFHTDSettings | None = None,
        **changes: Unpack[DFHTDOptions],
    ) -> None:
        given: dict[str, Any] = dict(changes)
        if weighting is not None:
            if {"horizon", "discount"} & set(given):
                raise ValueError("give either a weighting, or horizon and discount")
            given["horizon"] = weighting.horizon
        self._given_weighting = weighting
        self.policy = _as_policy("policy", policy)
        self.behaviour = self.policy if behaviour is None else _as_policy("behaviour", behaviour)
        self.cumulants = {"reward": _reward} if cumulants is None else dict(cumulants)
        if not self.cumulants:
            raise ValueError("cumulants must name at least one signal")
        if continuation is not None and not callable(continuation):
            raise TypeError(f"continuation must be a function, got {continuation!r}")
        self.continuation = continuation
        super().__init__(environment, seed=seed, settings=settings, **given)
        if isinstance(self.actions, BoxActions) and self.behaviour is not self.policy:
            for name, one in (("policy", policy), ("behaviour", behaviour)):
                if not callable(getattr(one, "log_density", None)):
                    raise TypeError(
                        f"{name} must have log_density(observation, action): continuous actions of "
                        "another behaviour are weighed by the densities of both"
                    )
            self._densities = (policy.log_density, behaviour.log_density)

    def make_algorithm(self) -> Algorithm:
        """Temporal differences of every signal and horizon; nothing is maximised over.

        Returns:
            Its pure functions.
        """
        settings = self.settings
        self.weighting = weighting = self._given_weighting or Weighting.exponential(
            settings.horizon, settings.discount
        )
        backup = Backup.fixed_horizons(weighting)

        def network() -> networks.Network | networks.Separate:
            return networks.seeded(
                self.seed,
                self.observations.shape,
                len(self.cumulants),
                weighting.horizon * (2 if weighting.is_complex else 1),
                settings.hidden,
                settings.initialisation,
                settings.unshared,
            )

        rebuild = networks.structure(network)
        optimiser = settings.make_optimiser()
        weights = scaled_loss_weights(settings.loss_weights, weighting.horizon)
        loss_weights = jnp.asarray(weights, jnp.float32)

        def init() -> State:
            parameters = networks.split(network())[0]
            return State(parameters, optimiser.init(parameters), jnp.zeros((), jnp.int32))

        def values(parameters: Any, seen: Array) -> Array:
            """V^h of each signal: (batch, signals, horizons)."""
            found: Array = rebuild(parameters)(self.observations.to_network(seen))
            if not weighting.is_complex:
                return found
            real, imaginary = jnp.split(found, 2, axis=-1)
            return real + 1j * imaginary

        def targets(batch: Batch, ahead: Array) -> Array:
            """c_h C + d_h g V^(h-1)(S'), signal by signal."""
            signals = batch.rewards
            if self.continuation is not None:
                # The column after the signals, as `make_measure` has it.
                signals, counts = signals[:, :-1], signals[:, -1]
                ahead = counts[:, None, None] * ahead

            def of_one(signal: Array, its_ahead: Array) -> Array:
                one = batch._replace(rewards=signal[:, None])
                return jnp.asarray(backup.targets(one, its_ahead)[0])

            return jax.vmap(of_one, in_axes=1, out_axes=1)(signals, ahead)

        def loss(parameters: Any, wanted: Array, batch: Batch) -> tuple[Array, Array]:
            errors = jnp.abs(wanted - values(parameters, batch.observations)) ** 2
            weighted = (batch.ratios[:, None, None] * errors).mean(axis=(0, 1))
            return (loss_weights * weighted).mean(), weighted

        def update(state: State, batch: Batch) -> tuple[State, Metrics]:
            wanted = targets(batch, values(state.parameters, batch.next_observations))
            gradients, errors = jax.grad(loss, has_aux=True)(state.parameters, wanted, batch)
            changes, memory = optimiser.update(gradients, state.optimiser, state.parameters)
            parameters = optax.apply_updates(state.parameters, changes)
            return State(parameters, memory, state.updates + 1), {"loss": errors}

        return Algorithm(init, update, values=values)

    def make_experience(self) -> Experience:
        """Signals in place of rewards, the continuation after them, and importance ratios.

        Returns:
            The replay.
        """
        count = len(self.cumulants) + (self.continuation is not None)
        layout = Layout(self.observations, self.actions, count, has_masks=False, has_ratios=True)
        return Replay(self.settings, layout)

    def make_choice(self) -> Choose:
        """Act by the behaviour; the ratio is pi(a|s) / mu(a|s).

        Returns:
            A function of the loop's.
        """
        return self._draw if isinstance(self.actions, BoxActions) else self._pick

    def _draw(self, rng: np.random.Generator, now: Present, frame: int) -> tuple[Any, float]:
        """One of continuous actions."""
        behaviour: Any = self.behaviour
        drawn = behaviour.draw(now.raw, rng) if hasattr(behaviour, "draw") else behaviour(now.raw)
        action = self.actions.from_environment(f"action of behaviour at frame {frame + 1}", drawn)
        if self.behaviour is self.policy:
            return action, 1.0
        logs = [float(log_density(now.raw, drawn)) for log_density in self._densities]
        with np.errstate(over="ignore", invalid="ignore"):
            ratio = float(np.exp(np.float64(logs[0]) - logs[1]))
        if not np.isfinite(ratio):
            raise ValueError(
                f"log_density must give a finite ratio, got {logs[0]} of policy and {logs[1]} of "
                f"behaviour at frame {frame + 1}"
            )
        return action, ratio

    def _pick(self, rng: np.random.Generator, now: Present, frame: int) -> tuple[int, float]:
        """One of a list of actions."""
        n = self.actions.n
        acting = _probabilities("behaviour", self.behaviour(now.raw), n)
        action = int(rng.choice(n, p=acting))
        if self.behaviour is self.policy:
            return action, 1.0
        wanted = _probabilities("policy", self.policy(now.raw), n)
        if np.any((wanted > 0) & (acting == 0)):
            missing = int(np.flatnonzero((wanted > 0) & (acting == 0))[0])
            raise ValueError(
                f"behaviour never takes action {missing}, which policy takes with probability "
                f"{wanted[missing]:g} at frame {frame + 1}: its values cannot be learned"
            )
        return action, float(wanted[action] / acting[action])

    def make_measure(self) -> Measure:
        """Every signal of a transition, and how much of what follows it counts.

        Returns:
            A function of the loop's.
        """

        def measure(
            now: Present, action: Any, reward: float, following: Any, info: dict[str, Any]
        ) -> list[float]:
            seen = (now.raw, self.actions.shown(action), reward, following, info)
            when = f"at frame {self.frames + 1}"
            found = [
                checks.real(f"{name} {when}", cumulant(*seen))
                for name, cumulant in self.cumulants.items()
            ]
            if self.continuation is not None:
                found.append(checks.real(f"continuation {when}", self.continuation(*seen), 0))
            return found

        return measure

    def values(self, observation: Any) -> dict[str, npt.NDArray[Any]]:  # type: ignore[override]
        """What is expected of each signal at each horizon: (horizons,) by name.

        Args:
            observation: one of the environment's.

        Returns:
            An array for each signal.
        """
        return dict(zip(self.cumulants, super().values(observation), strict=True))

    def rewards(self, observation: Any) -> dict[str, npt.NDArray[np.float64]]:
        """What is expected of each signal at each of the next H steps.

        Args:
            observation: one of the environment's.

        Returns:
            An array (horizons,) for each signal.

        Raises:
            ValueError: The weighting does not let single steps be told apart.
        """
        return {
            name: self.weighting.expected_rewards(values)
            for name, values in self.values(observation).items()
        }

    def extend(self, horizon: int | Weighting) -> Self:
        """Grow to a longer final horizon in place, keeping all that is learned.

        New horizons begin as copies of the longest so far.

        Args:
            horizon: a number where the weighting continues by itself (exponential, average), or a
                Weighting whose first coefficients are the present ones.

        Returns:
            The agent itself.

        Raises:
            ValueError: The weighting or a setting does not say how the new horizons go on.
        """
        old, is_complex = self.settings, self.weighting.is_complex
        if old.loss_weights is not None or (old.unshared and is_complex):
            raise ValueError(
                "extend needs an agent without `loss_weights`, which say nothing of new horizons, "
                "and shared layers where the weighting is complex"
            )
        weighting = self.weighting.continued(horizon)
        more = weighting.horizon - old.horizon
        if not more:
            return self
        state = self.state
        # Complex values have their real parts before their imaginary ones, signal by signal.
        heads = len(self.cumulants) * (2 if is_complex else 1)
        parameters, memory = windows.grown(
            (state.parameters, state.optimiser),
            state.parameters,
            heads,
            more,
            unshared=old.unshared,
        )
        self.settings = self.loop.settings = replace(old, horizon=weighting.horizon)
        if self._given_weighting is not None:
            self._given_weighting = weighting
        grown = state._replace(parameters=parameters, optimiser=memory)
        self.loop.learn_by(self.make_algorithm(), grown)
        return self

    def save(self, path: str | PathLike[str]) -> None:
        """Write everything to one file, without pickle, but for policies and signals.

        Args:
            path: of the file.
        """
        own = {
            "cumulants": list(self.cumulants),
            "has_continuation": self.continuation is not None,
        }
        checkpoint.save(self, Path(path), own)

    @classmethod
    def load(  # type: ignore[override]
        cls,
        path: str | PathLike[str],
        policy: Any,
        *,
        environment: Any = None,
        behaviour: Any = None,
        cumulants: Mapping[str, Cumulant] | None = None,
        continuation: Cumulant | None = None,
    ) -> Self:
        """Read what `save` wrote; policies and signals are functions, and have to be given again.

        Args:
            path: of the file.
            policy: what is evaluated.
            environment: to go on in; default: made by the id that was saved.
            behaviour: what to act by, where it is not the policy.
            cumulants: the signals, by the names that were saved; the reward alone needs none.
            continuation: how much of what follows counts, where it had such a function.

        Returns:
            The agent, as it was.

        Raises:
            ValueError: It is not such a file, a damaged one, or predicts other signals.

        >>> from fhtd.deep import DFHTD
        >>> def uniform(state):
        ...     return [0.5, 0.5]
        >>> predictor = DFHTD("CartPole-v1", uniform, horizon=4, hidden=(8,)).learn(50)
        >>> predictor.save("predictor.npz")
        >>> DFHTD.load("predictor.npz", uniform).frames
        50
        """
        _, saved = checkpoint.read(cls, Path(path))
        try:
            names = saved.manifest["cumulants"]
            given = ["reward"] if cumulants is None else list(cumulants)
            if names != given:
                raise ValueError(f"it predicts {', '.join(names)}, but cumulants are {given}")
            had = saved.manifest.get("has_continuation", False)  # earlier versions had none
            if had != (continuation is not None):
                raise ValueError(
                    f"it was saved {'with' if had else 'without'} a continuation, which must be "
                    f"{'given again' if had else 'left out'}"
                )
            found = cls(
                checkpoint.environment_of(saved.manifest) if environment is None else environment,
                policy,
                behaviour=behaviour,
                cumulants=cumulants,
                continuation=continuation,
                weighting=saved.weighting,
                seed=saved.seed,
                settings=saved.settings,  # type: ignore[arg-type]
            )
            checkpoint.restore(found, saved)
        except archive.UNREADABLE as error:
            raise archive.unreadable(Path(path), "agent", error) from None
        return found


def _reward(observation: Any, action: Any, reward: float, following: Any, info: Any) -> float:
    return reward


def _as_policy(name: str, policy: Any) -> Policy:
    """A function, or what draws actions, or the greedy choice of an agent."""
    if callable(getattr(policy, "draw", None)):
        return policy  # type: ignore[no-any-return]
    if hasattr(policy, "predict"):

        def choose(observation: Any) -> Any:
            return policy.predict(observation, deterministic=True)[0]

        return choose
    if not callable(policy):
        raise TypeError(
            f"{name} must be a function or an agent with predict or draw, got {policy!r}"
        )
    return policy  # type: ignore[no-any-return]


def _probabilities(name: str, choice: Any, n_actions: int) -> npt.NDArray[np.float64]:
    """Action probabilities; certainty for a single action."""
    if np.ndim(choice) == 0:
        action = checks.integer(f"action of {name}", np.asarray(choice).item(), 0, n_actions - 1)
        return np.asarray(np.eye(n_actions)[action])
    return checks.probabilities(f"probabilities of {name}", choice, (n_actions,))
