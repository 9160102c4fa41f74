"""DFHTD: what a given policy will bring, at every horizon, in signals of the user's own choice."""

from collections.abc import Callable, Mapping
from dataclasses import asdict, replace
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple, Self

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import numpy.typing as npt
import optax
from jax import Array

from fhtd import archive, checks
from fhtd.deep import checkpoint, networks, optimisers
from fhtd.deep.episodes import make
from fhtd.deep.replay import check_memory
from fhtd.deep.settings import Settings
from fhtd.deep.spaces import Encoder
from fhtd.errors import DivergenceError
from fhtd.weighting import Weighting

#: Action probabilities, or one action, for an observation.
Policy = Callable[[Any], Any]
#: A number computed from (observation, action, reward, next observation, info).
Cumulant = Callable[[Any, int, float, Any, dict[str, Any]], float]

_REWARD = "reward"
#: Settings of agents that have no meaning for the evaluation of a policy.
_UNUSED = (
    "n_step",
    "horizons",
    "target_update_interval",
    "double",
    "acting",
    "n_envs",
    "epsilon_initial",
    "epsilon_final",
    "epsilon_frames",
)


class _State(NamedTuple):
    parameters: Any
    optimiser: Any


class DFHTD:
    """Deep multi-horizon evaluation of `policy`, on-policy or from another `behaviour`.

    policy: a function from observation to an action or to action probabilities, or an agent with
        `predict`. behaviour: the same, to act by; importance ratios correct for the difference.
    cumulants: signals to predict by name; default: the reward.
    weighting: any, complex ones too; default: exponential with the settings' horizon and discount.
    """

    def __init__(
        self,
        environment: Any,
        policy: Any,
        *,
        behaviour: Any = None,
        cumulants: Mapping[str, Cumulant] | None = None,
        weighting: Weighting | None = None,
        seed: int = 0,
        **settings: Any,
    ) -> None:
        for name in _UNUSED:
            if name in settings:
                raise ValueError(f"{name} is not a setting of DFHTD, which evaluates a policy")
        if weighting is not None and {"horizon", "discount"} & set(settings):
            raise ValueError("give either a weighting, or horizon and discount")
        self.settings = replace(Settings(), **settings)
        self.weighting = weighting or Weighting.exponential(
            self.settings.horizon, self.settings.discount
        )
        self.seed = checks.integer("seed", seed, 0)
        self.environment = make(environment)
        self.encoder = Encoder(self.environment)
        self.policy = _as_policy("policy", policy)
        self.behaviour = self.policy if behaviour is None else _as_policy("behaviour", behaviour)
        self.cumulants = dict(cumulants) if cumulants is not None else {_REWARD: _reward}
        if not self.cumulants:
            raise ValueError("cumulants must name at least one signal")
        self.frames = self.episodes = 0
        self.rng = np.random.default_rng(np.random.SeedSequence(self.seed, spawn_key=(0,)))
        self._memory = self._build_memory()
        self._optimiser = optimisers.build(
            self.settings.optimiser, self.settings.learning_rate, self.settings.max_grad_norm
        )
        # Shapes only, so that a checkpoint is compared with them before memory is taken.
        parameters, rebuild = networks.split(eqx.filter_eval_shape(self._network))
        self._planned = jax.eval_shape(self._begin_state, parameters)
        self._update, self._values = self._build(rebuild)
        self._observation: Any = None
        self._length = 0

    def _build_memory(self) -> dict[str, npt.NDArray[Any]]:
        size, shape = self.settings.replay_size, self.encoder.shape
        vectors = 2 * int(np.prod(shape)) if len(shape) == 1 else 0
        check_memory(size, shape, self.encoder.dtype, vectors + len(self.cumulants) + 2)
        return {
            "observations": np.zeros((size, *shape), self.encoder.dtype),
            "next_observations": np.zeros((size, *shape), self.encoder.dtype),
            "signals": np.zeros((size, len(self.cumulants)), np.float32),
            "terminated": np.zeros(size, np.float32),
            "ratios": np.zeros(size, np.float32),
        }

    def _network(self) -> networks.Network | networks.Separate:
        settings = self.settings
        return networks.seeded(
            self.seed,
            self.encoder.network_shape,
            len(self.cumulants),
            self.weighting.horizon * (2 if self.weighting.is_complex else 1),
            settings.hidden,
            settings.initialisation,
            settings.unshared,
        )

    @cached_property
    def _state(self) -> _State:
        """All that training changes; made when it is first asked for."""
        networks.check_room(self._planned)
        return self._begin_state(networks.split(self._network())[0])

    def _begin_state(self, parameters: tuple[Array, ...]) -> _State:
        return _State(parameters, self._optimiser.init(parameters))

    def _build(
        self, rebuild: Callable[[tuple[Array, ...]], Any]
    ) -> tuple[Callable[..., Any], Callable[..., Array]]:
        settings, weighting, optimiser = self.settings, self.weighting, self._optimiser
        c, d = jnp.asarray(weighting.rewards), jnp.asarray(weighting.bootstraps)
        importance = jnp.asarray(settings.importance(weighting.horizon), jnp.float32)

        def values(parameters: Any, observations: Array) -> Array:
            """(batch, cumulants, horizons); the second half of complex outputs is imaginary."""
            found: Array = rebuild(parameters)(observations)
            if not weighting.is_complex:
                return found
            real, imaginary = jnp.split(found, 2, axis=-1)
            return real + 1j * imaginary

        def loss(parameters: Any, targets: Array, batch: dict[str, Array]) -> tuple[Array, Array]:
            errors = jnp.abs(targets - values(parameters, batch["observations"])) ** 2
            weighted = (batch["ratios"][:, None, None] * errors).mean(axis=(0, 1))
            return (importance * weighted).mean(), weighted

        def update(state: _State, batch: dict[str, Array]) -> tuple[_State, Array]:
            ahead = values(state.parameters, batch["next_observations"])
            shorter = jnp.concatenate([jnp.zeros_like(ahead[..., :1]), ahead[..., :-1]], axis=-1)
            continues = 1 - batch["terminated"][:, None, None]
            targets = c * batch["signals"][..., None] + d * continues * shorter
            targets = jax.lax.stop_gradient(targets)
            gradients, errors = jax.grad(loss, has_aux=True)(state.parameters, targets, batch)
            changes, memory = optimiser.update(gradients, state.optimiser, state.parameters)
            return _State(optax.apply_updates(state.parameters, changes), memory), errors

        return jax.jit(update, donate_argnums=0), jax.jit(values)

    @property
    def horizons(self) -> npt.NDArray[np.int64]:
        """1 to H."""
        return np.arange(1, self.weighting.horizon + 1)

    def values(self, observation: Any) -> dict[str, npt.NDArray[Any]]:
        """What is expected of each signal at each horizon: (horizons,) by name."""
        encoded = self.encoder.scale(self.encoder.encode(observation))
        found = np.asarray(self._values(self._state.parameters, encoded[None])[0])
        return dict(zip(self.cumulants, found, strict=True))

    def rewards(self, observation: Any) -> dict[str, npt.NDArray[np.float64]]:
        """What is expected of each signal at each of the next H steps."""
        return {
            name: self.weighting.expected_rewards(values)
            for name, values in self.values(observation).items()
        }

    def learn(self, total_timesteps: int, *, progress_bar: bool = False) -> Self:
        """Follow the behaviour for so many more frames, and learn."""
        frames: Any = range(checks.integer("total_timesteps", total_timesteps, 1))
        if progress_bar:
            from rich.progress import track

            frames = track(frames, description=type(self).__name__)
        for _ in frames:
            self._frame()
        return self

    def save(self, path: str | PathLike[str]) -> None:
        """Write everything to one file, without pickle, but for policies and signals.

        A predictor loaded from it goes on exactly as this one does; the episode that is under way
        is cut for both.
        """
        if self._observation is not None and self._length:
            self.episodes += 1
            self._observation = None
        filled = min(self.frames, self.settings.replay_size)
        kept = {f"memory_{name}": array[:filled] for name, array in self._memory.items()}
        content = {
            "class": type(self).__name__,
            "settings": asdict(self.settings),
            "environment": checkpoint.spec_of(self.environment),
            "cumulants": list(self.cumulants),
            "seed": self.seed,
            "frames": self.frames,
            "episodes": self.episodes,
            "generator": self.rng.bit_generator.state,
        }
        arrays = checkpoint.arrays_of_state(self._state) | kept
        arrays |= checkpoint.arrays_of_weighting(self.weighting)
        archive.write(Path(path), "agent", content, arrays, keep_previous=True)

    @classmethod
    def load(
        cls,
        path: str | PathLike[str],
        policy: Any,
        *,
        environment: Any = None,
        behaviour: Any = None,
        cumulants: Mapping[str, Cumulant] | None = None,
    ) -> Self:
        """Read what `save` wrote; policies and signals are functions, and have to be given again.

        The environment is made by its saved id, or given. Only the reward needs no function.
        """
        manifest, arrays = archive.read(Path(path), "agent")
        try:
            if manifest["class"] != cls.__name__:
                raise ValueError(f"it holds a {manifest['class']}, not a {cls.__name__}")
            names = manifest["cumulants"]
            given = [_REWARD] if cumulants is None else list(cumulants)
            if names != given:
                raise ValueError(f"it predicts {', '.join(names)}, but cumulants are {given}")
            weighting = checkpoint.weighting_of(arrays)
            settings = checkpoint.settings_of(manifest)
            checkpoint.check_layers(arrays, settings["hidden"])
            if environment is None:
                environment = checkpoint.environment_of(manifest)
            found = cls(
                environment,
                policy,
                behaviour=behaviour,
                cumulants=cumulants,
                weighting=weighting,
                seed=manifest["seed"],
                **{
                    name: value
                    for name, value in settings.items()
                    if name not in (*_UNUSED, "horizon", "discount")
                },
            )
            found.settings = Settings(**settings)
            found._restore(manifest, arrays)
        except archive.UNREADABLE as error:
            raise ValueError(f"{path} is not a readable checkpoint: {error}") from None
        return found

    def _restore(self, manifest: dict[str, Any], arrays: archive.Arrays) -> None:
        self._state = checkpoint.restored_state(self._planned, arrays)
        frames = checks.integer("frames", manifest["frames"], 0)
        filled = min(frames, self.settings.replay_size)
        for name, room in self._memory.items():
            then = arrays[f"memory_{name}"]
            if then.shape != (filled, *room.shape[1:]) or then.dtype != room.dtype:
                raise ValueError(f"memory {name} has shape {then.shape}")
            room[:filled] = then
        self.frames = frames
        self.episodes = checks.integer("episodes", manifest["episodes"], 0)
        self.rng.bit_generator.state = manifest["generator"]

    def _frame(self) -> None:
        if self._observation is None:
            key = (2, self.episodes)
            words = np.random.SeedSequence(self.seed, spawn_key=key).generate_state(1)
            self._observation, _ = self.environment.reset(seed=int(words[0] >> 1))
            self._length = 0
        observation, n_actions = self._observation, self.encoder.n_actions
        acting = _probabilities("behaviour", self.behaviour(observation), n_actions)
        action = int(self.rng.choice(n_actions, p=acting))
        ratio = 1.0
        if self.behaviour is not self.policy:
            wanted = _probabilities("policy", self.policy(observation), n_actions)
            ratio = float(wanted[action] / acting[action])
        following, reward, terminated, truncated, info = self.environment.step(
            self.encoder.to_environment(action)
        )
        self._store(observation, action, float(reward), following, bool(terminated), ratio, info)
        self.frames += 1
        self._length += 1
        limit = self.settings.max_episode_frames
        if terminated or truncated or (limit is not None and self._length >= limit):
            self.episodes += 1
            self._observation = None
        else:
            self._observation = following
        settings = self.settings
        if self.frames >= settings.learning_starts and self.frames % settings.train_freq == 0:
            for _ in range(settings.gradient_steps):
                self._learn_once()

    def _store(
        self,
        observation: Any,
        action: int,
        reward: float,
        following: Any,
        terminated: bool,
        ratio: float,
        info: dict[str, Any],
    ) -> None:
        frame = self.frames + 1
        seen = (observation, action, reward, following, info)
        signals = [
            checks.real(f"{name} at frame {frame}", cumulant(*seen))
            for name, cumulant in self.cumulants.items()
        ]
        slot, memory = self.frames % self.settings.replay_size, self._memory
        memory["observations"][slot] = self.encoder.encode(observation)
        name = f"observation at frame {frame}"
        memory["next_observations"][slot] = self.encoder.encode(following, name)
        memory["signals"][slot] = signals
        memory["terminated"][slot] = terminated
        memory["ratios"][slot] = ratio

    def _learn_once(self) -> None:
        filled = min(self.frames, self.settings.replay_size)
        rows = self.rng.integers(filled, size=self.settings.batch_size)
        batch = {name: array[rows] for name, array in self._memory.items()}
        for name in ("observations", "next_observations"):
            batch[name] = self.encoder.scale(batch[name])
        self._state, errors = self._update(self._state, batch)
        found = np.asarray(errors)
        if not np.all(found <= self.settings.divergence_limit):
            worst = int(np.argmax(~(found <= self.settings.divergence_limit)))
            raise DivergenceError(type(self).__name__, self.frames, float(worst + 1))


def _reward(observation: Any, action: int, reward: float, following: Any, info: Any) -> float:
    return reward


def _as_policy(name: str, policy: Any) -> Policy:
    """A function, or the greedy choice of an agent."""
    if hasattr(policy, "predict"):

        def choose(observation: Any) -> Any:
            return policy.predict(observation, deterministic=True)[0]

        return choose
    if not callable(policy):
        raise TypeError(f"{name} must be a function or an agent with predict, got {policy!r}")
    return policy  # type: ignore[no-any-return]


def _probabilities(name: str, choice: Any, n_actions: int) -> npt.NDArray[np.float64]:
    """Action probabilities; certainty for a single action."""
    if np.ndim(choice) == 0:
        action = checks.integer(f"action of {name}", np.asarray(choice).item(), 0, n_actions - 1)
        return np.asarray(np.eye(n_actions)[action])
    return checks.probabilities(f"probabilities of {name}", choice, (n_actions,))
