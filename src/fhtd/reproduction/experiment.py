"""What one figure of the paper is made of: settings, units of work, a picture, and claims.

Each experiment is one file with a `Config` (frozen; the paper's values as defaults) and an
`EXPERIMENT` that ties its functions together. Work is cut into blocks that depend on nothing but
the settings and the seed, so that each can be computed anywhere, kept, and never computed twice.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from fhtd.reproduction.arms import Arrays, Block, Results
from fhtd.reproduction.chart import Chart
from fhtd.reproduction.claims import Claim

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class Scratch(Protocol):
    """Where a long block keeps its checkpoint until it is finished.

    >>> from pathlib import Path
    >>> from fhtd.reproduction import Scratch
    >>> from fhtd.reproduction.executors import LocalScratch
    >>> scratch: Scratch = LocalScratch(Path("scratch"))  # a resumable `run` gets one
    >>> scratch.write_json("frame.json", 5_000)
    >>> scratch.read_json("frame.json")
    5000
    """

    @property
    def folder(self) -> Path:
        """A folder that survives the process; on another machine, as far as `saved` was called."""

    def write_json(self, name: str, content: Any) -> None:
        """Keep plain data in a file of the folder, whole or not at all.

        Args:
            name: Of the file.
            content: What JSON can hold.
        """

    def read_json(self, name: str) -> Any:
        """What `write_json` kept, or None.

        Args:
            name: Of the file.

        Returns:
            The content, or None.
        """

    def saved(self) -> None:
        """Say that the folder holds a checkpoint to go on from."""


@dataclass(frozen=True)
class Experiment:
    """One figure or result: of the paper, or of your own.

    blocks(config) lists the units of work; run(config, seed, block) computes one of them;
    combine(config, results) joins all into the data that `plot`, `claims` and `tables` read.

    Raises:
        ValueError: `name` cannot be a folder's, or `run` is not at the top of a module.

    >>> from fhtd.experiments import find
    >>> baird = find("baird")
    >>> baird.title, len(baird.blocks(baird.smoke()))
    ("Stability in Baird's counterexample", 3)
    """

    #: What it is called on the command line and in folders.
    name: str
    #: What its picture and its chapter of the report are headed.
    title: str
    #: Where it is in the paper.
    source: str
    #: What it shows, in one sentence.
    shows: str
    #: About how long it takes at the paper's scale on two cores.
    cost: str
    #: A frozen dataclass with a default and a sentence for each setting.
    config: type[Any]
    #: (config) -> the units of work.
    blocks: Callable[[Any], list[Block]]
    #: (config, seed, block) -> the arrays of a block. A function at the top of its module, so that
    #: other processes can import it. A resumable experiment's takes a `Scratch` as well.
    run: Callable[..., Arrays]
    #: (config, what every block gave) -> the data of the whole.
    combine: Callable[[Any, Results], Arrays]
    #: (config, data) -> the picture.
    plot: Callable[[Any, Arrays], "Figure"]
    #: (config, data) -> what is said of it, each with a verdict.
    claims: Callable[[Any, Arrays], list[Claim]]
    #: (config, data) -> columns by name, for each table by its name.
    tables: Callable[[Any, Arrays], dict[str, Arrays]]
    #: Raised whenever a change makes the same settings give other numbers.
    revision: int = 1
    #: Fields of the configuration that only say how many blocks there are.
    extent: tuple[str, ...] = ("runs",)
    #: How its tables are drawn as charts to look into.
    charts: tuple[Chart, ...] = ()
    #: Extras of this package that its blocks need: `deep`, `lander`.
    extras: tuple[str, ...] = ()
    #: It measures time, so nothing else should run beside it.
    needs_quiet: bool = False
    #: Not part of `all`: too long, or in need of an extra.
    only_by_name: bool = False
    #: Blocks take so long that they keep checkpoints.
    resumable: bool = False
    #: The experiment whose blocks it reads, where it is not its own.
    work: str = ""
    #: Memory that one block takes, in megabytes.
    megabytes: int = 300
    #: Refuses settings whose blocks cannot be computed here; asked only where some are missing.
    check: Callable[[Any], None] = lambda config: None

    def __post_init__(self) -> None:
        if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_-]*", self.name) or self.name == "raw":
            raise ValueError(
                f"name must be letters, digits, - and _, and not raw, got {self.name!r}"
            )
        if "<" in getattr(self.run, "__qualname__", ""):
            raise ValueError(
                f"run must be a function at the top of a module, got {self.run.__qualname__}"
            )

    def smoke(self) -> Any:
        """The configuration to try it with in seconds; None where it has none."""
        make = getattr(self.config, "smoke", None)
        return None if make is None else make()

    def settings(self, config: Any) -> dict[str, Any]:
        """The configuration as plain data.

        Args:
            config: The configuration.
        """
        return {field.name: getattr(config, field.name) for field in fields(config)}

    def identity(self, config: Any) -> dict[str, Any]:
        """What the content of a block depends on, beside its name and the seed.

        Args:
            config: The configuration.

        Returns:
            Name, revision and the settings that are not `extent`.
        """
        settings = self.settings(config)
        kept = {key: value for key, value in settings.items() if key not in self.extent}
        return {"experiment": self.work or self.name, "revision": self.revision, "settings": kept}
