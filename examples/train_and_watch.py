"""Train a deep agent, evaluate it, and write an episode as a page: needs fhtd[deep,report].

python examples/train_and_watch.py
"""

import sys
from pathlib import Path

import gymnasium

from fhtd.callbacks import Evaluation
from fhtd.deep import DFHQ, use_one_thread
from fhtd.pages import watch

frames = int(sys.argv[1]) if len(sys.argv) > 1 else 15_000
use_one_thread()
agent = DFHQ("CartPole-v1", preset="CartPole-v1", seed=0)
evaluation = Evaluation(every=max(frames // 3, 1), episodes=5)
agent.learn(frames, callback=evaluation, progress_bar=True)
for frame, mean in evaluation.history:
    print(f"after {frame:,} frames: mean return {mean:.0f}")

env = gymnasium.make("CartPole-v1", render_mode="rgb_array")
Path("episode.html").write_text(watch(agent, env, steps=300))
print("open episode.html")
