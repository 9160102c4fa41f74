"""Compute what is missing of an experiment, then write its picture, tables and claims."""

import csv
import io
import json
import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from fhtd.files import write_atomically
from fhtd.provenance import command, versions
from fhtd.reproduction import style
from fhtd.reproduction.executors import Tally, Task, check_memory, execute
from fhtd.reproduction.experiment import Arrays, Claim, Experiment, Verdict
from fhtd.reproduction.store import Key, Store

_SUMMARY = "summary.json"


@dataclass(frozen=True)
class Summary:
    """What `summary.json` in an experiment's folder says of its last reproduction."""

    experiment: str
    title: str
    source: str
    shows: str
    revision: int
    seed: int
    settings: dict[str, Any]
    claims: list[Claim]
    #: Seconds that the blocks took, added up.
    seconds: float
    versions: dict[str, str]
    command: str

    @property
    def time(self) -> str:
        """What the blocks took, in words."""
        if self.seconds < 100:
            return f"{self.seconds:.1f} s"
        if self.seconds < 6000:
            return f"{self.seconds / 60:.0f} minutes"
        return f"{self.seconds / 3600:.1f} hours"

    @classmethod
    def read(cls, folder: Path) -> "Summary | None":
        """From an experiment's folder, or None; a damaged file is refused by name."""
        path = folder / _SUMMARY
        try:
            found = json.loads(path.read_bytes())
            claims = [Claim(**{**c, "verdict": Verdict(c["verdict"])}) for c in found["claims"]]
            return cls(**{**found, "claims": claims, "seconds": float(found["seconds"])})
        except FileNotFoundError:
            return None
        except (ValueError, KeyError, TypeError):
            again = f"fhtd reproduce {folder.name}"
            raise ValueError(f"{path} is damaged; {again} writes it again") from None


@dataclass(frozen=True)
class Outcome:
    """What one reproduction gave."""

    experiment: Experiment
    claims: list[Claim]
    folder: Path
    #: Seconds that passed this time; 0 where everything was kept.
    seconds: float
    #: Seconds that the blocks took, added up, whenever they were computed.
    block_seconds: float
    computed: int
    blocks: int


@dataclass(frozen=True)
class Progress:
    """How far the blocks of an experiment are."""

    done: int
    running: int
    failed: int
    total: int


def reproduce(
    experiment: Experiment,
    config: Any,
    *,
    out: Path,
    seed: int = 0,
    workers: int = 1,
    force: bool = False,
    address: str | None = None,
    advance: Callable[[Progress], None] = lambda progress: None,
    warn: Callable[[str], None] = lambda line: None,
) -> Outcome:
    """Run the blocks that the store lacks and write the results to `out`/<name>.

    With an `address`, on that Ray cluster. `advance` is told of every change.
    """
    store = Store(out / "raw", warn)
    names = experiment.blocks(config)
    keys = {name: Key.of(experiment, config, seed, name) for name in names}
    results: dict[str, Arrays] = {}
    took: dict[str, float] = {}
    for name in names:
        kept = None if force else store.read(keys[name])
        if kept is not None:
            results[name], took[name] = kept
    missing = [name for name in names if name not in results]
    tally = Tally()

    def changed() -> None:
        advance(Progress(len(results), tally.running, tally.failed, len(names)))

    changed()
    begun = time.perf_counter()
    tasks = [
        Task(experiment.name, config, seed, name, store.scratch(keys[name])) for name in missing
    ]
    alone = experiment.needs_quiet
    workers = 1 if alone else min(workers, max(len(tasks), 1))
    if address is None:
        check_memory(workers, experiment.megabytes)
    finished = execute(
        tasks, workers, address=None if alone else address, tally=tally, changed=changed
    )
    # Closed at once on an error, so that no worker outlives it.
    with closing(finished):
        for task, arrays, seconds in finished:
            store.write(keys[task.block], arrays, seconds)
            results[task.block], took[task.block] = arrays, seconds
            changed()
    elapsed = time.perf_counter() - begun if missing else 0.0
    # In the order of the blocks, whatever order they came in.
    data = experiment.combine(config, {name: results[name] for name in names})
    claims = experiment.claims(config, data)
    folder = out / experiment.name
    spent = sum(took.values())
    outcome = Outcome(experiment, claims, folder, elapsed, spent, len(missing), len(names))
    _write(outcome, config, seed, data)
    return outcome


def _write(outcome: Outcome, config: Any, seed: int, data: Arrays) -> None:
    """Picture as PNG and SVG, tables as CSV, claims and settings as JSON."""
    experiment, folder = outcome.experiment, outcome.folder
    figure = experiment.plot(config, data)
    write_atomically(folder / f"{experiment.name}.png", style.render(figure, "png"))
    write_atomically(folder / f"{experiment.name}.svg", style.render(figure, "svg"))
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
    summary = Summary(
        experiment=experiment.name,
        title=experiment.title,
        source=experiment.source,
        shows=experiment.shows,
        revision=experiment.revision,
        seed=seed,
        settings=experiment.settings(config),
        claims=outcome.claims,
        seconds=round(outcome.block_seconds, 2),
        versions=versions(),
        command=command(),
    )
    write_atomically(folder / _SUMMARY, (json.dumps(asdict(summary), indent=2) + "\n").encode())


def to_csv(table: Any) -> bytes:
    """Columns by name as comma-separated values; floats round-trip."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(table)
    columns = [list(getattr(column, "tolist", lambda c=column: c)()) for column in table.values()]
    writer.writerows(zip(*columns, strict=True))
    return text.getvalue().encode()
