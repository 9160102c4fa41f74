"""Blocks on a Ray cluster: the driver alone has the store, nodes share no disk with it.

A block's checkpoints go to a keeper in the cluster's memory, from where a node that takes over the
block of a lost one goes on, and from where the driver copies them into its store, so that a later
call goes on too.
"""

import hashlib
import importlib
import socket
import tempfile
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import fhtd
from fhtd.files import write_atomically
from fhtd.reproduction.executors import LocalScratch, Outcome, Tally, Task, compute_with

#: Names and contents of a checkpoint's files.
Files = dict[str, bytes]

#: Seconds between looks at the keeper while blocks are running.
_LOOK_EVERY = 2.0
#: How often a block is taken up again after its node or process was lost.
_RETRIES = 20


class Keeper:
    """The newest checkpoint of every block under way; an actor of the cluster."""

    def __init__(self) -> None:
        self._newest: dict[str, Files] = {}
        self._fresh: set[str] = set()

    def put(self, block: str, files: Files) -> None:
        """Replace a block's checkpoint."""
        self._newest[block] = files
        self._fresh.add(block)

    def get(self, block: str) -> Files:
        """Empty where there is none."""
        return self._newest.get(block, {})

    def drop(self, block: str) -> None:
        """It is finished."""
        self._newest.pop(block, None)
        self._fresh.discard(block)

    def take(self) -> dict[str, Files]:
        """What came since the last call."""
        found = {block: self._newest[block] for block in self._fresh}
        self._fresh.clear()
        return found


@dataclass(frozen=True)
class RemoteScratch(LocalScratch):
    """A folder of the node's own, sent to the keeper at every checkpoint."""

    send: Callable[[Files], None]

    def saved(self) -> None:
        """Wait until the keeper has it."""
        self.send(_read(self.folder))


def _read(folder: Path) -> Files:
    if not folder.is_dir():
        return {}
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir()) if path.is_file()}


def _write(folder: Path, files: Files) -> None:
    for name, content in files.items():
        write_atomically(folder / name, content)


def source_digest() -> str:
    """Of the installed package: equal where the same numbers can be expected."""
    root = Path(fhtd.__file__).parent
    content = b"".join(path.read_bytes() for path in sorted(root.rglob("*.py")))
    return hashlib.sha256(content).hexdigest()


def _compute_on_node(task: Task, begun: Files, keeper: Any, digest: str) -> tuple[Any, float]:
    """A block on whatever node it is sent to."""
    ray = _ray()
    if source_digest() != digest:
        node = ray.util.get_node_ip_address()
        raise ValueError(
            f"node {node} has another fhtd than the driver (version {fhtd.__version__} there): "
            "install the same on all nodes"
        )

    def send(files: Files) -> None:
        ray.get(keeper.put.remote(task.block, files))

    with tempfile.TemporaryDirectory(prefix="fhtd-") as name:
        folder = Path(name)
        _write(folder, ray.get(keeper.get.remote(task.block)) or begun)
        return compute_with(task, RemoteScratch(folder, send))


def execute_on_ray(
    tasks: Sequence[Task], address: str, tally: Tally, changed: Callable[[], None]
) -> Generator[tuple[Task, Outcome], None, None]:
    """Results as they come; lost nodes' blocks are taken up by others."""
    from fhtd.experiments import find

    ray = _ray()
    _connect(ray, address)
    try:
        # Beside the driver, where it is safe from the nodes that come and go.
        here = ray.util.scheduling_strategies.NodeAffinitySchedulingStrategy(
            ray.get_runtime_context().get_node_id(), soft=False
        )
        keeper = (
            ray.remote(Keeper)
            .options(num_cpus=0, scheduling_strategy=here, max_restarts=-1, max_task_retries=-1)
            .remote()
        )
        megabytes = find(tasks[0].experiment).megabytes
        remote = ray.remote(_compute_on_node).options(
            num_cpus=1, memory=megabytes * 2**20, max_retries=_RETRIES
        )
        digest = source_digest()
        waiting = list(reversed(tasks))
        running: dict[Any, Task] = {}
        while waiting or running:
            # Twice what the cluster can hold, so that no node waits for the driver.
            cores = max(1, int(ray.cluster_resources().get("CPU", 1)))
            while waiting and len(running) < 2 * cores:
                task = waiting.pop()
                running[remote.remote(task, _read(task.scratch), keeper, digest)] = task
            tally.running = min(len(running), cores)
            changed()
            done, _ = ray.wait(list(running), num_returns=1, timeout=_LOOK_EVERY)
            fresh = ray.get(keeper.take.remote())
            # A process of a lost node may live on for a while, and send what nobody needs.
            for task in running.values():
                _write(task.scratch, fresh.get(task.block, {}))
            for reference in done:
                task = running.pop(reference)
                keeper.drop.remote(task.block)
                yield task, _outcome(ray, reference)
    finally:
        # Blocks under way end with the driver's connection; their checkpoints are in the store.
        ray.shutdown()


def _ray() -> Any:
    try:
        ray = importlib.import_module("ray")
        importlib.import_module("ray.util.scheduling_strategies")
    except ImportError:
        raise ValueError("ray is not installed: pip install 'fhtd[ray]'") from None
    return ray


def _connect(ray: Any, address: str) -> None:
    try:
        if address != "auto":
            # Ray itself would try for many minutes.
            host, _, port = address.removeprefix("ray://").rpartition(":")
            socket.create_connection((host, int(port)), timeout=10).close()
        ray.init(address=address, log_to_driver=False, logging_level="ERROR")
    except (OSError, ValueError, RuntimeError) as error:
        why = (str(error).splitlines() or [type(error).__name__])[0]
        raise ConnectionError(
            f"no Ray cluster at {address!r} ({why}); give host:port, or auto for the one here"
        ) from None


def _outcome(ray: Any, reference: Any) -> Outcome:
    """The block's result, or the error as it was raised on its node."""
    try:
        found: Outcome = ray.get(reference)
    except ray.exceptions.RayTaskError as error:
        cause = error.cause
        found = cause if isinstance(cause, Exception) else error
    except ray.exceptions.RayError as error:
        found = ChildProcessError(str(error).splitlines()[0])
    return found
