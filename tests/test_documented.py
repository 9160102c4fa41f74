"""Everything public says what it takes, gives and refuses, and has an example that is right."""

import ast
import dataclasses
import doctest
import enum
import importlib
import inspect
import re
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import fhtd

#: Modules whose public functions and classes are held to this, beside the names of `fhtd`.
MODULES = (
    "fhtd.boards",
    "fhtd.callbacks",
    "fhtd.deep",
    "fhtd.envs",
    "fhtd.evaluation",
    "fhtd.features",
    "fhtd.oracle",
    "fhtd.pages",
    "fhtd.policy",
    "fhtd.problems",
    "fhtd.reproduction",
    "fhtd.reproduction.reproduce",
    "fhtd.reproduction.store",
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
        is_ours = inspect.isfunction(member) and member.__module__.startswith("fhtd")
        if is_ours and member.__name__ == attribute:  # not the default of a field
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
            if not hasattr(module, "__all__") and getattr(found, "__module__", "") != home:
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
        is_plain |= issubclass(found, enum.Enum) or getattr(found, "_is_protocol", False)
        if is_plain or inspect.isabstract(found):
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


def owners() -> Iterator[tuple[str, type, str]]:
    """Public methods, as the class that is documented and the name of the method."""
    for name, found in CASES.items():
        owner, _, attribute = name.rpartition(".")
        if not inspect.isclass(found) and owner in CASES:
            yield name, CASES[owner], attribute


METHODS = {name: (kind, attribute) for name, kind, attribute in owners()}


def definitions(name: str) -> list[Any]:
    """The function of this name; of a method also those of bases, which it may leave things to."""
    if name not in METHODS:
        return [CASES[name]]
    kind, attribute = METHODS[name]
    found = [vars(base)[attribute] for base in kind.__mro__ if attribute in vars(base)]
    return [getattr(one, "__func__", one) for one in found]


def said(name: str) -> str:
    """All that a reader finds under a name; a class and how it is made are shown together."""
    found = CASES[name]
    parts = [found, *constructors(found)] if inspect.isclass(found) else definitions(name)
    return "\n".join(inspect.cleandoc(part.__doc__ or "") for part in parts)


def constructors(kind: type) -> list[Any]:
    """What is called to make one, where it is written out and not made by Python."""
    found = [getattr(kind, name, None) for name in ("__new__", "__init__", "__post_init__")]
    return [
        one
        for one in found
        if inspect.isfunction(one)
        and one.__module__.startswith("fhtd")
        and one.__code__.co_filename.endswith(".py")
    ]


def section(title: str, text: str) -> str:
    """The lines of every section with this title."""
    found = re.findall(rf"^{title}:\n((?:[ ]+.*\n?|\n)*)", text, re.MULTILINE)
    return "\n".join(found)


def says_what_it_returns(text: str) -> bool:
    """By a section, or where the first words are what comes back: "The value", "Whether it"."""
    return bool(section("Returns", text) or re.match(r"(A|An|The|Whether)\b", text))


def raised(function: Any) -> set[str]:
    """Names of errors that a function's own lines raise, not those of functions within it."""
    tree = ast.parse(textwrap.dedent(inspect.getsource(function))).body[0]
    found, waiting = set(), list(ast.iter_child_nodes(tree))
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            continue
        waiting += ast.iter_child_nodes(node)
        if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call):
            found.add(error_named(ast.unparse(node.exc.func)))
    return found


def error_named(called: str) -> str:
    """What is raised by its name; some errors are made by a function."""
    made = {"self._divergence_error": "DivergenceError", "archive.unreadable": "ValueError"}
    return made.get(called, called)


def unsaid_errors(name: str) -> set[str]:
    """Errors that its lines raise and no `Raises:` section speaks of."""
    found = CASES[name]
    bodies = constructors(found) if inspect.isclass(found) else definitions(name)[:1]
    known = set(re.findall(r"^ {4}(\w+): \S", section("Raises", said(name)), re.MULTILINE))
    return {error for body in bodies for error in raised(body)} - known


def examples(found: Any) -> str:
    """The lines of its examples that are run."""
    parsed = doctest.DocTestParser().get_examples(inspect.getdoc(found) or "")
    return "".join(one.source for one in parsed)


#: What `load` calls, for each kind of agent.
NOT_FOR_USERS = ("from_saved",)


def lacks_example(name: str) -> bool:
    """Classes and functions have one of their own, and so has every other way to make one."""
    found = CASES[name]
    if name not in METHODS:
        return not examples(found)
    kind, attribute = METHODS[name]
    shown = examples(kind) + "".join(map(examples, definitions(name)))
    is_made = isinstance(inspect.getattr_static(kind, attribute), classmethod)
    if is_made and attribute not in NOT_FOR_USERS:
        return f".{attribute}(" not in shown
    return not shown


@pytest.mark.parametrize("name", [name for name in CASES if not inspect.isclass(CASES[name])])
def test_every_function_says_what_it_returns(name: str) -> None:
    if inspect.signature(definitions(name)[0]).return_annotation not in (None, "None"):
        assert says_what_it_returns(said(name))


@pytest.mark.parametrize("name", CASES)
def test_every_error_is_described(name: str) -> None:
    assert unsaid_errors(name) == set()


@pytest.mark.parametrize("name", CASES)
def test_everything_has_an_example(name: str) -> None:
    assert not lacks_example(name)


#: Where examples are: every module that has public names, and two more with names in the reference.
HOMES = sorted(
    {CASES[name].__module__ for name in CASES} | {"fhtd.statistics", "fhtd.reproduction.executors"}
)


@pytest.mark.parametrize("home", HOMES)
def test_examples_are_right(home: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)  # some examples write a file
    found = doctest.testmod(importlib.import_module(home), optionflags=doctest.ELLIPSIS)
    assert not found.failed


def test_the_gate_sees_what_is_missing() -> None:
    def half(first: int, second: int, **others: int) -> None:
        """Do it.

        Args:
            first: This one.
            others: All others.
        """

    assert undescribed(half) == ["second", "others"]

    def silent(number: int) -> int:
        """Take the root."""

        def within() -> None:
            raise LookupError("is of another function")

        if number < 0:
            raise ValueError("number must be at least 0")
        return number

    assert not says_what_it_returns(inspect.cleandoc(silent.__doc__ or ""))
    assert says_what_it_returns("Take the root.\n\nReturns:\n    The root.")
    assert says_what_it_returns("The root.")
    assert not says_what_it_returns("Then the root is taken.")
    assert raised(silent) == {"ValueError"}
    assert examples(silent) == ""
    assert {"fhtd.FHTD", "fhtd.FHTD.update", "fhtd.load", "fhtd.oracle.optimal"} <= set(CASES)
