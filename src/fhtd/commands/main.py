"""The command line: `fhtd list`, `reproduce`, `show`, `report`, `explore`, `train`, and others.

Heavy libraries are imported by the command that needs them, so that help is quick.
"""

import dataclasses
import importlib
import itertools
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

import tyro

from fhtd import __version__
from fhtd.commands.parsing import UserError, parse
from fhtd.errors import DivergenceError

_DESCRIPTION = """Fixed-horizon temporal-difference learning.

the paper's results:
  list        the experiments, what each shows and costs
  reproduce   run experiments and write pictures, tables and verdicts
  show        settings of an experiment, and its last verdicts
  report      one HTML page of all results

any finite problem:
  explore     one HTML page: values and best actions of every horizon, learned and exact

deep agents (pip install 'fhtd[deep]'):
  train       train DFHQ or DQN on a Gymnasium environment, or resume a run
  evaluate    mean return of a trained agent
  record      an episode as an animation, beside what the agent expects
  watch       one HTML page of an episode: what the agent expects at each frame, and what came

`fhtd COMMAND --help` explains a command; `fhtd reproduce NAME --help` its settings.
"""


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
    out: Path = Path("runs")
    """Folder of results; what is already there is not computed again."""
    force: bool = False
    """Compute everything again."""


@dataclasses.dataclass(frozen=True)
class Several(Common):
    """Reproduce several experiments, or all of them."""

    runs: int | None = None
    """Number of runs instead of each experiment's own."""


@dataclasses.dataclass(frozen=True)
class List:
    """List the experiments: what each shows, where it is in the paper, what it costs."""


@dataclasses.dataclass(frozen=True)
class Show:
    """Settings of an experiment, and its last verdicts."""

    name: Annotated[tyro.conf.Positional[str], tyro.conf.arg(metavar="NAME")]
    """Name of the experiment (see `fhtd list`)."""
    out: Path = Path("runs")
    """Folder of results."""


@dataclasses.dataclass(frozen=True)
class Report:
    """Write one self-contained HTML page of all results."""

    results: Path = Path("runs")
    """Folder of results."""
    out: Path | None = None
    """File to write; default: report.html in the folder of results."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; mistakes end with one line and exit code 2, interrupts with 130."""
    arguments = list(sys.argv[1:] if arguments is None else arguments)
    commands: dict[str, Callable[[list[str]], None]] = {
        "list": _list,
        "reproduce": _reproduce,
        "show": _show,
        "report": _report,
        "explore": _explore,
        "train": _deep("train"),
        "evaluate": _deep("evaluate"),
        "record": _deep("record"),
        "watch": _deep("watch", "pages"),
    }
    if not arguments or arguments[0] in ("-h", "--help"):
        print(_DESCRIPTION, end="")
        return 0 if arguments else 2
    if arguments[0] == "--version":
        print(f"fhtd {__version__}")
        return 0
    name, *rest = arguments
    try:
        if name not in commands:
            raise UserError(
                f"unknown command {name!r} (commands: {', '.join(commands)}; try fhtd --help)"
            )
        commands[name](rest)
        sys.stdout.flush()
    except BrokenPipeError:  # the reader, `head` perhaps, has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 141
    except (UserError, ValueError, TypeError, OSError, MemoryError, DivergenceError) as error:
        print(f"fhtd: {_one_line(error)}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("fhtd: interrupted; what is finished is kept, run again to go on", file=sys.stderr)
        return 130
    return 0


def _deep(name: str, home: str = "train") -> Callable[[list[str]], None]:
    """A command for deep agents, whose libraries are an extra."""

    def run(arguments: list[str]) -> None:
        try:
            command: Callable[[list[str]], None] = getattr(
                importlib.import_module(f"fhtd.commands.{home}"), name
            )
            command(arguments)
        except ModuleNotFoundError as error:
            if error.name is not None and error.name.startswith("fhtd"):
                raise
            raise UserError(f"{error.name} is not installed: pip install 'fhtd[deep]'") from None

    return run


def _one_line(error: BaseException) -> str:
    if isinstance(error, OSError) and error.filename is not None:
        return f"cannot use {error.filename}: {error.strerror}"
    return " ".join(str(error).split())


def _list(arguments: list[str]) -> None:
    """Print the experiments."""
    from fhtd.experiments import NAMES, find

    parse(List, "fhtd list", arguments)
    experiments = [find(name) for name in NAMES]
    width = max(len(name) for name in NAMES)
    for experiment in experiments:
        print(f"{experiment.name:<{width}}  {experiment.shows}")
        print(f"{'':<{width}}  {experiment.source}; about {experiment.cost} on two cores")


def _reproduce(arguments: list[str]) -> None:
    """Run the named experiments."""
    from fhtd.experiments import NAMES, find

    names = []
    while arguments and not arguments[0].startswith("-"):
        names.append(arguments.pop(0))
    if not names and not {"-h", "--help"} & set(arguments):
        raise UserError(f"name an experiment first, or all (experiments: {', '.join(NAMES)})")
    experiments = [find(name) for name in dict.fromkeys(names) if name != "all"]
    if "all" in names or not names:
        quick = [one for one in map(find, NAMES) if not one.takes_hours]
        experiments = list(dict.fromkeys([*quick, *experiments]))
    if len(experiments) == 1:
        common, configs = _parse_one(experiments[0], arguments)
    else:
        common, configs = _parse_several(experiments, arguments)
    from fhtd.commands.reproduce import reproduce_all

    reproduce_all(
        list(zip(experiments, configs, strict=True)),
        out=common.out,
        seed=_at_least("seed", common.seed, 0),
        workers=_at_least("workers", common.workers, 1),
        force=common.force,
        address=common.ray,
    )


def _at_least(name: str, value: int, minimum: int) -> int:
    from fhtd import checks

    return checks.integer(name, value, minimum)


def _parse_one(experiment: Any, arguments: list[str]) -> tuple[Common, list[Any]]:
    """One experiment: every field of its configuration is a flag."""
    smoke = "smoke" in _values_of("--scale", arguments)
    default = experiment.config.smoke() if smoke else experiment.config()
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
    parsed = parse(kind, f"fhtd reproduce {experiment.name}", arguments)
    return parsed.common, [parsed.config]


def _values_of(flag: str, arguments: list[str]) -> list[str]:
    """What is given for a flag, as `--flag value` or `--flag=value`."""
    found = [a.partition("=")[2] for a in arguments if a.startswith(f"{flag}=")]
    return found + [value for name, value in itertools.pairwise(arguments) if name == flag]


def _parse_several(experiments: list[Any], arguments: list[str]) -> tuple[Common, list[Any]]:
    """Several experiments: the options that all of them share."""
    parsed = parse(Several, "fhtd reproduce NAME...", arguments)
    configs = []
    for experiment in experiments:
        config = experiment.config.smoke() if parsed.scale == "smoke" else experiment.config()
        if parsed.runs is not None:
            config = dataclasses.replace(config, runs=parsed.runs)
        configs.append(config)
    return parsed, configs


def _show(arguments: list[str]) -> None:
    """Print an experiment's settings and last verdicts."""
    parsed = parse(Show, "fhtd show", arguments)
    from fhtd.commands.reproduce import show
    from fhtd.experiments import find

    show(find(parsed.name), parsed.out)


def _report(arguments: list[str]) -> None:
    """Write the report."""
    parsed = parse(Report, "fhtd report", arguments)
    from fhtd.commands.reproduce import write_report

    print(write_report(parsed.results, parsed.out))


def _explore(arguments: list[str]) -> None:
    """Write the horizon explorer."""
    from fhtd.commands import pages

    pages.explore(arguments)


if __name__ == "__main__":
    sys.exit(main())
