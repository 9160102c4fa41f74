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
    Q^(h-n)(S_{t+n}, a). The n - 1 actions between are those that were taken, by whatever policy:
    what is learned is the value of acting so for n - 1 steps more, and best afterwards. Only where
    a given policy is evaluated (`next_policy`) do ratios correct for them. The paper expects
    horizons to disagree most where they are short, and suggests to learn the first k with one step
    each, as FHQ does, and to skip n at a time from there:

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

    def update(
        self,
        observation: Any,
        action: int,
        reward: float | npt.ArrayLike,
        next_observation: Any,
        terminated: bool = False,
        truncated: bool = False,
        next_policy: npt.ArrayLike | None = None,
        continuation: float = 1.0,
        duration: int = 1,
        ratio: float = 1.0,
    ) -> None:
        """Learn from one transition.

        Args:
            observation: What was seen before the step, S.
            action: The action taken, A.
            reward: The reward of the step, R.
            next_observation: What was seen after it, S'; None will do where the episode ended.
            terminated: The episode ended: S' is worth 0.
            truncated: The episode was cut, by a time limit say: S' keeps its value.
            next_policy: Probabilities of the next actions. With them S' is worth their expectation;
                without, its best action.
            continuation: How much of what follows S' counts, beside the weighting: 1 as a rule, 0
                as after a termination, but the stream goes on.
            duration: 1: a target sums n transitions of one step.
            ratio: pi(A|S) / mu(A|S) of a policy pi that is evaluated from the behaviour mu of
                another. It multiplies the errors of earlier actions, whose targets go on with A;
                that of A itself is learned whatever the probability with which it was taken.

        Raises:
            ValueError: An argument does not fit, or `next_policy` is needed under this weighting.
            DivergenceError: The weights are not finite any more, unless `allow_divergence`.
        """
        self._learn(
            observation,
            self._checked_action(action),
            reward,
            next_observation,
            terminated,
            truncated,
            ratio,
            continuation,
            duration,
            self._checked_policy(next_policy),
        )

    @property
    def sums_later_actions(self) -> bool:
        """Whether targets hold rewards of actions after the first, which ratios correct for."""
        return bool(self._state.lengths.max() > 1)
