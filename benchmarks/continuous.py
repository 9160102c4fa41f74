"""Frames per second of soft actor-critics against Stable-Baselines3 and SBX, one thread each.

LunarLanderContinuous-v3, hidden layers 256 x 256, batch 256, one update per frame, Adam. Every
measurement is a process of its own; repetitions are interleaved, ratios are of medians. Beside the
clock's there are the processor's seconds, which say more where the machine has other work too.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

from deep import ONE_THREAD

ENVIRONMENT = "LunarLanderContinuous-v3"
STARTS, WARM_UP, FRAMES = 300, 500, 1500
CASES = {
    "sb3-sac": "Stable-Baselines3 SAC",
    "sbx-sac": "SBX SAC",
    "sac": "fhtd SAC",
    "fhsac-32": "fhtd FHSAC, 32 horizons",
    "fhsac": "fhtd FHSAC, default window",
}
OURS = {
    "sac": {},
    "fhsac-32": {"horizon": 32, "deepen_every": None, "layer_norm": False},
    "fhsac": {},
}
WANTED = [
    ("FHSAC with 32 horizons against SB3's SAC", ("fhsac-32", "sb3-sac"), 4.0),
    ("FHSAC with 32 horizons against SBX's SAC", ("fhsac-32", "sbx-sac"), 1.5),
    ("32 horizons against our SAC, of the speed", ("fhsac-32", "sac"), 1 / 1.3),
]


def clocks() -> tuple[float, float]:
    return time.perf_counter(), time.process_time()


def measure(case: str) -> dict[str, float]:
    """Frames per second, and per second of the processor, after a warm-up."""
    if case.startswith("sb"):
        begun, ended = measure_peer(case)
    else:
        from fhtd.deep import FHSAC, SAC, use_one_thread

        use_one_thread()
        kind = SAC if case == "sac" else FHSAC
        agent = kind(ENVIRONMENT, seed=0, learning_starts=STARTS, **OURS[case])
        agent.learn(WARM_UP)
        begun = clocks()
        agent.learn(FRAMES)
        ended = clocks()
    wall, processor = (
        FRAMES / (after - before) for before, after in zip(begun, ended, strict=True)
    )
    return {"frames_per_second": wall, "frames_per_processor_second": processor}


def measure_peer(case: str) -> tuple[tuple[float, float], tuple[float, float]]:
    import gymnasium

    if case == "sb3-sac":
        import torch
        from stable_baselines3 import SAC as Peer

        torch.set_num_threads(1)
    else:
        from sbx import SAC as Peer
    from stable_baselines3.common.callbacks import BaseCallback

    class Clock(BaseCallback):
        begun = ended = (0.0, 0.0)

        def _on_step(self) -> bool:
            if self.num_timesteps == WARM_UP:
                self.begun = clocks()
            if self.num_timesteps == WARM_UP + FRAMES:
                self.ended = clocks()
            return True

    peer = Peer(
        "MlpPolicy",
        gymnasium.make(ENVIRONMENT),
        learning_rate=3e-4,
        buffer_size=100_000,
        learning_starts=STARTS,
        batch_size=256,
        train_freq=1,
        gradient_steps=1,
        policy_kwargs={"net_arch": [256, 256]},
        device="cpu",
        seed=0,
    )
    clock = Clock()
    peer.learn(WARM_UP + FRAMES, callback=clock)
    return clock.begun, clock.ended


def main() -> None:
    """Measure all cases and print a table of ratios."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--measure", choices=CASES)
    parser.add_argument("--repetitions", type=int, default=3)
    arguments = parser.parse_args()
    if arguments.measure:
        print(json.dumps(measure(arguments.measure)))
        return
    found: dict[str, list[dict[str, float]]] = {case: [] for case in CASES}
    for _ in range(arguments.repetitions):
        for case, title in CASES.items():
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
    base = median.get("sb3-sac", {}).get("frames_per_second", float("nan"))
    print(f"{'':28} frames/s   x SB3   frames/s of the processor")
    for case, row in median.items():
        speed, processor = row["frames_per_second"], row["frames_per_processor_second"]
        print(f"{CASES[case]:28} {speed:8.0f} {speed / base:7.2f} {processor:12.0f}")
    for what, (ours, theirs), least in WANTED:
        if ours in median and theirs in median:
            ratio, of_processor = (median[ours][key] / median[theirs][key] for key in median[ours])
            word = "reached" if ratio >= least else "short"
            print(
                f"{what}: {ratio:.2f}, of processor seconds {of_processor:.2f} "
                f"(wanted at least {least:.2f}): {word}"
            )
    results = Path(__file__).parent / "results" / "continuous.json"
    results.parent.mkdir(exist_ok=True)
    results.write_text(json.dumps(median, indent=2) + "\n")


if __name__ == "__main__":
    main()
