"""A Gymnasium environment that does what it is told, and agents whose values are known."""

import gymnasium
import numpy as np
from gymnasium import spaces


class Scripted(gymnasium.Env):
    """One observation, given rewards in turn, one kind of ending after `length` steps."""

    def __init__(
        self,
        length=1,
        terminates=True,
        reward=1.0,
        observation=1.0,
        mask=None,
        n_actions=2,
    ):
        self.length, self.terminates, self.mask = length, terminates, mask
        self.rewards, self.observation = np.atleast_1d(reward), np.atleast_1d(observation)
        self.observation_space = spaces.Box(-1, 1, self.observation.shape, np.float32)
        self.action_space = spaces.Discrete(n_actions)
        #: Steps of all episodes together.
        self.steps = 0

    def _see(self):
        info = {} if self.mask is None else {"action_mask": self.mask}
        return self.observation.astype(np.float32), info

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.t = 0
        return self._see()

    def step(self, action):
        assert self.mask is None or self.mask[action]
        reward = float(self.rewards[self.steps % len(self.rewards)])
        self.t += 1
        self.steps += 1
        done = self.t >= self.length
        observation, info = self._see()
        return observation, reward, done and self.terminates, done and not self.terminates, info


class Continuous(gymnasium.Env):
    """Actions of bounded numbers; the reward is highest at 0.5, in the middle of no bounds."""

    def __init__(self, size=1, n_seen=1, length=10, low=-1.0, high=2.0, shape=None):
        self.length = length
        self.observation_space = spaces.Box(-1, 1, (n_seen,), np.float32)
        self.action_space = spaces.Box(low, high, (size,) if shape is None else shape, np.float32)
        #: Every action that came, as it came.
        self.received = []

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.t = 0
        return self._see(), {}

    def _see(self):
        return self.np_random.uniform(-1, 1, self.observation_space.shape).astype(np.float32)

    def step(self, action):
        assert self.action_space.contains(action), action
        self.received.append(np.array(action))
        self.t += 1
        reward = -float(np.mean((np.asarray(action) - 0.5) ** 2))
        return self._see(), reward, False, self.t >= self.length, {}


def with_values(agent, values, target=None):
    """Give an agent without hidden layers these (actions, horizons) values in `Scripted`.

    `target` is what its target network says.
    """
    import jax.numpy as jnp

    heads = jnp.zeros_like(agent.state.parameters[0])

    def parameters(table):
        return heads + 0, jnp.asarray(np.ravel(table), jnp.float32)

    state = agent.state._replace(parameters=parameters(values))
    if target is not None:
        state = state._replace(target=parameters(target))
    agent.state = state
    return agent
