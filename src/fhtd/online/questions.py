"""Several weightings of one stream, learned side by side.

Their columns lie in one table, each question after an empty column that is its V^0 = 0:

    0 | 1 .. H_1 | 0 | 1 .. H_2 | ...

With c = d = 0 an empty column stays 0 and nothing bootstraps across it, not even from a transition
of several steps, so the whole is FHTD under one joined weighting: features are looked up once, for
all questions.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from fhtd.features import Representation
from fhtd.online.fixed_horizon import FixedHorizonLearner, check_weighting
from fhtd.online.kernels.one_step import OneStep
from fhtd.online.learner import Layout
from fhtd.online.prediction import PredictionLearner
from fhtd.online.schedule import Rate
from fhtd.weighting import Weighting


class Questions(PredictionLearner, FixedHorizonLearner):
    """One-step FHTD for several weightings at once; answers go by the names of the questions.

    >>> from fhtd import Features, Questions, Weighting
    >>> asked = {"sum": Weighting.exponential(3), "mean": Weighting.average(2)}
    >>> learner = Questions(Features.tabular(1), asked, step_size=0.5)
    >>> for _ in range(60):
    ...     learner.update(0, 4.0, 0)
    >>> {name: answer.round(3).tolist() for name, answer in learner.answers(0).items()}
    {'sum': [4.0, 8.0, 12.0], 'mean': [4.0, 4.0]}
    """

    state_type = OneStep

    def __init__(
        self,
        features: Representation,
        weightings: Mapping[str, Weighting] | Sequence[Weighting],
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
            weightings: The questions, by name; those of a list are called "0", "1" and so on.
            step_size: A number, `Decay` or `Linear`, or a function of the updates so far.
            initial: The first weights: a number, or an array that broadcasts to `weights`.
            initial_spread: Standard deviation of normal noise on each of the first weights.
            seed: Seed of that noise; None draws one.
            allow_divergence: Let weights become non-finite instead of raising DivergenceError; a
                question that does then takes the one after it along.

        Raises:
            TypeError: If a question is not a Weighting, or has no text for a name, or only one is
                given and not in a list.
            ValueError: If there are none.
        """
        if isinstance(weightings, Weighting):
            raise TypeError("weightings must be a list of weightings, or a dict of them by name")
        if not isinstance(weightings, Mapping):
            weightings = {str(i): one for i, one in enumerate(weightings)}
        if not weightings:
            raise ValueError("weightings must hold at least one question")
        for name, one in weightings.items():
            if not isinstance(name, str):
                raise TypeError(f"weightings must have texts for names, got {name!r}")
            check_weighting(one)
        #: The questions by name, in order.
        self.weightings = dict(weightings)
        super().__init__(
            features,
            _joined(list(self.weightings.values())),
            step_size=step_size,
            initial=initial,
            initial_spread=initial_spread,
            seed=seed,
            allow_divergence=allow_divergence,
        )

    @property
    def places(self) -> dict[str, slice]:
        """Which columns of `weights` and `values` belong to each question."""
        found, first = {}, 0
        for name, one in self.weightings.items():
            found[name] = slice(first, first + one.horizon)
            first += one.horizon + 1
        return found

    @property
    def horizons(self) -> npt.NDArray[np.float64]:
        """The horizon of each column within its own question; 0 for the empty ones between."""
        found = np.zeros(self.weighting.horizon)
        for place in self.places.values():
            found[place] = np.arange(1, place.stop - place.start + 1)
        return found

    @property
    def _empty_columns(self) -> list[int]:
        ends = [place.stop + 1 for place in self.places.values()]
        return [0, *ends[:-1]]

    def draw_weights(self, rng: np.random.Generator) -> npt.NDArray[Any]:
        """First weights for one run, with the empty columns zero.

        Args:
            rng: Where the noise of `initial_spread` is drawn from.
        """
        weights = super().draw_weights(rng)
        weights[:, self._empty_columns] = 0
        return weights

    def answers(self, observation: Any) -> dict[str, npt.NDArray[Any]]:
        """The values of every question, by its name: one for each of its horizons.

        Args:
            observation: The observation to value.
        """
        values = self.values(observation)
        return {
            name: values[place] if self.weightings[name].is_complex else values[place].real
            for name, place in self.places.items()
        }

    def rewards(self, observation: Any) -> npt.NDArray[np.float64]:
        """The expected reward at each of the next steps, from the longest question that tells.

        Args:
            observation: The observation from which to look ahead.

        Raises:
            ValueError: If every weighting hides single rewards.
        """
        refused = None
        answers = self.answers(observation)
        for name in sorted(answers, key=lambda one: -self.weightings[one].horizon):
            try:
                return self.weightings[name].expected_rewards(answers[name])
            except ValueError as error:
                refused = error
        assert refused is not None
        raise refused

    def extend(self, horizon: Any, initial: Any = None) -> Any:
        """Refused: each question has a horizon of its own."""
        raise TypeError("Questions cannot be extended: each has a horizon of its own")

    def reweighted(self, weighting: Weighting) -> Any:
        """Refused: ask a learner of one weighting, or add the question from the beginning.

        Returns:
            A new learner.
        """
        raise TypeError("Questions cannot be reweighted: add the question to them instead")

    def _constants(self) -> dict[str, Any]:
        return {"shift": 1, "is_constant": False, **self._coefficients()}

    def _room(self) -> dict[str, Layout]:
        return self._columns("following", "error")


def _joined(weightings: list[Weighting]) -> Weighting:
    """One after another, with an empty column between any two."""
    zero = np.zeros(1)
    c, d = [weightings[0].rewards], [weightings[0].bootstraps]
    for one in weightings[1:]:
        c += [zero, one.rewards]
        d += [zero, one.bootstraps]
    return Weighting(np.concatenate(c), np.concatenate(d))
