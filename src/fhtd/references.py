"""Things that users name as MODULE:NAME."""

import importlib
import sys
from typing import Any


def look_here() -> None:
    """Find modules of the present folder too, as `python` does and an installed command does not.

    And so it stays: worker processes look where we look.
    """
    if "" not in sys.path:
        sys.path.insert(0, "")


def resolve(place: str, what: str) -> Any:
    """What MODULE:NAME stands for, with modules of the present folder too.

    Only for names that a user has typed: importing a module runs its code.

    Args:
        place: as the user typed it.
        what: what it is for, at the beginning of an error's sentence.
    """
    module, colon, name = place.partition(":")
    if not colon or not module or not name:
        raise ValueError(f"{what} must be MODULE:NAME, got {place!r}")
    look_here()
    try:
        return getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError) as error:
        raise ValueError(f"{what} {place} cannot be imported: {error}") from None
