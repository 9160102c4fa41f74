"""FHQ from transitions of several steps, as `update(duration=)` learns, in one compiled loop.

The simulator knows single steps only, and a call from Python costs more than the update itself. So
the loop is here: it holds random actions for some steps each, or until the episode ends, and calls
the very kernels that `update` calls.
"""

from typing import Any

import numba
import numpy as np
from world import World, seed_words

from fhtd.online import FHQ
from fhtd.online.kernels.compiled import SETTINGS
from fhtd.online.kernels.dispatch import step
from fhtd.online.kernels.duration import control_update
from fhtd.online.kernels.random import draw, uniform
from fhtd.online.kernels.transition import Transition
from fhtd.problems import Problem


def run(duration: int, learner: FHQ, problem: Problem, steps: int, seed: int = 0) -> np.ndarray:
    """So many transitions of at most `duration` steps each; the weights that were learned."""
    world, state = World(problem).arrays, learner._state
    state.weights[:] = 0
    _loop(
        state,
        tuple(world[name] for name in ("start", "outcomes", "next_states", "rewards", "terminal")),
        (learner.features.indices, learner.features.values),
        np.array([float(learner.step_size)]),
        (np.zeros(duration), np.empty_like(state.error), np.zeros(0)),
        steps,
        seed_words(seed),
    )
    return state.weights.reshape(learner.n_actions, -1, state.weights.shape[1])[..., 1:].copy()


@numba.njit(**SETTINGS)
def _loop(
    state: Any, world: Any, features: Any, rates: Any, room: Any, steps: int, random: Any
) -> None:
    start, outcomes, next_states, rewards, terminal = world
    indices, values = features
    came, targets, no_policy = room
    n_actions, n_features = state.n_actions, state.n_features
    s = draw(start, random)
    for _ in range(steps):
        action = int(uniform(random) * n_actions)
        following, taken, terminated = s, 0, False
        while taken < came.shape[0] and not terminated:
            k = draw(outcomes[following, action], random)
            came[taken] = rewards[following, action, k]
            terminated = terminal[following, action, k]
            following = next_states[following, action, k]
            taken += 1
        seen = Transition(
            indices,
            values,
            s,
            following,
            action,
            came[0],
            no_policy,
            terminated,
            False,
            1.0,
            1.0,
            True,
        )
        if taken == 1:
            step(state, seen, rates)
        else:
            control_update(state, seen, came[:taken], rates, n_features, targets, 0, True)
        s = draw(start, random) if terminated else following
