"""Where a number comes from: versions of everything that shapes it, and the command."""

import platform
import shlex
import sys
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


def command() -> str:
    """The command line as it could be typed again, without the folder of the program."""
    program = Path(sys.argv[0])
    name = f"python -m {program.parent.name}" if program.stem == "__main__" else program.name
    return " ".join([name, *map(shlex.quote, sys.argv[1:])])
