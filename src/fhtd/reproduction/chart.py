"""How a table of an experiment becomes a chart of lines; the report draws it."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Chart:
    """Lines over `x`, from a table that keeps them side by side or one below the other.

    Side by side: every column whose name begins with `lines` is one, and the column of its name
    with `.standard_error` its band. One below the other: `y` holds them all, and rows of the same
    `arm` are a line, with `low` and `high`, or `error`, around it.
    """

    title: str
    #: Name of the table, without `.csv`.
    table: str
    x: str
    x_label: str
    y_label: str
    lines: str | None = None
    y: str | None = None
    arm: str | None = None
    low: str | None = None
    high: str | None = None
    error: str | None = None
    #: Rows to take: columns and what they must hold, where * stands for anything.
    where: tuple[tuple[str, str], ...] = ()
    #: A chart of its own for each value in this column.
    split: str | None = None
    log_x: bool = False
    log_y: bool = False
    #: Draw the size of numbers of both signs, for an axis that has room for one.
    absolute: bool = False
