"""The report in a browser: filters, curves with their numbers, lines that can be switched off."""

import csv
import json
import shutil
from collections import Counter
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path

import pytest
from driving import settle, wait_until
from playwright.sync_api import Locator, Page

from fhtd.commands.results import write_report
from fhtd.experiments import Claim, Verdict
from fhtd.pages import read_chapters
from fhtd.reproduction import style
from fhtd.reproduction.summary import Summary

RESULTS = Path(__file__).resolve().parent.parent.parent / "results"
HOSTILE = "</script><script>document.title='run'</script><img src=x onerror=alert(1)>"
#: Data of a line by its name, evaluated on its chart's section.
LINE = """(section, name) => {
    const place = section.querySelector(".chart");
    for (const one of Bokeh.documents) {
        const figure = one.roots()[0];
        const view = place.firstElementChild && Bokeh.index.find_one_by_id?.(figure.id);
        const own = view ? place.contains(view.el) : false;
        if (!own) continue;
        const line = figure.renderers.find(r => r.name === name && r.glyph.type === "Line");
        const data = line.data_source.data;
        return {x: [...data.x], y: [...data.y], visible: line.visible, low: figure.y_range.start};
    }
    return null;
}"""


@pytest.fixture(scope="session")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_report(RESULTS, tmp_path_factory.mktemp("report") / "report.html")


def bring(page: Page, chapter: str, title: str) -> Locator:
    """Scroll to a chapter's chart and wait until it is drawn; titles are unique in a chapter."""
    heading = page.locator(f"[id='{chapter}']").get_by_role("heading", name=title, exact=True)
    heading.scroll_into_view_if_needed()
    section = heading.locator("..")
    wait_until(lambda: section.evaluate("it => it.querySelector('.chart').children.length > 0"))
    settle(page)
    return section


def test_every_curve_is_drawn(show: Callable[..., Page], report: Path):
    page = show(report)
    titles = [
        (chapter.place, drawn.title)
        for chapter in read_chapters(RESULTS)
        for drawn in chapter.charts
    ]
    assert len(titles) >= 15
    for chapter, title in titles:
        bring(page, chapter, title)
    assert page.evaluate("Bokeh.documents.length") == len(titles)


def test_the_filter_of_claims(show: Callable[..., Page], report: Path):
    verdicts = Counter(c.verdict for one in read_chapters(RESULTS) for c in one.summary.claims)
    page = show(report)
    rows = page.locator(".claims tbody tr:visible")
    assert rows.count() == verdicts.total()
    first = "fails" if verdicts[Verdict.FAILS] else "inconclusive"
    assert rows.first.get_attribute("data-verdict") == first
    for verdict in Verdict:
        page.get_by_role("button", name=f"{verdict.value}: ").click()
        assert rows.count() == verdicts[verdict]
    page.get_by_role("button", name="all: ").focus()
    page.keyboard.press("Enter")
    assert rows.count() == verdicts.total()
    assert page.locator(".filter [aria-pressed=true]").inner_text().startswith("all")


def test_a_curve_shows_the_tables_numbers(show: Callable[..., Page], report: Path):
    with open(RESULTS / "random-walk" / "errors.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    page = show(report)
    found = bring(page, "random-walk", "Learning curves").evaluate(LINE, "FHTD, h = 20")
    assert found["x"] == pytest.approx([float(row["step"]) for row in rows])
    assert found["y"] == pytest.approx([float(row["h20"]) for row in rows], rel=1e-6)


def test_hovering_shows_a_value(show: Callable[..., Page], report: Path):
    page = show(report)
    chart = bring(page, "off-policyness", "Agreement with the final horizon")
    box = chart.locator(".chart").bounding_box()
    assert box is not None
    for share in range(30, 95, 2):
        page.mouse.move(box["x"] + 0.6 * box["width"], box["y"] + share / 100 * box["height"] - 60)
        settle(page)
        if page.locator(".bk-Tooltip").count():
            break
    text = page.locator(".bk-tooltip-content").first.inner_text()
    assert "greedy sets" in text or "lowest index" in text
    assert "one standard error" in text


def test_arms_are_switched_off_by_click_and_key(show: Callable[..., Page], report: Path):
    page = show(report)
    chart = bring(page, "slippery-maze", "FHQ-learning, by horizon")
    legend = chart.locator(".legend label")
    assert [one.inner_text() for one in legend.all()] == [f"H = {h}" for h in (8, 16, 32, 48)]
    assert chart.evaluate(LINE, "H = 16")["visible"]
    legend.nth(1).click()
    assert not chart.evaluate(LINE, "H = 16")["visible"]
    assert chart.evaluate(LINE, "H = 8")["visible"]
    legend.nth(1).locator("input").focus()
    page.keyboard.press("Space")
    assert chart.evaluate(LINE, "H = 16")["visible"]


def test_the_axis_fits_the_arms_that_are_shown(show: Callable[..., Page], report: Path):
    """One that diverges leaves no room for the others until it is switched off."""
    folders = [path.parent for path in RESULTS.glob("lunar-lander*/curves.csv")]
    (both,) = (path for path in folders if "\ndqn-1," in (path / "curves.csv").read_text())
    chart = bring(show(report), both.name, "Learning curves")
    assert chart.evaluate(LINE, "DQN, γ = 1")["low"] < -1200
    chart.locator(".legend label", has_text="DQN, γ = 1").click()
    wait_until(lambda: -1000 < chart.evaluate(LINE, "DQN, γ = 1")["low"] < -400)


def test_hostile_text_stays_text(show: Callable[..., Page], tmp_path: Path):
    claims = [Claim(HOSTILE, HOSTILE, HOSTILE, HOSTILE, verdict) for verdict in Verdict]
    kept = Summary(
        experiment="slippery-maze",
        title=HOSTILE,
        source=HOSTILE,
        shows=HOSTILE,
        revision=1,
        seed=0,
        settings={HOSTILE: HOSTILE},
        claims=claims,
        seconds=1.0,
        versions={"fhtd": HOSTILE},
        command=HOSTILE,
    )
    folder = tmp_path / "slippery-maze"
    folder.mkdir()
    (folder / "summary.json").write_text(json.dumps(asdict(kept)))
    shutil.copy(RESULTS / "slippery-maze" / "slippery-maze.png", folder)
    with open(folder / "lengths.csv", "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["arm", "step_size", "mean_length", "low", "high"])
        for arm in (f"fhq-{HOSTILE}", "fhq-$$x$$"):
            writer.writerows([[arm, 0.1, 5, 4, 6], [arm, 0.9, 5, 4, 6]])
    page = show(write_report(tmp_path, None))
    section = bring(page, "slippery-maze", "FHQ-learning, by horizon")
    assert f"H = {HOSTILE}" in section.locator(".legend").inner_text()
    box = section.locator(".chart").bounding_box()
    assert box is not None
    met = ""
    for y in range(0, 260, 8):
        page.mouse.move(box["x"] + 300, box["y"] + y)
        settle(page)
        if page.locator(".bk-Tooltip").count():
            met += page.locator(".bk-tooltip-content").first.inner_text()
    assert f"H = {HOSTILE}" in met
    assert page.title() == "Fixed-horizon TD: the paper, reproduced"
    assert page.locator("img").count() == 2  # the picture, and the small one of the index


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_can_be_read(show: Callable[..., Page], report: Path, scheme: str):
    page = show(report, scheme)
    assert page.evaluate((Path(__file__).parent / "contrast.js").read_text()) > 4.4


def test_narrow_screens_do_not_scroll_sideways(show: Callable[..., Page], report: Path):
    page = show(report, width=390)
    bring(page, "random-walk", "Learning curves")
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


def test_older_results_are_shown_without_curves(show: Callable[..., Page], tmp_path: Path):
    folder = tmp_path / "baird"
    folder.mkdir()
    for name in ("summary.json", "baird.png"):
        shutil.copy(RESULTS / "baird" / name, folder)
    page = show(write_report(tmp_path, None))
    assert page.locator(".chart").count() == 0
    assert page.locator("#picture-baird").is_visible()


def test_an_arm_looks_the_same_in_picture_and_chart(show: Callable[..., Page], report: Path):
    look = """(section, name) => {
        const place = section.querySelector(".chart");
        const figure = Bokeh.documents.map((d) => d.roots()[0]).find(
            (f) => place.contains(Bokeh.index.find_one_by_id?.(f.id)?.el));
        const line = figure.renderers.find((r) => r.name === name && r.glyph.type === "Line");
        const dash = line.glyph.line_dash;
        return [line.glyph.line_color.value, (dash.value ?? dash).length];
    }"""
    chart = bring(show(report), "random-walk", "Learning curves")
    assert chart.evaluate(look, "TD") == [style.COLOURS[2], 2]
    for h, shade in ((1, 0), (100, 1)):
        colour, _ = style.look(0, shade)
        assert chart.evaluate(look, f"FHTD, h = {h}") == [colour, 0]


def test_everything_is_drawn_for_paper(show: Callable[..., Page], report: Path, tmp_path: Path):
    page = show(report, "dark")
    page.wait_for_selector("body[data-drawn]", state="attached")
    places = page.locator(".chart")
    assert places.count() >= 15
    assert all(places.evaluate_all("all => all.map((one) => one.children.length > 0)"))
    page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
    axis = "Bokeh.documents[0].roots()[0].below[0].axis_label_text_color"
    page.emulate_media(media="print")
    page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
    assert page.evaluate(axis) == "#1c2126"
    assert page.locator(".back").is_hidden()


def test_there_is_a_way_back_on_a_phone(show: Callable[..., Page], report: Path):
    page = show(report, width=390)
    bring(page, "random-walk", "Learning curves")
    before = page.evaluate("window.scrollY")
    page.get_by_role("link", name="Contents").click()
    wait_until(lambda: page.evaluate("window.scrollY") < before / 4)
