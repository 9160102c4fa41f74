"""Reproducing: what is there is not computed again, and workers change no bit."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from commands import blocks_in
from fhtd import provenance
from fhtd.experiments import Verdict
from fhtd.reproduction import executors
from fhtd.reproduction.executors import execute
from fhtd.reproduction.reproduce import Progress, reproduce
from fhtd.reproduction.summary import Summary, to_csv
from tiny_maze import MAZE, TINY, identities, reproduce_tiny, written


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
    damaged = blocks_in(tmp_path)[1]
    damaged.write_bytes(damaged.read_bytes()[: damaged.stat().st_size // 2])
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
