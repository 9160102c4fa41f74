"""What the fixed-horizon learners share: a weighting, its horizons, and growing them."""

from typing import Any, Self

import numpy as np
import numpy.typing as npt

from fhtd import checks
from fhtd.features import Representation
from fhtd.online.learner import Learner, arguments
from fhtd.online.schedule import Rate
from fhtd.weighting import Weighting, single_rewards


def check_weighting(weighting: Any) -> Weighting:
    """Refuse anything but a Weighting, with a hint at how to build one."""
    if not isinstance(weighting, Weighting):
        raise TypeError(
            "weighting must be a Weighting, such as Weighting.exponential(horizon, discount), "
            f"got {weighting!r}"
        )
    return weighting


def with_column_zero(values: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Prepend the entry of horizon 0 along the last axis, so that index h is horizon h."""
    return np.ascontiguousarray(np.concatenate([values[..., :1] * 0, values], axis=-1))


class FixedHorizonLearner(Learner):
    """Learns values of fixed horizons under a weighting; can grow its final horizon."""

    def __init__(
        self,
        features: Representation,
        weighting: Weighting,
        *,
        step_size: Rate = 0.1,
        initial: npt.ArrayLike = 0.0,
        initial_spread: float = 0.0,
        seed: int | None = None,
        allow_divergence: bool = False,
    ) -> None:
        """Begin with the first weights.

        Args:
            features: What the learner sees of an observation: built by `Features`, or your own.
            weighting: How much each future reward counts, such as `Weighting.exponential(100)`.
            step_size: A number, `Decay` or `Linear`, or a function of the updates so far.
            initial: The first weights: a number, or an array that broadcasts to `weights`.
            initial_spread: Standard deviation of normal noise on each of the first weights.
            seed: Seed of that noise, and of exploration in control; None draws one.
            allow_divergence: Let weights become non-finite instead of raising DivergenceError.
        """
        check_weighting(weighting)
        super().__init__(
            features,
            weighting,
            self._learned_horizons(weighting.horizon),
            step_size=step_size,
            initial=initial,
            initial_spread=initial_spread,
            seed=seed,
            allow_divergence=allow_divergence,
        )

    def _learned_horizons(self, horizon: int) -> npt.NDArray[np.int64]:
        return np.arange(1, horizon + 1)

    def extend(self, horizon: int | Weighting, initial: npt.ArrayLike | None = None) -> Self:
        """Grow to a longer final horizon in place, keeping all that is learned.

        Args:
            horizon: A number where the weighting continues by itself (exponential, average), or a
                Weighting whose first coefficients are the present ones.
            initial: The first weights of the new horizons; by default those of the longest so far.

        Returns:
            The learner itself.

        Raises:
            ValueError: The weighting does not say how it goes on, the new horizons do not fit, a
                window that moves on would lose its constant weighting, or `horizons` were chosen,
                which say nothing of new ones.

        >>> from fhtd import FHTD, Features, Weighting
        >>> learner = FHTD(Features.tabular(3), Weighting.exponential(2))
        >>> learner.extend(4).horizons.tolist()
        [1.0, 2.0, 3.0, 4.0]
        """
        new = self.weighting.continued(horizon)
        self._check_extension(new)
        horizons = self._learned_horizons(new.horizon)
        kept = len(self.horizons)
        if not np.array_equal(horizons[:kept], self._first_horizons):
            raise ValueError(
                f"horizon {new.horizon} would learn horizons {horizons.tolist()}, which do not "
                f"continue {self._first_horizons.astype(int).tolist()}"
            )
        added = len(horizons) - kept
        if not added:
            return self
        last = self.weights[..., -1:]
        fill = last if initial is None else self._check_initial(initial, added)
        first = np.broadcast_to(self.initial, (*self._shape, kept))
        table = with_column_zero(self._append(self.weights, fill, added))
        self.initial = checks.frozen(
            self._append(first, first[..., -1:] if initial is None else fill, added)
        )
        self.weighting = new
        self._first_horizons = checks.frozen(horizons.astype(np.float64))
        before = self._state
        table = table.reshape(-1, len(horizons) + 1)
        table[:, 0] = before.weights[:, 0]
        self._state = self._build_state(table)
        self._carry_over(before)
        return self

    def _check_extension(self, new: Weighting) -> None:
        """Refuse a longer weighting that a learner of this kind cannot grow to."""

    def reweighted(self, weighting: Weighting) -> Self:
        """A learner of another weighting, which begins with what this one knows of single rewards.

        Values are sums of expected rewards, weighed; where the rewards can be told from them, any
        other weighting of them is known as well. The new learner can go on learning; states that
        still wait for rewards, and traces, stay with the old one.

        Args:
            weighting: The other, of at most as many horizons.

        Raises:
            TypeError: If each horizon follows a policy of its own, as in control.
            ValueError: If a horizon is missing, or hides a reward, or the weighting is longer.

        >>> from fhtd import FHTD, Features, Weighting
        >>> learner = FHTD(Features.tabular(1), Weighting.exponential(4), step_size=0.5)
        >>> for _ in range(60):
        ...     learner.update(0, 2.0, 0)
        >>> learner.reweighted(Weighting.exponential(3, 0.5)).values(0).round(3).tolist()
        [2.0, 3.0, 3.5]
        """
        new = check_weighting(weighting)
        longest = self.weighting.horizon
        if self.n_actions > 1 or len(self._shape) > 1:
            raise TypeError(
                f"{type(self).__name__} cannot be reweighted: each horizon follows a policy of its "
                "own, so that their values are not sums of the same rewards"
            )
        self._check_every_horizon("reweighted")
        if new.horizon > longest:
            raise ValueError(
                f"weighting must have at most the {longest} horizons that are learned, got "
                f"{new.horizon}"
            )
        needed = slice(new.horizon)
        self.weighting.check_single_rewards(horizon=new.horizon)
        table = self.weighting.coefficients()[needed, needed]
        rewards = single_rewards(table, self.weights[..., needed])
        weights = rewards @ new.coefficients().T
        given = {name: self._argument(name) for name in arguments(type(self))}
        if given.get("horizons") is not None:
            given["horizons"] = range(1, new.horizon + 1)
        if "n" in given:
            given["n"] = min(given["n"], new.horizon)
        given |= {
            "weighting": new,
            "initial": weights if new.is_complex else weights.real,
            "initial_spread": 0.0,
        }
        found = type(self)(**given)
        found.step = self.step
        return found

    def _append(
        self, columns: npt.NDArray[Any], more: npt.NDArray[Any], count: int
    ) -> npt.NDArray[Any]:
        """Weights with `count` further columns, broadcast from `more`."""
        return np.concatenate([columns, np.broadcast_to(more, (*self._shape, count))], axis=-1)

    def _carry_over(self, before: Any) -> None:
        """Move the window of the past, oldest first, into the longer one."""
        if not hasattr(before, "cursor"):
            return
        count, newest = before.cursor
        size = len(before.window_indices)
        slots = (newest - np.arange(count)[::-1]) % size
        for field in before._fields:
            if field.startswith("window_"):
                old, new = getattr(before, field), getattr(self._state, field)
                kept = (slice(count), *(slice(length) for length in old.shape[1:]))
                new[kept] = old[slots]
        self._state.cursor[:] = count, (count - 1) % len(self._state.window_indices)

    def _coefficients(self) -> dict[str, npt.NDArray[Any]]:
        """Both arrays of the weighting, indexed by horizon."""
        return {
            "rewards": with_column_zero(self.weighting.rewards),
            "bootstraps": with_column_zero(self.weighting.bootstraps),
        }
