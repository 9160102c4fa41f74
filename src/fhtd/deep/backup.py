"""The target of every output as data: which rewards it sums, and which output it bootstraps from.

    target_j = sum_k rewards[m, k, j] R_{t+k+1} + bootstraps[m, j] U_{sources[m, j]}(S_{t+m})

with U_0 = 0 and U_j the j-th output collapsed over actions; m = n, or fewer where a time limit cut
the steps short or the action took fewer. Fixed horizons point one output back; the last output of
DQN points at itself. That is the whole difference between the two agents.

In a hybrid the outputs look ahead over different lengths: output j bootstraps from the state after
lengths[places[j]] steps, or after m where fewer were taken.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from fhtd import checks
from fhtd.horizons import closed_horizons, source_of
from fhtd.weighting import Weighting

_LARGEST_TABLE = 2**26


@dataclass(frozen=True, eq=False)
class Backup:
    """Arrays over lengths m = 1..n and outputs j = 1..J, from 0; horizons ascend.

    >>> from fhtd import Weighting
    >>> from fhtd.deep import Backup
    >>> backup = Backup.fixed_horizons(Weighting.exponential(3, discount=0.9))
    >>> backup.sources.tolist()  # each from the one before, the first from nothing
    [[0, 1, 2]]
    """

    #: Infinity for DQN's.
    horizons: npt.NDArray[np.float64]
    #: [m, k, j]: weight of the reward k+1 steps ahead.
    rewards: npt.NDArray[Any]
    #: [m, j]: weight of the output that is bootstrapped from.
    bootstraps: npt.NDArray[Any]
    #: 0 for nothing, else the number j of the output.
    sources: npt.NDArray[np.int64]
    #: Whether the output that j needs after m steps is learned at all.
    known: npt.NDArray[np.bool_]
    #: Steps to each of the states that are bootstrapped from, ascending; one but for a hybrid.
    lengths: tuple[int, ...] = ()
    #: [j]: which of these states.
    places: npt.NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, np.int64))

    def __post_init__(self) -> None:
        if not self.lengths:
            object.__setattr__(self, "lengths", (self.n,))
            object.__setattr__(self, "places", np.zeros(self.size, np.int64))

    @property
    def n(self) -> int:
        """How many rewards a transition carries."""
        return len(self.bootstraps)

    @property
    def size(self) -> int:
        """Number of outputs per action."""
        return len(self.horizons)

    @classmethod
    def fixed_horizons(
        cls,
        weighting: Weighting,
        n: int = 1,
        horizons: Sequence[int] | None = None,
        one_step_horizons: int = 0,
        *,
        n_name: str = "n_step",
    ) -> "Backup":
        """Horizon h bootstraps from h - n, which must be learned too unless h <= n.

        Args:
            weighting: Of future rewards.
            n: Rewards summed before bootstrapping.
            horizons: Those to learn; default: those that the final one needs, H, H - n, ..., as in
                n-step FHTD.
            one_step_horizons: How many of the first horizons sum one reward, k; none beyond them
                reaches past k.
            n_name: What the caller calls `n`.

        Returns:
            The backup of n-step FHTD, or of a hybrid.

        Raises:
            ValueError: The horizons are not closed under the backup, or a coefficient is too large.

        >>> from fhtd import Weighting
        >>> from fhtd.deep import Backup
        >>> hybrid = Backup.fixed_horizons(Weighting.exponential(10), 4, one_step_horizons=3)
        >>> hybrid.horizons.tolist(), hybrid.lengths
        ([1.0, 2.0, 3.0, 6.0, 10.0], (1, 3, 4))
        """
        n = checks.integer(n_name, n, 1, weighting.horizon)
        chosen = closed_horizons(weighting.horizon, n, horizons, one_step_horizons, n_name=n_name)
        _check_size(n, len(chosen), n_name)
        h: npt.NDArray[np.int64] = np.array(chosen)
        # The rewards that each sums where enough steps were taken.
        sums = h - np.array([source_of(one, n, one_step_horizons) for one in chosen])
        n = int(sums.max())
        rewards = np.zeros((n, n, len(h)), weighting.dtype)
        bootstraps = np.zeros((n, len(h)), weighting.dtype)
        sources = np.zeros((n, len(h)), np.int64)
        known = np.zeros((n, len(h)), np.bool_)
        # Column m - 1 of `weighting.coefficients()`, whose other columns are not needed.
        column, factors = weighting.rewards, np.ones(len(h), weighting.dtype)
        with np.errstate(over="ignore", invalid="ignore"):
            for m in range(1, n + 1):
                goes_on = m <= sums
                rewards[m - 1 :, m - 1] = np.where(goes_on, column[h - 1], 0)
                column = np.append(0, weighting.bootstraps[1:] * column[:-1])
                factors = np.where(
                    goes_on, factors * weighting.bootstraps[np.maximum(h - m, 0)], factors
                )
                source = h - np.minimum(m, sums)
                further = np.isin(source, h)
                bootstraps[m - 1] = np.where(further, factors, 0)
                sources[m - 1] = np.where(further, 1 + np.searchsorted(h, source), 0)
                known[m - 1] = further | (source == 0)
        _check_finite(rewards, bootstraps)
        lengths = sorted(set(sums[sums < h].tolist())) or [n]
        # What bootstraps from nothing does so only where fewer steps were taken: any state will do.
        places = np.minimum(np.searchsorted(lengths, sums), len(lengths) - 1)
        return cls(
            h.astype(np.float64),
            checks.frozen(rewards),
            checks.frozen(bootstraps),
            checks.frozen(sources),
            checks.frozen(known),
            tuple(lengths),
            checks.frozen(places),
        )

    @classmethod
    def infinite_horizon(
        cls, discount: float, n: int = 1, auxiliary: int = 0, *, n_name: str = "n_step"
    ) -> "Backup":
        """A last output that bootstraps from itself: n-step Q-learning.

        Before it come the fixed horizons 1..A that are learned for the sake of the hidden layers
        alone, each towards the sum of its next min(n, h) rewards and horizon h - n.

        Args:
            discount: Discount rate gamma.
            n: Rewards summed before bootstrapping.
            auxiliary: How many fixed horizons come before the last output, A.
            n_name: What the caller calls `n`.

        Returns:
            The backup of DQN.

        >>> from fhtd.deep import Backup
        >>> Backup.infinite_horizon(0.5, n=3).rewards[-1, :, 0].tolist()
        [1.0, 0.5, 0.25]
        >>> Backup.infinite_horizon(0.5, auxiliary=3).sources.tolist()  # the last from itself
        [[0, 1, 2, 4]]
        """
        n = checks.integer(n_name, n, 1)
        discount = checks.real("discount", discount, 0)
        auxiliary = checks.integer("auxiliary", auxiliary, 0)
        _check_size(n, auxiliary + 1, n_name)
        with np.errstate(over="ignore"):
            powers = discount ** np.arange(n + 1)
        _check_finite(powers)
        horizons = np.append(np.arange(1.0, auxiliary + 1), np.inf)
        own = np.tril(np.tile(powers[:n], (n, 1)))[:, :, None]
        lengths = np.arange(1, n + 1)[:, None]
        sources = np.where(np.isinf(horizons), auxiliary + 1, np.maximum(horizons - lengths, 0))
        return cls(
            horizons,
            np.where(horizons > np.arange(n)[:, None], own, 0.0),
            np.where(sources > 0, powers[1:, None], 0.0),
            sources.astype(np.int64),
            np.ones((n, auxiliary + 1), np.bool_),
        )

    def over_base(self, weighting: Weighting) -> "Backup":
        """The same for a window of horizons that moves on: the first output has a base, U_0.

        Every output must point at the one before it, and the weighting be the same for all
        horizons, so that the window is at home over any base.

        Args:
            weighting: That the backup was made of.

        Raises:
            ValueError: The weighting or the horizons do not allow it; the message says why.
        """
        if not weighting.is_constant:
            raise ValueError(
                "deepen_every needs a weighting that is the same for every horizon, such as "
                "exponential: one that mentions the final horizon has no meaning when it grows"
            )
        if not np.array_equal(self.sources[-1], np.arange(self.size)) or self.horizons[0] != self.n:
            raise ValueError(
                "deepen_every needs horizons that are n_step apart, beginning with n_step: choose "
                "a horizon that n_step divides, and no horizons of your own, or deepen_every=None"
            )
        bootstraps = self.bootstraps.copy()
        bootstraps[-1, 0] = np.prod(weighting.bootstraps[: self.n])
        return replace(self, bootstraps=checks.frozen(bootstraps))

    def targets(self, batch: Any, next_values: Any, base: Any = None) -> tuple[Any, Any]:
        """(batch, outputs) targets of (batch, outputs) next values, and which of them are known.

        Rewards after a termination are 0; NumPy or JAX arrays.

        Args:
            batch: Transitions.
            next_values: U_j of the state that each transition ends in; in a hybrid of every state
                that is bootstrapped from, (batch, lengths, outputs).
            base: U_0, (batch, 1), where it is not 0.

        Returns:
            The targets, and an array of booleans, or True where all are known.
        """
        is_hybrid = len(self.lengths) > 1
        continues = 1.0 - (batch.terminated if is_hybrid else batch.terminated[:, None])
        padded = _prepend(base, next_values)
        if self.n == 1:
            # Mostly each output points at the one before it: a slice, where a gather is slow.
            in_order = np.array_equal(self.sources[0], np.arange(self.size))
            ahead = padded[:, :-1] if in_order else padded[:, self.sources[0]]
            ahead = continues * ahead * self.bootstraps[0]
            return batch.rewards * self.rewards[0] + ahead, True
        module = _module_of(padded)
        m = batch.lengths.astype(int) - 1
        bootstraps, sources, known, rewards = (
            module.asarray(table)[m]
            for table in (self.bootstraps, self.sources, self.known, self.rewards)
        )
        if is_hybrid:
            rows = np.arange(len(padded))[:, None]
            ahead, continues = padded[rows, self.places, sources], continues[:, self.places]
        else:
            ahead = module.take_along_axis(padded, sources, axis=1)
        ahead = ahead * bootstraps
        summed = (batch.rewards[:, :, None] * rewards).sum(axis=1)
        return summed + continues * ahead, known


def _check_size(n: int, size: int, n_name: str) -> None:
    """Refuse more steps than a table of them is meant for."""
    if n * n * size > _LARGEST_TABLE:
        raise ValueError(f"{n_name} {n} is too large for {size} horizons")


def _check_finite(*tables: npt.NDArray[Any]) -> None:
    if not all(np.isfinite(table).all() for table in tables):
        raise ValueError("discount or weighting is too large for so many steps")


def _prepend(base: Any, values: Any) -> Any:
    """U_0, 0 where there is no base, before the outputs, which come last."""
    module = _module_of(values)
    first = module.zeros_like(values[..., :1]) if base is None else base
    return module.concatenate([first, values], axis=-1)


def _module_of(values: Any) -> Any:
    """NumPy or its twin in JAX."""
    if isinstance(values, np.ndarray):
        return np
    import jax.numpy as jnp

    return jnp
