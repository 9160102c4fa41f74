"""Horizons that deepen, in LunarLander: how many at a time, how fast, with layer norm or not."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from fhtd import checks
from fhtd.comparison import experiment as comparison
from fhtd.experiments import landing
from fhtd.reproduction import (
    Arrays,
    Block,
    Claim,
    Experiment,
    Results,
    above,
    style,
)
from fhtd.reproduction import curves as learning
from fhtd.statistics import Interval

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: The default agent's window, chosen on other seeds than those that are reported.
CHOSEN = (8, 400)
PLAIN = "without-layer-norm"


@dataclass(frozen=True)
class Config:
    """Settings of the comparison of windows."""

    runs: int = 5
    """Independent runs of each arm."""
    frames: int = 100_000
    """Frames of a run."""
    windows: tuple[int, ...] = (1, 4, 8, 16)
    """Horizons in the window, K."""
    intervals: tuple[int, ...] = (100, 400, 1600)
    """Updates after which it moves on, T."""
    others: str = ""
    """Settings that all arms have beside these, as SETTING=VALUE,SETTING=VALUE."""

    def __post_init__(self) -> None:
        checks.integer("runs", self.runs, 1)
        checks.integer("frames", self.frames, 1)
        if not isinstance(self.others, str):
            raise TypeError(f"others must be text such as hidden=16:16, got {self.others!r}")
        for name in ("windows", "intervals"):
            values = getattr(self, name)
            landing.check_each(name, values, lambda n, v: checks.integer(n, v, 1))
            if CHOSEN[name == "intervals"] not in values:
                raise ValueError(f"{name} must include the default agent's, got {values}")

    @classmethod
    def smoke(cls) -> "Config":
        """Two short runs of small networks."""
        return cls(
            runs=2,
            frames=1_200,
            windows=(1, 8),
            intervals=(100, 400),
            others="hidden=16:16,learning_starts=200",
        )


def name_of(window: int, interval: int) -> str:
    """Of an arm."""
    return f"K{window}-T{interval}"


def grid(config: Config) -> list[str]:
    """Names of all windows."""
    return [name_of(k, t) for k in config.windows for t in config.intervals]


def compared(config: Config) -> comparison.Config:
    """As a comparison."""
    more = f",{config.others}" if config.others else ""
    arms = [
        f"{name_of(k, t)}=dfhq,horizon={k},deepen_every={t}{more}"
        for k in config.windows
        for t in config.intervals
    ]
    arms.append(f"{PLAIN}=dfhq,layer_norm=False{more}")
    return comparison.Config((landing.ENVIRONMENT,), tuple(arms), (config.runs,), (config.frames,))


def blocks(config: Config) -> list[Block]:
    """Those of the comparison."""
    return comparison.blocks(compared(config))


def combine(config: Config, results: Results) -> Arrays:
    """Curves of every run."""
    return comparison.combine(compared(config), results)


def areas(data: Arrays, arm: str) -> npt.NDArray[np.float64]:
    """Each run's area under the curve."""
    return learning.areas(data, comparison.key(landing.ENVIRONMENT, arm))


def best_alone(config: Config, data: Arrays) -> str:
    """The smallest window at its best T."""
    names = [name_of(config.windows[0], t) for t in config.intervals]
    return max(names, key=lambda arm: float(areas(data, arm).mean()))


def plot(config: Config, data: Arrays) -> "Figure":
    """Areas over T, a line for each K; and the chosen window's curve beside two others."""
    figure, axes = style.panels(1, 2, width=4.8)
    for i, k in enumerate(config.windows):
        found = [Interval.of(areas(data, name_of(k, t))) for t in config.intervals]
        mean = np.array([one.mean for one in found])
        error = None if config.runs == 1 else mean - [one.low for one in found]
        style.line(axes[0, 0], config.intervals, mean, error, f"K = {k}", i, markers=True)
    axes[0, 0].set_xscale("log")
    axes[0, 0].set_xticks(config.intervals, [f"{t:,}" for t in config.intervals])
    axes[0, 0].minorticks_off()
    title = f"LunarLander, {config.runs} runs of {config.frames:,} frames"
    style.label(axes[0, 0], title, "updates between moves, T", "mean return over all frames")
    few = dict.fromkeys([name_of(*CHOSEN), PLAIN, best_alone(config, data)])
    for i, arm in enumerate(few):
        name = comparison.key(landing.ENVIRONMENT, arm)
        mean, low, _ = comparison.band(data[f"{name}.curves"])
        error = None if config.runs == 1 else mean - low
        style.line(axes[0, 1], data[f"{landing.ENVIRONMENT}.frame"], mean, error, arm, i)
    style.label(axes[0, 1], "Learning curves", "frame", "mean return of the last 10 episodes")
    style.say(figure, f"bands: 95% intervals over {config.runs} runs")
    return figure


def claims(config: Config, data: Arrays) -> list[Claim]:
    """Written before the runs that judge them."""
    chosen = name_of(*CHOSEN)
    rule = (
        "difference in mean return over all frames, paired over seeds; holds if its 95% interval "
        "lies above 0, fails if below"
    )
    best = best_alone(config, data)
    found = []
    for name, statement, other in (
        (
            "several-horizons",
            "A window of 8 horizons learns better than one horizon at its best T.",
            best,
        ),
        ("layer-norm", "Layer norm makes the window learn better.", PLAIN),
        (
            "not-too-slowly",
            "Moving on every 400 updates is better than every 1,600, which keeps horizons short.",
            name_of(CHOSEN[0], config.intervals[-1]),
        ),
    ):
        gap = Interval.of(areas(data, chosen) - areas(data, other))
        measured = (
            f"{chosen} {Interval.of(areas(data, chosen))}, {other} "
            f"{Interval.of(areas(data, other))}; difference {gap}"
        )
        found.append(Claim(name, statement, rule, measured, above(gap, 0)))
    ends = learning.last_fifths(data, comparison.key(landing.ENVIRONMENT, chosen))
    end = Interval.of(ends)
    found.append(
        Claim(
            "lands",
            "At the end the window of 8 horizons lands: LunarLander counts as solved at 200.",
            "mean return over the last fifth of the frames; holds if its 95% interval over seeds "
            "lies above 200, fails if below",
            str(end),
            above(end, 200),
        )
    )
    return found


def tables(config: Config, data: Arrays) -> dict[str, Arrays]:
    """Every run, and every arm's curve."""
    found = comparison.tables(compared(config), data)
    return {name: found[name] for name in ("curves", "runs", "scores", "arms")}


EXPERIMENT = Experiment(
    name="deepening",
    title="Windows of horizons in LunarLander",
    source="Not in the paper, which names growing horizons as future work",
    shows="a few horizons that move on learn to land without a target network",
    cost="5 hours",
    config=Config,
    blocks=blocks,
    run=comparison.run,
    combine=combine,
    plot=plot,
    claims=claims,
    tables=tables,
    extent=("runs", "frames", "windows", "intervals", "others"),
    charts=comparison.CHARTS,
    extras=("deep", "lander"),
    resumable=True,
    only_by_name=True,
    work=comparison.WORK,
    megabytes=500,
)
