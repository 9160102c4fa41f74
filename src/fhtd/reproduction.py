"""Compute what is missing of an experiment, then write its picture, tables and claims."""

import csv
import io
import json
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from fhtd.executors import Task, execute
from fhtd.experiments.experiment import Arrays, Claim, Experiment
from fhtd.results import Key, Store, command, versions, write_atomically


@dataclass(frozen=True)
class Outcome:
    """What one reproduction gave."""

    experiment: Experiment
    claims: list[Claim]
    folder: Path
    #: Seconds of computing this time; 0 where everything was kept.
    seconds: float
    computed: int
    blocks: int


def reproduce(
    experiment: Experiment,
    config: Any,
    *,
    out: Path,
    seed: int = 0,
    workers: int = 1,
    force: bool = False,
    advance: Callable[[int, int], None] = lambda done, total: None,
    warn: Callable[[str], None] = lambda line: None,
) -> Outcome:
    """Run the blocks that the store lacks and write the results to `out`/<name>.

    `advance(done, total)` is told of every finished block.
    """
    store = Store(out / "raw", warn)
    names = experiment.blocks(config)
    keys = {name: Key.of(experiment, config, seed, name) for name in names}
    results: dict[str, Arrays] = {}
    for name in names:
        kept = None if force else store.read(keys[name])
        if kept is not None:
            results[name] = kept
    missing = [name for name in names if name not in results]
    advance(len(results), len(names))
    begun = time.perf_counter()
    tasks = [Task(experiment.name, config, seed, name) for name in missing]
    for task, arrays, seconds in execute(tasks, 1 if experiment.needs_quiet else workers):
        store.write(keys[task.block], arrays, seconds)
        results[task.block] = arrays
        advance(len(results), len(names))
    elapsed = time.perf_counter() - begun if missing else 0.0
    # In the order of the blocks, whatever order they came in.
    data = experiment.combine(config, {name: results[name] for name in names})
    claims = experiment.claims(config, data)
    folder = out / experiment.name
    outcome = Outcome(experiment, claims, folder, elapsed, len(missing), len(names))
    _write(outcome, config, seed, data)
    return outcome


def _write(outcome: Outcome, config: Any, seed: int, data: Arrays) -> None:
    """Picture as PNG and SVG, tables as CSV, claims and settings as JSON."""
    experiment, folder = outcome.experiment, outcome.folder
    summary_file = folder / "summary.json"
    seconds = outcome.seconds
    if not outcome.computed and summary_file.exists():
        # Nothing was computed: keep the time that the numbers really took.
        seconds = json.loads(summary_file.read_text()).get("seconds", 0.0)
    figure = experiment.plot(config, data)
    for kind in ("png", "svg"):
        picture = io.BytesIO()
        stamp = {"Date": None} if kind == "svg" else {"Software": None}
        figure.savefig(picture, format=kind, dpi=140, metadata=stamp)
        write_atomically(folder / f"{experiment.name}.{kind}", picture.getvalue())
    for name, table in experiment.tables(config, data).items():
        write_atomically(folder / f"{name}.csv", to_csv(table))
    claims = {
        "claim": [claim.name for claim in outcome.claims],
        "verdict": [claim.verdict.value for claim in outcome.claims],
        "measured": [claim.measured for claim in outcome.claims],
        "statement": [claim.statement for claim in outcome.claims],
        "rule": [claim.rule for claim in outcome.claims],
    }
    write_atomically(folder / "claims.csv", to_csv(claims))
    summary = {
        "experiment": experiment.name,
        "title": experiment.title,
        "source": experiment.source,
        "shows": experiment.shows,
        "revision": experiment.revision,
        "seed": seed,
        "settings": experiment.settings(config),
        "claims": [asdict(claim) for claim in outcome.claims],
        "seconds": round(seconds, 2),
        "versions": versions(),
        "command": command(),
    }
    write_atomically(summary_file, (json.dumps(summary, indent=2) + "\n").encode())


def to_csv(table: Any) -> bytes:
    """Columns by name as comma-separated values; floats round-trip."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(table)
    columns = [list(getattr(column, "tolist", lambda c=column: c)()) for column in table.values()]
    writer.writerows(zip(*columns, strict=True))
    return text.getvalue().encode()
