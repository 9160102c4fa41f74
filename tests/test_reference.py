"""The reference has every public name, and the usage of each algorithm runs."""

import importlib
import re
from pathlib import Path

import pytest

import fhtd

DOCS = Path(__file__).parent.parent / "docs"
#: What `autoclass` and its like say in the reference; types by another name are described by hand.
LISTED = {
    name
    for page in (DOCS / "reference").glob("*.rst")
    for name in re.findall(r"^\.\. (?:auto\w+|py:data):: (\S+)", page.read_text(), re.MULTILINE)
}
#: Modules whose names have a page.
MODULES = (
    "boards",
    "callbacks",
    "deep",
    "envs",
    "oracle",
    "pages",
    "policy",
    "problems",
    "reproduction",
    "targets",
    "worlds",
)


def public():
    """Names of the package and of its public modules."""
    for name in fhtd.__all__:
        if name not in MODULES:
            yield f"fhtd.{name}"
    for module in (importlib.import_module(f"fhtd.{name}") for name in MODULES):
        home = module.__name__
        for name in getattr(module, "__all__", None) or vars(module):
            origin = getattr(getattr(module, name), "__module__", "")
            if not name.startswith("_") and (hasattr(module, "__all__") or origin == home):
                yield f"{home}.{name}"


@pytest.mark.parametrize("name", sorted(public()))
def test_the_reference_has_every_public_name(name):
    assert name in LISTED


def test_every_page_of_the_reference_is_reached():
    index = (DOCS / "reference" / "index.md").read_text()
    assert {page.stem for page in (DOCS / "reference").glob("*.rst")} <= set(index.split())


@pytest.mark.parametrize("page", sorted((DOCS / "algorithms").glob("*.md")), ids=lambda p: p.stem)
def test_usage_of_each_algorithm_runs(page, capsys):
    """Pages of algorithms are not run when the site is built."""
    for code in re.findall(r"```python\n(.*?)```", page.read_text(), re.DOTALL):
        exec(compile(code, page.name, "exec"), {})
        assert capsys.readouterr().out
