"""What every online learner has: weights, an update per transition, values, and files."""

import math
from abc import ABC, abstractmethod
from os import PathLike
from typing import Any, Self, TypedDict, Unpack

import numpy as np
import numpy.typing as npt

from fhtd import checks
from fhtd.errors import DivergenceError
from fhtd.features import Representation
from fhtd.online.kernels.dispatch import learn
from fhtd.online.kernels.transition import Transition
from fhtd.online.schedule import Rate, check_rate, rate_at
from fhtd.weighting import Weighting

_NO_POLICY = np.zeros(0)


class Options(TypedDict, total=False):
    """What every learner takes, by keyword."""

    #: The first weights: a number, or an array that broadcasts to the shape of `weights`.
    initial: npt.ArrayLike
    #: Standard deviation of independent normal noise added to every first weight of every horizon.
    initial_spread: float
    #: Seed of that noise, and of exploration in control.
    seed: int | None
    #: Let non-finite weights pass instead of raising DivergenceError.
    allow_divergence: bool


class Learner(ABC):
    """Weights over active features, one column per learned horizon, learned from a stream.

    The keywords `initial`, `initial_spread`, `seed` and `allow_divergence` are explained in
    `Options`; `step_size` is a number, a schedule, or a function of the number of updates so far.
    """

    #: Number of actions for which values are kept; 1 for state values.
    n_actions: int = 1
    #: Step size of a second set of weights (TDC only).
    second_step_size: Rate = 0.0

    def __init__(
        self,
        features: Representation,
        weighting: Weighting,
        horizons: npt.NDArray[Any],
        *,
        step_size: Rate,
        **options: Unpack[Options],
    ) -> None:
        unknown = set(options) - set(Options.__annotations__)
        if unknown:
            raise TypeError(f"{type(self).__name__} has no option {sorted(unknown)[0]!r}")
        for needed in ("size", "n_active", "observation_shape", "active"):
            if not hasattr(features, needed):
                raise TypeError(
                    f"features must be built by Features (or offer its interface), got {features!r}"
                )
        self.features = features
        self.weighting = weighting
        self.horizons = checks.frozen(horizons.astype(np.float64))
        self.step_size = check_rate("step_size", step_size)
        self.initial_spread = checks.real("initial_spread", options.get("initial_spread", 0.0), 0)
        self.initial = self._check_initial(options.get("initial", 0.0), len(horizons))
        seed = options.get("seed")
        self.seed = None if seed is None else checks.integer("seed", seed, 0)
        self.allow_divergence = bool(options.get("allow_divergence", False))
        #: Transitions learned from so far.
        self.step = 0
        self._rng = np.random.default_rng(self.seed)
        self._state = self._build_state(self.draw_weights(self._rng))
        # Rows 0 and 1: the active lists of the present and the next observation.
        shape = (2, features.n_active)
        self._active = np.zeros(shape, np.int64), np.zeros(shape)

    @abstractmethod
    def _build_state(self, weights: npt.NDArray[Any]) -> Any:
        """The kernel's state around these (rows, horizons + 1) weights."""

    @property
    def _shape(self) -> tuple[int, ...]:
        """Shape of the weights without the horizon."""
        return (self.features.size,)

    def _check_initial(self, initial: npt.ArrayLike, columns: int) -> npt.NDArray[Any]:
        values = checks.array("initial", initial, allow_complex=self.weighting.is_complex)
        try:
            np.broadcast_to(values, (*self._shape, columns))
        except ValueError:
            raise ValueError(
                f"initial must broadcast to {(*self._shape, columns)}, got shape {values.shape}"
            ) from None
        return checks.frozen(values.astype(self.weighting.dtype))

    def draw_weights(self, rng: np.random.Generator) -> npt.NDArray[Any]:
        """First weights for one run, (rows, horizons + 1) with column 0 zero."""
        columns = len(self.horizons)
        weights = np.zeros((*self._shape, columns + 1), self.weighting.dtype)
        weights[..., 1:] = self.initial
        if self.initial_spread:
            noise = rng.normal(0.0, self.initial_spread, weights[..., 1:].shape)
            weights[..., 1:] += noise
        return weights.reshape(-1, columns + 1)

    @property
    def weights(self) -> npt.NDArray[Any]:
        """The weights: features (control: actions, features), horizons last; a live view."""
        table: npt.NDArray[Any] = self._state.weights
        return table.reshape(*self._shape, -1)[..., 1:]

    def _load_active(self, name: str, observation: Any, row: int) -> None:
        try:
            indices, values = self.features.active(observation)
        except (TypeError, ValueError) as error:
            raise type(error)(str(error).replace("observation", name, 1)) from None
        expected = self._active[0][row].shape
        if np.shape(indices) != expected or np.shape(values) != expected:
            raise ValueError(f"features of {name} must be {expected[0]} indices and values")
        self._active[0][row] = indices
        self._active[1][row] = values

    def _learn(
        self,
        observation: Any,
        action: int,
        reward: Any,
        next_observation: Any,
        terminated: Any,
        truncated: Any,
        ratio: Any = 1.0,
        next_policy: npt.NDArray[np.float64] = _NO_POLICY,
    ) -> None:
        """Check everything, then change the weights."""
        reward = checks.real("reward", reward)
        ratio = checks.real("ratio", ratio, 0)
        self._load_active("observation", observation, 0)
        self._load_active("next_observation", next_observation, 1)
        step_size = rate_at("step_size", self.step_size, self.step)
        second = rate_at("second_step_size", self.second_step_size, self.step)
        seen = Transition(
            *self._active,
            0,
            1,
            action,
            reward,
            next_policy,
            bool(terminated),
            bool(truncated),
            ratio,
            not self.allow_divergence,
        )
        finite = learn(self._state, seen, step_size, second)
        self.step += 1
        if not finite:
            raise self.divergence(self._state.weights, self.step)

    def divergence(
        self, weights: npt.NDArray[Any], step: int, run: int | None = None
    ) -> DivergenceError:
        """The error that names the first horizon whose weights are not finite."""
        columns = np.flatnonzero(~np.isfinite(weights).all(axis=0))
        # Secondary weights (TDC) may fail first; they belong to the only value there is.
        horizon = self.horizons[columns[0] - 1] if len(columns) else math.inf
        return DivergenceError(type(self).__name__, step, float(horizon), run)

    def _read(self, observation: Any) -> npt.NDArray[Any]:
        indices, values = self.features.active(observation)
        return np.asarray(np.einsum("...kh,k->...h", self.weights[..., indices, :], values))

    def values(self, observation: Any) -> npt.NDArray[Any]:
        """The value of every learned horizon: (horizons,), for control (actions, horizons)."""
        return self._read(observation)

    def rewards(self, observation: Any) -> npt.NDArray[np.float64]:
        """The expected reward at each of the next H steps, from consecutive horizons' values."""
        if not math.isfinite(self.horizons[-1]):
            raise TypeError(
                f"{type(self).__name__} learns one infinite-horizon value, which does not say "
                "when rewards come; a fixed-horizon learner does"
            )
        if len(self.horizons) != self.weighting.horizon:
            raise ValueError(
                f"rewards needs every horizon from 1 to {self.weighting.horizon}; this learner "
                f"has only {self.horizons.tolist()}"
            )
        return self.weighting.expected_rewards(self.values(observation))

    def extend(self, horizon: int | Weighting, initial: npt.ArrayLike | None = None) -> Self:
        """Grow to a longer final horizon in place, keeping all that is learned.

        `horizon` is a number where the weighting continues by itself (exponential, average), or
        a Weighting whose first coefficients are the present ones. The new horizons start from
        the longest one learned so far, or from `initial`.
        """
        raise TypeError(
            f"{type(self).__name__} learns one infinite-horizon value: it has no horizon to extend"
        )

    def save(self, path: str | PathLike[str]) -> None:
        """Write everything to one `.npz` file without pickle; `load` continues from it."""
        from fhtd.online.storage import save

        save(self, path)

    @classmethod
    def load(cls, path: str | PathLike[str], **replace: Any) -> Self:
        """Read what `save` wrote. `replace` gives what a file cannot hold: functions of yours."""
        from fhtd.online.storage import load

        learner = load(path, **replace)
        if not isinstance(learner, cls):
            raise ValueError(f"{path} holds a {type(learner).__name__}, not a {cls.__name__}")
        return learner

    def __repr__(self) -> str:
        horizons = (
            "infinite horizon"
            if not math.isfinite(self.horizons[-1])
            else f"{len(self.horizons)} horizons up to {self.horizons[-1]:g}"
        )
        return f"{type(self).__name__}({self.features.size} features, {horizons})"
