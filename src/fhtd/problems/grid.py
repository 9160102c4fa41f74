"""Grid worlds as finite MDPs: four moves, and bumping into anything keeps the agent in place."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from fhtd import checks
from fhtd.features import Features
from fhtd.mdp import FiniteMDP
from fhtd.policy import uniform
from fhtd.problems.problem import Problem

#: Actions in order, and the change of row and column that each makes.
MOVES = {"up": (-1, 0), "right": (0, 1), "down": (1, 0), "left": (0, -1)}


def grid_mdp(
    layout: Sequence[str],
    entry_rewards: npt.ArrayLike,
    name: str,
    slip: float = 0.0,
) -> FiniteMDP:
    """Build from a map; states are the cells that are not blocked, row by row.

    Args:
        layout: Rows of cells: `#` is blocked, `G` ends the episode, `S` starts one, `.` is free.
            Without an `S` every cell is an equally likely start.
        entry_rewards: (rows, columns): paid on entering a cell, and again on bumping in it.
        name: What to call it.
        slip: The probability that one of the four moves, drawn uniformly, replaces the chosen.

    Returns:
        The MDP, with names of its actions and places for drawing.

    Raises:
        ValueError: The map is not rows of equal length of these characters, with a start.

    >>> from fhtd import oracle, policy, problems
    >>> corridor = problems.grid_mdp(["S..G"], [[-1, -1, -1, -1]], name="corridor")
    >>> right = policy.deterministic([1, 1, 1, 1], n_actions=4)
    >>> oracle.mean_episode_length(corridor, right)
    3.0
    """
    if not layout or len({len(line) for line in layout}) != 1:
        raise ValueError("layout must be rows of equal length")
    cells = np.array([list(line) for line in layout])
    if not np.isin(cells, list("#.SG")).all():
        raise ValueError("layout must use the characters # . S G only")
    if not np.isin(cells, list(".S")).any():
        raise ValueError("layout must have a cell to start in")
    rewards = checks.array("entry_rewards", entry_rewards, cells.shape)
    slip = checks.real("slip", slip, 0, 1)
    positions = np.argwhere(cells != "#")
    kinds = cells[tuple(positions.T)]
    n_states, n_moves = len(positions), len(MOVES)

    numbers = np.full(np.add(cells.shape, 2), -1)
    numbers[tuple(positions.T + 1)] = np.arange(n_states)
    moves = np.array(list(MOVES.values()))
    ahead = numbers[tuple(np.moveaxis(positions[:, None, :] + moves + 1, 2, 0))]
    entered = np.where(ahead < 0, np.arange(n_states)[:, None], ahead)
    goals = kinds == "G"
    entered[goals] = np.flatnonzero(goals)[:, None]

    if slip:
        # Outcome k is the k-th move, whichever action was chosen.
        outcomes = np.broadcast_to(entered[:, None, :], (n_states, n_moves, n_moves))
        chances = (1 - slip) * np.eye(n_moves) + slip / n_moves
    else:
        outcomes = entered[:, :, None]
        chances = np.ones((n_moves, 1))
    paid = rewards[tuple(positions.T)][outcomes]
    paid[goals] = 0.0
    starts = kinds == "S" if "S" in kinds else ~goals
    return FiniteMDP(
        np.broadcast_to(chances, outcomes.shape),
        outcomes,
        paid,
        goals[outcomes],
        starts / starts.sum(),
        name=name,
        action_names=tuple(MOVES),
        positions=positions,
    )


def equiprobable(mdp: FiniteMDP) -> Problem:
    """Undiscounted, one feature per state, every action equally likely."""
    policy = uniform(mdp.n_states, mdp.n_actions)
    return Problem(mdp, Features.tabular(mdp.n_states), policy, policy, 1.0)
