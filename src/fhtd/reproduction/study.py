"""Several seeds of one training run: a folder for each, on the executor of the experiments."""

import csv
import multiprocessing
import os
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from fhtd import checks
from fhtd.reproduction.arms import Arrays, Block
from fhtd.reproduction.executors import Tally, Task, execute
from fhtd.statistics import Interval

#: Episodes at the end of a run whose mean return is its score.
LAST = 100
_MOST_RUNS = 10_000


@dataclass(frozen=True)
class Study:
    """What is trained: a request as of one run, and the folder of all."""

    request: Any
    folder: Path
    runs: int

    def __post_init__(self) -> None:
        checks.integer("runs", self.runs, 1, _MOST_RUNS)

    @property
    def seeds(self) -> range:
        """Those of its runs: each ends as a single run with that seed would."""
        return range(self.request.seed, self.request.seed + self.runs)

    def folder_of(self, seed: int) -> Path:
        """That of one run."""
        return self.folder / f"seed-{seed}"

    def request_of(self, seed: int) -> Any:
        """That of one run."""
        return replace(self.request, seed=seed)


def train(study: Study, workers: int, tally: Tally | None = None) -> Iterator[int]:
    """Train what is missing; the seeds as they are finished."""
    tasks = (Task(run_seed, study, seed, Block(f"seed-{seed}")) for seed in study.seeds)
    for task, *_ in execute(tasks, checks.integer("workers", workers, 1), ahead=False, tally=tally):
        yield task.seed


def run_seed(study: Study, seed: int, block: Block) -> Arrays:
    """One run to its end, from its last checkpoint where there is one."""
    from fhtd.deep import run as runs
    from fhtd.deep import use_one_thread

    use_one_thread()
    folder, request = study.folder_of(seed), study.request_of(seed)
    if (folder / runs.FINISHED).exists():
        return {}
    typed = runs.typed_names(request)
    if (folder / "run.json").exists():
        run = runs.resume(folder, **typed)
    else:
        run = runs.start(request, folder)
    stop = runs.Stop()
    is_worker = multiprocessing.parent_process() is not None
    try:
        # A pool that ends tells its workers twice: the checkpoint must be whole.
        with runs.signals_kept(stop, patient=is_worker):
            run.train(stop=stop)
    except runs.Interrupted:
        if not is_worker:
            raise
        # A worker that is told to end: its checkpoint is written, and nobody waits for more.
        os._exit(0)
    return {}


def scores(study: Study) -> dict[int, float]:
    """Mean return of the last episodes of each finished run that has some."""
    found = {}
    for seed in study.seeds:
        path = study.folder_of(seed) / "episodes.csv"
        if path.exists():
            with open(path, newline="") as file:
                returns = [float(row["return"]) for row in csv.DictReader(file)]
            if returns:
                found[seed] = float(np.mean(returns[-LAST:]))
    return found


def mean_score(study: Study) -> Interval | None:
    """Over runs, with its interval; None where no episode ended."""
    found = list(scores(study).values())
    return Interval.of(found) if found else None
