"""The report: one file, every experiment, right counts, and nothing in it runs."""

import base64
import json
import re
from collections import Counter
from dataclasses import asdict, replace
from html.parser import HTMLParser
from pathlib import Path

import pytest

from fhtd.experiments import NAMES, Claim, Verdict
from fhtd.report import Chapter, build_report, read_chapters
from fhtd.reproduction import Summary
from fhtd.terminal import write_report

PICTURE = b"\x89PNG not really"
HOSTILE = "\"'><script>alert(1)</script><img src=//evil.example onerror=alert(2)>&amp;"


def claim(verdict: Verdict, text: str = "text") -> Claim:
    return Claim(f"name {text}", f"statement {text}", f"rule {text}", f"measured {text}", verdict)


def summary(name: str, *claims: Claim, text: str = "text") -> Summary:
    return Summary(
        experiment=name,
        title=f"title {text}",
        source=f"source {text}",
        shows=f"shows {text}",
        revision=1,
        seed=5,
        settings={f"setting {text}": [f"value {text}", 2]},
        claims=list(claims),
        seconds=12.3,
        versions={"fhtd": f"version {text}"},
        command=f"command {text}",
    )


class Page(HTMLParser):
    """Elements, links and the text of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.text: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.text.append(data)

    def values(self, attribute: str) -> list[str]:
        return [found[attribute] or "" for _, found in self.elements if attribute in found]


def test_hostile_text_stays_text() -> None:
    claims = [claim(verdict, HOSTILE) for verdict in Verdict]
    hostile = Chapter(summary(HOSTILE, *claims, text=HOSTILE), PICTURE)
    harmless = Chapter(summary("a", *map(claim, Verdict)), PICTURE)
    page, plain = Page(build_report([hostile])), Page(build_report([harmless]))
    # The same elements with the same attributes: no text has become one.
    shape = [(tag, sorted(found)) for tag, found in page.elements]
    assert shape == [(tag, sorted(found)) for tag, found in plain.elements]
    # And all of it can still be read as it was.
    text = " ".join(page.text)
    for part in ("title", "source", "shows", "statement", "rule", "measured", "setting", "value"):
        assert f"{part} {HOSTILE}" in text
    assert f"command {HOSTILE}" in text
    assert f"version {HOSTILE}" in text


def test_nothing_is_fetched_and_nothing_runs() -> None:
    text = build_report([Chapter(summary("a", claim(Verdict.HOLDS)), PICTURE)])
    page = Page(text)
    assert page.values("src") == ["data:image/png;base64," + base64.b64encode(PICTURE).decode()]
    assert page.values("href") == ["#a"]
    assert {tag for tag, _ in page.elements}.isdisjoint({"script", "link", "iframe", "object"})
    assert not any(name.startswith("on") for _, found in page.elements for name in found)
    for outside in ("http", "//", "url(", "@import"):
        assert outside not in text.replace(page.values("src")[0], "")


def test_verdicts_are_counted() -> None:
    holds, fails, unclear = (claim(v) for v in (Verdict.HOLDS, Verdict.FAILS, Verdict.INCONCLUSIVE))
    page = Page(
        build_report(
            [
                Chapter(summary("a", holds, holds, fails), PICTURE),
                Chapter(summary("b", holds, unclear, unclear, unclear, unclear), PICTURE),
            ]
        )
    )
    text = " ".join(" ".join(page.text).split())
    assert "Of 8 claims 3 hold, 1 fail and 4 are inconclusive." in text
    in_overview = [part for part in page.text if re.fullmatch(r"\d+ \w+", part)]
    assert in_overview == ["2 holds", "1 fails", "1 holds", "4 inconclusive"]
    in_sections = Counter(part for part in page.text if part in set(Verdict))
    assert in_sections == {"holds": 3, "fails": 1, "inconclusive": 4}


def keep(out: Path, one: Summary) -> None:
    folder = out / one.experiment
    folder.mkdir(parents=True)
    (folder / "summary.json").write_text(json.dumps(asdict(one)))
    (folder / f"{one.experiment}.png").write_bytes(PICTURE)


def test_every_experiment_is_there_in_the_papers_order(tmp_path: Path) -> None:
    for name in reversed(NAMES):
        keep(tmp_path, replace(summary(name, claim(Verdict.HOLDS)), title=f"All about {name}"))
    path = write_report(tmp_path, None)
    assert path == (tmp_path / "report.html").resolve()
    page = Page(path.read_text())
    assert page.values("id") == list(NAMES)
    assert page.values("href") == [f"#{name}" for name in NAMES]
    assert page.values("alt") == [f"All about {name}" for name in NAMES]
    assert len(page.values("src")) == len(NAMES)


def test_a_report_may_go_elsewhere(tmp_path: Path) -> None:
    keep(tmp_path / "results", summary("baird", claim(Verdict.FAILS)))
    path = tmp_path / "new folder" / "page.html"
    assert write_report(tmp_path / "results", path) == path.resolve()
    assert "title text" in path.read_text()
    assert not (tmp_path / "results" / "report.html").exists()


def test_no_results_and_damaged_results_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="holds no results yet"):
        write_report(tmp_path, None)
    keep(tmp_path, summary("baird", claim(Verdict.HOLDS)))
    assert [chapter.summary.experiment for chapter in read_chapters(tmp_path)] == ["baird"]
    (tmp_path / "baird" / "summary.json").write_text("{")
    with pytest.raises(ValueError, match=r"baird/summary\.json is damaged"):
        write_report(tmp_path, None)
    assert not (tmp_path / "report.html").exists()
