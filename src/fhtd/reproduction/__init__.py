"""Many runs, kept and counted once: what an experiment of the paper or of your own is made of."""

from fhtd.reproduction.arms import (
    Arrays,
    Block,
    Results,
    exactly,
    join_runs,
    join_statistics,
    pack,
    run_blocks,
)
from fhtd.reproduction.chart import Chart
from fhtd.reproduction.claims import Claim, Verdict, above, below, every, truth_of, worst
from fhtd.reproduction.experiment import Experiment, Scratch

__all__ = [
    "Arrays",
    "Block",
    "Chart",
    "Claim",
    "Experiment",
    "Results",
    "Scratch",
    "Verdict",
    "above",
    "below",
    "every",
    "exactly",
    "join_runs",
    "join_statistics",
    "pack",
    "run_blocks",
    "truth_of",
    "worst",
]
