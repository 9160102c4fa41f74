"""Bokeh figures of one look, for the pages: lines with bands and hover, told apart by dashes too.

The legend is not Bokeh's, which no keyboard reaches: page.js builds one of check boxes from the
names of the lines, and changes all colours where the reader's screen is dark.
"""

from collections.abc import Mapping
from typing import Any

from fhtd.reproduction.style import look

#: Those of the pictures.
DASHES: tuple[list[int], ...] = ([], [12, 5], [5, 4], [14, 5, 2, 5], [2, 2])


def figure(
    x_label: str,
    y_label: str,
    *,
    height: int = 260,
    log_x: bool = False,
    log_y: bool = False,
    zoom: bool = False,
    x_range: tuple[float, float] | None = None,
    y_range: tuple[float, float] | None = None,
) -> Any:
    """An empty chart as wide as its place."""
    from bokeh.models import BasicTickFormatter, DataRange1d, PlainText, Range1d
    from bokeh.plotting import figure as new

    options: dict[str, Any] = {}
    if x_range is not None:
        options["x_range"] = Range1d(*x_range)
    # Without a range of its own, the axis fits the lines that are switched on.
    options["y_range"] = DataRange1d(only_visible=True) if y_range is None else Range1d(*y_range)
    made = new(
        height=height,
        sizing_mode="stretch_width",
        tools="box_zoom,wheel_zoom,pan,reset" if zoom else "",
        toolbar_location="above" if zoom else None,
        x_axis_type="log" if log_x else "linear",
        y_axis_type="log" if log_y else "linear",
        **options,
    )
    made.xaxis.axis_label, made.yaxis.axis_label = PlainText(x_label), PlainText(y_label)
    made.xaxis.axis_label_text_font_style = made.yaxis.axis_label_text_font_style = "normal"
    if not log_x:
        made.xaxis.formatter = BasicTickFormatter(use_scientific=False)
    made.toolbar.logo = None
    if zoom:
        # Until asked for, a finger or a wheel over a chart scrolls the page.
        made.toolbar.active_scroll = made.toolbar.active_drag = None
    # The page shows through, light or dark.
    made.background_fill_color = made.border_fill_color = made.outline_line_color = None
    made.min_border_right = 16
    return made


def add_line(
    made: Any,
    name: str,
    index: int,
    data: Mapping[str, Any] | None = None,
    *,
    source: str | None = None,
    hover: Mapping[str, str] | None = None,
    band: bool = False,
    markers: bool = False,
    shade: float | None = None,
    points: bool = False,
) -> Any:
    """A line in the style of the index-th arm; returns its source, whose columns are x and y.

    `hover` names the columns to show, the same for all lines of a chart; with `band` the columns
    low and high are shaded. With `shade` it is one of an ordered family; `points` are markers
    alone, with upright bars for bands.
    """
    from bokeh.models import ColumnDataSource, HoverTool

    held = ColumnDataSource(dict(data or {"x": [], "y": []}), name=source)
    colour, dashes = look(index, shade)
    if band and points:
        made.segment("x", "low", "x", "high", source=held, color=colour, width=6, alpha=0.3)
        made.renderers[-1].name = name
    elif band:
        made.varea("x", "low", "high", source=held, color=colour, alpha=0.2, name=name)
    made.line(
        *("x", "y"),
        source=held,
        color=colour,
        line_dash=DASHES[dashes],
        width=2.5,
        alpha=0 if points else 1,
        name=name,
    )
    if markers or points:
        made.scatter("x", "y", source=held, color=colour, size=9 if points else 5, name=name)
    if hover:
        tips = list(hover.items())
        tool = next((one for one in made.tools if isinstance(one, HoverTool)), None)
        if tool is None:
            # The name is the renderer's, not part of the template, where braces have a meaning.
            tool = HoverTool(renderers=[], tooltips=[("", "$name"), *tips], line_policy="nearest")
            made.add_tools(tool)
        # A wide unseen line, as two pixels are hard to point at.
        wide = made.line("x", "y", source=held, line_alpha=0, width=16, name=name)
        tool.renderers = [*tool.renderers, wide]
    return held


def add_cursor(made: Any, name: str) -> None:
    """An upright line that a script moves."""
    from bokeh.models import Span

    made.add_layout(
        Span(location=1, dimension="height", name=name, line_width=2, line_color="#888888")
    )
