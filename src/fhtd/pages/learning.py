"""Learning curves of training runs, as a picture; the seeds of a study as one curve."""

import csv
import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from fhtd.reproduction import style
from fhtd.reproduction.curves import WINDOW, curve, points
from fhtd.statistics import Statistics, student_quantile

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class Story:
    """What one folder holds: a run, or several seeds of one."""

    name: str
    environment: str
    #: Frame and return of every episode of each run.
    runs: list[tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]]


def read(folder: Path) -> Story:
    """The episodes of a run, or of the runs in the folders of a study.

    Args:
        folder: As `fhtd train` left it, finished or not.
    """
    places = [folder] if (folder / "run.json").is_file() else sorted(folder.glob("seed-*"))
    found = []
    environment = ""
    for place in places:
        path = place / "episodes.csv"
        try:
            environment = str(json.loads((place / "run.json").read_bytes())["environment"])
            with open(path, newline="") as file:
                rows = [(float(row["frame"]), float(row["return"])) for row in csv.DictReader(file)]
        except FileNotFoundError:
            continue
        except (ValueError, KeyError, TypeError, csv.Error) as error:
            raise ValueError(f"{path} cannot be read: {error}") from None
        if rows:
            frames, returns = np.array(rows).T
            found.append((frames, returns))
    if not found:
        raise ValueError(f"{folder} holds no episodes of a training run: see fhtd train")
    return Story(folder.name, environment, found)


def draw(stories: list[Story]) -> "Figure":
    """A curve for each, with 95% intervals over seeds where there are several.

    Args:
        stories: What to draw, in this order.
    """
    figure, axes = style.panels(1, 1, width=6.4, height=4.0)
    panel: Any = axes[0][0]
    for i, story in enumerate(stories):
        # As far as every run has come.
        last = int(min(frames[-1] for frames, _ in story.runs))
        at = points(last)
        lines = np.array([curve(frames, returns, at) for frames, returns in story.runs])
        at, lines = at[~np.isnan(lines).any(axis=0)], lines[:, ~np.isnan(lines).any(axis=0)]
        found = Statistics.of(lines)
        several = found.count > 1
        reach = student_quantile(found.count - 1) * found.standard_error if several else None
        name = f"{story.name} ({found.count} seeds)" if several else story.name
        style.line(panel, at, found.mean, reach, name, i)
    worlds = ", ".join(dict.fromkeys(story.environment for story in stories))
    banded = any(len(story.runs) > 1 for story in stories)
    about = f"{worlds}: mean return of {WINDOW} episodes" + (
        "; bands are 95% intervals over seeds" if banded else ""
    )
    style.label(panel, about, "frame", "return")
    return figure
