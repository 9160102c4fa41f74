"""A deep agent: act, learn, predict, evaluate, save and load in a Gymnasium environment."""

import itertools
import math
from collections.abc import Callable, Iterator
from dataclasses import asdict
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import Any, Self

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import numpy.typing as npt

from fhtd import archive, checks
from fhtd.deep import checkpoint, learning, networks, optimisers
from fhtd.deep.backup import Backup
from fhtd.deep.episodes import Episode, Step, another, make, random_action
from fhtd.deep.replay import Replay
from fhtd.deep.settings import Settings
from fhtd.deep.spaces import Encoder
from fhtd.errors import DivergenceError
from fhtd.targets import weighted_sums


class DeepAgent:
    """An agent whose outputs are learned towards its `backup`; act, learn, predict, evaluate.

    `environment` is a Gymnasium environment or its id; `settings` are the fields of `Settings`.
    """

    #: Whether `weighting` is an argument, and part of a checkpoint.
    _has_weighting = False

    def __init__(self, environment: Any, backup: Backup, seed: int, settings: Settings) -> None:
        self.seed = checks.integer("seed", seed, 0)
        self.settings = settings
        self.backup = backup
        self.environment = make(environment)
        self.environments = [self.environment]
        self.environments += [another(self.environment) for _ in range(settings.n_envs - 1)]
        self.encoder = Encoder(self.environment)
        #: Frames and finished episodes so far, of all environments together.
        self.frames = self.episodes = 0
        #: First frame and horizon of a divergence that was recorded, not stopped at.
        self.divergence: tuple[int, float] | None = None
        #: Episodes that each environment has left behind, cut ones included.
        self._counts = [0] * len(self.environments)
        self.rng = np.random.default_rng(np.random.SeedSequence(self.seed, spawn_key=(0,)))
        self.replay = Replay(
            settings.replay_size,
            self.encoder.shape,
            self.encoder.dtype,
            backup.n,
            self.encoder.n_actions,
            len(self.environments),
        )
        self._optimiser = optimisers.build(
            settings.optimiser, settings.learning_rate, settings.max_grad_norm
        )
        # Shapes only, so that a checkpoint is compared with them before memory is taken.
        parameters, rebuild = networks.split(eqx.filter_eval_shape(self._network))
        self._planned = jax.eval_shape(self._begin_state, parameters)
        self._functions = self._build(rebuild)
        self._episodes: list[Episode] = []

    def _network(self) -> networks.Network | networks.Separate:
        settings = self.settings
        return networks.seeded(
            self.seed,
            self.encoder.network_shape,
            self.encoder.n_actions,
            self.backup.size,
            settings.hidden,
            settings.initialisation,
            settings.unshared,
        )

    @cached_property
    def _state(self) -> learning.State:
        """All that training changes; made when it is first asked for."""
        networks.check_room(self._planned)
        return self._begin_state(networks.split(self._network())[0])

    def _begin_state(self, parameters: tuple[jax.Array, ...]) -> learning.State:
        has_target = self.settings.target_update_interval > 1
        return learning.State(
            parameters,
            tuple(map(jnp.copy, parameters)) if has_target else None,
            self._optimiser.init(parameters),
            jnp.zeros((), jnp.int32),
            jnp.zeros((), jnp.int32),
            jnp.zeros(self.backup.size),
            jnp.zeros(self.backup.size),
        )

    def _build(self, rebuild: Callable[[tuple[jax.Array, ...]], Any]) -> learning.Functions:
        settings = self.settings
        return learning.build(
            rebuild,
            self.replay.layout,
            self.encoder.scaling,
            self.backup,
            self._optimiser,
            settings,
            jnp.asarray(self._acting_weights(), jnp.float32),
            jnp.asarray(settings.importance(self.backup.size), jnp.float32),
        )

    def _acting_weights(self) -> npt.NDArray[np.float64]:
        acting, size = self.settings.acting, self.backup.size
        if acting == "final":
            return np.asarray(np.eye(size)[-1])
        if acting == "mean":
            return np.full(size, 1 / size)
        if isinstance(acting, int):
            last = checks.integer("acting", acting, 1, size)
            return np.where(np.arange(size) >= size - last, 1 / last, 0.0)
        return checks.array("acting", acting, (size,))

    @property
    def horizons(self) -> npt.NDArray[np.float64]:
        """The learned horizons, ascending; infinity for DQN."""
        return self.backup.horizons

    @property
    def updates(self) -> int:
        """Gradient steps so far."""
        return int(self._state.updates)

    @property
    def epsilon(self) -> float:
        """Probability of a random action in the next frame."""
        settings = self.settings
        share = min(self.frames / settings.epsilon_frames, 1.0)
        return settings.epsilon_initial + share * (
            settings.epsilon_final - settings.epsilon_initial
        )

    def values(self, observation: Any) -> npt.NDArray[np.float32]:
        """What the agent expects of each action at each horizon: (actions, horizons)."""
        encoded = self.encoder.encode(observation)
        found = self._functions.values(self._state.parameters, encoded[None])
        return np.asarray(found[0])

    def take_statistics(self) -> dict[str, npt.NDArray[np.float64]]:
        """Mean squared error and mean target of each horizon since this was last called."""
        state = self._state
        count = max(int(state.summed), 1)
        found = {
            "loss": np.asarray(state.error_sum, np.float64) / count,
            "target": np.asarray(state.target_sum, np.float64) / count,
        }
        zeros = jnp.zeros_like(state.error_sum)
        self._state = state._replace(
            summed=jnp.zeros_like(state.summed), error_sum=zeros, target_sum=jnp.copy(zeros)
        )
        return found

    def predict(
        self,
        observation: Any,
        state: Any = None,
        episode_start: Any = None,
        deterministic: bool = False,
        mask: Any = None,
    ) -> tuple[Any, Any]:
        """An action, or an array of them for a batch; `deterministic` leaves out exploration."""
        if np.shape(observation) == self.encoder.observation_shape:
            return self._choose(observation, deterministic, mask), state
        return np.array([self._choose(one, deterministic, mask) for one in observation]), state

    def _choose(self, observation: Any, deterministic: bool, mask: Any = None) -> int:
        allowed = self.encoder.check_mask(mask)
        if not deterministic and self.rng.random() < self.settings.epsilon_final:
            return random_action(self.rng, allowed)
        encoded = self.encoder.encode(observation)
        found = self._functions.act(self._state.parameters, encoded[None], allowed[None])
        return int(found[0])

    def learn(
        self,
        total_timesteps: int,
        *,
        progress_bar: bool = False,
        callback: Callable[[Self, dict[str, float]], bool | None] | None = None,
    ) -> Self:
        """Train for so many more frames.

        `callback(agent, episode)` is called after each episode with its `return`, `length` and
        `frame`, and ends training by returning False.
        """
        total = checks.integer("total_timesteps", total_timesteps, 1)
        # Every environment takes a step at a time: the last round may go a little further.
        rounds: Any = range(-(-total // len(self.environments)))
        if progress_bar:
            from rich.progress import track

            rounds = track(rounds, description=type(self).__name__)
        for _ in rounds:
            for episode in self._frame():
                if callback is not None and callback(self, episode) is False:
                    return self
        return self

    def _frame(self) -> list[dict[str, float]]:
        """Act in every environment once, store, and learn; the episodes that ended."""
        if not self._episodes:
            self._episodes = [self._begin(i) for i in range(len(self.environments))]
            self._set_greedy(self._greedy())
        finished = []
        before = self.frames
        for i, environment in enumerate(self.environments):
            episode = self._episodes[i]
            action = episode.greedy
            if self.rng.random() < self.epsilon:
                action = random_action(self.rng, episode.mask)
            self.frames += 1
            raw, reward, terminated, truncated, info = environment.step(
                self.encoder.to_environment(action)
            )
            following = self.encoder.encode(raw, f"observation at frame {self.frames}")
            reward = checks.real(f"reward at frame {self.frames}", reward)
            mask = self.encoder.mask_of(info)
            episode.total += reward
            episode.length += 1
            limit = self.settings.max_episode_frames
            truncated = bool(truncated) or (limit is not None and episode.length >= limit)
            seen = (episode.observation, action, reward, following, bool(terminated), truncated)
            self.replay.add(*seen, mask, stream=i)
            if terminated or truncated:
                finished.append(
                    {
                        "return": episode.total,
                        "length": float(episode.length),
                        "frame": float(self.frames),
                    }
                )
                self.episodes += 1
                self._counts[i] += 1
                self._episodes[i] = self._begin(i)
            else:
                episode.observation, episode.mask = following, mask
        self._learn(before)
        return finished

    def _begin(self, i: int) -> Episode:
        """Start environment i's next episode from a seed of its own: it can be started again."""
        key = (2, i, self._counts[i])
        seed = int(np.random.SeedSequence(self.seed, spawn_key=key).generate_state(1)[0] >> 1)
        raw, info = self.environments[i].reset(seed=seed)
        observation = self.encoder.encode(raw, f"observation at frame {self.frames}")
        return Episode(observation, self.encoder.mask_of(info))

    def _cut_episodes(self) -> None:
        """End the episodes under way where they are, and begin the next ones.

        Their present can't be kept in a file; this way the agent that is saved and the one that
        goes on do the same.
        """
        for i, episode in enumerate(self._episodes):
            if episode.length:
                self.replay.forget_window(i)
                self._counts[i] += 1
                self._episodes[i] = self._begin(i)
                self._episodes[i].greedy = self._greedy()[i]

    def _resume(self, counts: list[int], greedy: list[int]) -> None:
        """Begin the present episodes again, with the actions that were chosen for their start."""
        if len(counts) != len(self.environments) or len(greedy) not in (0, len(counts)):
            raise ValueError(f"it has {len(counts)} environments")
        self._counts = [checks.integer("counts", count, 0) for count in counts]
        if greedy:
            self._episodes = [self._begin(i) for i in range(len(counts))]
            last = self.encoder.n_actions - 1
            self._set_greedy([checks.integer("greedy", action, 0, last) for action in greedy])

    def save(self, path: str | PathLike[str]) -> None:
        """Write everything to one file, without pickle.

        An agent loaded from it goes on exactly as this one does. Episodes that are under way are
        cut for both: with one environment, save at the end of one (in a `learn` callback).
        """
        self._cut_episodes()
        checkpoint.save(self, Path(path))

    @classmethod
    def load(cls, path: str | PathLike[str], environment: Any = None) -> Self:
        """Read what `save` wrote; the environment is made by its saved id, or given."""
        manifest, arrays = archive.read(Path(path), "agent")
        kinds = {kind.__name__: kind for kind in DeepAgent.__subclasses__()}
        try:
            kind = kinds[manifest["class"]]
            if not issubclass(kind, cls):
                raise ValueError(f"it holds a {kind.__name__}, not a {cls.__name__}")
            if environment is None:
                environment = checkpoint.environment_of(manifest)
            agent = kind._from_checkpoint(manifest, arrays, environment)
            checkpoint.restore(agent, manifest, arrays)
        except archive.UNREADABLE as error:
            raise ValueError(f"{path} is not a readable checkpoint: {error}") from None
        return agent  # type: ignore[return-value]

    @classmethod
    def _from_checkpoint(
        cls: Any, manifest: dict[str, Any], arrays: dict[str, npt.NDArray[Any]], environment: Any
    ) -> "DeepAgent":
        """A new agent with the saved settings."""
        settings = Settings(**checkpoint.settings_of(manifest))
        checkpoint.check_plan(manifest, arrays, settings)
        options: dict[str, Any] = {"settings": settings}
        if cls._has_weighting:
            options["weighting"] = checkpoint.weighting_of(arrays)
            if options["weighting"].horizon != settings.horizon:
                raise ValueError(f"its weighting is not one of {settings.horizon} horizons")
        agent: DeepAgent = cls(environment, seed=manifest["seed"], **options)
        return agent

    def _present(self) -> tuple[npt.NDArray[Any], npt.NDArray[np.bool_]]:
        """Observations and masks of all environments."""
        observations = np.array([episode.observation for episode in self._episodes])
        return observations, np.array([episode.mask for episode in self._episodes])

    def _greedy(self) -> list[int]:
        found = self._functions.act(self._state.parameters, *self._present())
        return [int(action) for action in np.asarray(found)]

    def _set_greedy(self, actions: list[int]) -> None:
        for episode, action in zip(self._episodes, actions, strict=True):
            episode.greedy = action

    def _learn(self, before: int) -> None:
        """Update as often as frames since `before` call for, and choose what to do next."""
        settings = self.settings
        due = self.frames // settings.train_freq - before // settings.train_freq
        if self.frames < settings.learning_starts or not due or not len(self.replay):
            self._set_greedy(self._greedy())
            return
        samples = tuple(
            self.replay.sample(settings.batch_size, self.rng)
            for _ in range(due * settings.gradient_steps)
        )
        self._state, result = self._functions.frame(self._state, samples, *self._present())
        *actions, largest = np.asarray(result).tolist()
        if self.divergence is None and not largest <= settings.divergence_limit:
            self._diverged()
        self._set_greedy([int(action) for action in actions])

    def _diverged(self) -> None:
        """Stop, or remember where it began."""
        errors = np.asarray(self._state.error_sum)
        broken = np.flatnonzero(~np.isfinite(errors))
        worst = broken[0] if len(broken) else int(np.argmax(errors))
        self.divergence = (self.frames, float(self.horizons[worst]))
        if self.settings.on_divergence == "stop":
            raise DivergenceError(type(self).__name__, *self.divergence)

    def returns(self, rewards: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        """What the final horizon predicts, from the rewards of a whole episode: one per step."""
        found: npt.NDArray[np.float64] = weighted_sums(self.final_weights(len(rewards)), rewards)
        return found

    def final_weights(self, length: int) -> npt.NDArray[np.float64]:
        """Weight of each future reward in the final horizon's value, up to `length` of them."""
        raise TypeError(f"{type(self).__name__} does not say how it weighs rewards")

    def evaluate(
        self,
        episodes: int = 10,
        *,
        epsilon: float = 0.0,
        seed: int = 0,
        environment: Any = None,
    ) -> npt.NDArray[np.float64]:
        """Return of each of so many episodes, acting greedily but for `epsilon`.

        In an environment of its own, so that training is not disturbed: a new one like the
        training environment, or the one given.
        """
        episodes = checks.integer("episodes", episodes, 1)
        world = another(self.environment) if environment is None else make(environment)
        try:
            runs = [
                [step.reward for step in self.episode(world, epsilon=epsilon, seed=seed + i)]
                for i in range(episodes)
            ]
        finally:
            if environment is None:
                world.close()
        return np.array([sum(rewards) for rewards in runs])

    def episode(self, environment: Any, *, epsilon: float = 0.0, seed: int = 0) -> Iterator[Step]:
        """The steps of one episode in the given environment, as they happen."""
        epsilon = checks.real("epsilon", epsilon, 0, 1)
        rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(3,)))
        observation, info = environment.reset(seed=int(rng.integers(2**31)))
        limit = self.settings.max_episode_frames
        for length in itertools.count(1):
            mask = self.encoder.mask_of(info)
            values = self.values(observation)
            scores = np.where(mask, values @ self._acting_weights(), -np.inf)
            action = int(scores.argmax())
            if rng.random() < epsilon:
                action = random_action(rng, mask)
            following, reward, terminated, truncated, info = environment.step(
                self.encoder.to_environment(action)
            )
            yield Step(observation, values, action, float(reward), bool(terminated))
            observation = following
            if terminated or truncated or length == limit:
                return

    def __repr__(self) -> str:
        last = self.horizons[-1]
        what = (
            "infinite horizon" if math.isinf(last) else f"{self.backup.size} horizons to {last:g}"
        )
        return f"{type(self).__name__}({what}, {self.frames} frames, {asdict(self.settings)})"
