"""Frames per second of deep agents against Stable-Baselines3 and SBX, one thread each.

LunarLander-v3, hidden layers 256 x 256. The paper's work: batch 32, one update per frame. The
default agent's: batch 128, four updates every four frames, as RL Baselines3 Zoo has it for DQN.
Every measurement is a process of its own; repetitions are interleaved, ratios are of medians.
"""

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import time
from pathlib import Path

FRAMES, WARM_UP = 4000, 1200
ONE_THREAD = {
    "OMP_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1",
    "NPROC": "1",
    "JAX_PLATFORMS": "cpu",
}
CASES = {
    "sb3-dqn": "Stable-Baselines3 DQN",
    "sbx-dqn": "SBX DQN",
    "dqn": "fhtd DQN",
    "dfhq-1": "fhtd DFHQ, 1 horizon",
    "dfhq-64": "fhtd DFHQ, 64 horizons",
    "dfhq-256": "fhtd DFHQ, 256 horizons",
    "sb3-zoo": "Stable-Baselines3 DQN, Zoo's",
    "dfhq-default": "fhtd DFHQ, default",
}


def measure(case: str) -> dict[str, float]:
    """Frames per second after a warm-up, seconds to the first learned frame, peak memory."""
    begun = time.perf_counter()
    if case.startswith("sb"):
        return _measure_peer(case)
    from fhtd.deep import DFHQ, DQN, use_one_thread

    use_one_thread()
    settings = {"learning_starts": 1000, "max_episode_frames": 5000, "preset": "paper"}
    if case == "dfhq-default":
        agent = DFHQ("LunarLander-v3", seed=0)
    elif case == "dqn":
        agent = DQN("LunarLander-v3", seed=0, **settings)
    else:
        agent = DFHQ("LunarLander-v3", horizon=int(case[5:]), seed=0, **settings)
    agent.learn(1000)
    first = time.perf_counter() - begun
    agent.learn(WARM_UP - 1000)
    begun = time.perf_counter()
    agent.learn(FRAMES)
    return _result(FRAMES / (time.perf_counter() - begun), first)


def _measure_peer(case: str) -> dict[str, float]:
    import gymnasium

    begun = time.perf_counter()
    if case.startswith("sb3"):
        import torch
        from stable_baselines3 import DQN as Peer

        torch.set_num_threads(1)
    else:
        from sbx import DQN as Peer
    from stable_baselines3.common.callbacks import BaseCallback

    class Clock(BaseCallback):
        start = stop = first = 0.0

        def _on_step(self) -> bool:
            if self.num_timesteps == 1001:
                self.first = time.perf_counter()
            if self.num_timesteps == WARM_UP:
                self.start = time.perf_counter()
            if self.num_timesteps == WARM_UP + FRAMES:
                self.stop = time.perf_counter()
            return True

    zoo = case == "sb3-zoo"
    peer = Peer(
        "MlpPolicy",
        gymnasium.make("LunarLander-v3"),
        learning_rate=6.3e-4 if zoo else 1e-4,
        buffer_size=100_000,
        learning_starts=1000,
        batch_size=128 if zoo else 32,
        train_freq=4 if zoo else 1,
        gradient_steps=4 if zoo else 1,
        target_update_interval=250 if zoo else 10_000,
        policy_kwargs={"net_arch": [256, 256]},
        device="cpu",
        seed=0,
    )
    clock = Clock()
    peer.learn(WARM_UP + FRAMES, callback=clock)
    return _result(FRAMES / (clock.stop - clock.start), clock.first - begun)


def _result(rate: float, first: float) -> dict[str, float]:
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**10
    return {"frames_per_second": rate, "seconds_to_first_update": first, "peak_megabytes": peak}


def main() -> None:
    """Measure all cases and print a table of ratios."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--measure", choices=CASES)
    parser.add_argument("--repetitions", type=int, default=3)
    parser.add_argument("--cases", nargs="+", choices=CASES, default=list(CASES))
    arguments = parser.parse_args()
    if arguments.measure:
        print(json.dumps(measure(arguments.measure)))
        return
    chosen = {case: CASES[case] for case in arguments.cases}
    found: dict[str, list[dict[str, float]]] = {case: [] for case in chosen}
    for _ in range(arguments.repetitions):
        for case, title in chosen.items():
            done = subprocess.run(
                [sys.executable, __file__, "--measure", case],
                env=os.environ | ONE_THREAD,
                capture_output=True,
                text=True,
                check=False,
            )
            if done.returncode:
                print(f"{title}: not measured ({done.stderr.strip().splitlines()[-1]})")
                continue
            found[case].append(json.loads(done.stdout.splitlines()[-1]))
    median = {
        case: {key: statistics.median(one[key] for one in runs) for key in runs[0]}
        for case, runs in found.items()
        if runs
    }
    print(f"{'':28} frames/s   x SB3   first update   peak memory")
    base = median.get("sb3-dqn", {}).get("frames_per_second", float("nan"))
    for case, row in median.items():
        speed = row["frames_per_second"]
        print(
            f"{CASES[case]:28} {speed:8.0f} {speed / base:7.2f}"
            f" {row['seconds_to_first_update']:12.1f} s {row['peak_megabytes']:10.0f} MB"
        )
    rate = {case: row["frames_per_second"] for case, row in median.items()}
    wanted = [
        ("DFHQ with 64 horizons against SB3's DQN", ("dfhq-64", "sb3-dqn"), 3.0),
        ("DFHQ with 64 horizons against SBX's DQN", ("dfhq-64", "sbx-dqn"), 2.5),
        ("DQN against SB3's DQN", ("dqn", "sb3-dqn"), 4.0),
        (
            "The default agent against SB3's DQN with Zoo's settings",
            ("dfhq-default", "sb3-zoo"),
            4.0,
        ),
        ("64 horizons against 1, of the speed", ("dfhq-64", "dfhq-1"), 1 / 1.4),
        ("256 horizons against 1, of the speed", ("dfhq-256", "dfhq-1"), 1 / 3),
    ]
    for what, (ours, theirs), least in wanted:
        if ours in rate and theirs in rate:
            ratio = rate[ours] / rate[theirs]
            word = "reached" if ratio >= least else "short"
            print(f"{what}: {ratio:.2f} (wanted at least {least:.2f}): {word}")
    results = Path(__file__).parent / "results" / "deep.json"
    results.parent.mkdir(exist_ok=True)
    before = json.loads(results.read_text()) if results.exists() else {}
    results.write_text(json.dumps(before | median, indent=2) + "\n")


if __name__ == "__main__":
    main()
