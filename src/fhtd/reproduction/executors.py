"""The one way to run many blocks: in this process, over spawned local ones, or on a cluster."""

import json
import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fhtd.checks import free_memory
from fhtd.files import write_atomically
from fhtd.reproduction.experiment import Arrays, Scratch


@dataclass(frozen=True)
class Task:
    """One block of one experiment."""

    experiment: str
    config: Any
    seed: int
    block: str
    #: Where a resumable block keeps its checkpoint.
    scratch: Path


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
    """How many blocks are being computed, and how many could not be."""

    running: int = 0
    failed: int = 0


def compute(task: Task) -> tuple[Arrays, float]:
    """The block's arrays, and the seconds they took."""
    return compute_with(task, LocalScratch(task.scratch))


def compute_with(task: Task, scratch: Scratch) -> tuple[Arrays, float]:
    """The same, with the checkpoint elsewhere."""
    from fhtd.experiments import find

    begun = time.perf_counter()
    experiment = find(task.experiment)
    more = (scratch,) if experiment.resumable else ()
    arrays = experiment.run(task.config, task.seed, task.block, *more)
    return arrays, time.perf_counter() - begun


def execute(
    tasks: Sequence[Task],
    workers: int,
    *,
    address: str | None = None,
    tally: Tally | None = None,
    changed: Callable[[], None] = lambda: None,
) -> Generator[tuple[Task, Arrays, float], None, None]:
    """Results as they come. With one worker, in this process and in order.

    With an `address`, on that Ray cluster instead. A block that raises does not stop the others,
    unless the first few all do; its error is raised when the others are done.
    """
    tally = tally or Tally()
    if address is not None and tasks:
        from fhtd.reproduction.cluster import execute_on_ray

        results: Any = execute_on_ray(tasks, address, tally, changed)
    elif workers == 1 or len(tasks) <= 1:
        results = _execute_here(tasks, tally, changed)
    else:
        results = _execute_in_processes(tasks, workers, tally, changed)
    errors: list[Exception] = []
    succeeded = 0
    with closing(results):
        for task, outcome in results:
            if isinstance(outcome, Exception):
                errors.append(outcome)
                tally.failed += 1
                changed()
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
    tasks: Sequence[Task], tally: Tally, changed: Callable[[], None]
) -> Generator[tuple[Task, Outcome], None, None]:
    for task in tasks:
        tally.running = 1
        changed()
        try:
            outcome: Outcome = compute(task)
        except Exception as error:
            outcome = error
        tally.running = 0
        yield task, outcome


def _execute_in_processes(
    tasks: Sequence[Task], workers: int, tally: Tally, changed: Callable[[], None]
) -> Generator[tuple[Task, Outcome], None, None]:
    context = multiprocessing.get_context("spawn")
    pool = ProcessPoolExecutor(min(workers, len(tasks)), context, initializer=_prepare_worker)
    try:
        waiting = list(reversed(tasks))
        running: dict[Future[tuple[Arrays, float]], Task] = {}
        while waiting or running:
            # No more in flight than workers and a spare each: results are kept as they arrive.
            while waiting and len(running) < 2 * workers:
                task = waiting.pop()
                with _interrupts_held(), _one_thread_each():
                    running[pool.submit(compute, task)] = task
            tally.running = min(len(running), workers)
            changed()
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
