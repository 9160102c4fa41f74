"""One training run of a deep agent as a block: with checkpoints, to the bit after a kill."""

from collections.abc import Callable
from typing import Any

import numpy as np

from fhtd.reproduction.arms import Arrays
from fhtd.reproduction.experiment import Scratch

_STATISTICS_EVERY = 10_000


class Curve:
    """Every episode's end and return, and statistics every so often; a `Log` of the run machine."""

    _CLOCKS = (("frame", ("return",)), ("statistics_frame", ("mean_target", "mean_loss")))

    def __init__(self, scratch: Scratch) -> None:
        self._scratch = scratch
        self.columns: dict[str, list[Any]] = {
            name: [] for clock, others in self._CLOCKS for name in (clock, *others)
        }

    def episode(self, agent: Any, episode: dict[str, float]) -> None:
        """Note the episode, and the statistics after each 10,000 frames."""
        columns = self.columns
        columns["frame"].append(agent.frames)
        columns["return"].append(episode["return"])
        last = columns["statistics_frame"][-1] if columns["statistics_frame"] else 0
        if agent.frames // _STATISTICS_EVERY > last // _STATISTICS_EVERY:
            found = agent.take_statistics()
            columns["statistics_frame"].append(agent.frames)
            # What an agent of somebody's own does not measure is not known.
            columns["mean_target"].append(float(found.get("target", _UNKNOWN)[-1]))
            columns["mean_loss"].append(float(found["loss"].mean()))

    def keep(self) -> None:
        """Before the checkpoint: what it says of later frames is dropped on resuming."""
        self._scratch.write_json("log.json", self.columns)

    def rewind(self, agent: Any) -> None:
        """As it was when the agent was saved."""
        kept = self._scratch.read_json("log.json")
        if not isinstance(kept, dict) or set(kept) != set(self.columns):
            raise ValueError("the log of the run is missing")
        for clock, others in self._CLOCKS:
            count = sum(frame <= agent.frames for frame in kept[clock])
            for name in (clock, *others):
                self.columns[name] = kept[name][:count]
        if len(self.columns["frame"]) != agent.episodes:
            raise ValueError("the log of the run lacks episodes")

    def arrays(self, agent: Any) -> Arrays:
        """To keep, when the agent is trained."""
        columns = self.columns
        return {
            "frame": np.array(columns["frame"], np.int32),
            "return": np.array(columns["return"], np.float32),
            "statistics_frame": np.array(columns["statistics_frame"], np.int32),
            "mean_target": np.array(columns["mean_target"], np.float64),
            "mean_loss": np.array(columns["mean_loss"], np.float64),
            "divergence": np.array(agent.divergence or (-1, -1.0), np.float64),
        }


_UNKNOWN = np.array([np.nan])


def seed_of(seed: int, run: int) -> int:
    """The seed of run i, which all arms share, so that they can be paired."""
    return int(np.random.SeedSequence(seed, spawn_key=(run,)).generate_state(1)[0])


def trained(
    kind: Any,
    make_environment: Callable[[], Any],
    frames: int,
    scratch: Scratch,
    **options: Any,
) -> tuple[Any, Arrays]:
    """An agent after so many frames, from its last checkpoint where there is one; and its story.

    Args:
        kind: The agent's class.
        make_environment: Gives a new environment.
        frames: To train for.
        scratch: Where its checkpoint is.
        options: Of the agent's constructor: seed, preset, settings.
    """
    from fhtd.deep import use_one_thread
    from fhtd.deep.run import newest, train

    use_one_thread()
    log = Curve(scratch)
    try:
        agent = newest(kind, scratch.folder, make_environment)
        if agent is not None:
            log.rewind(agent)
    except ValueError:
        agent = None
    if agent is None:
        log = Curve(scratch)
        agent = kind(make_environment(), **options)
    every = max(frames // 10, 500)
    train(agent, frames, scratch.folder, log, checkpoint_every=every, saved=scratch.saved)
    return agent, log.arrays(agent)
