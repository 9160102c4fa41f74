"""The one results store: an immutable file per block of runs, found by what it depends on.

    <root>/<experiment>/<digest of settings>/seed-<seed>/<block>.npz

The digest covers the experiment's revision and every setting that changes a block's content, so a
newer version whose numbers would differ has other names and never mixes with older files.
"""

import hashlib
import io
import json
import os
import secrets
import shutil
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from fhtd.files import write_atomically
from fhtd.provenance import command, versions
from fhtd.reproduction.experiment import Arrays, Experiment

_MANIFEST = "manifest"


@dataclass(frozen=True)
class Key:
    """Names one block: what it is a result of."""

    experiment: str
    identity: str
    seed: int
    block: str

    @classmethod
    def of(cls, experiment: Experiment, config: Any, seed: int, block: str) -> "Key":
        """The key of a block of an experiment with these settings."""
        identity = json.dumps(experiment.identity(config), sort_keys=True)
        return cls(experiment.work or experiment.name, identity, seed, block)

    @property
    def digest(self) -> str:
        """Short digest of the settings."""
        return hashlib.sha256(self.identity.encode()).hexdigest()[:16]


class Store:
    """Blocks in a folder; safe with several processes, since files appear whole or not at all."""

    def __init__(self, root: Path, warn: Callable[[str], None]) -> None:
        self.root = root
        self._warn = warn

    def path(self, key: Key) -> Path:
        """Where the block is, or would be."""
        return self.root / key.experiment / key.digest / f"seed-{key.seed}" / f"{key.block}.npz"

    def scratch(self, key: Key) -> Path:
        """Where a long block keeps its checkpoint until it is finished."""
        return self.path(key).with_suffix(".partial")

    def read(self, key: Key) -> tuple[Arrays, float] | None:
        """The block and the seconds it took, or None.

        A damaged file is named, set aside and counts as missing.
        """
        path = self.path(key)
        try:
            content = path.read_bytes()
        except FileNotFoundError:
            return None
        # Left behind by an interrupt between the two steps of `write`.
        shutil.rmtree(self.scratch(key), ignore_errors=True)
        try:
            return _unpack(key, content)
        except Exception as error:  # a damaged archive can make its decoders raise anything
            aside = path.with_name(f"{path.name}.damaged-{secrets.token_hex(4)}")
            with suppress(FileNotFoundError):  # another process has set it aside
                os.replace(path, aside)
            why = " ".join(str(error).split())
            self._warn(f"{path} is damaged ({why}); set aside as {aside.name}, computing again")
            return None

    def write(self, key: Key, arrays: Arrays, seconds: float) -> None:
        """Keep a block, whole or not at all."""
        manifest = {
            "identity": key.identity,
            "seed": key.seed,
            "block": key.block,
            "arrays": sorted(arrays),
            "seconds": seconds,
            "versions": versions(),
            "command": command(),
        }
        packed = np.frombuffer(json.dumps(manifest).encode(), np.uint8)
        file = io.BytesIO()
        np.savez(file, **{_MANIFEST: packed}, **arrays)  # type: ignore[arg-type]
        write_atomically(self.path(key), file.getvalue())
        shutil.rmtree(self.scratch(key), ignore_errors=True)


def _unpack(key: Key, content: bytes) -> tuple[Arrays, float]:
    """Arrays and seconds of a file that must be the block of this key."""
    with np.load(io.BytesIO(content), allow_pickle=False) as file:
        # A header that asks for fewer bytes than there are would pass its checksum by.
        if (broken := file.zip.testzip()) is not None:
            raise ValueError(f"bad checksum of {broken}")
        arrays = {name: file[name] for name in file.files}
    manifest = json.loads(arrays.pop(_MANIFEST).tobytes())
    found = (manifest["identity"], manifest["seed"], manifest["block"])
    if found != (key.identity, key.seed, key.block):
        raise ValueError("it holds another result")
    if manifest["arrays"] != sorted(arrays):
        raise ValueError("arrays are missing")
    return arrays, float(manifest["seconds"])
