"""The one way to run many blocks: in this process, or spread over spawned local processes."""

import json
import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Generator, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fhtd.experiments.experiment import Arrays
from fhtd.files import write_atomically


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


def compute(task: Task) -> tuple[Arrays, float]:
    """The block's arrays, and the seconds they took."""
    from fhtd.experiments import find

    begun = time.perf_counter()
    experiment = find(task.experiment)
    more = (LocalScratch(task.scratch),) if experiment.resumable else ()
    arrays = experiment.run(task.config, task.seed, task.block, *more)
    return arrays, time.perf_counter() - begun


def execute(
    tasks: Sequence[Task], workers: int
) -> Generator[tuple[Task, Arrays, float], None, None]:
    """Results as they come. With one worker, in this process and in order."""
    if workers == 1 or len(tasks) <= 1:
        for task in tasks:
            yield task, *compute(task)
        return
    context = multiprocessing.get_context("spawn")
    pool = ProcessPoolExecutor(min(workers, len(tasks)), context, initializer=_prepare_worker)
    try:
        waiting = list(reversed(tasks))
        running: dict[Future[tuple[Arrays, float]], Task] = {}
        while waiting or running:
            # No more in flight than workers and a spare each: results are kept as they arrive.
            while waiting and len(running) < 2 * workers:
                task = waiting.pop()
                with _interrupts_held():
                    running[pool.submit(compute, task)] = task
            done, _ = wait(running, return_when=FIRST_COMPLETED)
            for future in done:
                yield running.pop(future), *future.result()
    except BrokenProcessPool:
        raise WorkerDiedError(
            "a worker process died (out of memory?); finished blocks are kept, run again to go on"
        ) from None
    finally:
        # Running blocks are dropped: waiting for them would make an interrupt slow.
        for process in list((pool._processes or {}).values()):
            process.terminate()
        pool.shutdown(wait=True, cancel_futures=True)


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
