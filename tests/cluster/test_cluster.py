"""Sweeps on a real Ray cluster of two nodes, one of which is killed on the way."""

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

import fhtd as package
from commands import COMMAND, blocks_in, fhtd, finish, start, wait_until
from fhtd.reproduction.keeper import Keeper, RemoteScratch
from test_extension import EXPERIMENT

pytest.importorskip("ray")

#: Seconds; nodes start many processes, and each compiles for itself.
PATIENCE = 300
#: A head without work of its own and two nodes of one core, each in a process group to be killed.
CLUSTER = """
import sys, warnings
warnings.simplefilter("ignore")
from ray.cluster_utils import Cluster
cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 0})
more = {"env_vars": {"PYTHONPATH": sys.argv[1]}} if len(sys.argv) > 1 else {}
nodes = [cluster.add_node(num_cpus=1), cluster.add_node(num_cpus=1, **more)]
cluster.wait_for_nodes()
print(cluster.address, flush=True)
for line in sys.stdin:
    if line.strip() == "kill":
        cluster.remove_node(nodes.pop(), allow_graceful=False)
        print("killed", flush=True)
cluster.shutdown()
"""


@pytest.fixture(scope="module")
def cluster() -> Iterator[tuple[str, "subprocess.Popen[str]"]]:
    """Address, and the process to tell `kill`."""
    with cluster_of() as found:
        yield found


@contextmanager
def cluster_of(*arguments: object) -> Iterator[tuple[str, "subprocess.Popen[str]"]]:
    """The second node may be given a PYTHONPATH of its own."""
    with subprocess.Popen(
        [sys.executable, "-c", CLUSTER, *map(str, arguments)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        start_new_session=True,
        env={**os.environ, "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0"},
    ) as process:
        assert process.stdout is not None
        assert process.stdin is not None
        address = process.stdout.readline().strip()
        assert address
        yield address, process
        process.stdin.close()
        try:
            process.wait(30)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)


def content(folder: Path) -> dict[str, dict[str, bytes]]:
    """Every block's arrays, but for the manifest with its times."""
    found = {}
    for path in blocks_in(folder):
        with np.load(path) as file:
            found[str(path.relative_to(folder))] = {
                name: file[name].tobytes() for name in file.files if name != "manifest"
            }
    return found


def test_the_keeper_has_the_newest_of_each_block() -> None:
    keeper = Keeper()
    assert keeper.get("a") == {}
    keeper.put("a", {"x": b"1"})
    keeper.put("a", {"x": b"2"})
    keeper.put("b", {"x": b"3"})
    assert keeper.get("a") == {"x": b"2"}
    assert keeper.take() == {"a": {"x": b"2"}, "b": {"x": b"3"}}
    assert keeper.take() == {}
    keeper.drop("a")
    assert keeper.get("a") == {}
    assert keeper.get("b") == {"x": b"3"}


def test_a_checkpoint_is_sent_whole(tmp_path: Path) -> None:
    sent = []
    scratch = RemoteScratch(tmp_path, sent.append)
    scratch.write_json("log.json", [1])
    (tmp_path / "checkpoint.npz").write_bytes(b"weights")
    scratch.saved()
    assert sent == [{"checkpoint.npz": b"weights", "log.json": b"[1]"}]


@pytest.mark.parametrize("address", ["127.0.0.1:1", "nonsense"])
def test_a_cluster_that_is_not_there_is_one_line(tmp_path: Path, address: str) -> None:
    done = fhtd("reproduce", "baird", "--scale", "smoke", "--ray", address, "--out", tmp_path)
    assert done.returncode == 2
    (line,) = done.stderr.splitlines()
    assert line.startswith(f"fhtd: no Ray cluster at '{address}'")


def test_a_tabular_sweep_has_the_bits_of_one_worker(
    cluster: tuple[str, "subprocess.Popen[str]"], tmp_path: Path
) -> None:
    command = ("reproduce", "off-policyness", "--scale", "smoke", "--out")
    code, _, errors = finish(start(*command, tmp_path / "ray", "--ray", cluster[0]), PATIENCE)
    assert (code, errors) == (0, "")
    assert fhtd(*command, tmp_path / "local", "--workers", 1).returncode == 0
    assert content(tmp_path / "ray") == content(tmp_path / "local") != {}


def test_an_experiment_of_ones_own(
    cluster: tuple[str, "subprocess.Popen[str]"], tmp_path: Path
) -> None:
    """Nodes need not have its module."""
    (tmp_path / "coins.py").write_text(EXPERIMENT)
    done = subprocess.run(
        [*COMMAND, "reproduce", "coins:EXPERIMENT", "--ray", cluster[0]],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("coins: 8 blocks in ")


def test_a_stale_node_is_named_once_and_left_out(tmp_path: Path) -> None:
    """Its blocks, more than enough to lose hope, go to the other."""
    shutil.copytree(Path(package.__file__).parent, tmp_path / "other" / "fhtd")
    with open(tmp_path / "other" / "fhtd" / "errors.py", "a") as file:
        file.write("# changed\n")
    out = tmp_path / "out"
    with cluster_of(tmp_path / "other") as (address, _):
        command = ("reproduce", "off-policyness", "--runs", 1000, "--horizon", 8, "--out", out)
        code, printed, errors = finish(start(*command, "--ray", address), PATIENCE)
    assert code == 0, errors
    (line,) = errors.splitlines()
    assert line.startswith("fhtd: node ")
    assert line.endswith("its blocks go elsewhere")
    assert printed.startswith("off-policyness: 10 blocks in ")


def test_when_the_head_dies_the_next_call_goes_on(tmp_path: Path) -> None:
    command = ("reproduce", "off-policyness", "--runs", 3000, "--out", tmp_path)
    with cluster_of() as (address, nodes):
        process = start(*command, "--ray", address)
        wait_until(lambda: blocks_in(tmp_path), PATIENCE)
        os.killpg(nodes.pid, signal.SIGKILL)
        code, _, errors = finish(process, PATIENCE)
    assert code == 1
    (line,) = errors.splitlines()
    assert line.startswith("fhtd: the head of the cluster at ")
    kept = len(blocks_in(tmp_path))
    assert 0 < kept < 30
    done = fhtd(*command, "--workers", 2)
    assert done.returncode == 0
    assert f"{kept} kept" in done.stdout


def test_a_killed_node_loses_nothing(
    cluster: tuple[str, "subprocess.Popen[str]"], tmp_path: Path
) -> None:
    """And an interrupted driver goes on where it was."""
    address, nodes = cluster
    command = ("reproduce", "lunar-lander", "--scale", "smoke", "--frames", 4_000, "--out")
    ours = tmp_path / "ray"
    process = start(*command, ours, "--ray", address)
    # A checkpoint has come home: a block is in the middle.
    wait_until(lambda: list(ours.glob("raw/*/*/*/*.partial/checkpoint.npz")), PATIENCE)
    assert nodes.stdin is not None
    assert nodes.stdout is not None
    nodes.stdin.write("kill\n")
    nodes.stdin.flush()
    assert nodes.stdout.readline() == "killed\n"
    wait_until(lambda: len(blocks_in(ours)) >= 3, PATIENCE)
    os.killpg(process.pid, signal.SIGINT)
    code, _, errors = finish(process, PATIENCE)
    assert (code, errors) == (
        130,
        "fhtd: interrupted; what is finished is kept, run again to go on\n",
    )
    kept = content(ours)
    assert 3 <= len(kept) < 8
    process = start(*command, ours, "--ray", address)
    code, _, errors = finish(process, PATIENCE)
    assert code == 0, errors
    assert errors == ""
    assert content(ours).items() > kept.items()
    assert not list(ours.glob("raw/*/*/*/*.partial"))
    assert finish(start(*command, tmp_path / "local", "--workers", 1), PATIENCE)[0] == 0
    assert content(ours) == content(tmp_path / "local")
    assert len(content(ours)) == 8
