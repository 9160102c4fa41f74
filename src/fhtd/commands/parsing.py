"""Options of a command, read by tyro; a mistake is one line instead of a box."""

import contextlib
import dataclasses
import io
import itertools
import re
import shutil
import sys
import textwrap
from collections.abc import Iterator, Sequence
from decimal import Decimal
from difflib import get_close_matches
from importlib.util import find_spec
from typing import Any

import tyro
from tyro.constructors import (
    ConstructorRegistry,
    PrimitiveConstructorSpec,
    PrimitiveTypeInfo,
)

#: A library of each extra, whose presence says that the extra is installed.
_EXTRAS = {
    "deep": ("jax", "equinox", "optax"),
    "lander": ("Box2D",),
    "ray": ("ray",),
    "report": ("matplotlib", "bokeh"),
}


class UserError(Exception):
    """A mistake of the user's: one line, no traceback."""


def parse(kind: Any, prog: str, arguments: list[str], examples: Sequence[str] = ()) -> Any:
    """An instance of `kind`, a dataclass, from a command's arguments.

    Args:
        kind: The dataclass; its docstring is the description.
        prog: The command as it is typed.
        arguments: What follows it.
        examples: Command lines for the end of the help.
    """
    printed, shown = io.StringIO(), io.StringIO()
    try:
        with (
            contextlib.redirect_stderr(printed),
            contextlib.redirect_stdout(shown),
            _registry,
        ):
            parsed = tyro.cli(kind, prog=prog, args=arguments)
    except SystemExit as end:
        if not end.code:  # help was asked for
            sys.stdout.write(_plainer(shown.getvalue()))
            if examples and {"-h", "--help"} & set(arguments):
                sys.stdout.write("\nexamples:\n" + "".join(map(_example, examples)))
            raise
        raise UserError(f"{_gist(printed.getvalue())} (see {prog} --help)") from None
    for flag in _without_values(parsed):
        if flag in arguments:
            raise UserError(f"{flag} needs a value, or several (see {prog} --help)")
    return parsed


def _without_values(parsed: Any) -> Iterator[str]:
    """Flags of lists that are empty: nobody types a flag to say nothing."""
    for field in dataclasses.fields(parsed):
        value = getattr(parsed, field.name)
        if dataclasses.is_dataclass(value):
            yield from _without_values(value)
        elif value == ():
            yield f"--{field.name.replace('_', '-')}"


def _plainer(text: str) -> str:
    """Help without what tyro says of flags that may be left out, and no wider than the terminal."""
    plain = re.sub(r"\{None\}\|(\S+)", r"\1" + " " * len("{None}|"), text)
    width = _width()
    lines = [
        textwrap.fill(line, width) if len(line) > width and line[:1].isalpha() else line
        for line in map(str.rstrip, plain.splitlines())
    ]
    return "\n".join(lines).rstrip() + "\n"


def _width() -> int:
    return max(shutil.get_terminal_size().columns, 30)


def _example(line: str) -> str:
    """A command line; on a narrow terminal what is said of it stands above."""
    if len(line) + 2 <= _width():
        return f"  {line}\n"
    command, _, said = line.partition("  #")
    above = textwrap.fill(said.strip(), _width(), initial_indent="  # ", subsequent_indent="  # ")
    parts = textwrap.wrap(
        command.strip(), _width() - 4, break_on_hyphens=False, break_long_words=False
    )
    return (f"{above}\n" if said else "") + "  " + " \\\n    ".join(parts) + "\n"


def nearest(given: str, known: Sequence[str]) -> str:
    """What was perhaps meant, as part of a sentence."""
    near = get_close_matches(given, known, n=1, cutoff=0.5)
    return f"; did you mean {near[0]!r}?" if near else ""


def require(extra: str, *libraries: str) -> None:
    """Refuse, before any work, where libraries of an extra are missing; all of them by default."""
    for library in libraries or _EXTRAS[extra]:
        if find_spec(library) is None:
            raise UserError(f"{library} is not installed: pip install 'fhtd[{extra}]'")


def _of_whole_numbers(kind: PrimitiveTypeInfo) -> PrimitiveConstructorSpec[int] | None:
    """How flags that take whole numbers are read: 1e5 is one."""
    if kind.type is not int:
        return None
    return PrimitiveConstructorSpec(
        nargs=1,
        metavar="INT",
        instance_from_str=lambda given: _whole(given[0]),
        is_instance=lambda value: isinstance(value, int),
        str_from_instance=lambda value: [str(value)],
    )


_registry = ConstructorRegistry()
_registry.primitive_rule(_of_whole_numbers)


def _whole(text: str) -> int:
    if re.fullmatch(r"[+-]?[0-9]+(\.[0-9]+)?[eE]\+?[0-9]{1,2}", text):
        exact = Decimal(text)
        if exact == int(exact):
            return int(exact)
    return int(text)


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
