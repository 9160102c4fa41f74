"""The report: pictures, charts, claims with verdicts, settings, versions and times in one file."""

import base64
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from urllib.parse import quote

from fhtd.experiments import NAMES, find
from fhtd.pages.curves import Drawn, figure_of, read_charts
from fhtd.pages.document import escape, page
from fhtd.reproduction import Claim, Verdict
from fhtd.reproduction.summary import SUMMARY, Summary, folders, plain

#: What needs a look comes first.
_ORDER = (Verdict.FAILS, Verdict.INCONCLUSIVE, Verdict.HOLDS)


@dataclass(frozen=True)
class Chapter:
    """One experiment's part of the report.

    >>> from fhtd.pages import Chapter
    >>> from fhtd.reproduction.summary import Summary
    >>> told = dict(title="Mine", source="a note", shows="nothing", revision=1, seed=0, settings={})
    >>> summary = Summary("mine", **told, claims=[], seconds=1.0, versions={}, command="fhtd ...")
    >>> Chapter(summary, picture=b"", folder="mine@runs-3").place
    'mine@runs-3'
    """

    #: What was measured, with which settings.
    summary: Summary
    #: The figure as PNG.
    picture: bytes
    #: Its curves; an older version's results may lack some.
    charts: list[Drawn] = field(default_factory=list)
    #: Names of the files in its folder that can be linked to.
    files: tuple[str, ...] = ()
    #: Its folder's name; the experiment's own by default.
    folder: str = ""

    @property
    def place(self) -> str:
        """What it is called in links."""
        return self.folder or self.summary.experiment


def read_chapters(out: Path) -> list[Chapter]:
    """What a results folder holds: the paper's experiments in its order, then other ones.

    Each at its own settings first, then at others. A damaged file is refused by name.

    Args:
        out: The results folder, as `fhtd reproduce` writes it.

    Returns:
        One chapter for each folder in it that has a summary.

    >>> from pathlib import Path
    >>> from fhtd.experiments import find
    >>> from fhtd.pages import read_chapters
    >>> from fhtd.reproduction.reproduce import reproduce
    >>> weightings = find("weightings")
    >>> outcome = reproduce(weightings, weightings.smoke(), out=Path("results"))
    >>> [chapter.summary.experiment for chapter in read_chapters(Path("results"))]
    ['weightings']
    """
    others = sorted(path.parent.name.partition("@")[0] for path in out.glob(f"*/{SUMMARY}"))
    names = dict.fromkeys([*NAMES, *others])
    found = [_read(name, folder) for name in names for folder in folders(out, name)]
    return [chapter for chapter in found if chapter is not None]


def _read(name: str, folder: Path) -> Chapter | None:
    summary = Summary.read(folder)
    if summary is None:
        return None
    if name in NAMES:
        summary = summary.completed(find(name))
    tables = {path.name: path.read_bytes() for path in sorted(folder.glob("*.csv"))}
    try:
        drawn = read_charts(summary.charts, tables)
    except ValueError as error:
        raise ValueError(f"{folder}: {error}; fhtd reproduce {name} writes it again") from None
    pictures = [path.name for path in sorted(folder.glob("*.svg"))]
    picture = (folder / f"{name}.png").read_bytes()
    return Chapter(summary, picture, drawn, (*tables, *pictures, SUMMARY), folder.name)


def build_report(chapters: list[Chapter], data: str = "") -> str:
    """The page as text of an HTML file.

    Args:
        chapters: What `read_chapters` found.
        data: The way from the page to the results folder, for links to its files.

    >>> from fhtd.pages import build_report
    >>> "Of 0 claims 0 hold, 0 fail and 0 are inconclusive." in build_report([])
    True
    """
    verdicts = Counter(claim.verdict for one in chapters for claim in one.summary.claims)
    whole = [one for one in chapters if not one.summary.departures]
    tally = _tally("claims", whole)
    if len(whole) < len(chapters):
        others = [one for one in chapters if one.summary.departures]
        tally += " " + _tally("claims at other settings than the paper's, marked below,", others)
    charts: dict[str, Any] = {}
    if find_spec("bokeh") is None:  # a report without curves is better than none after long work
        chapters = [replace(one, charts=[]) for one in chapters]
        tally += " Curves to look into need Bokeh: pip install 'fhtd[report]'."
    sections = "".join(_section(one, data, charts) for one in chapters)
    overview = "".join(_overview_row(one) for one in chapters)
    return page(
        "Fixed-horizon TD: the paper, reproduced",
        f"""<h1>Fixed-horizon temporal-difference methods: the paper, reproduced</h1>
<p>Every claim has the rule that decides it and the figure that was measured; intervals are 95%
over seeds. {tally}</p>
<a class="back" href="#contents">Contents</a>
<div class="index scroll" id="contents"><table>
<thead><tr><th>experiment</th><th>picture</th><th>in the paper</th>
<th>shows</th><th>verdicts</th><th>core time</th></tr></thead>
<tbody>{overview}</tbody></table></div>
<h2>All claims</h2>{_claims(chapters, verdicts)}
{sections}""",
        styles=["report.css"],
        scripts=["report.js"],
        data={},
        charts=charts,
    )


def _tally(what: str, chapters: list[Chapter]) -> str:
    counts = Counter(claim.verdict for one in chapters for claim in one.summary.claims)
    holds, fails, open_ = (_counted(counts[verdict], verdict) for verdict in _WORDS)
    claims = what.replace("claims", "claim", 1) if counts.total() == 1 else what
    return f"Of {counts.total()} {claims} {holds}, {fails} and {open_}."


#: What one claim does, and what several do.
_WORDS = {
    Verdict.HOLDS: ("holds", "hold"),
    Verdict.FAILS: ("fails", "fail"),
    Verdict.INCONCLUSIVE: ("is inconclusive", "are inconclusive"),
}


def _counted(count: int, verdict: Verdict) -> str:
    """A number of claims with their verdict, in English."""
    return f"{count} {_WORDS[verdict][count != 1]}"


def _settings(one: Summary) -> str:
    """The mark of results at other settings than the paper's."""
    return f'<div class="rule">{escape(one.departures)}</div>' if one.departures else ""


def _overview_row(chapter: Chapter) -> str:
    one = chapter.summary
    counts = Counter(claim.verdict for claim in one.claims)
    verdicts = " ".join(
        f'<span class="verdict {v}">'
        f"{_counted(counts[v], v).replace('is ', '').replace('are ', '')}</span>"
        for v in (Verdict.HOLDS, Verdict.INCONCLUSIVE, Verdict.FAILS)
        if counts[v]
    )
    name, place = escape(one.experiment), escape(chapter.place)
    return (
        f'<tr><td><a href="#{place}">{name}</a>{_settings(one)}</td>'
        f'<td data-picture-of="{place}"></td>'
        f"<td>{escape(one.source)}</td><td>{escape(one.shows)}</td><td>{verdicts}</td>"
        f"<td>{one.time.replace(' ', '&nbsp;')}</td></tr>"
    )


def _claims(chapters: list[Chapter], verdicts: Mapping[Verdict, int]) -> str:
    """One table over all experiments, what fails first, with a filter."""
    rows = sorted(
        ((one, claim) for one in chapters for claim in one.summary.claims),
        key=lambda pair: _ORDER.index(pair[1].verdict),
    )
    counts = [("all", len(rows)), *((v.value, verdicts.get(v, 0)) for v in _ORDER)]
    buttons = "".join(
        f'<button type="button" data-verdict="{name}" aria-pressed="{str(name == "all").lower()}">'
        f"{name}: {count}</button>"
        for name, count in counts
    )
    lines = "".join(
        f'<tr data-verdict="{claim.verdict}"><td class="verdict {claim.verdict}">{claim.verdict}'
        f'</td><td><a href="#{escape(one.place)}">{escape(one.summary.experiment)}</a>'
        f"{_settings(one.summary)}</td>"
        f"<td>{escape(claim.statement)}</td><td>{escape(claim.measured)}</td></tr>"
        for one, claim in rows
    )
    return f"""<div class="filter" role="group" aria-label="claims shown">{buttons}</div>
<div class="claims scroll"><table><thead><tr><th>verdict</th><th>experiment</th><th>claim</th>
<th>measured</th></tr></thead><tbody>{lines}</tbody></table></div>"""


def _section(chapter: Chapter, data: str, charts: dict[str, Any]) -> str:
    one = chapter.summary
    name = escape(chapter.place)
    scale = "At other settings than the paper's" if one.departures else "At the paper's settings"
    marked = f" ({escape(one.departures)})" if one.departures else ""
    if one.experiment not in NAMES and not one.departures:
        scale = "At its own settings"
    told = ", ".join(f"{key.replace('_', ' ')} {plain(value)}" for key, value in _scale(one))
    at = f"{scale}{marked}: {escape(told)}."
    encoded = base64.b64encode(chapter.picture).decode()
    claims = "".join(_claim_row(claim) for claim in one.claims)
    settings = "".join(
        f"<tr><td><code>{escape(key)}</code></td><td>{escape(plain(value))}</td></tr>"
        for key, value in {**one.settings, "seed": one.seed}.items()
    )
    versions = ", ".join(f"{key} {value}" for key, value in one.versions.items())
    links = ", ".join(
        f'<a href="{escape(quote(f"{data}{chapter.place}/{file}"))}">{escape(file)}</a>'
        for file in chapter.files
    )
    return f"""<article id="{name}"><h2>{escape(one.title)}</h2>
<p>{escape(one.source)}. Computed in {one.time} of one core. {at}</p>
<img class="picture" id="picture-{name}" alt="{escape(one.title)}"
 src="data:image/png;base64,{encoded}">
<div class="columns">{_charts(chapter, charts)}</div>
<div class="verdicts scroll"><table><thead><tr><th>verdict</th>
<th>claim, and the rule that decides it</th><th>measured</th></tr></thead>
<tbody>{claims}</tbody></table></div>
{f"<p>Data: {links}</p>" if links else ""}
<details><summary>Settings and versions</summary><div class="scroll"><table>{settings}</table></div>
<p>{escape(versions)}. Command: <code>{escape(one.command)}</code></p></details>
</article>
"""


def _scale(one: Summary) -> list[tuple[str, Any]]:
    """The settings that fit into a sentence, and the seed; all of them are in a table below."""
    fit = [(key, value) for key, value in one.settings.items() if len(plain(value)) <= 40]
    return [*fit, ("seed", one.seed)]


def _charts(chapter: Chapter, charts: dict[str, Any]) -> str:
    """Places for the chapter's charts, which are added to `charts` by the ids of those."""
    found = []
    for drawn in chapter.charts:
        place = f"chart-{len(charts)}"
        charts[place] = figure_of(drawn)
        band = f'<p class="soft">Band: {escape(drawn.band)}.</p>' if drawn.band else ""
        found.append(
            f'<section><h3>{escape(drawn.title)}</h3><div id="{place}" class="chart"></div>'
            f"{band}</section>"
        )
    return "".join(found)


def _claim_row(claim: Claim) -> str:
    return (
        f'<tr><td class="verdict {claim.verdict}">{claim.verdict}</td>'
        f'<td>{escape(claim.statement)}<div class="rule">{escape(claim.rule)}</div></td>'
        f"<td>{escape(claim.measured)}</td></tr>"
    )
