"""Where a number comes from: versions of everything that shapes it, and the command."""

import platform
import shlex
import sys
from collections.abc import Iterable, Mapping
from contextlib import suppress
from importlib import metadata
from pathlib import Path

import fhtd

_SHAPING = (
    *("numpy", "numba", "gymnasium", "jax", "optax", "box2d"),
    *("torch", "stable-baselines3", "sb3-contrib"),
)


def versions() -> dict[str, str]:
    """Of everything that shapes a number."""
    found = {"fhtd": fhtd.__version__, "python": platform.python_version()}
    for name in _SHAPING:
        with suppress(metadata.PackageNotFoundError):
            found[name] = metadata.version(name)
    return {**found, "machine": platform.machine()}


def joined(several: Iterable[Mapping[str, str]]) -> dict[str, str]:
    """Versions of several computations in one: where they differ, all of them."""
    found: dict[str, set[str]] = {}
    for one in several:
        for name, version in one.items():
            found.setdefault(name, set()).add(version)
    return {name: ", ".join(sorted(each)) for name, each in found.items()}


def command() -> str:
    """The command line as it could be typed again, without the folder of the program."""
    program = Path(sys.argv[0])
    name = f"python -m {program.parent.name}" if program.stem == "__main__" else program.name
    return " ".join([name, *map(shlex.quote, sys.argv[1:])])
