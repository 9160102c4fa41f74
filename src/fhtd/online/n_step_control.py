"""n-step FHQ-learning, and the hybrid of it with one-step FHQ-learning."""

from collections.abc import Sequence
from typing import Any, Literal

import numpy.typing as npt

from fhtd.online.fixed_horizon import check_weighting
from fhtd.online.multi_step import MultiStepLearner
from fhtd.online.q_learning import FHQ
from fhtd.online.schedule import Rate
from fhtd.weighting import Weighting


class NStepFHQ(MultiStepLearner, FHQ):
    """n-step FHQ-learning; and with `one_step_horizons` the paper's hybrid (appendix).

    Q^h(S_t, A_t) moves towards the weighted sum of n rewards and then the maximum over a of
    Q^(h-n)(S_{t+n}, a). The n - 1 actions between are those that were taken, by whatever policy,
    and nothing corrects for that: what is learned is the value of acting so for n - 1 steps more.
    The paper expects horizons to disagree most where they are short, and suggests to learn the
    first k with one step each, as FHQ does, and to skip n at a time from there:

        h <= k: from h - 1        h > k: from max(h - n, k)

    >>> from fhtd import Features, NStepFHQ, Weighting
    >>> weighting = Weighting.exponential(12)
    >>> agent = NStepFHQ(Features.tabular(1), 2, weighting, n=4, one_step_horizons=2, seed=0)
    >>> agent.horizons.tolist()
    [1.0, 2.0, 4.0, 8.0, 12.0]
    >>> for _ in range(300):
    ...     agent.update(0, 1, 1.0, 0)
    >>> agent.values(0)[1].round(2).tolist()
    [1.0, 2.0, 4.0, 8.0, 12.0]
    """

    def __init__(
        self,
        features: Any,
        n_actions: int | None = None,
        weighting: Weighting | None = None,
        n: int | None = None,
        *,
        one_step_horizons: int = 0,
        horizons: Sequence[int] | None = None,
        step_size: Rate = 0.1,
        epsilon: Rate = 0.1,
        initial: npt.ArrayLike = 0.0,
        initial_spread: float = 0.0,
        seed: int | None = None,
        allow_divergence: bool = False,
        deepen_every: int | None = None,
        acting: Literal["final", "agreement"] = "final",
    ) -> None:
        """Begin with the first weights.

        Args:
            features: What the learner sees of an observation: built by `Features`, or your own; or
                a Gymnasium environment or its id, whose spaces say it.
            n_actions: How many actions there are; an environment says it.
            weighting: How much each future reward counts, such as `Weighting.exponential(100)`.
            n: How many rewards a target sums before it bootstraps, from 1 to the horizon.
            one_step_horizons: How many of the first horizons are learned with one step each, k: 0
                for plain n-step control, the final horizon or more for FHQ.
            horizons: Which horizons to learn: any that ascend to the final one and are closed under
                the backup; by default those that the final one needs.
            step_size: A number, `Decay` or `Linear`, or a function of the updates so far.
            epsilon: Probability of a random action in `act`: a number, a schedule or a function.
            initial: The first weights: a number, or an array that broadcasts to `weights`.
            initial_spread: Standard deviation of normal noise on each of the first weights.
            seed: Seed of that noise and of exploration; None draws one.
            allow_divergence: Let weights become non-finite instead of raising DivergenceError.
            deepen_every: Updates after which the horizons move on, as `deepen` does; None: never.
            acting: What to act on: the final horizon, or what all horizons agree on, each with its
                own worst action at 0 and its best at 1.
        """
        self._take_backup(check_weighting(weighting), n, one_step_horizons, horizons)
        super().__init__(
            features,
            n_actions,
            weighting,
            step_size=step_size,
            epsilon=epsilon,
            initial=initial,
            initial_spread=initial_spread,
            seed=seed,
            allow_divergence=allow_divergence,
            deepen_every=deepen_every,
            acting=acting,
        )
