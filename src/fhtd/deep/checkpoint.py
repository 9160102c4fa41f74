"""Everything of an agent in one archive, to go on from to the bit."""

from dataclasses import asdict, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np

from fhtd import checks
from fhtd.deep import archive
from fhtd.deep.archive import Arrays
from fhtd.deep.replay import Replay, Sample
from fhtd.deep.settings import Settings
from fhtd.weighting import Weighting

if TYPE_CHECKING:
    from fhtd.deep.agent import DeepAgent


def save(agent: "DeepAgent", path: Path) -> None:
    """Write the agent."""
    arrays = arrays_of_state(agent._state) | _replayed(agent.replay)
    weighting = getattr(agent, "weighting", None)
    if weighting is not None:
        arrays |= arrays_of_weighting(weighting)
    content = {
        "class": type(agent).__name__,
        "settings": asdict(agent.settings),
        "environment": spec_of(agent.environment),
        "seed": agent.seed,
        "frames": agent.frames,
        "episodes": agent.episodes,
        "divergence": agent.divergence,
        "counts": agent._counts,
        "replayed": agent.replay.count,
        "generator": agent.rng.bit_generator.state,
        "greedy": [episode.greedy for episode in agent._episodes],
    }
    archive.write(path, content, arrays)


def restore(agent: "DeepAgent", manifest: dict[str, Any], arrays: Arrays) -> None:
    """Put saved numbers into a freshly built agent of the same settings."""
    agent._state = restored_state(agent._state, arrays)
    count = checks.integer("replayed", manifest["replayed"], 0)
    _restore_replay(agent.replay, manifest["format"], count, arrays)
    actions = agent.replay.fields.actions[: len(agent.replay)]
    if not np.isin(actions, np.arange(agent.encoder.n_actions)).all():
        raise ValueError("replay holds actions that the environment does not have")
    agent.rng.bit_generator.state = manifest["generator"]
    agent.frames, agent.episodes = int(manifest["frames"]), int(manifest["episodes"])
    found = manifest.get("divergence")
    agent.divergence = None if found is None else (int(found[0]), float(found[1]))
    agent._resume(manifest["counts"], manifest["greedy"])


def spec_of(environment: Any) -> str | None:
    """The id to make the environment by, if it has one."""
    spec = getattr(environment, "spec", None)
    return None if spec is None else str(spec.id)


def arrays_of_state(state: Any) -> Arrays:
    """Numbered leaves."""
    return {f"state_{i}": np.asarray(leaf) for i, leaf in enumerate(jax.tree.leaves(state))}


def restored_state(state: Any, arrays: Arrays) -> Any:
    """A state of the same structure from its numbered leaves."""
    leaves, structure = jax.tree.flatten(state)
    saved = [arrays[f"state_{i}"] for i in range(len(leaves))]
    for i, (now, then) in enumerate(zip(leaves, saved, strict=True)):
        if now.shape != then.shape or now.dtype != then.dtype:
            raise ValueError(f"state {i} has shape {then.shape}, expected {now.shape}")
    return jax.tree.unflatten(structure, [jnp.asarray(array) for array in saved])


def arrays_of_weighting(weighting: Weighting) -> Arrays:
    """The weighting's two arrays."""
    return {
        "weighting_rewards": weighting.rewards,
        "weighting_bootstraps": weighting.bootstraps,
    }


def weighting_of(arrays: Arrays) -> Weighting:
    """The saved weighting."""
    return Weighting(arrays["weighting_rewards"], arrays["weighting_bootstraps"])


def settings_of(manifest: dict[str, Any]) -> dict[str, Any]:
    """The saved settings as arguments; lists are tuples again.

    What an older format did not know of has its default.
    """
    known = {field.name for field in fields(Settings)}
    saved = manifest["settings"]
    if not set(saved) <= known or (manifest["format"] == archive.FORMAT and set(saved) != known):
        raise ValueError("its settings are not those of this version")
    return {k: tuple(v) if isinstance(v, list) else v for k, v in saved.items()}


def _replayed(replay: Replay) -> Arrays:
    """The filled part of the replay."""
    kept = zip(Sample._fields, replay.all, strict=True)
    return {f"replay_{n}": array[: len(replay)] for n, array in kept if array is not None}


def _restore_replay(replay: Replay, version: int, count: int, arrays: Arrays) -> None:
    filled = min(count, replay.size)
    rooms = replay.fields if version == 1 else replay.all
    for name, room in rooms._asdict().items():
        if room is None:
            continue
        if version == 1 and name == "lengths":
            room[:filled] = replay.n
            continue
        then = arrays[f"replay_{name}"]
        if then.shape != (filled, *room.shape[1:]):
            raise ValueError(f"replay {name} has shape {then.shape}")
        room[:filled] = then
    replay.count = count
