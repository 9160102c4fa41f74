"""How a table of an experiment becomes a chart of lines; the report draws it."""

from dataclasses import dataclass
from fnmatch import fnmatchcase


@dataclass(frozen=True)
class Chart:
    """Lines over `x`, from a table that keeps them side by side or one below the other.

    Side by side: every column whose name begins with `lines` is one, and the column of its name
    with `.standard_error` its band. One below the other: `y` holds them all, and rows of the same
    `arm` are a line, with `low` and `high`, or `error`, around it.

    >>> from fhtd.reproduction import Chart
    >>> Chart("Errors", "errors", "step", "steps", "error", y="mean", arm="arm").label("FHTD")
    'FHTD'
    """

    #: What stands above it.
    title: str
    #: Name of the table, without `.csv`.
    table: str
    #: The column of the horizontal axis.
    x: str
    #: What is written along it.
    x_label: str
    #: What is written along the vertical axis.
    y_label: str
    #: How the names of the columns begin, where lines stand side by side.
    lines: str | None = None
    #: The column of all lines, where they stand one below the other.
    y: str | None = None
    #: The column that says whose line a row belongs to.
    arm: str | None = None
    #: The column of the lower bound.
    low: str | None = None
    #: The column of the upper bound.
    high: str | None = None
    #: The column of the standard error, in place of both bounds.
    error: str | None = None
    #: Rows to take: columns and what they must hold, where * stands for anything.
    where: tuple[tuple[str, str], ...] = ()
    #: A chart of its own for each value in this column.
    split: str | None = None
    #: Whether the horizontal axis is logarithmic.
    log_x: bool = False
    #: Whether the vertical axis is logarithmic.
    log_y: bool = False
    #: Draw the size of numbers of both signs, for an axis that has room for one.
    absolute: bool = False
    #: What lines are called in the picture: patterns of names, where * stands for anything.
    labels: tuple[tuple[str, str], ...] = ()
    #: Whose style a line has in the picture, where it is not its turn: name and number.
    styles: tuple[tuple[str, int], ...] = ()
    #: Lines whose colours are a scale in the picture: a pattern of their names.
    shaded: str | None = None
    #: Markers alone, where nothing lies between the values of `x`.
    points: bool = False

    def label(self, name: str) -> str:
        """What a line is called, in the picture too.

        Args:
            name: The line's name in the table.

        Returns:
            The first label whose pattern fits, or the name itself.
        """
        for pattern, text in self.labels:
            if fnmatchcase(name, pattern):
                before, star, after = pattern.partition("*")
                middle = name[len(before) : len(name) - len(after)] if star else ""
                return text.replace("*", middle)
        return name

    def look(self, name: str, names: list[str]) -> tuple[int, float | None]:
        """The number of its style, and its place on the scale of shades where it has one.

        Args:
            name: The line's name in the table.
            names: Those of all lines.
        """
        if self.shaded is not None and fnmatchcase(name, self.shaded):
            family = [one for one in names if fnmatchcase(one, self.shaded)]
            return 0, family.index(name) / max(1, len(family) - 1)
        return dict(self.styles).get(name, names.index(name)), None
