"""Deep agents in LunarLander: one run of an arm, and what the figures read off many."""

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt

from fhtd import checks
from fhtd.reproduction import Arrays, Chart, Claim, Results, Scratch, above, style
from fhtd.reproduction import curves as learning
from fhtd.reproduction.training import seed_of, trained
from fhtd.statistics import Interval, Statistics

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

ENVIRONMENT = "LunarLander-v3"
#: Paper: 5,000.
EPISODE_FRAMES = 5_000
#: Evaluation episodes are cut where Gymnasium cuts them by default.
EVALUATION_FRAMES = 1_000
#: Mean targets beyond this are no estimate of anything: good landings bring about 300.
SENSELESS = 1_000.0
#: Pictures end here, as an arm that diverges would leave no room for the others.
_FLOOR = -600.0
#: More points than these of a curve are thinned out in tables.
_POINTS = 250


def check_each(name: str, values: Sequence[Any], check: Callable[[str, Any], object]) -> None:
    """Refuse an empty setting, or one with a bad value."""
    if not values:
        raise ValueError(f"{name} must not be empty")
    for value in values:
        check(name, value)


@dataclass(frozen=True)
class Settings:
    """What experiments on the first frames in LunarLander have in common."""

    runs: int = 5
    """Independent runs of each arm."""
    frames: int = 100_000
    """Frames of a run."""
    horizon: int = 64
    """Final horizon of DFHQ (paper: 64)."""
    discount: float = 0.99
    """Discount, where an arm has none of its own (paper: 0.99 and 1)."""
    hidden: tuple[int, ...] = (256, 256)
    """Widths of the hidden layers (paper: 256 and 256)."""

    def __post_init__(self) -> None:
        checks.integer("runs", self.runs, 1)
        checks.integer("frames", self.frames, 1)
        checks.integer("horizon", self.horizon, 1)
        checks.real("discount", self.discount, 0, 1)
        check_each("hidden", self.hidden, lambda n, v: checks.integer(n, v, 1))

    @classmethod
    def smoke(cls) -> Self:
        """Two short runs of small networks."""
        return cls(runs=2, frames=1_200, horizon=8, hidden=(16, 16))


def environment(limit: int = EPISODE_FRAMES) -> Any:
    """LunarLander, cut after so many steps."""
    from fhtd.environments import make

    return make(ENVIRONMENT, max_episode_steps=limit)


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
    make_environment: Callable[[], Any] = environment,
) -> Arrays:
    """Train one agent, the paper's but for these settings, and then watch it.

    The arms' run i share a seed, so that they can be paired.
    """
    from fhtd.deep.run import ALGORITHMS

    agent, result = trained(
        ALGORITHMS[algorithm],
        make_environment,
        frames,
        scratch,
        seed=seed_of(seed, run),
        preset="paper",
        **{"max_episode_frames": EPISODE_FRAMES, "on_divergence": "record", **settings},
    )
    if evaluation_episodes:
        result |= _watch(agent, evaluation_episodes, epsilon)
    return result


def _watch(agent: Any, episodes: int, epsilon: float) -> Arrays:
    """Value estimates of the actions taken, with the rewards that came, episode after episode."""
    place = environment(EVALUATION_FRAMES)
    values, rewards, lengths, ended = [], [], [], []
    for i in range(episodes):
        length, terminated = 0, False
        for step in agent.episode(place, epsilon=epsilon, seed=i):
            values.append(step.values[step.row, -1])
            rewards.append(step.reward)
            length, terminated = length + 1, step.terminated
        lengths.append(length)
        ended.append(terminated)
    place.close()
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


def curves(
    arms: Sequence[Hashable], frames: int, runs: int, results: Results, first_run: int = 0
) -> Arrays:
    """Curves of every run, and the frames that they are drawn at."""
    at = learning.points(frames)
    found = {f"{arm}.curves": learning.curves(results, arm, runs, at, first_run) for arm in arms}
    return {"frame": at, **found}


def more_area(
    name: str,
    statement: str,
    data: Arrays,
    ours: tuple[Hashable, str],
    theirs: tuple[Hashable, str],
) -> Claim:
    """The claim that one arm's area under the curve is above another's; each with what to call it.

    Args:
        name: Of the claim.
        statement: What is claimed.
        data: With the curves of both.
        ours: The arm that is to be above.
        theirs: The other.
    """
    runs = [learning.areas(data, arm) for arm, _ in (ours, theirs)]
    gap = Interval.of(runs[0] - runs[1])
    return Claim(
        name,
        statement,
        "difference in mean return over all frames, paired over seeds; holds if its 95% interval "
        "lies above 0, fails if below",
        f"{ours[1]} {Interval.of(runs[0])}, {theirs[1]} {Interval.of(runs[1])}; difference {gap}",
        above(gap, 0),
    )


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


def picture(titles: Mapping[Any, str], data: Arrays, runs: int) -> "Figure":
    """Mean and standard error over runs, and every run's area under the curve."""
    figure, axes = style.panels(1, 2, width=4.6, height=3.4)
    curves, areas = axes[0]
    for i, (arm, title) in enumerate(titles.items()):
        found = Statistics.of(data[f"{arm}.curves"])
        style.line(curves, data["frame"], found.mean, found.standard_error, title, i)
        dots(areas, i, learning.areas(data, arm), title)
    style.label(
        curves,
        f"LunarLander, {runs} runs an arm",
        "frame",
        f"mean return of the last {learning.WINDOW} episodes",
        legend=False,
    )
    lowest = {arm: data[f"{arm}.curves"].mean(axis=0).min() for arm in titles}
    curves.set_ylim(max(curves.get_ylim()[0], _FLOOR), None)
    below = [f"{titles[arm]} falls to {low:,.0f}" for arm, low in lowest.items() if low < _FLOOR]
    cut = f"; the left panel ends at {_FLOOR:,.0f}, {', '.join(below)}" if below else ""
    style.say(figure, f"{style.band(runs)}{cut}")
    style.label(
        areas,
        "Area under the curve of each run",
        "runs, by arm",
        "mean return over all frames",
        legend=False,
    )
    style.share_legend(figure, curves, areas)
    return figure


def tables(arms: Sequence[Hashable], data: Arrays, runs: Sequence[int]) -> dict[str, Arrays]:
    """Curves with their standard errors, and the area and last fifth of each of these runs."""
    found = [Statistics.of(data[f"{arm}.curves"]) for arm in arms]
    names = [str(arm) for arm in arms]
    # Every other point: curves are means over ten episodes, and a report has many of them.
    few = slice(1, None, 2) if len(data["frame"]) > _POINTS else slice(None)
    at = data["frame"][few]
    return {
        "curves": style.as_columns(
            ("arm", "frame", "mean_return", "standard_error"),
            np.repeat(names, len(at)),
            np.tile(at, len(names)),
            np.concatenate([one.mean[few] for one in found]),
            np.concatenate([one.standard_error[few] for one in found]),
        ),
        "runs": style.as_columns(
            ("arm", "run", "area", "last_fifth"),
            np.repeat(names, len(runs)),
            np.tile(runs, len(names)),
            np.concatenate([learning.areas(data, arm) for arm in arms]),
            np.concatenate([learning.last_fifths(data, arm) for arm in arms]),
        ),
    }


def chart(labels: Sequence[tuple[str, str]]) -> Chart:
    """The learning curves of `tables`, under these names."""
    return Chart(
        "Learning curves",
        "curves",
        "frame",
        "frame",
        "mean return",
        y="mean_return",
        arm="arm",
        error="standard_error",
        labels=tuple(labels),
    )
