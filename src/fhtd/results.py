"""The one results store: an immutable file per block of runs, found by what it depends on.

    <root>/<experiment>/<digest of settings>/seed-<seed>/<block>.npz

The digest covers the experiment's revision and every setting that changes a block's content, so a
newer version whose numbers would differ has other names and never mixes with older files.
"""

import hashlib
import json
import os
import platform
import secrets
import sys
import zipfile
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import fhtd
from fhtd.experiments.experiment import Arrays, Experiment

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
        return cls(experiment.name, identity, seed, block)

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

    def read(self, key: Key) -> Arrays | None:
        """The block, or None; a damaged file is named, set aside and counts as missing."""
        path = self.path(key)
        if not path.exists():
            return None
        try:
            with np.load(path, allow_pickle=False) as file:
                arrays = {name: file[name] for name in file.files}
            manifest = json.loads(arrays.pop(_MANIFEST).tobytes())
            found = (manifest["identity"], manifest["seed"], manifest["block"])
            if found != (key.identity, key.seed, key.block):
                raise ValueError("it holds another result")
        except (
            ValueError,
            KeyError,
            TypeError,
            AttributeError,
            EOFError,
            zipfile.BadZipFile,
            zlib.error,
            NotImplementedError,
            MemoryError,
        ) as error:
            aside = path.with_name(f"{path.name}.damaged-{secrets.token_hex(4)}")
            os.replace(path, aside)
            self._warn(f"{path} is damaged ({error}); set aside as {aside.name}, computing again")
            return None
        return arrays

    def write(self, key: Key, arrays: Arrays, seconds: float) -> None:
        """Keep a block: written beside its place, then renamed, so that it is whole or absent."""
        path = self.path(key)
        path.parent.mkdir(parents=True, exist_ok=True)
        manifest = {
            "identity": key.identity,
            "seed": key.seed,
            "block": key.block,
            "seconds": seconds,
            "versions": versions(),
            "command": command(),
        }
        packed = np.frombuffer(json.dumps(manifest).encode(), np.uint8)
        temporary = path.with_name(f".{path.name}.{os.getpid()}-{secrets.token_hex(4)}")
        try:
            with open(temporary, "wb") as file:
                np.savez(file, **{_MANIFEST: packed}, **arrays)  # type: ignore[arg-type]
                file.flush()
                os.fsync(file.fileno())
            os.replace(temporary, path)
        finally:
            temporary.unlink(missing_ok=True)


def write_atomically(path: Path, content: bytes) -> None:
    """Write a whole file or none."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}-{secrets.token_hex(4)}")
    try:
        temporary.write_bytes(content)
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


def versions() -> dict[str, str]:
    """Of everything that shapes a number."""
    import numba

    return {
        "fhtd": fhtd.__version__,
        "python": platform.python_version(),
        "numpy": np.__version__,
        "numba": numba.__version__,
        "machine": platform.machine(),
    }


def command() -> str:
    """The command line, without the folder of the program."""
    return " ".join([Path(sys.argv[0]).name, *sys.argv[1:]])
