"""A comparison as an experiment: store, resume, workers, picture and report come with it."""

import hashlib
import itertools
import json
import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import numpy.typing as npt

from fhtd import checks
from fhtd.comparison import aggregates, peers
from fhtd.comparison.arms import Arm, Cell, cell, parse_all
from fhtd.environments import check_id, make
from fhtd.reproduction import Arrays, Block, Chart, Claim, Experiment, Results, Scratch, above
from fhtd.reproduction import curves as learning
from fhtd.reproduction.arms import MOST_RUNS
from fhtd.reproduction.training import seed_of, trained
from fhtd.statistics import Interval

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: Mean return of random actions, and the return that counts as solved (Gymnasium's threshold).
REFERENCES = {
    "CartPole-v1": (22.0, 475.0),
    "LunarLander-v3": (-181.0, 200.0),
    "Acrobot-v1": (-497.0, -100.0),
    "MountainCar-v0": (-200.0, -110.0),
}
#: The same where actions are continuous; Gymnasium has no threshold for Pendulum, where -150 is
#: what good agents reach.
CONTINUOUS_REFERENCES = {
    "Pendulum-v1": (-1208.0, -150.0),
    "LunarLanderContinuous-v3": (-212.0, 200.0),
}


@dataclass(frozen=True)
class Config:
    """Settings of a comparison."""

    environments: tuple[str, ...] = ("CartPole-v1",)
    """Ids of Gymnasium environments."""
    arms: tuple[str, ...] = ("dfhq", "dqn")
    """What to compare, each as [LABEL=]ALGORITHM[,SETTING=VALUE...]."""
    runs: tuple[int, ...] = (5,)
    """Independent runs of each arm: one number, or one for each environment."""
    frames: tuple[int, ...] = (100_000,)
    """Frames of a run: one number, or one for each environment."""

    def __post_init__(self) -> None:
        for name in ("environments", "arms"):
            values = getattr(self, name)
            if not values or not all(isinstance(value, str) for value in values):
                raise ValueError(f"{name} must be texts, got {values}")
            if len(set(values)) != len(values):
                raise ValueError(f"{name} must be named, each once, got {values}")
        for name in ("runs", "frames"):
            values = getattr(self, name)
            values = (values,) if isinstance(values, int) else values
            if len(values) not in (1, len(self.environments)):
                raise ValueError(f"{name} must be one, or one for each environment, got {values}")
            for value in values:
                checks.integer(name, value, 1, MOST_RUNS if name == "runs" else None)
            object.__setattr__(self, name, values)

    def each(self) -> list[tuple[str, int, int]]:
        """Environments with their runs and frames."""
        count = len(self.environments)
        runs, frames = (
            values * count if len(values) == 1 else values for values in (self.runs, self.frames)
        )
        return list(zip(self.environments, runs, frames, strict=True))


def check(config: Config) -> None:
    """Refuse unknown environments, arms and settings, and peers that are not installed.

    And agents that cannot choose an environment's actions.
    """
    for environment in config.environments:
        check_id(environment)
    arms = parse_all(config.arms)
    for arm in arms:
        if arm.is_peer:
            peers.require(arm.algorithm)
    ours = {arm.algorithm for arm in arms if not arm.is_peer}
    for environment in config.environments if ours else ():
        _check_actions(environment, sorted(ours))


def _check_actions(environment: str, algorithms: list[str]) -> None:
    from fhtd.deep.codecs import actions_of
    from fhtd.deep.run import algorithm

    world = make(environment)
    try:
        for name in algorithms:
            kind = algorithm(name)
            actions_of(world.action_space, kind.takes, kind.__name__)
    finally:
        world.close()


def blocks(config: Config) -> list[Block]:
    """One run of one arm in one environment each; equal arms under two labels are run once."""
    arms, each = parse_all(config.arms), config.each()
    cells = {
        (environment, arm): cell(arm, environment, frames)
        for environment, _, frames in each
        for arm in arms
    }
    found = [
        learning.one_run(cells[environment, arm], run)
        for run in range(max(runs for _, runs, _ in each))
        for environment, runs, _ in each
        for arm in arms
        if run < runs
    ]
    return list(dict.fromkeys(found))


def run(config: Config, seed: int, block: Block, scratch: Scratch) -> Arrays:
    """Train one agent, of this package or a peer."""
    one: Cell = block.arm
    settings, own = json.loads(one.settings), seed_of(seed, block.runs.start)
    if one.algorithm in peers.KINDS:
        return peers.train(one.algorithm, one.environment, settings, frames=one.frames, seed=own)
    from fhtd.deep.run import algorithm
    from fhtd.deep.settings import from_json

    kind = algorithm(one.algorithm)
    kept = from_json(kind.settings_type, settings | {"on_divergence": "record"})
    return trained(
        kind, lambda: make(one.environment), one.frames, scratch, seed=own, settings=kept
    )[1]


def key(environment: str, arm: Any) -> str:
    """The name of an arm's arrays in an environment."""
    return f"{environment}.{arm}"


def combine(config: Config, results: Results) -> Arrays:
    """Curves of every run at common frames."""
    data: Arrays = {}
    for environment, runs, frames in config.each():
        at = learning.points(frames)
        data[f"{environment}.frame"] = at
        for arm in parse_all(config.arms):
            found = learning.curves(results, cell(arm, environment, frames), runs, at)
            data[f"{key(environment, arm)}.curves"] = found
    return data


def labels(config: Config) -> list[str]:
    """Of the arms, in their order; without a look at what they are."""
    heads = [text.split(",")[0] for text in config.arms]
    return [head.rpartition("=")[0] or text for head, text in zip(heads, config.arms, strict=True)]


def scale(config: Config, data: Arrays, environment: str) -> tuple[float, float]:
    """What counts as 0 and as 1 in an environment.

    Random actions and solved, where both are known; else the lowest and highest area of all runs.
    """
    known = REFERENCES | CONTINUOUS_REFERENCES
    if environment in known:
        return known[environment]
    found = [learning.areas(data, key(environment, label)) for label in labels(config)]
    low, high = float(np.min(found)), float(np.max(found))
    return low, high if high > low else low + 1.0


def scores(config: Config, data: Arrays, label: str) -> list[npt.NDArray[np.float64]]:
    """Normalised area of each run of an arm, environment by environment."""
    found = []
    for environment in config.environments:
        low, high = scale(config, data, environment)
        found.append((learning.areas(data, key(environment, label)) - low) / (high - low))
    return found


def band(runs: npt.NDArray[np.float64]) -> tuple[npt.NDArray[np.float64], ...]:
    """Mean over runs, and the 95% interval around it; NaN for a single run."""
    found = [Interval.of(column) for column in runs.T]
    bounds = np.array([(one.mean, one.low, one.high) for one in found])
    return tuple(np.where(np.isfinite(bounds), bounds, np.nan).T)


def plot(config: Config, data: Arrays) -> "Figure":
    """Learning curves in each environment, and the interquartile mean over all of them."""
    from fhtd.reproduction import style

    count = len(config.environments) + 1
    columns = 2 if count == 4 else min(count, 3)
    figure, axes = style.panels(-(-count // columns), columns, width=4.4)
    panels = axes.ravel()
    for panel, (environment, runs, _) in zip(panels, config.each(), strict=False):
        for i, label in enumerate(labels(config)):
            mean, low, _ = band(data[f"{key(environment, label)}.curves"])
            error = None if runs == 1 else mean - low
            style.line(panel, data[f"{environment}.frame"], mean, error, label, i)
        title = f"{environment}, {runs} runs an arm"
        y = f"mean return of {learning.WINDOW} episodes"
        style.label(panel, title, "frame", y, legend=False)
        panel.locator_params(axis="x", nbins=6)
    style.share_legend(figure, panels[0])
    last = panels[count - 1]
    for i, label in enumerate(labels(config)):
        found = aggregates.interval(aggregates.interquartile_mean, scores(config, data, label))
        colour = style.COLOURS[i % len(style.COLOURS)]
        if np.isfinite(found.low):
            last.plot([found.low, found.high], [i, i], color=colour, linewidth=6, alpha=0.3)
        last.plot([found.mean], [i], style.MARKERS[i % len(style.MARKERS)], color=colour)
    last.set_yticks(range(len(config.arms)), labels(config))
    last.invert_yaxis()
    title = "All environments: interquartile mean"
    style.label(last, title, "normalised area under the curve", "arm", legend=False)
    for panel in panels[count:]:
        panel.set_visible(False)
    enough = min(runs for _, runs, _ in config.each()) >= aggregates.FEW
    missing = "" if enough else f"; a single run has no band, fewer than {aggregates.FEW} no bar"
    style.say(figure, f"bands and bars: 95% intervals over runs{missing}")
    return figure


def claims(config: Config, data: Arrays) -> list[Claim]:
    """One line for each pair of arms."""
    return [
        pair(config, data, ours, theirs)
        for ours, theirs in itertools.combinations(labels(config), 2)
    ]


def pair(config: Config, data: Arrays, ours: str, theirs: str) -> Claim:
    """Whether one arm learns better than another, over all environments together."""
    mine, other = (scores(config, data, label) for label in (ours, theirs))
    gap = aggregates.interval(aggregates.difference, mine, other)
    chance = aggregates.interval(aggregates.probability_of_improvement, mine, other)
    return Claim(
        f"{ours} over {theirs}",
        f"{ours} learns better than {theirs} over these environments.",
        "difference in the interquartile mean of normalised areas under the curve, with a 95% "
        f"interval from resampled runs (at least {aggregates.FEW} in each environment); holds if "
        "it lies above 0, fails if below",
        f"{aggregates.interquartile_mean(mine):.3g} against "
        f"{aggregates.interquartile_mean(other):.3g}; difference {gap}; a run of {ours} is better "
        f"with probability {chance}",
        above(gap, 0),
    )


def tables(config: Config, data: Arrays) -> dict[str, Arrays]:
    """Every run, every arm in every environment, all together, pairs, and what the arms are."""
    names = labels(config)
    grid = [(environment, label) for environment in config.environments for label in names]
    found: dict[str, list[dict[str, Any]]] = {
        table: [] for table in ("curves", "runs", "scores", "overall", "pairs", "arms")
    }
    for environment, label in grid:
        which = {"environment": environment, "arm": label}
        at, name = data[f"{environment}.frame"], key(environment, label)
        for frame, mean, low, high in zip(at, *band(data[f"{name}.curves"]), strict=True):
            row = {"frame": int(frame), "mean_return": mean, "low": low, "high": high}
            found["curves"].append(which | row)
        areas, ends = learning.areas(data, name), learning.last_fifths(data, name)
        for i, (area, end) in enumerate(zip(areas, ends, strict=True)):
            found["runs"].append(which | {"run": i, "area": float(area), "last_fifth": float(end)})
        found["scores"].append(
            which | _columns("area", Interval.of(areas)) | _columns("last_fifth", Interval.of(ends))
        )
    for label in names:
        mean = aggregates.interval(aggregates.interquartile_mean, scores(config, data, label))
        found["overall"].append({"arm": label} | _columns("interquartile_mean", mean))
    for ours, theirs in itertools.combinations(names, 2):
        both = [scores(config, data, label) for label in (ours, theirs)]
        found["pairs"].append(
            {"arm": ours, "against": theirs}
            | _columns("difference", aggregates.interval(aggregates.difference, *both))
            | _columns(
                "probability", aggregates.interval(aggregates.probability_of_improvement, *both)
            )
        )
    for environment, _, frames in config.each():
        for arm in parse_all(config.arms):
            one = cell(arm, environment, frames)
            which = {"environment": environment, "arm": arm.label, "algorithm": arm.algorithm}
            found["arms"].append(which | {"frames": frames, "settings": one.settings})
    return {
        table: {name: np.array([row[name] for row in rows]) for name in rows[0]}
        for table, rows in found.items()
        if rows
    }


def _columns(name: str, found: Interval) -> dict[str, float]:
    return {name: found.mean, f"{name}.low": found.low, f"{name}.high": found.high}


CHARTS = (
    Chart(
        "Learning curves",
        "curves",
        "frame",
        "frame",
        "mean return",
        y="mean_return",
        arm="arm",
        low="low",
        high="high",
        split="environment",
    ),
)
#: All settings say how many blocks there are: what a block depends on is in its name.
EXTENT = ("environments", "arms", "runs", "frames")
#: Blocks are shared by all comparisons.
WORK = "compare"

EXPERIMENT = Experiment(
    name="compare",
    title="A comparison",
    source="your own",
    shows="how deep agents compare",
    cost="what it takes",
    config=Config,
    blocks=blocks,
    run=run,
    combine=combine,
    plot=plot,
    claims=claims,
    tables=tables,
    extent=EXTENT,
    charts=CHARTS,
    extras=("deep",),
    resumable=True,
    only_by_name=True,
    work=WORK,
    megabytes=500,
    check=check,
)


def named(config: Config, arms: list[Arm]) -> Experiment:
    """The experiment of one comparison, whose settings are its own; more runs change no name."""
    words = json.dumps([config.environments, config.arms, config.frames])
    digest = hashlib.sha256(words.encode()).hexdigest()[:8]
    first = re.sub(r"[^A-Za-z0-9-]", "-", "-".join(config.environments))[:40]
    who = ", ".join(arm.label for arm in arms)
    return replace(
        EXPERIMENT,
        name=f"compare-{first}-{digest}",
        title=f"{who} in {', '.join(config.environments)}",
        config=cast(Any, lambda: config),
    )
