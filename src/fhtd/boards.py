"""Callbacks that show the log: on the terminal, in TensorBoard, at Weights & Biases."""

import sys
from os import PathLike
from pathlib import Path
from typing import Any

from fhtd.callbacks import Callback


class Printed(Callback):
    """Prints rows of the log: what `verbose=1` does.

    >>> from fhtd import FHQ, Weighting
    >>> from fhtd.boards import Printed
    >>> agent = FHQ("fhtd/RandomWalk-v0", weighting=Weighting.exponential(8), seed=0)
    >>> _ = agent.learn(1_000, callback=Printed(), log_interval=5)
    frame 486, episode 5, return 0.6
    frame 960, episode 10, return 0.6
    """

    def log(self, agent: Any, row: dict[str, float]) -> None:
        """One line."""
        names = {
            "time/total_timesteps": "frame",
            "time/episodes": "episode",
            "rollout/ep_rew_mean": "return",
            "rollout/exploration_rate": "epsilon",
            "train/loss": "loss",
            "train/horizon": "horizon",
            "eval/mean_reward": "evaluated",
        }
        told = [f"{name} {row[tag]:.6g}" for tag, name in names.items() if tag in row]
        sys.stdout.write(", ".join(told) + "\n")
        sys.stdout.flush()


class TensorBoard(Callback):
    """Write TensorBoard events: every row of the log, under its tags.

    Args:
        folder: Where to write; `tensorboard --logdir` takes the same.

    >>> from pathlib import Path
    >>> from fhtd import FHQ, Weighting
    >>> from fhtd.boards import TensorBoard
    >>> agent = FHQ("fhtd/RandomWalk-v0", weighting=Weighting.exponential(8), seed=0)
    >>> _ = agent.learn(1_000, callback=TensorBoard("events"), log_interval=5)
    >>> len(list(Path("events").glob("events.out.tfevents.*")))
    1
    """

    def __init__(self, folder: str | PathLike[str]) -> None:
        self.folder = Path(folder)
        self._writer: Any = None

    def begin(self, agent: Any) -> None:
        """Open the file; a missing library is named before anything is learned.

        Raises:
            ModuleNotFoundError: TensorBoard is not installed.
        """
        try:
            from tensorboard.summary import Writer
        except ImportError:
            raise ModuleNotFoundError(
                "tensorboard is not installed: pip install 'fhtd[deep]'"
            ) from None
        self._writer = Writer(str(self.folder))

    def log(self, agent: Any, row: dict[str, float]) -> None:
        """Write a row at the frame where it was measured."""
        if self._writer is not None:
            for tag, value in row.items():
                self._writer.add_scalar(tag, value, int(row["time/total_timesteps"]))
            self._writer.flush()

    def end(self, agent: Any) -> None:
        """Close the file."""
        if self._writer is not None:
            self._writer.close()
            self._writer = None


class WeightsAndBiases(Callback):
    """Send every row of the log to Weights & Biases (`pip install wandb`).

    Args:
        options: Of `wandb.init`, such as `project` and `mode`; the agent's settings are its
            `config` unless you give one. Where a run is open already, it is used and left open.

    >>> from fhtd.boards import WeightsAndBiases
    >>> board = WeightsAndBiases({"project": "mazes", "mode": "offline"})
    >>> board.options["mode"]  # and then: agent.learn(10_000, callback=board)
    'offline'
    """

    def __init__(self, options: dict[str, Any] | None = None) -> None:
        self.options = dict(options or {})
        self._run: Any = None
        self._is_ours = False

    def begin(self, agent: Any) -> None:
        """Open a run, unless there is one; a missing library is named before any learning.

        Raises:
            ModuleNotFoundError: wandb is not installed.
        """
        try:
            import wandb
        except ImportError:
            raise ModuleNotFoundError("wandb is not installed: pip install wandb") from None
        self._is_ours = wandb.run is None
        settings = getattr(agent, "settings", None)
        config = {"agent": type(agent).__name__, **({} if settings is None else vars(settings))}
        options = {"config": config} | self.options
        self._run = wandb.init(**options) if self._is_ours else wandb.run

    def log(self, agent: Any, row: dict[str, float]) -> None:
        """Send a row at the frame where it was measured."""
        if self._run is not None:
            self._run.log(row, step=int(row["time/total_timesteps"]))

    def end(self, agent: Any) -> None:
        """Close the run, where it was opened here."""
        if self._run is not None and self._is_ours:
            self._run.finish()
        self._run = None
