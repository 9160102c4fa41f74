"""What the paper's experiments would take in plain Python: extrapolated from a slice of each.

The slice runs `tests/reference.py`, the naive loops of the pseudocode, on some hundred transitions;
its time per transition is multiplied by the transitions at the paper's scale. Measuring errors,
which the experiments also do, is left out, in favour of plain Python. Our time is the core time of
the committed results, measuring included.
"""

import csv
import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from fhtd import oracle, problems
from fhtd.problems import Problem

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests"))

import reference  # noqa: E402

SLICE = 120


def stream(problem: Problem, n_actions: int = 1) -> list[Any]:
    """Transitions of the behaviour policy, with features as lists."""
    rng = np.random.default_rng(0)
    mdp, rows = problem.mdp, problem.features.matrix.tolist()
    state, found = int(rng.choice(mdp.n_states, p=mdp.start)), []
    for _ in range(SLICE):
        action = int(rng.choice(mdp.n_actions, p=problem.behaviour[state]))
        outcome = int(rng.choice(mdp.probabilities.shape[2], p=mdp.probabilities[state, action]))
        following = int(mdp.next_states[state, action, outcome])
        ended = bool(mdp.terminal[state, action, outcome])
        reward = float(mdp.rewards[state, action, outcome])
        found.append(
            reference.Transition(
                rows[state], reward, rows[following], ended, action=action if n_actions > 1 else 0
            )
        )
        state = int(rng.choice(mdp.n_states, p=mdp.start)) if ended else following
    return found


def seconds_per_transition(run: Callable[[], Any]) -> float:
    """The faster of two runs over the slice."""
    times = []
    for _ in range(2):
        begun = time.perf_counter()
        run()
        times.append(time.perf_counter() - begun)
    return min(times) / SLICE


def weights(problem: Problem, horizons: list[int], n_actions: int = 1) -> dict[int, list[float]]:
    """Zeros for every horizon, as the reference keeps them."""
    return {h: [0.0] * (problem.features.size * n_actions) for h in [0, *horizons]}


def every(horizon: int) -> tuple[list[float], list[float]]:
    """c and d of undiscounted sums, indexed by horizon."""
    return [1.0] * (horizon + 1), [1.0] * (horizon + 1)


def one_step(problem: Problem, horizon: int) -> float:
    """FHTD's seconds per transition."""
    table, data = weights(problem, list(range(1, horizon + 1))), stream(problem)
    return seconds_per_transition(
        lambda: reference.fhtd(data, table, *every(horizon), lambda t: 0.01)
    )


def control(problem: Problem, horizon: int) -> float:
    """FHQ's seconds per transition."""
    n_actions = problem.mdp.n_actions
    table = weights(problem, list(range(1, horizon + 1)), n_actions)
    data = stream(problem, n_actions)
    return seconds_per_transition(
        lambda: reference.fhq(data, table, *every(horizon), lambda t: 0.01)
    )


def n_step(problem: Problem, horizon: int, n: int) -> float:
    """n-step FHTD's seconds per transition."""
    table, data = weights(problem, list(range(n, horizon + 1, n))), stream(problem)
    return seconds_per_transition(
        lambda: reference.n_step_fhtd(data, table, *every(horizon), lambda t: 0.01, n)
    )


def traces(problem: Problem, horizon: int) -> float:
    """FHTD(lambda)'s seconds per transition."""
    table, data = weights(problem, list(range(1, horizon + 1))), stream(problem)
    return seconds_per_transition(
        lambda: reference.fhtd_lambda(data, table, *every(horizon), lambda t: 0.01, 0.9)
    )


def estimates() -> dict[str, float]:
    """Seconds in plain Python, by experiment."""
    baird, walk, maze = problems.baird(), problems.random_walk(), problems.slippery_maze()
    grid = problems.checkered_grid()
    with open(ROOT / "results/slippery-maze/lengths.csv", newline="") as file:
        rows = [(row["arm"], float(row["mean_length"])) for row in csv.DictReader(file)]
    maze_cost = {h: control(maze, h) for h in (1, 8, 16, 32, 48)}
    lengths = oracle.mean_episode_length(grid.mdp, grid.behaviour)
    # 9 step sizes, 100 runs, 200 episodes of each arm.
    grid_steps = 9 * 100 * 200 * float(lengths)
    return {
        "baird": 2 * 1e7 * one_step(baird, 100) + 1e7 * one_step(baird, 1),
        "slippery-maze": sum(
            length * 1e4 * maze_cost[int(arm[4:]) if arm.startswith("fhq") else 1]
            for arm, length in rows
        ),
        "random-walk": 2e7 * (one_step(walk, 100) + one_step(walk, 1)),
        "checkered-grid": grid_steps
        * (sum(n_step(grid, 32, 2**k) for k in range(6)) + 6 * traces(grid, 32)),
        "weightings": 6 * 20 * 1e6 * (one_step(grid, 16) + one_step(walk, 16)),
    }


def main() -> None:
    """Print both times and their ratio."""
    print(__doc__)
    found = estimates()
    ours = {
        name: json.loads((ROOT / f"results/{name}/summary.json").read_text())["seconds"]
        for name in found
    }
    found["together"], ours["together"] = sum(found.values()), sum(ours.values())
    for name, plain in found.items():
        hours, ratio = plain / 3600, plain / ours[name]
        print(f"{name:16} plain Python {hours:6.1f} h, ours {ours[name]:6.1f} s: {ratio:6.0f} x")


if __name__ == "__main__":
    main()
