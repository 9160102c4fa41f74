"""The algorithms, each on a problem of the paper, and everyone who runs them."""

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import held
import native
import numpy as np
import plain
import vectorised
from timing import Contender
from world import World, Xoshiro

from fhtd import Weighting, problems, simulate
from fhtd.online import FHQ, FHTD, FHTDLambda, NStepFHQ, NStepFHTD
from fhtd.online.learner import Learner
from fhtd.problems import Problem

PYTHON, BY_ROWS, NUMPY, C, OURS = "plain Python", "plain Python by rows", "NumPy", "C", "fhtd"
#: Steps of one measurement, which takes some 20 to 100 milliseconds.
STEPS = {PYTHON: 3_000, BY_ROWS: 3_000, NUMPY: 10_000, C: 1_000_000, OURS: 1_000_000}


def run_fhtd(learner: Learner, problem: Problem, steps: int, seed: int = 0, **options: Any) -> Any:
    """One run on one thread, with nothing recorded on the way."""
    behaviour = None if isinstance(learner, FHQ) else problem.behaviour
    return simulate(
        learner,
        problem.mdp,
        steps=steps,
        behaviour=behaviour,
        record_at=[],
        seed=seed,
        **{"threads": 1, **options},
    )


def learned(learner: Learner, problem: Problem, steps: int, seed: int = 0) -> Any:
    """The weights at the end of such a run."""
    return run_fhtd(learner, problem, steps, seed, keep_weights=True).final_weights[0]


@dataclass(frozen=True)
class Case:
    """One algorithm in one world, written several times."""

    title: str
    problem: Problem
    #: Functions of the world, the settings, the number of steps, and where randomness comes from.
    algorithms: dict[str, Callable[..., Any]]
    #: The horizon, n or the like, the discount, the step size.
    settings: tuple[Any, ...]
    learner: Learner
    #: Wanted: at least so many times as long as we take.
    at_least: dict[str, float] = field(default_factory=dict)
    #: Wanted: we take at most so many times as long.
    at_most: dict[str, float] = field(default_factory=dict)
    #: Of the learner, the problem, the number of steps and a seed: the weights.
    ours: Callable[..., Any] = learned

    def contenders(self) -> dict[str, Contender]:
        """Each samples the transitions that it learns from."""
        world = World(self.problem)
        found = {}
        for name, algorithm in self.algorithms.items():
            source = 0 if name == C else random.random
            run = partial(_run, algorithm, (world, *self.settings), source)
            found[name] = Contender(run, STEPS[name])
        found[OURS] = Contender(partial(self.ours, self.learner, self.problem), STEPS[OURS])
        return found

    def check(self, seed: int = 1) -> None:
        """Refuse to time contenders that do not end with our weights, from the same draws."""
        world = World(self.problem)
        for name, algorithm in self.algorithms.items():
            steps, source = (100_000, seed) if name == C else (3_000, Xoshiro(seed))
            theirs = np.asarray(algorithm(world, *self.settings, steps, source))
            if name in (PYTHON, BY_ROWS):
                # From w[h][s] and w[h][s][a] to horizons last and actions first.
                theirs = theirs.T
            ours = self.ours(self.learner, self.problem, steps, seed)
            message = f"{self.title}: {name} and fhtd learned different values"
            np.testing.assert_allclose(theirs, ours, rtol=1e-9, atol=1e-12, err_msg=message)


def _run(
    algorithm: Callable[..., Any], arguments: tuple[Any, ...], source: Any, steps: int
) -> object:
    return algorithm(*arguments, steps, source)


def cases() -> list[Case]:
    """One-step, n-step, lambda, control, the hybrid, and transitions of several steps."""
    walk, grid = problems.random_walk(), problems.checkered_grid()
    maze = problems.slippery_maze()
    return [
        Case(
            "One-step FHTD, random walk, H = 100",
            walk,
            {
                PYTHON: plain.one_step,
                BY_ROWS: plain.one_step_by_rows,
                NUMPY: vectorised.one_step,
                C: native.one_step,
            },
            (100, 0.99, 0.1),
            FHTD(walk.features, Weighting.exponential(100, 0.99), step_size=0.1),
            at_least={PYTHON: 300, NUMPY: 20},
            at_most={C: 1.5},
        ),
        Case(
            "n-step FHTD, checkered grid, H = 32, n = 4",
            grid,
            {PYTHON: plain.n_step, NUMPY: vectorised.n_step, C: native.n_step},
            (32, 4, 1.0, 0.1),
            NStepFHTD(grid.features, Weighting.exponential(32), 4, step_size=0.1),
        ),
        Case(
            "FHTD(lambda), checkered grid, H = 32, lambda = 0.9",
            grid,
            {PYTHON: plain.traces, NUMPY: vectorised.traces, C: native.traces},
            (32, 0.9, 1.0, 0.02),
            FHTDLambda(grid.features, Weighting.exponential(32), 0.9, step_size=0.02),
            at_least={PYTHON: 100},
        ),
        # A step size that is a power of two: values that should tie do so in any order of
        # rounding, and all contenders act alike.
        Case(
            "FHQ, slippery maze, H = 16, epsilon = 0.1",
            maze,
            {PYTHON: plain.control, NUMPY: vectorised.control, C: native.control},
            (16, 0.1, 1.0, 0.25),
            FHQ(maze.features, 4, Weighting.exponential(16), step_size=0.25, epsilon=0.1),
        ),
        Case(
            "Hybrid FHQ, slippery maze, H = 64, n = 8, 8 one-step horizons",
            maze,
            {C: native.hybrid},
            (64, 8, 8, 0.1, 1.0, 0.25),
            NStepFHQ(
                maze.features,
                4,
                Weighting.exponential(64),
                8,
                one_step_horizons=8,
                step_size=0.25,
                epsilon=0.1,
            ),
            at_most={C: 1.5},
        ),
        *(
            Case(
                f"FHQ.update(duration={duration}), slippery maze, H = 64, per transition",
                maze,
                {C: native.held},
                (64, duration, 1.0, 0.25),
                FHQ(maze.features, 4, Weighting.exponential(64), step_size=0.25),
                at_most={C: 1.5},
                ours=partial(held.run, duration),
            )
            for duration in (1, 4)
        ),
    ]
