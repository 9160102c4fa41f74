"""`fhtd list` and `fhtd reproduce`: what can be reproduced, and doing it."""

import dataclasses
import itertools
import os
import shutil
import sys
import textwrap
from itertools import zip_longest
from pathlib import Path
from typing import Annotated, Any, Literal

import tyro

from fhtd import checks, progress
from fhtd.commands.parsing import UserError, parse, require
from fhtd.commands.results import SIGNS, write_report
from fhtd.experiments import NAMES, find
from fhtd.files import check_writable
from fhtd.reproduction import Experiment, Verdict
from fhtd.reproduction.reproduce import Outcome, Progress
from fhtd.reproduction.reproduce import reproduce as compute


@dataclasses.dataclass(frozen=True)
class Common:
    """Options of every experiment."""

    scale: Literal["paper", "smoke"] = "paper"
    """The paper's scale, or one small enough to try in seconds."""
    workers: int = os.cpu_count() or 1
    """Processes to spread the work over."""
    ray: str | None = None
    """Address of a Ray cluster to send the work to instead, or auto for the one here."""
    seed: int = 0
    """Seed of all runs; run i draws from SeedSequence(seed, spawn_key=(i,))."""
    out: Annotated[Path, tyro.conf.arg(metavar="DIR")] = Path("runs")
    """Folder to write; what is already there is not computed again."""
    force: bool = False
    """Compute everything again."""
    check: bool = False
    """End with exit code 1 if a claim fails."""


@dataclasses.dataclass(frozen=True)
class Several(Common):
    """Reproduce several experiments, or all of them."""

    runs: int | None = None
    """Number of runs instead of each experiment's own."""


@dataclasses.dataclass(frozen=True)
class List:
    """List the experiments: what each shows, where it is in the paper, what it costs."""


def list_experiments(arguments: list[str]) -> None:
    """Print the experiments."""
    parse(List, "fhtd list", arguments, ["fhtd list"])
    width = max(len(name) for name in NAMES)
    # Into a file or a pipe, lines are as long as they are.
    room = max(shutil.get_terminal_size((1000, 24)).columns - width - 2, 25)
    for experiment in map(find, NAMES):
        cost = f"{experiment.source}; about {experiment.cost} on two cores"
        lines = [*textwrap.wrap(experiment.shows, room), *textwrap.wrap(cost, room)]
        for name, line in zip_longest([experiment.name], lines, fillvalue=""):
            print(f"{name:<{width}}  {line}")


def reproduce(arguments: list[str]) -> int:
    """Run the named experiments, one after the other, then write the report."""
    names = []
    while arguments and not arguments[0].startswith("-"):
        names.append(arguments.pop(0))
    if not names and not {"-h", "--help"} & set(arguments):
        raise UserError(f"name an experiment first, or all (experiments: {', '.join(NAMES)})")
    experiments = [find(name) for name in dict.fromkeys(names) if name != "all"]
    if "all" in names or not names:
        quick = [one for one in map(find, NAMES) if not one.only_by_name]
        experiments = list(dict.fromkeys([*quick, *experiments]))
    if len(experiments) == 1:
        common, configs = _parse_one(experiments[0], names[0], arguments)
    else:
        common, configs = _parse_several(experiments, arguments)
    checks.integer("seed", common.seed, 0)
    checks.integer("workers", common.workers, 1)
    require("report", "matplotlib")
    for extra in dict.fromkeys(extra for one in experiments for extra in one.extras):
        require(extra)
    if common.ray is not None:
        require("ray")
    check_writable(common.out / "report.html")
    failed = False
    for experiment, config in zip(experiments, configs, strict=True):
        outcome = run_experiment(experiment, config, common)
        print_outcome(outcome)
        if common.scale == "smoke" and outcome.computed:
            print("  (the first smoke run on a machine compiles: the next ones take seconds)")
        failed |= any(claim.verdict is Verdict.FAILS for claim in outcome.claims)
    print(f"report: {write_report(common.out, None)}")
    return 1 if common.check and failed else 0


def run_experiment(experiment: Experiment, config: Any, common: Any) -> Outcome:
    """Compute what is missing, with a bar where somebody watches.

    Args:
        experiment: What to compute.
        config: Its settings.
        common: Options as `Common` has them.
    """
    with progress.live(experiment.name, on=sys.stderr.isatty()) as shown:

        def advance(now: Progress) -> None:
            more = [f", {now.failed} failed"] if now.failed else []
            more += [f", {now.elsewhere} by another process"] if now.elsewhere else []
            more += [", the first one compiles"] if not now.done else []
            shown(now.done, now.total, f"{now.running} running{''.join(more)}")

        return compute(
            experiment,
            config,
            out=common.out,
            seed=common.seed,
            workers=common.workers,
            force=common.force,
            address=common.ray,
            advance=advance,
            warn=lambda line: print(f"fhtd: {line}", file=sys.stderr),
        )


def print_outcome(outcome: Outcome) -> None:
    """What was done, and the verdicts.

    Args:
        outcome: Of a reproduction.
    """
    kept = outcome.blocks - outcome.computed
    work = f"{outcome.computed} blocks in {outcome.seconds:.1f} s" if outcome.computed else ""
    reuse = f"{kept} kept" if kept else ""
    name = outcome.experiment.name
    print(f"{name}: {', '.join(filter(None, [work, reuse]))}; see {outcome.folder}")
    for claim in outcome.claims:
        print(f"  {SIGNS[claim.verdict]} {claim.verdict:<12}  {claim.name}: {claim.measured}")
    sys.stdout.flush()


def _parse_one(experiment: Experiment, name: str, arguments: list[str]) -> tuple[Common, list[Any]]:
    """One experiment: every field of its configuration is a flag."""
    smoke = "smoke" in _values_of("--scale", arguments)
    default = _config(experiment, "smoke" if smoke else "paper")
    # Unprefixed flags of both parts; checked when the real configuration is built.
    kind = dataclasses.make_dataclass(
        "Reproduce",
        [
            ("common", Annotated[Common, tyro.conf.arg(name="")]),
            ("config", Annotated[experiment.config, tyro.conf.arg(name="")], default),
        ],
        frozen=True,
    )
    kind.__doc__ = f"{experiment.title}: {experiment.shows}."
    examples = [
        f"fhtd reproduce {name}",
        f"fhtd reproduce {name} --runs 10 --workers 2 --out results",
    ]
    parsed = parse(kind, f"fhtd reproduce {name}", arguments, examples)
    return parsed.common, [parsed.config]


def _values_of(flag: str, arguments: list[str]) -> list[str]:
    """What is given for a flag, as `--flag value` or `--flag=value`."""
    found = [a.partition("=")[2] for a in arguments if a.startswith(f"{flag}=")]
    return found + [value for name, value in itertools.pairwise(arguments) if name == flag]


def _config(experiment: Experiment, scale: str) -> Any:
    config = experiment.config() if scale == "paper" else experiment.smoke()
    if config is None:
        raise UserError(f"{experiment.name} has no smoke scale")
    return config


def _parse_several(experiments: list[Experiment], arguments: list[str]) -> tuple[Common, list[Any]]:
    """Several experiments: the options that all of them share."""
    examples = [
        "fhtd reproduce all",
        "fhtd reproduce baird random-walk --scale smoke",
        "fhtd reproduce lunar-lander --runs 10     # flags of its own: see its --help",
        "fhtd reproduce my_module:EXPERIMENT       # one of your own",
    ]
    parsed = parse(Several, "fhtd reproduce NAME...", arguments, examples)
    configs = [_config(experiment, parsed.scale) for experiment in experiments]
    if parsed.runs is not None:
        configs = [dataclasses.replace(config, runs=parsed.runs) for config in configs]
    return parsed, configs
