"""The one way to run many blocks: in this process, over spawned local ones, or on a cluster."""

import json
import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from itertools import chain, islice
from pathlib import Path
from typing import Any

from fhtd.checks import free_memory
from fhtd.files import write_atomically
from fhtd.reproduction.arms import Arrays, Block
from fhtd.reproduction.experiment import Experiment, Scratch


@dataclass(frozen=True)
class Task:
    """One block to compute; other processes get its function by module and name.

    >>> from fhtd.experiments import find
    >>> from fhtd.reproduction.executors import Task, compute
    >>> weightings = find("weightings")
    >>> config = weightings.smoke()
    >>> task = Task(weightings.run, config, seed=0, block=weightings.blocks(config)[0])
    >>> arrays, seconds = compute(task)
    """

    #: (config, seed, block) -> arrays.
    run: Callable[..., Arrays]
    #: Settings of the experiment.
    config: Any
    #: Seed of all runs.
    seed: int
    #: The block.
    block: Block
    #: Where a resumable block keeps its checkpoint; None for others.
    scratch: Path | None = None

    @classmethod
    def of(
        cls, experiment: Experiment, config: Any, seed: int, block: Block, scratch: Path
    ) -> "Task":
        """A block of an experiment."""
        kept = scratch if experiment.resumable else None
        return cls(experiment.run, config, seed, block, kept)


@dataclass(frozen=True)
class LocalScratch:
    """A folder of the store's, beside where the finished block will be."""

    folder: Path

    def write_json(self, name: str, content: Any) -> None:
        """Whole or not at all."""
        write_atomically(self.folder / name, json.dumps(content).encode())

    def read_json(self, name: str) -> Any:
        """None where there is none, or none that can be read."""
        try:
            return json.loads((self.folder / name).read_bytes())
        except (OSError, ValueError):
            return None

    def saved(self) -> None:
        """It is where it should be."""


class WorkerDiedError(ChildProcessError):
    """A worker process ended without a result."""


@dataclass
class Tally:
    """How many blocks are being computed, how many could not be, and whom to tell."""

    running: int = 0
    failed: int = 0
    changed: Callable[[], None] = field(default=lambda: None)
    warn: Callable[[str], None] = field(default=lambda line: None)

    def run(self, running: int) -> None:
        """So many are being computed now."""
        self.running = running
        self.changed()


def compute(task: Task) -> tuple[Arrays, float]:
    """The block's arrays, and the seconds they took."""
    return compute_with(task, None if task.scratch is None else LocalScratch(task.scratch))


def compute_with(task: Task, scratch: Scratch | None) -> tuple[Arrays, float]:
    """The same, with the checkpoint elsewhere."""
    begun = time.perf_counter()
    more = () if scratch is None else (scratch,)
    arrays = task.run(task.config, task.seed, task.block, *more)
    return arrays, time.perf_counter() - begun


def execute(
    tasks: Iterable[Task],
    workers: int,
    *,
    address: str | None = None,
    megabytes: int = 0,
    ahead: bool = True,
    tally: Tally | None = None,
) -> Generator[tuple[Task, Arrays, float], None, None]:
    """Results as they come. With one worker, in this process and in order.

    Tasks are taken one by one as there is room for them: for each worker one to compute and,
    with `ahead`, a spare one. With an `address`, they go to that Ray cluster instead. A block that
    raises does not stop the others, unless the first few all do; its error is raised when the
    others are done.

    Args:
        tasks: What to compute.
        workers: Processes to spread them over.
        address: Of a Ray cluster to send them to instead.
        megabytes: Memory that one of them takes.
        ahead: Whether each worker has a spare one waiting.
        tally: Is told of every change.

    Returns:
        An iterator over the task, its arrays and the seconds that they took.

    Raises:
        WorkerDiedError: A process ended without a result; what is finished is kept.

    >>> from fhtd.experiments import find
    >>> from fhtd.reproduction.executors import Task, execute
    >>> weightings = find("weightings")
    >>> config = weightings.smoke()
    >>> tasks = [Task(weightings.run, config, 0, block) for block in weightings.blocks(config)[:2]]
    >>> len([arrays for task, arrays, seconds in execute(tasks, workers=1)])
    2
    """
    tally = tally or Tally()
    waiting = iter(tasks)
    if (first := next(waiting, None)) is None:
        return
    waiting = chain([first], waiting)
    if address is not None:
        from fhtd.reproduction.cluster import execute_on_ray

        results: Any = execute_on_ray(waiting, address, megabytes, ahead, tally)
    elif workers == 1:
        results = _execute_here(waiting, tally)
    else:
        results = _execute_in_processes(waiting, workers, ahead, tally)
    errors: list[Exception] = []
    succeeded = 0
    with closing(results):
        for task, outcome in results:
            if isinstance(outcome, Exception):
                errors.append(outcome)
                tally.failed += 1
                tally.changed()
                if not succeeded and len(errors) >= _HOPELESS:
                    break
            else:
                succeeded += 1
                yield task, *outcome
    if errors:
        raise errors[0]


#: So many failures before any success: the others would only take time to fail.
_HOPELESS = 3
#: A result, or why there is none.
Outcome = tuple[Arrays, float] | Exception


def _execute_here(
    tasks: Iterator[Task], tally: Tally
) -> Generator[tuple[Task, Outcome], None, None]:
    for task in tasks:
        tally.run(1)
        try:
            outcome: Outcome = compute(task)
        except Exception as error:
            outcome = error
        tally.running = 0
        yield task, outcome


def _execute_in_processes(
    tasks: Iterator[Task], workers: int, ahead: bool, tally: Tally
) -> Generator[tuple[Task, Outcome], None, None]:
    context = multiprocessing.get_context("spawn")
    pool = ProcessPoolExecutor(workers, context, initializer=_prepare_worker)
    try:
        running: dict[Future[tuple[Arrays, float]], Task] = {}
        while True:
            # No more in flight than that: results are kept as they arrive.
            for task in islice(tasks, (1 + ahead) * workers - len(running)):
                with _interrupts_held(), _one_thread_each():
                    running[pool.submit(compute, task)] = task
            if not running:
                return
            tally.run(min(len(running), workers))
            done, _ = wait(running, return_when=FIRST_COMPLETED)
            for future in done:
                error = future.exception()
                if isinstance(error, BrokenProcessPool):
                    raise error
                task = running.pop(future)
                yield task, error if isinstance(error, Exception) else future.result()
    except BrokenProcessPool:
        raise WorkerDiedError(
            "a worker process died (out of memory?); finished blocks are kept, run again to go on"
        ) from None
    finally:
        # Running blocks are dropped: waiting for them would make an interrupt slow.
        for process in list((pool._processes or {}).values()):
            process.terminate()
        pool.shutdown(wait=True, cancel_futures=True)


def check_memory(workers: int, megabytes: int) -> None:
    """Refuse more workers than there is memory for."""
    free = free_memory()
    if free is not None and workers * megabytes * 2**20 > free:
        fit = max(1, int(free / (megabytes * 2**20)))
        raise ValueError(
            f"workers must be at most {fit} here, got {workers}: each takes about {megabytes} MB, "
            f"and {free / 2**20:.0f} MB are free"
        )


@contextmanager
def _one_thread_each() -> Iterator[None]:
    """Processes born within use one thread of the libraries that would take all."""
    names = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
    absent = [name for name in names if name not in os.environ]
    os.environ |= dict.fromkeys(absent, "1")
    try:
        yield
    finally:
        for name in absent:
            del os.environ[name]


@contextmanager
def _interrupts_held() -> Iterator[None]:
    """Hold Ctrl-C back while a worker is born: it inherits that and leaves Ctrl-C to us."""
    if not hasattr(signal, "pthread_sigmask"):  # Windows
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _prepare_worker() -> None:
    """Leave interrupts to the parent, and end with it however it ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_follow_parent, daemon=True).start()


def _follow_parent() -> None:
    """A parent that was killed cannot tell its workers to stop."""
    parent = multiprocessing.parent_process()
    assert parent is not None
    parent.join()
    os._exit(1)
