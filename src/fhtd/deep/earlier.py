"""Checkpoints of earlier formats, as today's would be.

| format | was                                                                                   |
|--------|-----------------------------------------------------------------------------|
| 1      | the replay by field, without the length of each window                      |
| 2      | the replay in rows; one list of settings for all agents; episodes were cut  |
"""

from dataclasses import fields
from typing import Any

import numpy as np

from fhtd import checks
from fhtd.archive import Arrays
from fhtd.deep.settings import Settings

_DTYPES_IN_FORMAT_1 = {
    "observations": None,
    "actions": np.dtype(np.int32),
    "rewards": np.dtype(np.float32),
    "next_observations": None,
    "terminated": np.dtype(np.float32),
    "next_masks": np.dtype(np.bool_),
}
#: All agents had all of these; what an agent had no use for is dropped.
_SETTINGS = {
    *("horizon", "discount", "n_step", "horizons", "hidden", "initialisation", "unshared"),
    *("optimiser", "learning_rate", "max_grad_norm", "loss_weights", "replay_size", "batch_size"),
    *("learning_starts", "train_freq", "gradient_steps", "target_update_interval", "double"),
    *("n_envs", "epsilon_initial", "epsilon_final", "epsilon_frames", "acting"),
    *("max_episode_frames", "divergence_limit", "on_divergence"),
}


def upgraded(
    manifest: dict[str, Any], arrays: Arrays, kind: type[Settings]
) -> tuple[dict[str, Any], Arrays]:
    """Manifest and arrays in today's format."""
    known = {field.name for field in fields(kind)}
    saved = manifest["settings"]
    if not set(saved) <= _SETTINGS or (manifest["format"] == 2 and set(saved) != _SETTINGS):
        raise ValueError("its settings are not those of its format")
    settings = {field.name: field.default for field in fields(kind)}
    settings |= {name: value for name, value in saved.items() if name in known}
    if "memory_observations" in arrays:
        return _predictor(manifest, arrays, settings)
    n = checks.integer("n_step", settings.get("n_step", 1), 1)
    if manifest["format"] == 1:
        arrays = _in_rows(arrays, n)
    counts, greedy = manifest["counts"], manifest["greedy"]
    if len(greedy) not in (0, len(counts)):
        raise ValueError(f"it has {len(counts)} environments")
    found = {name: array for name, array in arrays.items() if not name.startswith("replay_")}
    for name, array in arrays.items():
        if name.startswith("replay_"):
            found[f"experience_{name.removeprefix('replay_')}"] = array
    for i, action in enumerate(greedy):
        # Episodes were cut when a file was written: the present one has no actions yet, and what
        # it begins with is not known, so that nothing is compared.
        found[f"loop_actions_{i}"] = np.zeros(0, np.int32)
        found[f"loop_proposal_{i}"] = np.array([checks.integer("greedy", action, 0)], np.int32)
    loop = {
        "frames": manifest["frames"],
        "episodes": manifest["episodes"],
        "generator": manifest["generator"],
        "streams": [{"count": count, "length": 0 if greedy else None} for count in counts],
    }
    experience = {"count": manifest["replayed"], "windows": [0] * len(counts)}
    return _manifest(manifest, settings, loop, experience), found


def _manifest(
    manifest: dict[str, Any],
    settings: dict[str, Any],
    loop: dict[str, Any],
    experience: dict[str, Any],
) -> dict[str, Any]:
    kept = ("format", "class", "environment", "seed", "divergence", "cumulants")
    return {
        "divergence": None,
        **{name: manifest[name] for name in kept if name in manifest},
        "settings": settings,
        "loop": loop,
        "experience": experience,
    }


def _in_rows(arrays: Arrays, n: int) -> Arrays:
    """Format 1 to 2: every field of the replay in one matrix, images beside it."""
    old = {name: arrays[f"replay_{name}"] for name in _DTYPES_IN_FORMAT_1}
    for name, dtype in _DTYPES_IN_FORMAT_1.items():
        if dtype is not None and old[name].dtype != dtype:
            raise ValueError(f"replay {name} is of dtype {old[name].dtype.str}")
    found = {name: array for name, array in arrays.items() if not name.startswith("replay_")}
    count = len(old["actions"])
    is_image = old["observations"].ndim > 2
    vectors = [np.zeros((count, 0), np.float32)] * 2
    if is_image:
        found["replay_images"] = old["observations"]
        found["replay_next_images"] = old["next_observations"]
    else:
        vectors = [old["observations"], old["next_observations"]]
        if any(one.dtype != np.float32 for one in vectors):
            raise ValueError("replay observations are not of dtype float32")
    found["replay_rows"] = np.column_stack(
        [
            vectors[0],
            old["actions"].astype(np.float32),
            old["rewards"],
            vectors[1],
            old["terminated"],
            old["next_masks"].astype(np.float32),
            np.full(count, n, np.float32),
        ]
    ).astype(np.float32)
    return found


def _predictor(
    manifest: dict[str, Any], arrays: Arrays, settings: dict[str, Any]
) -> tuple[dict[str, Any], Arrays]:
    """A DFHTD of format 2: what it remembered, as rows; the loss since the last log as nothing."""
    memory = {
        name: arrays[f"memory_{name}"]
        for name in ("observations", "next_observations", "signals", "terminated", "ratios")
    }
    found = {name: array for name, array in arrays.items() if not name.startswith("memory_")}
    count = len(memory["terminated"])
    vectors = [memory["observations"], memory["next_observations"]]
    if vectors[0].ndim > 2:
        found["experience_images"], found["experience_next_images"] = vectors
        vectors = [np.zeros((count, 0), np.float32)] * 2
    nothing, one = np.zeros(count, np.float32), np.ones(count, np.float32)
    found["experience_rows"] = np.column_stack(
        [
            vectors[0],
            nothing,
            memory["signals"],
            vectors[1],
            memory["terminated"],
            one,
            memory["ratios"],
        ]
    ).astype(np.float32)
    frames = checks.integer("frames", manifest["frames"], 0)
    every = checks.integer("train_freq", settings["train_freq"], 1)
    starts = checks.integer("learning_starts", settings["learning_starts"], 1)
    learned = max(frames // every - (starts - 1) // every, 0)
    state = sum(name.startswith("state_") for name in found)
    size = len(arrays["weighting_rewards"])
    settings["horizon"] = size
    found[f"state_{state}"] = np.array(learned * settings["gradient_steps"], np.int32)
    found[f"state_{state + 1}"] = np.zeros((), np.int32)
    found[f"state_{state + 2}"] = np.zeros(size, np.float32)
    loop = {
        "frames": frames,
        "episodes": manifest["episodes"],
        "generator": manifest["generator"],
        "streams": [{"count": manifest["episodes"], "length": None}],
    }
    return _manifest(manifest, settings, loop, {"count": frames, "windows": [0]}), found
