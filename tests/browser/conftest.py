"""Pages opened from disk in Debian's Chromium; any error or request of theirs fails the test."""

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, sync_playwright

CHROMIUM = (
    os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
)
ARGUMENTS = [
    *("--no-sandbox", "--disable-gpu", "--disable-background-networking", "--no-first-run"),
    *("--disable-component-update", "--disable-sync"),
]
Opener = Callable[..., Page]


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    assert CHROMIUM, "Chromium is missing: apt-get install chromium"
    with sync_playwright() as driver:
        found = driver.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        yield found
        found.close()


@pytest.fixture
def show(browser: Browser) -> Iterator[Opener]:
    """Opens a file and waits until its scripts are done."""
    contexts, wrong = [], []

    def open_page(path: Path, scheme: str = "light", width: int = 1280) -> Page:
        context = browser.new_context(
            color_scheme=scheme,  # type: ignore[arg-type]
            viewport={"width": width, "height": 900},
        )
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(20_000)
        page.on("pageerror", lambda error: wrong.append(f"error: {error}"))
        page.on(
            "console",
            lambda line: wrong.append(line.text) if line.type in ("error", "warning") else None,
        )
        address = path.resolve().as_uri()
        page.on(
            "request",
            lambda request: (
                wrong.append(request.url)
                if request.url.partition("#")[0] != address and request.url[:5] != "data:"
                else None
            ),
        )
        page.goto(address)
        page.wait_for_selector("body[data-ready]", state="attached")
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert wrong == []
