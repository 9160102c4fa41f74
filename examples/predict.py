"""What will the next steps bring? A learner, a stream of transitions, and the exact answer.

python examples/predict.py
"""

import sys

import gymnasium

import fhtd.envs  # noqa: F401  (registers the paper's environments)
from fhtd import FHTD, Weighting, oracle, problems

steps = int(sys.argv[1]) if len(sys.argv) > 1 else 50_000
walk = problems.random_walk()
learner = FHTD(walk.features, Weighting.exponential(horizon=10), step_size=0.02)

env = gymnasium.make("fhtd/RandomWalk-v0")
env.action_space.seed(0)
state, _ = env.reset(seed=0)
for _ in range(steps):
    following, reward, terminated, truncated, _ = env.step(env.action_space.sample())
    learner.update(state, reward, following, terminated, truncated)
    state = env.reset()[0] if terminated or truncated else following

exact = oracle.state_values(walk.mdp, walk.target, learner.weighting)
print("three places from the right end, rewards of the next 1 to 10 steps")
print("learned", learner.values(17).round(2))
print("exact  ", exact[17].round(2))
