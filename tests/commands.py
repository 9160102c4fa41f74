"""Running `fhtd` as a user does: in a process of its own."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

COMMAND = (sys.executable, "-m", "fhtd.commands.main")
LIMIT = 60  # seconds, for what takes a few


def fhtd(*arguments: object) -> subprocess.CompletedProcess[str]:
    """Run to the end."""
    process = start(*arguments)
    return subprocess.CompletedProcess(process.args, *finish(process))


def start(*arguments: object) -> subprocess.Popen[str]:
    """Start in a process group of its own, as a terminal does."""
    return subprocess.Popen(
        [*COMMAND, *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        env={name: os.environ[name] for name in os.environ if name != "PYTHONUNBUFFERED"},
    )


def finish(process: subprocess.Popen[str], limit: float = LIMIT) -> tuple[int, str, str]:
    """Exit code, output and errors."""
    try:
        out, err = process.communicate(timeout=limit)
    finally:
        process.kill()
    return process.returncode, out, err


def wait_until(condition: Callable[[], object], limit: float = LIMIT) -> None:
    """Look every few milliseconds."""
    end = time.monotonic() + limit
    while not condition():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.003)


def blocks_in(folder: Path) -> list[Path]:
    """The finished blocks in a results folder."""
    return sorted(folder.glob("raw/*/*/*/*.npz"))


def workers_of(process: subprocess.Popen[str]) -> list[int]:
    """Identifiers of the worker processes that it has started."""
    return [
        number
        for number in group_of(process)
        if b"spawn_main" in Path(f"/proc/{number}/cmdline").read_bytes()
    ]


def group_of(process: subprocess.Popen[str]) -> list[int]:
    """Identifiers of all living processes of its group."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            # After the name in brackets: state, parent, group.
            state, _, group = (folder / "stat").read_text().rpartition(") ")[2].split()[:3]
        except (FileNotFoundError, ProcessLookupError):
            continue
        if int(group) == process.pid and state not in "ZX":
            found.append(int(folder.name))
    return found


def processor_seconds(number: int) -> float:
    """What a process has used of a processor's time."""
    text = Path(f"/proc/{number}/stat").read_text().rpartition(") ")[2]
    return sum(map(int, text.split()[11:13])) / os.sysconf("SC_CLK_TCK")


def interrupt(process: subprocess.Popen[str]) -> None:
    """Ctrl-C: every process of the group gets the signal."""
    os.killpg(process.pid, signal.SIGINT)
