"""Learners that sum several rewards: which horizons they learn, and the tables of their backups."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from fhtd import checks
from fhtd.horizons import closed_horizons, source_of
from fhtd.online.fixed_horizon import with_column_zero
from fhtd.online.kernels.hybrid import Hybrid
from fhtd.online.learner import Layout
from fhtd.online.window import WindowLearner
from fhtd.weighting import Weighting

#: Entries of a table over steps and horizons.
_LARGEST_TABLE = 2**26


class MultiStepLearner(WindowLearner):
    """The first k horizons bootstrap after one step, the others after n, though not past k."""

    n: int
    #: How many of the first horizons are one-step, k.
    one_step_horizons: int
    #: The horizons that were asked for; None for those that the final one needs.
    _chosen: tuple[int, ...] | None
    state_type: Callable[..., Any] = Hybrid
    _free_slots = 1

    def _take_backup(
        self, weighting: Weighting, n: Any, one_step_horizons: int, horizons: Sequence[int] | None
    ) -> None:
        """Check the backup and keep it, before anything of its size is built."""
        n = checks.integer("n", n, 1, weighting.horizon)
        found = closed_horizons(weighting.horizon, n, horizons, one_step_horizons)
        if n * len(found) > _LARGEST_TABLE:
            raise ValueError(f"n {n} is too large for {len(found)} horizons")
        self.n, self.one_step_horizons = n, int(one_step_horizons)
        self._chosen = None if horizons is None else tuple(found)

    def _argument(self, name: str) -> Any:
        return self._chosen if name == "horizons" else super()._argument(name)

    @property
    def _stride(self) -> int:
        return 1 if self.one_step_horizons else self.n

    def _check_window(self, name: str) -> None:
        super()._check_window(name)
        horizons = self._first_horizons
        if not np.array_equal(horizons, self._stride * np.arange(1, len(horizons) + 1)):
            raise ValueError(
                f"{name} needs horizons that are all as far apart: without one_step_horizons, and "
                "without horizons of your own"
            )

    def _learned_horizons(self, horizon: int) -> npt.NDArray[np.int64]:
        return np.array(closed_horizons(horizon, self.n, self._chosen, self.one_step_horizons))

    def _check_extension(self, new: Weighting) -> None:
        super()._check_extension(new)
        if self._chosen is not None:
            raise ValueError(
                "extend needs a learner without `horizons`: they say nothing of the new ones"
            )

    def _constants(self) -> dict[str, Any]:
        n, k, c, d = (
            self.n,
            self.one_step_horizons,
            self.weighting.rewards,
            self.weighting.bootstraps,
        )
        h = self._first_horizons.astype(int)
        rewards = np.zeros((n, len(h)), self.weighting.dtype)
        bootstraps = np.ones((n + 1, len(h)), self.weighting.dtype)
        sources = np.full((n + 1, len(h)), -1)
        # The first n of each row of `weighting.coefficients()`, of which most is not needed.
        row = np.zeros(n, self.weighting.dtype)
        for i in range(self.weighting.horizon):
            row = np.concatenate([c[i : i + 1], d[i] * row[:-1]])
            rewards[:, h == i + 1] = row[:, None]
        columns = np.concatenate([[0], h])
        for m in range(1, n + 1):
            bootstraps[m] = bootstraps[m - 1] * np.where(h >= m, d[np.maximum(h - m, 0)], 1)
            learned = np.isin(h - m, columns)
            sources[m, learned] = np.searchsorted(columns, h[learned] - m)
        lengths = np.array([horizon - source_of(horizon, n, k) for horizon in h.tolist()])
        near = min(k, len(h))
        full_from = 1 + int(np.searchsorted(h, k + n)) if near < len(h) else 1 + near
        full = np.arange(full_from, len(h) + 1)
        return {
            "rewards": with_column_zero(rewards),
            "bootstraps": with_column_zero(bootstraps),
            "sources": with_column_zero(sources),
            "lengths": with_column_zero(lengths),
            "partial_from": 1 + near,
            "full_from": full_from,
            "in_order": bool(np.array_equal(sources[n, full - 1], full - 1)),
            "is_constant": self.weighting.is_constant,
            "n_actions": self.n_actions,
            "n_features": self._n_features,
            "is_control": len(self._shape) > 1,
        }

    def _memory(self) -> dict[str, Layout]:
        window = self._window(self.n, "rewards", "ratios", "continuations")
        return window | {"window_actions": ((self.n,), np.int64)}

    def _room(self) -> dict[str, Layout]:
        return self._columns("following", "error")
