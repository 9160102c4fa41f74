"""Arms in words: `[LABEL=]ALGORITHM[,SETTING=VALUE...]`, such as `wide=dfhq,hidden=512:512`.

What an arm is in an environment is a `Cell`: its settings, resolved, so that its file is found
again whatever presets say later, and under whatever label. Only what differs from the dataclass's
defaults, which never change, is written down: a setting that a later version adds changes no name.
"""

import ast
import hashlib
import json
import re
from dataclasses import dataclass, fields
from difflib import get_close_matches
from typing import Any

from fhtd.comparison import peers

#: The environment's own preset where there is one, else the general one.
TUNED = "tuned"


@dataclass(frozen=True)
class Arm:
    """One thing that is compared."""

    label: str
    #: dfhq, dqn, MODULE:CLASS, or a peer.
    algorithm: str
    #: What is said of it, by name.
    changes: tuple[tuple[str, Any], ...] = ()

    @property
    def is_peer(self) -> bool:
        """Of another library."""
        return self.algorithm in peers.KINDS

    def __str__(self) -> str:
        return self.label


@dataclass(frozen=True)
class Cell:
    """An arm in one environment: all that the content of a run depends on, but for its seed."""

    environment: str
    frames: int
    algorithm: str
    #: Settings as JSON, in the order of their names; all of a peer's, else what is not the default.
    settings: str

    def __str__(self) -> str:
        digest = hashlib.sha256(self.settings.encode()).hexdigest()[:12]
        words = f"{self.environment}_{self.frames}_{self.algorithm}_{digest}"
        return re.sub(r"[^A-Za-z0-9_.-]", "-", words)


def parse(text: str) -> Arm:
    """An arm from its words; mistakes are refused with the nearest name.

    Args:
        text: As typed.
    """
    head, *rest = text.split(",")
    label, equals, algorithm = head.rpartition("=")
    if not algorithm or (equals and not label):
        raise ValueError(f"arms must be [LABEL=]ALGORITHM[,SETTING=VALUE...], got {text!r}")
    changes: dict[str, Any] = {}
    for pair in rest:
        name, equals, value = pair.partition("=")
        if not equals or not name.isidentifier() or name in changes:
            raise ValueError(f"arms must have SETTING=VALUE, each once, got {pair!r} in {text!r}")
        changes[name] = _value(value)
    arm = Arm(label or text, algorithm, tuple(changes.items()))
    if arm.is_peer:
        peers.check_settings(algorithm, list(changes))
    else:
        _resolved(arm, "")
    return arm


def parse_all(texts: tuple[str, ...]) -> list[Arm]:
    """Arms whose labels differ.

    Args:
        texts: As typed.
    """
    found = [parse(text) for text in texts]
    labels = [arm.label for arm in found]
    for label in labels:
        if labels.count(label) > 1:
            raise ValueError(f"arms must have labels of their own, got {label!r} twice")
    return found


def cell(arm: Arm, environment: str, frames: int) -> Cell:
    """What an arm is in an environment.

    Args:
        arm: Which.
        environment: Id of the environment.
        frames: Of a run.
    """
    if arm.is_peer:
        given = {name: list(v) if isinstance(v, tuple) else v for name, v in arm.changes}
        settings = peers.settings_of(arm.algorithm, environment) | given
    else:
        settings = _resolved(arm, environment)
    return Cell(environment, frames, arm.algorithm, json.dumps(settings, sort_keys=True))


def _resolved(arm: Arm, environment: str) -> dict[str, Any]:
    """Settings of an agent of this package, or of the user's own, but for defaults."""
    from fhtd.deep.presets import DEFAULT
    from fhtd.deep.settings import chosen, to_json

    kind = _kind(arm.algorithm)
    changes = dict(arm.changes)
    preset = changes.pop("preset", DEFAULT)
    if preset == TUNED:
        preset = environment if environment in kind.presets else DEFAULT
    begun = kind.settings_of(preset)
    kinds = {field.name: field.type for field in fields(begun)}
    for name, value in changes.items():
        if isinstance(getattr(begun, name, None), tuple) and isinstance(value, int | float):
            changes[name] = (value,)
        elif kinds.get(name) in (int, int | None) and isinstance(value, float) and value % 1 == 0:
            changes[name] = int(value)
    return to_json(chosen(kind.settings_type, begun, changes, arm.algorithm), changed=True)


def _kind(algorithm: str) -> Any:
    from fhtd.deep import run as runs

    known = [*runs.ALGORITHMS, *peers.KINDS]
    if algorithm not in runs.ALGORITHMS and (
        ":" not in algorithm or algorithm.startswith(("sb3", "sbx"))
    ):
        near = get_close_matches(algorithm, known, n=1, cutoff=0.5)
        hint = f"; did you mean {near[0]!r}?" if near else ""
        raise ValueError(
            f"arms must be of {', '.join(known)}, or MODULE:CLASS of your own, got "
            f"{algorithm!r}{hint}"
        )
    return runs.algorithm(algorithm)


def _value(text: str) -> Any:
    """Numbers, True, False and None as Python reads them, several with colons; else words."""
    if ":" in text:
        return tuple(_value(part) for part in text.split(":"))
    try:
        found = ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text
    return found if isinstance(found, bool | int | float | None) else text
