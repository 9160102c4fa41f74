"""One kind of progress bar for all that takes long; on standard error, and gone when done."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

Step = TypeVar("Step")
#: Tells a bar how much is done, of how much, and anything else in words.
Advance = Callable[..., None]


def bar(steps: Sequence[Step], description: str, on: bool = True) -> Iterable[Step]:
    """The same steps, counted by a bar.

    Args:
        steps: What is gone through.
        description: What the bar is called.
        on: Whether there is a bar at all.
    """
    return _counted(steps, description) if on else steps


@contextmanager
def live(
    description: str, total: int | None = None, *, done: int = 0, on: bool = True
) -> Iterator[Advance]:
    """A bar that is told how far things are: `advance(done, total=None, state="")`.

    Args:
        description: What the bar is called.
        total: How much there is to do, where that is known.
        done: How much is done before it begins.
        on: Whether there is a bar at all; without one, `advance` does nothing.
    """
    if not on:
        yield lambda done, total=None, state="": None
        return
    with _shown() as shown:
        task = shown.add_task(description, total=total, completed=done, state="")

        def advance(done: int, total: int | None = None, state: str = "") -> None:
            shown.update(task, completed=done, total=total, state=state)

        yield advance


def _counted(steps: Sequence[Step], description: str) -> Iterator[Step]:
    with _shown() as shown:
        task = shown.add_task(description, total=len(steps), state="")
        yield from shown.track(steps, task_id=task)


def _shown() -> Any:
    from rich import progress
    from rich.console import Console

    columns = (
        progress.TextColumn("{task.description}"),
        progress.BarColumn(),
        progress.MofNCompleteColumn(),
        progress.TextColumn("{task.fields[state]}"),
        progress.TimeElapsedColumn(),
        progress.TextColumn("left"),
        progress.TimeRemainingColumn(elapsed_when_finished=False),
    )
    # The end is estimated from everything so far, as a step may take hours.
    return progress.Progress(
        *columns, console=Console(stderr=True), transient=True, speed_estimate_period=1e9
    )
