"""Sample complexity on the 19-state random walk: FHTD's learning curves against TD's."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from fhtd import checks, oracle, problems
from fhtd.online import FHTD, TD
from fhtd.online.simulate import simulate
from fhtd.reproduction import (
    Arrays,
    Block,
    Chart,
    Claim,
    Experiment,
    Results,
    Verdict,
    below,
    join_runs,
    join_statistics,
    pack,
    run_blocks,
    style,
    worst,
)
from fhtd.statistics import Interval, Statistics, student_bound
from fhtd.weighting import Weighting

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_BLOCK = 500
Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Config:
    """Settings of the experiment on the random walk."""

    runs: int = 10_000
    """Independent runs, the same experience for both algorithms (paper: 10,000)."""
    steps: int = 2000
    """Steps of each run (paper: 2,000)."""
    horizon: int = 100
    """Final horizon H (paper: 100)."""
    step_size: float = 0.5
    """Step size alpha (paper: 0.5)."""

    def __post_init__(self) -> None:
        checks.integer("runs", self.runs, 2)
        checks.integer("steps", self.steps, 100)
        checks.integer("horizon", self.horizon, 10)
        checks.positive("step_size", self.step_size)

    @classmethod
    def smoke(cls) -> "Config":
        """Few runs."""
        return cls(runs=100, steps=1200)


def blocks(config: Config) -> list[Block]:
    """Both algorithms in blocks of runs."""
    return [block for arm in ("fhtd", "td") for block in run_blocks(arm, config.runs, _BLOCK)]


def run(config: Config, seed: int, block: Block) -> Arrays:
    """Root-mean-square error of every horizon after every step."""
    walk = problems.random_walk()
    learner: FHTD | TD
    if block.arm == "fhtd":
        weighting = Weighting.exponential(config.horizon)
        learner = FHTD(walk.features, weighting, step_size=config.step_size)
        truth = oracle.state_values(walk.mdp, walk.target, weighting)
    else:
        learner = TD(walk.features, 1.0, step_size=config.step_size)
        truth = oracle.infinite_state_values(walk.mdp, walk.target, 1.0)
    found = simulate(
        learner,
        walk.mdp,
        steps=config.steps,
        runs=block.runs,
        behaviour=walk.behaviour,
        truth=truth,
        seed=seed,
        threads=1,
    )
    assert found.errors is not None
    return pack("error", found.errors)


def combine(config: Config, results: Results) -> Arrays:
    """(steps, horizons) means and standard errors, and TD's; and the means of every whole block.

    Blocks of both have the same runs, and so the same experience: they can be paired.
    """
    data: Arrays = {}
    for arm in ("fhtd", "td"):
        total = join_statistics(results, arm, "error")
        data[f"{arm}.mean"], data[f"{arm}.error"] = total.mean, total.standard_error
        whole = join_runs(results, arm, "error.count") == _BLOCK
        data[f"{arm}.blocks"] = join_runs(results, arm, "error.mean")[whole]
    return data


def plot(config: Config, data: Arrays) -> "Figure":
    """Learning curves of a range of horizons, short to long, and TD's."""
    figure, axes = style.panels(1, 1, width=5.6, height=3.8)
    panel = axes[0, 0]
    rows = style.thin(config.steps)
    shown = [h for h in (1, 2, 5, 10, 20, 40, 60, 80, 100) if h <= config.horizon]
    for i, h in enumerate(shown):
        style.line(
            panel,
            rows + 1,
            data["fhtd.mean"][rows, h - 1],
            data["fhtd.error"][rows, h - 1],
            f"FHTD, h = {h}",
            0,
            shade=i / max(1, len(shown) - 1),
        )
    style.line(panel, rows + 1, data["td.mean"][rows, 0], data["td.error"][rows, 0], "TD", 2)
    panel.set_ylim(bottom=0)
    style.label(panel, "19-state random walk", "step", "root-mean-square error", columns=2)
    style.say(figure, style.band(config.runs))
    return figure


def claims(config: Config, data: Arrays) -> list[Claim]:
    """Short horizons plateau; curves approach TD's and do not cross it."""
    fhtd, td = data["fhtd.blocks"], data["td.blocks"][:, :, 0]
    if len(fhtd) < 2:
        return _too_few(config)
    return [_plateau(config, fhtd), _approach(config, fhtd, td), _crossing(fhtd, td)]


_UNIT = f"means of {_BLOCK} runs are the unit"
_STATEMENTS = {
    "short-plateau-early": "Short horizons reach their plateau, a steady error from the constant "
    "step size, earlier than long ones.",
    "approach-td": "As the horizon grows, the learning curves approach TD's.",
    "no-crossing": "No horizon's curve crosses above TD's.",
}
_SHORT = 5
#: Excess over TD that cannot be seen in a figure, as a share of TD's error.
_UNSEEN = 0.01


def _too_few(config: Config) -> list[Claim]:
    rule = f"inconclusive with fewer than {2 * _BLOCK} runs, holds if all is clear with more"
    return [
        Claim(name, statement, rule, f"{config.runs} runs", Verdict.INCONCLUSIVE)
        for name, statement in _STATEMENTS.items()
    ]


def _plateau(config: Config, fhtd: Floats) -> Claim:
    """The first window of steps whose mean error is within 5% of that of the last tenth."""
    window, tail = max(1, config.steps // 40), max(1, config.steps // 10)
    usable = config.steps // window * window
    final = fhtd[:, -tail:].mean(axis=1)
    means = fhtd[:, :usable].reshape(len(fhtd), -1, window, config.horizon).mean(axis=2)
    near = np.abs(means - final[:, None]) <= 0.05 * final[:, None]
    reached = window * (1 + np.argmax(near, axis=1))
    short, long = reached[:, _SHORT - 1], reached[:, -1]
    ratio = Interval.of(short / long)
    return Claim(
        "short-plateau-early",
        _STATEMENTS["short-plateau-early"],
        f"windows of {window} steps; steps after which horizon {_SHORT} is within 5% of its final "
        f"error, as a share of those that horizon {config.horizon} takes; {_UNIT}; holds if the "
        "95% interval lies below one half, fails if above",
        f"{ratio}; horizon {_SHORT} after {short.mean():.0f} steps, {config.horizon} after "
        f"{long.mean():.0f}",
        below(ratio, 0.5),
    )


def _approach(config: Config, fhtd: Floats, td: Floats) -> Claim:
    """The gap at the end, from each of the horizons shown to the next."""
    tail = max(1, config.steps // 10)
    level = td[:, -tail:].mean(axis=1)[:, None]
    gap = np.abs(fhtd[:, -tail:].mean(axis=1) - level) / level
    grid = np.array([h for h in (5, 10, 20, 40, 60, 80, 100) if h <= config.horizon])
    gap = gap[:, grid - 1]
    steps = [Interval.of(100 * step) for step in np.diff(gap, axis=1).T]
    shown = zip(100 * gap.mean(axis=0), grid, strict=True)
    return Claim(
        "approach-td",
        _STATEMENTS["approach-td"],
        "relative gap to TD over the last tenth of the steps, from each of the horizons shown to "
        f"the next; {_UNIT}, paired; holds if all 95% intervals of the change lie below 0, fails "
        "if one lies above",
        "gaps "
        + ", ".join(f"{share:.1f}% (h = {h})" for share, h in shown)
        + "; changes in % "
        + ", ".join(map(str, steps)),
        worst([below(step, 0) for step in steps]),
    )


def _crossing(fhtd: Floats, td: Floats) -> Claim:
    """All steps and horizons at once."""
    excess = fhtd - td[:, :, None]
    found = Statistics.of(excess)
    # Of so many comparisons none may be off by chance.
    reach = student_bound(found.count - 1, 0.025 / found.mean.size) * found.standard_error
    low, high = found.mean - reach, found.mean + reach
    level = td.mean(axis=0)
    unseen = _UNSEEN * level[:, None]
    t, h = np.unravel_index(np.argmax(high - unseen), high.shape)
    fall = Interval.of(td[:, 0] - td[:, -1])
    verdict = Verdict.INCONCLUSIVE
    if fall.high <= 0 or (low > 0).any():
        verdict = Verdict.FAILS
        t, h = np.unravel_index(np.argmax(low), low.shape)
    elif fall.low > 0 and (high < unseen).all():
        verdict = Verdict.HOLDS
    worst_case = Interval(*(100 / level[t] * part[t, h] for part in (found.mean, low, high)))
    return Claim(
        "no-crossing",
        _STATEMENTS["no-crossing"],
        f"excess of FHTD's error over TD's, {_UNIT}, paired, with 95% intervals that are right for "
        f"all {found.mean.size:,} steps and horizons at once; holds if all lie below "
        f"{100 * _UNSEEN:g}% of TD's error, which itself falls (95% interval above 0), fails if "
        "one lies above 0, or if TD's error does not fall",
        f"excess where it is largest {worst_case}% (horizon {h + 1}, step {t + 1})",
        verdict,
    )


def tables(config: Config, data: Arrays) -> dict[str, Arrays]:
    """Errors of every horizon and of TD at a selection of steps."""
    rows = style.thin(config.steps)
    table: Arrays = {"step": rows + 1, "td": data["td.mean"][rows, 0]}
    table["td.standard_error"] = data["td.error"][rows, 0]
    for h in (1, 2, 5, 10, 20, 40, 60, 80, 100):
        if h <= config.horizon:
            table[f"h{h}"] = data["fhtd.mean"][rows, h - 1]
            table[f"h{h}.standard_error"] = data["fhtd.error"][rows, h - 1]
    return {"errors": table}


EXPERIMENT = Experiment(
    name="random-walk",
    title="FHTD's sample complexity on the 19-state random walk",
    source="Appendix, sample complexity",
    shows="FHTD's error curves approach TD's from below as the horizon grows",
    cost="10 s",
    config=Config,
    blocks=blocks,
    run=run,
    combine=combine,
    plot=plot,
    claims=claims,
    tables=tables,
    charts=(
        Chart(
            "Learning curves",
            "errors",
            "step",
            "step",
            "root-mean-square error",
            lines="",
            labels=(("h*", "FHTD, h = *"), ("td", "TD")),
            styles=(("td", 2),),
            shaded="h*",
        ),
    ),
)
