"""What is told of training while it goes on: rows of a log, and a line of words."""

import time
from collections import deque
from typing import Any

import numpy as np

from fhtd.callbacks import Callback
from fhtd.progress import Advance

#: Episodes over which returns are averaged.
WINDOW = 100


class Recent:
    """Returns and lengths of the last 100 episodes, and the rows of a log."""

    def __init__(self) -> None:
        self._episodes: deque[tuple[float, float]] = deque(maxlen=WINDOW)

    def add(self, total: float, length: float) -> None:
        """An episode has ended."""
        self._episodes.append((total, length))

    @property
    def mean_return(self) -> float | None:
        """None before the first episode has ended."""
        return float(np.mean([one for one, _ in self._episodes])) if self._episodes else None

    def row(self, agent: Any, number: int, frame: int) -> dict[str, Any]:
        """Everything under Stable-Baselines3's tags; takes the agent's statistics."""
        recent = np.array(self._episodes)
        statistics = agent.take_statistics()
        row: dict[str, Any] = {
            "time/total_timesteps": frame,
            "time/episodes": number,
            "rollout/ep_rew_mean": float(recent[:, 0].mean()),
            "rollout/ep_len_mean": float(recent[:, 1].mean()),
            **agent.exploration(),
            "train/n_updates": agent.updates,
            "train/learning_rate": agent.settings.learning_rate_after(agent.updates),
            "train/loss": float(statistics["loss"].mean()),
            **agent.deepening(),
        }
        labels = agent.output_names()
        for name, values in statistics.items():
            if values.shape == (len(labels),):
                for label, value in zip(labels, values, strict=True):
                    row[f"train/{name}_{label}"] = float(value)
            elif name != "loss":
                row[f"train/{name}"] = float(values.mean())
        return row


class View(Callback):
    """Tells a bar, a few times a second, how training is going.

    Args:
        advance: The bar's.
        since: The frame from which the bar counts.
    """

    def __init__(self, advance: Advance, since: int = 0) -> None:
        self._advance, self._since = advance, since
        self.recent = Recent()
        self._evaluated: float | None = None
        self._began = self._shown = time.monotonic()
        self._first: int | None = None
        self._loss: float | None = None

    def __call__(self, agent: Any, episode: dict[str, float]) -> None:
        """Count an episode."""
        self.recent.add(episode["return"], episode["length"])

    def log(self, agent: Any, row: dict[str, float]) -> None:
        """Remember the newest evaluation."""
        self._evaluated = row.get("eval/mean_reward", self._evaluated)

    def step(self, agent: Any) -> None:
        """Show how things are, where that was not shown just now."""
        now = time.monotonic()
        if self._first is None:
            # The first frame compiles: it says nothing about speed.
            self._first, self._began = agent.frames, now
        if now - self._shown >= 0.25:
            self._shown = now
            self._advance(agent.frames - self._since, state=self.words(agent, now))

    def words(self, agent: Any, now: float) -> str:
        """One line."""
        passed = now - self._began
        words = []
        if passed > 0 and self._first is not None and agent.frames > self._first:
            words.append(f"{(agent.frames - self._first) / passed:,.0f} frames/s")
        words.append(f"{agent.episodes:,} episodes")
        if (mean := self.recent.mean_return) is not None:
            words.append(f"mean return {mean:.4g}")
        if self._evaluated is not None:
            words.append(f"evaluated {self._evaluated:.4g}")
        words += [
            f"{tag.rpartition('/')[2].replace('exploration_rate', 'epsilon')} {value:.3g}"
            for tag, value in agent.exploration().items()
        ]
        self._loss = agent.mean_loss() if agent.updates else None
        if self._loss is not None:
            words.append(f"loss {self._loss:.3g}")
        return ", ".join(words)
