"""The target of every output as data: which rewards it sums, and which output it bootstraps from.

    target_j = sum_k rewards[k, j] R_{t+k+1} + bootstraps[j] U_{sources[j]}(S_{t+n})

with U_0 = 0 and U_j the j-th output collapsed over actions. Fixed horizons point one output back;
the single output of DQN points at itself. That is the whole difference between the two agents.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from fhtd import checks
from fhtd.weighting import Weighting


@dataclass(frozen=True, eq=False)
class Backup:
    """Arrays over outputs j = 1..J (index j - 1), horizons ascending; infinity for DQN's."""

    horizons: npt.NDArray[np.float64]
    #: [k, j]: weight of the reward k+1 steps ahead.
    rewards: npt.NDArray[Any]
    bootstraps: npt.NDArray[Any]
    #: 0 for nothing, else the number j of the output.
    sources: npt.NDArray[np.int64]

    @property
    def n(self) -> int:
        """How many rewards a transition carries."""
        return len(self.rewards)

    @property
    def size(self) -> int:
        """Number of outputs per action."""
        return len(self.horizons)

    @classmethod
    def fixed_horizons(
        cls, weighting: Weighting, n: int = 1, horizons: Sequence[int] | None = None
    ) -> "Backup":
        """Horizon h bootstraps from h - n, which must be learned too unless h <= n.

        Without `horizons`, those that the final one needs: H, H - n, ..., as in n-step FHTD.
        """
        n = checks.integer("n_step", n, 1, weighting.horizon)
        if horizons is None:
            horizons = list(range(weighting.horizon, 0, -n))[::-1]
        chosen = [checks.integer("horizons", h, 1, weighting.horizon) for h in horizons]
        if chosen != sorted(set(chosen)) or not chosen or chosen[-1] != weighting.horizon:
            raise ValueError(
                f"horizons must ascend to the final horizon {weighting.horizon}, got {chosen}"
            )
        for longer in chosen:
            if longer > n and longer - n not in chosen:
                raise ValueError(
                    f"horizons must be closed under the backup: {longer} bootstraps from "
                    f"{longer - n} (n_step is {n}), which is not among them"
                )
        h: npt.NDArray[np.int64] = np.array(chosen)
        bootstraps = np.ones(len(h), weighting.dtype)
        for k in range(n):
            bootstraps *= np.where(h > k, weighting.bootstraps[np.maximum(h - 1 - k, 0)], 0)
        sources = np.where(h > n, 1 + np.searchsorted(h, h - n), 0)
        return cls(
            h.astype(np.float64),
            checks.frozen(weighting.coefficients()[h - 1, :n].T),
            checks.frozen(np.where(h > n, bootstraps, 0)),
            checks.frozen(sources),
        )

    @classmethod
    def infinite_horizon(cls, discount: float, n: int = 1) -> "Backup":
        """One output that bootstraps from itself: n-step Q-learning."""
        n = checks.integer("n_step", n, 1)
        discount = checks.real("discount", discount, 0)
        powers = discount ** np.arange(n + 1)
        return cls(np.array([np.inf]), powers[:n, None], powers[n:], np.ones(1, np.int64))

    def targets(self, rewards: Any, next_values: Any, terminated: Any) -> Any:
        """(batch, outputs) targets from (batch, n) rewards and (batch, outputs) next values.

        Rewards after a termination are 0; NumPy or JAX arrays.
        """
        padded = _prepend_zero(next_values)
        ahead = padded[:, self.sources] * self.bootstraps
        return rewards @ self.rewards + (1.0 - terminated)[:, None] * ahead


def _prepend_zero(values: Any) -> Any:
    """U_0 = 0 before the outputs."""
    if isinstance(values, np.ndarray):
        return np.concatenate([np.zeros_like(values[:, :1]), values], axis=1)
    import jax.numpy as jnp

    return jnp.concatenate([jnp.zeros_like(values[:, :1]), values], axis=1)
