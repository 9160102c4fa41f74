"""A weighting says how much each future reward counts: two arrays, c and d.

Every target of the paper is one recursion over horizons, grounded at V^0 = 0:

    G^h = c_h R + d_h V^(h-1)(S'),   h = 1..H

| here               | paper                                     |
|--------------------|-------------------------------------------|
| rewards[h-1]       | c_h, the factor of the sampled reward     |
| bootstraps[h-1]    | d_h, the factor of the next state's value |
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from fhtd import checks

#: Share of a reward that rounding may hide where single rewards are told from values.
_LOST = 1e-3


def growth_of_errors(coefficients: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
    """How many times the rounding of values that of the single reward of each horizon is.

    Of rewards of size 1. Infinite from the first on that has no weight in its own horizon, or
    that no number of 64 bits tells.
    """
    found = np.full(len(coefficients), np.inf)
    sizes = np.abs(coefficients).sum(axis=1)
    # Row by row, as rewards are told: a general inverse stops where small weights underflow.
    inverse = np.zeros_like(coefficients)
    with np.errstate(all="ignore"):
        for h, row in enumerate(coefficients):
            inverse[h, h] = 1
            inverse[h, :h] = -row[:h] @ inverse[:h, :h]
            inverse[h] /= row[h]
            growth = np.abs(inverse[h]) @ sizes
            if not growth * np.finfo(np.float64).eps <= _LOST:
                break
            found[h] = growth
    return found


def first_hidden(growth: npt.NDArray[np.float64], dtype: npt.DTypeLike) -> int:
    """The first horizon whose single reward values of this type do not tell; 0 where all do."""
    hidden = np.flatnonzero(growth * np.finfo(dtype).eps > _LOST)
    return int(hidden[0]) + 1 if len(hidden) else 0


def single_rewards(coefficients: npt.NDArray[Any], values: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Solve values[..., h] = sum_k coefficients[h, k] r_k for r, from the first horizon on."""
    rewards = np.zeros(values.shape, np.result_type(values, coefficients))
    for h in range(values.shape[-1]):
        known = rewards[..., :h] @ coefficients[h, :h]
        rewards[..., h] = (values[..., h] - known) / coefficients[h, h]
    return rewards


@dataclass(frozen=True, eq=False)
class Weighting:
    """The pair (c, d), h = 1..H. Build one by name, or from any two arrays of equal length.

    G^h = c_h R + d_h V^(h-1)(S'), with V^0 = 0.

    Raises:
        ValueError: The arrays are empty or of different lengths.

    >>> from fhtd import Weighting
    >>> Weighting.exponential(3, discount=0.5).coefficients().tolist()
    [[1.0, 0.0, 0.0], [1.0, 0.5, 0.0], [1.0, 0.5, 0.25]]
    >>> Weighting.average(4).coefficients()[-1].tolist()
    [0.25, 0.25, 0.25, 0.25]
    >>> forecast = Weighting(rewards=[1, 0, 0], bootstraps=[1, 1, 1])
    >>> forecast.coefficients()[-1].tolist()  # only the third reward from now
    [0.0, 0.0, 1.0]
    """

    #: c_h, the factor of the sampled reward, for h = 1..H.
    rewards: npt.NDArray[Any]
    #: d_h, the factor of the next state's value, for h = 1..H.
    bootstraps: npt.NDArray[Any]

    def __post_init__(self) -> None:
        c = checks.array("rewards", self.rewards, (None,), allow_complex=True)
        d = checks.array("bootstraps", self.bootstraps, (None,), allow_complex=True)
        if len(c) != len(d):
            raise ValueError(
                f"rewards and bootstraps must have one entry per horizon each, "
                f"got {len(c)} and {len(d)}"
            )
        if len(c) < 1:
            raise ValueError("horizon must be at least 1, got 0")
        dtype = np.result_type(c, d)
        object.__setattr__(self, "rewards", checks.frozen(c.astype(dtype)))
        object.__setattr__(self, "bootstraps", checks.frozen(d.astype(dtype)))

    @property
    def horizon(self) -> int:
        """The final horizon H."""
        return len(self.rewards)

    @property
    def dtype(self) -> np.dtype[Any]:
        """float64, or complex128 for a complex weighting: the dtype of the values."""
        return self.rewards.dtype

    @property
    def is_complex(self) -> bool:
        """Whether values under this weighting are complex (so that they have no maximum)."""
        return bool(np.issubdtype(self.dtype, np.complexfloating))

    @property
    def is_constant(self) -> bool:
        """Whether c and d are the same for every horizon, as under exponential discounting."""
        c, d = self.rewards, self.bootstraps
        return bool(np.all(c == c[0]) and np.all(d == d[0]))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Weighting):
            return NotImplemented
        return np.array_equal(self.rewards, other.rewards) and np.array_equal(
            self.bootstraps, other.bootstraps
        )

    def __hash__(self) -> int:
        return hash((self.rewards.tobytes(), self.bootstraps.tobytes()))

    @cached_property
    def no_maximum(self) -> str:
        """Why control cannot maximise values under this weighting; empty where it can."""
        if self.is_complex:
            return "weighting must be real: complex values have no maximum"
        if np.any(self.bootstraps < 0):
            return (
                "weighting must have bootstraps of at least 0 to be maximised under, "
                f"got {self.bootstraps.min():g}: the best continuation is not that of most value"
            )
        return ""

    def check_control(self) -> None:
        """Refuse a weighting under which a maximum over actions is not what it should be.

        Complex values have no maximum; and times a negative bootstrap, the next state's largest
        value makes the worst of it. Evaluating a given policy is possible under any weighting.

        Raises:
            ValueError: It is such a weighting; the message says why.
        """
        if self.no_maximum:
            raise ValueError(self.no_maximum)

    def coefficients(self) -> npt.NDArray[Any]:
        """Row h-1, column k: the weight of the reward k+1 steps ahead in the value of horizon h.

        It is (prod_{j<k} d_{h-j}) c_{h-k} for k < h and 0 beyond. The array cannot be written to.

        Returns:
            An array (H, H).
        """
        return self._coefficients

    @cached_property
    def _coefficients(self) -> npt.NDArray[Any]:
        table = np.zeros((self.horizon, self.horizon), self.dtype)
        table[:, 0] = self.rewards
        for h in range(1, self.horizon):
            table[h, 1:] = self.bootstraps[h] * table[h - 1, :-1]
        table.setflags(write=False)
        return table

    def expected_rewards(self, values: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
        """Recover the expected reward at each of the next H steps from values of all horizons.

        Subtracting consecutive horizons, in general: solve V^h = sum_k coefficients[h, k] r_k
        from h = 1 upward. Needs every horizon's value to count its own last reward; refuses
        otherwise.

        Args:
            values: Values of every horizon, with the horizon last.

        Returns:
            An array shaped as `values`: the expected reward 1, 2, ..., H steps ahead.

        Raises:
            ValueError: The last axis is not H long, or some reward has no weight in its own
                horizon, or so little that rounding the value hides it.

        >>> from fhtd import Weighting
        >>> Weighting.exponential(3, discount=0.5).expected_rewards([1.0, 2.0, 2.0]).tolist()
        [1.0, 2.0, 0.0]
        """
        values = np.asarray(values)
        if values.shape[-1:] != (self.horizon,):
            raise ValueError(
                f"values must have the {self.horizon} horizons last, got shape {values.shape}"
            )
        is_single = values.dtype in (np.float32, np.complex64)
        self.check_single_rewards(np.float32 if is_single else np.float64)
        return np.ascontiguousarray(single_rewards(self.coefficients(), values).real)

    def check_single_rewards(
        self, dtype: npt.DTypeLike = np.float64, horizon: int | None = None
    ) -> None:
        """Refuse a weighting whose values do not tell single rewards.

        Args:
            dtype: Of the values, whose rounding may hide rewards that weigh little.
            horizon: How many of the first horizons are looked at; all by default.

        Raises:
            ValueError: Some reward has no weight in the horizon that it is the last of, or so
                little that rounding the value hides it.
        """
        h = first_hidden(self._growth_of_errors, dtype)
        if h and (horizon is None or h <= horizon):
            why = f"gives the reward {h} steps ahead no weight in horizon {h}"
            if self.coefficients()[h - 1, h - 1] != 0:
                why = f"lets rounding of the values hide the reward {h} steps ahead"
            raise ValueError(
                f"this weighting {why}, so single rewards cannot be recovered from its values"
            )

    @cached_property
    def _growth_of_errors(self) -> npt.NDArray[np.float64]:
        return growth_of_errors(self._coefficients)

    def extend(self, horizon: int) -> "Weighting":
        """Continue to a longer horizon, keeping every coefficient so far.

        Possible where c and d do not mention H: constant ones (exponential) and the average. A
        Fourier weighting keeps its rotation per step, which is another bin of the longer transform.

        Args:
            horizon: The new final horizon.

        Returns:
            The longer weighting.

        Raises:
            ValueError: The new horizon is shorter, or these coefficients do not say how they go on.

        >>> from fhtd import Weighting
        >>> Weighting.average(2).extend(4).coefficients()[-1].tolist()
        [0.25, 0.25, 0.25, 0.25]
        """
        horizon = checks.integer("horizon", horizon, self.horizon)
        if horizon == self.horizon:
            return self
        if self.is_constant and self.horizon > 1:
            c, d = self.rewards[0], self.bootstraps[0]
            return Weighting(np.full(horizon, c), np.full(horizon, d))
        if self.horizon > 1 and self == Weighting.average(self.horizon):
            return Weighting.average(horizon)
        raise ValueError(
            f"horizon {horizon} is not determined by this weighting of {self.horizon} horizons; "
            "give a Weighting whose first coefficients are the present ones"
        )

    def continued(self, horizon: "int | Weighting") -> "Weighting":
        """A longer weighting by its horizon, as `extend` does, or itself; what differs is refused.

        Args:
            horizon: The new final horizon, or a Weighting whose first coefficients are these.

        Raises:
            ValueError: It is shorter, or its first coefficients are others.
        """
        if not isinstance(horizon, Weighting):
            return self.extend(horizon)
        h = self.horizon
        if horizon.horizon < h:
            raise ValueError(f"horizon must be at least {h}, got {horizon.horizon}")
        # d_1 multiplies V^0 = 0 and does not matter.
        same = np.array_equal(horizon.rewards[:h], self.rewards) and np.array_equal(
            horizon.bootstraps[1:h], self.bootstraps[1:]
        )
        if not same or horizon.dtype != self.dtype:
            raise ValueError(f"horizon must be a Weighting that keeps the first {h} coefficients")
        return horizon

    @classmethod
    def exponential(cls, horizon: int, discount: complex = 1.0) -> "Weighting":
        """Sum of discounted rewards (Eq. one-step FHTD target).

        Args:
            horizon: The final horizon H.
            discount: The factor gamma of each later reward: any finite number, 1 or complex too.

        Returns:
            c_h = 1 and d_h = gamma for every h.

        >>> from fhtd import Weighting
        >>> Weighting.exponential(4, discount=0.5).coefficients()[-1].tolist()
        [1.0, 0.5, 0.25, 0.125]
        """
        horizon = checks.integer("horizon", horizon, 1)
        discount = checks.number("discount", discount)
        return cls(np.ones(horizon), np.full(horizon, discount))

    @classmethod
    def average(cls, horizon: int) -> "Weighting":
        """Fixed-horizon average reward: c_h = 1/h, d_h = (h-1)/h.

        Args:
            horizon: The final horizon H.

        Returns:
            The weighting under which V^h is the mean of the next h rewards.

        >>> from fhtd import Weighting
        >>> Weighting.average(2).coefficients().tolist()
        [[1.0, 0.0], [0.5, 0.5]]
        """
        h = np.arange(1, checks.integer("horizon", horizon, 1) + 1)
        return cls(1 / h, (h - 1) / h)

    @classmethod
    def from_weights(cls, weights: Sequence[complex] | npt.ArrayLike) -> "Weighting":
        """Arbitrary temporal weighting, of the final horizon; shorter ones are its tails.

        Args:
            weights: weights[k] is the weight of the reward k+1 steps ahead, one for each horizon.

        Returns:
            c_h = weights[H-h] and d_h = 1.

        >>> from fhtd import Weighting
        >>> Weighting.from_weights([0, 3, 1]).coefficients().tolist()
        [[1.0, 0.0, 0.0], [3.0, 1.0, 0.0], [0.0, 3.0, 1.0]]
        """
        w = checks.array("weights", weights, (None,), allow_complex=True)
        return cls(w[::-1], np.ones(len(w)))

    @classmethod
    def hyperbolic(cls, horizon: int, k: float = 1.0) -> "Weighting":
        """Hyperbolic discounting 1 / (1 + k i) of the reward i steps after the next.

        Args:
            horizon: The final horizon H.
            k: How steeply rewards are discounted, at least 0.

        Returns:
            c_h = 1 / (1 + k (H-h)) and d_h = 1.

        >>> from fhtd import Weighting
        >>> Weighting.hyperbolic(4, k=1.0).coefficients()[-1].round(3).tolist()
        [1.0, 0.5, 0.333, 0.25]
        """
        horizon = checks.integer("horizon", horizon, 1)
        k = checks.real("k", k, minimum=0)
        return cls.from_weights(1 / (1 + k * np.arange(horizon)))

    @classmethod
    def reward_scaled(cls, horizon: int, discount: complex) -> "Weighting":
        """Exponential discounting by scaling rewards only: equals `exponential` at h = H.

        Args:
            horizon: The final horizon H.
            discount: The factor gamma of each later reward.

        Returns:
            c_h = gamma^(H-h) and d_h = 1.

        >>> from fhtd import Weighting
        >>> Weighting.reward_scaled(3, discount=0.5).coefficients().tolist()
        [[0.25, 0.0, 0.0], [0.5, 0.25, 0.0], [1.0, 0.5, 0.25]]
        """
        horizon = checks.integer("horizon", horizon, 1)
        discount = checks.number("discount", discount)
        return cls.from_weights(np.power(discount, np.arange(horizon)))

    @classmethod
    def fourier(cls, horizon: int, frequency: float, discount: complex = 1.0) -> "Weighting":
        """One bin of the exact discrete Fourier transform of the (discounted) expected rewards.

        Args:
            horizon: The final horizon H, and the length of the transform.
            frequency: The bin, in turns per H steps.
            discount: The factor gamma of each later reward, beside the rotation.

        Returns:
            c_h = 1 and d_h = gamma exp(-2 pi i f / H): complex, so for prediction only.

        >>> import numpy as np
        >>> from fhtd import Weighting
        >>> rewards = np.array([3.0, 1.0, 4.0, 1.0])
        >>> value = Weighting.fourier(4, frequency=1).coefficients()[-1] @ rewards
        >>> bool(np.isclose(value, np.fft.fft(rewards)[1]))
        True
        """
        horizon = checks.integer("horizon", horizon, 1)
        frequency = checks.real("frequency", frequency)
        discount = checks.number("discount", discount)
        rotation = np.exp(-2j * np.pi * frequency / horizon)
        return cls(np.ones(horizon), np.full(horizon, discount * rotation, np.complex128))
