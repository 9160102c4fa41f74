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
    """Train one agent, without a target network unless told otherwise, and then watch it.

    The arms' run i share a seed, so that they can be paired.
    """
    from fhtd.deep import DFHQ, DQN, use_one_thread

    use_one_thread()
    kind: Any = {"dfhq": DFHQ, "dqn": DQN}[algorithm]
    agent, log = _resume(kind, scratch)
    if agent is None:
        words = np.random.SeedSequence(seed, spawn_key=(run,)).generate_state(1)
        options = {"max_episode_frames": EPISODE_FRAMES, "on_divergence": "record", **settings}
        agent = kind(_environment(), seed=int(words[0]), **options)
    keep_every = max(frames // 10, 500)
    marks = [agent.frames // _STATISTICS_EVERY, agent.frames // keep_every]

    def after(_: Any, episode: dict[str, float]) -> None:
        log["frame"].append(agent.frames)
        log["return"].append(episode["return"])
        if agent.frames // _STATISTICS_EVERY > marks[0]:
            marks[0] = agent.frames // _STATISTICS_EVERY
            found = agent.take_statistics()
            log["statistics_frame"].append(agent.frames)
            log["mean_target"].append(float(found["target"][-1]))
            log["mean_loss"].append(float(found["loss"].mean()))
        if agent.frames // keep_every > marks[1]:
            marks[1] = agent.frames // keep_every
            # The log first: what it says of frames after the checkpoint is dropped on resuming.
            scratch.write_json("log.json", log)
            agent.save(scratch.folder / "checkpoint.npz")
            scratch.saved()

    if agent.frames < frames:
        agent.learn(frames - agent.frames, callback=after)
    frame, horizon = agent.divergence or (-1, -1.0)
    result: Arrays = {
        "frame": np.array(log["frame"], np.int32),
        "return": np.array(log["return"], np.float32),
        "statistics_frame": np.array(log["statistics_frame"], np.int32),
        "mean_target": np.array(log["mean_target"], np.float64),
        "mean_loss": np.array(log["mean_loss"], np.float64),
        "divergence": np.array([frame, horizon], np.float64),
    }
    if evaluation_episodes:
        result |= _watch(agent, evaluation_episodes, epsilon)
    return result


def _environment(limit: int = EPISODE_FRAMES) -> Any:
    import gymnasium

    return gymnasium.make(ENVIRONMENT, max_episode_steps=limit)


def _resume(kind: Any, scratch: Scratch) -> tuple[Any, dict[str, list[Any]]]:
    """The agent of the last good checkpoint with its log; None and an empty log without one."""
    empty: dict[str, list[Any]] = {
        name: [] for name in ("frame", "return", "statistics_frame", "mean_target", "mean_loss")
    }
    log = scratch.read_json("log.json")
    for name in ("checkpoint.npz", "checkpoint.npz.previous"):
        path = scratch.folder / name
        if log is None or not path.exists():
            continue
        try:
            agent = kind.load(path, _environment())
        except ValueError:
            continue
        for clock, others in (
            ("frame", ("return",)),
            ("statistics_frame", ("mean_target", "mean_loss")),
        ):
            kept = sum(frame <= agent.frames for frame in log[clock])
            for field in (clock, *others):
                log[field] = log[field][:kept]
        return agent, log
    return None, empty


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
