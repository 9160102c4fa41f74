"""The paper's prediction learners: one-step, n-step, lambda and Monte Carlo FHTD."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from fhtd import checks
from fhtd.features import Representation
from fhtd.horizons import closed_horizons
from fhtd.online.fixed_horizon import FixedHorizonLearner, check_weighting
from fhtd.online.kernels.dispatch import DIVERGED, LEARNED
from fhtd.online.kernels.hybrid import Hybrid
from fhtd.online.kernels.monte_carlo import MonteCarlo
from fhtd.online.kernels.n_step import NStep
from fhtd.online.kernels.one_step import OneStep
from fhtd.online.kernels.traces import Traces
from fhtd.online.kernels.transition import Transition
from fhtd.online.learner import UNSEEN, Layout, Learner
from fhtd.online.multi_step import MultiStepLearner
from fhtd.online.schedule import Rate, check_rate, rate_at
from fhtd.online.window import WindowLearner
from fhtd.weighting import Weighting


class PredictionLearner(Learner):
    """Learns state values from transitions (S, R, S')."""

    def update(
        self,
        observation: Any,
        reward: float | npt.ArrayLike,
        next_observation: Any,
        terminated: bool = False,
        truncated: bool = False,
        ratio: float = 1.0,
        continuation: float = 1.0,
        duration: int = 1,
    ) -> None:
        """Learn from one transition.

        Args:
            observation: What was seen before the step, S.
            reward: The reward of the step, R; of several steps, one each.
            next_observation: What was seen after it, S'; None will do where the episode ended.
            terminated: The episode ended: S' is worth 0.
            truncated: The episode was cut, by a time limit say: S' keeps its value.
            ratio: The importance ratio pi(A|S) / mu(A|S), 1 when on-policy. Where observations are
                pairs with an action, that of the next action instead, and 1 at a termination.
            continuation: How much of what follows S' counts, beside the weighting: 1 as a rule, 0
                as after a termination, but the stream goes on.
            duration: How many steps the transition took, of an option or skipped frames: horizon h
                then bootstraps from h - duration, and `reward` holds all its rewards in order.
                FHTD, Questions, FixedHorizonMC and TD take others than 1.

        Raises:
            ValueError: The observation has no features, or a number is not finite.
            DivergenceError: The weights are not finite any more, unless `allow_divergence`.
        """
        self._learn(
            observation,
            0,
            reward,
            next_observation,
            terminated,
            truncated,
            ratio,
            continuation,
            duration,
        )


class FHTD(PredictionLearner, WindowLearner):
    """One-step FHTD: H values, each bootstrapping from the one before (Algorithm 1).

    V^h(S) <- V^h(S) + alpha rho [c_h R + d_h V^(h-1)(S') - V^h(S)], with V^0 = 0.

    >>> from fhtd import FHTD, Features, Weighting
    >>> learner = FHTD(Features.tabular(3), Weighting.exponential(3), step_size=0.5)
    >>> for _ in range(30):
    ...     learner.update(0, 1.0, 1)
    ...     learner.update(1, 2.0, 2, terminated=True)
    >>> learner.values(0).round(3).tolist()
    [1.0, 3.0, 3.0]
    >>> learner.rewards(0).round(3).tolist()
    [1.0, 2.0, 0.0]
    """

    state_type = OneStep

    def _constants(self) -> dict[str, Any]:
        return {"shift": 1, "is_constant": self.weighting.is_constant, **self._coefficients()}

    def _room(self) -> dict[str, Layout]:
        return self._columns("following", "error")


class NStepFHTD(PredictionLearner, MultiStepLearner):
    """n-step FHTD: only every n-th horizon is learned, from n rewards each (Algorithm 3).

    V^h(S_t) moves towards c_h R_{t+1} + ... + the n-th reward, and then V^(h-n)(S_{t+n}).

    >>> from fhtd import Features, NStepFHTD, Weighting
    >>> learner = NStepFHTD(Features.tabular(1), Weighting.exponential(6), n=2, step_size=0.5)
    >>> for _ in range(60):
    ...     learner.update(0, 1.0, 0)
    >>> learner.horizons.tolist()
    [2.0, 4.0, 6.0]
    >>> learner.values(0).round(3).tolist()
    [2.0, 4.0, 6.0]
    """

    def __init__(
        self,
        features: Representation,
        weighting: Weighting,
        n: int,
        *,
        one_step_horizons: int = 0,
        horizons: Sequence[int] | None = None,
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
            n: How many rewards a target sums before it bootstraps, from 1 to the horizon.
            one_step_horizons: How many of the first horizons are learned with one step each; longer
                ones bootstrap n horizons back, though not past these.
            horizons: Which horizons to learn: any that ascend to the final one and are closed under
                the backup; by default those that the final one needs.
            step_size: A number, `Decay` or `Linear`, or a function of the updates so far.
            initial: The first weights: a number, or an array that broadcasts to `weights`.
            initial_spread: Standard deviation of normal noise on each of the first weights.
            seed: Seed of that noise; None draws one.
            allow_divergence: Let weights become non-finite instead of raising DivergenceError.
            deepen_every: Updates after which the horizons move on by n, as `deepen` does; None for
                never.
        """
        self._take_backup(check_weighting(weighting), n, one_step_horizons, horizons)
        super().__init__(
            features,
            weighting,
            step_size=step_size,
            initial=initial,
            initial_spread=initial_spread,
            seed=seed,
            allow_divergence=allow_divergence,
            deepen_every=deepen_every,
        )

    @property
    def _is_plain(self) -> bool:
        """Whether each horizon bootstraps from the one before it, as in the paper's algorithm."""
        needed = tuple(closed_horizons(self.weighting.horizon, self.n))
        return not self.one_step_horizons and self._chosen in (None, needed)

    def _build_state(self, weights: npt.NDArray[Any]) -> Any:
        self.state_type = NStep if self._is_plain else Hybrid
        return super()._build_state(weights)

    def _constants(self) -> dict[str, Any]:
        tables = super()._constants()
        if not self._is_plain:
            return tables
        rewards = tables["rewards"]
        alike = (rewards == rewards[:, -1:]).all(axis=0)
        shared_from = rewards.shape[1]
        while shared_from > 1 and alike[shared_from - 1]:
            shared_from -= 1
        kept = {name: tables[name] for name in ("rewards", "bootstraps", "lengths")}
        return {**kept, "shift": 1, "shared_from": shared_from}

    def _memory(self) -> dict[str, Layout]:
        window = super()._memory()
        if self._is_plain:
            del window["window_actions"]
        return window

    def _room(self) -> dict[str, Layout]:
        return self._columns("following", "value", "error") if self._is_plain else super()._room()


class FHTDLambda(PredictionLearner, FixedHorizonLearner):
    """FHTD(lambda): smooth from one-step (0) to Monte Carlo (1), O(H^2) per step (Algorithm 4).

    The target of horizon h is R + gamma [(1 - lambda) V^(h-1)(S') + lambda G^(h-1)], where G^(h-1)
    is the same target of the next state, and of horizon 0 it is 0.

    >>> from fhtd import Features, FHTDLambda, Weighting
    >>> learner = FHTDLambda(Features.tabular(1), Weighting.exponential(3), 0.5, step_size=0.5)
    >>> for _ in range(60):
    ...     learner.update(0, 1.0, 0)
    >>> learner.values(0).round(3).tolist()
    [1.0, 2.0, 3.0]
    """

    state_type = Traces
    rates = ("step_size", "lambda_")

    def __init__(
        self,
        features: Representation,
        weighting: Weighting,
        lambda_: Rate,
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
            lambda_: From 0, one step, to 1, Monte Carlo: a number, or a schedule or function of the
                updates so far; `update` takes one for its own transition, too.
            step_size: A number, `Decay` or `Linear`, or a function of the updates so far.
            initial: The first weights: a number, or an array that broadcasts to `weights`.
            initial_spread: Standard deviation of normal noise on each of the first weights.
            seed: Seed of that noise; None draws one.
            allow_divergence: Let weights become non-finite instead of raising DivergenceError.
        """
        self.lambda_ = check_rate("lambda_", lambda_)
        super().__init__(
            features,
            weighting,
            step_size=step_size,
            initial=initial,
            initial_spread=initial_spread,
            seed=seed,
            allow_divergence=allow_divergence,
        )

    def update(
        self,
        observation: Any,
        reward: float | npt.ArrayLike,
        next_observation: Any,
        terminated: bool = False,
        truncated: bool = False,
        ratio: float = 1.0,
        continuation: float = 1.0,
        duration: int = 1,
        lambda_: float | None = None,
    ) -> None:
        """Learn from one transition.

        Args:
            observation: What was seen before the step, S.
            reward: The reward of the step, R.
            next_observation: What was seen after it, S'; None will do where the episode ended.
            terminated: The episode ended: S' is worth 0.
            truncated: The episode was cut, by a time limit say: S' keeps its value.
            ratio: The importance ratio pi(A|S) / mu(A|S), 1 when on-policy. Where observations are
                pairs with an action, that of the next action instead, and 1 at a termination.
            continuation: How much of what follows S' counts, beside the weighting: 1 as a rule, 0
                as after a termination, but the stream goes on.
            duration: 1: traces do not reach over longer transitions.
            lambda_: That of S', in place of the learner's own: how much what comes after S' counts
                against the value that S' has.
        """
        self._learn(
            observation,
            0,
            reward,
            next_observation,
            terminated,
            truncated,
            ratio=ratio,
            continuation=continuation,
            duration=duration,
            lambda_=lambda_,
        )

    def _constants(self) -> dict[str, Any]:
        return {"is_constant": self.weighting.is_constant, **self._coefficients()}

    @property
    def _memory_before(self) -> dict[str, float]:
        return {"window_links": rate_at("lambda_", self.lambda_, 0)}

    def _memory(self) -> dict[str, Layout]:
        return self._window(self.weighting.horizon, "ratios", "links")

    def _room(self) -> dict[str, Layout]:
        return self._columns("following", "error")


class FixedHorizonMC(PredictionLearner, FixedHorizonLearner):
    """Fixed-horizon Monte Carlo for every horizon, O(H) per step; it never bootstraps.

    V^h(S_t) moves towards the weighted sum of the next h rewards, once they have come. A sum that
    a time limit cuts short is dropped, which favours episodes that end: where limits are short
    beside h, take `FHTDLambda(..., lambda_=1.0)`, which bootstraps there.

    >>> from fhtd import Features, FixedHorizonMC, Weighting
    >>> learner = FixedHorizonMC(Features.tabular(1), Weighting.exponential(3), step_size=0.5)
    >>> for _ in range(60):
    ...     learner.update(0, 2.0, 0)
    >>> learner.values(0).round(3).tolist()
    [2.0, 4.0, 6.0]
    """

    state_type = MonteCarlo

    def _check_duration(self, duration: Any, rewards: Any) -> npt.NDArray[np.float64]:
        return checks.array("reward", rewards, (checks.integer("duration", duration, 1),))

    def _learn_long(
        self, seen: Transition, rewards: npt.NDArray[np.float64], rates: npt.NDArray[np.float64]
    ) -> int:
        """Step by step: the states on the way were not seen, and no value changes for them."""
        last = len(rewards) - 1
        worst = LEARNED
        for k, reward in enumerate(rewards.tolist()):
            step = seen._replace(
                row=0 if k == 0 else UNSEEN,
                reward=reward,
                terminated=seen.terminated and k == last,
                truncated=seen.truncated and k == last,
                ratio=seen.ratio if k == 0 else 1.0,
                continuation=seen.continuation if k == last else 1.0,
            )
            worst = max(worst, self._kernel(self._state, step, rates, self._n_features))
            if worst > DIVERGED:
                break
        return worst

    def _constants(self) -> dict[str, Any]:
        return {"is_constant": self.weighting.is_constant, **self._coefficients()}

    def _memory(self) -> dict[str, Layout]:
        return self._window(self.weighting.horizon, "rewards", "ratios", "continuations")

    def _room(self) -> dict[str, Layout]:
        rows = self.weighting.horizon + 1
        columns = 1 if self.weighting.is_constant else rows
        return {
            "returns": ((rows, columns), self.weighting.dtype),
            "products": ((rows,), np.float64),
            **self._columns("error"),
        }
