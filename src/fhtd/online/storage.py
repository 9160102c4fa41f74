"""Learners in files: the arguments of the class, and everything that learning has changed.

Any learner can be kept that has its constructor's arguments as attributes of the same names. Before
anything of the size that a file claims is built, the claim is compared with the arrays in the file.
"""

import inspect
import math
from collections.abc import Mapping
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from fhtd import archive, checks
from fhtd.features import Features, Representation
from fhtd.online.learner import LEARNERS, Learner, arguments, stored_name
from fhtd.online.schedule import Rate, rate_from_json, rate_to_json
from fhtd.weighting import Weighting

_MOST_STEPS = 2**62
#: The argument of learners whose horizons move on.
_MOVING = "deepen_every"
#: Arguments that files without moves, of earlier versions, do not have.
_LATER = {_MOVING, "acting"}
#: And those that came together after them: a file has both or neither.
_LATEST = {"one_step_horizons", "horizons"}


def save(learner: Learner, path: str | PathLike[str]) -> None:
    """Write a learner, whole or not at all."""
    to_arrays = getattr(learner.features, "to_arrays", None)
    arrays = {f"feature_{k}": v for k, v in (to_arrays() if to_arrays else {}).items()}
    for name in ("weights", *learner._memory()):
        arrays[f"state_{name}"] = getattr(learner._state, name)
    content: dict[str, Any] = {
        "class": stored_name(type(learner)),
        "features": type(learner.features).__name__,
        "arguments": {
            name: _encoded(learner, name, arrays) for name in arguments(type(learner))[1:]
        },
        "memory": list(learner._memory()),
        "step": learner.step,
        "generator": learner._rng.bit_generator.state,
    }
    if _MOVING in content["arguments"]:
        content["moves"] = learner._moves
    archive.write(Path(path), "learner", content, arrays)


def load(
    path: str | PathLike[str],
    *,
    features: Representation | None = None,
    step_size: Rate | None = None,
    second_step_size: Rate | None = None,
    epsilon: Rate | None = None,
    lambda_: Rate | None = None,
) -> Learner:
    """Read a learner of any class; the keywords give back what a file cannot hold.

    Args:
        path: The file that a learner's `save` wrote.
        features: The features, where they were of your own.
        step_size: The step size, where it was a function of yours.
        second_step_size: That of TDC's second weights, where it was a function of yours.
        epsilon: The rate of exploration, where it was a function of yours.
        lambda_: The trace decay, where it was a function of yours.

    Returns:
        The learner, as it was.

    Raises:
        ValueError: It is not such a file, or a damaged one.
        TypeError: The learner has nothing of the name that is given back.

    >>> import fhtd
    >>> learner = fhtd.FHTD(fhtd.Features.tabular(3), fhtd.Weighting.exponential(4))
    >>> learner.update(0, reward=1.0, next_observation=1)
    >>> learner.save("learner.npz")
    >>> fhtd.load("learner.npz").step
    1
    """
    given: dict[str, Any] = {
        "features": features,
        "step_size": step_size,
        "second_step_size": second_step_size,
        "epsilon": epsilon,
        "lambda_": lambda_,
    }
    given = {name: value for name, value in given.items() if value is not None}
    path = Path(path)
    content, arrays = archive.read(path, "learner")
    try:
        if content["format"] == 1:
            content = _from_format_1(content)
        kind = _class(content["class"])
    except archive.UNREADABLE as error:
        raise archive.unreadable(path, "learner", error) from None
    unknown = given.keys() - set(arguments(kind))
    if unknown:
        raise TypeError(f"load cannot replace {sorted(unknown)[0]!r} of a {kind.__name__}")
    try:
        return _rebuilt(kind, content, arrays, given)
    except archive.UNREADABLE as error:
        raise archive.unreadable(path, "learner", error) from None


def restored_state(learner: Learner, arrays: Mapping[str, npt.NDArray[Any]]) -> Any:
    """The kernel's state of a learner whose settings are known, once the arrays fit them."""
    rows, columns = math.prod(learner._shape), len(learner.horizons) + 1
    layouts = {"weights": ((rows, columns), learner.weighting.dtype), **learner._memory()}
    saved = {name: arrays[f"state_{name}"] for name in layouts if f"state_{name}" in arrays}
    if learner._is_of_earlier_version:
        for name, value in learner._memory_before.items():
            saved.setdefault(name, np.full(layouts[name][0], value, layouts[name][1]))
    for name, (shape, dtype) in layouts.items():
        found = saved[name]
        if found.shape != shape or found.dtype != dtype:
            raise ValueError(
                f"array {name} is {found.dtype} of shape {found.shape}, expected {np.dtype(dtype)} "
                f"of shape {shape}"
            )
    if np.any(saved["weights"][:, learner._empty_columns]) and not learner._moves:
        raise ValueError("the weights of horizon 0 must be 0")
    _check_positions(learner, saved)
    state = learner._build_state(np.array(saved.pop("weights")))
    for name, array in saved.items():
        getattr(state, name)[...] = array
    return state


def _check_positions(learner: Learner, saved: Mapping[str, npt.NDArray[Any]]) -> None:
    """Refuse positions that would make a kernel read or write outside its arrays."""
    limits = {"window_indices": learner._n_features, "window_actions": learner.n_actions}
    for name, limit in limits.items():
        if name in saved and (np.any(saved[name] < 0) or np.any(saved[name] >= limit)):
            raise ValueError(f"{name} must be from 0 to {limit - 1}")
    if "cursor" in saved:
        length = len(saved["window_indices"])
        count, newest = saved["cursor"].tolist()
        if not (0 <= count <= length - learner._free_slots and 0 <= newest < length):
            raise ValueError(f"cursor must lie within the window of {length}, got {count, newest}")


def _encoded(learner: Learner, name: str, arrays: archive.Arrays) -> Any:
    """An argument as plain data, its arrays among the others."""
    if not hasattr(learner, name):
        raise TypeError(
            f"{type(learner).__name__} cannot be saved: its argument {name!r} is not kept as an "
            "attribute of that name"
        )
    value = learner._argument(name)
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, tuple) and all(isinstance(entry, int) for entry in value):
        return list(value)
    if isinstance(value, complex):
        return {"complex": [value.real, value.imag]}
    if isinstance(value, np.ndarray):
        arrays[f"argument_{name}"] = value
        return {"array": f"argument_{name}"}
    if isinstance(value, Weighting):
        arrays[f"{name}_rewards"] = value.rewards
        arrays[f"{name}_bootstraps"] = value.bootstraps
        return {"weighting": name}
    if name == "weightings":
        for i, one in enumerate(value.values()):
            arrays[f"{name}_{i}_rewards"] = one.rewards
            arrays[f"{name}_{i}_bootstraps"] = one.bootstraps
        return {"weightings": list(value)}
    if callable(value) and name in inspect.signature(load).parameters:
        return {"rate": rate_to_json(value)}
    raise TypeError(f"{type(learner).__name__} cannot be saved: {name} is a {type(value).__name__}")


def _decoded(name: str, data: Any, arrays: archive.Arrays) -> Any:
    if not isinstance(data, dict):
        return data
    ((tag, value),) = data.items()
    if tag == "complex":
        return complex(*value)
    if tag == "array":
        return arrays[value]
    if tag == "weighting":
        return Weighting(arrays[f"{value}_rewards"], arrays[f"{value}_bootstraps"])
    if tag == "weightings":
        if len(set(value)) != len(value):
            raise ValueError(f"{name} has a name twice")
        return {
            each: Weighting(arrays[f"{name}_{i}_rewards"], arrays[f"{name}_{i}_bootstraps"])
            for i, each in enumerate(value)
        }
    if tag != "rate":
        raise ValueError(f"{name} is of an unknown kind {tag!r}")
    if value is None:
        raise ValueError(f"{name} was a function of yours; pass it: load(path, {name}=...)")
    return rate_from_json(value)


def _class(name: Any) -> type[Learner]:
    kind = LEARNERS.get(name) if isinstance(name, str) else None
    if kind is None or inspect.isabstract(kind):
        module = str(name).rpartition(".")[0]
        first = f"; import {module} first" if module else ""
        raise ValueError(f"it holds a learner of the class {name!r}, which is not known{first}")
    return kind


def _rebuilt(
    kind: type[Learner], content: dict[str, Any], arrays: archive.Arrays, given: dict[str, Any]
) -> Learner:
    stored = dict(content["arguments"])
    known = set(arguments(kind)[1:])
    if "moves" not in content:
        known -= _LATER
    if not _LATEST & set(stored):
        known -= _LATEST
    if set(stored) != known:
        wrong = sorted(set(stored) ^ known)[0]
        raise ValueError(f"its arguments are not those of {kind.__name__}: {wrong!r}")
    chosen = {
        name: given[name] if name in given else _decoded(name, data, arrays)
        for name, data in stored.items()
    }
    features = given.get("features")
    if features is None:
        own = {k.removeprefix("feature_"): v for k, v in arrays.items() if k[:8] == "feature_"}
        features = Features.from_arrays(
            content["features"], own, largest=len(arrays["state_weights"])
        )
    step = checks.integer("step", content["step"], 0, _MOST_STEPS)
    # The constructor finds the arrays where it would otherwise draw first weights.
    learner = kind.__new__(kind)
    learner._saved = arrays
    learner._is_of_earlier_version = "memory" not in content
    if _MOVING in stored:
        learner._moves = checks.integer("moves", content["moves"], 0, _MOST_STEPS)
    kind.__init__(learner, features, **chosen)
    if "memory" in content and content["memory"] != list(learner._memory()):
        raise ValueError(f"its arrays are not those of {kind.__name__}")
    learner.step = step
    learner._rng.bit_generator.state = content["generator"]
    return learner


def _from_format_1(header: dict[str, Any]) -> dict[str, Any]:
    """The content of a file from before arguments were kept by name."""
    discount = header["discount"]
    kept = {"discount": {"complex": discount} if isinstance(discount, list) else discount}
    if discount is None:
        kept = {"weighting": {"weighting": "weighting"}}
    rates = {
        name: data if isinstance(data, float) else {"rate": data}
        for name, data in header["rates"].items()
    }
    others = {name: header[name] for name in ("initial_spread", "seed", "allow_divergence")}
    return header | {
        "arguments": {
            **header["settings"],
            **kept,
            **rates,
            **others,
            "initial": {"array": "initial"},
        }
    }
