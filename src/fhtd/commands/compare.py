"""`fhtd compare`: any agents in any environments, with a verdict for each pair."""

import dataclasses
import os
from pathlib import Path
from typing import Annotated

import tyro

from fhtd import checks
from fhtd.commands.parsing import UserError, parse, require
from fhtd.files import check_writable


@dataclasses.dataclass(frozen=True)
class Compare:
    """Compare deep agents: learning curves with intervals, areas, and a verdict for each pair."""

    environments: Annotated[
        tyro.conf.Positional[tuple[str, ...]], tyro.conf.arg(metavar="ENVIRONMENT...")
    ] = ()
    """Ids of Gymnasium environments."""
    arms: tuple[str, ...] = ("dfhq", "dqn")
    """What to compare, each as [LABEL=]ALGORITHM[,SETTING=VALUE...]. Algorithms are dfhq, dqn,
    MODULE:CLASS of your own, and where installed sb3:dqn and sb3-contrib:qrdqn with the settings
    that RL Baselines3 Zoo publishes. A setting of several values has colons, as hidden=64:64;
    preset is a setting too, and preset=tuned takes that of each environment."""
    runs: tuple[int, ...] = (5,)
    """Runs of each arm: one number, or one for each environment."""
    frames: tuple[int, ...] = (100_000,)
    """Frames of a run: one number, or one for each environment."""
    workers: int = os.cpu_count() or 1
    """Processes to spread the runs over."""
    ray: str | None = None
    """Address of a Ray cluster to send the runs to instead, or auto for the one here."""
    seed: int = 0
    """Seed of all runs; run i draws from SeedSequence(seed, spawn_key=(i,))."""
    out: Annotated[Path, tyro.conf.arg(metavar="DIR")] = Path("runs/compare")
    """Folder to write; what is already there is not computed again."""
    force: bool = False
    """Compute everything again."""


def compare(arguments: list[str]) -> None:
    """Run what is missing of a comparison, then write its pictures, tables and the report."""
    examples = [
        "fhtd compare CartPole-v1",
        "fhtd compare LunarLander-v3 CartPole-v1 --arms dfhq dqn paper=dfhq,preset=paper --runs 10",
        "fhtd compare LunarLander-v3 --arms dfhq wide=dfhq,hidden=512:512 sb3:dqn",
    ]
    parsed: Compare = parse(Compare, "fhtd compare", arguments, examples)
    if not parsed.environments:
        raise UserError("name an environment, such as CartPole-v1 (see fhtd compare --help)")
    checks.integer("seed", parsed.seed, 0)
    checks.integer("workers", parsed.workers, 1)
    require("report", "matplotlib")
    require("deep")
    if parsed.ray is not None:
        require("ray")
    from fhtd.commands.reproduce import print_outcome, run_experiment
    from fhtd.commands.results import write_report
    from fhtd.comparison.arms import parse_all
    from fhtd.comparison.experiment import Config, check, named

    config = Config(parsed.environments, parsed.arms, parsed.runs, parsed.frames)
    check(config)
    check_writable(parsed.out / "report.html")
    print_outcome(run_experiment(named(config, parse_all(config.arms)), config, parsed))
    print(f"report: {write_report(parsed.out, None)}")
