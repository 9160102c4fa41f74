"""Everything of an agent in one archive, to go on from to the bit.

Each part writes itself down and restores itself (`snapshot` and `restore`); this module puts them
into one file and refuses what does not belong together, before memory is taken.
"""

from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import jax
import jax.numpy as jnp
import numpy as np

from fhtd import archive, checks
from fhtd.archive import Arrays
from fhtd.deep import earlier
from fhtd.deep.experience import check_kind
from fhtd.deep.settings import Settings, from_json, to_json
from fhtd.environments import spec_id
from fhtd.weighting import Weighting

if TYPE_CHECKING:
    from fhtd.deep.agent import Agent

A = TypeVar("A", bound="Agent[Any]")


class Saved(NamedTuple):
    """What a file says of the agent in it."""

    manifest: dict[str, Any]
    arrays: Arrays
    settings: Settings
    weighting: Weighting | None

    @property
    def seed(self) -> int:
        """Of the run."""
        return checks.integer("seed", self.manifest["seed"], 0)


def save(agent: "Agent[Any]", path: Path, content: dict[str, Any] | None = None) -> None:
    """Write an agent; `content` is what its kind has beside."""
    loop = agent.loop
    arrays = {
        f"state_{i}": np.asarray(leaf) for i, leaf in enumerate(jax.tree.leaves(loop.training))
    }
    parts = {"loop": loop.snapshot(), "experience": loop.experience.snapshot()}
    for part, (_, own) in parts.items():
        arrays |= {f"{part}_{name}": array for name, array in own.items()}
    if agent.weighting is not None:
        arrays["weighting_rewards"] = agent.weighting.rewards
        arrays["weighting_bootstraps"] = agent.weighting.bootstraps
    manifest = {
        "class": type(agent).__name__,
        "settings": to_json(agent.settings),
        "environment": spec_id(agent.environment),
        "seed": agent.seed,
        "divergence": agent.divergence,
        **{part: plain for part, (plain, _) in parts.items()},
        **(content or {}),
    }
    archive.write(path, "agent", manifest, arrays, keep_previous=True)


def read(kind: type[A], path: Path) -> tuple[type[A], Saved]:
    """The kind of agent in a file, which must be this one or a kind of it, and its settings."""
    from fhtd.deep.agent import Agent

    manifest, arrays = archive.read(path, "agent")
    try:
        name = manifest["class"]
        found = kind if kind.__name__ == name else Agent.kinds.get(name)
        if found is None:
            raise ValueError(f"it holds a {name}: import the module that defines it first")
        if not issubclass(found, kind):
            raise ValueError(f"it holds a {name}, not a {kind.__name__}")
        if manifest["format"] != archive.FORMAT:
            manifest, arrays = earlier.upgraded(manifest, arrays, found.settings_type)
        settings = from_json(found.settings_type, manifest["settings"])
        # Every layer has arrays of its own: compared before anything is built.
        if len(settings.hidden) > len(arrays):
            raise ValueError(f"it has {len(arrays)} arrays for {len(settings.hidden)} layers")
        streams = manifest["loop"]["streams"]
        if len(streams) != settings.n_envs:
            raise ValueError(f"it has {len(streams)} environments, not {settings.n_envs}")
        return found, Saved(manifest, arrays, settings, _weighting_of(arrays))
    except archive.UNREADABLE as error:
        raise archive.unreadable(path, "agent", error) from None


def load(kind: type[A], path: Path, environment: Any = None, **given: Any) -> A:
    """The agent of a file, in the environment given or made by the saved id.

    `given` is what its kind needs and no file can hold.
    """
    found, saved = read(kind, path)
    try:
        if environment is None:
            environment = environment_of(saved.manifest)
        agent = found.from_saved(environment, saved, **given)
        restore(agent, saved)
    except archive.UNREADABLE as error:
        raise archive.unreadable(path, "agent", error) from None
    return agent


def restore(agent: "Agent[Any]", saved: Saved) -> None:
    """Put saved numbers into a freshly built agent of the same settings."""
    manifest, arrays = saved.manifest, dict(saved.arrays)
    loop = agent.loop
    leaves, structure = jax.tree.flatten(loop.plan)
    kept = [_taken(arrays, f"state_{i}") for i in range(len(leaves))]
    for i, (now, then) in enumerate(zip(leaves, kept, strict=True)):
        check_kind(f"state {i}", then, now.shape, now.dtype)
    parts = {part: _taken_with(arrays, f"{part}_") for part in ("loop", "experience")}
    if agent.weighting is not None:
        for name in ("weighting_rewards", "weighting_bootstraps"):
            _taken(arrays, name)
    if arrays:
        raise ValueError(f"its arrays {sorted(arrays)} are not an agent's")
    loop.training = jax.tree.unflatten(structure, [jnp.array(array) for array in kept])
    frames = checks.integer("frames", manifest["loop"]["frames"], 0)
    loop.experience.restore(manifest["experience"], parts["experience"], frames)
    agent.divergence = _divergence_of(manifest, frames, float(agent.horizons[-1]))
    loop.restore(manifest["loop"], parts["loop"])
    for part, left in parts.items():
        if left:
            raise ValueError(f"its arrays {sorted(left)} are not part of its {part}")


def _taken(arrays: Arrays, name: str) -> Any:
    if name not in arrays:
        raise ValueError(f"array {name} is missing")
    return arrays.pop(name)


def _taken_with(arrays: Arrays, prefix: str) -> Arrays:
    names = [name for name in arrays if name.startswith(prefix)]
    return {name.removeprefix(prefix): arrays.pop(name) for name in names}


def _divergence_of(manifest: dict[str, Any], frames: int, last: float) -> tuple[int, float] | None:
    if manifest["divergence"] is None:
        return None
    frame, horizon = manifest["divergence"]
    if not isinstance(horizon, float | int) or not 1 <= horizon <= last:
        raise ValueError(f"it diverged at horizon {horizon!r}")
    return checks.integer("divergence", frame, 0, frames), float(horizon)


def _weighting_of(arrays: Arrays) -> Weighting | None:
    saved = [arrays.get(f"weighting_{name}") for name in ("rewards", "bootstraps")]
    if saved[0] is None or saved[1] is None:
        return None
    for array in saved:
        if array is not None and array.dtype not in (np.float64, np.complex128):
            raise ValueError(f"its weighting is of dtype {array.dtype.str}")
    return Weighting(saved[0], saved[1])


def environment_of(manifest: dict[str, Any]) -> str:
    """The saved id; one that names a module to import is refused, as it would run its code."""
    found = manifest["environment"]
    if not isinstance(found, str) or ":" in found:
        raise ValueError(f"environment {found!r} is not an id: give the environment to load")
    return found
