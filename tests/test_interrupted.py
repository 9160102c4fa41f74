"""Reproducing in trouble: killed, twice at once, on a full disk."""

import errno
import os
import re
import signal
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from commands import blocks_in, fhtd, finish, start, wait_until, workers_of
from fhtd.commands.main import main
from fhtd.files import write_atomically
from fhtd.reproduction import executors
from fhtd.reproduction.executors import WorkerDiedError, execute
from fhtd.reproduction.reproduce import Progress
from fhtd.reproduction.store import Key, Store
from tiny_maze import MAZE, TINY, identities, reproduce_tiny, written

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
