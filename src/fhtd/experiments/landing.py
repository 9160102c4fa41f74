"""Deep agents in LunarLander: one run of an arm, and what the figures read off many."""

from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from fhtd import checks
from fhtd.reproduction import Arrays, Block, Results, Scratch, style
from fhtd.reproduction.arms import MOST_RUNS
from fhtd.statistics import Statistics

if TYPE_CHECKING:
    from matplotlib.axes import Axes

ENVIRONMENT = "LunarLander-v3"
#: Episodes that a point of a learning curve is the mean of (paper: 10).
WINDOW = 10
#: Paper: 5,000.
EPISODE_FRAMES = 5_000
#: Evaluation episodes are cut where Gymnasium cuts them by default.
EVALUATION_FRAMES = 1_000
#: Mean targets beyond this are no estimate of anything: good landings bring about 300.
SENSELESS = 1_000.0
_STATISTICS_EVERY = 10_000


def check_each(name: str, values: Sequence[Any], check: Callable[[str, Any], object]) -> None:
    """Refuse an empty setting, or one with a bad value."""
    if not values:
        raise ValueError(f"{name} must not be empty")
    for value in values:
        check(name, value)


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
            columns["mean_target"].append(float(found["target"][-1]))
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


def train(
    algorithm: str,
    settings: Mapping[str, Any],
    *,
    frames: int,
    seed: int,
    run: int,
    scratch: Scratch,
    evaluation_episodes: int = 0,
    epsilon: float = 0.05,
) -> Arrays:
    """Train one agent, the paper's but for these settings, and then watch it.

    The arms' run i share a seed, so that they can be paired.
    """
    from fhtd.deep import use_one_thread
    from fhtd.deep.run import ALGORITHMS
    from fhtd.deep.run import train as train_in

    use_one_thread()
    log = Curve(scratch)
    agent = _resumed(algorithm, scratch, log)
    if agent is None:
        log = Curve(scratch)
        words = np.random.SeedSequence(seed, spawn_key=(run,)).generate_state(1)
        options = {"max_episode_frames": EPISODE_FRAMES, "on_divergence": "record", **settings}
        kind: Any = ALGORITHMS[algorithm]
        agent = kind(_environment(), seed=int(words[0]), preset="paper", **options)
    every = max(frames // 10, 500)
    train_in(agent, frames, scratch.folder, log, checkpoint_every=every, saved=scratch.saved)
    frame, horizon = agent.divergence or (-1, -1.0)
    columns = log.columns
    result: Arrays = {
        "frame": np.array(columns["frame"], np.int32),
        "return": np.array(columns["return"], np.float32),
        "statistics_frame": np.array(columns["statistics_frame"], np.int32),
        "mean_target": np.array(columns["mean_target"], np.float64),
        "mean_loss": np.array(columns["mean_loss"], np.float64),
        "divergence": np.array([frame, horizon], np.float64),
    }
    if evaluation_episodes:
        result |= _watch(agent, evaluation_episodes, epsilon)
    return result


def _environment(limit: int = EPISODE_FRAMES) -> Any:
    from fhtd.environments import make

    return make(ENVIRONMENT, max_episode_steps=limit)


def _resumed(algorithm: str, scratch: Scratch, log: Curve) -> Any:
    """The agent of the last good checkpoint, and its log; None where there is none."""
    from fhtd.deep.run import ALGORITHMS, newest

    try:
        agent = newest(ALGORITHMS[algorithm], scratch.folder, _environment)
        if agent is not None:
            log.rewind(agent)
    except ValueError:
        return None
    return agent


def _watch(agent: Any, episodes: int, epsilon: float) -> Arrays:
    """Value estimates of the actions taken, with the rewards that came, episode after episode."""
    environment = _environment(EVALUATION_FRAMES)
    values, rewards, lengths, ended = [], [], [], []
    for i in range(episodes):
        length, terminated = 0, False
        for step in agent.episode(environment, epsilon=epsilon, seed=i):
            values.append(step.values[step.action, -1])
            rewards.append(step.reward)
            length, terminated = length + 1, step.terminated
        lengths.append(length)
        ended.append(terminated)
    environment.close()
    return {
        "evaluation_value": np.array(values, np.float32),
        "evaluation_reward": np.array(rewards, np.float32),
        "evaluation_length": np.array(lengths, np.int32),
        "evaluation_terminated": np.array(ended, np.bool_),
    }


def curve(
    ends: npt.NDArray[Any], returns: npt.NDArray[Any], at: npt.NDArray[np.int64]
) -> npt.NDArray[np.float64]:
    """Mean return of the last 10 episodes that had ended at each of these frames.

    NaN before the first has ended; the mean of fewer while there are fewer.
    """
    sums = np.concatenate([[0.0], np.cumsum(returns, dtype=np.float64)])
    done = np.searchsorted(ends, at, side="right")
    first = np.maximum(done - WINDOW, 0)
    with np.errstate(invalid="ignore"):
        return np.asarray((sums[done] - sums[first]) / (done - first))


def curves(
    results: Results, arm: Hashable, runs: int, at: npt.NDArray[np.int64]
) -> npt.NDArray[np.float64]:
    """(runs, points) of an arm; before a first episode has ended, its return is taken."""
    found = np.empty((runs, len(at)))
    for run in range(runs):
        one = results[one_run(arm, run)]
        line = curve(one["frame"], one["return"], at)
        found[run] = np.where(np.isnan(line), one["return"][0], line)
    return found


def one_run(arm: Hashable, run: int) -> Block:
    """One run is one block."""
    return Block(arm, range(run, run + 1))


def blocks_of(arms: Sequence[Hashable], runs: int) -> list[Block]:
    """All arms' first runs before any arm's second, so that few runs are already a comparison."""
    checks.integer("runs", runs, 1, MOST_RUNS)
    return [one_run(arm, run) for run in range(runs) for arm in arms]


def points(frames: int) -> npt.NDArray[np.int64]:
    """Frames at which curves are drawn: at most 500, evenly, the last included."""
    count = min(frames, 500)
    return np.linspace(frames / count, frames, count).astype(np.int64)


def areas(data: Arrays, arm: Hashable) -> npt.NDArray[np.float64]:
    """Mean over frames of each run's curve."""
    return np.asarray(data[f"{arm}.curves"].mean(axis=1))


def senseless(one: Arrays) -> int:
    """Frame at which a run's mean target had first lost all sense, or -1."""
    bad = np.flatnonzero(~(np.abs(one["mean_target"]) <= SENSELESS))
    if len(bad):
        return int(one["statistics_frame"][bad[0]])
    return int(one["divergence"][0])


def resampled_spread(curves: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Standard deviation over runs, averaged over frames: as it is, then for resampled runs.

    The same resamplings for arms of equally many runs, so that they stay paired.
    """
    rng = np.random.default_rng(0)
    chosen = [np.arange(len(curves)), *rng.integers(len(curves), size=(2_000, len(curves)))]
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.array([curves[rows].std(axis=0, ddof=1).mean() for rows in chosen])


def dots(axes: "Axes", index: int, runs: npt.NDArray[np.float64], label: str) -> None:
    """One arm's runs side by side, with their mean and its standard error."""
    colour = style.COLOURS[index]
    places = index + np.linspace(-0.25, 0.25, len(runs)) if len(runs) > 1 else [index]
    axes.plot(places, runs, style.MARKERS[index], color=colour, alpha=0.7, label=label)
    found = Statistics.of(runs)
    reach = np.nan_to_num(found.standard_error)
    axes.fill_between(
        [index - 0.35, index + 0.35],
        found.mean - reach,
        found.mean + reach,
        color=colour,
        alpha=0.2,
        linewidth=0,
    )
    axes.set_xticks([])
