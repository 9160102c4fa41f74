"""Imports go only downward, and only the upper layers touch the disk."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

import fhtd

ROOT = Path(fhtd.__file__).parent

#: From the ground up. A module may import from its own layer and from those before it.
LAYERS = (
    {
        "checks",
        "errors",
        "statistics",
        "files",
        "archive",
        "progress",
        "provenance",
        "references",
        "sentences",
        "environments",
        "callbacks",
        "boards",
        "evaluation",
        "wrappers",
    },
    {"weighting", "targets", "horizons"},
    {"mdp", "problems", "features", "policy"},
    {"oracle"},
    {"online"},
    {"envs"},
    {"worlds", "deep"},
    {"reproduction"},
    {"comparison"},
    {"experiments"},
    {"pages"},
    {"commands", "__main__"},
)
HEIGHT = {name: height for height, layer in enumerate(LAYERS) for name in layer}
#: These may touch disk, processes and terminals; and so may a learner's `save` and `load`.
OUTER = {"reproduction", "pages", "commands", "__main__"}
ALSO_ON_DISK = {"files", "archive", "online.storage", "deep.run", "deep.logs", "worlds"}

DISK_MODULES = {"shutil", "tempfile", "zipfile", "pickle", "shelve", "sqlite3", "glob"}
#: By the name of the function or method, whoever it belongs to.
DISK_CALLS = {
    *("open", "read_text", "write_text", "read_bytes", "write_bytes", "mkdir", "makedirs"),
    *("unlink", "savez", "savez_compressed", "savetxt", "loadtxt", "genfromtxt"),
    *("fromfile", "tofile", "memmap", "to_csv", "to_parquet"),
}
#: These words have other meanings elsewhere.
DISK_CALLS_OF = {
    "np": {"save", "load"},
    "os": {"remove", "rename", "replace", "listdir", "scandir", "walk", "fsync", "symlink"},
}


@dataclass(frozen=True)
class Module:
    """One file of the package."""

    name: str
    tree: ast.Module

    @property
    def part(self) -> str:
        """The file or folder of the package that it is or is in."""
        return self.name.partition(".")[0]


def modules() -> list[Module]:
    found = []
    for path in sorted(ROOT.rglob("*.py")):
        parts = path.relative_to(ROOT).with_suffix("").parts
        name = ".".join(part for part in parts if part != "__init__")
        found.append(Module(name, ast.parse(path.read_text())))
    return found


#: The package's own file only says where names are to be found.
MODULES = [module for module in modules() if module.name]
NAMES = {module.name for module in MODULES}


def running(node: ast.AST) -> Iterator[ast.AST]:
    """Everything that can run: all but what is for type checkers."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.If) and "TYPE_CHECKING" in ast.dump(child.test):
            for other in child.orelse:
                yield other
                yield from running(other)
            continue
        yield child
        yield from running(child)


def imported(module: Module, in_functions: bool = True) -> Iterator[str]:
    """Full names of all that a module imports."""
    for node in running(module.tree) if in_functions else module.tree.body:
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{module.name} imports relatively"
            for alias in node.names:
                yield f"{node.module}.{alias.name}"


def own_imports(module: Module, in_functions: bool = True) -> set[str]:
    """Modules of this package that it imports."""
    found = set()
    for name in imported(module, in_functions):
        inner = name.removeprefix("fhtd.") if name.startswith("fhtd.") else ""
        while inner and inner not in NAMES:
            inner = inner.rpartition(".")[0]
        if inner:
            found.add(inner)
    return found


def test_every_module_has_a_layer() -> None:
    assert {module.part for module in MODULES} - HEIGHT.keys() == set()


@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.name)
def test_imports_go_downward(module: Module) -> None:
    own = HEIGHT[module.part]
    upward = {name for name in own_imports(module) if HEIGHT[name.partition(".")[0]] > own}
    assert upward == set()


def test_no_circle_of_imports() -> None:
    """Of those at the head of a file; a function may import what imports its module."""
    graph = {module.name: own_imports(module, in_functions=False) for module in MODULES}
    TopologicalSorter(graph).prepare()


def test_the_oracle_shares_no_code_with_what_it_witnesses() -> None:
    reached, waiting = set(), [module.name for module in MODULES if module.part == "oracle"]
    by_name = {module.name: module for module in MODULES}
    while waiting:
        name = waiting.pop()
        if name not in reached:
            reached.add(name)
            waiting.extend(own_imports(by_name[name]))
    assert {name.partition(".")[0] for name in reached}.isdisjoint({"targets", "online", "deep"})


@pytest.mark.parametrize(
    "module",
    [m for m in MODULES if m.part not in OUTER and m.name not in ALSO_ON_DISK],
    ids=lambda module: module.name,
)
def test_lower_layers_leave_the_disk_alone(module: Module) -> None:
    """Nor do they start processes."""
    roots = {name.partition(".")[0] for name in imported(module)}
    assert roots.isdisjoint(DISK_MODULES | {"subprocess", "multiprocessing"})
    assert list(disk_calls(module)) == []


def disk_calls(module: Module) -> Iterator[str]:
    for node in running(module.tree):
        if not isinstance(node, ast.Call):
            continue
        if isinstance(node.func, ast.Name):
            owner, name = "", node.func.id
        elif isinstance(node.func, ast.Attribute):
            owner, name = ast.unparse(node.func.value), node.func.attr
        else:
            continue
        of_the_machine = node.args and "'/proc/" in ast.unparse(node.args[0])
        if name in DISK_CALLS | DISK_CALLS_OF.get(owner, set()) and not of_the_machine:
            yield f"line {node.lineno}: {ast.unparse(node.func)}"


def test_the_check_sees_what_it_should() -> None:
    """A module that does everything wrong."""
    source = """
from typing import TYPE_CHECKING
if TYPE_CHECKING:
    from fhtd.commands.main import main
else:
    from fhtd.reproduction import store
def later():
    import fhtd.online.simulate
    with open("x") as file:
        np.save(file, 1)
    os.replace("a", "b")
"""
    module = Module("oracle.wrong", ast.parse(source))
    assert own_imports(module) == {"reproduction.store", "online.simulate"}
    assert [line.split(": ")[1] for line in disk_calls(module)] == ["open", "np.save", "os.replace"]
