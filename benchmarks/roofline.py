"""How near an update comes to what its own matrix products take alone in a tuned BLAS.

One thread; hidden layers 256 x 256, LunarLander's 8 inputs and 4 actions; the paper's agents with a
batch of 32, and the default agent with its 128. The products are those of the forward passes of
both observations and of the backward pass, as single-precision calls of the BLAS that NumPy was
built with. Minima of interleaved rounds; the update is timed as it is called every frame, dispatch
and the choice of the next action included.
"""

import json
import os
import sys
import time
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import numpy as np

from fhtd.deep import DFHQ, DQN, use_one_thread

INPUTS, WIDTH, ACTIONS = 8, 256, 4
ROUNDS, CALLS = 12, 200


def products(outputs: int, batch: int) -> Callable[[], None]:
    """All matrix products of one update, with their own operands and results."""
    rng = np.random.default_rng(0)

    def matrix(rows: int, columns: int) -> np.ndarray:
        return rng.standard_normal((rows, columns)).astype(np.float32)

    sizes = [INPUTS, WIDTH, WIDTH, outputs]
    calls = []
    for inner, outer in pairwise(sizes):
        below, weights, above = matrix(batch, inner), matrix(inner, outer), matrix(batch, outer)
        forward, gradient = np.empty_like(above), np.empty_like(weights)
        calls += [(below, weights, forward)] * 2  # S_t and S_{t+1}
        calls.append((below.T, above, gradient))
        if inner != INPUTS:
            calls.append((above, weights.T, np.empty_like(below)))

    def run() -> None:
        for left, right, out in calls:
            np.matmul(left, right, out=out)

    return run


def updates(agent: DFHQ | DQN) -> Callable[[], None]:
    """One frame's compiled call, with one batch."""
    agent.learn(300)
    loop = agent.loop
    sample, present = (agent.experience.sample(agent.settings.batch_size, agent.rng),), loop._seen()

    def run() -> None:
        loop.training, result = loop.compiled.frame(loop.training, sample, *present)
        np.asarray(result)

    return run


def main() -> None:
    """Print the table, in a process whose libraries were told to use one thread."""
    if os.environ.get("OPENBLAS_NUM_THREADS") != "1":
        names = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
        os.execve(
            sys.executable, [sys.executable, *sys.argv], os.environ | dict.fromkeys(names, "1")
        )
    use_one_thread()
    common = {"learning_starts": 100, "hidden": (WIDTH, WIDTH), "seed": 0}
    paper = {"preset": "paper", **common}
    place = "LunarLander-v3"
    cases = {
        "DQN": lambda: DQN(place, **paper),
        "DFHQ, 64 horizons": lambda: DFHQ(place, horizon=64, **paper),
        "DFHQ, 256 horizons": lambda: DFHQ(place, horizon=256, **paper),
        "DFHQ, default": lambda: DFHQ(place, **common),
    }
    found = {}
    print(f"{'':22} products in BLAS    update    share (wanted at least 60%)")
    for name, make in cases.items():
        agent = make()
        outputs, batch = ACTIONS * agent.backup.size, agent.settings.batch_size
        work = {"products": products(outputs, batch), "update": updates(agent)}
        least = dict.fromkeys(work, float("inf"))
        for _ in range(ROUNDS):
            for part, run in work.items():
                begun = time.perf_counter()
                for _ in range(CALLS):
                    run()
                least[part] = min(least[part], (time.perf_counter() - begun) / CALLS * 1e6)
        share = least["products"] / least["update"]
        found[name] = {**least, "share": share}
        print(f"{name:22} {least['products']:10.0f} us {least['update']:11.0f} us {share:8.0%}")
    path = Path(__file__).parent / "results" / "roofline.json"
    path.write_text(json.dumps(found, indent=2) + "\n")


if __name__ == "__main__":
    main()
