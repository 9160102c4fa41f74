"""One kind of progress bar for all that takes long; on standard error, and gone when done."""

import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import timedelta
from typing import Any, TypeVar

Step = TypeVar("Step")
#: Tells a bar how much is done, of how much, and anything else in words.
Advance = Callable[..., None]
#: Where nobody sees a bar.
SECONDS_BETWEEN_LINES = 30.0


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


@contextmanager
def watched(
    description: str, total: int | None = None, *, done: int = 0, unit: str = ""
) -> Iterator[Advance]:
    """The same for commands: a bar on a terminal, elsewhere a line now and then.

    Args:
        description: What the bar or line is called.
        total: How much there is to do, where that is known.
        done: How much is done before it begins.
        unit: What is counted, in lines.
    """
    if sys.stderr.isatty():
        with live(description, total, done=done) as advance:
            yield advance
        return
    begun = last = time.monotonic()
    first = done

    def tell(done: int, total_now: int | None = None, state: str = "") -> None:
        nonlocal last
        now = time.monotonic()
        if now - last < SECONDS_BETWEEN_LINES:
            return
        last = now
        most = total_now or total
        words = [f"{done:,}{'' if most is None else f' of {most:,}'}{unit and f' {unit}'}", state]
        if most is not None and done > first:
            left = (most - done) * (now - begun) / (done - first)
            words.append(f"{timedelta(seconds=round(left))} left")
        sys.stderr.write(f"{description}: {', '.join(filter(None, words))}\n")
        sys.stderr.flush()

    yield tell


def _counted(steps: Sequence[Step], description: str) -> Iterator[Step]:
    with _shown() as shown:
        task = shown.add_task(description, total=len(steps), state="")
        yield from shown.track(steps, task_id=task)


def _shown() -> Any:
    from rich import progress
    from rich.console import Console
    from rich.text import Text

    class Shown(progress.Progress):
        """With what else there is to say on a line of its own, which a narrow terminal wraps."""

        def get_renderables(self) -> Iterator[Any]:
            yield from super().get_renderables()
            for task in self.tasks:
                if task.fields["state"]:
                    yield Text(f"  {task.fields['state']}")

    columns = (
        progress.TextColumn("{task.description}"),
        progress.BarColumn(bar_width=20),
        progress.MofNCompleteColumn(),
        progress.TimeElapsedColumn(),
        progress.TextColumn("left"),
        progress.TimeRemainingColumn(elapsed_when_finished=False),
    )
    # The end is estimated from everything so far, as a step may take hours.
    return Shown(*columns, console=Console(stderr=True), transient=True, speed_estimate_period=1e9)
