"""Training runs in folders: settings, logs and checkpoints, resumable to the bit.

    <folder>/run.json          what was asked for
    <folder>/episodes.csv      every episode: number, last frame, return, length
    <folder>/progress.csv      every few episodes, under Stable-Baselines3's tags
    <folder>/checkpoint.npz    everything, at the end of an episode
    <folder>/agent.npz         the finished agent

Logs hold no clock times, so that a run that was killed and resumed leaves the same bytes.
"""

import csv
import io
import json
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np

from fhtd import checks
from fhtd.deep import DFHQ, DQN
from fhtd.deep.agent import DeepAgent
from fhtd.files import write_atomically
from fhtd.provenance import versions

FORMAT = 1
ALGORITHMS: dict[str, type[DeepAgent]] = {"dfhq": DFHQ, "dqn": DQN}


@dataclass(frozen=True)
class Request:
    """What a training run is."""

    environment: str
    algorithm: Literal["dfhq", "dqn"]
    frames: int
    seed: int
    settings: dict[str, Any]
    environment_options: dict[str, Any]
    checkpoint_every: int = 10_000
    log_every: int = 10

    def __post_init__(self) -> None:
        if self.algorithm not in ALGORITHMS:
            raise ValueError(f"algorithm must be dfhq or dqn, got {self.algorithm!r}")
        checks.integer("frames", self.frames, 1)
        checks.integer("seed", self.seed, 0)
        checks.integer("checkpoint_every", self.checkpoint_every, 1)
        checks.integer("log_every", self.log_every, 1)


def start(request: Request, folder: Path) -> "Run":
    """Begin a run in a folder of its own; one that holds anything is refused."""
    # A crash while a file was written leaves its temporary twin, whose name begins with a dot.
    if folder.exists() and any(not path.name.startswith(".") for path in folder.iterdir()):
        raise ValueError(
            f"{folder} is not empty: give another --out, or continue with --resume {folder}"
        )
    run = Run(request, folder, build(request))
    content = {"format": FORMAT, "versions": versions(), **request.__dict__}
    write_atomically(folder / "run.json", (json.dumps(content, indent=2) + "\n").encode())
    return run


def resume(folder: Path) -> "Run":
    """Continue from the last checkpoint, or from the beginning where there is none yet."""
    request = read_request(folder)
    if (folder / "agent.npz").exists():
        raise ValueError(f"{folder} is finished after {request.frames} frames: nothing to resume")
    agent = _last_good(request, folder)
    run = Run(request, folder, agent)
    run.drop_rows_after(agent.frames)
    return run


def build(request: Request) -> DeepAgent:
    """A new agent for a request."""
    kind: Any = ALGORITHMS[request.algorithm]
    agent: DeepAgent = kind(make_environment(request), seed=request.seed, **request.settings)
    return agent


def make_environment(request: Request, **options: Any) -> Any:
    """The environment of a run."""
    import gymnasium

    import fhtd.envs

    assert fhtd.envs
    try:
        return gymnasium.make(request.environment, **(request.environment_options | options))
    except (gymnasium.error.Error, ImportError, TypeError) as error:
        raise ValueError(f"environment {request.environment!r} cannot be made: {error}") from None


def read_request(folder: Path) -> Request:
    """What a folder's run is."""
    path = folder / "run.json"
    if not path.exists():
        raise ValueError(f"{folder} holds no training run: there is no run.json")
    try:
        content = json.loads(path.read_text())
        if content.pop("format") != FORMAT:
            raise ValueError("another format")
        content.pop("versions")
        content["settings"] = {
            key: tuple(value) if isinstance(value, list) else value
            for key, value in content["settings"].items()
        }
        return Request(**content)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"{path} cannot be read: {error}") from None


def load_agent(folder: Path) -> DeepAgent:
    """The finished agent of a run, or its last checkpoint."""
    request = read_request(folder)
    finished = folder / "agent.npz"
    if finished.exists():
        return ALGORITHMS[request.algorithm].load(finished, make_environment(request))
    return _last_good(request, folder)


def _last_good(request: Request, folder: Path) -> DeepAgent:
    """From the newest checkpoint that can be read; a new agent where none was written yet."""
    kind = ALGORITHMS[request.algorithm]
    paths = [folder / "checkpoint.npz", folder / "checkpoint.npz.previous"]
    problem: ValueError | None = None
    for path in paths:
        if path.exists():
            try:
                return kind.load(path, make_environment(request))
            except ValueError as error:
                problem = problem or error
    if problem is not None:
        raise problem
    return build(request)


class Run:
    """A run under way."""

    def __init__(self, request: Request, folder: Path, agent: DeepAgent) -> None:
        self.request, self.folder, self.agent = request, folder, agent
        self._recent: deque[tuple[float, float]] = deque(maxlen=100)
        self._board: Any = None

    def use_tensorboard(self) -> None:
        """Write TensorBoard events beside the tables."""
        try:
            from tensorboard.summary import Writer
        except ImportError:
            raise ValueError("tensorboard is not installed: pip install 'fhtd[deep]'") from None
        self._board = Writer(str(self.folder / "tensorboard"))

    def drop_rows_after(self, frame: int) -> None:
        """Take back what the logs say of frames that will be run again."""
        for name, column in (("episodes.csv", "frame"), ("progress.csv", "time/total_timesteps")):
            path = self.folder / name
            if path.exists():
                with open(path, newline="") as file:
                    rows = list(csv.DictReader(file))
                # A row cut off by a crash lacks its last fields.
                kept = [r for r in rows if None not in r.values() and int(r[column]) <= frame]
                write_atomically(path, _table(kept) if kept else b"")
        path = self.folder / "episodes.csv"
        if path.exists():
            with open(path, newline="") as file:
                for row in csv.DictReader(file):
                    self._recent.append((float(row["return"]), float(row["length"])))

    def train(self, advance: Callable[[int], None] = lambda frames: None) -> DeepAgent:
        """Train to the end; `advance` is told the frames done after each episode."""
        agent, request = self.agent, self.request
        marked = agent.frames // request.checkpoint_every

        def after(_: Any, episode: dict[str, float]) -> None:
            nonlocal marked
            self._log(episode)
            advance(agent.frames)
            if agent.frames // request.checkpoint_every > marked:
                marked = agent.frames // request.checkpoint_every
                agent.save(self.folder / "checkpoint.npz")

        if agent.frames < request.frames:
            agent.learn(request.frames - agent.frames, callback=after)
        agent.save(self.folder / "agent.npz")
        if self._board is not None:
            self._board.close()
        return agent

    def _log(self, episode: dict[str, float]) -> None:
        agent = self.agent
        self._recent.append((episode["return"], episode["length"]))
        _append(
            self.folder / "episodes.csv",
            {
                "episode": agent.episodes,
                "frame": agent.frames,
                "return": episode["return"],
                "length": int(episode["length"]),
            },
        )
        if agent.episodes % self.request.log_every:
            return
        recent = np.array(self._recent)
        statistics = agent.take_statistics()
        row: dict[str, Any] = {
            "time/total_timesteps": agent.frames,
            "time/episodes": agent.episodes,
            "rollout/ep_rew_mean": float(recent[:, 0].mean()),
            "rollout/ep_len_mean": float(recent[:, 1].mean()),
            "rollout/exploration_rate": agent.epsilon,
            "train/n_updates": agent.updates,
            "train/learning_rate": agent.settings.learning_rate,
            "train/loss": float(statistics["loss"].mean()),
        }
        for name, values in statistics.items():
            for horizon, value in zip(agent.horizons, values, strict=True):
                row[f"train/{name}_h{horizon:g}"] = float(value)
        _append(self.folder / "progress.csv", row)
        if self._board is not None:
            for tag, value in row.items():
                self._board.add_scalar(tag, value, agent.frames)
            self._board.flush()


def _append(path: Path, row: dict[str, Any]) -> None:
    """Add a line, with the names above the first."""
    begun = path.exists() and path.stat().st_size > 0
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
