"""Finite MDPs as Gymnasium environments: the interface, the odds, the pictures."""

import pickle
import subprocess
import sys
import warnings
from collections.abc import Callable
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.error import ResetNeeded
from gymnasium.utils.env_checker import check_env
from hypothesis import given, settings
from hypothesis import strategies as st

from fhtd import oracle, problems
from fhtd.envs import IDS, FiniteMDPEnv, register
from fhtd.mdp import FiniteMDP
from strategies import finite_mdps
from worlds import wrong


def make(environment: str, **options: Any) -> FiniteMDPEnv:
    """The bare environment, without Gymnasium's wrappers."""
    env = gymnasium.make(environment, **options).unwrapped
    assert isinstance(env, FiniteMDPEnv)
    return env


@pytest.mark.parametrize("environment", IDS)
@pytest.mark.parametrize("render_mode", [None, "ansi", "rgb_array"])
def test_gymnasiums_checker_has_nothing_to_say(environment: str, render_mode: str | None) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_env(make(environment, render_mode=render_mode))


def test_the_five_ids() -> None:
    names = {"Baird", "CheckeredGrid", "RandomGrid", "RandomWalk", "SlipperyMaze"}
    assert set(IDS) == {f"fhtd/{name}-v0" for name in names}


@pytest.mark.parametrize("environment", IDS)
def test_no_time_limit(environment: str) -> None:
    assert gymnasium.spec(environment).max_episode_steps is None


def test_registering_again_is_silent() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        register()


@pytest.mark.parametrize(
    "program",
    [
        "import gymnasium; gymnasium.make('fhtd.envs:fhtd/Baird-v0')",
        "import fhtd.envs, gymnasium; gymnasium.make('fhtd/RandomWalk-v0')",
        # Neither the package nor the world as data may load what they do not need.
        "import sys, fhtd, fhtd.problems, fhtd.oracle; "
        "heavy = {'gymnasium', 'numba', 'jax', 'matplotlib'} & set(sys.modules); assert not heavy",
    ],
)
def test_in_a_fresh_process(program: str) -> None:
    done = subprocess.run(
        [sys.executable, "-W", "error::UserWarning", "-c", program],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


def test_options_reach_the_problem() -> None:
    grid = make("fhtd/RandomGrid-v0", layout_seed=3, size=4).mdp
    assert np.array_equal(grid.rewards, problems.random_grid(3, 4).mdp.rewards)
    firm = make("fhtd/SlipperyMaze-v0", slip=0.0).mdp
    assert firm.start @ oracle.infinite_optimal(firm, 1.0).state_values == pytest.approx(-14)
    gray = make("fhtd/CheckeredGrid-v0", start_reward=-1.0)
    gray.reset(seed=0)
    assert gray.step(0)[1] == 1.0
    assert make("fhtd/RandomWalk-v0", n_states=5).mdp.n_states == 7
    with pytest.raises(TypeError, match="unexpected keyword argument 'slipperiness'"):
        make("fhtd/SlipperyMaze-v0", slipperiness=0.5)


@settings(max_examples=15, deadline=None)
@given(finite_mdps(3, 2, 3), st.integers(0, 2**32 - 1))
def test_outcomes_come_as_often_as_the_table_says(mdp: FiniteMDP, seed: int) -> None:
    env, repeats = FiniteMDPEnv(mdp), 400
    env.reset(seed=seed)
    for state, action in np.ndindex(mdp.n_states, mdp.n_actions):
        expected: dict[tuple[int, float, bool], float] = {}
        seen: dict[tuple[int, float, bool], float] = {}
        for k, p in enumerate(mdp.probabilities[state, action]):
            at = state, action, k
            key = int(mdp.next_states[at]), float(mdp.rewards[at]), bool(mdp.terminal[at])
            expected[key] = expected.get(key, 0.0) + p
        for _ in range(repeats):
            assert env.reset(options={"state": state}) == (state, {})
            following, reward, ended, cut, _ = env.step(action)
            assert cut is False
            seen[following, reward, ended] = seen.get((following, reward, ended), 0) + 1 / repeats
        for key in expected | seen:
            p = expected.get(key, 0.0)
            # Six standard errors, and never an outcome that the table excludes.
            slack = 6 * np.sqrt(p * (1 - p) / repeats) + 1e-9
            assert abs(seen.get(key, 0.0) - p) <= slack


class Zero:
    """A generator whose every draw is the smallest possible."""

    def random(self) -> float:
        return 0.0


def test_an_impossible_first_outcome_is_never_drawn() -> None:
    table = {0: {0: [(0.0, 1, 0.0, False), (1.0, 0, 0.0, False)]}, 1: {0: [(1.0, 1, 0.0, False)]}}
    env = FiniteMDPEnv(FiniteMDP.from_table(table, [0.0, 1.0]))
    env.np_random = wrong(Zero())
    assert env.reset()[0] == 1
    env.reset(options={"state": 0})
    assert env.step(0)[0] == 0


def test_starts_come_as_often_as_the_distribution_says() -> None:
    env = FiniteMDPEnv(
        FiniteMDP.from_table(
            {s: {0: [(1.0, s, 0.0, False)]} for s in range(4)}, [0.0, 0.25, 0.0, 0.75]
        )
    )
    env.reset(seed=3)
    starts = np.bincount([env.reset()[0] for _ in range(2000)], minlength=4) / 2000
    assert starts[0] == starts[2] == 0
    assert starts[1] == pytest.approx(0.25, abs=0.06)


def test_mean_episode_length_of_the_optimal_maze_policy() -> None:
    env = make("fhtd/SlipperyMaze-v0")
    actions = oracle.infinite_optimal(env.mdp, 1.0).action_values.argmax(axis=1)
    returns = []
    for episode in range(1500):
        state, _ = env.reset(seed=5 if episode == 0 else None)
        total, ended = 0.0, False
        while not ended:
            state, reward, ended, _, _ = env.step(actions[state])
            total += reward
        assert env.mdp.terminal_states[state]
        returns.append(total)
    error = np.std(returns) / np.sqrt(len(returns))
    assert abs(np.mean(returns) + 61.770461) < 5 * error < 8


@pytest.mark.parametrize("environment", IDS)
def test_the_same_seed_gives_the_same_episode(environment: str) -> None:
    def episode(seed: int) -> list[Any]:
        env = make(environment)
        course: list[Any] = [env.reset(seed=seed)[0]]
        for step in range(200):
            course.append(env.step(step % env.mdp.n_actions)[:3])
            if course[-1][2]:
                course.append(env.reset()[0])
        return course

    assert episode(1) == episode(1)
    if environment in ("fhtd/SlipperyMaze-v0", "fhtd/Baird-v0"):
        assert episode(1) != episode(2)


def test_actions_of_any_integer_kind() -> None:
    env = make("fhtd/RandomWalk-v0")
    env.reset()
    kinds: list[Any] = [1, np.int64(0), np.int32(1), np.array(0)]
    states = [env.step(action)[0] for action in kinds]
    assert states == [11, 10, 11, 10]


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda env: env.step(2), ValueError, "action must be from 0 to 1"),
        (lambda env: env.step(-1), ValueError, "action must be from 0 to 1"),
        (lambda env: env.step(0.0), TypeError, "action must be an integer"),
        (lambda env: env.reset(options={"state": 21}), ValueError, "state must be from 0 to 20"),
        (lambda env: env.reset(options={"sate": 2}), ValueError, "options must have no key but"),
        (FiniteMDPEnv, TypeError, "mdp must be a FiniteMDP"),
        (lambda env: FiniteMDPEnv(env.mdp, "human"), ValueError, "render_mode must be one of"),
    ],
)
def test_bad_input_is_refused_before_anything_changes(
    call: Callable[[FiniteMDPEnv], Any], error: type[Exception], message: str
) -> None:
    env, untouched = make("fhtd/RandomWalk-v0"), make("fhtd/RandomWalk-v0")
    env.reset(seed=0)
    untouched.reset(seed=0)
    with pytest.raises(error, match=message):
        call(env)
    assert env.step(1) == untouched.step(1)
    assert env.np_random.bit_generator.state == untouched.np_random.bit_generator.state


def test_an_episode_must_be_running() -> None:
    env = FiniteMDPEnv(problems.random_walk(1).mdp)
    with pytest.raises(ResetNeeded, match="call reset before step"):
        env.step(0)
    env.reset()
    assert env.step(0)[:3] == (0, -1.0, True)
    with pytest.raises(ResetNeeded, match="call reset before step"):
        env.step(0)


def test_vectorised_and_pickled() -> None:
    vector = gymnasium.make_vec("fhtd/SlipperyMaze-v0", num_envs=3, vectorization_mode="sync")
    observations, _ = vector.reset(seed=0)
    assert observations.tolist() == [17, 17, 17]
    env = make("fhtd/SlipperyMaze-v0")
    env.reset(seed=0)
    twin = pickle.loads(pickle.dumps(env))
    assert [env.step(0) for _ in range(9)] == [twin.step(0) for _ in range(9)]


def test_text_maps() -> None:
    env = make("fhtd/SlipperyMaze-v0", slip=0.0, render_mode="ansi")
    env.reset()
    env.step(0)
    title, *rows = str(env.render()).splitlines()
    assert title == "slippery maze, after up"
    bare = [row.replace(" ", "") for row in rows]
    assert bare == [
        ".......",
        ".#.###.",
        ".#.[.].#.",
        ".#...#.",
        ".#...#.",
        ".#####.",
        "......T",
    ]
    checkered = make("fhtd/CheckeredGrid-v0", render_mode="ansi")
    checkered.reset()
    lines = str(checkered.render()).splitlines()
    assert lines[0] == "5x5 checkered grid"
    assert lines[1].split() == ["T", "-1", "+1", "-1", "+1"]
    assert lines[3].split() == ["+1", "-1", "[+1]", "-1", "+1"]


def test_pictures_show_the_agent_where_it_is() -> None:
    env = make("fhtd/CheckeredGrid-v0", render_mode="rgb_array")
    env.reset()
    before, again = env.render(), env.render()
    assert isinstance(before, np.ndarray)
    assert isinstance(again, np.ndarray)
    assert before.dtype == np.uint8
    assert before.shape == (256, 256, 3)
    assert np.array_equal(before, again)
    env.step(1)
    after = env.render()
    assert isinstance(after, np.ndarray)
    rows, columns = np.nonzero((before != after).any(axis=2))
    # Only the centre cell and the one to its right changed: 48 pixels each, 8 around the map.
    assert rows.min() >= 8 + 2 * 48
    assert rows.max() < 8 + 3 * 48
    assert columns.min() >= 8 + 2 * 48
    assert columns.max() < 8 + 4 * 48


def test_pictures_tell_rewards_walls_and_ends_apart() -> None:
    def corners(environment: str) -> Any:
        env = make(environment, render_mode="rgb_array")
        env.reset(options={"state": 1})
        image = env.render()
        assert isinstance(image, np.ndarray)
        # One pixel of each cell, near its corner and so beside any mark.
        return image[8 + 6 : -8 : 48, 8 + 6 : -8 : 48]

    maze = corners("fhtd/SlipperyMaze-v0")
    kinds = np.unique(maze.reshape(-1, 3), axis=0, return_counts=True)[1]
    assert sorted(kinds) == [15, 34]
    checkered = corners("fhtd/CheckeredGrid-v0")
    assert len(np.unique(checkered.reshape(-1, 3), axis=0)) == 2


def test_large_and_unmapped_worlds_stay_small() -> None:
    taxi = FiniteMDPEnv(FiniteMDP.from_gymnasium("Taxi-v4"), "rgb_array")
    taxi.reset(seed=0)
    image = taxi.render()
    assert isinstance(image, np.ndarray)
    assert max(image.shape) <= 700
    text = FiniteMDPEnv(FiniteMDP.from_gymnasium("FrozenLake-v1"), "ansi")
    text.reset()
    assert str(text.render()).splitlines()[1].count("T") == 5


def test_rendering_without_a_mode_warns() -> None:
    env = make("fhtd/Baird-v0")
    env.reset()
    with pytest.warns(UserWarning, match="has no render_mode"):
        assert env.render() is None
