"""The checkered grid world: rewards alternate like a chessboard's colours."""

import numpy as np

from fhtd import checks
from fhtd.problems.grid import equiprobable, grid_mdp
from fhtd.problems.problem import Problem

TERMINAL_REWARD = 11.0


def checkered_grid(size: int = 5, start_reward: float = 1.0) -> Problem:
    """Start in the centre; the top-left and bottom-right corners end with a reward of 11.

    Entering a cell of the start's colour pays `start_reward`, any other cell pays its negative.
    The paper does not say which colour the start has: 1 takes it as white, -1 as gray.

    Args:
        size: Rows and columns, an odd number.
        start_reward: The reward of entering a cell of the start's colour.

    Returns:
        The grid with one feature for each cell, under the equiprobable policy.

    Raises:
        ValueError: `size` is even, so that there is no centre.

    >>> from fhtd import problems
    >>> problems.checkered_grid()
    Problem('5x5 checkered grid', 25 states, 4 actions, 25 features, on-policy, discount 1)
    """
    size = checks.integer("size", size, 3)
    if size % 2 == 0:
        raise ValueError(f"size must be odd to have a centre, got {size}")
    start_reward = checks.real("start_reward", start_reward)
    cells = np.full((size, size), ".")
    cells[size // 2, size // 2] = "S"
    cells[[0, -1], [0, -1]] = "G"
    # The centre, (size // 2, size // 2), is an even number of moves from the corner.
    rows, columns = np.indices(cells.shape)
    same_colour = (rows + columns) % 2 == 0
    rewards = np.where(same_colour, start_reward, -start_reward)
    rewards[cells == "G"] = TERMINAL_REWARD
    layout = ["".join(row) for row in cells]
    return equiprobable(grid_mdp(layout, rewards, f"{size}x{size} checkered grid"))
