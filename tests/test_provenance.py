"""What is kept of where a number comes from."""

import sys

import pytest

from fhtd import provenance


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["/home/bin/fhtd", "reproduce", "baird"], "fhtd reproduce baird"),
        (["/lib/fhtd/__main__.py", "reproduce", "baird"], "python -m fhtd reproduce baird"),
        (["fhtd", "compare", "--arms", "a b", "c=d,e"], "fhtd compare --arms 'a b' c=d,e"),
    ],
)
def test_command_can_be_typed_again(
    arguments: list[str], expected: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "argv", arguments)
    assert provenance.command() == expected


def test_versions_name_what_shapes_numbers() -> None:
    found = provenance.versions()
    assert {"fhtd", "python", "numpy", "numba", "machine"} <= found.keys()
    assert all(found.values())


def test_versions_that_differ_are_all_named() -> None:
    several = [{"fhtd": "0.2.0"}, {"fhtd": "0.1.0", "numpy": "2.4.6"}, {"fhtd": "0.1.0"}]
    assert provenance.joined(several) == {"fhtd": "0.1.0, 0.2.0", "numpy": "2.4.6"}
