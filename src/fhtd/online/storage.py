"""Learners in one `.npz` file: a JSON header and arrays, nothing that could run code."""

import io
import json
import zipfile
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from fhtd.features import Features
from fhtd.files import write_atomically
from fhtd.online import baselines, control, prediction
from fhtd.online.learner import Learner
from fhtd.online.schedule import rate_from_json, rate_to_json
from fhtd.weighting import Weighting

FORMAT = 1
CLASSES: dict[str, type[Learner]] = {
    kind.__name__: kind
    for kind in (
        prediction.FHTD,
        prediction.NStepFHTD,
        prediction.FHTDLambda,
        prediction.FixedHorizonMC,
        control.FHQ,
        control.FHQLambda,
        control.QLearning,
        baselines.TD,
        baselines.NStepTD,
        baselines.TDLambda,
        baselines.TDC,
        baselines.ETD,
    )
}
_RATES = ("step_size", "second_step_size", "epsilon")
_SETTINGS = ("n", "lambda_", "n_actions")


def save(learner: Learner, path: str | PathLike[str]) -> None:
    """Write atomically: a temporary file beside the target, then a rename."""
    if type(learner).__name__ not in CLASSES:
        raise TypeError(f"{type(learner).__name__} is not a learner of this package")
    to_arrays = getattr(learner.features, "to_arrays", None)
    arrays = {f"feature_{k}": v for k, v in (to_arrays() if to_arrays else {}).items()}
    arrays |= {
        f"state_{name}": value
        for name, value in learner._state._asdict().items()
        if isinstance(value, np.ndarray)
    }
    arrays["weighting_rewards"] = learner.weighting.rewards
    arrays["weighting_bootstraps"] = learner.weighting.bootstraps
    arrays["initial"] = learner.initial
    discount = getattr(learner, "discount", None)
    if isinstance(discount, complex):
        discount = [discount.real, discount.imag]
    header = {
        "format": FORMAT,
        "class": type(learner).__name__,
        "features": type(learner.features).__name__,
        "settings": {k: v for k, v in vars(learner).items() if k in _SETTINGS},
        "discount": discount,
        "rates": {k: rate_to_json(v) for k, v in vars(learner).items() if k in _RATES},
        "initial_spread": learner.initial_spread,
        "seed": learner.seed,
        "allow_divergence": learner.allow_divergence,
        "step": learner.step,
        "generator": learner._rng.bit_generator.state,
    }
    content = io.BytesIO()
    np.savez(content, header=np.frombuffer(json.dumps(header).encode(), np.uint8), **arrays)
    write_atomically(Path(path), content.getvalue())


def load(path: str | PathLike[str], **replace: Any) -> Learner:
    """Rebuild a learner; `replace` gives rates or features that were functions of the user's."""
    try:
        with open(path, "rb") as file, np.load(file, allow_pickle=False) as saved:
            arrays = {name: saved[name] for name in saved.files}
        header = json.loads(arrays.pop("header").tobytes())
        if header["format"] != FORMAT:
            raise ValueError(f"its format is {header['format']}, this version reads {FORMAT}")
        return _rebuild(header, arrays, replace)
    except (OSError, TypeError):
        raise
    except (KeyError, AttributeError, ValueError, EOFError, zipfile.BadZipFile) as error:
        raise ValueError(f"{path} is not a readable learner file: {error}") from None


def _rebuild(header: Any, arrays: dict[str, Any], replace: dict[str, Any]) -> Learner:
    kind = CLASSES[header["class"]]
    options: dict[str, Any] = dict(header["settings"])
    unknown = set(replace) - {*header["rates"], "features"}
    if unknown:
        raise TypeError(f"load cannot replace {sorted(unknown)[0]!r} of a {header['class']}")
    for name, data in header["rates"].items():
        if name in replace:
            options[name] = replace[name]
        elif data is None:
            raise ValueError(f"{name} was a function of yours; pass it: load(path, {name}=...)")
        else:
            options[name] = rate_from_json(data)
    if header["discount"] is None:
        options["weighting"] = Weighting(
            arrays["weighting_rewards"], arrays["weighting_bootstraps"]
        )
    else:
        discount = header["discount"]
        options["discount"] = complex(*discount) if isinstance(discount, list) else discount
    features = replace.get("features")
    if features is None:
        own = {k.removeprefix("feature_"): v for k, v in arrays.items() if k[:8] == "feature_"}
        features = Features.from_arrays(header["features"], own)
    learner = kind(
        features,
        initial=arrays["initial"],
        initial_spread=header["initial_spread"],
        seed=header["seed"],
        allow_divergence=header["allow_divergence"],
        **options,
    )
    for name, value in learner._state._asdict().items():
        if isinstance(value, np.ndarray):
            saved = arrays[f"state_{name}"]
            if saved.shape != value.shape or saved.dtype != value.dtype:
                raise ValueError(f"array {name} has shape {saved.shape}, expected {value.shape}")
            value[...] = saved
    _check_state(learner)
    learner.step = int(header["step"])
    learner._rng.bit_generator.state = header["generator"]
    return learner


def _check_state(learner: Learner) -> None:
    """Refuse positions that would make a kernel read or write outside its arrays."""
    state = learner._state._asdict()
    size = learner.features.size
    if "window_indices" in state:
        window = state["window_indices"]
        count, newest = state["cursor"]
        if np.any(window < 0) or np.any(window >= size):
            raise ValueError(f"window_indices must be from 0 to {size - 1}")
        if not (0 <= count <= len(window) and 0 <= newest < len(window)):
            raise ValueError("cursor must lie within the window")
    if "window_actions" in state:
        actions = state["window_actions"]
        if np.any(actions < 0) or np.any(actions >= learner.n_actions):
            raise ValueError(f"window_actions must be from 0 to {learner.n_actions - 1}")
