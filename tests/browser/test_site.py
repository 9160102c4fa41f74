"""The site opened from disk: the pages in its frames work. `make docs` comes first."""

from pathlib import Path

import pytest
from playwright.sync_api import Browser

SITE = Path(__file__).resolve().parent.parent.parent / "docs" / "_build" / "html"
#: Pages of the site, the page in a frame of theirs, and what shows that its script has run.
FRAMES = {
    "_generated/results": ("report.html", ".claims tbody tr[data-verdict=holds]"),
    "concepts/fixed_horizon": ("explore-walk.html", ".bk-Figure"),
    "tutorials/maze": ("explore-maze.html", ".bk-Figure"),
    "tutorials/your_own": ("thermostat.html", ".bk-Figure"),
    "tutorials/train": ("episode.html", ".bk-Figure"),
}


@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("name", FRAMES)
def test_pages_work_in_their_frames(browser: Browser, name: str, width: int) -> None:
    path = SITE / f"{name}.html"
    if not path.exists():
        pytest.skip("the site is not built: make docs")
    framed, mark = FRAMES[name]
    context = browser.new_context(viewport={"width": width, "height": 900})
    page = context.new_page()
    wrong: list[str] = []
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.on("requestfailed", lambda request: wrong.append(request.url))
    page.on("request", lambda request: wrong.append(request.url) if is_far(request.url) else None)
    page.goto(path.as_uri())
    page.locator(f"iframe[src$='{framed}']").scroll_into_view_if_needed()
    frame = page.frame_locator(f"iframe[src$='{framed}']")
    frame.locator("body[data-ready]").wait_for(state="attached")
    frame.locator(mark).first.wait_for()
    across = page.evaluate("document.documentElement.scrollWidth - window.innerWidth")
    context.close()
    assert wrong == []
    assert across <= 0


def is_far(url: str) -> bool:
    """Whether it is neither in the site nor in the page itself."""
    return not url.startswith((SITE.as_uri(), "data:", "blob:"))
