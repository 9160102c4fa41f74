"""What can be chosen about a deep agent; what is not chosen is as in the paper.

The agents themselves begin with a preset, see `presets`: files only ever lean on what is here.

Every algorithm has a dataclass of its own, made of the parts here: a setting that it does not have
cannot be given to it. The same fields are keywords in Python, flags of `fhtd train` and entries of
files. The `Options` beside each dataclass are the same fields again, for editors and type checkers;
a test holds the two together.
"""

import difflib
from dataclasses import asdict, dataclass, fields, replace
from typing import Any, Literal, TypedDict, TypeVar, get_args

import optax

from fhtd import checks
from fhtd.deep.networks import Initialisation
from fhtd.deep.optimisers import Name as Optimiser
from fhtd.deep.optimisers import build, falling

#: More than anyone trains; a slip of the keyboard, or a hostile file, is refused at once.
MOST_HORIZONS = 2**16
_MOST_IN_BATCH = 2**16
_MOST_STEPS = 2**10
_MOST_FRAMES = 2**53

OnDivergence = Literal["stop", "record"]
Loss = Literal["squared", "huber"]


@dataclass(frozen=True, kw_only=True)
class Settings:
    """What every deep agent has.

    Raises:
        TypeError: A setting is of the wrong kind.
        ValueError: A setting is out of range.

    >>> from fhtd.deep import Settings
    >>> Settings(learning_rate=1e-3, learning_rate_final=0.0).learning_rate_after(50_000)
    0.0005
    """

    discount: float = 0.99
    """Discount rate gamma (paper: 0.99 and 1)."""
    hidden: tuple[int, ...] = (256, 256)
    """Widths of the hidden layers (paper: two of 256)."""
    layer_norm: bool = False
    """Normalise each hidden layer before its rectifiers (paper: no)."""
    initialisation: Initialisation = "glorot"
    """First weights: Glorot uniform with zero biases, or PyTorch's default."""
    optimiser: Optimiser = "rmsprop-torch"
    """RMSprop as PyTorch or TensorFlow 2 compute it, or centred as in the DQN papers; or one of
    optax's, by its name there."""
    learning_rate: float = 1e-4
    """Learning rate (paper: 1e-4)."""
    learning_rate_final: float | None = None
    """Learning rate in the end, where it falls in a straight line (paper: it stays)."""
    learning_rate_updates: int = 100_000
    """Updates over which it falls to `learning_rate_final`."""
    max_grad_norm: float | None = None
    """Clip gradients to this global norm (paper: no clipping)."""
    n_envs: int = 1
    """Environments that are stepped side by side; frames count those of all."""
    max_episode_frames: int | None = None
    """Cut episodes after so many frames (paper: 5,000 in LunarLander)."""
    divergence_limit: float = 1e12
    """A loss above this, or not finite, is a divergence."""
    on_divergence: OnDivergence = "stop"
    """Stop with DivergenceError, or note frame and horizon of the first and go on."""

    def __post_init__(self) -> None:
        checks.real("discount", self.discount, 0)
        if not isinstance(self.hidden, tuple):
            raise TypeError(
                f"hidden must be widths such as (64, 64), or (64,) for one layer, got "
                f"{self.hidden!r}"
            )
        for width in self.hidden:
            checks.integer("hidden", width, 1)
        checks.boolean("layer_norm", self.layer_norm)
        one_of("initialisation", self.initialisation, Initialisation)
        one_of("optimiser", self.optimiser, Optimiser)
        one_of("on_divergence", self.on_divergence, OnDivergence)
        checks.positive("learning_rate", self.learning_rate)
        if self.learning_rate_final is not None:
            checks.real("learning_rate_final", self.learning_rate_final, 0)
        checks.integer("learning_rate_updates", self.learning_rate_updates, 1, 2**31 - 1)
        checks.positive("divergence_limit", self.divergence_limit)
        if self.max_grad_norm is not None:
            checks.positive("max_grad_norm", self.max_grad_norm)
        # Environments take their steps one after another.
        checks.integer("n_envs", self.n_envs, 1, 1024)
        if self.max_episode_frames is not None:
            checks.integer("max_episode_frames", self.max_episode_frames, 1, _MOST_FRAMES)

    def learning_rate_after(self, updates: int) -> float:
        """The learning rate of the next update.

        Args:
            updates: Gradient steps so far.
        """
        if self.learning_rate_final is None:
            return self.learning_rate
        share = min(updates / self.learning_rate_updates, 1.0)
        return self.learning_rate + share * (self.learning_rate_final - self.learning_rate)

    def make_optimiser(self) -> optax.GradientTransformation:
        """What these settings say of it: its name, learning rates and clipping.

        Returns:
            One of optax's.
        """
        rate: float | optax.Schedule = self.learning_rate
        if self.learning_rate_final is not None:
            rate = falling(rate, self.learning_rate_final, self.learning_rate_updates)
        return build(self.optimiser, rate, self.max_grad_norm)


class Options(TypedDict, total=False):
    """Keywords of every deep agent."""

    discount: float
    hidden: tuple[int, ...]
    layer_norm: bool
    initialisation: Initialisation
    optimiser: Optimiser
    learning_rate: float
    learning_rate_final: float | None
    learning_rate_updates: int
    max_grad_norm: float | None
    n_envs: int
    max_episode_frames: int | None
    divergence_limit: float
    on_divergence: OnDivergence


@dataclass(frozen=True, kw_only=True)
class ReplaySettings(Settings):
    """What agents have that learn from a replay.

    >>> from fhtd.deep import ReplaySettings
    >>> ReplaySettings(batch_size=64).replay_size
    100000
    """

    replay_size: int = 100_000
    """Transitions kept for replay (paper: 1e5)."""
    batch_size: int = 32
    """Transitions in a batch (paper: 32)."""
    learning_starts: int = 32
    """Frames before the first update (paper: not given)."""
    train_freq: int = 1
    """Frames between updates (paper: 1)."""
    gradient_steps: int = 1
    """Batches learned from at each update."""

    def __post_init__(self) -> None:
        super().__post_init__()
        checks.integer("replay_size", self.replay_size, 1)
        checks.integer("batch_size", self.batch_size, 1, _MOST_IN_BATCH)
        checks.integer("learning_starts", self.learning_starts, 1, _MOST_FRAMES)
        checks.integer("train_freq", self.train_freq, 1, _MOST_FRAMES)
        checks.integer("gradient_steps", self.gradient_steps, 1, _MOST_STEPS)


class ReplayOptions(Options, total=False):
    """Keywords of agents that learn from a replay."""

    replay_size: int
    batch_size: int
    learning_starts: int
    train_freq: int
    gradient_steps: int


@dataclass(frozen=True, kw_only=True)
class QSettings(ReplaySettings):
    """What agents have that learn action values and act on them (paper: deep control)."""

    n_step: int = 1
    """Rewards summed before bootstrapping; with n > 1 only every n-th horizon is learned."""
    max_duration: int = 1
    """Most steps that one action takes; above 1, the environment's `info["step_rewards"]` has the
    reward of each, and horizons and discounts count steps, not actions (paper: suggested)."""
    target_update_interval: int = 1
    """Updates between copies to the target network; 1 is no target network (paper: 1 and 100)."""
    double: bool = False
    """Choose the next action by other values than those that it is valued by: by the online network
    where there is a target network, else by the horizon above."""
    loss: Loss = "squared"
    """What an error costs: its square, or Huber's loss, linear beyond 1 (paper: the square)."""
    normalise: bool = False
    """Bring observations to mean 0 and variance 1 by running statistics of what is replayed."""
    epsilon_initial: float = 1.0
    """Probability of a random action at first (paper: 1)."""
    epsilon_final: float = 0.1
    """Probability of a random action in the end (paper: 0.1)."""
    epsilon_frames: int = 50_000
    """Frames over which it falls in a straight line (paper: 50,000)."""

    def __post_init__(self) -> None:
        super().__post_init__()
        _check_steps(self.n_step, self.max_duration)
        # Updates are counted in 32 bits.
        checks.integer("target_update_interval", self.target_update_interval, 1, 2**31 - 1)
        checks.boolean("double", self.double)
        one_of("loss", self.loss, Loss)
        checks.boolean("normalise", self.normalise)
        checks.real("epsilon_initial", self.epsilon_initial, 0, 1)
        checks.real("epsilon_final", self.epsilon_final, 0, 1)
        checks.integer("epsilon_frames", self.epsilon_frames, 1, _MOST_FRAMES)

    def epsilon(self, frame: int) -> float:
        """Probability of a random action.

        Args:
            frame: Frames so far.

        Returns:
            A number from 0 to 1.
        """
        share = min(frame / self.epsilon_frames, 1.0)
        return self.epsilon_initial + share * (self.epsilon_final - self.epsilon_initial)


class QOptions(ReplayOptions, total=False):
    """Keywords of agents that learn action values."""

    n_step: int
    max_duration: int
    target_update_interval: int
    double: bool
    loss: Loss
    normalise: bool
    epsilon_initial: float
    epsilon_final: float
    epsilon_frames: int


@dataclass(frozen=True, kw_only=True)
class SoftSettings(ReplaySettings):
    """What soft actor-critics have, for continuous actions (Haarnoja et al., 2018)."""

    initialisation: Initialisation = "torch"
    """First weights: Glorot uniform with zero biases, or PyTorch's default."""
    layer_norm: bool = False
    """Normalise each hidden layer of the critics before its rectifiers."""
    optimiser: Optimiser = "adam"
    """Of actor, critics and temperature: Adam, or RMSprop in one of three conventions."""
    learning_rate: float = 3e-4
    """Learning rate of actor, critics and temperature."""
    replay_size: int = 1_000_000
    """Transitions kept for replay."""
    batch_size: int = 256
    """Transitions in a batch."""
    learning_starts: int = 1_000
    """Frames before the first update; actions are random until then."""
    n_step: int = 1
    """Rewards summed before bootstrapping; with n > 1 only every n-th horizon is learned, and the
    steps between are taken as they came, by whatever policy and without its entropy."""
    max_duration: int = 1
    """Most steps that one action takes; above 1, the environment's `info["step_rewards"]` has the
    reward of each, and horizons and discounts count steps, not actions; entropy still counts once
    an action."""
    tau: float | None = None
    """Share of the critics that goes into the target networks at each update; None for none."""
    temperature: float | None = None
    """What entropy is worth, alpha; None to tune it towards `target_entropy`."""
    initial_temperature: float = 1.0
    """What it is worth at first, where it is tuned."""
    target_entropy: float | None = None
    """Entropy that the temperature is tuned towards; None for minus one for each of an action's
    numbers."""

    def __post_init__(self) -> None:
        super().__post_init__()
        _check_steps(self.n_step, self.max_duration)
        if self.tau is not None:
            checks.real("tau", self.tau, 0, 1)
            checks.positive("tau", self.tau)
        if self.temperature is not None:
            checks.positive("temperature", self.temperature)
        checks.positive("initial_temperature", self.initial_temperature)
        if self.target_entropy is not None:
            checks.real("target_entropy", self.target_entropy)


class SoftOptions(ReplayOptions, total=False):
    """Keywords of soft actor-critics."""

    n_step: int
    max_duration: int
    tau: float | None
    temperature: float | None
    initial_temperature: float
    target_entropy: float | None


def _check_steps(n_step: int, max_duration: int) -> None:
    """Either several actions between two states, or one that takes several steps."""
    checks.integer("n_step", n_step, 1)
    checks.integer("max_duration", max_duration, 1)
    if min(n_step, max_duration) > 1:
        raise ValueError(
            "max_duration above 1 needs n_step=1 (and deepen_every=None): each action has a length "
            "of its own"
        )


def check_durations(settings: Any) -> None:
    """Refuse actions of several steps where horizons are missing that they may bootstrap from.

    Args:
        settings: With `horizon`, `horizons`, `deepen_every` and `max_duration`.
    """
    if settings.max_duration == 1:
        return
    if settings.deepen_every is not None:
        raise ValueError(
            "max_duration above 1 needs deepen_every=None, and with it a longer horizon: a window "
            "knows one horizon beneath it, and an action of several steps reaches further down"
        )
    if settings.horizons is not None:
        raise ValueError(
            "max_duration above 1 needs horizons=None: actions may take any number of steps, so "
            "that all horizons are needed"
        )


S = TypeVar("S", bound=Settings)

#: What other libraries call the same thing.
_ELSEWHERE = {
    "gamma": "discount",
    "lr": "learning_rate",
    "buffer_size": "replay_size",
    "net_arch": "hidden",
    "hidden_sizes": "hidden",
    "exploration_final_eps": "epsilon_final",
    "exploration_initial_eps": "epsilon_initial",
    "optimizer": "optimiser",
    "h": "horizon",
    "ent_coef": "temperature",
    "alpha": "temperature",
    "polyak": "tau",
    "exploration_fraction": "epsilon_frames",
    "hidden_size": "hidden",
    "num_envs": "n_envs",
}
#: What other libraries ask at this place, and who is asked here.
_AT_LEARN = ("verbose", "log_interval", "callback", "progress_bar", "total_timesteps")
_ELSEWHERE_ALTOGETHER = {
    **dict.fromkeys(_AT_LEARN, "give it to learn()"),
    "policy": "there is none: layers are the setting hidden",
    "policy_kwargs": "layers are the setting hidden",
    "tensorboard_log": "give learn() the callback fhtd.boards.TensorBoard(folder)",
    "device": "JAX chooses it: see JAX_PLATFORMS",
}


def chosen(kind: type[S], settings: S | None, changes: dict[str, Any], owner: str) -> S:
    """The settings of an agent: those given, or the defaults, with changes by name."""
    if settings is not None and type(settings) is not kind:
        raise TypeError(
            f"settings must be {kind.__name__} for {owner}, got {type(settings).__name__}"
        )
    names = [field.name for field in fields(kind)]
    for name in changes:
        if name not in names:
            near = [_ELSEWHERE[name]] if name in _ELSEWHERE else []
            near += difflib.get_close_matches(name, names, n=1)
            hint = f": did you mean {near[0]}?" if near and near[0] in names else ""
            if name in _ELSEWHERE_ALTOGETHER:
                hint = f": {_ELSEWHERE_ALTOGETHER[name]}"
            raise TypeError(f"{name} is not a setting of {owner}{hint}")
    return changed(settings if settings is not None else kind(), changes)


def changed(settings: S, changes: dict[str, Any]) -> S:
    """Settings with some replaced; lists, as files have them, are taken for tuples."""
    given: dict[str, Any] = {k: tuple(v) if isinstance(v, list) else v for k, v in changes.items()}
    return replace(settings, **given)


def one_of(name: str, value: Any, kind: Any) -> None:
    """Refuse what is not one of a literal type's values."""
    if value not in get_args(kind):
        raise ValueError(f"{name} must be one of {', '.join(get_args(kind))}, got {value!r}")


def to_json(settings: Settings, *, changed: bool = False) -> dict[str, Any]:
    """Settings as plain data; with `changed`, only what differs from the defaults."""
    default = type(settings)()
    return {
        name: list(value) if isinstance(value, tuple) else value
        for name, value in asdict(settings).items()
        if not changed or value != getattr(default, name)
    }


def from_json(kind: type[S], saved: Any) -> S:
    """The inverse of `to_json`; what an older version did not know of has its default."""
    if not isinstance(saved, dict):
        raise TypeError(f"settings must be a dictionary, got {saved!r}")
    names = {field.name for field in fields(kind)}
    wrong = sorted(set(saved) - names)
    if wrong:
        raise ValueError(f"{wrong[0]} is not a setting of this version")
    return changed(kind(), saved)
