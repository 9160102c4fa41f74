"""An experiment of your own: a step size that falls, against one that stays.

Here it computes what is missing, and says what came of it:

    python examples/experiment.py

In this folder, `fhtd reproduce experiment:EXPERIMENT --workers 2` does the same with every field of
`Config` as a flag, a picture, a report, and a cluster where there is one.
"""

import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

from fhtd import FHTD, Decay, Weighting, oracle, problems, simulate
from fhtd.reproduction import Claim, Experiment, below, join_runs, run_blocks
from fhtd.reproduction.reproduce import reproduce
from fhtd.statistics import Interval


@dataclass(frozen=True)
class Config:
    """What can be chosen; the defaults are the settings that count."""

    runs: int = 100
    """Independent runs of each arm."""
    steps: int = 20_000
    """Steps of each run."""
    horizon: int = 20
    """Final horizon H."""


#: What is compared; the names are used for files and tables.
ARMS = {"stays": 0.1, "falls": Decay(0.5, offset=500, power=0.8)}


def blocks(config):
    """The units of work: ten runs each."""
    return [block for arm in ARMS for block in run_blocks(arm, config.runs, size=10)]


def run(config, seed, block):
    """The arrays of one block, from nothing but these arguments."""
    walk, weighting = problems.random_walk(), Weighting.exponential(config.horizon)
    found = simulate(
        FHTD(walk.features, weighting, step_size=ARMS[block.arm]),
        walk.mdp,
        steps=config.steps,
        runs=block.runs,
        behaviour=walk.behaviour,
        truth=oracle.state_values(walk.mdp, walk.target, weighting),
        record_at=moments(config),
        per_run=True,
        seed=seed,
        threads=1,
    )
    return {"errors": found.error_curves[:, :, -1]}


def moments(config):
    """The steps after which the error is measured."""
    return np.linspace(config.steps / 50, config.steps, 50).astype(int)


def combine(config, results):
    """All blocks of an arm together: (runs, moments)."""
    return {arm: join_runs(results, arm, "errors") for arm in ARMS}


def plot(config, data):
    """The picture."""
    figure = Figure(figsize=(6, 3.5), layout="constrained")
    axes = figure.add_subplot(xlabel="steps", ylabel="error of the final horizon")
    for arm in ARMS:
        axes.plot(moments(config), data[arm].mean(axis=0), label=f"a step size that {arm}")
    axes.set_ylim(0)
    axes.legend()
    return figure


def claims(config, data):
    """What is said, with the rule that decides it."""
    difference = Interval.of(data["falls"][:, -1] - data["stays"][:, -1])
    return [
        Claim(
            "nearer",
            "A step size that falls ends nearer to the truth.",
            "holds if the 95% interval of its error less the other's lies below 0, fails if above",
            f"difference {difference}",
            below(difference, 0),
        )
    ]


def tables(config, data):
    """What is written as CSV."""
    return {
        "errors": {"step": moments(config)} | {arm: data[arm].mean(axis=0) for arm in ARMS},
    }


EXPERIMENT = Experiment(
    name="step-sizes",
    title="Step sizes on the random walk",
    source="our own",
    shows="a step size that falls ends nearer to the truth",
    cost="seconds",
    config=Config,
    blocks=blocks,
    run=run,
    combine=combine,
    plot=plot,
    claims=claims,
    tables=tables,
)

if __name__ == "__main__":
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 100
    outcome = reproduce(EXPERIMENT, Config(runs=runs), out=Path("results"))
    kept = outcome.blocks - outcome.computed
    print(f"{outcome.computed} blocks computed, {kept} kept from before")
    for claim in outcome.claims:
        print(f"{claim.verdict}: {claim.statement} ({claim.measured})")
