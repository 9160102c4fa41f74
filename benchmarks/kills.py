"""Kill a training run at random moments, resume it each time, and compare every byte it leaves.

A run that was killed (SIGKILL) at any moment must end as the one that was left alone: the same
agent, the same tables.
"""

import argparse
import hashlib
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

FILES = ("agent.npz", "episodes.csv", "progress.csv")
SETTINGS = {"horizon": 8, "hidden": (16,), "learning_starts": 50}
#: Environment, algorithm and what else there is to set: for discrete actions, and for continuous.
DISCRETE = ("CartPole-v1", "dfhq", {"epsilon_frames": 500})
CONTINUOUS = ("Pendulum-v1", "fhsac", {"max_episode_frames": 60, "batch_size": 32})
#: What a checkpoint has to hold beside.
CASES = {
    "one environment": {},
    "three environments": {"n_envs": 3},
    "n-step": {"n_step": 4, "max_episode_frames": 60},
    "n-step, two environments": {"n_step": 2, "n_envs": 2},
    "target network, double": {"target_update_interval": 50, "double": True},
    "window": {"deepen_every": 100, "layer_norm": True, "normalise": True},
    "continuous": {"deepen_every": 100, "layer_norm": True},
    "continuous, n-step, two environments": {"n_step": 2, "n_envs": 2, "tau": 0.01},
}
CHECKPOINT_EVERY, LOG_EVERY = 200, 5


def live(folder: Path, frames: int, case: str) -> None:
    """Start the run, or resume it, and train to the end."""
    from fhtd.deep import run as training
    from fhtd.deep import use_one_thread

    use_one_thread()
    if (folder / "run.json").exists():
        run = training.resume(folder)
    else:
        environment, algorithm, others = CONTINUOUS if "continuous" in case else DISCRETE
        request = training.Request(
            environment,
            algorithm,
            frames,
            3,
            SETTINGS | others | CASES[case],
            {},
            CHECKPOINT_EVERY,
            LOG_EVERY,
        )
        run = training.start(request, folder)
    run.train()


def command(folder: Path, frames: int, case: str) -> list[str]:
    live = ["--live", str(folder), "--frames", str(frames), "--case", case]
    return [sys.executable, __file__, *live]


def digests(folder: Path) -> dict[str, str]:
    return {name: hashlib.sha256((folder / name).read_bytes()).hexdigest() for name in FILES}


def rows(folder: Path) -> int:
    table = folder / "episodes.csv"
    return len(table.read_bytes().splitlines()) if table.exists() else 0


def killed_until_done(
    folder: Path, frames: int, case: str, alone: float, chance: random.Random, kills: int
) -> tuple[int, int]:
    """Live through the run, killed at most so often: kills, and those after new episodes."""
    done = moved = 0
    while not (folder / "agent.npz").exists():
        before = rows(folder)
        process = subprocess.Popen(command(folder, frames, case))
        # From before the first frame to long after it; some while a file is written.
        limit = chance.uniform(0.1, 0.7) * alone if done < kills else None
        try:
            if process.wait(limit):
                raise SystemExit(f"a life ended with code {process.returncode}")
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGKILL)
            process.wait()
            done += 1
            moved += rows(folder) != before
    return done, moved


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--live", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--frames", type=int, default=20_000)
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--case", choices=CASES, help="one case alone")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    if options.live:
        live(options.live, options.frames, options.case)
        return
    chance = random.Random(options.seed)
    cases = [options.case] if options.case else list(CASES)
    found = [kill(case, options.frames, -(-options.kills // len(cases)), chance) for case in cases]
    kills, moved, runs = (sum(column) for column in zip(*found, strict=True))
    print(f"{kills} kills in {runs} runs, {moved} of them after new episodes: the same bytes")


def kill(case: str, frames: int, wanted: int, chance: random.Random) -> tuple[int, int, int]:
    """Kills of one case, those after new episodes, and runs; any other byte ends it all."""
    kills = moved = runs = 0
    with tempfile.TemporaryDirectory() as place:
        whole = Path(place, "whole")
        begun = time.perf_counter()
        subprocess.run(command(whole, frames, case), check=True)
        alone = time.perf_counter() - begun
        print(f"{case}: {frames} frames, {rows(whole) - 1} episodes in {alone:.0f} s if left alone")
        # A run may finish before it was killed often enough; then another one is.
        while kills < wanted:
            folder = Path(place, str(runs))
            more, after = killed_until_done(folder, frames, case, alone, chance, wanted - kills)
            kills, moved, runs = kills + more, moved + after, runs + 1
            wrong = [n for n in FILES if digests(folder)[n] != digests(whole)[n]]
            print(f"  run {runs}: {more} kills, {', '.join(wrong) or 'nothing'} different")
            sys.stdout.flush()
            if wrong:
                raise SystemExit("a killed run did not end as the one that was left alone")
    return kills, moved, runs


if __name__ == "__main__":
    main()
