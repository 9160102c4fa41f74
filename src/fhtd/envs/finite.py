"""Any finite MDP as a Gymnasium environment."""

from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces
from gymnasium.error import ResetNeeded

from fhtd import checks
from fhtd.envs.drawing import Drawing, Image
from fhtd.mdp import FiniteMDP


class FiniteMDPEnv(gymnasium.Env[Any, Any]):
    """Observations are states, and actions are the MDP's. Nothing but an ending stops an episode.

    `reset(options={"state": s})` starts in a state of choice. After an ending the observation is
    the state that the last outcome leads to. The MDP itself is `env.unwrapped.mdp`.

    Args:
        mdp: The MDP to act in.
        render_mode: `ansi` for text, `rgb_array` for pixels, None for no drawing.

    Raises:
        TypeError: `mdp` is not a FiniteMDP.
        ValueError: There is no such `render_mode`.

    >>> from fhtd import problems
    >>> from fhtd.envs import FiniteMDPEnv
    >>> env = FiniteMDPEnv(problems.random_walk(3).mdp)
    >>> env.reset(seed=0, options={"state": 3})
    (3, {})
    >>> env.step(1)  # out at the right
    (4, 1.0, True, False, {})
    """

    metadata = {"render_modes": ["ansi", "rgb_array"], "render_fps": 8}  # noqa: RUF012

    def __init__(self, mdp: FiniteMDP, render_mode: str | None = None) -> None:
        if not isinstance(mdp, FiniteMDP):
            raise TypeError(f"mdp must be a FiniteMDP, got {type(mdp).__name__}")
        modes: list[str] = self.metadata["render_modes"]
        if render_mode is not None and render_mode not in modes:
            raise ValueError(f"render_mode must be one of {modes} or None, got {render_mode!r}")
        self.mdp = mdp
        self.render_mode = render_mode
        self.observation_space = spaces.Discrete(mdp.n_states)
        self.action_space = spaces.Discrete(mdp.n_actions)
        # Ending at exactly 1 means that no draw below 1 passes the last possible outcome.
        running = mdp.probabilities.cumsum(axis=2)
        self._thresholds = running / running[:, :, -1:]
        self._drawing = Drawing(mdp)
        self._state = 0
        self._last_action: int | None = None
        self._running = False

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[int, dict[str, Any]]:
        """Begin an episode in a state of the start distribution, or in options["state"].

        Args:
            seed: Of all that is drawn from now on; None goes on as before.
            options: None, or {"state": s} to begin in state s.

        Returns:
            The state, and an empty dictionary.

        Raises:
            ValueError: `options` have another key, or there is no such state.
        """
        options = options or {}
        unknown = sorted(set(options) - {"state"})
        if unknown:
            raise ValueError(f"options must have no key but 'state', got {unknown[0]!r}")
        if "state" in options:
            state = checks.integer("state", options["state"], 0, self.mdp.n_states - 1)
        super().reset(seed=seed)
        if "state" not in options:
            thresholds = self.mdp.start.cumsum() / self.mdp.start.sum()
            state = int(np.searchsorted(thresholds, self.np_random.random(), side="right"))
        self._state = state
        self._last_action = None
        self._running = True
        return state, {}

    def step(self, action: Any) -> tuple[int, float, bool, bool, dict[str, Any]]:
        """Draw one outcome of an action.

        Args:
            action: Its number.

        Returns:
            The next state, the reward, whether the episode ended, False as nothing is ever cut, and
            an empty dictionary.

        Raises:
            ResetNeeded: No episode is running.
        """
        if isinstance(action, np.ndarray) and action.ndim == 0:
            action = action[()]
        action = checks.integer("action", action, 0, self.mdp.n_actions - 1)
        if not self._running:
            raise ResetNeeded("no episode is running: call reset before step")
        draw = self.np_random.random()
        k = int(np.searchsorted(self._thresholds[self._state, action], draw, side="right"))
        at = self._state, action, k
        ended = bool(self.mdp.terminal[at])
        self._state = int(self.mdp.next_states[at])
        self._last_action = action
        self._running = not ended
        return self._state, float(self.mdp.rewards[at]), ended, False, {}

    def render(self) -> str | Image | None:
        """The map with the agent, as text or as an array of pixels."""
        if self.render_mode == "ansi":
            return self._drawing.text(self._state, self._last_action)
        if self.render_mode == "rgb_array":
            return self._drawing.picture(self._state)
        gymnasium.logger.warn("render() draws nothing: the environment has no render_mode")
        return None
