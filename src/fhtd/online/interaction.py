"""Let a control learner act in a Gymnasium environment: to learn, and to be evaluated."""

from collections import deque
from collections.abc import Iterator
from copy import deepcopy
from typing import TYPE_CHECKING, Any

import numpy as np

from fhtd import checks, progress
from fhtd.boards import Printed
from fhtd.callbacks import Group
from fhtd.environments import another, make, step_rewards
from fhtd.evaluation import Evaluated, evaluated
from fhtd.features import Features

if TYPE_CHECKING:
    from fhtd.online.control import ControlLearner


def features_of(environment: Any) -> tuple[Any, int]:
    """What a learner sees of an environment, and how many actions it has there."""
    made = make(environment)
    try:
        return Features.from_space(made.observation_space), int(_checked(made).n)
    finally:
        if made is not environment:
            made.close()


def learn(
    learner: "ControlLearner",
    environment: Any,
    total_timesteps: int,
    seed: int | None,
    progress_bar: bool,
    callback: Any,
    verbose: int,
    log_interval: int,
) -> None:
    """The loop behind `ControlLearner.learn`; an environment made here is closed here."""
    total_timesteps = checks.integer("total_timesteps", total_timesteps, 1)
    group = Group([*([Printed()] if verbose else []), Group.of(callback)])
    made = make(environment)
    try:
        _check_actions(learner, made)
        steps = progress.bar(range(total_timesteps), type(learner).__name__, progress_bar)
        group.begin(learner)
        try:
            _loop(learner, made, steps, seed, group, log_interval)
        finally:
            group.end(learner)
    finally:
        if made is not environment:
            made.close()


def _checked(environment: Any) -> Any:
    space = environment.action_space
    if not hasattr(space, "n") or getattr(space, "start", 0) != 0:
        raise ValueError(f"environment must have discrete actions counted from 0, got {space}")
    return space


def _check_actions(learner: "ControlLearner", environment: Any) -> None:
    count = int(_checked(environment).n)
    if count != learner.n_actions:
        raise ValueError(
            f"environment has {count} actions, but this learner has {learner.n_actions}"
        )


def _loop(
    learner: "ControlLearner",
    environment: Any,
    steps: Any,
    seed: int | None,
    group: Group,
    log_interval: int,
) -> None:
    observation = deepcopy(environment.reset(seed=seed)[0])
    learner.new_episode()
    recent: deque[tuple[float, int]] = deque(maxlen=100)
    total, length, number = 0.0, 0, 0
    for _ in steps:
        action = learner.act(observation)
        seen, reward, terminated, truncated, info = environment.step(action)
        # The environment may write its next observation into the same array.
        following = deepcopy(seen)
        # Several where one transition took several steps, as `fhtd.envs.Repeat` makes them.
        single = step_rewards(reward, info)
        learner.update(
            observation,
            action,
            single if len(single) > 1 else single[0],
            following,
            terminated,
            truncated,
            duration=len(single),
        )
        observation = following
        total += float(reward)
        length += len(single)
        goes_on = group.step(learner)
        if terminated or truncated:
            number += 1
            recent.append((total, length))
            goes_on &= group(
                learner,
                {"return": total, "length": length, "frame": learner.frames, "episode": number},
            )
            if number % log_interval == 0 and group.has_logs:
                group.log(learner, _row(learner, number, recent))
        if not goes_on:
            return
        if terminated or truncated:
            observation = deepcopy(environment.reset()[0])
            total, length = 0.0, 0


def _row(
    learner: "ControlLearner", number: int, recent: "deque[tuple[float, int]]"
) -> dict[str, float]:
    returns, lengths = np.array(recent).T
    return {
        "time/total_timesteps": learner.frames,
        "time/episodes": number,
        "rollout/ep_rew_mean": float(returns.mean()),
        "rollout/ep_len_mean": float(lengths.mean()),
    }


def evaluate(
    learner: "ControlLearner",
    environment: Any,
    is_its_own: bool,
    episodes: int,
    epsilon: float,
    seed: int,
    max_steps: int | None,
) -> Evaluated:
    """Greedy episodes; where the learner acts in this environment itself, in another like it."""
    checks.real("epsilon", epsilon, 0, 1)
    is_made = isinstance(environment, str) or not hasattr(environment, "reset")
    world = another(environment) if is_its_own and not is_made else make(environment)
    try:
        _check_actions(learner, world)
        return evaluated(lambda i: _rewards(learner, world, epsilon, seed + i), episodes, max_steps)
    finally:
        if world is not environment:
            world.close()


def _rewards(
    learner: "ControlLearner", environment: Any, epsilon: float, seed: int
) -> Iterator[float]:
    """Of one episode; what is random in it is not the learner's own."""
    rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(3,)))
    observation, _ = environment.reset(seed=int(rng.integers(2**31)))
    while True:
        action, _ = learner.predict(observation)
        if rng.random() < epsilon:
            action = int(rng.integers(learner.n_actions))
        observation, reward, terminated, truncated, _ = environment.step(action)
        yield float(reward)
        if terminated or truncated:
            return
