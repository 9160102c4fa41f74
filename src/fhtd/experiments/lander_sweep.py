"""The appendix's sweep in LunarLander: rates, widths, horizons, discounts, target networks."""

from dataclasses import dataclass, replace
from itertools import product
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from fhtd import checks
from fhtd.experiments import landing
from fhtd.reproduction import (
    Arrays,
    Block,
    Chart,
    Claim,
    Experiment,
    Results,
    Scratch,
    above,
    exactly,
    style,
)
from fhtd.reproduction import curves as learning
from fhtd.statistics import Interval

if TYPE_CHECKING:
    from matplotlib.figure import Figure


#: Every run's area, by width.
Rows = dict[int, npt.NDArray[np.float64]]
#: Settings that make up the grid.
_LISTS = (
    *("learning_rates", "widths", "horizons", "discounts"),
    *("target_intervals", "target_widths"),
)


@dataclass(frozen=True)
class Config:
    """Settings of the sweep; the whole of it is work for a cluster."""

    runs: int = 30
    """Independent runs of each setting (paper: 30)."""
    frames: int = 500_000
    """Frames of a run (paper: 500,000)."""
    learning_rates: tuple[float, ...] = (1e-5, 1e-4, 1e-3)
    """Learning rates of RMSprop (paper: 1e-5, 1e-4, 1e-3)."""
    widths: tuple[int, ...] = (128, 256, 512, 4096)
    """Widths of both hidden layers (paper: 128, 256, 512, 4096)."""
    horizons: tuple[int, ...] = (32, 64)
    """Final horizons of DFHQ (paper: 32, 64)."""
    discounts: tuple[float, ...] = (0.99, 1.0)
    """Discounts (paper: 0.99 and 1)."""
    target_intervals: tuple[int, ...] = (1, 100)
    """Updates between copies to the target network; 1 is none (paper: 1, 100)."""
    target_widths: tuple[int, ...] = ()
    """Widths at which target networks are tried; none given is all (paper: all)."""

    def __post_init__(self) -> None:
        checks.integer("runs", self.runs, 1)
        checks.integer("frames", self.frames, 1)
        landing.check_each("learning_rates", self.learning_rates, checks.positive)
        landing.check_each("discounts", self.discounts, lambda n, v: checks.real(n, v, 0, 1))
        for name in ("widths", "horizons", "target_intervals"):
            landing.check_each(name, getattr(self, name), lambda n, v: checks.integer(n, v, 1))
        for name in _LISTS:
            values = getattr(self, name)
            if list(values) != sorted(set(values)):
                raise ValueError(f"{name} must ascend, got {values}")
        if not set(self.target_widths) <= set(self.widths):
            raise ValueError(f"target_widths must be among widths, got {self.target_widths}")

    def widths_with(self, target_interval: int) -> list[int]:
        """Widths that are run with such a target network."""
        restricted = target_interval > 1 and self.target_widths
        return list(self.target_widths if restricted else self.widths)

    @classmethod
    def smoke(cls) -> "Config":
        """Two widths, with and without target network, a moment each."""
        return cls(
            runs=2,
            frames=1_000,
            learning_rates=(1e-4,),
            widths=(16, 32),
            horizons=(8,),
            discounts=(0.99,),
        )


@dataclass(frozen=True)
class Arm:
    """One setting of the sweep."""

    algorithm: str
    #: 0 for DQN.
    horizon: int
    discount: float
    width: int
    learning_rate: float
    target_interval: int

    def __str__(self) -> str:
        head = self.algorithm if self.algorithm == "dqn" else f"dfhq{self.horizon}"
        return (
            f"{head}_{exactly(self.discount)}_{self.width}_{exactly(self.learning_rate)}"
            f"_{self.target_interval}"
        )

    @property
    def kind(self) -> str:
        """Algorithm and horizon in words."""
        return "DQN" if self.algorithm == "dqn" else f"DFHQ, H = {self.horizon}"

    @property
    def target(self) -> str:
        """The target network in words; nothing without one."""
        return "" if self.target_interval == 1 else f", target every {self.target_interval}"


def arms(config: Config) -> list[Arm]:
    """The whole grid; horizons are DFHQ's alone."""
    kinds = [("dfhq", horizon) for horizon in config.horizons] + [("dqn", 0)]
    return [
        Arm(*kind, discount, width, rate, interval)
        for kind, discount, width, rate, interval in product(
            kinds, config.discounts, config.widths, config.learning_rates, config.target_intervals
        )
        if width in config.widths_with(interval)
    ]


def blocks(config: Config) -> list[Block]:
    """One run each."""
    return learning.blocks_of(arms(config), config.runs)


def run(config: Config, seed: int, block: Block, scratch: Scratch) -> Arrays:
    """Train one agent."""
    arm: Arm = block.arm
    settings = {
        "discount": arm.discount,
        "hidden": (arm.width, arm.width),
        "learning_rate": arm.learning_rate,
        "target_update_interval": arm.target_interval,
    }
    if arm.algorithm == "dfhq":
        settings["horizon"] = arm.horizon
    return landing.train(
        arm.algorithm,
        settings,
        frames=config.frames,
        seed=seed,
        run=block.runs.start,
        scratch=scratch,
    )


def combine(config: Config, results: Results) -> Arrays:
    """Area under the curve of every run of every setting."""
    at = learning.points(config.frames)
    return {
        str(arm): learning.curves(results, arm, config.runs, at).mean(axis=1)
        for arm in arms(config)
    }


def plot(config: Config, data: Arrays) -> "Figure":
    """Area under the curve over widths, at each algorithm's best rate; one panel a discount."""
    figure, axes = style.panels(1, len(config.discounts), width=6.0)
    for panel, discount in zip(axes[0], config.discounts, strict=True):
        kinds = [("dfhq", horizon) for horizon in config.horizons] + [("dqn", 0)]
        index = 0
        for algorithm, horizon in kinds:
            for interval in config.target_intervals:
                best = _best(config, data, algorithm, horizon, discount, interval)
                means = [data[str(arm)].mean() for arm in best]
                spread = [data[str(a)].std(ddof=1) if config.runs > 1 else 0.0 for a in best]
                error = np.array(spread) / np.sqrt(config.runs)
                places = [config.widths.index(width) for width in config.widths_with(interval)]
                label = best[0].kind + best[0].target
                # Side by side: between two widths there is nothing.
                shift = 0.12 * (index - (len(kinds) * len(config.target_intervals) - 1) / 2)
                colour, _ = style.look(index)
                at = np.add(places, shift)
                marker = style.MARKERS[index % len(style.MARKERS)]
                panel.plot(at, means, marker, color=colour, label=label)
                for x, mean, reach in zip(at, means, error, strict=True):
                    panel.fill_between(
                        [x - 0.02, x + 0.02], mean - reach, mean + reach, color=colour, alpha=0.3
                    )
                index += 1
        title = f"$\\gamma$ = {discount:g}, {config.runs} runs of {config.frames:,} frames"
        style.label(panel, title, "width of the hidden layers", "area under the curve", beside=True)
        panel.set_xticks(range(len(config.widths)), [str(width) for width in config.widths])
        panel.set_xlim(-0.6, len(config.widths) - 0.4)
    style.say(figure, style.band(config.runs).replace("bands", "bars"))
    return figure


def _best(
    config: Config, data: Arrays, algorithm: str, horizon: int, discount: float, interval: int
) -> list[Arm]:
    """For each width the setting with the best learning rate."""
    found = []
    for width in config.widths_with(interval):
        first = Arm(algorithm, horizon, discount, width, config.learning_rates[0], interval)
        choices = [replace(first, learning_rate=rate) for rate in config.learning_rates]
        found.append(max(choices, key=lambda arm: float(data[str(arm)].mean())))
    return found


def _runs(config: Config, data: Arrays, algorithm: str, interval: int) -> Rows:
    """Each run's area at each width, at the first discount, last horizon and best rate."""
    horizon = config.horizons[-1] if algorithm == "dfhq" else 0
    chosen = _best(config, data, algorithm, horizon, config.discounts[0], interval)
    return {arm.width: data[str(arm)] for arm in chosen}


def _gain(config: Config, data: Arrays, algorithm: str, interval: int) -> npt.NDArray[np.float64]:
    """Each run's from a target network, mean over the widths at which it is tried."""
    without, found = (_runs(config, data, algorithm, i) for i in (1, interval))
    return np.asarray(np.mean([found[width] - without[width] for width in found], axis=0))


def claims(config: Config, data: Arrays) -> list[Claim]:
    """What the paper says of its sweep."""
    rule = (
        f"area under the curve at discount {config.discounts[0]:g}, each setting at its best "
        "learning rate; 95% interval paired over seeds; holds if above 0, fails if below"
    )
    found: list[Claim] = []
    none, slow = config.target_intervals[0], config.target_intervals[-1]
    if none == 1 < slow:
        mean = f"mean over widths {', '.join(map(str, config.widths_with(slow)))}; {rule}"
        gap = Interval.of(-_gain(config, data, "dfhq", slow))
        found.append(
            Claim(
                "targets-slow-dfhq",
                "Target networks slow DFHQ's learning more than they help.",
                f"without minus with copies every {slow} updates, {mean}",
                f"{gap} more without",
                above(gap, 0),
            )
        )
        gap = Interval.of(_gain(config, data, "dqn", slow))
        found.append(
            Claim(
                "targets-help-dqn",
                "Target networks marginally improve DQN.",
                f"with copies every {slow} updates minus without, {mean}",
                f"{gap} more with",
                above(gap, 0),
            )
        )
    top = {
        name: max(
            (row for i in config.target_intervals for row in _runs(config, data, name, i).values()),
            key=lambda row: float(row.mean()),
        )
        for name in ("dfhq", "dqn")
    }
    gap = Interval.of(top["dfhq"] - top["dqn"])
    found.append(
        Claim(
            "dfhq-best",
            "At their best settings, with or without target networks, DFHQ stays well above DQN.",
            rule,
            f"DFHQ minus DQN {gap}",
            above(gap, 0),
        )
    )
    widths = config.widths_with(none)
    if len(widths) > 1:
        usual, widest = 256 if 256 in widths[:-1] else widths[0], widths[-1]
        lost = {
            name: _runs(config, data, name, none)[usual] - _runs(config, data, name, none)[widest]
            for name in ("dfhq", "dqn")
        }
        gap = Interval.of(lost["dqn"] - lost["dfhq"])
        found.append(
            Claim(
                "width-hurts-dqn-more",
                "DFHQ is rather insensitive to wider layers, DQN drops considerably.",
                f"loss from width {usual} to {widest}, "
                f"{'no target network' if none == 1 else f'copies every {none} updates'}, DQN's "
                f"minus DFHQ's; {rule}",
                f"DFHQ loses {Interval.of(lost['dfhq'])}, DQN {Interval.of(lost['dqn'])}; "
                f"difference {gap}",
                above(gap, 0),
            )
        )
    return found


def tables(config: Config, data: Arrays) -> dict[str, Arrays]:
    """Every setting, none left out."""
    grid = arms(config)
    stats = [Interval.of(data[str(arm)]) for arm in grid]
    names = ("algorithm", "horizon", "discount", "width", "learning_rate", "target_interval")
    columns = [[getattr(arm, name) for arm in grid] for name in names]
    return {
        "areas": style.as_columns(
            ("arm", *names, "runs", "mean_area", "low", "high"),
            [
                f"{arm.kind}, discount {arm.discount:g}, rate {arm.learning_rate:g}{arm.target}"
                for arm in grid
            ],
            *columns,
            [config.runs] * len(grid),
            [s.mean for s in stats],
            [s.low for s in stats],
            [s.high for s in stats],
        )
    }


EXPERIMENT = Experiment(
    name="lander-sweep",
    title="The sweep in LunarLander",
    source="Appendix, table of settings",
    shows="what target networks and wide layers do to DFHQ and DQN",
    cost="470 days",
    config=Config,
    blocks=blocks,
    run=run,
    combine=combine,
    plot=plot,
    claims=claims,
    tables=tables,
    charts=(
        Chart(
            "Area under the curve",
            "areas",
            "width",
            "width of the hidden layers",
            "mean return over all frames",
            y="mean_area",
            arm="arm",
            low="low",
            high="high",
            log_x=True,
            points=True,
        ),
    ),
    # A block's name says all of these.
    extent=("runs", *_LISTS),
    extras=("deep", "lander"),
    resumable=True,
    only_by_name=True,
    megabytes=1200,
)
