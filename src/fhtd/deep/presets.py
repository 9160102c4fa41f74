"""Settings by name, as data: the general ones, the paper's, and those tuned for an environment.

`presets.json` has them. `default` and those named like an environment are what differs from the
paper's, which are the defaults of the dataclasses; those of an environment go on top of `default`.
"""

import json
import pkgutil
from dataclasses import dataclass, field
from difflib import get_close_matches
from functools import cache
from typing import Any

DEFAULT = "default"
PAPER = "paper"


@dataclass(frozen=True)
class Preset:
    """Settings that go together, and what was measured with them."""

    name: str = DEFAULT
    #: What differs from the defaults of the agent's dataclass.
    settings: dict[str, Any] = field(default_factory=dict)
    #: Mean return over the last fifth of training, mean over the runs; None for the general ones.
    score: float | None = None
    #: Frames of each run, and how many runs there were.
    frames: int | None = None
    runs: int | None = None
    #: What measures it again.
    command: str = ""

    @property
    def measured(self) -> str:
        """The score in words; nothing where there is none."""
        if self.score is None:
            return ""
        return f"{self.score:g} at the end of {self.frames} frames, {self.runs} runs"


@cache
def presets_of(algorithm: str) -> dict[str, Preset]:
    """The presets of an algorithm, the general one first.

    Args:
        algorithm: Its short name.
    """
    content = pkgutil.get_data(__package__, "presets.json")
    assert content is not None
    found: dict[str, Preset] = {}
    for name, entries in json.loads(content).items():
        if algorithm in entries:
            entry = entries[algorithm]
            general = {} if name in (DEFAULT, PAPER) else found[DEFAULT].settings
            found[name] = Preset(name, **(entry | {"settings": general | entry["settings"]}))
    return found


def preset_named(name: str, presets: dict[str, Preset], owner: str) -> Preset:
    """One of an agent's presets; an unknown name is refused with the nearest.

    Args:
        name: Which.
        presets: Those there are.
        owner: The agent, for the message.
    """
    if not isinstance(name, str):
        raise TypeError(f"preset must be a name, got {name!r}")
    if name not in presets:
        near = get_close_matches(name, presets, n=1, cutoff=0.5)
        hint = f"; did you mean {near[0]!r}?" if near else ""
        raise ValueError(
            f"preset must be one of {', '.join(presets)} for {owner}, got {name!r}{hint}"
        )
    return presets[name]
