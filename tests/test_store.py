"""The results store: nothing is lost, nothing is mixed, nothing in it runs."""

import errno
import io
import json
import os
import pickle
import shutil
import zipfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fhtd import archive, provenance
from fhtd.experiments import find
from fhtd.files import write_atomically
from fhtd.reproduction import Arrays, Block
from fhtd.reproduction.store import Key, Store
from fhtd.reproduction.summary import Summary, folder_of
from tiny_maze import MAZE, TINY

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
