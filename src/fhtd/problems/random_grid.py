"""Random grid worlds: a continuing problem with a reward of its own in every cell."""

import numpy as np

from fhtd import checks
from fhtd.problems.grid import equiprobable, grid_mdp
from fhtd.problems.problem import Problem

LARGEST_REWARD = 3


def random_grid(seed: int = 0, size: int = 8) -> Problem:
    """Entering a cell pays an integer from -3 to 3, drawn once; bumping enters the cell anew.

    There is no end, and every cell is an equally likely start.

    Args:
        seed: Seed of the rewards; the same seed gives the same grid.
        size: Rows and columns.

    Returns:
        The grid with one feature for each cell, under the equiprobable policy.

    >>> from fhtd import problems
    >>> problems.random_grid(seed=1).mdp
    FiniteMDP('8x8 random grid', 64 states, 4 actions)
    """
    seed = checks.integer("seed", seed, 0)
    size = checks.integer("size", size, 1)
    generator = np.random.default_rng(np.random.SeedSequence(seed))
    rewards = generator.integers(-LARGEST_REWARD, LARGEST_REWARD + 1, (size, size))
    return equiprobable(grid_mdp(["." * size] * size, rewards, f"{size}x{size} random grid"))
