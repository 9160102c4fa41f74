"""Agents of other libraries as arms, with the settings that RL Baselines3 Zoo publishes.

`peers.json` has these settings, environment by environment; elsewhere a peer has its library's own.
Every training episode's end and return are noted in the same form as for agents of this package.
"""

import inspect
import json
import pkgutil
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import numpy as np

from fhtd.environments import make
from fhtd.reproduction import Arrays

#: Module and class of each, and what to install.
KINDS = {
    "sb3:dqn": ("stable_baselines3", "DQN", "stable-baselines3"),
    "sb3-contrib:qrdqn": ("sb3_contrib", "QRDQN", "sb3-contrib"),
    "sb3:sac": ("stable_baselines3", "SAC", "stable-baselines3"),
    "sbx:sac": ("sbx", "SAC", "sbx-rl"),
}


@cache
def _published() -> dict[str, dict[str, dict[str, Any]]]:
    content = pkgutil.get_data(__package__, "peers.json")
    assert content is not None
    found: dict[str, dict[str, dict[str, Any]]] = json.loads(content)
    return found


def settings_of(algorithm: str, environment: str) -> dict[str, Any]:
    """What is published for an environment; nothing where nothing is.

    LunarLander-v2, where it is still to be had, has the settings of v3.
    """
    of_peer = _published().get(algorithm, {})
    return dict(of_peer.get(environment.replace("LunarLander-v2", "LunarLander-v3"), {}))


def require(algorithm: str) -> None:
    """Refuse a peer that is not installed, in one line that says what to install."""
    module, _, package = KINDS[algorithm]
    if find_spec(module) is None:
        raise ValueError(f"{algorithm} needs {package}: pip install {package}")


def check_settings(algorithm: str, names: list[str]) -> None:
    """Refuse settings that the peer does not have; nothing is known of one that is not installed.

    Args:
        algorithm: Name of the peer.
        names: Those given.
    """
    if find_spec(KINDS[algorithm][0]) is None:
        return
    known = [name for name in inspect.signature(_kind(algorithm)).parameters if name != "env"]
    for name in names:
        if name not in known:
            from difflib import get_close_matches

            near = get_close_matches(name, known, n=1)
            hint = f": did you mean {near[0]}?" if near else ""
            raise TypeError(f"{name} is not a setting of {algorithm}{hint}")


def _kind(algorithm: str) -> Any:
    module, name, _ = KINDS[algorithm]
    return getattr(import_module(module), name)


def train(
    algorithm: str, environment: str, settings: dict[str, Any], *, frames: int, seed: int
) -> Arrays:
    """Train a peer from the beginning; it keeps no checkpoint.

    Args:
        algorithm: Name of the peer.
        environment: Id of the environment.
        settings: Keywords of its constructor.
        frames: To train for.
        seed: Of everything.
    """
    require(algorithm)
    base: Any = import_module("stable_baselines3.common.callbacks").BaseCallback
    import_module("torch").set_num_threads(1)

    class Episodes(base):  # type: ignore[misc]
        """Every episode's last frame and return."""

        def _on_step(self) -> bool:
            for info in self.locals["infos"]:
                if "episode" in info:
                    ends.append(self.num_timesteps)
                    returns.append(info["episode"]["r"])
            return True

    ends: list[int] = []
    returns: list[float] = []
    given = {name: _schedule(value) for name, value in settings.items()}
    world = make(environment)
    try:
        model = _kind(algorithm)("MlpPolicy", world, seed=seed, device="cpu", **given)
        with _quick_loss(algorithm):
            model.learn(frames, callback=Episodes())
    finally:
        world.close()
    # A library may finish its last rollout.
    kept = np.array(ends, np.int32) <= frames
    return {
        "frame": np.array(ends, np.int32)[kept],
        "return": np.array(returns, np.float32)[kept],
    }


@contextmanager
def _quick_loss(algorithm: str) -> Iterator[None]:
    """QR-DQN's own loss, compiled by PyTorch where it can: the same numbers but for rounding.

    It is about every pair of quantiles of a batch, 170 x 170 x 128 with the settings published for
    LunarLander, which plain PyTorch writes to memory again and again: a run of 100,000 frames takes
    about an hour so, and some ten minutes compiled.
    """
    if algorithm != "sb3-contrib:qrdqn":
        yield
        return
    torch: Any = import_module("torch")
    module: Any = import_module("sb3_contrib.qrdqn.qrdqn")
    plain = module.quantile_huber_loss
    quick = torch.compile(plain, dynamic=False)
    try:
        quick(torch.zeros(1, 2), torch.zeros(1, 2), sum_over_quantiles=True)
    except RuntimeError:
        # There is no compiler for it here.
        quick = plain
    module.quantile_huber_loss = quick
    try:
        yield
    finally:
        module.quantile_huber_loss = plain


def _schedule(value: Any) -> Any:
    """`lin_X` falls from X to 0 in a straight line over training, as published settings have it."""
    if isinstance(value, str) and value.startswith("lin_"):
        first = float(value.removeprefix("lin_"))
        return lambda left: left * first
    return value
