"""The report: pictures, claims with verdicts, settings, versions and times in one file."""

import base64
from collections import Counter
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

from fhtd.experiments import NAMES, Verdict
from fhtd.reproduction import Summary

_STYLE = """
:root { color-scheme: light dark; --line: #8884; --soft: #8881; }
body { font: 16px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 62rem; padding: 0 1rem; }
h1 { font-size: 1.6rem } h2 { margin-top: 3rem; border-top: 1px solid var(--line); padding-top: 1rem }
table { border-collapse: collapse; width: 100%; font-size: .9rem }
th, td { text-align: left; vertical-align: top; padding: .35rem .6rem; border-bottom: 1px solid var(--line) }
img { max-width: 100%; background: white; padding: .5rem; border-radius: 4px }
.verdict { font-weight: 600; white-space: nowrap }
.holds::before { content: "\\2713 " } .fails::before { content: "\\2717 " }
.inconclusive::before { content: "? " }
.holds { color: #00734f } .fails { color: #b3400e } .inconclusive { color: #946200 }
@media (prefers-color-scheme: dark) {
  .holds { color: #4fd6a6 } .fails { color: #ff9a66 } .inconclusive { color: #ffc94d } }
.rule { opacity: .75; font-size: .85rem } .scroll { overflow-x: auto }
details { background: var(--soft); padding: .5rem .8rem; border-radius: 4px; margin: .8rem 0 }
code { font-size: .9em }
"""


@dataclass(frozen=True)
class Chapter:
    """One experiment's part of the report."""

    summary: Summary
    #: The figure as PNG.
    picture: bytes


def read_chapters(out: Path) -> list[Chapter]:
    """What a results folder holds, in the paper's order; a damaged summary is refused by name."""
    found = []
    for name in NAMES:
        summary = Summary.read(out / name)
        if summary is not None:
            found.append(Chapter(summary, (out / name / f"{name}.png").read_bytes()))
    return found


def build_report(chapters: list[Chapter]) -> str:
    """The page as text."""
    verdicts = Counter(claim.verdict for one in chapters for claim in one.summary.claims)
    tally = (
        f"Of {verdicts.total()} claims {verdicts[Verdict.HOLDS]} hold, {verdicts[Verdict.FAILS]} "
        f"fail and {verdicts[Verdict.INCONCLUSIVE]} are inconclusive."
    )
    overview = "".join(_overview_row(one.summary) for one in chapters)
    sections = "".join(_section(one.summary, one.picture) for one in chapters)
    return f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Fixed-horizon TD: the paper, reproduced</title><style>{_STYLE}</style></head><body>
<h1>Fixed-horizon temporal-difference methods: the paper, reproduced</h1>
<p>Every claim has the rule that decides it and the figure that was measured; intervals are 95%
over seeds. {tally}</p>
<div class="scroll"><table><thead><tr><th>experiment</th><th>in the paper</th><th>shows</th>
<th>verdicts</th><th>core time</th></tr></thead><tbody>{overview}</tbody></table></div>
{sections}</body></html>
"""


def _overview_row(one: Summary) -> str:
    counts = Counter(claim.verdict for claim in one.claims)
    verdicts = " ".join(
        f'<span class="verdict {v}">{counts[v]} {v}</span>'
        for v in (Verdict.HOLDS, Verdict.INCONCLUSIVE, Verdict.FAILS)
        if counts[v]
    )
    name = escape(one.experiment)
    return (
        f'<tr><td><a href="#{name}">{name}</a></td><td>{escape(one.source)}</td>'
        f"<td>{escape(one.shows)}</td><td>{verdicts}</td>"
        f"<td>{one.seconds:.0f}&nbsp;s</td></tr>"
    )


def _section(one: Summary, picture: bytes) -> str:
    name = escape(one.experiment)
    encoded = base64.b64encode(picture).decode()
    claims = "".join(
        f'<tr><td class="verdict {claim.verdict}">{claim.verdict}</td>'
        f'<td>{escape(claim.statement)}<div class="rule">{escape(claim.rule)}</div></td>'
        f"<td>{escape(claim.measured)}</td></tr>"
        for claim in one.claims
    )
    settings = "".join(
        f"<tr><td><code>{escape(key)}</code></td><td>{escape(_plain(value))}</td></tr>"
        for key, value in {**one.settings, "seed": one.seed}.items()
    )
    versions = ", ".join(f"{key} {value}" for key, value in one.versions.items())
    return f"""<h2 id="{name}">{escape(one.title)}</h2>
<p>{escape(one.source)}. Computed in {one.seconds:.1f} s of one core.</p>
<img alt="{escape(one.title)}" src="data:image/png;base64,{encoded}">
<div class="scroll"><table><thead><tr><th>verdict</th><th>claim, and the rule that decides it</th>
<th>measured</th></tr></thead><tbody>{claims}</tbody></table></div>
<details><summary>Settings and versions</summary><div class="scroll"><table>{settings}</table></div>
<p>{escape(versions)}. Command: <code>{escape(one.command)}</code></p></details>
"""


def _plain(value: Any) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)
