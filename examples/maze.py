"""Learn the way out of a maze, and write a page to look into it.

python examples/maze.py
"""

import sys
from pathlib import Path

import numpy as np

from fhtd import FHQ, Features, Weighting, oracle
from fhtd.envs import FiniteMDPEnv
from fhtd.pages import explore
from fhtd.problems import grid_mdp

steps = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
LAYOUT = ("S..#....", "...#.##.", ".#.#.#..", ".#...#.G")

maze = grid_mdp(LAYOUT, np.full((4, 8), -1.0), "my maze", slip=0.2)
agent = FHQ(
    Features.tabular(maze.n_states),
    maze.n_actions,
    Weighting.exponential(40),
    step_size=0.2,
    seed=0,
)
agent.learn(FiniteMDPEnv(maze), total_timesteps=steps, seed=0)

best = oracle.mean_episode_length(maze, oracle.infinite_optimal(maze, 1.0).policy)
mean = -agent.evaluate(episodes=100, environment=FiniteMDPEnv(maze), max_steps=1_000).mean()
print(f"steps to the exit: {mean:.1f}, and {best:.1f} at best")
Path("maze.html").write_text(explore(maze, learner=agent))
print("open maze.html")
