"""A deep agent as its user sees it: learn, save and load here, predict and evaluate in `Player`.

A new agent is one file: a dataclass of settings, and a subclass with `make_algorithm` and
`make_experience`. Loop, files, runs, pages and commands come with it.
"""

from collections.abc import Iterator
from inspect import isclass
from os import PathLike
from pathlib import Path
from typing import Any, ClassVar, Generic, Self, TypeVar, cast

import jax.numpy as jnp
import numpy as np
import numpy.typing as npt

from fhtd import checks, progress
from fhtd.boards import Printed
from fhtd.callbacks import Group
from fhtd.deep import checkpoint, describing
from fhtd.deep.algorithm import Algorithm
from fhtd.deep.codecs import Actions, DiscreteActions, Observations, actions_of
from fhtd.deep.experience import Experience
from fhtd.deep.loop import Choose, Loop, Measure
from fhtd.deep.metrics import Recent, View
from fhtd.deep.player import Player
from fhtd.deep.presets import DEFAULT, Preset, preset_named
from fhtd.deep.settings import Settings, changed, chosen
from fhtd.environments import make, one_of
from fhtd.errors import DivergenceError

S = TypeVar("S", bound=Settings)


class Agent(Player, Generic[S]):
    """An agent that learns in Gymnasium environments.

    Args:
        environment: a Gymnasium environment, or its id.
        seed: of everything: first weights, exploration, replay and episodes.
        preset: name of the settings to begin with; see `presets`.
        settings: all settings at once, in place of a preset; those given by name go before them.

    Raises:
        ValueError: Both a preset and settings are given, or a setting is out of range.
        TypeError: It has no such setting, or cannot act in such an environment.

    >>> from fhtd.deep import DQN
    >>> agent = DQN("CartPole-v1", hidden=(8,), seed=0)  # as any other agent
    >>> agent.learn(200).frames
    200
    >>> action, _ = agent.predict([0.0, 0.0, 0.0, 0.0])
    >>> agent.evaluate(episodes=2).shape
    (2,)
    >>> agent.save("agent.npz")
    >>> DQN.load("agent.npz").frames
    200
    """

    #: The dataclass of this agent's settings.
    settings_type: ClassVar[type[Settings]] = Settings
    #: Settings by name; `default` is what the agent has where nothing else is asked for.
    presets: ClassVar[dict[str, Preset]] = {DEFAULT: Preset()}
    #: Kinds of actions that the agent can choose from.
    takes: ClassVar[tuple[type[Actions], ...]] = (DiscreteActions,)
    #: Agents by name, to be found again when a file is read.
    kinds: ClassVar[dict[str, type["Agent[Any]"]]] = {}

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        Agent.kinds[cls.__name__] = cls
        describing.describe(cls)

    def __new__(cls, *given: Any, **named: Any) -> Self:
        """Explain calls as other libraries have them: Python would only count arguments."""
        if len(given) > 1 and isinstance(given[0], str) and given[0].endswith("Policy"):
            raise TypeError(
                f"{cls.__name__} takes no policy {given[0]!r}: the environment comes first, layers "
                f"are a setting, as in {cls.__name__}(environment, hidden=(64, 64))"
            )
        if "env" in named and not given:
            raise TypeError(f"env is called environment here: {cls.__name__}(environment, ...)")
        return super().__new__(cls)

    def __init__(
        self,
        environment: Any,
        *,
        seed: int = 0,
        preset: str | None = None,
        settings: S | None = None,
        **changes: Any,
    ) -> None:
        self.seed = checks.integer("seed", seed, 0)
        if settings is None:
            settings = self.settings_of(DEFAULT if preset is None else preset)
        elif preset is not None:
            raise ValueError("give either a preset or settings: both are all of them")
        kind: Any = self.settings_type
        self.settings: S = chosen(kind, settings, changes, type(self).__name__)
        self._source = None if hasattr(environment, "reset") else environment
        if isclass(environment):
            self._source = environment
        self.environment = make(environment)
        self.observations = Observations(self.environment.observation_space)
        space = self.environment.action_space
        self.actions = actions_of(space, self.takes, type(self).__name__)
        self._draws = np.random.default_rng(np.random.SeedSequence(self.seed, spawn_key=(5,)))
        #: First frame and horizon of a divergence that was recorded, not stopped at.
        self.divergence: tuple[int, float] | None = None
        self.loop = self._make_loop()

    @classmethod
    def settings_of(cls, preset: str) -> S:
        """All settings of a preset.

        Args:
            preset: its name, one of `presets`.

        Returns:
            Settings with every field set.

        >>> from fhtd.deep import DFHQ
        >>> DFHQ.settings_of("paper").horizon
        64
        """
        found = preset_named(preset, cls.presets, cls.__name__)
        return cast(S, changed(cls.settings_type(), found.settings))

    def _make_loop(self) -> Loop:
        several = [self.another() for _ in range(self.settings.n_envs - 1)]
        return Loop(
            [self.environment, *several],
            self.observations,
            self.actions,
            self.make_algorithm(),
            self.make_experience(),
            self.settings,
            self.seed,
            choose=self.make_choice(),
            measure=self.make_measure(),
        )

    def make_algorithm(self) -> Algorithm:
        """The pure functions that learn; each kind of agent has its own.

        Raises:
            TypeError: The agent's class has none.
        """
        raise TypeError(f"{type(self).__name__} must have make_algorithm")

    def make_experience(self) -> Experience:
        """What is learned from; each kind of agent has its own.

        Returns:
            A replay, or the newest rollout.

        Raises:
            TypeError: The agent's class has none.
        """
        raise TypeError(f"{type(self).__name__} must have make_experience")

    def make_choice(self) -> Choose | None:
        """How to act while learning, where it is not by the algorithm.

        Returns:
            A function, or None for what the algorithm does.
        """
        return None

    def make_measure(self) -> Measure | None:
        """What to learn from, where it is not the reward.

        Returns:
            A function, or None for the reward.
        """
        return None

    @property
    def experience(self) -> Any:
        """What is learned from."""
        return self.loop.experience

    @property
    def rng(self) -> np.random.Generator:
        """Random numbers of exploration and replay."""
        return self.loop.rng

    @property
    def state(self) -> Any:
        """All that the algorithm's updates change: parameters, optimiser, counters."""
        return self.loop.training.state

    @state.setter
    def state(self, value: Any) -> None:
        self.loop.training = self.loop.training._replace(state=value)

    @property
    def frames(self) -> int:
        """Frames so far, of all environments together."""
        return self.loop.frames

    @property
    def episodes(self) -> int:
        """Finished episodes so far, of all environments together."""
        return self.loop.episodes

    @property
    def updates(self) -> int:
        """Gradient steps so far."""
        return int(self.state.updates)

    def take_statistics(self) -> dict[str, npt.NDArray[np.float64]]:
        """Means of all metrics since this was last called, such as each horizon's `loss`.

        Returns:
            Arrays by the names of the metrics.
        """
        training = self.loop.training
        count = max(int(training.summed), 1)
        found = {k: np.asarray(v, np.float64) / count for k, v in training.sums.items()}
        zeros = {name: jnp.zeros_like(value) for name, value in training.sums.items()}
        self.loop.training = training._replace(summed=jnp.zeros_like(training.summed), sums=zeros)
        return found

    def mean_loss(self) -> float | None:
        """The loss since statistics were last taken, without taking them; None where there is none.

        It has to wait for the update under way: not for every frame.
        """
        training = self.loop.training
        count = int(training.summed)
        return float(np.mean(np.asarray(training.sums["loss"]))) / count if count else None

    def output_names(self) -> list[str]:
        """What a log calls the outputs: always the same, whatever has been learned.

        Returns:
            One name for each output, such as `h64`.
        """
        return [f"h{horizon:g}" for horizon in self.horizons]

    def deepening(self) -> dict[str, float]:
        """What a log should say of horizons that change.

        Returns:
            Numbers by their tags.
        """
        return {}

    def exploration(self) -> dict[str, float]:
        """What a log should say of how the agent explores.

        Returns:
            Numbers by their tags.
        """
        return {}

    def learn(
        self,
        total_timesteps: int,
        *,
        callback: Any = None,
        progress_bar: bool = False,
        verbose: int = 0,
        log_interval: int = 10,
    ) -> Self:
        """Train for so many more frames.

        Args:
            total_timesteps: frames, of all environments together.
            callback: called as `callback(agent, episode)` after each episode with its `return`,
                `length`, `frame` and number `episode`; ends training by returning False. Or one
                of `fhtd.callbacks`, or a list of them.
            progress_bar: show how far it is, and how it goes.
            verbose: 1 prints a line of the log now and then.
            log_interval: episodes between lines of the log, printed and given to callbacks.

        Returns:
            The agent itself.

        Raises:
            DivergenceError: The loss left all bounds, and `on_divergence` is `stop`.
        """
        checks.integer("log_interval", log_interval, 1)
        name, recent = type(self).__name__, Recent()
        with progress.live(name, total_timesteps, on=progress_bar) as advance:
            shown = [View(advance, self.frames)] if progress_bar else []
            printed = [Printed()] if verbose else []
            group = Group([*shown, *printed, Group.of(callback)])
            group.begin(self)
            try:
                for finished in self.rounds(total_timesteps):
                    goes_on = group.step(self)
                    for episode in finished:
                        goes_on &= group(self, episode)
                        recent.add(episode["return"], episode["length"])
                        number = int(episode["episode"])
                        if group.has_logs and number % log_interval == 0:
                            group.log(self, recent.row(self, number, int(episode["frame"])))
                    if not goes_on:
                        break
            finally:
                group.end(self)
        return self

    def rounds(self, total_timesteps: int) -> Iterator[list[dict[str, float]]]:
        """Train round by round, a frame in every environment; gives the episodes that ended.

        Args:
            total_timesteps: frames, of all environments together.

        Returns:
            An iterator; each item lists the episodes that ended in that round.

        Raises:
            DivergenceError: The loss left all bounds, and `on_divergence` is `stop`.
        """
        total = checks.integer("total_timesteps", total_timesteps, 1)
        if self.divergence is not None and self.settings.on_divergence == "stop":
            raise self._divergence_error()
        # Every environment takes a step at a time: the last round may go a little further.
        for _ in range(-(-total // len(self.loop.streams))):
            ended, largest = self.loop.round()
            if self.divergence is None and not largest <= self.settings.divergence_limit:
                self._diverged()
            yield [
                {
                    "return": one.total,
                    "length": float(one.length),
                    "frame": float(one.frame),
                    "episode": float(one.number),
                }
                for one in ended
            ]

    def _diverged(self) -> None:
        """Stop, or remember where it began."""
        errors = np.atleast_1d(np.asarray(self.loop.training.sums["loss"]))
        broken = np.flatnonzero(~np.isfinite(errors))
        worst = broken[0] if len(broken) else int(np.argmax(errors))
        horizons = self.horizons
        self.divergence = (self.frames, float(horizons[min(worst, len(horizons) - 1)]))
        if self.settings.on_divergence == "stop":
            raise self._divergence_error()

    def _divergence_error(self) -> DivergenceError:
        assert self.divergence is not None
        return DivergenceError(
            type(self).__name__,
            *self.divergence,
            advice="use a smaller learning_rate or max_grad_norm, or on_divergence='record' to go "
            "on; load a checkpoint from before, or begin anew",
        )

    def save(self, path: str | PathLike[str]) -> None:
        """Write everything to one file, without pickle, at any moment.

        An agent loaded from it goes on exactly as this one does. The file's predecessor is kept as
        `<name>.previous`.

        Args:
            path: of the file.
        """
        checkpoint.save(self, Path(path))

    @classmethod
    def load(cls, path: str | PathLike[str], environment: Any = None, *, env: Any = None) -> Self:
        """Read what `save` wrote.

        Args:
            path: of the file.
            environment: to go on in; default: made by the id that was saved.
            env: the same, by the name that other libraries have for it.

        Returns:
            The agent, as it was.

        Raises:
            ValueError: It is not such a file, a damaged one, or one of another kind of agent.

        >>> from fhtd.deep import DQN
        >>> DQN("CartPole-v1", hidden=(8,), seed=0).learn(50).save("agent.npz")
        >>> DQN.load("agent.npz").learn(50).frames
        100
        """
        return checkpoint.load(cls, Path(path), one_of(environment, env))

    @classmethod
    def from_saved(cls, environment: Any, saved: "checkpoint.Saved") -> Self:
        """A new agent with the settings of a file.

        Args:
            environment: to act in.
            saved: what the file says.
        """
        settings: Any = saved.settings
        return cls(environment, seed=saved.seed, settings=settings)

    def __repr__(self) -> str:
        last, count = self.horizons[-1], len(self.horizons)
        what = f"{count} horizons to {last:g}"
        if np.isinf(last):
            beside = f", {count - 1} auxiliary ones" if count > 1 else ""
            what = f"infinite horizon{beside}"
        return f"{type(self).__name__}({what}, {self.frames} frames, {self.settings})"


# Its subclasses are described as they are defined.
describing.describe(Agent)
