"""The paper's problems: their published constants, and every rule in their descriptions."""

from collections import deque
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from fhtd import oracle, problems
from fhtd.features import Features
from fhtd.mdp import FiniteMDP
from fhtd.problems import Problem
from fhtd.weighting import Weighting
from worlds import wrong

MAZE = [
    ".......",
    ".#.###.",
    ".#...#.",
    ".#.S.#.",
    ".#...#.",
    ".#####.",
    "......G",
]
STEPS = {"up": (-1, 0), "right": (0, 1), "down": (1, 0), "left": (0, -1)}


def state_at(mdp: FiniteMDP, row: int, column: int) -> int:
    assert mdp.positions is not None
    return int(np.flatnonzero((mdp.positions == (row, column)).all(axis=1))[0])


def outcomes(mdp: FiniteMDP, state: int, action: int) -> dict[tuple[int, float, bool], float]:
    """Probability of each (next state, reward, ends), equal ones added up."""
    found: dict[tuple[int, float, bool], float] = {}
    for k, p in enumerate(mdp.probabilities[state, action]):
        at = state, action, k
        key = int(mdp.next_states[at]), float(mdp.rewards[at]), bool(mdp.terminal[at])
        if p > 0:
            found[key] = found.get(key, 0.0) + float(p)
    return found


@pytest.mark.parametrize("name", problems.PROBLEMS)
def test_every_problem_is_complete(name: str) -> None:
    problem = problems.PROBLEMS[name]()
    shape = (problem.mdp.n_states, problem.mdp.n_actions)
    assert problem.target.shape == problem.behaviour.shape == shape
    assert problem.features.n_states == shape[0]
    assert len(problem.mdp.action_names) == shape[1]
    assert not problem.mdp.rewards[problem.mdp.terminal_states].any()


def test_maze_shortest_path_by_breadth_first_search() -> None:
    cells = {(i, j): c for i, row in enumerate(MAZE) for j, c in enumerate(row) if c != "#"}
    goal = next(place for place, c in cells.items() if c == "G")
    distance, queue = {goal: 0}, deque([goal])
    while queue:
        i, j = queue.popleft()
        for di, dj in STEPS.values():
            if (i + di, j + dj) in cells and (i + di, j + dj) not in distance:
                distance[i + di, j + dj] = distance[i, j] + 1
                queue.append((i + di, j + dj))
    assert distance[3, 3] == 14
    firm = problems.slippery_maze(slip=0.0).mdp
    best = oracle.infinite_optimal(firm, 1.0)
    assert firm.start @ best.state_values == pytest.approx(-14)
    for place, steps in distance.items():
        assert best.state_values[state_at(firm, *place)] == pytest.approx(-steps)


def test_maze_optimal_mean_episode_length() -> None:
    mdp = problems.slippery_maze().mdp
    best = oracle.infinite_optimal(mdp, 1.0)
    assert mdp.start @ best.state_values == pytest.approx(-61.770461, abs=5e-7)
    assert oracle.mean_episode_length(mdp, best.policy) == pytest.approx(61.770461, abs=5e-7)


def test_maze_moves() -> None:
    mdp = problems.slippery_maze().mdp
    assert mdp.n_states == sum(c != "#" for row in MAZE for c in row) == 34
    start = state_at(mdp, 3, 3)
    assert np.flatnonzero(mdp.start).tolist() == [start]
    up, right = state_at(mdp, 2, 3), state_at(mdp, 3, 4)
    chances = outcomes(mdp, start, mdp.action_names.index("up"))
    assert chances[up, -1.0, False] == pytest.approx(0.25 + 0.75 / 4)
    assert chances[right, -1.0, False] == pytest.approx(0.75 / 4)
    # Against a wall: up and left lead nowhere from the top-left corner.
    corner = state_at(mdp, 0, 0)
    stays = outcomes(mdp, corner, mdp.action_names.index("left"))[corner, -1.0, False]
    assert stays == pytest.approx(0.25 + 2 * 0.75 / 4)
    goal, beside = state_at(mdp, 6, 6), state_at(mdp, 6, 5)
    assert (goal, -1.0, True) in outcomes(mdp, beside, mdp.action_names.index("right"))
    assert np.flatnonzero(mdp.terminal_states).tolist() == [goal]


def test_maze_slips_always_or_never() -> None:
    always = problems.slippery_maze(slip=1.0).mdp
    q = oracle.infinite_optimal(always, 1.0).action_values
    assert np.allclose(q, q[:, :1])
    assert problems.slippery_maze(slip=0.0).mdp.probabilities.shape[2] == 1


def test_random_walk_values_and_rewards() -> None:
    problem = problems.random_walk()
    mdp = problem.mdp
    assert mdp.n_states == 21
    assert np.flatnonzero(mdp.terminal_states).tolist() == [0, 20]
    assert np.flatnonzero(mdp.start).tolist() == [10]
    values = oracle.infinite_state_values(mdp, problem.target, problem.discount)
    assert np.allclose(values[1:20], np.arange(1, 20) / 10 - 1)
    assert values[[0, 20]].tolist() == [0.0, 0.0]
    assert outcomes(mdp, 1, 0) == {(0, -1.0, True): 1.0}
    assert outcomes(mdp, 19, 1) == {(20, 1.0, True): 1.0}
    assert outcomes(mdp, 5, 0) == {(4, 0.0, False): 1.0}


@pytest.mark.parametrize("start_reward", [1.0, -1.0])
def test_checkered_grid_colours(start_reward: float) -> None:
    problem = problems.checkered_grid(start_reward=start_reward)
    mdp = problem.mdp
    centre = state_at(mdp, 2, 2)
    assert np.flatnonzero(mdp.start).tolist() == [centre]
    ends = [state_at(mdp, 0, 0), state_at(mdp, 4, 4)]
    assert np.flatnonzero(mdp.terminal_states).tolist() == ends
    assert mdp.positions is not None
    for state in np.flatnonzero(~mdp.terminal_states):
        row, column = mdp.positions[state]
        for action, (di, dj) in enumerate(STEPS.values()):
            i, j = row + di, column + dj
            if not (0 <= i < 5 and 0 <= j < 5):
                i, j = row, column
            reached = state_at(mdp, i, j)
            white = (i + j) % 2 == 0
            reward = 11.0 if reached in ends else start_reward if white else -start_reward
            expected = {(reached, reward, reached in ends): 1.0}
            assert outcomes(mdp, int(state), action) == expected


def test_checkered_grid_colour_changes_the_values() -> None:
    white, gray = (problems.checkered_grid(start_reward=r) for r in (1.0, -1.0))
    weighting = Weighting.exponential(32)
    one, other = (oracle.state_values(p.mdp, p.target, weighting)[12] for p in (white, gray))
    assert one[0] == -1.0
    assert other[0] == 1.0
    assert not np.allclose(one, other)


def test_random_grid_is_continuing_and_pays_on_entry() -> None:
    mdp = problems.random_grid(seed=4).mdp
    assert mdp.n_states == 64
    assert not mdp.terminal.any()
    assert np.allclose(mdp.start, 1 / 64)
    for state in range(64):
        paid = mdp.rewards[(mdp.next_states == state) & (mdp.probabilities > 0)]
        assert len(set(paid)) == 1
        assert paid[0] in range(-3, 4)
    corner = outcomes(mdp, 0, 0)
    assert [s for s, _, _ in corner] == [0]


def test_random_grids_differ_by_seed_and_cover_the_range() -> None:
    one, again = problems.random_grid(1).mdp, problems.random_grid(1).mdp
    assert np.array_equal(one.rewards, again.rewards)
    assert not np.array_equal(one.rewards, problems.random_grid(2).mdp.rewards)
    entered = np.concatenate([problems.random_grid(s).mdp.rewards[:, 0, 0] for s in range(200)])
    counts = np.array([(entered == r).mean() for r in range(-3, 4)])
    assert np.all(np.abs(counts - 1 / 7) < 0.03)


def test_baird_as_described() -> None:
    problem = problems.baird()
    mdp = problem.mdp
    for state in range(7):
        dashed = outcomes(mdp, state, mdp.action_names.index("dashed"))
        assert dashed == {(s, 0.0, False): pytest.approx(1 / 6) for s in range(6)}
        solid = outcomes(mdp, state, mdp.action_names.index("solid"))
        assert solid == {(6, 0.0, False): 1.0}
    assert problem.initial_weights is not None
    initial = problem.features.matrix @ problem.initial_weights
    assert initial.tolist() == [3.0] * 6 + [12.0]
    assert problem.features.matrix[2].tolist() == [0, 0, 2, 0, 0, 0, 0, 1]
    assert problem.features.matrix[6].tolist() == [0, 0, 0, 0, 0, 0, 1, 2]
    assert np.array_equal(problem.target, np.tile([0.0, 1.0], (7, 1)))
    assert np.allclose(problem.behaviour, [6 / 7, 1 / 7])
    assert np.allclose(oracle.stationary_distribution(mdp, problem.behaviour), 1 / 7)
    assert problem.discount == 0.99


def test_a_grid_of_ones_own() -> None:
    mdp = problems.grid_mdp(["S#G", "..."], np.zeros((2, 3)), "hook")
    assert mdp.n_states == 5
    best = oracle.optimal(mdp, Weighting.exponential(4))
    assert best.state_values.tolist() == np.zeros((5, 4)).tolist()


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: problems.random_walk(0), ValueError, "n_states must be at least 1"),
        (lambda: problems.random_walk(4), ValueError, "n_states must be odd"),
        (lambda: problems.checkered_grid(4), ValueError, "size must be odd"),
        (lambda: problems.checkered_grid(1), ValueError, "size must be at least 3"),
        (lambda: problems.checkered_grid(5, np.nan), ValueError, "start_reward must be finite"),
        (lambda: problems.random_grid(-1), ValueError, "seed must be at least 0"),
        (lambda: problems.random_grid(0, 0), ValueError, "size must be at least 1"),
        (lambda: problems.random_grid(wrong(0.5)), TypeError, "seed must be an integer"),
        (lambda: problems.slippery_maze(1.5), ValueError, "slip must be finite and at least 0"),
        (lambda: problems.grid_mdp(["..", "."], [[0]], "x"), ValueError, "layout must be"),
        (lambda: problems.grid_mdp([".?"], [[0, 0]], "x"), ValueError, "layout must use"),
        (lambda: problems.grid_mdp(["#G"], [[0, 0]], "x"), ValueError, "layout must have"),
        (lambda: problems.grid_mdp(["S."], [[0]], "x"), ValueError, "entry_rewards must have"),
    ],
)
def test_bad_options_are_refused_by_name(
    call: Callable[[], Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        call()


def test_a_problem_must_fit_together() -> None:
    parts = problems.baird()
    uniform = np.full((7, 2), 0.5)
    with pytest.raises(ValueError, match="features must describe 7 states, got 3"):
        Problem(parts.mdp, Features.tabular(3), uniform, uniform, 0.9)
    with pytest.raises(ValueError, match="behaviour must have shape"):
        Problem(parts.mdp, parts.features, uniform, uniform[:3], 0.9)
    with pytest.raises(ValueError, match="initial_weights must have shape"):
        Problem(parts.mdp, parts.features, uniform, uniform, 0.9, np.zeros(3))
    with pytest.raises(ValueError, match="discount must be finite"):
        Problem(parts.mdp, parts.features, uniform, uniform, np.inf)
