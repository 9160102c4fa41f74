"""One look for all figures: colour-blind safe, and told apart in grey by dashes and markers."""

import io
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Okabe and Ito's palette, darkest first, without its yellow, which vanishes on white.
COLOURS = ("#000000", "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00")
DASHES: tuple[Any, ...] = ("-", (0, (5, 2)), (0, (2, 1.5)), (0, (6, 2, 1, 2)), (0, (1, 1)))
MARKERS = ("o", "s", "^", "D", "v", "P", "X")
_SETTINGS: Any = {
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.alpha": 0.25,
    "grid.linewidth": 0.6,
    "legend.frameon": False,
    "lines.linewidth": 1.5,
    "svg.hashsalt": "fhtd",
    "figure.dpi": 110,
}


def panels(
    rows: int, columns: int, width: float = 4.2, height: float = 3.2
) -> tuple["Figure", Any]:
    """A figure with a grid of axes, always two-dimensional."""
    import matplotlib
    from matplotlib.figure import Figure

    with matplotlib.rc_context(_SETTINGS):
        figure = Figure(figsize=(width * columns, height * rows), layout="constrained")
        axes = figure.subplots(rows, columns, squeeze=False)
    return figure, axes


def look(index: int, shade: float | None = None) -> tuple[str, int]:
    """Colour and dashes of the index-th arm; with a shade from 0 to 1, of an ordered family."""
    if shade is None:
        return COLOURS[index % len(COLOURS)], index % len(DASHES)
    import matplotlib
    from matplotlib.colors import to_hex

    return to_hex(matplotlib.colormaps["cividis"](0.9 * shade)), 0


def line(
    axes: "Axes",
    x: npt.ArrayLike,
    mean: npt.ArrayLike,
    error: npt.ArrayLike | None,
    label: str | None,
    index: int,
    markers: bool = False,
    shade: float | None = None,
    width: float = 1.5,
) -> None:
    """A mean with its standard error as a band, in the style of the index-th arm.

    With `shade` from 0 to 1 the colour comes from a scale instead, for ordered families.
    """
    import matplotlib

    colour, dashes = look(index, shade)
    with matplotlib.rc_context(_SETTINGS):
        axes.plot(
            x,
            mean,
            color=colour,
            linestyle=DASHES[dashes],
            marker=MARKERS[index % len(MARKERS)] if markers else None,
            markersize=4,
            linewidth=width,
            label=label,
        )
        if error is not None:
            low, high = np.subtract(mean, error), np.add(mean, error)
            axes.fill_between(x, low, high, color=colour, alpha=0.2, linewidth=0)


def label(
    axes: "Axes",
    title: str,
    x: str,
    y: str,
    columns: int = 1,
    beside: bool = False,
    below: bool = False,
    legend: bool = True,
) -> None:
    """Name the panel and its axes; the legend inside, or elsewhere where it would hide curves."""
    axes.set_title(title, fontsize=10)
    axes.set_xlabel(x)
    axes.set_ylabel(y)
    if not legend:
        return
    place: Any = {"loc": "center left", "bbox_to_anchor": (1.0, 0.5)} if beside else {}
    if below:
        place = {"loc": "upper center", "bbox_to_anchor": (0.5, -0.18)}
    axes.legend(fontsize=8, ncols=columns, **place)


#: Letters of a legend that fit into an inch, and how many its line and the gap take.
_LETTERS, _GAP = 14, 8


def share_legend(figure: "Figure", *panels: "Axes") -> None:
    """One legend above all panels, in as many columns as fit.

    Each of these panels must show every arm, in one order: beside a name is how it looks in each.
    """
    from matplotlib.legend_handler import HandlerTuple

    _, names = panels[0].get_legend_handles_labels()
    looks = (panel.get_legend_handles_labels()[0] for panel in panels)
    handles: Any = list(zip(*looks, strict=True))
    room = _LETTERS * figure.get_figwidth()
    longest = max((len(name) for name in names), default=1)
    columns = int(room // (_GAP * len(panels) + longest))
    figure.legend(
        handles,
        names,
        handlelength=2.0 * len(panels),
        loc="outside upper center",
        fontsize=8,
        ncols=max(1, min(columns, len(names))),
        handler_map={tuple: HandlerTuple(ndivide=None)},
    )


def say(figure: "Figure", text: str) -> None:
    """What a picture needs said beneath it: what its bands are, and what it leaves out."""
    figure.supxlabel(text, fontsize=7.5, color="#444444")


def band(runs: int, what: str = "runs") -> str:
    """What the bands of `line` are."""
    return f"bands: one standard error over {runs:,} {what}" if runs > 1 else "a single run"


def whole_steps(axes: "Axes") -> None:
    """Mark whole numbers only along x."""
    from matplotlib.ticker import MaxNLocator

    axes.xaxis.set_major_locator(MaxNLocator(integer=True))


def render(figure: "Figure", kind: Literal["png", "svg"]) -> bytes:
    """The picture as a file's content, the same bytes every time."""
    import matplotlib

    content = io.BytesIO()
    stamp = {"Date": None} if kind == "svg" else {"Software": None}
    with matplotlib.rc_context(_SETTINGS):
        figure.savefig(content, format=kind, dpi=140, metadata=stamp)
    return _with_palette(content.getvalue()) if kind == "png" else content.getvalue()


def _with_palette(png: bytes) -> bytes:
    """The picture in 256 colours: curves look the same at a third of the size."""
    from PIL import Image
    from PIL.PngImagePlugin import PngImageFile

    smaller = io.BytesIO()
    picture = PngImageFile(io.BytesIO(png)).convert("RGB")
    picture.quantize(256, dither=Image.Dither.NONE).save(smaller, "PNG", optimize=True)
    return smaller.getvalue()


def thin(count: int, keep: int = 400) -> npt.NDArray[np.int64]:
    """Indices of about `keep` of `count` points, denser at the start, the last included."""
    if count <= keep:
        return np.arange(count)
    return np.unique(
        np.concatenate([np.arange(keep // 4), np.linspace(0, count - 1, keep)])
    ).astype(np.int64)


def as_columns(names: Sequence[str], *columns: npt.ArrayLike) -> dict[str, npt.NDArray[Any]]:
    """A table: equally long columns by name."""
    return {name: np.asarray(column) for name, column in zip(names, columns, strict=True)}
