"""How much each horizon's optimal actions differ from the final horizon's."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from fhtd import checks, oracle, problems
from fhtd.reproduction import (
    Arrays,
    Block,
    Chart,
    Claim,
    Experiment,
    Results,
    above,
    join_runs,
    run_blocks,
    style,
    worst,
)
from fhtd.statistics import Interval, Statistics
from fhtd.weighting import Weighting

if TYPE_CHECKING:
    from matplotlib.figure import Figure

RULES = ("lowest", "overlap")
_BLOCK = 100


@dataclass(frozen=True)
class Config:
    """Settings of the experiment on random grid worlds."""

    runs: int = 1000
    """Random grid worlds (paper: 1,000)."""
    size: int = 8
    """Rows and columns of the grid (paper: 8)."""
    horizon: int = 64
    """Final horizon H (paper: 64)."""

    def __post_init__(self) -> None:
        checks.integer("runs", self.runs, 1)
        checks.integer("size", self.size, 2)
        checks.integer("horizon", self.horizon, 8)

    @classmethod
    def smoke(cls) -> "Config":
        """Few worlds."""
        return cls(runs=20)


def blocks(config: Config) -> list[Block]:
    """Worlds in blocks."""
    return run_blocks("worlds", config.runs, _BLOCK)


def run(config: Config, seed: int, block: Block) -> Arrays:
    """Share of states in which each horizon agrees with the last, under both tie rules."""
    agreement = np.zeros((len(block.runs), len(RULES), config.horizon))
    for i, world in enumerate(block.runs):
        layout = int(np.random.SeedSequence(seed, spawn_key=(world,)).generate_state(1)[0])
        mdp = problems.random_grid(seed=layout, size=config.size).mdp
        greedy = oracle.optimal(mdp, Weighting.exponential(config.horizon)).greedy
        chosen = greedy.argmax(axis=1)
        agreement[i, 0] = (chosen == chosen[:, -1:]).mean(axis=0)
        agreement[i, 1] = (greedy & greedy[:, :, -1:]).any(axis=1).mean(axis=0)
    return {"agreement": agreement}


def combine(config: Config, results: Results) -> Arrays:
    """(worlds, tie rules, horizons)."""
    return {"agreement": join_runs(results, "worlds", "agreement")}


def plot(config: Config, data: Arrays) -> "Figure":
    """Agreement over horizons."""
    figure, axes = style.panels(1, 1, width=5.0, height=3.4)
    panel = axes[0, 0]
    found = Statistics.of(data["agreement"])
    names = ("lowest index among equals", "any overlap of the greedy sets")
    for i, name in enumerate(names):
        style.line(
            panel,
            np.arange(1, config.horizon + 1),
            found.mean[i],
            found.standard_error[i],
            name,
            i,
        )
    panel.set_ylim(0, 1.02)
    style.label(
        panel,
        f"{config.runs} random {config.size} x {config.size} grid worlds",
        "horizon",
        f"agreement with horizon {config.horizon}",
    )
    style.say(figure, style.band(config.runs, "worlds"))
    return figure


def claims(config: Config, data: Arrays) -> list[Claim]:
    """Off-policyness is mostly in the early horizons; later ones agree with the last."""
    agreement = data["agreement"]
    early = config.horizon // 8
    total = 1 - agreement
    # Share of all disagreement that falls into the first eighth of the horizons.
    shares = total[:, :, :early].sum(axis=-1) / np.maximum(total.sum(axis=-1), 1e-12)
    mean_share = [Interval.of(shares[:, rule]) for rule in range(len(RULES))]
    late = [Interval.of(agreement[:, rule, config.horizon // 2 - 1]) for rule in range(len(RULES))]
    fair = early / config.horizon
    return [
        Claim(
            "early-disagreement",
            "Most of the off-policyness occurs in the early horizons.",
            f"share of all disagreement in the first {early} of {config.horizon} horizons, under "
            "both tie rules; holds if the 95% interval lies above one half, fails if below",
            "; ".join(f"{rule}: {s}" for rule, s in zip(RULES, mean_share, strict=True))
            + f" (their share of horizons is {fair:.3f})",
            worst([above(share, 0.5) for share in mean_share]),
        ),
        Claim(
            "late-agreement",
            "Later horizons tend to agree with the final horizon.",
            f"agreement of horizon {config.horizon // 2} with {config.horizon}, under both tie "
            "rules; holds if the 95% interval lies above 0.9, fails if below",
            "; ".join(f"{rule}: {s}" for rule, s in zip(RULES, late, strict=True)),
            worst([above(share, 0.9) for share in late]),
        ),
    ]


def tables(config: Config, data: Arrays) -> dict[str, Arrays]:
    """Agreement by horizon."""
    found = Statistics.of(data["agreement"])
    return {
        "agreement": style.as_columns(
            ("horizon", "lowest", "lowest.standard_error", "overlap", "overlap.standard_error"),
            np.arange(1, config.horizon + 1),
            found.mean[0],
            found.standard_error[0],
            found.mean[1],
            found.standard_error[1],
        )
    }


EXPERIMENT = Experiment(
    name="off-policyness",
    title="Off-policyness of FHTD control",
    source="Appendix, off-policyness",
    shows="horizons soon agree on the optimal action",
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
            "Agreement with the final horizon",
            "agreement",
            "horizon",
            "horizon",
            "agreement (share of states)",
            lines="",
            labels=(
                ("lowest", "lowest index among equals"),
                ("overlap", "any overlap of the greedy sets"),
            ),
        ),
    ),
)
