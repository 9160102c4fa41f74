"""For information: what one call of `update` costs from Python, and what a second thread gains."""

from functools import partial

import numpy as np
from cases import run_fhtd
from timing import Contender, Timing, take_turns

from fhtd import Weighting, problems
from fhtd.online import FHQ, FHTD


def streaming(repetitions: int, horizon: int = 100) -> Timing:
    """One `update` after the other, each with its checks, on a walk to the right and back."""
    problem = problems.random_walk()
    learner = FHTD(problem.features, Weighting.exponential(horizon, 0.99), step_size=0.1)
    there = [(s, 0.0, s + 1) for s in range(1, 19)]
    tour = there + [(after, reward, before) for before, reward, after in reversed(there)]

    def run(steps: int) -> None:
        for k in range(steps):
            learner.update(*tour[k % len(tour)])

    return take_turns({"update": Contender(run, 5_000)}, repetitions)["update"]


def long_transitions(repetitions: int, duration: int = 4, horizon: int = 64) -> Timing:
    """The same of `FHQ.update` with transitions of several steps, in circles through the maze."""
    problem = problems.slippery_maze()
    learner = FHQ(problem.features, 4, Weighting.exponential(horizon), step_size=0.25)
    rewards, n_states = np.full(duration, -1.0), problem.mdp.n_states

    def run(steps: int) -> None:
        for k in range(steps):
            s, following = k % n_states, (k + duration) % n_states
            learner.update(s, k % 4, rewards, following, duration=duration)

    return take_turns({"update": Contender(run, 5_000)}, repetitions)["update"]


def threads(repetitions: int, runs: int = 64) -> dict[int, Timing]:
    """Many runs of the random walk, on one thread and on two; per step of any run."""
    problem = problems.random_walk()
    learner = FHTD(problem.features, Weighting.exponential(100, 0.99), step_size=0.1)

    def run(count: int, steps: int) -> None:
        run_fhtd(learner, problem, max(1, steps // runs), runs=runs, threads=count)

    contenders = {str(n): Contender(partial(run, n), runs * 20_000) for n in (1, 2)}
    found = take_turns(contenders, repetitions)
    return {int(count): timing for count, timing in found.items()}
