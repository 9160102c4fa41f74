"""What `help` and editors say of an agent's settings: taken from the one place that has it.

Settings are dataclasses with a sentence below each field. Classes and functions that take them as
keywords get a signature with every one of them, and the sentences in their docstring.
"""

import inspect
import textwrap
from dataclasses import fields
from typing import Any

from fhtd.sentences import sentences


def describe(owner: Any) -> None:
    """Give an agent's class the signature and the sentences of its settings."""
    settings = owner.settings_type
    parameters = list(inspect.signature(owner.__init__).parameters.values())[1:]
    if not parameters or parameters[-1].kind is not inspect.Parameter.VAR_KEYWORD:
        return
    named = {parameter.name for parameter in parameters}
    told, begun = sentences(settings), owner.presets["default"].settings
    added = [
        inspect.Parameter(
            field.name,
            inspect.Parameter.KEYWORD_ONLY,
            default=begun.get(field.name, field.default),
            annotation=field.type,
        )
        for field in fields(settings)
        if field.name not in named
    ]
    owner.__signature__ = inspect.Signature([*parameters[:-1], *added])
    lines = [
        textwrap.fill(
            f"{field.name}: {told.get(field.name, '')}",
            width=96,
            initial_indent=" " * 4,
            subsequent_indent=" " * 8,
        )
        for field in fields(settings)
        if field.name not in named
    ]
    text = inspect.cleandoc(owner.__doc__ or owner.__name__)
    before, arguments, after = _parts(text)
    if not arguments:
        arguments = _parts(inspect.cleandoc(owner.__mro__[1].__doc__))[1]
    own = arguments.partition("\n    discount: ")[0]
    owner.__doc__ = "\n\n".join(part for part in (before, "\n".join([own, *lines]), after) if part)


def _parts(text: str) -> tuple[str, str, str]:
    """What comes before the arguments, the arguments, and what comes after them."""
    before, title, rest = text.partition("Args:\n")
    arguments, _, after = rest.partition("\n\n")
    return before.strip(), (title + arguments).rstrip(), after
