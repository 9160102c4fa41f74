"""What can happen after an episode: evaluation, checkpoints, an early stop.

A callback is any function of (agent, episode); returning False ends training. `together` makes one
of several.
"""

from collections import deque
from collections.abc import Callable
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from fhtd import checks

Callback = Callable[[Any, dict[str, float]], bool | None]


def together(*callbacks: Callback) -> Callback:
    """All of them in turn; training ends if any asks for it.

    Args:
        callbacks: Functions of (agent, episode).
    """

    def call(agent: Any, episode: dict[str, float]) -> bool:
        answers = [callback(agent, episode) for callback in callbacks]
        return all(answer is not False for answer in answers)

    return call


class _Every:
    """True at the first episode end at or after each multiple of `frames`."""

    def __init__(self, frames: int) -> None:
        self.frames = checks.integer("every", frames, 1)
        self._done = 0

    def is_due(self, frame: int) -> bool:
        reached = frame // self.frames
        due = reached > self._done
        self._done = max(self._done, reached)
        return due


class Checkpoint:
    """Save the agent at the first episode end after every so many frames.

    Args:
        path: Of the file; the one before is kept beside it.
        every: Frames between checkpoints.
    """

    def __init__(self, path: str | PathLike[str], every: int = 10_000) -> None:
        self.path = Path(path)
        self._every = _Every(every)

    def __call__(self, agent: Any, episode: dict[str, float]) -> None:
        """Save when due."""
        if self._every.is_due(int(episode["frame"])):
            agent.save(self.path)


class Evaluation:
    """Evaluate every so many frames; `history` lists (frame, mean return).

    Args:
        every: Frames between evaluations.
        episodes: How many to act in.
        epsilon: Probability of a random action.
        environment: Where to act; default: a new one like the training environment.
        best_path: Where to keep the best agent so far, if anywhere.
    """

    def __init__(
        self,
        every: int = 10_000,
        episodes: int = 10,
        *,
        epsilon: float = 0.0,
        environment: Any = None,
        best_path: str | PathLike[str] | None = None,
    ) -> None:
        self._every = _Every(every)
        self.episodes = checks.integer("episodes", episodes, 1)
        self.epsilon = checks.real("epsilon", epsilon, 0, 1)
        self.environment = environment
        self.best_path = None if best_path is None else Path(best_path)
        self.history: list[tuple[int, float]] = []

    def __call__(self, agent: Any, episode: dict[str, float]) -> None:
        """Evaluate when due."""
        frame = int(episode["frame"])
        if not self._every.is_due(frame):
            return
        returns = agent.evaluate(self.episodes, epsilon=self.epsilon, environment=self.environment)
        mean = float(np.mean(returns))
        if self.best_path is not None and mean > max(
            (past for _, past in self.history), default=-np.inf
        ):
            agent.save(self.best_path)
        self.history.append((frame, mean))


class StopAtReturn:
    """End training once the mean return of the last episodes is good enough.

    Args:
        threshold: The mean return to reach.
        window: Of how many episodes.
    """

    def __init__(self, threshold: float, window: int = 100) -> None:
        self.threshold = checks.real("threshold", threshold)
        self._recent: deque[float] = deque(maxlen=checks.integer("window", window, 1))

    def __call__(self, agent: Any, episode: dict[str, float]) -> bool:
        """Whether to go on."""
        self._recent.append(episode["return"])
        is_full = len(self._recent) == self._recent.maxlen
        return not (is_full and np.mean(self._recent) >= self.threshold)
