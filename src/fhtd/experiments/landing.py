"""Deep agents in LunarLander: one run of an arm, and what the figures read off many."""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from fhtd.reproduction import Arrays, Scratch, style
from fhtd.reproduction.training import seed_of, trained
from fhtd.statistics import Statistics

if TYPE_CHECKING:
    from matplotlib.axes import Axes

ENVIRONMENT = "LunarLander-v3"
#: Paper: 5,000.
EPISODE_FRAMES = 5_000
#: Evaluation episodes are cut where Gymnasium cuts them by default.
EVALUATION_FRAMES = 1_000
#: Mean targets beyond this are no estimate of anything: good landings bring about 300.
SENSELESS = 1_000.0


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
    """Train one agent, the paper's but for these settings, and then watch it.

    The arms' run i share a seed, so that they can be paired.
    """
    from fhtd.deep.run import ALGORITHMS

    agent, result = trained(
        ALGORITHMS[algorithm],
        _environment,
        frames,
        scratch,
        seed=seed_of(seed, run),
        preset="paper",
        **{"max_episode_frames": EPISODE_FRAMES, "on_divergence": "record", **settings},
    )
    if evaluation_episodes:
        result |= _watch(agent, evaluation_episodes, epsilon)
    return result


def _environment(limit: int = EPISODE_FRAMES) -> Any:
    from fhtd.environments import make

    return make(ENVIRONMENT, max_episode_steps=limit)


def _watch(agent: Any, episodes: int, epsilon: float) -> Arrays:
    """Value estimates of the actions taken, with the rewards that came, episode after episode."""
    environment = _environment(EVALUATION_FRAMES)
    values, rewards, lengths, ended = [], [], [], []
    for i in range(episodes):
        length, terminated = 0, False
        for step in agent.episode(environment, epsilon=epsilon, seed=i):
            values.append(step.values[step.row, -1])
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
