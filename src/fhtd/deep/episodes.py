"""Looking at a trained agent: episodes as they happen."""

import itertools
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from fhtd import checks

if TYPE_CHECKING:
    from fhtd.deep.player import Player


class Step(NamedTuple):
    """One step of an episode: what was seen, expected, done and received."""

    observation: Any
    #: (actions, horizons), or (1, horizons) where a policy decides.
    values: npt.NDArray[Any]
    #: A number from 0, or the environment's own vector.
    action: Any
    reward: float
    terminated: bool
    #: Which row of the values is about the action.
    row: int
    #: The reward of each step that the action took; one where the agent counts actions.
    rewards: list[float]


def steps(agent: "Player", environment: Any, epsilon: float, seed: int) -> Iterator[Step]:
    """The steps of one episode, acting greedily but for `epsilon`."""
    epsilon = checks.real("epsilon", epsilon, 0, 1)
    rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(3,)))
    raw, info = environment.reset(seed=int(rng.integers(2**31)))
    limit = agent.settings.max_episode_frames
    for length in itertools.count(1):
        observation = agent.observations.receive(raw)
        mask = agent.actions.mask_of(info)
        values, action = agent.expect(observation, mask)
        if rng.random() < epsilon:
            action = agent.actions.random(rng, mask)
        values, row = agent.valued(observation, values, action)
        raw, reward, terminated, truncated, info = environment.step(
            agent.actions.to_environment(action)
        )
        shown, single = agent.actions.shown(action), agent.counted(float(reward), info)
        yield Step(observation, values, shown, float(reward), bool(terminated), row, single)
        if terminated or truncated or length == limit:
            return
