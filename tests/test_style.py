"""Pictures as files: the same bytes every time, few of them, and the same to look at."""

import io

import numpy as np
import pytest

pytest.importorskip("matplotlib")

from PIL import Image

from fhtd.reproduction import style


def picture():
    figure, axes = style.panels(1, 2)
    x = np.linspace(0, 1, 50)
    for index in range(6):
        style.line(axes[0, 0], x, np.sin(6 * x + index), 0.2 + x, f"arm {index}", index)
    style.label(axes[0, 0], "many colours", "x", "y")
    return figure


def test_png_is_small_and_looks_the_same():
    whole = io.BytesIO()
    picture().savefig(whole, format="png", dpi=140)
    small = style.render(picture(), "png")
    assert len(small) < len(whole.getvalue()) / 2
    wanted, found = (
        np.asarray(Image.open(io.BytesIO(png)).convert("RGB"), dtype=float)
        for png in (whole.getvalue(), small)
    )
    assert found.shape == wanted.shape
    # Of 255; the colours of two arms lie a hundred apart. Only edges of lines may be further off.
    off = np.abs(found - wanted).max(axis=2)
    assert off.mean() < 0.5
    assert (off > 30).mean() < 0.001


@pytest.mark.parametrize("kind", ["png", "svg"])
def test_the_same_bytes_every_time(kind):
    assert style.render(picture(), kind) == style.render(picture(), kind)


@pytest.mark.parametrize("length", [3, 12, 32, 50])
@pytest.mark.parametrize("columns", [2, 3])
def test_a_shared_legend_stays_within_the_picture(length: int, columns: int) -> None:
    """However long the names of six arms are, short of filling it."""
    figure, axes = style.panels(1, columns)
    names = [
        f"{i}{'dfhq,horizon=16,step_size=0.001,hidden=256:256,double':.{length}}" for i in range(6)
    ]
    for panel in axes[0, :2]:
        for i, name in enumerate(names):
            style.line(panel, [0, 1], [i, i], None, name, i)
        style.label(panel, "title", "x", "y", legend=False)
    style.share_legend(figure, *axes[0, :2])
    figure.draw_without_rendering()
    (legend,) = figure.legends
    assert [text.get_text() for text in legend.get_texts()] == names
    place = legend.get_window_extent()
    assert place.x0 >= 0
    assert place.x1 <= figure.bbox.x1
