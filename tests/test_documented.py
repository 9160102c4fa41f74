"""Every argument of everything public is described, and none hides behind `**options`."""

import dataclasses
import importlib
import inspect
import re
from collections.abc import Iterator
from typing import Any

import pytest

import fhtd

#: Modules whose public functions and classes are held to this, beside the names of `fhtd`.
MODULES = (
    "fhtd.boards",
    "fhtd.callbacks",
    "fhtd.deep",
    "fhtd.features",
    "fhtd.oracle",
    "fhtd.policy",
    "fhtd.problems",
    "fhtd.targets",
    "fhtd.worlds",
)

Case = tuple[str, Any]


def functions_of(name: str, kind: type) -> Iterator[Case]:
    """A class and its public methods, inherited ones too; not those of Python's own classes.

    A method that replaces one of a base may leave the arguments to what is said there.
    """
    yield name, kind
    for attribute in dir(kind):
        if attribute.startswith("_"):
            continue
        member = inspect.getattr_static(kind, attribute)
        if isinstance(member, staticmethod | classmethod):
            member = member.__func__
        if inspect.isfunction(member) and member.__module__.startswith("fhtd"):
            yield f"{name}.{attribute}", first_described(kind, attribute, member)


def first_described(kind: type, attribute: str, member: Any) -> Any:
    """The method, or that of a base with the same arguments where only that one describes them."""
    for base in kind.__mro__:
        found = vars(base).get(attribute)
        found = getattr(found, "__func__", found)
        if (
            inspect.isfunction(found)
            and list(inspect.signature(found).parameters)
            == list(inspect.signature(member).parameters)
            and "Args:" in (found.__doc__ or "")
        ):
            return found
    return member


def cases() -> Iterator[Case]:
    homes = {"fhtd": fhtd} | {name: importlib.import_module(name) for name in MODULES}
    for home, module in homes.items():
        for name in getattr(module, "__all__", None) or sorted(vars(module)):
            found = getattr(module, name)
            if name.startswith("_") or inspect.ismodule(found):
                continue
            if home != "fhtd" and not getattr(found, "__module__", "").startswith(home):
                continue
            if inspect.isclass(found):
                yield from functions_of(f"{home}.{name}", found)
            elif inspect.isfunction(found):
                yield f"{home}.{name}", found


CASES = dict(cases())


def described(documentation: str | None) -> set[str]:
    """Names in the `Args:` section of a docstring."""
    text = inspect.cleandoc(documentation or "")
    section = re.search(r"^Args:\n((?:[ ]+.*\n?|\n)*)", text, re.MULTILINE)
    return set(re.findall(r"^ {4}(\w+): \S", section[1], re.MULTILINE)) if section else set()


def fields_described(kind: type) -> set[str]:
    """Fields of a dataclass that have a comment above or a string below."""
    found = set()
    for base in kind.__mro__[1:]:
        if dataclasses.is_dataclass(base):
            found |= fields_described(base)
    lines = inspect.getsource(kind).splitlines()
    for i, line in enumerate(lines):
        field = re.match(r"    (\w+): ", line)
        above = lines[i - 1].strip() if i else ""
        below = lines[i + 1].strip() if i + 1 < len(lines) else ""
        if field and (above.startswith("#:") or below.startswith('"""')):
            found.add(field[1])
    return found


def undescribed(found: Any) -> list[str]:
    """Arguments that nothing is said of; those that take any keyword are among them."""
    if inspect.isclass(found):
        is_plain = found.__init__ is object.__init__  # type: ignore[misc]
        if is_plain or inspect.isabstract(found) or getattr(found, "_is_protocol", False):
            return []
        known = described(found.__doc__) | described(found.__init__.__doc__)  # type: ignore[misc]
        if dataclasses.is_dataclass(found):
            known |= fields_described(found)
    else:
        known = described(found.__doc__)
    parameters = inspect.signature(found).parameters.values()
    return [
        one.name
        for one in parameters
        if one.name not in ("self", "cls")
        and (one.name not in known or one.kind is one.VAR_KEYWORD)
    ]


@pytest.mark.parametrize("name", CASES)
def test_every_argument_is_described(name: str) -> None:
    assert undescribed(CASES[name]) == []


def test_the_gate_sees_what_is_missing() -> None:
    def half(first: int, second: int, **others: int) -> None:
        """Do it.

        Args:
            first: This one.
            others: All others.
        """

    assert undescribed(half) == ["second", "others"]
    assert {"fhtd.FHTD", "fhtd.FHTD.update", "fhtd.load", "fhtd.oracle.optimal"} <= set(CASES)
