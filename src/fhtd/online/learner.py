"""What every online learner has: weights, an update per transition, values, and files."""

import inspect
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from os import PathLike
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from fhtd import checks
from fhtd.errors import DivergenceError
from fhtd.features import Representation
from fhtd.online.kernels.dispatch import (
    DIVERGED,
    NOT_FINITE,
    learn,
    specialised,
    start_episode,
)
from fhtd.online.kernels.duration import KERNELS
from fhtd.online.kernels.transition import Transition
from fhtd.online.schedule import Rate, check_rate, rate_at
from fhtd.weighting import Weighting

_NO_POLICY = np.zeros(0)
#: Shape and dtype of an array.
Layout = tuple[tuple[int, ...], npt.DTypeLike]
#: Rows of weights that can still be counted; beyond this much memory it is compared with the free.
_MOST_ROWS, _LARGE = 2**48, 2**28
_INTEGERS = np.dtype(np.int64)
#: The row of active lists that stands for a state that was not seen.
UNSEEN = 2

#: Every learner by the name that files know it by; a class registers itself when it is defined.
LEARNERS: dict[str, "type[Learner]"] = {}


def _has_one(rewards: Any) -> bool:
    """Whether it is a list of one, as whoever steps through options may have."""
    try:
        return len(rewards) == 1
    except TypeError:
        return False


def stored_name(kind: "type[Learner]") -> str:
    """A class's own name, with its module where it is not of this package."""
    is_ours = kind.__module__.startswith("fhtd.")
    return kind.__name__ if is_ours else f"{kind.__module__}.{kind.__qualname__}"


def arguments(kind: "type[Learner]") -> list[str]:
    """Names of all arguments of a learner's constructor; the features are the first."""
    names: dict[str, None] = {"features": None}
    for base in kind.__mro__:
        if "__init__" not in vars(base):
            continue
        signature = inspect.signature(vars(base)["__init__"])
        kinds = {parameter.kind for parameter in signature.parameters.values()}
        names |= dict.fromkeys(
            name
            for name, parameter in list(signature.parameters.items())[1:]
            if parameter.kind not in (parameter.VAR_KEYWORD, parameter.VAR_POSITIONAL)
        )
        # A constructor that passes on what it does not name has the arguments of the next, too.
        if inspect.Parameter.VAR_KEYWORD not in kinds:
            break
    return list(names)


class Learner(ABC):
    """Weights over active features, one column per learned horizon, learned from a stream.

    A subclass says what its kernel works on: the type of the state, `state_type`, and what that
    holds beside the weights, by `_constants`, `_memory` and `_room`. It keeps every argument of
    its constructor as an attribute of the same name, so that files can hold it.
    """

    #: Number of actions for which values are kept; 1 for state values.
    n_actions: int = 1
    #: The kernel's state, a NamedTuple; it selects the kernel.
    state_type: Callable[..., Any]
    #: The step sizes that the kernel takes, by the names of their attributes.
    rates: ClassVar[tuple[str, ...]] = ("step_size",)
    #: Slots of its window that a learner leaves free between two updates.
    _free_slots: ClassVar[int] = 0
    #: How often a window of horizons has moved on.
    _moves: int = 0
    #: Arrays of a file to begin with, while it is being loaded.
    _saved: Mapping[str, npt.NDArray[Any]] | None = None
    #: That file does not say which arrays it holds, and may lack what `_memory_before` names.
    _is_of_earlier_version: bool = False

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        LEARNERS[stored_name(cls)] = cls

    def __init__(
        self,
        features: Representation,
        weighting: Weighting,
        horizons: npt.NDArray[Any],
        *,
        step_size: Rate,
        initial: npt.ArrayLike,
        initial_spread: float,
        seed: int | None,
        allow_divergence: bool,
    ) -> None:
        """Check everything, then draw the first weights.

        Args:
            features: What the learner sees of an observation.
            weighting: How much each future reward counts.
            horizons: The horizons that are learned, one for each column of the weights.
            step_size: A number, a schedule, or a function of the number of updates so far.
            initial: The first weights: a number, or an array that broadcasts to `weights`.
            initial_spread: Standard deviation of normal noise on each of the first weights.
            seed: Seed of that noise, and of exploration in control.
            allow_divergence: Let weights become non-finite instead of raising DivergenceError.
        """
        for needed in ("size", "n_active", "observation_shape", "active"):
            if not hasattr(features, needed):
                raise TypeError(
                    f"features must be built by Features (or offer its interface), got {features!r}"
                )
        self.features = features
        # Read once: kernels rely on them, and features of a user's could change their minds.
        self._n_features = checks.integer("features.size", features.size, 1, _MOST_ROWS)
        self._n_active = checks.integer("features.n_active", features.n_active, 1, _MOST_ROWS)
        self.weighting = weighting
        self._first_horizons = checks.frozen(horizons.astype(np.float64))
        self.step_size = check_rate("step_size", step_size)
        self.initial_spread = checks.real("initial_spread", initial_spread, 0)
        self.initial = self._check_initial(initial, len(horizons))
        self.seed = None if seed is None else checks.integer("seed", seed, 0)
        self.allow_divergence = bool(allow_divergence)
        #: Transitions learned from so far.
        self.step = 0
        self._rng = np.random.default_rng(self.seed)
        self._state = self._first_state()
        # Rows 0 and 1: the active lists of the present and the next observation.
        # UNSEEN stays empty.
        shape = (3, self._n_active)
        self._active = np.zeros(shape, np.int64), np.zeros(shape)
        self._rate_values = np.zeros(len(self.rates))
        self._kernel = specialised(learn, type(self._state))

    @abstractmethod
    def _constants(self) -> dict[str, Any]:
        """What the kernel's state holds for good."""

    def _memory(self) -> dict[str, Layout]:
        """Shape and dtype of what changes while learning, beside the weights; it starts as 0."""
        return {}

    @property
    def _memory_before(self) -> dict[str, float]:
        """What files of earlier versions do not hold of it, and the value that it had then."""
        names = self._memory()
        return {name: 1.0 for name in ("window_continuations", "carried") if name in names}

    def _room(self) -> dict[str, Layout]:
        """The same of room to work in, where nothing outlives an update."""
        return {}

    def _argument(self, name: str) -> Any:
        """An argument of the constructor, as files keep it."""
        return getattr(self, name)

    def _window(self, length: int, *numbers: str) -> dict[str, Layout]:
        """A memory of the last `length` active lists, and of single numbers beside them."""
        return {
            "window_indices": ((length, self._n_active), np.int64),
            "window_values": ((length, self._n_active), np.float64),
            **{f"window_{name}": ((length,), np.float64) for name in numbers},
            "cursor": ((2,), np.int64),
        }

    def _columns(self, *names: str) -> dict[str, Layout]:
        """Room for one number per column of the weights, each."""
        return dict.fromkeys(names, ((len(self.horizons) + 1,), self.weighting.dtype))

    def _build_state(self, weights: npt.NDArray[Any]) -> Any:
        """The kernel's state around these (rows, horizons + 1) weights, without a past."""
        layouts = self._memory() | self._room()
        zeros = {name: np.zeros(shape, dtype) for name, (shape, dtype) in layouts.items()}
        return self.state_type(weights=weights, **self._constants(), **zeros)

    def _first_state(self) -> Any:
        if self._saved is None:
            needed = math.prod(self._shape) * (len(self.horizons) + 1) * 8
            if needed > _LARGE:
                checks.fits_memory("the weights need", needed)
            return self._build_state(self.draw_weights(self._rng))
        from fhtd.online.storage import restored_state

        saved, self._saved = self._saved, None
        return restored_state(self, saved)

    @property
    def _empty_columns(self) -> list[int]:
        """Columns of the kernel's weights that are 0 for good: V^0."""
        return [0]

    @property
    def _shape(self) -> tuple[int, ...]:
        """Shape of the weights without the horizon."""
        return (self._n_features,)

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
        """First weights for one run, (rows, horizons + 1) with column 0 zero.

        Args:
            rng: Where the noise of `initial_spread` is drawn from.

        Returns:
            A new array of weights.
        """
        columns = len(self.horizons)
        weights = np.zeros((*self._shape, columns + 1), self.weighting.dtype)
        weights[..., 1:] = self.initial
        if self.initial_spread:
            noise = rng.normal(0.0, self.initial_spread, weights[..., 1:].shape)
            weights[..., 1:] += noise
        return weights.reshape(-1, columns + 1)

    @property
    def horizons(self) -> npt.NDArray[np.float64]:
        """The learned horizons, ascending; infinity for a value without end."""
        return self._first_horizons

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
        expected = (self._n_active,)
        if np.shape(indices) != expected or np.shape(values) != expected:
            raise ValueError(f"features of {name} must be {expected[0]} indices and values")
        if getattr(indices, "dtype", None) is not _INTEGERS:
            indices = np.asarray(indices)
            if indices.dtype.kind not in "iu":
                raise TypeError(f"features of {name} must have integer indices, got {indices}")
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
        continuation: Any = 1.0,
        duration: Any = 1,
        next_policy: npt.NDArray[np.float64] = _NO_POLICY,
        **given_rates: Any,
    ) -> None:
        """Check everything, then change the weights."""
        several = None
        if duration == 1:
            if not isinstance(reward, float | int | str) and _has_one(reward):
                reward = float(checks.array("reward", reward, (1,))[0])
            reward = checks.real("reward", reward)
        else:
            several = self._check_duration(duration, reward)
            reward = 0.0
        ratio = checks.real("ratio", ratio, 0)
        if type(continuation) is not float or continuation != 1.0:
            continuation = checks.real("continuation", continuation, 0)
        self._load_active("observation", observation, 0)
        following = 1
        if terminated and next_observation is None:
            following = UNSEEN
        else:
            self._load_active("next_observation", next_observation, 1)
        rates = self._rate_values
        for i, name in enumerate(self.rates):
            rate = getattr(self, name)
            if given_rates and given_rates.get(name) is not None:
                rate = check_rate(name, given_rates[name])
            rates[i] = rate if type(rate) is float else rate_at(name, rate, self.step)
        seen = Transition(
            *self._active,
            0,
            following,
            action,
            reward,
            next_policy,
            bool(terminated),
            bool(truncated),
            ratio,
            continuation,
            not self.allow_divergence,
        )
        if several is None:
            answer = self._kernel(self._state, seen, rates, self._n_features)
        else:
            answer = self._learn_long(seen, several, rates)
        if answer > DIVERGED:
            raise self._refusal(answer)
        self.step += 1
        if answer == DIVERGED:
            raise self.divergence(self._state.weights, self.step)

    def _check_duration(self, duration: Any, rewards: Any) -> npt.NDArray[np.float64]:
        """The rewards of a transition of several steps; refused where none can be learned from."""
        duration = checks.integer("duration", duration, 1)
        if self.state_type not in KERNELS:
            raise ValueError(
                f"duration must be 1: {type(self).__name__} bootstraps after a number of steps of "
                "its own; FHTD, FHQ, Questions, FixedHorizonMC, TD and QLearning learn from longer "
                "transitions"
            )
        return checks.array("reward", rewards, (duration,))

    def _learn_long(
        self, seen: Transition, rewards: npt.NDArray[np.float64], rates: npt.NDArray[np.float64]
    ) -> int:
        """One update from a transition of several steps."""
        update, state = KERNELS[self.state_type], self._state
        room = np.empty_like(state.error)
        base, is_constant = getattr(self, "base", 0), self.weighting.is_constant
        return update(state, seen, rewards, rates, self._n_features, room, base, is_constant)

    def _refusal(self, answer: int) -> ValueError:
        """Why the kernel would not learn from the active lists that it was given."""
        for name, row in (("observation", 0), ("next_observation", 1)):
            indices, values = self._active[0][row], self._active[1][row]
            if answer == NOT_FINITE and not np.isfinite(values).all():
                return ValueError(f"features of {name} must have finite values, got {values}")
            if np.any(indices < 0) or np.any(indices >= self._n_features):
                last = self._n_features - 1
                return ValueError(
                    f"features of {name} must have indices from 0 to {last}, got {indices}"
                )
        return ValueError(f"action must be one of the {self.n_actions} that have weights")

    def new_episode(self) -> None:
        """Drop traces and windows: what comes next does not continue what came before.

        An `update` that ends an episode does so by itself. Call this where an environment is reset
        without one; `learn` does. States that still wait for rewards are not learned from.
        """
        start_episode(self._state)

    def divergence(
        self, weights: npt.NDArray[Any], step: int, run: int | None = None
    ) -> DivergenceError:
        """The error that names the first horizon whose weights are not finite.

        Args:
            weights: All weights, as the kernel has them.
            step: The transition after which they were so, counted from 1.
            run: The run, where there are several.
        """
        columns = np.flatnonzero(~np.isfinite(weights).all(axis=0))
        # Secondary weights (TDC) may fail first; they belong to the only value there is.
        horizon = self.horizons[columns[0] - 1] if len(columns) else math.inf
        return DivergenceError(type(self).__name__, step, float(horizon), run)

    def values(self, observation: Any) -> npt.NDArray[Any]:
        """The value of every learned horizon: (horizons,), for control (actions, horizons).

        Args:
            observation: The observation to value.
        """
        indices, values = self.features.active(observation)
        return np.asarray(np.einsum("...kh,k->...h", self.weights[..., indices, :], values))

    def rewards(self, observation: Any) -> npt.NDArray[np.float64]:
        """The expected reward at each of the next H steps, from consecutive horizons' values.

        Args:
            observation: The observation from which to look ahead.

        Raises:
            TypeError: The learner has no fixed horizons.
            ValueError: It does not learn every horizon from 1 on, or the weighting hides some
                reward.
        """
        if not math.isfinite(self.horizons[-1]):
            raise TypeError(
                f"{type(self).__name__} learns one infinite-horizon value, which does not say "
                "when rewards come; a fixed-horizon learner does"
            )
        self._check_every_horizon("rewards")
        return self.weighting.expected_rewards(self.values(observation))

    def _check_every_horizon(self, name: str) -> None:
        if not np.array_equal(self.horizons, np.arange(1, self.weighting.horizon + 1)):
            raise ValueError(
                f"{name} needs every horizon from 1 to {self.horizons[-1]:g}; this learner "
                f"has only {self.horizons.tolist()}"
            )

    def extend(self, horizon: int | Weighting, initial: npt.ArrayLike | None = None) -> Self:
        """Grow to a longer final horizon in place, keeping all that is learned.

        Args:
            horizon: A number where the weighting continues by itself (exponential, average), or a
                Weighting whose first coefficients are the present ones.
            initial: The first weights of the new horizons; by default those of the longest so far.

        Returns:
            The learner itself.

        Raises:
            TypeError: The learner has no horizon to extend.
        """
        raise TypeError(
            f"{type(self).__name__} learns one infinite-horizon value: it has no horizon to extend"
        )

    def reweighted(self, weighting: Weighting) -> Self:
        """A learner of another weighting, which begins with what this one knows of single rewards.

        Values are sums of expected rewards, weighed; where the rewards can be told from them, any
        other weighting of them is known as well. The new learner can go on learning; states that
        still wait for rewards, and traces, stay with the old one.

        Args:
            weighting: The other, of at most as many horizons.

        Raises:
            TypeError: If the values are not sums of the same rewards: an infinite-horizon value,
                or the values of control, where each horizon follows a policy of its own.
            ValueError: If a horizon is missing, or hides a reward, or the weighting is longer.
        """
        raise TypeError(
            f"{type(self).__name__} learns one infinite-horizon value, which does not say when "
            "rewards come; a fixed-horizon learner does"
        )

    def save(self, path: str | PathLike[str]) -> None:
        """Write everything to one `.npz` file without pickle; `load` continues from it.

        Args:
            path: Where to write; a file of that name is replaced.
        """
        from fhtd.online.storage import save

        save(self, path)

    @classmethod
    def load(
        cls,
        path: str | PathLike[str],
        *,
        features: Representation | None = None,
        step_size: Rate | None = None,
        second_step_size: Rate | None = None,
        epsilon: Rate | None = None,
        lambda_: Rate | None = None,
    ) -> Self:
        """Read what `save` wrote; the keywords give back what a file cannot hold.

        Args:
            path: The file.
            features: The features, where they were of your own.
            step_size: The step size, where it was a function of yours.
            second_step_size: That of TDC's second weights, where it was a function of yours.
            epsilon: The rate of exploration, where it was a function of yours.
            lambda_: The trace decay, where it was a function of yours.

        Returns:
            The learner, as it was.

        Raises:
            ValueError: It is not such a file, a damaged one, or one of another class.

        >>> from fhtd import TD, Features
        >>> TD(Features.tabular(3), discount=0.9).save("learner.npz")
        >>> TD.load("learner.npz").discount
        0.9
        """
        from fhtd.online.storage import load

        learner = load(
            path,
            features=features,
            step_size=step_size,
            second_step_size=second_step_size,
            epsilon=epsilon,
            lambda_=lambda_,
        )
        if not isinstance(learner, cls):
            raise ValueError(f"{path} holds a {type(learner).__name__}, not a {cls.__name__}")
        return learner

    def __repr__(self) -> str:
        horizons = (
            "infinite horizon"
            if not math.isfinite(self.horizons[-1])
            else f"{len(self.horizons)} horizons up to {self.horizons[-1]:g}"
        )
        return f"{type(self).__name__}({self._n_features} features, {horizons})"
