"""The report: one file, every experiment, right counts and curves, and nothing from elsewhere."""

import base64
import json
import random
import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import asdict, replace
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote

import numpy as np
import pytest

from fhtd.commands.results import write_report
from fhtd.experiments import NAMES, Claim, Verdict, find
from fhtd.pages import Chapter, build_report, read_chapters
from fhtd.pages.curves import Drawn, read_charts
from fhtd.reproduction.chart import Chart
from fhtd.reproduction.summary import Summary

ROOT = Path(__file__).resolve().parent.parent
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


def test_nothing_is_fetched() -> None:
    text = build_report([Chapter(summary("a", claim(Verdict.HOLDS)), PICTURE)])
    page = Page(text)
    assert page.values("src") == ["data:image/png;base64," + base64.b64encode(PICTURE).decode()]
    assert set(page.values("href")) == {"#a", "#contents"}
    assert {tag for tag, _ in page.elements}.isdisjoint({"link", "iframe", "object"})
    assert not any(name.startswith("on") for _, found in page.elements for name in found)
    assert "default-src 'none'" in page.values("content")[0]
    plain = re.sub("<script>.*?</script>", "", text, flags=re.DOTALL)
    for outside in ("http:", "https:", "//", "url(", "@import"):
        assert outside not in plain.replace(page.values("src")[0], "")


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
    assert "Of 8 claims 3 hold, 1 fails and 4 are inconclusive." in text
    in_overview = [part for part in page.text if re.fullmatch(r"\d+ \w+", part)]
    assert in_overview == ["2 hold", "1 fails", "1 holds", "4 inconclusive"]
    in_sections = Counter(part for part in page.text if part in set(Verdict))
    # Once in the table of all, once in the sections.
    assert in_sections == {"holds": 6, "fails": 2, "inconclusive": 8}
    in_table = [found["data-verdict"] for tag, found in page.elements if tag == "tr" and found]
    assert in_table == ["fails", *["inconclusive"] * 4, *["holds"] * 3]
    buttons = [part for part in page.text if re.fullmatch(r"\w+: \d+", part)]
    assert buttons == ["all: 8", "fails: 1", "inconclusive: 4", "holds: 3"]


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
    assert [name for name in page.values("id") if name in NAMES] == list(NAMES)
    contents, *inner = [link for link in page.values("href") if link.startswith("#")]
    assert contents == "#contents"
    assert inner == [f"#{name}" for name in NAMES] * 2  # in the index, and with each claim
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


def places(value: object, path: tuple[object, ...] = ()) -> list[tuple[object, ...]]:
    """Of everything in plain data."""
    inner: Iterable[tuple[object, object]] = ()
    if isinstance(value, dict | list):
        inner = value.items() if isinstance(value, dict) else enumerate(value)
    return [path, *(place for key, one in inner for place in places(one, (*path, key)))]


ODD = [None, True, -1, 1e999, float("nan"), "", "text", [], [None], [[1]], {}, {"a": 1}, 10**400]


def test_a_summary_of_wrong_types_is_one_clear_line(tmp_path: Path) -> None:
    """Whatever is put in whichever place, there is a report or a line that names the file."""
    experiment = find("slippery-maze")
    one = replace(
        summary("slippery-maze", *map(claim, Verdict)),
        defaults={"a": [1, 2], "b": 1.5},
        charts=experiment.charts,
    )
    keep(tmp_path, one)
    path = tmp_path / "slippery-maze" / "summary.json"
    good = path.read_text()
    rng = random.Random(0)
    refused = []
    for _ in range(300):
        content = json.loads(good)
        where = rng.choice(places(content)[1:])
        target = content
        for key in where[:-1]:
            target = target[key]
        if rng.random() < 0.2:
            del target[where[-1]]
        else:
            target[where[-1]] = rng.choice(ODD)
        path.write_text(json.dumps(content))
        try:
            build_report(read_chapters(tmp_path))
        except ValueError as error:
            refused.append(str(error))
    assert len(refused) > 200
    assert all(line.startswith(f"{path} is damaged (") for line in refused)
    assert not any("\n" in line for line in refused)
    path.write_text("[" * 100_000)
    with pytest.raises(ValueError, match="is damaged"):
        read_chapters(tmp_path)


@pytest.mark.parametrize(
    "content",
    [
        b"\xff\xfe",
        b'step,fhtd.w1\n1,"2\n',
        b"step,fhtd.w1\n1\n",
        b"step,fhtd.w1\n1,2,3\n",
        b"step,fhtd.w1\n1," + b"9" * 200_000,
    ],
)
def test_a_damaged_table_is_one_clear_line(tmp_path: Path, content: bytes) -> None:
    keep(tmp_path, summary("baird", claim(Verdict.HOLDS)))
    (tmp_path / "baird" / "weights.csv").write_bytes(content)
    with pytest.raises(ValueError, match=r"baird: weights\.csv is damaged \(.*\); fhtd reproduce"):
        write_report(tmp_path, None)


def test_results_at_other_settings_are_marked(tmp_path: Path) -> None:
    """Those of earlier versions too, which do not say what the experiment's own are."""
    own = json.loads(json.dumps(find("baird").settings(find("baird").config())))
    keep(tmp_path, replace(summary("baird", claim(Verdict.HOLDS)), settings=own))
    (chapter,) = read_chapters(tmp_path)
    assert chapter.summary.departures == ""
    fewer = {**own, "runs": 100, "steps": 5000}
    (tmp_path / "baird").rename(tmp_path / "baird@runs-100_steps-5000")
    path = tmp_path / "baird@runs-100_steps-5000" / "summary.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"settings": fewer}))
    keep(tmp_path, replace(summary("baird", claim(Verdict.FAILS)), settings=own))
    chapters = read_chapters(tmp_path)
    assert [one.place for one in chapters] == ["baird", "baird@runs-100_steps-5000"]
    text = build_report(chapters)
    assert "Of 1 claim 0 hold, 1 fails and 0 are inconclusive. Of 1 claim at other" in text
    assert "runs 100 instead of 1000, steps 5000 instead of 10000" in text


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(0.0, "0.0 s"), (12.34, "12.3 s"), (600.0, "10 minutes"), (23061.0, "6.4 hours")],
)
def test_times_in_words(seconds: float, words: str) -> None:
    one = replace(summary("a", claim(Verdict.HOLDS)), seconds=seconds)
    assert one.time == words
    assert f"Computed in {words} of one core" in build_report([Chapter(one, PICTURE)])


# Curves.


def lines(charts: list[Drawn]) -> dict[str, list[str]]:
    return {one.title: [line.name for line in one.lines] for one in charts}


def test_every_experiment_has_curves_in_the_results_of_this_repository() -> None:
    chapters = read_chapters(ROOT / "results")
    assert len(chapters) >= 8
    for chapter in chapters:
        assert chapter.charts
        titles = [one.title for one in chapter.charts]
        for declared in find(chapter.summary.experiment).charts:
            assert any(title.startswith(declared.title) for title in titles), declared.title
        for one in chapter.charts:
            for line in one.lines:
                assert len(line.x) == len(line.y) > 0
    assert len(build_report(chapters)) < 5_000_000


def test_a_band_without_bounds_is_not_drawn() -> None:
    chart = Chart("T", "t", "x", "x", "y", y="y", arm="arm", low="low", high="high")
    table = b"arm,x,y,low,high\na,1,2,1,3\na,2,2,1,3\nb,1,2,-inf,inf\nb,2,2,1,3\n"
    (drawn,) = read_charts([chart], {"t.csv": table})
    assert [line.low is None for line in drawn.lines] == [False, True]


def test_tables_side_by_side() -> None:
    chart = Chart("T", "t", "step", "step", "error", lines="a.")
    table = b"step,a.x,a.x.standard_error,b.y,a.z\n1,2,0.5,9,nan\n2,3,0.25,9,4\n"
    (found,) = read_charts([chart], {"t.csv": table})
    assert lines([found]) == {"T": ["x", "z"]}
    assert found.band == "one standard error"
    first, second = found.lines
    np.testing.assert_array_equal(first.low, [1.5, 2.75])
    np.testing.assert_array_equal(first.high, [2.5, 3.25])
    np.testing.assert_array_equal(second.x, [2])  # what is no number is left out
    assert second.low is None


def test_tables_one_below_the_other() -> None:
    options = {"y": "v", "arm": "arm", "low": "lo", "high": "hi", "where": (("arm", "n=*"),)}
    chart = Chart("T", "t", "s", "s", "v", split="episodes", **options)
    table = (
        b"arm,s,episodes,v,lo,hi\nn=1,1,20,5,4,6\nn=1,1,200,7,6,8\nn=2,1,20,1,0,2\nm,1,20,0,0,0\n"
    )
    found = read_charts([chart], {"t.csv": table})
    assert lines(found) == {"T, 20 episodes": ["n=1", "n=2"], "T, 200 episodes": ["n=1"]}
    assert found[0].lines[1].high == [2]


def test_older_results_have_no_charts_of_what_they_lack() -> None:
    chart = Chart("T", "t", "s", "s", "v", y="v", arm="arm")
    assert read_charts([chart], {}) == []
    assert read_charts([chart], {"t.csv": b""}) == []
    assert read_charts([chart], {"t.csv": b"arm,s\na,1\n"}) == []


def test_links_lead_to_the_data(tmp_path: Path) -> None:
    keep(tmp_path / "my results", summary("baird", claim(Verdict.HOLDS)))
    (tmp_path / "my results" / "baird" / "weights.csv").write_bytes(b"step,fhtd.w1\n1,2\n2,3\n")
    for out in (None, tmp_path / "elsewhere" / "page.html"):
        path = write_report(tmp_path / "my results", out)
        links = [link for link in Page(path.read_text()).values("href") if link[0] != "#"]
        targets = [(path.parent / unquote(link)).resolve() for link in links]
        assert [target.name for target in targets] == ["weights.csv", "summary.json"]
        assert all(target.exists() for target in targets)


def test_without_bokeh_there_is_still_a_report(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fhtd.pages.report.find_spec", lambda name: None)
    chart = Chart("T", "t", "s", "s", "v", lines="")
    drawn = read_charts([chart], {"t.csv": b"s,v\n1,2\n2,3\n"})
    text = build_report([Chapter(summary("a", claim(Verdict.HOLDS)), PICTURE, drawn)])
    assert "need Bokeh: pip install" in text
    assert 'class="chart"' not in text
    assert len(text) < 100_000
