"""What the paper's sweep in LunarLander costs: microseconds a frame of every size, and core-hours.

One thread. Every size is measured over as many frames as take a few seconds, after its first
updates; learning rate, discount and seed make no difference to the time.
"""

import json
import time
from pathlib import Path

from fhtd.deep import DFHQ, DQN, use_one_thread
from fhtd.experiments import find
from fhtd.experiments.lander_sweep import Arm, arms

SECONDS = 4.0
CORES = (2, 64, 1_000)


def microseconds(arm: Arm) -> float:
    """A frame of training with this arm's sizes."""
    settings = {
        "hidden": (arm.width, arm.width),
        "target_update_interval": arm.target_interval,
        "learning_starts": 100,
        "seed": 0,
        "preset": "paper",
    }
    agent = (
        DQN("LunarLander-v3", **settings)
        if arm.algorithm == "dqn"
        else DFHQ("LunarLander-v3", horizon=arm.horizon, **settings)
    )
    agent.learn(110)
    begun, frames = time.perf_counter(), 0
    while (spent := time.perf_counter() - begun) < SECONDS:
        agent.learn(10)
        frames += 10
    return spent / frames * 1e6


def main() -> None:
    """Print a table of sizes, then the whole sweep on few and many cores."""
    use_one_thread()
    config = find("lander-sweep").config()
    cost: dict[tuple[str, int, int, int], float] = {}
    hours, longest = 0.0, 0.0
    for arm in arms(config):
        size = (arm.algorithm, arm.horizon, arm.width, arm.target_interval)
        if size not in cost:
            cost[size] = microseconds(arm)
            name = "DQN" if arm.algorithm == "dqn" else f"DFHQ, H = {arm.horizon}"
            target = "" if arm.target_interval == 1 else ", target network"
            print(
                f"{name + target:28} width {arm.width:5}: {cost[size]:9.0f} us a frame", flush=True
            )
        run = cost[size] * config.frames / 3.6e9
        hours += run * config.runs
        longest = max(longest, run)
    what = f"{len(arms(config))} settings x {config.runs} runs"
    print(f"\n{what}: {hours:.0f} core-hours, the longest run {longest:.1f}")
    for cores in CORES:
        # Runs are independent, but the last one begun may be the longest.
        print(f"  {cores:5} cores: {hours / cores + longest:8.1f} hours")
    rows = {"_".join(map(str, size)): value for size, value in cost.items()}
    path = Path(__file__).parent / "results" / "sweep_cost.json"
    path.write_text(json.dumps({"microseconds": rows, "core_hours": hours}, indent=2) + "\n")


if __name__ == "__main__":
    main()
