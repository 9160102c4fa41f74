"""Options of a command, read by tyro; a mistake is one line instead of a box."""

import contextlib
import io
import itertools
import re
from typing import Any

import tyro


class UserError(Exception):
    """A mistake of the user's: one line, no traceback."""


def parse(kind: Any, prog: str, arguments: list[str]) -> Any:
    """An instance of `kind`, a dataclass, from a command's arguments."""
    printed = io.StringIO()
    try:
        with contextlib.redirect_stderr(printed):
            return tyro.cli(kind, prog=prog, args=arguments)
    except SystemExit as end:
        if not end.code:  # help was asked for
            raise
        raise UserError(f"{_gist(printed.getvalue())} (see {prog} --help)") from None


def _gist(box: str) -> str:
    """What a box of tyro's says between its title and the next rule, and the option it suggests."""
    plain = re.sub(r"\x1b\[[0-9;]*m", "", box).splitlines()[1:]
    # Where it cannot draw, a title is followed by a rule as well.
    lines = list(itertools.dropwhile(_is_rule, (line.strip(" │") for line in plain)))
    above = list(itertools.takewhile(lambda line: not _is_rule(line), lines))
    near = [line.split()[0].strip(",") for line in lines[len(above) :] if re.match("--[a-z]", line)]
    hint = f"; did you mean {near[0]}?" if "Perhaps you meant:" in lines and near else ""
    return " ".join(above) + hint


def _is_rule(line: str) -> bool:
    return not line.strip("─-")
