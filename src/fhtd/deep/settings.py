"""What can be chosen about a deep agent; the paper's choices are the defaults."""

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
import numpy.typing as npt

from fhtd import checks
from fhtd.deep.networks import Initialisation
from fhtd.deep.optimisers import Name as Optimiser


@dataclass(frozen=True)
class Settings:
    """Settings of DFHQ and DQN (paper: section on deep control, and the appendix's table)."""

    horizon: int = 64
    """Final horizon H of DFHQ (paper: 64)."""
    discount: float = 0.99
    """Discount rate gamma (paper: 0.99 and 1)."""
    n_step: int = 1
    """Rewards summed before bootstrapping; with n > 1 only every n-th horizon is learned."""
    horizons: tuple[int, ...] | None = None
    """Which horizons to learn: any ascending set that is closed under the backup."""
    hidden: tuple[int, ...] = (256, 256)
    """Widths of the hidden layers (paper: two of 256)."""
    initialisation: Initialisation = "glorot"
    """First weights: Glorot uniform with zero biases, or PyTorch's default."""
    unshared: bool = False
    """Give every horizon a network of its own, as the theory assumes."""
    optimiser: Optimiser = "rmsprop-torch"
    """RMSprop in the convention of PyTorch, TensorFlow or the DQN papers (centred), or Adam."""
    learning_rate: float = 1e-4
    """Learning rate (paper: 1e-4)."""
    max_grad_norm: float | None = None
    """Clip gradients to this global norm (paper: no clipping)."""
    loss_weights: tuple[float, ...] | None = None
    """Weight of each learned horizon in the loss (paper: equal)."""
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
    target_update_interval: int = 1
    """Updates between copies to the target network; 1 is no target network (paper: 1 and 100)."""
    double: bool = False
    """Choose the next action by the online network, value it by the target network."""
    n_envs: int = 1
    """Environments that are stepped side by side; frames count those of all."""
    epsilon_initial: float = 1.0
    """Probability of a random action at first (paper: 1)."""
    epsilon_final: float = 0.1
    """Probability of a random action in the end (paper: 0.1)."""
    epsilon_frames: int = 50_000
    """Frames over which it falls in a straight line (paper: 50,000)."""
    acting: Literal["final", "mean"] | int | tuple[float, ...] = "final"
    """What to act on: the final horizon, the mean of all or of the last k, or a weight for each."""
    max_episode_frames: int | None = None
    """Cut episodes after so many frames (paper: 5,000 in LunarLander)."""
    divergence_limit: float = 1e12
    """A loss above this, or not finite, is a divergence."""
    on_divergence: Literal["stop", "record"] = "stop"
    """Stop with DivergenceError, or note frame and horizon of the first and go on."""

    def __post_init__(self) -> None:
        for name in (
            "horizon",
            "n_step",
            "replay_size",
            "batch_size",
            "learning_starts",
            "train_freq",
            "gradient_steps",
            "epsilon_frames",
        ):
            checks.integer(name, getattr(self, name), 1)
        # Updates are counted in 32 bits; environments take their steps one after another.
        checks.integer("target_update_interval", self.target_update_interval, 1, 2**31 - 1)
        checks.integer("n_envs", self.n_envs, 1, 1024)
        for name in ("unshared", "double"):
            if not isinstance(getattr(self, name), bool):
                raise TypeError(f"{name} must be True or False, got {getattr(self, name)!r}")
        for width in self.hidden:
            checks.integer("hidden", width, 1)
        checks.real("discount", self.discount, 0)
        checks.positive("learning_rate", self.learning_rate)
        checks.positive("divergence_limit", self.divergence_limit)
        checks.real("epsilon_initial", self.epsilon_initial, 0, 1)
        checks.real("epsilon_final", self.epsilon_final, 0, 1)
        if self.max_grad_norm is not None:
            checks.positive("max_grad_norm", self.max_grad_norm)
        if self.max_episode_frames is not None:
            checks.integer("max_episode_frames", self.max_episode_frames, 1)
        for name, kind in (
            ("initialisation", Initialisation),
            ("optimiser", Optimiser),
            ("on_divergence", Literal["stop", "record"]),
        ):
            if getattr(self, name) not in get_args(kind):
                options = ", ".join(get_args(kind))
                raise ValueError(f"{name} must be one of {options}, got {getattr(self, name)!r}")
        if isinstance(self.acting, str) and self.acting not in ("final", "mean"):
            raise ValueError(f"acting must be final, mean or weights, got {self.acting!r}")
        if self.double and self.target_update_interval == 1:
            raise ValueError("double needs a target network: give target_update_interval above 1")

    def importance(self, size: int) -> npt.NDArray[np.float64]:
        """`loss_weights` for so many horizons, scaled to a mean of 1."""
        if self.loss_weights is None:
            return np.ones(size)
        weights = checks.array("loss_weights", self.loss_weights, (size,))
        if np.any(weights < 0) or not weights.sum() > 0:
            raise ValueError("loss_weights must be at least 0 and not all 0")
        return np.asarray(weights / weights.mean())
