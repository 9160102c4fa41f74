"""Checkpoints of blocks that are computed on a cluster, in its memory."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from fhtd.files import write_atomically
from fhtd.reproduction.executors import LocalScratch

#: Names and contents of a checkpoint's files.
Files = dict[str, bytes]


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
        self.send(read_files(self.folder))


def read_files(folder: Path) -> Files:
    """All of a folder; none where there is none."""
    if not folder.is_dir():
        return {}
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir()) if path.is_file()}


def write_files(folder: Path, files: Files) -> None:
    """Each whole or not at all."""
    for name, content in files.items():
        write_atomically(folder / name, content)
