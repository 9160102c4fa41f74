"""Everything of an agent in one file: a JSON manifest and plain arrays, nothing that runs code.

The file is an uncompressed `.npz`. Its manifest lists every array with shape, dtype and SHA-256;
whatever does not match is refused before anything is used. Files are written beside their place and
renamed, and the one before is kept as `<name>.previous`.
"""

import hashlib
import io
import json
import os
import secrets
import zipfile
from dataclasses import asdict, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np
import numpy.typing as npt

from fhtd.deep.settings import Settings
from fhtd.weighting import Weighting

if TYPE_CHECKING:
    from fhtd.deep.agent import DeepAgent

FORMAT = 1
_MANIFEST = "manifest"
_LARGEST_MANIFEST = 2**20


def save(agent: "DeepAgent", path: Path) -> None:
    """Write the agent; an older file of that name becomes `<name>.previous`."""
    arrays = _arrays_of(agent)
    manifest = {
        "format": FORMAT,
        "class": type(agent).__name__,
        "settings": asdict(agent.settings),
        "environment": _spec_of(agent.environment),
        "seed": agent.seed,
        "frames": agent.frames,
        "episodes": agent.episodes,
        "counts": agent._counts,
        "replayed": agent.replay.count,
        "generator": agent.rng.bit_generator.state,
        "greedy": [episode.greedy for episode in agent._episodes],
        "arrays": {
            name: {
                "shape": list(array.shape),
                "dtype": array.dtype.str,
                "sha256": hashlib.sha256(array.tobytes()).hexdigest(),
            }
            for name, array in arrays.items()
        },
    }
    text = json.dumps(manifest, default=_plain).encode()
    content = _pack({_MANIFEST: np.frombuffer(text, np.uint8), **arrays})
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    try:
        with open(temporary, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        if path.exists():
            os.replace(path, path.with_name(f"{path.name}.previous"))
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


def _pack(arrays: dict[str, npt.NDArray[Any]]) -> bytes:
    """An uncompressed `.npz` without dates: the same arrays give the same bytes."""
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_STORED) as archive:
        for name, array in arrays.items():
            member = io.BytesIO()
            np.lib.format.write_array(member, array, allow_pickle=False)
            archive.writestr(zipfile.ZipInfo(f"{name}.npy"), member.getvalue())
    return content.getvalue()


def _plain(value: Any) -> Any:
    """Numbers of NumPy's as Python's."""
    return value.item() if isinstance(value, np.generic) else list(value)


def _spec_of(environment: Any) -> str | None:
    spec = getattr(environment, "spec", None)
    return None if spec is None else str(spec.id)


def _arrays_of(agent: "DeepAgent") -> dict[str, npt.NDArray[Any]]:
    leaves = jax.tree.leaves(agent._state)
    arrays = {f"state_{i}": np.asarray(leaf) for i, leaf in enumerate(leaves)}
    filled = len(agent.replay)
    for name in _REPLAYED:
        arrays[f"replay_{name}"] = getattr(agent.replay, name)[:filled]
    weighting = getattr(agent, "weighting", None)
    if weighting is not None:
        arrays["weighting_rewards"] = weighting.rewards
        arrays["weighting_bootstraps"] = weighting.bootstraps
    return {name: np.asarray(array, order="C") for name, array in arrays.items()}


_REPLAYED = (
    "observations",
    "next_observations",
    "actions",
    "rewards",
    "terminated",
    "next_masks",
)


def read(path: Path) -> tuple[dict[str, Any], dict[str, npt.NDArray[Any]]]:
    """Manifest and arrays, checked against each other; anything else is a ValueError."""
    try:
        with zipfile.ZipFile(path) as archive:
            return _read_checked(archive)
    except FileNotFoundError:
        raise
    except (
        ValueError,
        KeyError,
        TypeError,
        AttributeError,
        IndexError,
        EOFError,
        OSError,
        zipfile.BadZipFile,
        NotImplementedError,
        RuntimeError,
        RecursionError,
        OverflowError,
        MemoryError,
    ) as error:
        raise ValueError(f"{path} is not a readable checkpoint: {error}") from None


def _read_checked(
    archive: zipfile.ZipFile,
) -> tuple[dict[str, Any], dict[str, npt.NDArray[Any]]]:
    members = {member.filename: member for member in archive.infolist()}
    if len(members) != len(archive.infolist()):
        raise ValueError("it lists a member twice")
    for member in members.values():
        # Stored, not compressed: no member can be larger than the file itself.
        if member.compress_type != zipfile.ZIP_STORED or member.file_size != member.compress_size:
            raise ValueError(f"{member.filename} is compressed")
    head = members[f"{_MANIFEST}.npy"]
    if head.file_size > _LARGEST_MANIFEST:
        raise ValueError("its manifest is too large")
    manifest = json.loads(_array(archive.read(head)).tobytes())
    if manifest["format"] != FORMAT:
        raise ValueError(f"its format is {manifest['format']}, this version reads {FORMAT}")
    listed = manifest["arrays"]
    if set(members) != {f"{name}.npy" for name in (*listed, _MANIFEST)}:
        raise ValueError("its arrays are not those that the manifest lists")
    arrays = {}
    for name, expected in listed.items():
        array = _array(archive.read(members[f"{name}.npy"]))
        found = {
            "shape": list(array.shape),
            "dtype": array.dtype.str,
            "sha256": hashlib.sha256(array.tobytes()).hexdigest(),
        }
        if found != expected:
            raise ValueError(f"array {name} does not match the manifest")
        arrays[name] = array
    return manifest, arrays


def _array(content: bytes) -> npt.NDArray[Any]:
    found: npt.NDArray[Any] = np.lib.format.read_array(io.BytesIO(content), allow_pickle=False)
    return found


def settings_of(manifest: dict[str, Any]) -> dict[str, Any]:
    """The saved settings as arguments; lists are tuples again."""
    known = {field.name for field in fields(Settings)}
    saved = manifest["settings"]
    if set(saved) != known:
        raise ValueError("its settings are not those of this version")
    return {k: tuple(v) if isinstance(v, list) else v for k, v in saved.items()}


def weighting_of(arrays: dict[str, npt.NDArray[Any]]) -> Weighting:
    """The saved weighting."""
    return Weighting(arrays["weighting_rewards"], arrays["weighting_bootstraps"])


def restore(
    agent: "DeepAgent", manifest: dict[str, Any], arrays: dict[str, npt.NDArray[Any]]
) -> None:
    """Put saved numbers into a freshly built agent of the same settings."""
    leaves, structure = jax.tree.flatten(agent._state)
    saved = [arrays[f"state_{i}"] for i in range(len(leaves))]
    for i, (now, then) in enumerate(zip(leaves, saved, strict=True)):
        if now.shape != then.shape or now.dtype != then.dtype:
            raise ValueError(f"state {i} has shape {then.shape}, expected {now.shape}")
    replay = agent.replay
    count = int(manifest["replayed"])
    filled = min(count, replay.size)
    for name in _REPLAYED:
        room, then = getattr(replay, name), arrays[f"replay_{name}"]
        if then.shape != (filled, *room.shape[1:]) or then.dtype != room.dtype:
            raise ValueError(f"replay {name} has shape {then.shape}")
    if filled and not (
        0
        <= arrays["replay_actions"].min()
        <= arrays["replay_actions"].max()
        < agent.encoder.n_actions
    ):
        raise ValueError("replay holds actions that the environment does not have")
    for name in _REPLAYED:
        getattr(replay, name)[:filled] = arrays[f"replay_{name}"]
    replay.count = count
    agent._state = jax.tree.unflatten(structure, [jnp.asarray(array) for array in saved])
    agent.rng.bit_generator.state = manifest["generator"]
    agent.frames, agent.episodes = int(manifest["frames"]), int(manifest["episodes"])
    agent._resume(manifest["counts"], manifest["greedy"])
