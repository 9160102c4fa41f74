"""Let a control learner act and learn in a Gymnasium environment."""

from collections.abc import Callable
from copy import deepcopy
from typing import TYPE_CHECKING, Any

from fhtd import checks, progress
from fhtd.environments import make

if TYPE_CHECKING:
    from fhtd.online.control import ControlLearner


def learn(
    learner: "ControlLearner",
    environment: Any,
    total_timesteps: int,
    seed: int | None,
    progress_bar: bool,
    callback: Callable[[Any, dict[str, float]], bool | None] | None,
) -> None:
    """The loop behind `ControlLearner.learn`; an environment made here is closed here."""
    total_timesteps = checks.integer("total_timesteps", total_timesteps, 1)
    is_ours = isinstance(environment, str)
    environment = make(environment)
    space = environment.action_space
    if not hasattr(space, "n") or getattr(space, "start", 0) != 0:
        raise ValueError(f"environment must have discrete actions counted from 0, got {space}")
    if int(space.n) != learner.n_actions:
        raise ValueError(
            f"environment has {space.n} actions, but this learner has {learner.n_actions}"
        )
    try:
        _loop(learner, environment, total_timesteps, seed, progress_bar, callback)
    finally:
        if is_ours:
            environment.close()


def _loop(
    learner: "ControlLearner",
    environment: Any,
    total_timesteps: int,
    seed: int | None,
    progress_bar: bool,
    callback: Callable[[Any, dict[str, float]], bool | None] | None,
) -> None:
    steps = progress.bar(range(total_timesteps), type(learner).__name__, progress_bar)
    observation = deepcopy(environment.reset(seed=seed)[0])
    learner.new_episode()
    episode_return, episode_length = 0.0, 0
    for _ in steps:
        action = learner.act(observation)
        seen, reward, terminated, truncated, _ = environment.step(action)
        # The environment may write its next observation into the same array.
        following = deepcopy(seen)
        learner.update(observation, action, reward, following, terminated, truncated)
        observation = following
        episode_return += float(reward)
        episode_length += 1
        if terminated or truncated:
            episode = {"return": episode_return, "length": episode_length}
            if callback is not None and callback(learner, episode) is False:
                return
            observation = deepcopy(environment.reset()[0])
            episode_return, episode_length = 0.0, 0
