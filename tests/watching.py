"""Agents that expect exactly what the oracle says, to see whether a page shows it."""

from dataclasses import replace
from typing import Any

import gymnasium
import numpy as np

from fhtd import FiniteMDP, Weighting, oracle, problems
from fhtd.deep import DFHQ, DFHTD, DQN
from fhtd.envs import FiniteMDPEnv
from fhtd.policy import uniform

GRID = problems.checkered_grid().mdp
GAMMA = 0.9
H = 12
OPTIMAL = oracle.optimal(GRID, Weighting.exponential(H, GAMMA))
SMALL: dict[str, Any] = {"hidden": (4,), "replay_size": 50}


class ExactControl(DFHQ):
    """DFHQ with the exact values."""

    def values(self, observation: Any) -> np.ndarray:
        return OPTIMAL.action_values[int(observation)].astype(np.float32)


class ExactDQN(DQN):
    """DQN with the exact values, those of its auxiliary horizons too."""

    def values(self, observation: Any) -> np.ndarray:
        endless = oracle.infinite_optimal(GRID, GAMMA).action_values[int(observation)]
        shorter = OPTIMAL.action_values[int(observation), :, : self.settings.auxiliary_horizons]
        return np.hstack([shorter, endless[:, None]]).astype(np.float32)


def row_of(observation: Any, action: int, reward: float, following: Any, info: Any) -> float:
    """A signal beside the reward: the row that a step leads to."""
    return float(GRID.positions[int(following)][0])


def rows_as_rewards() -> FiniteMDP:
    """The grid in which that signal is the reward."""
    return replace(GRID, rewards=GRID.positions[GRID.next_states][..., 0].astype(float))


class ExactPrediction(DFHTD):
    """DFHTD of the uniformly random policy with the exact values."""

    def values(self, observation: Any) -> dict[str, np.ndarray]:
        policy, state = uniform(GRID.n_states, GRID.n_actions), int(observation)
        worlds = {"reward": GRID}
        return {
            name: oracle.state_values(worlds.get(name, rows_as_rewards()), policy, self.weighting)[
                state
            ]
            for name in self.cumulants
        }


def world(limit: int | None = None) -> Any:
    environment: Any = FiniteMDPEnv(GRID, render_mode="rgb_array")
    return environment if limit is None else gymnasium.wrappers.TimeLimit(environment, limit)


def control(**options: Any) -> ExactControl:
    return ExactControl(world(), preset="paper", horizon=H, discount=GAMMA, **(SMALL | options))


def prediction(name: str = "row") -> ExactPrediction:
    def at_random(observation: Any) -> np.ndarray:
        return np.full(GRID.n_actions, 1 / GRID.n_actions)

    return ExactPrediction(
        world(), at_random, cumulants={name: row_of}, weighting=Weighting.average(6), **SMALL
    )


def lived(agent: Any, limit: int | None = None, epsilon: float = 0.0) -> list[Any]:
    """The episode that a page shows, lived once more."""
    return list(agent.episode(world(limit), epsilon=epsilon, seed=0))
