"""A window of horizons that moves on, for learners that bootstrap after a fixed number of steps.

Columns 1, ..., K are horizons m + n, ..., m + K n over a frozen base, horizon m, in column 0. A
move makes the first column the base and every column the one after it; the last stays, as the start
of its successor:

    V_0 <- V_1,   V_j <- V_(j+1),   V_K stays,   m <- m + n

Kernels bootstrap column 1 from column 0 and never write to that, so they need not know of it.
"""

from typing import Any

import numpy as np
import numpy.typing as npt

from fhtd import checks
from fhtd.features import Representation
from fhtd.online.fixed_horizon import FixedHorizonLearner
from fhtd.online.kernels.window import move
from fhtd.online.schedule import Rate
from fhtd.weighting import Weighting


class WindowLearner(FixedHorizonLearner):
    """A fixed-horizon learner whose horizons can move on while it learns."""

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
        deepen_every: int | None = None,
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
            deepen_every: Updates after which the horizons move on, as `deepen` does; None: never.
        """
        self.deepen_every = deepen_every
        if deepen_every is not None:
            checks.integer("deepen_every", deepen_every, 1, 2**62)
        super().__init__(
            features,
            weighting,
            step_size=step_size,
            initial=initial,
            initial_spread=initial_spread,
            seed=seed,
            allow_divergence=allow_divergence,
        )
        if deepen_every is not None:
            self._check_window("deepen_every")

    @property
    def _stride(self) -> int:
        """How far apart the learned horizons are."""
        return 1

    @property
    def base(self) -> int:
        """The horizon beneath the window, m: 0 until it has moved."""
        return self._moves * self._stride

    @staticmethod
    def _check_constant(name: str, weighting: Weighting) -> None:
        """Refuse a weighting under which a horizon would change its meaning as the window moves."""
        if not weighting.is_constant:
            raise ValueError(
                f"{name} needs a weighting that is the same for every horizon of a window, such as "
                "exponential: one that mentions the final horizon has no meaning when it grows"
            )

    def _check_window(self, name: str) -> None:
        """Refuse horizons that would not be at home over another base."""
        self._check_constant(name, self.weighting)
        if self._first_horizons[0] != self._stride:
            raise ValueError(
                f"{name} needs horizons that are {self._stride} apart from the first on: choose a "
                "horizon that n divides"
            )

    def _check_extension(self, new: Weighting) -> None:
        super()._check_extension(new)
        if self.base or self.deepen_every is not None:
            self._check_constant("extend", new)

    def deepen(self) -> None:
        """Move the window of horizons on, as `deepen_every` does after so many updates.

        The first horizon is frozen as the base of the others, each column becomes the horizon that
        the next one was, and the last begins as a copy of what it had learned for the one before.

        Raises:
            ValueError: The weighting is not the same for every horizon, or n does not divide H.

        >>> from fhtd import FHTD, Features, Weighting
        >>> learner = FHTD(Features.tabular(3), Weighting.exponential(2))
        >>> learner.deepen()
        >>> learner.horizons.tolist()
        [2.0, 3.0]
        """
        self._check_window("deepen")
        move(self._state.weights)
        self._moves += 1

    def _learn(self, *seen: Any, **more: Any) -> None:
        super()._learn(*seen, **more)
        if self.deepen_every is not None and self.step % self.deepen_every == 0:
            self.deepen()

    @property
    def horizons(self) -> npt.NDArray[np.float64]:
        """The learned horizons as they are now, ascending."""
        return self._first_horizons + self.base if self._moves else self._first_horizons
