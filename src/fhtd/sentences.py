"""What the source says of each field of a dataclass: the sentence below it."""

import ast
import inspect
import textwrap
from functools import cache
from itertools import pairwise
from typing import Any


def sentences(kind: type[Any]) -> dict[str, str]:
    """The sentence below each field of a dataclass, those of its bases included.

    Args:
        kind: The class; bases whose source is not kept have none.

    Returns:
        By the name of the field, on one line.
    """
    found: dict[str, str] = {}
    for base in reversed(kind.__mro__):
        if "__annotations__" in vars(base):
            found |= _own(base)
    return found


@cache
def _own(kind: type) -> dict[str, str]:
    """Of the fields that the class itself has."""
    try:
        source = inspect.getsource(kind)
    except (OSError, TypeError):  # defined where no source is kept
        return {}
    body = ast.parse(textwrap.dedent(source)).body[0]
    assert isinstance(body, ast.ClassDef)
    return {
        field.target.id: " ".join(str(following.value.value).split())
        for field, following in pairwise(body.body)
        if isinstance(field, ast.AnnAssign)
        and isinstance(field.target, ast.Name)
        and isinstance(following, ast.Expr)
        and isinstance(following.value, ast.Constant)
    }
