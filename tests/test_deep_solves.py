"""Small problems are solved from several seeds; `benchmarks/solve.py` does it at full size."""

import numpy as np
import pytest

from fhtd import oracle
from fhtd.envs import FiniteMDPEnv
from fhtd.problems.grid import grid_mdp

pytest.importorskip("equinox")

from fhtd.deep import DFHQ

SEEDS = (0, 1, 2)
MAZE = ("S#..", "..#.", "#...", "..#G")


@pytest.mark.parametrize("seed", SEEDS)
def test_cartpole_is_balanced(seed):
    """A random policy lasts for 22 steps, the first greedy one for 9; the limit is 500."""
    agent = DFHQ(
        "CartPole-v1",
        preset="paper",
        horizon=200,
        n_step=8,
        discount=1.0,
        hidden=(64, 64),
        optimiser="adam",
        learning_rate=5e-4,
        batch_size=64,
        learning_starts=1000,
        epsilon_frames=3000,
        epsilon_final=0.05,
        seed=seed,
    )
    agent.learn(9000)
    assert agent.evaluate(10, seed=1000).mean() > 195


@pytest.mark.parametrize("seed", SEEDS)
def test_the_way_out_of_a_maze_is_the_shortest(seed):
    """Every step costs 1: the greedy policy's exact value is that of the best policy."""
    mdp = grid_mdp(MAZE, np.full((4, 4), -1.0), "maze", slip=0.2)
    agent = DFHQ(
        FiniteMDPEnv(mdp),
        preset="paper",
        horizon=24,
        discount=1.0,
        hidden=(32,),
        optimiser="adam",
        learning_rate=2e-3,
        learning_starts=200,
        epsilon_final=0.5,
        epsilon_frames=2000,
        max_episode_frames=60,
        seed=seed,
    )
    begin = value_of_greedy(agent, mdp)
    agent.learn(4000)
    best = oracle.infinite_optimal(mdp, 1.0).state_values
    best = float(mdp.start @ np.nan_to_num(best))
    assert begin < 2 * best
    assert value_of_greedy(agent, mdp) == pytest.approx(best, rel=0.02)


def value_of_greedy(agent, mdp):
    """Exact value at the start; every thousandth move is random, so that all episodes end."""
    greedy = [agent.predict(s, deterministic=True)[0] for s in range(mdp.n_states)]
    policy = 0.999 * np.eye(mdp.n_actions)[greedy] + 0.001 / mdp.n_actions
    return float(mdp.start @ oracle.infinite_state_values(mdp, policy, 1.0))
