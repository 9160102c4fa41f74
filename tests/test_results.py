"""The results store: nothing is lost, nothing is mixed, nothing in it runs."""

import errno
import io
import json
import os
import pickle
import re
import shutil
import signal
import zipfile
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from commands import blocks_in, fhtd, finish, start, wait_until, workers_of
from fhtd import archive, provenance
from fhtd.commands.main import main
from fhtd.experiments import Verdict, find, slippery_maze
from fhtd.files import write_atomically
from fhtd.reproduction import Arrays, Block, executors
from fhtd.reproduction.executors import WorkerDiedError, execute
from fhtd.reproduction.reproduce import Outcome, Progress, reproduce
from fhtd.reproduction.store import Key, Store
from fhtd.reproduction.summary import Summary, folder_of, to_csv

MAZE = find("slippery-maze")
TINY = slippery_maze.Config(
    runs=3, episodes=3, horizons=(8, 16), discounts=(0.9,), step_sizes=(0.5,)
)
KEY = Key("an-experiment", '{"setting": 1}', 7, "arm@0.5.runs-0-7")
ARRAYS: Arrays = {
    "values.mean": np.linspace(0, 1, 24).reshape(8, 3),
    "count": np.array([8]),
    "complex": np.array([1 + 2j, np.nan, np.inf]),
    "empty": np.zeros((0, 4)),
}


@pytest.fixture
def warnings() -> list[str]:
    return []


@pytest.fixture
def store(tmp_path: Path, warnings: list[str]) -> Store:
    return Store(tmp_path, warnings.append)


def reproduce_tiny(out: Path, **options: Any) -> Outcome:
    return reproduce(MAZE, TINY, out=out, **options)


def written(out: Path, *kinds: str) -> dict[str, bytes]:
    """Content by name of the files beside the raw results."""
    names = [path for kind in kinds for path in out.glob(f"*/*.{kind}")]
    return {str(path.relative_to(out)): path.read_bytes() for path in names}


def identities(out: Path) -> dict[Path, tuple[int, int]]:
    """What changes as soon as a block is written again."""
    return {path: (path.stat().st_ino, path.stat().st_mtime_ns) for path in blocks_in(out)}


# Files of blocks.


def test_a_block_comes_back_as_it_was(store: Store, warnings: list[str]) -> None:
    store.write(KEY, ARRAYS, 1.5)
    found = store.read(KEY)
    assert found is not None
    assert found.seconds == 1.5
    assert found.versions == provenance.versions()
    assert found.arrays.keys() == ARRAYS.keys()
    for name, values in ARRAYS.items():
        np.testing.assert_array_equal(found.arrays[name], values, strict=True)
    assert warnings == []


def test_an_absent_block_is_none(store: Store, warnings: list[str]) -> None:
    assert store.read(KEY) is None
    assert warnings == []


def test_a_block_says_where_it_comes_from(store: Store) -> None:
    store.write(KEY, ARRAYS, 1.5)
    with np.load(store.path(KEY)) as file:
        manifest = json.loads(file["manifest"].tobytes())
    assert manifest["versions"].keys() >= {"fhtd", "python", "numpy", "numba"}
    assert manifest["command"]


def test_a_summary_names_the_versions_that_computed_its_blocks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not those that draw it again later."""
    now = provenance.versions()
    with monkeypatch.context() as then:
        then.setattr("fhtd.reproduction.store.versions", lambda: now | {"numpy": "1.0"})
        reproduce_tiny(tmp_path)
    folder = reproduce_tiny(tmp_path).folder
    summary = Summary.read(folder)
    assert summary is not None
    assert summary.versions == now | {"numpy": "1.0"}
    blocks_in(tmp_path)[0].unlink()  # computed again, under the present ones
    summary = Summary.read(reproduce_tiny(tmp_path).folder)
    assert summary is not None
    assert summary.versions == now | {"numpy": f"1.0, {now['numpy']}"}


def cut_short(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-20])


def cut_to_half(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def empty(path: Path) -> None:
    path.write_bytes(b"")


def noise(path: Path) -> None:
    path.write_bytes(np.random.default_rng(0).bytes(2000))


def another_seed(path: Path) -> None:
    aside = Store(path.parent / "other", lambda line: None)
    other = replace(KEY, seed=8)
    aside.write(other, ARRAYS, 1.5)
    os.replace(aside.path(other), path)


def another_setting(path: Path) -> None:
    aside = Store(path.parent / "other", lambda line: None)
    other = replace(KEY, identity='{"setting": 2}')
    aside.write(other, ARRAYS, 1.5)
    os.replace(aside.path(other), path)


def without_manifest(path: Path) -> None:
    np.savez(path, **ARRAYS)  # type: ignore[arg-type]


def a_single_array(path: Path) -> None:
    with open(path, "wb") as file:
        np.save(file, np.arange(3))


def a_member_removed(path: Path) -> None:
    rewrite(path, lambda name, content: None if name == "count.npy" else content)


def a_huge_claim(path: Path) -> None:
    """A header that asks for more memory than any machine has."""
    header = io.BytesIO()
    about = {"descr": "<f8", "fortran_order": False, "shape": (2**50,)}
    np.lib.format.write_array_header_1_0(header, about)
    rewrite(path, lambda name, content: header.getvalue() if name == "count.npy" else content)


def versions_without_names(path: Path) -> None:
    content, arrays = archive.read(path, "results")
    archive.write(path, "results", content | {"versions": ["2.4.6"]}, arrays)


def rewrite(path: Path, change: Callable[[str, bytes], bytes | None]) -> None:
    """Make a sound archive of changed members."""
    with zipfile.ZipFile(path) as old:
        members = {name: change(name, old.read(name)) for name in old.namelist()}
    with zipfile.ZipFile(path, "w") as new:
        for name, content in members.items():
            if content is not None:
                new.writestr(name, content)


DAMAGES = [
    cut_short,
    cut_to_half,
    empty,
    noise,
    another_seed,
    another_setting,
    without_manifest,
    a_single_array,
    a_member_removed,
    a_huge_claim,
    versions_without_names,
]


@pytest.mark.parametrize("damage", DAMAGES, ids=lambda damage: damage.__name__)
def test_a_damaged_block_is_named_and_set_aside(
    store: Store, warnings: list[str], damage: Callable[[Path], None]
) -> None:
    store.write(KEY, ARRAYS, 1.5)
    path = store.path(KEY)
    damage(path)
    content = path.read_bytes()

    assert store.read(KEY) is None

    assert not path.exists()
    (aside,) = path.parent.glob("*.damaged-*")
    assert aside.read_bytes() == content
    (line,) = warnings
    assert str(path) in line
    assert aside.name in line
    assert "\n" not in line
    store.write(KEY, ARRAYS, 1.5)
    assert store.read(KEY) is not None


def test_a_header_that_asks_for_less_than_there_is_is_refused(store: Store) -> None:
    """Such a read ends before the checksum is looked at."""
    store.write(KEY, {"values": np.ones((8, 1000))}, 1.5)
    path = store.path(KEY)
    content = path.read_bytes()
    assert content.count(b"(8, 1000)") == 1
    path.write_bytes(content.replace(b"(8, 1000)", b"(0, 1000)"))
    assert store.read(KEY) is None


def test_a_flipped_bit_is_never_read_as_a_result(store: Store) -> None:
    """Wherever it is: the block is refused, or (in a date, say) it makes no difference."""
    store.write(KEY, ARRAYS, 1.5)
    path = store.path(KEY)
    content = path.read_bytes()
    refused = 0
    for i in range(len(content)):
        path.write_bytes(content[:i] + bytes([content[i] ^ 1 << i % 8]) + content[i + 1 :])
        found = store.read(KEY)
        if found is None:
            refused += 1
            continue
        assert found.arrays.keys() == ARRAYS.keys()
        for name, values in ARRAYS.items():
            np.testing.assert_array_equal(found.arrays[name], values, strict=True)
    assert refused > len(content) / 2


def test_a_block_of_an_earlier_version_is_read(tmp_path: Path) -> None:
    """Committed as it was written: arrays listed by name, and no checksums of their own."""
    experiment = find("off-policyness")
    config = experiment.config(runs=2, size=3, horizon=8)
    (block,) = experiment.blocks(config)
    warnings: list[str] = []
    store = Store(tmp_path, warnings.append)
    key = Key.of(experiment, config, 0, block)
    store.path(key).parent.mkdir(parents=True)
    shutil.copy(Path(__file__).parent / "data" / "block-of-0.1.npz", store.path(key))
    found = store.read(key)
    assert warnings == []
    assert found is not None
    assert found.seconds == 0.0123
    assert found.versions["fhtd"] == "0.1.0"
    expected = experiment.run(config, 0, block)["agreement"]
    np.testing.assert_array_equal(found.arrays["agreement"], expected, strict=True)


COMMITTED = Path(__file__).resolve().parent.parent / "results"


def with_blocks() -> list[Path]:
    """Folders of results whose blocks are committed as well: those that took long."""
    found = []
    for path in sorted(COMMITTED.glob("*/summary.json")):
        experiment = find(path.parent.name.partition("@")[0])
        if (COMMITTED / "raw" / (experiment.work or experiment.name)).exists():
            found.append(path.parent)
    return found


@pytest.mark.parametrize("folder", with_blocks(), ids=lambda path: path.name)
def test_committed_blocks_are_found_and_say_the_same(folder: Path) -> None:
    """Whatever is done to names and files: nobody's finished work is lost."""
    summary = Summary.read(folder)
    assert summary is not None
    experiment = find(summary.experiment)
    settings = {n: tuple(v) if isinstance(v, list) else v for n, v in summary.settings.items()}
    config = experiment.config(**settings)
    assert folder_of(COMMITTED, experiment, config) == folder
    store = Store(COMMITTED / "raw", pytest.fail)
    results = {}
    for block in experiment.blocks(config):
        found = store.read(Key.of(experiment, config, summary.seed, block))
        assert found is not None, str(block)
        results[block] = found.arrays
    assert experiment.claims(config, experiment.combine(config, results)) == summary.claims


class Exploit:
    """Unpickling it would leave a trace."""

    def __init__(self, trace: Path) -> None:
        self.trace = trace

    def __reduce__(self) -> tuple[Any, ...]:
        return (os.mkdir, (str(self.trace),))


@pytest.mark.parametrize("kind", ["pickle", "object array", "object array in an archive"])
def test_nothing_in_a_file_is_executed(
    store: Store, warnings: list[str], tmp_path: Path, kind: str
) -> None:
    trace = tmp_path / "executed"
    store.write(KEY, ARRAYS, 1.5)
    path = store.path(KEY)
    bomb = np.array([Exploit(trace)], dtype=object)
    with open(path, "wb") as file:
        if kind == "pickle":
            pickle.dump(Exploit(trace), file)
        elif kind == "object array":
            np.save(file, bomb)
        else:
            np.savez(file, manifest=bomb, values=bomb)

    assert store.read(KEY) is None

    assert not trace.exists()
    assert len(warnings) == 1
    with open(next(path.parent.glob("*.damaged-*")), "rb") as file:  # the trap does work
        if kind == "pickle":
            pickle.load(file)
            assert trace.exists()


def test_two_processes_may_set_the_same_file_aside(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.write(KEY, ARRAYS, 1.5)
    empty(store.path(KEY))

    def lose_the_race(source: Path, target: Path) -> None:
        raise FileNotFoundError(errno.ENOENT, "No such file or directory", str(source))

    monkeypatch.setattr(os, "replace", lose_the_race)
    assert store.read(KEY) is None


@pytest.mark.parametrize("call", ["fsync", "replace"])
def test_a_write_that_fails_leaves_the_old_file_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: str
) -> None:
    path = tmp_path / "file"
    write_atomically(path, b"old")

    def fail(*arguments: Any) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, call, fail)
    with pytest.raises(OSError, match="No space left") as caught:
        write_atomically(path, b"new")
    assert caught.value.filename == str(path)
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


# Keys.


def test_whatever_changes_a_block_changes_its_place(store: Store) -> None:
    def place(experiment: Any = MAZE, config: Any = TINY, seed: int = 0, block: str = "b") -> Path:
        return store.path(Key.of(experiment, config, seed, Block(block)))

    places = [
        place(),
        place(experiment=replace(MAZE, revision=MAZE.revision + 1)),
        place(experiment=replace(MAZE, name="another")),
        place(config=replace(TINY, epsilon=0.2)),
        place(config=replace(TINY, step_sizes=(0.5, 0.6))),
        place(seed=1),
        place(block="c"),
    ]
    assert len(set(places)) == len(places)


def test_more_runs_find_the_blocks_of_fewer(store: Store) -> None:
    few, many = (Key.of(MAZE, replace(TINY, runs=runs), 0, Block("b")) for runs in (100, 200))
    assert store.path(few) == store.path(many)


# Reproducing.


def test_a_second_reproduction_computes_nothing(tmp_path: Path) -> None:
    first = reproduce_tiny(tmp_path)
    before, pictures = identities(tmp_path), written(tmp_path, "csv", "png", "svg")
    assert (first.computed, first.blocks) == (3, 3)
    for workers in (1, 2):
        second = reproduce_tiny(tmp_path, workers=workers)
        assert (second.computed, second.blocks) == (0, 3)
        assert second.claims == first.claims
        assert second.block_seconds == first.block_seconds
    assert identities(tmp_path) == before
    assert written(tmp_path, "csv", "png", "svg") == pictures


def test_force_computes_again_and_gets_the_same(tmp_path: Path) -> None:
    reproduce_tiny(tmp_path)
    before, tables = identities(tmp_path), written(tmp_path, "csv")
    assert reproduce_tiny(tmp_path, force=True).computed == 3
    after = identities(tmp_path)
    assert after.keys() == before.keys()
    assert all(after[path] != before[path] for path in before)
    assert written(tmp_path, "csv") == tables


def test_more_runs_compute_only_what_is_missing(tmp_path: Path) -> None:
    reproduce(MAZE, replace(TINY, runs=100), out=tmp_path)
    before = identities(tmp_path)
    outcome = reproduce(MAZE, replace(TINY, runs=101), out=tmp_path)
    assert (outcome.computed, outcome.blocks) == (3, 6)
    assert identities(tmp_path).items() > before.items()


def test_a_damaged_block_is_computed_again(tmp_path: Path) -> None:
    reproduce_tiny(tmp_path)
    tables = written(tmp_path, "csv")
    cut_to_half(blocks_in(tmp_path)[1])
    warnings: list[str] = []
    assert reproduce_tiny(tmp_path, warn=warnings.append).computed == 1
    assert len(warnings) == 1
    assert written(tmp_path, "csv") == tables


def test_workers_change_no_bit(tmp_path: Path) -> None:
    for workers in (1, 2):
        reproduce_tiny(tmp_path / str(workers), workers=workers)
    assert written(tmp_path / "1", "csv") == written(tmp_path / "2", "csv")
    alone, spread = (blocks_in(tmp_path / str(workers)) for workers in (1, 2))
    assert [path.name for path in alone] == [path.name for path in spread]
    for one, other in zip(alone, spread, strict=True):
        with np.load(one) as a, np.load(other) as b:
            np.testing.assert_array_equal(a["length"], b["length"], strict=True)


def test_progress_counts_every_block(tmp_path: Path) -> None:
    heard: list[Progress] = []
    reproduce_tiny(tmp_path, advance=heard.append)
    assert [one.done for one in heard] == [0, 0, 1, 1, 2, 2, 3]
    assert [one.running for one in heard] == [0, 1, 0, 1, 0, 1, 0]
    assert {(one.failed, one.total) for one in heard} == {(0, 3)}


def test_a_block_that_fails_does_not_stop_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, heard = executors.compute, list[Progress]()

    def compute(task: executors.Task) -> Any:
        if "fhq-8" in str(task.block):
            raise ValueError(f"{task.block} cannot be computed")
        return real(task)

    monkeypatch.setattr(executors, "compute", compute)
    with pytest.raises(ValueError, match=r"fhq-8.* cannot be computed"):
        reproduce_tiny(tmp_path, advance=heard.append)
    assert heard[-1] == Progress(2, 0, 1, 3)
    assert len(blocks_in(tmp_path)) == 2


def test_when_all_blocks_fail_the_rest_is_not_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    tried: list[Any] = []

    def compute(task: Any) -> Any:
        tried.append(task)
        raise ValueError("nothing works")

    monkeypatch.setattr(executors, "compute", compute)
    tasks: Any = list(range(10))
    with pytest.raises(ValueError, match="nothing works"):
        list(execute(tasks, workers=1))
    assert tried == [0, 1, 2]


def test_more_workers_than_the_memory_allows_are_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(executors, "free_memory", lambda: 1000 * 2**20)
    executors.check_memory(3, 300)
    with pytest.raises(ValueError, match="workers must be at most 3 here, got 4"):
        executors.check_memory(4, 300)
    monkeypatch.setattr(executors, "free_memory", lambda: None)
    executors.check_memory(4, 300)


def test_summary_reads_back_and_a_damaged_one_is_named(tmp_path: Path) -> None:
    outcome = reproduce_tiny(tmp_path, seed=3)
    summary = Summary.read(outcome.folder)
    assert summary is not None
    assert summary.claims == outcome.claims
    assert all(isinstance(claim.verdict, Verdict) for claim in summary.claims)
    assert summary.seed == 3
    assert summary.settings["horizons"] == [8, 16]
    assert Summary.read(tmp_path / "elsewhere") is None
    path = outcome.folder / "summary.json"
    good = json.loads(path.read_text())
    for bad in ("", "[]", "{}", "null", json.dumps(good | {"claims": [{"verdict": "sure"}]})):
        path.write_text(bad)
        with pytest.raises(ValueError, match=r"summary\.json is damaged \(.*; fhtd reproduce slip"):
            Summary.read(outcome.folder)
    reproduce_tiny(tmp_path)  # does not stumble over it
    assert Summary.read(outcome.folder) is not None


def test_floats_survive_a_table() -> None:
    values = [0.1 + 0.2, 1e-300, -0.0, np.inf, 2 / 3]
    lines = to_csv({"x": np.array(values), "name": ["a,b", 'say "c"', "d\ne", "", "é"]})
    header, first, *_ = lines.decode().splitlines()
    assert header == "x,name"
    assert first == '0.30000000000000004,"a,b"'
    numbers = to_csv({"x": np.array(values)}).decode().split()[1:]
    assert [float(number) for number in numbers] == values


def test_uneven_columns_are_refused() -> None:
    with pytest.raises(ValueError, match="zip"):
        to_csv({"x": np.arange(3), "y": np.arange(2)})


# Trouble on the way.

#: 18 blocks, long enough to be caught in the middle.
MANY = ("reproduce", "slippery-maze", "--scale", "smoke", "--episodes", 400, "--out")


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("undisturbed")
    assert fhtd(*MANY, out, "--workers", 1).returncode == 0
    return out


def test_killed_and_run_again_ends_as_if_nothing_had_happened(
    tmp_path: Path, undisturbed: Path
) -> None:
    process = start(*MANY, tmp_path, "--workers", 2)
    wait_until(lambda: len(blocks_in(tmp_path)) >= 3)
    os.kill(process.pid, signal.SIGKILL)
    assert finish(process)[0] == -signal.SIGKILL
    wait_until(lambda: not workers_of(process))  # they end with it, though nobody told them
    before = identities(tmp_path)
    assert 3 <= len(before) < len(blocks_in(undisturbed))
    assert not list(tmp_path.glob("slippery-maze*"))

    again = fhtd(*MANY, tmp_path, "--workers", 2)

    assert again.returncode == 0
    assert f"{len(before)} kept" in again.stdout
    assert identities(tmp_path).items() > before.items()
    expected = written(undisturbed, "csv", "svg", "png")
    assert any(name.endswith("/claims.csv") for name in expected)
    assert written(tmp_path, "csv", "svg", "png") == expected


def test_two_at_once_on_one_folder(tmp_path: Path, undisturbed: Path) -> None:
    processes = [start(*MANY, tmp_path, "--workers", 1) for _ in range(2)]
    computed = 0
    for code, printed, errors in map(finish, processes):
        assert (code, errors) == (0, "")
        found = re.match(r"slippery-maze: (\d+) blocks in", printed)
        computed += int(found[1]) if found else 0
    assert computed == len(blocks_in(undisturbed)), "work was done twice"
    assert written(tmp_path, "csv", "svg", "png") == written(undisturbed, "csv", "svg", "png")
    names = [path.relative_to(tmp_path) for path in blocks_in(tmp_path)]
    assert names == [path.relative_to(undisturbed) for path in blocks_in(undisturbed)]
    everything = [path for path in (tmp_path / "raw").rglob("*") if path.is_file()]
    assert len(everything) == len(names), "temporary or damaged files are left"


def test_one_that_is_killed_leaves_its_blocks_to_the_other(
    tmp_path: Path, undisturbed: Path
) -> None:
    first, second = (start(*MANY, tmp_path, "--workers", 1) for _ in range(2))
    wait_until(lambda: len(blocks_in(tmp_path)) >= 3)
    os.kill(first.pid, signal.SIGKILL)
    finish(first)
    code, _, errors = finish(second)
    assert (code, errors) == (0, "")
    assert written(tmp_path, "csv", "svg", "png") == written(undisturbed, "csv", "svg", "png")


def test_a_block_that_another_computes_is_waited_for(tmp_path: Path) -> None:
    """And taken over as soon as the other lets go of it."""
    reproduce_tiny(tmp_path)
    one, other, *_ = blocks_in(tmp_path)
    content = other.read_bytes()
    one.unlink()
    other.unlink()
    store = Store(tmp_path / "raw", print)
    keys = {str(b): Key.of(MAZE, TINY, 0, b) for b in MAZE.blocks(TINY)}
    heard: list[Progress] = []

    def advance(now: Progress) -> None:
        heard.append(now)
        if now.elsewhere == 2 and not other.exists():
            write_atomically(other, content)  # the other has finished this one
            claims[1].close()
        elif now.elsewhere == 1:
            claims[0].close()  # and given this one up

    claims = [ExitStack(), ExitStack()]
    for claim, path in zip(claims, (one, other), strict=True):
        assert claim.enter_context(store.claim(keys[path.stem]))
    outcome = reproduce_tiny(tmp_path, advance=advance)
    assert outcome.computed == 1
    assert [now.elsewhere for now in heard if now.elsewhere] == [2, 1]


def test_a_worker_that_is_killed_ends_the_work_clearly(tmp_path: Path) -> None:
    process = start(*MANY, tmp_path, "--workers", 2)
    wait_until(lambda: len(blocks_in(tmp_path)) >= 2)
    os.kill(workers_of(process)[0], signal.SIGKILL)
    code, _, errors = finish(process)
    assert code == 2
    (line,) = errors.splitlines()
    assert line.startswith("fhtd: a worker process died")
    assert len(blocks_in(tmp_path)) >= 2
    assert workers_of(process) == []


def test_a_worker_that_dies_is_an_error_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each task here is a signal that the worker sends to itself."""
    monkeypatch.setattr(executors, "compute", signal.raise_signal)
    tasks: Any = [signal.SIGKILL, signal.SIGKILL]
    with pytest.raises(WorkerDiedError, match="finished blocks are kept"):
        list(execute(tasks, workers=2))


def test_a_full_disk_is_one_line_and_keeps_what_is_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    real, calls = os.fsync, iter(range(100))

    def fsync(number: int) -> None:
        if next(calls) >= 6:
            raise OSError(errno.ENOSPC, "No space left on device")
        real(number)

    monkeypatch.setattr(os, "fsync", fsync)
    command = ["reproduce", "slippery-maze", "--scale", "smoke", "--workers", "1"]
    assert main([*command, "--out", str(tmp_path)]) == 2
    out, err = capsys.readouterr()
    (line,) = err.splitlines()
    assert line.startswith(f"fhtd: cannot write {tmp_path}")
    assert line.endswith(".npz: No space left on device")
    assert out == ""
    before = identities(tmp_path)
    assert len(before) == 5  # the first call tried the folder
    assert [path for path in tmp_path.rglob(".*") if path.is_file()] == []

    monkeypatch.setattr(os, "fsync", real)
    assert main([*command, "--out", str(tmp_path)]) == 0
    assert "5 kept" in capsys.readouterr().out
    assert identities(tmp_path).items() > before.items()


@pytest.mark.parametrize("where", ["file", "file/below"])
def test_an_unwritable_folder_is_refused_before_any_work(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    where: str,
) -> None:
    (tmp_path / "file").write_text("precious")
    monkeypatch.setattr(executors, "compute", lambda task: pytest.fail("it has begun"))
    assert main(["reproduce", "baird", "--scale", "smoke", "--out", str(tmp_path / where)]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(f"fhtd: cannot use {tmp_path / 'file'}")
    assert (tmp_path / "file").read_text() == "precious"
