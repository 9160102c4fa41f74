"""Everything of an agent in one archive, to go on from to the bit."""

from collections.abc import Sequence
from dataclasses import asdict, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np
import numpy.typing as npt

from fhtd import archive, checks
from fhtd.archive import Arrays
from fhtd.deep.replay import Replay, Sample
from fhtd.deep.settings import Settings
from fhtd.weighting import Weighting

if TYPE_CHECKING:
    from fhtd.deep.agent import DeepAgent

_MOST_FRAMES = 2**53
#: Where they were others than those of today's rows.
_DTYPES_IN_FORMAT_1 = {"actions": np.dtype(np.int32), "next_masks": np.dtype(np.bool_)}


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
    archive.write(path, "agent", content, arrays, keep_previous=True)


def restore(agent: "DeepAgent", manifest: dict[str, Any], arrays: Arrays) -> None:
    """Put saved numbers into a freshly built agent of the same settings."""
    _check_names(agent, manifest["format"], arrays)
    agent._state = restored_state(agent._planned, arrays)
    agent.frames = checks.integer("frames", manifest["frames"], 0, _MOST_FRAMES)
    agent.episodes = checks.integer("episodes", manifest["episodes"], 0, agent.frames)
    count = checks.integer("replayed", manifest["replayed"], 0, agent.frames)
    _restore_replay(agent.replay, manifest["format"], count, arrays)
    _check_replayed(agent)
    agent.rng.bit_generator.state = manifest["generator"]
    if agent.rng.bit_generator.state != manifest["generator"]:
        raise ValueError("its generator has another state than it can have")
    agent.divergence = _divergence_of(manifest, agent)
    agent._resume(manifest["counts"], manifest["greedy"])


def check_plan(manifest: dict[str, Any], arrays: Arrays, settings: Settings) -> None:
    """Refuse settings that cannot be those of the arrays, before anything is built of them."""
    check_layers(arrays, settings.hidden)
    if len(manifest["counts"]) != settings.n_envs:
        raise ValueError(f"it has {len(manifest['counts'])} environments, not {settings.n_envs}")


def check_layers(arrays: Arrays, hidden: Sequence[int]) -> None:
    """Every layer has arrays of its own."""
    if len(hidden) > len(arrays):
        raise ValueError(f"it has {len(arrays)} arrays for {len(hidden)} hidden layers")


def _check_names(agent: "DeepAgent", version: int, arrays: Arrays) -> None:
    """All of the agent's arrays, and no others."""
    names = {f"state_{i}" for i in range(len(jax.tree.leaves(agent._planned)))}
    rooms = agent.replay.fields if version == 1 else agent.replay.all
    names |= {f"replay_{name}" for name, room in rooms._asdict().items() if room is not None}
    if version == 1:
        names.remove("replay_lengths")
    if agent._has_weighting:
        names |= {"weighting_rewards", "weighting_bootstraps"}
    if set(arrays) != names:
        raise ValueError(f"its arrays {sorted(names ^ set(arrays))} are missing or not an agent's")


def _divergence_of(manifest: dict[str, Any], agent: "DeepAgent") -> tuple[int, float] | None:
    found = manifest.get("divergence")
    if found is None:
        return None
    frame, horizon = found
    if horizon not in agent.horizons.tolist():
        raise ValueError(f"divergence names a horizon {horizon!r} that is not learned")
    return checks.integer("divergence", frame, 0, agent.frames), float(horizon)


def _check_replayed(agent: "DeepAgent") -> None:
    """What learning takes for granted of transitions."""
    filled = slice(len(agent.replay))
    fields = agent.replay.fields
    possible: dict[str, npt.ArrayLike] = {
        "actions": np.arange(agent.encoder.n_actions),
        "terminated": [0, 1],
        "next_masks": [0, 1],
        "lengths": np.arange(1, agent.replay.n + 1),
    }
    for name, values in possible.items():
        if not np.isin(getattr(fields, name)[filled], values).all():
            raise ValueError(f"replay holds {name} that are not possible")


def spec_of(environment: Any) -> str | None:
    """The id to make the environment by, if it has one."""
    spec = getattr(environment, "spec", None)
    return None if spec is None else str(spec.id)


def environment_of(manifest: dict[str, Any]) -> str:
    """The saved id; one that names a module to import is refused, as it would run its code."""
    found = manifest["environment"]
    if not isinstance(found, str) or ":" in found:
        raise ValueError(f"environment {found!r} is not an id: give the environment to load")
    return found


def arrays_of_state(state: Any) -> Arrays:
    """Numbered leaves."""
    return {f"state_{i}": np.asarray(leaf) for i, leaf in enumerate(jax.tree.leaves(state))}


def restored_state(state: Any, arrays: Arrays) -> Any:
    """A state of the same structure from its numbered leaves; `state` may be shapes only."""
    leaves, structure = jax.tree.flatten(state)
    saved = [arrays[f"state_{i}"] for i in range(len(leaves))]
    for i, (now, then) in enumerate(zip(leaves, saved, strict=True)):
        _check_kind(f"state {i}", then, now.shape, now.dtype)
    return jax.tree.unflatten(structure, [jnp.array(array) for array in saved])


def _check_kind(name: str, array: Any, shape: tuple[int, ...], dtype: Any) -> None:
    if array.shape != shape or array.dtype != dtype:
        found = f"{array.dtype.str} of shape {array.shape}"
        raise ValueError(f"{name} is {found}, expected {np.dtype(dtype).str} of shape {shape}")


def arrays_of_weighting(weighting: Weighting) -> Arrays:
    """The weighting's two arrays."""
    return {
        "weighting_rewards": weighting.rewards,
        "weighting_bootstraps": weighting.bootstraps,
    }


def weighting_of(arrays: Arrays) -> Weighting:
    """The saved weighting."""
    saved = arrays["weighting_rewards"], arrays["weighting_bootstraps"]
    for array in saved:
        if array.dtype not in (np.dtype(np.float64), np.dtype(np.complex128)):
            raise ValueError(f"its weighting is of dtype {array.dtype.str}")
    return Weighting(*saved)


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
        dtype = _DTYPES_IN_FORMAT_1.get(name, room.dtype) if version == 1 else room.dtype
        _check_kind(f"replay {name}", then, (filled, *room.shape[1:]), dtype)
        room[:filled] = then
    replay.count = count
