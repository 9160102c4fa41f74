"""Walk through four rooms by options: one update for a whole corridor instead of one a step.

An option walks one way until it meets a wall, or stands in line with a doorway. A transition of D
steps is one update, in which horizon h bootstraps from h - D: as many updates, which is what
learning costs, see more of the world, and news of the goal travels half a room at a time.
"""

import sys

import numpy as np

from fhtd import FHQ, Features, Weighting, oracle
from fhtd.problems.grid import grid_mdp

LAYOUT = (
    "...........",
    ".....#.....",
    ".....#.....",
    "...........",
    ".....#.....",
    "#.####.....",
    ".....###.##",
    ".....#.....",
    ".....#.....",
    "..........G",
    ".....#.....",
)
#: In line with a doorway, for those who walk up or down, and for those who walk sideways.
ROWS, COLUMNS = (0, 3, 9), (1, 8)
HORIZON = 40
UPDATES = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000

rooms = grid_mdp(LAYOUT, np.full((11, 11), -1.0), "four rooms", slip=0.1)
weighting = Weighting.exponential(HORIZON)
n_states, n_actions = rooms.n_states, rooms.n_actions

# Option a takes action a until the next step that way would bump, or a doorway is in line.
policies = np.tile(np.eye(n_actions)[:, None], (1, n_states, 1))
endings = np.zeros((n_actions, n_states))
for state, (row, column) in enumerate(rooms.positions):
    for action, name in enumerate(rooms.action_names):
        ahead = rooms.next_states[state, action, rooms.probabilities[state, action].argmax()]
        in_line = row in ROWS if name in ("up", "down") else column in COLUMNS
        endings[action, state] = ahead == state or in_line


def walk(rng, state, action, by_options):
    """Rewards on the way, where it ended, and whether the episode is over."""
    rewards = []
    while True:
        k = rng.choice(rooms.probabilities.shape[2], p=rooms.probabilities[state, action])
        rewards.append(float(rooms.rewards[state, action, k]))
        ended = bool(rooms.terminal[state, action, k])
        state = int(rooms.next_states[state, action, k])
        if ended or not by_options or endings[action, state] or len(rewards) == HORIZON:
            return rewards, state, ended


for by_options in (False, True):
    exact = oracle.optimal(rooms, weighting).action_values
    if by_options:
        exact = oracle.option_values(rooms, policies, endings, weighting)
    rng = np.random.default_rng(1)
    learner = FHQ(Features.tabular(n_states), n_actions, weighting, step_size=0.3)
    state, steps = int(rng.choice(n_states, p=rooms.start)), 0
    tried = np.zeros((n_states, n_actions), int)
    while learner.step < UPDATES:
        action = int(rng.integers(n_actions))
        rewards, following, ended = walk(rng, state, action, by_options)
        learner.update(state, action, rewards, following, ended, duration=len(rewards))
        tried[state, action] += 1
        steps += len(rewards)
        state = int(rng.choice(n_states, p=rooms.start)) if ended else following
    found = np.array([learner.values(s)[:, -1] for s in range(n_states)])
    error = np.sqrt(np.average((found - exact[..., -1]) ** 2, weights=tried))
    print("options:" if by_options else "single steps:")
    print(f"  {UPDATES:,} updates learned from {steps:,} steps of random walk")
    print(f"  best value from the corner {exact[0, :, -1].max():.1f}, error {error:.1f}")
