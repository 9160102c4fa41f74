"""Do deep agents solve small problems, from three seeds each, within two minutes on one core?

CartPole-v1 is solved at a mean return of 475 over 20 episodes that training has not seen. The
slippery maze is solved when episodes of the greedy policy, by the exact oracle, are on average at
most 2 % longer than those of the best policy.
"""

import argparse
import json
import subprocess
import sys
import time
from pathlib import Path

SEEDS = (0, 1, 2)
WANTED_RETURN, WANTED_RATIO, WANTED_SECONDS = 475.0, 1.02, 120.0
#: Training in CartPole ends once 20 episodes of its own reach this; others are the judge.
ENOUGH_RETURN = 490.0


def solve_cartpole(seed: int) -> dict[str, float]:
    from fhtd.deep import DFHQ
    from fhtd.deep.callbacks import Evaluation

    # Eight-step backups: the last of 200 horizons is 25 bootstraps away, not 200.
    agent = DFHQ(
        "CartPole-v1",
        horizon=200,
        n_step=8,
        discount=1.0,
        hidden=(64, 64),
        optimiser="adam",
        learning_rate=5e-4,
        batch_size=64,
        learning_starts=1000,
        epsilon_frames=5000,
        epsilon_final=0.05,
        seed=seed,
        preset="paper",
    )
    check = Evaluation(every=5000, episodes=20)

    def until_good(agent: DFHQ, episode: dict[str, float]) -> bool:
        check(agent, episode)
        return not check.history or check.history[-1][1] < ENOUGH_RETURN

    agent.learn(80_000, callback=until_good)
    returns = agent.evaluate(20, seed=1000)
    return {"frames": agent.frames, "found": float(returns.mean()), "worst": float(returns.min())}


def solve_maze(seed: int) -> dict[str, float]:
    import numpy as np

    from fhtd import oracle, problems
    from fhtd.deep import DFHQ
    from fhtd.envs import FiniteMDPEnv

    mdp = problems.slippery_maze().mdp
    agent = DFHQ(
        FiniteMDPEnv(mdp),
        horizon=100,
        discount=1.0,
        hidden=(64,),
        optimiser="adam",
        learning_rate=3e-4,
        batch_size=128,
        learning_starts=1000,
        epsilon_frames=10_000,
        epsilon_final=0.3,
        # The long horizons agree on what is best; their mean is less noisy than the last of them.
        acting=32,
        seed=seed,
        preset="paper",
    )
    agent.learn(60_000)
    greedy = [agent.predict(s, deterministic=True)[0] for s in range(mdp.n_states)]
    found = oracle.mean_episode_length(mdp, np.eye(mdp.n_actions)[greedy])
    best = -float(mdp.start @ np.nan_to_num(oracle.infinite_optimal(mdp, 1.0).state_values))
    return {"frames": agent.frames, "found": found, "best": best}


def is_solved(problem: str, result: dict[str, float]) -> bool:
    if problem == "cartpole":
        return result["found"] >= WANTED_RETURN
    return result["found"] <= WANTED_RATIO * result["best"]


PROBLEMS = {"cartpole": solve_cartpole, "maze": solve_maze}


def one(problem: str, seed: int) -> None:
    """Run in a process of its own, so that compilation is part of the time."""
    begun, used = time.perf_counter(), time.process_time()
    from fhtd.deep import use_one_thread

    use_one_thread()
    result = PROBLEMS[problem](seed)
    result["seconds"] = time.perf_counter() - begun
    result["processor_seconds"] = time.process_time() - used
    print(json.dumps(result))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--one", nargs=2, metavar=("PROBLEM", "SEED"), help=argparse.SUPPRESS)
    parser.add_argument("--out", type=Path, help="write the numbers to this JSON file")
    options = parser.parse_args()
    if options.one:
        one(options.one[0], int(options.one[1]))
        return
    results, failures = [], 0
    for problem in PROBLEMS:
        for seed in SEEDS:
            command = [sys.executable, __file__, "--one", problem, str(seed)]
            done = subprocess.run(command, check=True, capture_output=True, text=True)
            result = json.loads(done.stdout)
            solved = is_solved(problem, result)
            failures += not solved
            results.append({"problem": problem, "seed": seed, "solved": solved} | result)
            what = "mean return" if problem == "cartpole" else "mean episode length"
            of = "" if problem == "cartpole" else f" (best {result['best']:.2f})"
            late = "" if result["processor_seconds"] <= WANTED_SECONDS else ", too slow"
            print(
                f"{problem} seed {seed}: {what} {result['found']:.2f}{of} "
                f"after {result['frames']} frames, "
                f"{'solved' if solved else 'NOT SOLVED'} in {result['seconds']:.0f} s, "
                f"{result['processor_seconds']:.0f} s of a core{late}",
                flush=True,
            )
    if options.out:
        options.out.write_text(json.dumps(results, indent=2) + "\n")
    if failures:
        raise SystemExit(f"{failures} of {len(results)} were not solved")


if __name__ == "__main__":
    main()
