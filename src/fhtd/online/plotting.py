"""A simulation as a picture."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from fhtd import checks
from fhtd.statistics import Statistics, student_quantile

if TYPE_CHECKING:
    from fhtd.online.simulate import Simulation


def plot(found: "Simulation", axes: Any, horizons: Sequence[int] | None) -> Any:
    """Axes with a curve for each horizon, or one of the returns; bands are 95% intervals."""
    if found.errors is None and found.returns is None:
        raise ValueError("the simulation measured nothing to plot: give truth=, or episodes=")
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise ModuleNotFoundError(
            "matplotlib is not installed: pip install 'fhtd[report]'", name="matplotlib"
        ) from None
    if axes is None:
        axes = Figure(figsize=(6, 4), layout="constrained").subplots()
    if found.errors is not None:
        _draw_errors(axes, found, horizons)
    else:
        assert found.returns is not None
        returns = Statistics.of(found.returns)
        x = np.arange(1, len(returns.mean) + 1)
        _draw(axes, x, returns.mean, returns.standard_error, returns.count, None)
        axes.set_ylabel("return")
    axes.set_xlabel("step" if found.returns is None else "episode")
    runs = len(found.steps)
    axes.set_title(f"mean of {runs} runs, 95% intervals" if runs > 1 else "one run", fontsize=10)
    return axes


def _draw_errors(axes: Any, found: "Simulation", horizons: Sequence[int] | None) -> None:
    assert found.errors is not None
    columns = found.errors.mean.shape[-1]
    if horizons is None:
        chosen = np.unique(np.linspace(1, columns, min(columns, 5)).round().astype(int)).tolist()
    else:
        chosen = [checks.integer("horizons", one, 1, columns) for one in horizons]
    error = found.errors.standard_error
    for one in chosen:
        label = f"horizon {one}" if columns > 1 else None
        mean = found.errors.mean[:, one - 1]
        _draw(axes, found.recorded_at, mean, error[:, one - 1], found.errors.count, label)
    axes.set_ylabel("root-mean-square error")
    if columns > 1:
        axes.legend(fontsize=8)


def _draw(axes: Any, x: Any, mean: Any, error: Any, count: int, label: str | None) -> None:
    (line,) = axes.plot(x, mean, linewidth=1.5, label=label)
    if count > 1:
        reach = student_quantile(count - 1) * error
        axes.fill_between(
            x, mean - reach, mean + reach, color=line.get_color(), alpha=0.2, linewidth=0
        )
