"""Small hand-made MDPs, and wrong arguments, that several tests share."""

from typing import Any

import numpy as np

from fhtd.mdp import FiniteMDP


def wrong(value: Any) -> Any:
    """An argument of a type that static checks would refuse."""
    return value


def deterministic_mdp(
    rows: list[list[tuple[int, float, bool]]], start: list[float] | None = None
) -> FiniteMDP:
    """rows[s][a] = (next state, reward, ends); starts in state 0 unless told."""
    table = {s: {a: [(1.0, *out)] for a, out in enumerate(row)} for s, row in enumerate(rows)}
    return FiniteMDP.from_table(table, start or np.eye(len(rows))[0])


def forever(reward: float = 1.0) -> FiniteMDP:
    """One state, one action, the same reward for ever."""
    return deterministic_mdp([[(0, reward, False)]])


def trap(start: int) -> FiniteMDP:
    """State 0 ends or falls into 1, which leads to 2 and back for ever; 4 ends in 3."""
    table: dict[int, dict[int, list[tuple[float, int, float, bool]]]] = {
        0: {0: [(0.5, 3, 1.0, True), (0.5, 1, 1.0, False)]},
        1: {0: [(1.0, 2, 1.0, False)]},
        2: {0: [(1.0, 1, 1.0, False)]},
        3: {0: [(1.0, 3, 0.0, True)]},
        4: {0: [(1.0, 3, 5.0, True)]},
    }
    return FiniteMDP.from_table(table, np.eye(5)[start])
