"""`fhtd show` and `fhtd report`: what there is of an experiment, and of all."""

import dataclasses
import os
from pathlib import Path
from typing import Annotated, Any

import tyro

from fhtd.commands.parsing import parse
from fhtd.files import check_writable, write_atomically
from fhtd.sentences import sentences

SIGNS = {"holds": "+", "fails": "x", "inconclusive": "?"}


@dataclasses.dataclass(frozen=True)
class Show:
    """Settings of an experiment, and its last verdicts."""

    name: Annotated[tyro.conf.Positional[str], tyro.conf.arg(metavar="NAME")]
    """Name of the experiment (see `fhtd list`), or MODULE:NAME of your own."""
    results: Annotated[Path, tyro.conf.arg(metavar="DIR")] = Path("runs")
    """Folder of results to read."""


@dataclasses.dataclass(frozen=True)
class Report:
    """Write one self-contained HTML page of all results."""

    results: Annotated[Path, tyro.conf.arg(metavar="DIR")] = Path("runs")
    """Folder of results to read."""
    out: Annotated[Path | None, tyro.conf.arg(metavar="FILE")] = None
    """File to write; default: report.html in the folder of results."""


def show(arguments: list[str]) -> None:
    """Print settings with their sentences, and the last verdicts."""
    examples = ["fhtd show baird", "fhtd show lunar-lander --results results"]
    parsed = parse(Show, "fhtd show", arguments, examples)
    from fhtd.experiments import find
    from fhtd.reproduction.summary import Summary, folders, plain

    experiment = find(parsed.name)
    print(f"{experiment.title} ({experiment.source})")
    print(f"What it shows: {experiment.shows}; about {experiment.cost} on two cores.\n")
    own, smoke = experiment.config(), experiment.smoke()
    told = sentences(experiment.config)
    for field in dataclasses.fields(experiment.config):
        value = getattr(own, field.name)
        line = f"  {field.name} = {plain(value)}"
        if smoke is not None and getattr(smoke, field.name) != value:
            line += f"  (smoke: {plain(getattr(smoke, field.name))})"
        print(f"{line}\n      {told.get(field.name, '')}")
    found = [Summary.read(folder) for folder in folders(parsed.results, experiment.name)]
    if not any(found):
        print(f"\nNo results in {parsed.results} yet: fhtd reproduce {parsed.name}")
    for summary in found:
        if summary is not None:
            _print(summary.completed(experiment))


def _print(summary: Any) -> None:
    at = summary.departures
    print(
        f"\nVerdicts at {f'other settings ({at})' if at else 'these settings'} "
        f"(seed {summary.seed}, {summary.time} of one core):"
    )
    for claim in summary.claims:
        print(f"  {SIGNS[claim.verdict]} {claim.verdict:<12}  {claim.statement}")
        print(f"      {claim.measured}")


def report(arguments: list[str]) -> None:
    """Write the report."""
    examples = ["fhtd report", "fhtd report --results results --out page.html"]
    parsed = parse(Report, "fhtd report", arguments, examples)
    print(write_report(parsed.results, parsed.out))


def write_report(results: Path, out: Path | None) -> Path:
    """Write the report of a results folder; returns where it is."""
    from fhtd.pages import build_report, read_chapters

    if out is not None:
        check_writable(out)
    chapters = read_chapters(results)
    if not chapters:
        raise ValueError(f"{results} holds no results yet: run fhtd reproduce all first")
    path = results / "report.html" if out is None else out
    way = os.path.relpath(results.resolve(), path.resolve().parent)
    data = "" if way == "." else f"{Path(way).as_posix()}/"
    write_atomically(path, build_report(chapters, data).encode())
    return path.resolve()
