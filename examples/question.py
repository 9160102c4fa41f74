"""Ask your own question: how far will a behaviour have moved the cart within so many steps.

python examples/question.py
"""

import sys

from fhtd.deep import DFHTD, use_one_thread

frames = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
use_one_thread()


def leaning(observation):
    """Push the cart towards the side to which the pole leans."""
    return int(observation[2] > 0)


predictor = DFHTD(
    "CartPole-v1",
    leaning,
    cumulants={"moved": lambda seen, action, reward, after, info: float(after[0] - seen[0])},
    horizon=20,
    discount=1.0,
    seed=0,
    hidden=(64, 64),
    optimiser="adam",
    learning_rate=1e-3,
)
predictor.learn(frames, progress_bar=True)
for speed in (-1.0, 0.0, 1.0):
    moved = predictor.values([0.0, speed, 0.0, 0.0])["moved"]
    print(f"speed {speed:4.1f}: {moved[-1]:6.3f} within 20 steps")
