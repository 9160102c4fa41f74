"""Repeat every action a few times, and say which rewards came on the way."""

from typing import Any

import gymnasium

from fhtd import checks
from fhtd.environments import STEP_REWARDS


class Repeat(gymnasium.Wrapper[Any, Any, Any, Any]):
    """Each action is taken several times: frames in between are skipped.

    The reward is their sum, and `info["step_rewards"]` has them one by one, fewer where the episode
    ends. FHQ's `learn` then makes one update of so many steps, and horizons go on to count single
    steps of the environment.

    >>> import gymnasium
    >>> from fhtd.envs import Repeat
    >>> skipping = Repeat(gymnasium.make("CartPole-v1"), times=3)
    >>> _ = skipping.reset(seed=0)
    >>> _, reward, _, _, info = skipping.step(1)
    >>> reward, info["step_rewards"]
    (3.0, [1.0, 1.0, 1.0])
    """

    def __init__(self, env: Any, times: int) -> None:
        """Wrap an environment.

        Args:
            env: The environment.
            times: How often each action is taken.
        """
        super().__init__(env)
        self.times = checks.integer("times", times, 1)

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Take the action several times, or until the episode ends.

        Args:
            action: One of the environment's.

        Returns:
            What the environment returned last, with the sum of the rewards.
        """
        rewards: list[float] = []
        while True:
            seen, reward, terminated, truncated, info = self.env.step(action)
            rewards.append(float(reward))
            if len(rewards) == self.times or terminated or truncated:
                info = dict(info) | {STEP_REWARDS: rewards}
                return seen, sum(rewards), bool(terminated), bool(truncated), info
