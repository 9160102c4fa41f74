"""The tables of a training run, and the same for TensorBoard."""

import csv
import io
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

from fhtd.deep.metrics import Recent
from fhtd.files import write_atomically

_EPISODES, _PROGRESS, _EVALUATIONS = "episodes.csv", "progress.csv", "evaluations.csv"
_CLOCK = {_EPISODES: "frame", _PROGRESS: "time/total_timesteps", _EVALUATIONS: "frame"}


class Tables:
    """`episodes.csv`, `progress.csv` and `evaluations.csv` of a run; a `Log` of the run machine."""

    def __init__(self, folder: Path, every: int, evaluate_every: int | None = None) -> None:
        self.folder, self.every, self.evaluate_every = folder, every, evaluate_every
        self._recent = Recent()
        #: Given each row, to show it elsewhere too.
        self.tell: Callable[[Any, dict[str, Any]], None] = lambda agent, row: None
        self._board: Any = None

    def episode(self, agent: Any, episode: dict[str, float]) -> None:
        """A line of episodes.csv, and every so often one of progress.csv."""
        self._recent.add(episode["return"], episode["length"])
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
        row = self._recent.row(agent, number, frame)
        _append(self.folder / _PROGRESS, row)
        self._show(row)
        self.tell(agent, row)

    def evaluation(self, row: dict[str, float]) -> None:
        """A line of evaluations.csv."""
        names = {"frame": "time/total_timesteps", "mean": "eval/mean_reward"}
        names["deviation"] = "eval/std_reward"
        _append(self.folder / _EVALUATIONS, {name: row[tag] for name, tag in names.items()})
        self._show(row)

    def evaluations(self) -> list[tuple[int, float]]:
        """Frame and mean return of each."""
        rows = self._before(_EVALUATIONS, 2**63)
        return [(int(row["frame"]), float(row["mean"])) for row in rows]

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
        often = self.evaluate_every
        expected[_EVALUATIONS] = 0 if often is None else agent.frames // often
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
            self._recent.add(float(row["return"]), float(row["length"]))

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
        for frame, mean in self.evaluations():
            self._show({"time/total_timesteps": frame, "eval/mean_reward": mean})

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
