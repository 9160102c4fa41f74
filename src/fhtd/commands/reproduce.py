"""What the commands print: progress, verdicts, settings."""

import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import fields
from itertools import pairwise
from pathlib import Path
from typing import Any

from fhtd.files import write_atomically
from fhtd.reproduction.experiment import Experiment
from fhtd.reproduction.reproduce import Outcome, Progress, Summary, reproduce

_SIGNS = {"holds": "+", "fails": "x", "inconclusive": "?"}


def reproduce_all(
    work: Sequence[tuple[Experiment, Any]],
    *,
    out: Path,
    seed: int,
    workers: int,
    force: bool,
    address: str | None = None,
) -> None:
    """Reproduce one experiment after the other, then write the report."""
    _check_writable(out)
    for experiment, config in work:
        with _progress(experiment.name) as advance:
            outcome = reproduce(
                experiment,
                config,
                out=out,
                seed=seed,
                workers=workers,
                force=force,
                address=address,
                advance=advance,
                warn=lambda line: print(f"fhtd: {line}", file=sys.stderr),
            )
        _print_outcome(outcome)
    print(f"report: {write_report(out, None)}")


def _check_writable(out: Path) -> None:
    """Refuse a folder that cannot be written to before any work is done."""
    probe = out / ".writable"
    write_atomically(probe, b"")
    probe.unlink(missing_ok=True)


@contextmanager
def _progress(name: str) -> Iterator[Callable[[Progress], None]]:
    """A live bar on a terminal; nothing elsewhere."""
    if not sys.stderr.isatty():
        yield lambda progress: None
        return
    from rich import progress as bars
    from rich.console import Console

    columns = (
        bars.TextColumn("{task.description}"),
        bars.BarColumn(),
        bars.MofNCompleteColumn(),
        bars.TextColumn("{task.fields[state]}"),
        bars.TimeElapsedColumn(),
        bars.TextColumn("left"),
        bars.TimeRemainingColumn(elapsed_when_finished=False),
    )
    console = Console(stderr=True)
    # The end is estimated from all blocks so far, of which there may be few in an hour.
    with bars.Progress(
        *columns, console=console, transient=True, speed_estimate_period=1e9
    ) as shown:
        task = shown.add_task(name, total=None, state="")

        def advance(now: Progress) -> None:
            failed = f", {now.failed} failed" if now.failed else ""
            state = f"{now.running} running{failed}"
            shown.update(task, completed=now.done, total=now.total, state=state)

        yield advance


def _print_outcome(outcome: Outcome) -> None:
    kept = outcome.blocks - outcome.computed
    work = f"{outcome.computed} blocks in {outcome.seconds:.1f} s" if outcome.computed else ""
    reuse = f"{kept} kept" if kept else ""
    name = outcome.experiment.name
    print(f"{name}: {', '.join(filter(None, [work, reuse]))}; see {outcome.folder}")
    for claim in outcome.claims:
        print(f"  {_SIGNS[claim.verdict]} {claim.verdict:<12}  {claim.name}: {claim.measured}")
    sys.stdout.flush()


def show(experiment: Experiment, out: Path) -> None:
    """Settings with their sentences, and the last verdicts in `out`."""
    print(f"{experiment.title} ({experiment.source})")
    print(f"Shows that {experiment.shows}; about {experiment.cost} on two cores.\n")
    paper, smoke = experiment.config(), experiment.config.smoke()
    sentences = _sentences(experiment.config)
    for field in fields(experiment.config):
        value, small = getattr(paper, field.name), getattr(smoke, field.name)
        line = f"  {field.name} = {_plain(value)}"
        if small != value:
            line += f"  (smoke: {_plain(small)})"
        print(f"{line}\n      {sentences.get(field.name, '')}")
    summary = Summary.read(out / experiment.name)
    if summary is None:
        print(f"\nNo results in {out} yet: fhtd reproduce {experiment.name}")
        return
    print(f"\nLast verdicts (seed {summary.seed}, {summary.time} of one core):")
    for claim in summary.claims:
        print(f"  {_SIGNS[claim.verdict]} {claim.verdict:<12}  {claim.statement}")
        print(f"      {claim.measured}")


def _plain(value: Any) -> str:
    return ", ".join(map(str, value)) if isinstance(value, tuple) else str(value)


def _sentences(config: type[Any]) -> dict[str, str]:
    """The sentence under each field, as written in the source."""
    import ast
    import inspect
    import textwrap

    body = ast.parse(textwrap.dedent(inspect.getsource(config))).body[0]
    found: dict[str, str] = {}
    assert isinstance(body, ast.ClassDef)
    for field, following in pairwise(body.body):
        if (
            isinstance(field, ast.AnnAssign)
            and isinstance(field.target, ast.Name)
            and isinstance(following, ast.Expr)
            and isinstance(following.value, ast.Constant)
        ):
            found[field.target.id] = " ".join(str(following.value.value).split())
    return found


def write_report(results: Path, out: Path | None) -> Path:
    """Write the report of a results folder; returns where it is."""
    from fhtd.pages import build_report, read_chapters

    chapters = read_chapters(results)
    if not chapters:
        raise ValueError(f"{results} holds no results yet: run fhtd reproduce all first")
    path = results / "report.html" if out is None else out
    way = os.path.relpath(results.resolve(), path.resolve().parent)
    data = "" if way == "." else f"{Path(way).as_posix()}/"
    write_atomically(path, build_report(chapters, data).encode())
    return path.resolve()
