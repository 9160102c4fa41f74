"""Environments made, and the episodes that agents live through in them."""

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt


class Step(NamedTuple):
    """One step of an episode: what was seen, expected, done and received."""

    observation: Any
    #: (actions, horizons).
    values: npt.NDArray[np.float32]
    action: int
    reward: float
    terminated: bool


class Episode:
    """The episode under way."""

    def __init__(self, observation: npt.NDArray[Any], mask: npt.NDArray[np.bool_]) -> None:
        self.observation = observation
        self.mask = mask
        self.greedy = 0
        self.total = 0.0
        self.length = 0


def random_action(rng: np.random.Generator, mask: npt.NDArray[np.bool_]) -> int:
    """One of the permitted actions, each as likely as the others."""
    permitted = np.flatnonzero(mask)
    return int(permitted[rng.integers(len(permitted))])


def make(environment: Any) -> Any:
    """An environment by its id; one that is given is taken as it is."""
    if isinstance(environment, str):
        import gymnasium

        try:
            return gymnasium.make(environment)
        except (gymnasium.error.Error, ImportError) as error:
            raise ValueError(f"environment {environment!r} cannot be made: {error}") from None
    if not hasattr(environment, "step") or not hasattr(environment, "observation_space"):
        raise TypeError(
            f"environment must be a Gymnasium environment or its id, got {environment!r}"
        )
    return environment


def another(environment: Any) -> Any:
    """A second environment like this one."""
    if getattr(environment, "spec", None) is None:
        raise ValueError("environment has no spec to make another from: give one to evaluate in")
    import gymnasium

    return gymnasium.make(environment.spec)
