"""An experiment's tables as charts to look into: values under the pointer, lines to switch off."""

import csv
import io
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

import numpy as np
import numpy.typing as npt

from fhtd.pages import charts
from fhtd.reproduction.chart import Chart

Floats = npt.NDArray[np.float64]
_ERROR = ".standard_error"


@dataclass(frozen=True)
class Line:
    """One line of a chart; `low` and `high` are its band."""

    name: str
    x: Floats
    y: Floats
    low: Floats | None = None
    high: Floats | None = None


@dataclass(frozen=True)
class Drawn:
    """A chart with its lines."""

    title: str
    chart: Chart
    lines: list[Line]
    #: What the bands are.
    band: str = ""


def read_charts(wanted: Sequence[Chart], tables: Mapping[str, bytes]) -> list[Drawn]:
    """The charts whose tables are there, as an older version may not have written all."""
    return [one for chart in wanted for one in _read(chart, tables.get(f"{chart.table}.csv"))]


def _read(chart: Chart, content: bytes | None) -> Iterator[Drawn]:
    rows = [] if content is None else _rows(chart.table, content)
    needed = [chart.x, chart.y, chart.arm, chart.low, chart.high, chart.error, chart.split]
    needed += [column for column, _ in chart.where]
    if not rows or not {name for name in needed if name} <= set(rows[0]):
        return
    kept = [
        row for row in rows if all(fnmatchcase(row[name], value) for name, value in chart.where)
    ]
    if chart.lines is not None:
        yield from _found(chart, chart.title, _side_by_side(chart, kept), "one standard error")
        return
    for value in _distinct(kept, chart.split) if chart.split else [None]:
        part = [row for row in kept if value is None or row[chart.split or ""] == value]
        title = chart.title if value is None else f"{chart.title}, {value} {chart.split}"
        band = "one standard error" if chart.error else "95% interval" if chart.low else ""
        yield from _found(chart, title, _below(chart, part), band)


def _rows(table: str, content: bytes) -> list[dict[str, str]]:
    """Of a table, each of which must have all its columns."""
    try:
        rows = list(csv.DictReader(io.StringIO(content.decode()), strict=True))
    except (UnicodeDecodeError, csv.Error) as error:
        raise ValueError(f"{table}.csv is damaged ({error})") from None
    for number, row in enumerate(rows, 2):
        if None in row or None in row.values():
            raise ValueError(f"{table}.csv is damaged (line {number} has more or fewer columns)")
    return rows


def _found(chart: Chart, title: str, lines: list[Line], band: str) -> Iterator[Drawn]:
    if lines:
        shaded = any(line.low is not None for line in lines)
        yield Drawn(title, chart, lines, band if shaded else "")


def _side_by_side(chart: Chart, rows: list[dict[str, str]]) -> list[Line]:
    prefix = chart.lines or ""
    names = [
        name
        for name in (rows[0] if rows else {})
        if name.startswith(prefix) and not name.endswith(_ERROR) and name != chart.x
    ]
    return [
        _line(
            chart,
            name.removeprefix(prefix),
            rows,
            name,
            error=name + _ERROR if name + _ERROR in rows[0] else None,
        )
        for name in names
    ]


def _below(chart: Chart, rows: list[dict[str, str]]) -> list[Line]:
    assert chart.y is not None
    if chart.arm is None:
        return [_line(chart, chart.title, rows, chart.y, chart.low, chart.high, chart.error)]
    return [
        _line(
            chart,
            arm if chart.arm == "arm" else f"{chart.arm} {arm}",
            [row for row in rows if row[chart.arm] == arm],
            chart.y,
            chart.low,
            chart.high,
            chart.error,
        )
        for arm in _distinct(rows, chart.arm)
    ]


def _distinct(rows: list[dict[str, str]], column: str) -> list[str]:
    return list(dict.fromkeys(row[column] for row in rows))


def _line(
    chart: Chart,
    name: str,
    rows: list[dict[str, str]],
    y: str,
    low: str | None = None,
    high: str | None = None,
    error: str | None = None,
) -> Line:
    xs, ys = _numbers(rows, chart.x), _numbers(rows, y)
    bottom = top = None
    if error is not None:
        bottom, top = ys - _numbers(rows, error), ys + _numbers(rows, error)
    elif low is not None and high is not None:
        bottom, top = _numbers(rows, low), _numbers(rows, high)
    good = np.isfinite(xs) & np.isfinite(ys)
    if bottom is None or top is None or chart.absolute:
        return Line(name, xs[good], ys[good])
    if not np.isfinite([bottom[good], top[good]]).all():  # of a single run
        return Line(name, xs[good], ys[good])
    return Line(name, xs[good], ys[good], bottom[good], top[good])


def _numbers(rows: list[dict[str, str]], column: str) -> Floats:
    """What is no number becomes none, and is not drawn."""
    found = np.full(len(rows), np.nan)
    for i, row in enumerate(rows):
        try:
            found[i] = float(row[column])
        except (TypeError, ValueError):
            continue
    return found


def figure_of(drawn: Drawn) -> Any:
    """The chart as a Bokeh figure."""
    chart = drawn.chart
    figure = charts.figure(
        chart.x_label, chart.y_label, log_x=chart.log_x, log_y=chart.log_y, zoom=True, height=300
    )
    names = [line.name for line in drawn.lines]
    for line in drawn.lines:
        index, shade = chart.look(line.name, names)
        data, hover = {"x": line.x, "y": line.y}, {chart.x_label: "@x{0.[0000]}"}
        if chart.absolute:
            data |= {"value": line.y, "y": np.abs(line.y)}
            hover["value"] = "@value{0.0000 a}"
        else:
            hover[chart.y_label] = "@y{0.[00000]}"
        if line.low is not None and line.high is not None:
            low = line.low
            if chart.log_y and (line.y > 0).any():
                low = np.maximum(low, line.y[line.y > 0].min() / 10)
            data |= {"low": low, "high": line.high}
            hover[drawn.band] = "@low{0.[00000]} to @high{0.[00000]}"
        charts.add_line(
            figure,
            chart.label(line.name),
            index,
            {name: _small(values) for name, values in data.items()},
            hover=hover,
            band=line.low is not None,
            markers=len(line.x) <= 32,
            shade=shade,
            points=chart.points,
        )
    return figure


def _small(values: Floats) -> npt.NDArray[Any]:
    """In single precision, seven digits, where the numbers are not too large for it."""
    with np.errstate(over="ignore"):
        single = values.astype(np.float32)
    return single if np.isfinite(single).all() else values
