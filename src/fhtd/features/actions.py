"""Features of a state and an action together, for the action values of a policy."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from fhtd import checks
from fhtd.features.representation import MOST_FEATURES, Active

#: Features of states that files may hold, by their place in this list.
STATE_KINDS = ("StateFeatures", "DenseFeatures", "TileCoder")


@dataclass(frozen=True, eq=False)
class ActionFeatures:
    """Features of a state and an action together: an observation is the pair of both.

    Each action has a copy of the state's features, so that learners of state values learn the
    action values of a policy: of one step, of n, with lambda, or by Monte Carlo. The ratio of a
    transition is then that of the next action, pi(A'|S') / mu(A'|S').

    Raises:
        TypeError: `features` are none.
        ValueError: There are no actions, or more than can be counted.

    >>> from fhtd import Features, NStepFHTD, Weighting
    >>> pairs = Features.with_actions(Features.tabular(1), n_actions=2)
    >>> learner = NStepFHTD(pairs, Weighting.exponential(4), n=2, step_size=0.5)
    >>> for t in range(200):  # action 1 pays 1, and the policy alternates
    ...     learner.update((0, t % 2), float(t % 2), (0, (t + 1) % 2))
    >>> [learner.values((0, action)).round(3).tolist() for action in (0, 1)]
    [[1.0, 2.0], [1.0, 2.0]]
    """

    #: Of the state alone.
    features: Any
    #: How many actions there are.
    n_actions: int

    def __post_init__(self) -> None:
        for needed in ("size", "n_active", "observation_shape", "active"):
            if not hasattr(self.features, needed):
                raise TypeError(f"features must be built by Features, got {self.features!r}")
        count = checks.integer("n_actions", self.n_actions, 1, MOST_FEATURES // self.features.size)
        object.__setattr__(self, "n_actions", count)

    @property
    def size(self) -> int:
        """Those of the state, for each action."""
        return int(self.features.size) * self.n_actions

    @property
    def n_active(self) -> int:
        """As many as of the state."""
        return int(self.features.n_active)

    @property
    def observation_shape(self) -> tuple[int, ...]:
        """Two things: what is seen of the state, and the action."""
        return (2,)

    def active(self, observation: Any) -> Active:
        """The active list of the state, among the features of the action.

        Args:
            observation: The pair (observation of the state, action).

        Raises:
            TypeError: It is no pair.
            ValueError: There is no such action, or no such state.
        """
        if not isinstance(observation, tuple | list) or len(observation) != 2:
            raise TypeError(
                f"observation must be a pair (observation, action), got {observation!r}"
            )
        seen, action = observation
        action = checks.integer("observation's action", action, 0, self.n_actions - 1)
        indices, values = self.features.active(seen)
        return np.asarray(indices) + action * self.features.size, values

    def to_arrays(self) -> dict[str, npt.NDArray[Any]]:
        """The arrays that rebuild these features.

        Raises:
            TypeError: The state's features are of your own, and have none.
        """
        kind = type(self.features).__name__
        if kind not in STATE_KINDS:
            raise TypeError(f"features of the state, {kind}, cannot be saved")
        own = {f"state_{name}": array for name, array in self.features.to_arrays().items()}
        return {
            "n_actions": np.array(self.n_actions),
            "kind": np.array(STATE_KINDS.index(kind)),
            **own,
        }
