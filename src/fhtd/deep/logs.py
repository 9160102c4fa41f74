"""The tables of a training run, and the same for TensorBoard."""

import csv
import io
import os
import shutil
from collections import deque
from pathlib import Path
from typing import Any

import numpy as np

from fhtd.files import write_atomically

_EPISODES, _PROGRESS = "episodes.csv", "progress.csv"
_CLOCK = {_EPISODES: "frame", _PROGRESS: "time/total_timesteps"}


class Tables:
    """`episodes.csv` and `progress.csv` of a run; a `Log` of the run machine."""

    def __init__(self, folder: Path, every: int) -> None:
        self.folder, self.every = folder, every
        self._recent: deque[tuple[float, float]] = deque(maxlen=100)
        self._board: Any = None

    def episode(self, agent: Any, episode: dict[str, float]) -> None:
        """A line of episodes.csv, and every so often one of progress.csv."""
        self._recent.append((episode["return"], episode["length"]))
        number, frame = int(episode["episode"]), int(episode["frame"])
        row = {
            "episode": number,
            "frame": frame,
            "return": episode["return"],
            "length": int(episode["length"]),
        }
        _append(self.folder / _EPISODES, row)
        if number % self.every == 0:
            self._progress(agent, number, frame)

    def _progress(self, agent: Any, number: int, frame: int) -> None:
        recent = np.array(self._recent)
        statistics = agent.take_statistics()
        row: dict[str, Any] = {
            "time/total_timesteps": frame,
            "time/episodes": number,
            "rollout/ep_rew_mean": float(recent[:, 0].mean()),
            "rollout/ep_len_mean": float(recent[:, 1].mean()),
            **agent.exploration(),
            "train/n_updates": agent.updates,
            "train/learning_rate": agent.settings.learning_rate,
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
        _append(self.folder / _PROGRESS, row)
        self._show(row)

    def keep(self) -> None:
        """Lines are written as they come; here they are seen onto the disk."""
        for name in _CLOCK:
            if (self.folder / name).exists():
                with open(self.folder / name, "ab") as file:
                    os.fsync(file.fileno())

    def rewind(self, agent: Any) -> None:
        """Take back what the tables say of frames that will be run again."""
        kept = {name: self._before(name, agent.frames) for name in _CLOCK}
        expected = {_EPISODES: agent.episodes, _PROGRESS: agent.episodes // self.every}
        for name, rows in kept.items():
            if len(rows) != expected[name]:
                raise ValueError(
                    f"{self.folder / name} has {len(rows)} of the {expected[name]} lines from "
                    "before the checkpoint: it was changed since, and the run cannot go on from it"
                )
        for name, rows in kept.items():
            if (self.folder / name).exists():
                write_atomically(self.folder / name, _table(rows) if rows else b"")
        for row in kept[_EPISODES]:
            self._recent.append((float(row["return"]), float(row["length"])))

    def _before(self, name: str, frame: int) -> list[dict[str, str]]:
        """The whole rows of a table up to a frame."""
        path = self.folder / name
        if not path.exists():
            return []
        try:
            with open(path, newline="") as file:
                rows = list(csv.DictReader(file))
            # A row cut off by a crash lacks its last fields.
            return [r for r in rows if None not in r.values() and int(r[_CLOCK[name]]) <= frame]
        except (ValueError, KeyError, TypeError, csv.Error) as error:
            raise ValueError(f"{path} cannot be read: {error}") from None

    def use_tensorboard(self) -> None:
        """Write TensorBoard events too: what the table says so far, and what is to come."""
        try:
            from tensorboard.summary import Writer
        except ImportError:
            raise ValueError("tensorboard is not installed: pip install 'fhtd[deep]'") from None
        place = self.folder / "tensorboard"
        # Events of frames that are run again would stand there twice.
        shutil.rmtree(place, ignore_errors=True)
        self._board = Writer(str(place))
        for row in self._before(_PROGRESS, 2**63):
            self._show({tag: float(value) for tag, value in row.items()})

    def _show(self, row: dict[str, Any]) -> None:
        if self._board is not None:
            for tag, value in row.items():
                self._board.add_scalar(tag, value, int(row["time/total_timesteps"]))
            self._board.flush()

    def close(self) -> None:
        """Nothing more will come."""
        if self._board is not None:
            self._board.close()


def _append(path: Path, row: dict[str, Any]) -> None:
    """Add a line, with the names above the first."""
    begun = path.exists() and path.stat().st_size > 0
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(path, "a", newline="") as file:
        writer = csv.DictWriter(file, row, lineterminator="\n")
        if not begun:
            writer.writeheader()
        writer.writerow(row)


def _table(rows: list[dict[str, Any]]) -> bytes:
    text = io.StringIO()
    writer = csv.DictWriter(text, rows[0], lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue().encode()
