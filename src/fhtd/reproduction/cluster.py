"""Blocks on a Ray cluster: the driver alone has the store, nodes share no disk with it.

A block's checkpoints go to a keeper in the cluster's memory, from where a node that takes over the
block of a lost one goes on, and from where the driver copies them into its store, so that a later
call goes on too.
"""

import atexit
import hashlib
import importlib
import os
import socket
import sys
import tempfile
import threading
import time
from collections.abc import Generator, Iterator
from contextlib import closing, contextmanager
from itertools import chain, islice
from pathlib import Path
from typing import Any

import fhtd
from fhtd.reproduction.executors import Outcome, Tally, Task, compute_with
from fhtd.reproduction.keeper import Files, Keeper, RemoteScratch, read_files, write_files

#: Seconds between looks at the keeper while blocks are running.
_LOOK_EVERY = 2.0
#: Seconds that the keeper has to answer.
_PATIENCE = 30.0
#: How often a block is taken up again after its node or process was lost.
_RETRIES = 20


def source_digest() -> str:
    """Of the installed package: equal where the same numbers can be expected."""
    root = Path(fhtd.__file__).parent
    content = b"".join(path.read_bytes() for path in sorted(root.rglob("*.py")))
    return hashlib.sha256(content).hexdigest()


class StaleNodeError(Exception):
    """A node has another version of this package than the driver."""

    def __init__(self, node: str, address: str, version: str) -> None:
        super().__init__(node, address, version)
        self.node = node
        self.address = address
        self.version = version


class ClusterLostError(ConnectionError):
    """The head of the cluster does not answer any more."""

    exit_code = 1


def _compute_on_node(task: Task, begun: Files, keeper: Any, digest: str) -> tuple[Any, float]:
    """A block on whatever node it is sent to."""
    ray = _ray()
    if source_digest() != digest:
        node = ray.get_runtime_context().get_node_id()
        raise StaleNodeError(node, ray.util.get_node_ip_address(), fhtd.__version__)
    if task.scratch is None:
        return compute_with(task, None)
    name = str(task.block)

    def send(files: Files) -> None:
        ray.get(keeper.put.remote(name, files))

    with tempfile.TemporaryDirectory(prefix="fhtd-") as place:
        folder = Path(place)
        write_files(folder, ray.get(keeper.get.remote(name)) or begun)
        return compute_with(task, RemoteScratch(folder, send))


def execute_on_ray(
    tasks: Iterator[Task], address: str, megabytes: int, ahead: bool, tally: Tally
) -> Generator[tuple[Task, Outcome], None, None]:
    """Results as they come; lost nodes' blocks are taken up by others."""
    ray = _ray()
    first = next(tasks)
    _connect(ray, address, first)
    try:
        with closing(_Cluster(ray, megabytes, tally)) as cluster:
            yield from cluster.execute(chain([first], tasks), ahead)
    except ClusterLostError:
        # There is nobody to say goodbye to, which Ray would try for a minute.
        atexit.unregister(ray.shutdown)
        raise
    except BaseException:
        # Blocks under way end with the driver's connection; their checkpoints are in the store.
        ray.shutdown()
        raise
    ray.shutdown()


class _Cluster:
    """The driver's side of a connection."""

    def __init__(self, ray: Any, megabytes: int, tally: Tally) -> None:
        self._ray, self._tally = ray, tally
        self._head = ray.get_runtime_context().gcs_address
        self._lost = (
            f"the head of the cluster at {self._head} does not answer any more; what is finished "
            "is kept, run again to go on"
        )
        self._done = threading.Event()
        threading.Thread(target=self._watch, daemon=True).start()
        self._needs = {"num_cpus": 1, "memory": megabytes * 2**20, "max_retries": _RETRIES}
        self._digest = source_digest()
        self._remote = ray.remote(_compute_on_node)
        #: Nodes that are not sent anything more.
        self._stale: set[str] = set()
        # Beside the driver, where it is safe from the nodes that come and go.
        here = ray.util.scheduling_strategies.NodeAffinitySchedulingStrategy(
            ray.get_runtime_context().get_node_id(), soft=False
        )
        self._keeper = (
            ray.remote(Keeper)
            .options(num_cpus=0, scheduling_strategy=here, max_restarts=-1, max_task_retries=-1)
            .remote()
        )

    def execute(
        self, tasks: Iterator[Task], ahead: bool
    ) -> Generator[tuple[Task, Outcome], None, None]:
        """Keep the cluster busy until all is done."""
        ray, tally = self._ray, self._tally
        running: dict[Any, Task] = {}
        while True:
            self._check_head()
            cores = max(1, int(ray.cluster_resources().get("CPU", 1)))
            # With spare ones, so that no node waits for the driver.
            for task in islice(tasks, max(0, (1 + ahead) * cores - len(running))):
                running[self._send(task)] = task
            if not running:
                return
            tally.run(min(len(running), cores))
            done, _ = ray.wait(list(running), num_returns=1, timeout=_LOOK_EVERY)
            self._check_head()
            self._bring_home(list(running.values()))
            for reference in done:
                task = running.pop(reference)
                outcome = _outcome(ray, reference)
                if isinstance(outcome, ChildProcessError):
                    # The first sign, perhaps, that the head is dying.
                    time.sleep(_LOOK_EVERY)
                    self._check_head()
                if isinstance(outcome, StaleNodeError):
                    self._avoid(outcome)
                    running[self._send(task)] = task
                    continue
                self._keeper.drop.remote(str(task.block))
                yield task, outcome

    def _send(self, task: Task) -> Any:
        """Have a block computed by a node that is not stale."""
        options = dict(self._needs)
        if self._stale:
            strategies = self._ray.util.scheduling_strategies
            options["scheduling_strategy"] = strategies.NodeLabelSchedulingStrategy(
                hard={"ray.io/node-id": strategies.NotIn(*sorted(self._stale))}
            )
        begun = {} if task.scratch is None else read_files(task.scratch)
        return self._remote.options(**options).remote(task, begun, self._keeper, self._digest)

    def _avoid(self, stale: StaleNodeError) -> None:
        if stale.node in self._stale:
            return
        self._stale.add(stale.node)
        about = f"node {stale.address} has another fhtd than the driver ({stale.version} there)"
        able = {
            node["NodeID"]
            for node in self._ray.nodes()
            if node["Alive"] and node["Resources"].get("CPU", 0) >= 1
        }
        if able <= self._stale:
            raise ValueError(f"{about}, and so have all others: install the same on all nodes")
        self._tally.warn(f"{about}: its blocks go elsewhere")

    def _bring_home(self, tasks: list[Task]) -> None:
        """Copy fresh checkpoints into the store."""
        try:
            fresh = self._ray.get(self._keeper.take.remote(), timeout=_PATIENCE)
        except self._ray.exceptions.GetTimeoutError:
            self._check_head()
            return
        # A process of a lost node may live on for a while, and send what nobody needs.
        for task in tasks:
            if task.scratch is not None:
                write_files(task.scratch, fresh.get(str(task.block), {}))

    def _check_head(self) -> None:
        if not self._answers():
            self._done.set()
            raise ClusterLostError(self._lost)

    def _answers(self) -> bool:
        host, _, port = self._head.rpartition(":")
        try:
            socket.create_connection((host, int(port)), timeout=10).close()
        except OSError:
            return False
        return True

    def _watch(self) -> None:
        """A call that waits for a dead head cannot be interrupted.

        Ray itself would end this process after a minute, with many lines.
        """
        silent = 0
        while not self._done.wait(_LOOK_EVERY):
            silent = 0 if self._answers() else silent + 1
            if silent == 3:
                self._tally.warn(self._lost)
                os._exit(ClusterLostError.exit_code)

    def close(self) -> None:
        """The head may die now."""
        self._done.set()


def _ray() -> Any:
    try:
        ray = importlib.import_module("ray")
        importlib.import_module("ray.util.scheduling_strategies")
    except ImportError:
        raise ValueError("ray is not installed: pip install 'fhtd[ray]'") from None
    return ray


def _connect(ray: Any, address: str, task: Task) -> None:
    """To the cluster, which gets the module of an experiment that is not of this package."""
    modules = _own_modules(task)
    try:
        if address != "auto":
            # Ray itself would try for many minutes.
            host, _, port = address.removeprefix("ray://").rpartition(":")
            socket.create_connection((host, int(port)), timeout=10).close()
        more = {"runtime_env": {"py_modules": modules}} if modules else {}
        # Of lost nodes it would tell in many lines, and of being told not to as well.
        os.environ.setdefault("RAY_BACKEND_LOG_LEVEL", "fatal")
        with _silence():
            ray.init(address=address, log_to_driver=False, logging_level="ERROR", **more)
    except (OSError, ValueError, RuntimeError) as error:
        why = (str(error).splitlines() or [type(error).__name__])[0]
        raise ConnectionError(
            f"no Ray cluster at {address!r} ({why}); give host:port, or auto for the one here"
        ) from None


@contextmanager
def _silence() -> Iterator[None]:
    """Nothing is written to standard error, by compiled code either."""
    kept, nowhere = os.dup(2), os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 2)
    try:
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)
        os.close(nowhere)


def _own_modules(task: Task) -> list[str]:
    """Files of the experiment's module or package, where nodes cannot be expected to have it."""
    top = task.run.__module__.partition(".")[0]
    file = getattr(sys.modules.get(top), "__file__", None)
    if top in ("fhtd", "__main__") or file is None or "site-packages" in Path(file).parts:
        return []
    path = Path(file).resolve()
    return [str(path.parent if path.name == "__init__.py" else path)]


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
