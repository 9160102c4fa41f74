"""Sample complexity on the 19-state random walk: FHTD's learning curves against TD's."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

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
    join_statistics,
    pack,
    run_blocks,
    style,
    truth_of,
)
from fhtd.weighting import Weighting

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_BLOCK = 500


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
    """(steps, horizons) means and standard errors, and TD's."""
    data: Arrays = {}
    for arm in ("fhtd", "td"):
        total = join_statistics(results, arm, "error")
        data[f"{arm}.mean"], data[f"{arm}.error"] = total.mean, total.standard_error
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
    return figure


def claims(config: Config, data: Arrays) -> list[Claim]:
    """Short horizons plateau; curves approach TD's and do not cross it."""
    fhtd, td = data["fhtd.mean"], data["td.mean"][:, 0]
    # Plateau: the first window of steps whose mean error is within 5% of that of the last tenth.
    tail = max(1, config.steps // 10)
    final = fhtd[-tail:].mean(axis=0)
    window = max(1, config.steps // 40)
    usable = config.steps // window * window
    means = fhtd[:usable].reshape(-1, window, config.horizon).mean(axis=1)
    reached = window * (1 + np.argmax(np.abs(means - final) <= 0.05 * final, axis=0))
    short, long = 5, config.horizon
    # Crossing: excess over TD in units of its standard error, over all steps and horizons.
    error = np.sqrt(data["fhtd.error"] ** 2 + data["td.error"] ** 2)
    excess = fhtd - td[:, None]
    with np.errstate(divide="ignore", invalid="ignore"):
        units = np.where(excess == 0, 0.0, excess / error)
    t, h = np.unravel_index(np.argmax(units), units.shape)
    # One-sided, corrected for the number of comparisons, the normal bound is below 6.
    is_sane = bool(np.isfinite(fhtd).all() and td[-1] < td[0])
    crosses = bool(units[t, h] > 6) or not is_sane
    gap = np.abs(fhtd[-tail:].mean(axis=0) - td[-tail:].mean()) / td[-tail:].mean()
    grid = np.array([h for h in (5, 10, 20, 40, 60, 80, 100) if h <= config.horizon]) - 1
    approaches = bool(np.all(np.diff(gap[grid]) < 0))
    return [
        Claim(
            "short-plateau-early",
            "Short horizons reach their plateau, a steady error from the constant step size, "
            "earlier than long ones.",
            f"windows of {window} steps; holds if horizon {short} comes within 5% of its final "
            f"error in less than half the steps that horizon {long} takes, fails otherwise",
            f"horizon {short} after {reached[short - 1]} steps, {long} after {reached[long - 1]}",
            truth_of(bool(2 * reached[short - 1] < reached[long - 1])),
        ),
        Claim(
            "approach-td",
            "As the horizon grows, the learning curves approach TD's.",
            "holds if the relative gap to TD over the last tenth of the steps falls from each of "
            "the horizons shown to the next, fails otherwise",
            "gaps " + ", ".join(f"{100 * gap[h]:.1f}% (h = {h + 1})" for h in grid),
            truth_of(approaches),
        ),
        Claim(
            "no-crossing",
            "No horizon's curve crosses above TD's.",
            "over all steps and horizons, the excess of FHTD's mean error over TD's in units of "
            "its standard error; fails if above 6 (which corrects for the number of comparisons), "
            "or if TD itself does not learn, holds otherwise",
            f"largest excess {units[t, h]:.1f} standard errors ({excess[t, h]:+.4f}, horizon "
            f"{h + 1}, step {t + 1})",
            Verdict.FAILS if crosses else Verdict.HOLDS,
        ),
    ]


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
        Chart("Learning curves", "errors", "step", "step", "root-mean-square error", lines=""),
    ),
)
