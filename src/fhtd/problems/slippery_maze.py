"""The slippery maze: find the way out when most moves are not one's own.

The paper shows it as a picture only, so the layout is a reconstruction: it has the two published
constants, a shortest path of 14 steps and an optimal mean episode length of 61.77.
"""

import numpy as np

from fhtd.problems.grid import equiprobable, grid_mdp
from fhtd.problems.problem import Problem

LAYOUT = (
    ".......",
    ".#.###.",
    ".#...#.",
    ".#.S.#.",
    ".#...#.",
    ".#####.",
    "......G",
)


def slippery_maze(slip: float = 0.75) -> Problem:
    """Every step costs 1, and most moves are not one's own.

    Args:
        slip: The probability that one of the four moves, drawn uniformly, replaces the chosen.
    """
    rewards = np.full((len(LAYOUT), len(LAYOUT[0])), -1.0)
    return equiprobable(grid_mdp(LAYOUT, rewards, "slippery maze", slip))
