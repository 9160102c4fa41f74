"""The one results store: an immutable file per block of runs, found by what it depends on.

    <root>/<experiment>/<digest of settings>/seed-<seed>/<block>.npz

The digest covers the experiment's revision and every setting that changes a block's content, so a
newer version whose numbers would differ has other names and never mixes with older files.
"""

import hashlib
import json
import os
import secrets
import shutil
from collections.abc import Callable
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from fhtd import archive
from fhtd.files import locked, sweep
from fhtd.provenance import command, versions
from fhtd.reproduction.arms import Arrays, Block
from fhtd.reproduction.experiment import Experiment


@dataclass(frozen=True)
class Key:
    """Names one block: what it is a result of.

    >>> from fhtd.experiments import find
    >>> from fhtd.reproduction.store import Key
    >>> baird = find("baird")
    >>> config = baird.smoke()
    >>> key = Key.of(baird, config, seed=0, block=baird.blocks(config)[0])
    >>> key.experiment, len(key.digest)
    ('baird', 16)
    """

    #: Name of the experiment.
    experiment: str
    #: Its revision and settings, as JSON.
    identity: str
    #: Seed of all runs.
    seed: int
    #: Name of the block.
    block: str

    @classmethod
    def of(cls, experiment: Experiment, config: Any, seed: int, block: Block) -> "Key":
        """The key of a block of an experiment with these settings.

        Args:
            experiment: The experiment.
            config: Its settings.
            seed: Seed of all runs.
            block: Which of its blocks.
        """
        identity = json.dumps(experiment.identity(config), sort_keys=True)
        return cls(experiment.work or experiment.name, identity, seed, str(block))

    @property
    def digest(self) -> str:
        """Short digest of the settings."""
        return hashlib.sha256(self.identity.encode()).hexdigest()[:16]


class Kept(NamedTuple):
    """A block that is in the store.

    >>> from fhtd.reproduction.store import Kept
    >>> Kept({}, seconds=0.5, versions={"numpy": "2.4.6"}).versions["numpy"]
    '2.4.6'
    """

    #: What it gave.
    arrays: Arrays
    #: What it took.
    seconds: float
    #: Of everything that shaped it.
    versions: dict[str, str]


class Store:
    """Blocks in a folder; safe with several processes, since files appear whole or not at all.

    Args:
        root: The folder.
        warn: Is told, in one line, of files that are damaged.

    >>> from pathlib import Path
    >>> import numpy as np
    >>> from fhtd.reproduction.store import Key, Store
    >>> store = Store(Path("results/raw"), warn=print)
    >>> key = Key("mine", "{}", seed=0, block="arm.runs-0-9")
    >>> store.read(key) is None
    True
    >>> written = store.write(key, {"end": np.arange(3)}, seconds=0.5)
    >>> kept = store.read(key)
    >>> kept.arrays["end"].tolist(), kept.seconds
    ([0, 1, 2], 0.5)
    """

    def __init__(self, root: Path, warn: Callable[[str], None]) -> None:
        self.root = root
        self._warn = warn

    def path(self, key: Key) -> Path:
        """Where the block is, or would be.

        Args:
            key: Of the block.

        Returns:
            The path of its file.
        """
        return self._folder(key) / f"{key.block}.npz"

    def scratch(self, key: Key) -> Path:
        """Where a long block keeps its checkpoint until it is finished.

        Args:
            key: Of the block.

        Returns:
            The path of a folder.
        """
        return self._folder(key) / f"{key.block}.partial"

    def claim(self, key: Key) -> AbstractContextManager[bool]:
        """Hold the block against other processes; whether none of them holds it already.

        Args:
            key: Of the block.

        Returns:
            A context; it gives whether the block is held here.
        """
        return locked(self._folder(key) / f".{key.block}.lock")

    def sweep(self, experiment: str) -> None:
        """Remove what processes that were killed have left behind.

        Args:
            experiment: Whose files.
        """
        sweep(self.root / experiment)

    def has(self, key: Key) -> bool:
        """Whether there is a file of the block, whatever it holds.

        Args:
            key: Of the block.
        """
        return self.path(key).exists()

    def read(self, key: Key) -> Kept | None:
        """The block, or None.

        A damaged file is named, set aside and counts as missing.

        Args:
            key: Of the block.
        """
        path = self.path(key)
        try:
            manifest, arrays = archive.read(path, "results")
            found = _checked(key, manifest, arrays)
        except FileNotFoundError:
            return None
        except (ValueError, TypeError, LookupError, OverflowError) as error:
            aside = path.with_name(f"{path.name}.damaged-{secrets.token_hex(4)}")
            with suppress(FileNotFoundError):  # another process has set it aside
                os.replace(path, aside)
            why = " ".join(str(error).removeprefix(f"{path} is not a readable ").split())
            self._warn(f"{path} is damaged ({why}); set aside as {aside.name}, computing again")
            return None
        # Left behind by an interrupt between the two steps of `write`.
        shutil.rmtree(self.scratch(key), ignore_errors=True)
        return found

    def write(self, key: Key, arrays: Arrays, seconds: float) -> Kept:
        """Keep a block, whole or not at all.

        Args:
            key: Of the block.
            arrays: What it gave.
            seconds: What it took.

        Returns:
            What `read` would give.
        """
        kept = Kept(arrays, seconds, versions())
        content = {
            "identity": key.identity,
            "seed": key.seed,
            "block": key.block,
            "seconds": seconds,
            "versions": kept.versions,
            "command": command(),
        }
        archive.write(self.path(key), "results", content, arrays)
        shutil.rmtree(self.scratch(key), ignore_errors=True)
        return kept

    def _folder(self, key: Key) -> Path:
        return self.root / key.experiment / key.digest / f"seed-{key.seed}"


def _checked(key: Key, manifest: dict[str, Any], arrays: Arrays) -> Kept:
    """What a file holds that must be the block of this key."""
    if (manifest["identity"], manifest["seed"], manifest["block"]) != (
        key.identity,
        key.seed,
        key.block,
    ):
        raise ValueError("it holds another result")
    # Earlier versions listed the arrays by name only.
    if sorted(manifest["arrays"]) != sorted(arrays):
        raise ValueError("arrays are missing")
    versions = manifest["versions"]
    if not isinstance(versions, dict) or not all(isinstance(v, str) for v in versions.values()):
        raise TypeError("its versions are not names with numbers")
    return Kept(arrays, float(manifest["seconds"]), versions)
