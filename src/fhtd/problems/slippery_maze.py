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

    Returns:
        The maze with one feature for each cell, under the equiprobable policy.

    >>> from fhtd import Weighting, oracle, problems
    >>> maze = problems.slippery_maze().mdp
    >>> best = oracle.infinite_optimal(maze, discount=1.0)
    >>> round(oracle.mean_episode_length(maze, best.policy), 2)  # the paper's figure
    61.77
    """
    rewards = np.full((len(LAYOUT), len(LAYOUT[0])), -1.0)
    return equiprobable(grid_mdp(LAYOUT, rewards, "slippery maze", slip))
