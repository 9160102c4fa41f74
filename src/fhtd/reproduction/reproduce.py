"""Compute what is missing of an experiment, then write its picture, tables and claims."""

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import fhtd
from fhtd import provenance
from fhtd.files import sweep
from fhtd.reproduction.arms import Arrays, Block
from fhtd.reproduction.claims import Claim
from fhtd.reproduction.executors import Tally, Task, check_memory, execute
from fhtd.reproduction.experiment import Experiment
from fhtd.reproduction.store import Kept, Key, Store
from fhtd.reproduction.summary import folder_of, write_results

#: Seconds between looks at blocks that another process computes.
_LOOK_EVERY = 0.5


@dataclass(frozen=True)
class Outcome:
    """What one reproduction gave.

    >>> from pathlib import Path
    >>> from fhtd.experiments import find
    >>> from fhtd.reproduction.reproduce import reproduce
    >>> weightings = find("weightings")
    >>> outcome = reproduce(weightings, weightings.smoke(), out=Path("results"))
    >>> outcome.computed == outcome.blocks, len(outcome.claims)
    (True, 7)
    """

    #: What was reproduced.
    experiment: Experiment
    #: What it says, with verdicts.
    claims: list[Claim]
    #: Where picture, tables and summary are.
    folder: Path
    #: Seconds that passed this time; 0 where everything was kept.
    seconds: float
    #: Seconds that the blocks took, added up, whenever they were computed.
    block_seconds: float
    #: How many blocks were computed this time.
    computed: int
    #: How many there are.
    blocks: int


@dataclass(frozen=True)
class Progress:
    """How far the blocks of an experiment are.

    >>> from fhtd.reproduction.reproduce import Progress
    >>> Progress(done=3, running=2, failed=0, total=20).elsewhere
    0
    """

    #: How many are kept.
    done: int
    #: How many are being computed here.
    running: int
    #: How many raised an error.
    failed: int
    #: How many there are.
    total: int
    #: How many another process is computing.
    elsewhere: int = 0


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
    """Run the blocks that the store lacks and write the results to a folder of `out`.

    Several processes may do so at once: each takes blocks that no other is computing.

    Args:
        experiment: What to reproduce.
        config: Its settings.
        out: Folder of results; blocks are kept in `raw`.
        seed: Seed of all runs.
        workers: Processes to spread the blocks over.
        force: Whether to compute blocks that are there already.
        address: Of a Ray cluster to send the blocks to instead.
        advance: Is told of every change.
        warn: Is told, in one line, of what is worth knowing and no error.

    Returns:
        The claims, where the results are, and what it took.

    >>> from pathlib import Path
    >>> from fhtd.experiments import find
    >>> from fhtd.reproduction.reproduce import reproduce
    >>> weightings = find("weightings")
    >>> for _ in range(2):
    ...     outcome = reproduce(weightings, weightings.smoke(), out=Path("results"))
    >>> outcome.computed, outcome.folder.name[:11]  # the second call found all blocks in the store
    (0, 'weightings@')
    """
    folder = folder_of(out, experiment, config)
    store = Store(out / "raw", warn)
    store.sweep(experiment.work or experiment.name)
    sweep(folder)
    work = _Work(experiment, config, seed, store, force)
    tally = Tally(warn=warn)

    def changed() -> None:
        advance(
            Progress(len(work.results), tally.running, tally.failed, len(work.keys), work.elsewhere)
        )

    tally.changed = changed
    changed()
    begun, missing = time.perf_counter(), len(work.missing)
    alone = experiment.needs_quiet
    workers = 1 if alone else min(workers, max(missing, 1))
    if missing:
        experiment.check(config)
    if address is None and missing:
        check_memory(workers, experiment.megabytes)
    with closing(work):
        while work.missing:
            before = len(work.missing)
            finished = execute(
                work.claimed(),
                workers,
                address=None if alone else address,
                megabytes=experiment.megabytes,
                ahead=not experiment.resumable,
                tally=tally,
            )
            # Closed at once on an error, so that no worker outlives it.
            with closing(finished):
                for task, arrays, seconds in finished:
                    work.keep(task.block, arrays, seconds)
                    changed()
            if len(work.missing) == before:
                changed()
                time.sleep(_LOOK_EVERY)
    elapsed = time.perf_counter() - begun if missing else 0.0
    # In the order of the blocks, whatever order they came in.
    data = experiment.combine(config, {block: work.results[block].arrays for block in work.keys})
    claims = experiment.claims(config, data)
    spent = sum(kept.seconds for kept in work.results.values())
    # Blocks say what computed them; claims are read off them by this version.
    shaping = [{"fhtd": fhtd.__version__}, *(kept.versions for kept in work.results.values())]
    versions = provenance.joined(shaping)
    write_results(folder, experiment, config, seed, data, claims, spent, versions)
    return Outcome(experiment, claims, folder, elapsed, spent, work.computed, len(work.keys))


class _Work:
    """The blocks of a reproduction: those that are there, and those that are missing."""

    def __init__(
        self, experiment: Experiment, config: Any, seed: int, store: Store, force: bool
    ) -> None:
        self._of = (experiment, config, seed)
        self._store, self._force = store, force
        self.keys = {
            block: Key.of(experiment, config, seed, block) for block in experiment.blocks(config)
        }
        self.results: dict[Block, Kept] = {}
        self.missing = [block for block in self.keys if force or not self._read(block)]
        self.computed = self.elsewhere = 0
        self._claims: dict[Block, ExitStack] = {}

    def _read(self, block: Block) -> bool:
        found = self._store.read(self.keys[block])
        if found is None:
            return False
        self.results[block] = found
        return True

    def claimed(self) -> Iterator[Task]:
        """Missing blocks, each held until it is kept, but for those that others hold.

        What others have finished in the meantime is read.
        """
        self.elsewhere = 0
        for block in list(self.missing):
            claim = ExitStack()
            if not claim.enter_context(self._store.claim(self.keys[block])):
                self.elsewhere += 1
            elif not self._force and self._store.has(self.keys[block]) and self._read(block):
                self.missing.remove(block)
                claim.close()
            else:
                self._claims[block] = claim
                yield Task.of(*self._of, block, self._store.scratch(self.keys[block]))

    def keep(self, block: Block, arrays: Arrays, seconds: float) -> None:
        """A block that was computed here."""
        self.results[block] = self._store.write(self.keys[block], arrays, seconds)
        self._claims.pop(block).close()
        self.missing.remove(block)
        self.computed += 1

    def close(self) -> None:
        """Leave what is not finished to others."""
        while self._claims:
            self._claims.popitem()[1].close()
