"""Wrappers of environments by name: NAME[,OPTION=VALUE...] of Gymnasium's, or MODULE:NAME."""

import ast
from collections.abc import Iterable
from typing import Any

from fhtd.references import resolve

#: Those of Gymnasium that a file may name: they change what is seen and done, and nothing else.
NAMES = (
    "AtariPreprocessing",
    "ClipReward",
    "DelayObservation",
    "DiscretizeAction",
    "DiscretizeObservation",
    "DtypeObservation",
    "FilterObservation",
    "FlattenObservation",
    "FrameStackObservation",
    "GrayscaleObservation",
    "MaxAndSkipObservation",
    "RescaleAction",
    "RescaleObservation",
    "ReshapeObservation",
    "ResizeObservation",
    "StickyAction",
    "TimeAwareObservation",
    "TimeLimit",
)


def options_of(given: Iterable[str], what: str) -> dict[str, Any]:
    """NAME=VALUE pairs; values are read as Python's, and are text where they are none.

    Args:
        given: the pairs.
        what: what they are, at the beginning of an error's sentence.
    """
    found: dict[str, Any] = {}
    for pair in given:
        name, equals, value = pair.partition("=")
        if not equals or not name.isidentifier() or name in found:
            raise ValueError(f"{what} must be NAME=VALUE, each once, got {pair!r}")
        try:
            found[name] = ast.literal_eval(value)
        except (ValueError, SyntaxError):
            found[name] = value
        if not isinstance(found[name], bool | int | float | str | list | None):
            raise ValueError(f"{what} must be plain values, got {pair!r}")
    return found


def wrapped(environment: Any, wrappers: Iterable[str]) -> Any:
    """An environment in wrappers, the first of them next to it.

    Args:
        environment: to be wrapped.
        wrappers: each as NAME[,OPTION=VALUE...].
    """
    for one in wrappers:
        name, *options = one.split(",")
        kind, given = _kind(name), options_of(options, f"options of the wrapper {name}")
        try:
            environment = kind(environment, **given)
        except Exception as error:
            # A wrapper's own constructor may raise anything at all about its options.
            why = str(error) or type(error).__name__
            raise ValueError(f"wrapper {one} cannot be put around {environment}: {why}") from None
    return environment


def check(wrappers: Iterable[str]) -> None:
    """Refuse what are no wrappers, before anything is made; modules are imported on the way."""
    for one in wrappers:
        name, *options = one.split(",")
        options_of(options, f"options of the wrapper {name}")
        _kind(name)


def _kind(name: str) -> Any:
    import gymnasium

    if ":" in name:
        found = resolve(name, "wrapper")
    elif name in NAMES:
        found = getattr(gymnasium.wrappers, name, None)
        if found is None:
            raise ValueError(f"wrapper {name} is not in this version of Gymnasium")
    else:
        raise ValueError(
            f"wrapper {name!r} must be MODULE:NAME, or one of Gymnasium's {', '.join(NAMES)}"
        )
    if not callable(found):
        raise ValueError(f"wrapper {name} is not one: it cannot be called with an environment")
    return found
