"""A reproduction small enough to run many times, and what it leaves in its folder."""

from pathlib import Path
from typing import Any

from commands import blocks_in
from fhtd.experiments import find, slippery_maze
from fhtd.reproduction.reproduce import Outcome, reproduce

MAZE = find("slippery-maze")
TINY = slippery_maze.Config(
    runs=3, episodes=3, horizons=(8, 16), discounts=(0.9,), step_sizes=(0.5,)
)


def reproduce_tiny(out: Path, **options: Any) -> Outcome:
    return reproduce(MAZE, TINY, out=out, **options)


def written(out: Path, *kinds: str) -> dict[str, bytes]:
    """Content by name of the files beside the raw results."""
    names = [path for kind in kinds for path in out.glob(f"*/*.{kind}")]
    return {str(path.relative_to(out)): path.read_bytes() for path in names}


def identities(out: Path) -> dict[Path, tuple[int, int]]:
    """What changes as soon as a block is written again."""
    return {path: (path.stat().st_ino, path.stat().st_mtime_ns) for path in blocks_in(out)}
