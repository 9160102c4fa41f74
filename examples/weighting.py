"""A weighting of your own: rewards count the more the nearer a deadline comes.

python examples/weighting.py
"""

import sys

import numpy as np

from fhtd import FHTD, Weighting, oracle, problems, simulate

steps = int(sys.argv[1]) if len(sys.argv) > 1 else 50_000


def deadline(horizon):
    """The reward k steps ahead counts k / horizon."""
    return Weighting.from_weights(np.arange(1, horizon + 1) / horizon)


grid = problems.checkered_grid()
exact = oracle.state_values(grid.mdp, grid.target, deadline(8))
found = simulate(
    FHTD(grid.features, deadline(8), step_size=0.02),
    grid.mdp,
    steps=steps,
    runs=20,
    behaviour=grid.behaviour,
    truth=exact,
    record_at=[steps // 10, steps],
)
for after, error in zip(found.recorded_at, found.errors.mean[:, -1], strict=True):
    print(f"after {after:,} steps: root-mean-square error {error:.3f}")
