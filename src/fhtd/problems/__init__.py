"""The paper's problems as data."""

from collections.abc import Callable, Mapping
from types import MappingProxyType

from fhtd.problems.baird import baird
from fhtd.problems.checkered_grid import checkered_grid
from fhtd.problems.grid import grid_mdp
from fhtd.problems.problem import Problem
from fhtd.problems.random_grid import random_grid
from fhtd.problems.random_walk import random_walk
from fhtd.problems.slippery_maze import slippery_maze

#: Every problem by name, for command lines and configurations.
PROBLEMS: Mapping[str, Callable[..., Problem]] = MappingProxyType(
    {
        "baird": baird,
        "random-walk": random_walk,
        "checkered-grid": checkered_grid,
        "random-grid": random_grid,
        "slippery-maze": slippery_maze,
    }
)

__all__ = [
    "PROBLEMS",
    "Problem",
    "baird",
    "checkered_grid",
    "grid_mdp",
    "random_grid",
    "random_walk",
    "slippery_maze",
]
