"""What the browser tests ask of a page."""

import time
from collections.abc import Callable

from playwright.sync_api import Page


def settle(page: Page) -> None:
    """Wait for two frames, in which charts catch up."""
    page.evaluate(
        "() => new Promise(r => requestAnimationFrame(() => requestAnimationFrame("
        "() => setTimeout(r, 30))))"
    )


def chart_data(page: Page, source: str) -> dict[str, list[float]]:
    """The columns that a chart shows under a name."""
    settle(page)
    found: dict[str, list[float]] = page.evaluate(
        """name => {
            for (const one of Bokeh.documents) {
                const source = one.get_model_by_name(name);
                if (source) return {x: Array.from(source.data.x), y: Array.from(source.data.y)};
            }
            throw new Error("no source " + name);
        }""",
        source,
    )
    return found


def wait_until(condition: Callable[[], object]) -> None:
    """Ask again every few milliseconds, from outside: pages allow no code in strings."""
    end = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.02)


def number(text: str) -> float:
    """A number as pages write it."""
    return float(text.replace("−", "-"))
