"""DFHQ and DQN: the same agent with different backups."""

from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from fhtd.deep.agent import DeepAgent
from fhtd.deep.backup import Backup
from fhtd.deep.settings import Settings
from fhtd.weighting import Weighting


class DFHQ(DeepAgent):
    """Deep fixed-horizon Q-learning: every horizon an output over shared hidden layers."""

    _has_weighting = True

    def __init__(
        self,
        environment: Any,
        *,
        weighting: Weighting | None = None,
        seed: int = 0,
        settings: Settings | None = None,
        **changes: Any,
    ) -> None:
        """`weighting` replaces the exponential one that `horizon` and `discount` give."""
        if weighting is not None:
            if {"horizon", "discount"} & set(changes):
                raise ValueError("give either a weighting, or horizon and discount")
            if weighting.is_complex:
                raise ValueError("weighting must be real: complex values have no greedy action")
            changes["horizon"] = weighting.horizon
        chosen = replace(settings or Settings(), **changes)
        self.weighting = weighting or Weighting.exponential(chosen.horizon, chosen.discount)
        backup = Backup.fixed_horizons(self.weighting, chosen.n_step, chosen.horizons)
        super().__init__(environment, backup, seed, chosen)

    def final_weights(self, length: int) -> npt.NDArray[np.float64]:
        """The weighting's last row: the rewards of the next H steps."""
        return np.asarray(self.weighting.coefficients()[-1, :length])


class DQN(DeepAgent):
    """Deep Q-learning from the same parts: one output that bootstraps from itself."""

    def __init__(
        self,
        environment: Any,
        *,
        seed: int = 0,
        settings: Settings | None = None,
        **changes: Any,
    ) -> None:
        for name in ("horizon", "horizons"):
            if name in changes:
                raise ValueError(f"{name} is not a setting of DQN, which has no horizon")
        chosen = replace(settings or Settings(), **changes)
        backup = Backup.infinite_horizon(chosen.discount, chosen.n_step)
        super().__init__(environment, backup, seed, chosen)

    def final_weights(self, length: int) -> npt.NDArray[np.float64]:
        """Powers of the discount, to the end of the episode."""
        return np.asarray(self.settings.discount ** np.arange(length))
