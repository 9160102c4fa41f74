"""`fhtd plot`: learning curves of training runs."""

import dataclasses
from pathlib import Path
from typing import Annotated

import tyro

from fhtd.commands.parsing import UserError, parse, require
from fhtd.files import check_writable, write_atomically


@dataclasses.dataclass(frozen=True)
class Plot:
    """Draw the learning curves of training runs; several seeds of one are a mean with a band."""

    folders: Annotated[tyro.conf.Positional[tuple[Path, ...]], tyro.conf.arg(metavar="DIR...")] = ()
    """Folders of fhtd train, finished or under way."""
    out: Annotated[Path | None, tyro.conf.arg(metavar="FILE")] = None
    """Picture to write, .png or .svg; default: curves.png in the first folder."""


def plot(arguments: list[str]) -> None:
    """Write the picture."""
    examples = [
        "fhtd plot runs/lander",
        "fhtd plot runs/dfhq-CartPole-v1 runs/dqn-CartPole-v1 --out both.svg",
    ]
    parsed: Plot = parse(Plot, "fhtd plot", arguments, examples)
    if not parsed.folders:
        raise UserError("name the folder of a training run (see fhtd plot --help)")
    require("report", "matplotlib")
    from fhtd.pages import learning
    from fhtd.reproduction import style

    out = parsed.folders[0] / "curves.png" if parsed.out is None else parsed.out
    if out.suffix not in (".png", ".svg"):
        raise UserError(f"--out must end in .png or .svg, got {out}")
    stories = [learning.read(folder) for folder in parsed.folders]
    check_writable(out)
    write_atomically(
        out, style.render(learning.draw(stories), "svg" if out.suffix == ".svg" else "png")
    )
    print(out.resolve())
