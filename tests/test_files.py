"""Locks that end with their process, and the leftovers of killed writers."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from commands import wait_until
from fhtd import files
from fhtd.files import check_writable, locked, sweep, write_atomically

#: Holds a lock, says so, and waits to be killed.
HOLDER = """
import sys, time
from pathlib import Path
from fhtd.files import locked
with locked(Path(sys.argv[1])) as mine:
    print(mine, flush=True)
    time.sleep(60)
"""


def holder(path: Path) -> "subprocess.Popen[str]":
    process = subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(path)], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "True\n"
    return process


def test_a_lock_is_held_by_one_and_removed_by_the_last(tmp_path: Path) -> None:
    path = tmp_path / "new folder" / ".lock"
    with locked(path) as mine:
        assert mine
        with locked(path) as another:
            assert not another
        assert path.exists()
    assert not path.exists()
    with locked(path) as mine:
        assert mine


def test_a_killed_process_lets_go_of_its_lock(tmp_path: Path) -> None:
    path = tmp_path / ".lock"
    process = holder(path)
    with locked(path) as mine:
        assert not mine
    process.kill()
    process.wait()
    assert process.stdout is not None
    process.stdout.close()
    with locked(path) as mine:
        assert mine


def test_without_locks_everyone_may(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "fcntl", None)
    with locked(tmp_path / ".lock") as mine, locked(tmp_path / ".lock") as another:
        assert mine
        assert another


#: Is killed in the middle of writing.
WRITER = """
import os, sys, time
from pathlib import Path
from fhtd.files import write_atomically
os.fsync = lambda number: time.sleep(60)
write_atomically(Path(sys.argv[1]), b"half")
"""


def test_leftovers_of_killed_writers_are_swept(tmp_path: Path) -> None:
    below = tmp_path / "below"
    process = subprocess.Popen([sys.executable, "-c", WRITER, str(below / "file")])
    wait_until(lambda: list(below.glob(".file.*")))
    sweep(tmp_path)
    (left,) = below.glob(".file.*")  # its writer is alive
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    (below / ".block.lock").touch()
    for name in (".hidden", ".name.1-nothex", "file.npz", f".kept.{os.getpid()}-0123abcd"):
        (below / name).touch()
    sweep(tmp_path)
    assert not left.exists()
    assert not (below / ".block.lock").exists()
    assert len(list(below.iterdir())) == 4


def test_a_lock_that_is_held_is_not_swept(tmp_path: Path) -> None:
    with locked(tmp_path / ".block.lock"):
        sweep(tmp_path)
        assert (tmp_path / ".block.lock").exists()


def test_whether_a_file_can_be_written(tmp_path: Path) -> None:
    check_writable(tmp_path / "new" / "page.html")
    assert list((tmp_path / "new").iterdir()) == []
    write_atomically(tmp_path / "file", b"precious")
    with pytest.raises(OSError, match=r"Not a directory|File exists"):
        check_writable(tmp_path / "file" / "page.html")
    with pytest.raises(IsADirectoryError):
        check_writable(tmp_path)
    assert (tmp_path / "file").read_bytes() == b"precious"
