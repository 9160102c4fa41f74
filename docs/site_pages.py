"""What the build adds to the pages: formulas that need no script, results, pages to look into."""

import json
import os
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.application import Sphinx
from sphinx.ext.napoleon.docstring import GoogleDocstring

DOCS = Path(__file__).parent
GENERATED = DOCS / "_generated"
RESULTS = DOCS.parent / "results"


def inline(translator: Any, node: Any) -> None:
    """A formula within a line, as MathML, which browsers draw by themselves."""
    from docutils.nodes import SkipNode

    translator.body.append(tex2mathml(node.astext()))
    raise SkipNode


def block(translator: Any, node: Any) -> None:
    """A formula of its own."""
    from docutils.nodes import SkipNode

    found = tex2mathml(node.astext(), as_block=True)
    translator.body.append(f'<div class="formula">{found}</div>')
    raise SkipNode


def in_english(claims: list[dict[str, str]]) -> str:
    """How many hold, and what becomes of the others: "4 of 4 hold"."""
    verdicts = [claim["verdict"] for claim in claims]
    words = [f"{verdicts.count('holds')} of {len(verdicts)} hold"]
    for verdict, one, many in (
        ("inconclusive", "is inconclusive", "are inconclusive"),
        ("fails", "fails", "fail"),
    ):
        if count := verdicts.count(verdict):
            words.append(f"{count} {one if count == 1 else many}")
    return ", ".join(words)


def results_page() -> str:
    """Every experiment in `results` with its picture, claims, command and settings."""
    from fhtd.experiments import NAMES

    lines = [
        "# Results, claim by claim",
        "",
        "One section for each folder in `results`, written when the site is built. Every claim has "
        "a rule that decides it. It *holds* or *fails* only if the 95% interval over seeds says "
        "so, and is *inconclusive* otherwise.",
        "",
        "The report is the same as one page to look into: choose claims by their verdict, switch "
        "lines on and off, read off numbers. `fhtd report` makes such a page of your own results. "
        '<a href="../report.html">Open it by itself</a> for more room.',
        "",
        '<iframe class="page" src="../report.html" title="The report" loading="lazy"></iframe>',
        "",
    ]
    found = [json.loads(path.read_text()) for path in sorted(RESULTS.glob("*/summary.json"))]
    folders = [path.parent for path in sorted(RESULTS.glob("*/summary.json"))]
    order = {name: i for i, name in enumerate(NAMES)}
    pairs = sorted(
        zip(found, folders, strict=True),
        key=lambda pair: (order.get(pair[0]["experiment"], 99), pair[1].name),
    )
    seen: set[str] = set()
    for summary, folder in pairs:
        # Links lead to the first of an experiment's folders.
        name = folder.name.partition("@")[0]
        anchor = [] if name in seen else [f"({name}-results)="]
        seen.add(name)
        own, settings = summary.get("defaults") or {}, summary["settings"]
        other = [f"`{k}` = {v}" for k, v in settings.items() if k in own and own[k] != v]
        lines += [
            *anchor,
            f"## {summary['title']}",
            "",
            f"{summary['source']}. It is meant to show: {summary['shows']}. "
            f"**{in_english(summary['claims'])}.**",
            "",
        ]
        if other:
            lines += [f"At other settings than its own: {', '.join(other)}.", ""]
        lines += [
            f"![{summary['title']}](../../results/{folder.name}/{summary['experiment']}.png)",
            "",
            "```console",
            f"$ {summary['command']}",
            "```",
            "",
            "| verdict | claim | measured | rule |",
            "|---|---|---|---|",
        ]
        for claim in summary["claims"]:
            cells = (claim[name] for name in ("verdict", "statement", "measured", "rule"))
            lines.append("| " + " | ".join(map(plain, cells)) + " |")
        lines.append("")
    return "\n".join(lines)


def plain(text: str) -> str:
    """Text as it stands, in a cell of a table."""
    return re.sub(r"([|\\`*_\[\]<>$])", r"\\\1", text)


def settings_table(kind: Any) -> str:
    """Every setting of an agent with its default and its sentence."""
    import dataclasses
    import inspect

    sentences: dict[str, str] = {}
    for base in reversed(kind.__mro__):
        if dataclasses.is_dataclass(base):
            source = inspect.getsource(base)
            for name, text in re.findall(
                r'^    (\w+): [^\n]*\n    """(.*?)"""', source, re.M | re.S
            ):
                sentences[name] = " ".join(text.split())
    lines = ["| setting | without a preset | what it is |", "|---|---|---|"]
    for field in dataclasses.fields(kind):
        said = plain(sentences[field.name]).replace("\\`", "`")
        lines.append(f"| `{field.name}` | `{field.default!r}` | {said} |")
    return "\n".join(lines) + "\n"


def presets_table(algorithm: str) -> str:
    """The scores that were measured with an algorithm's presets."""
    from fhtd.deep import presets

    found = json.loads((Path(presets.__file__).parent / "presets.json").read_text())
    lines = [
        "| preset | mean return at the end | frames | runs | command |",
        "|---|---|---|---|---|",
    ]
    for name, algorithms in found.items():
        one = algorithms.get(algorithm, {})
        if "score" in one:
            cells = (f"`{name}`", one["score"], f"{one['frames']:,}", one["runs"])
            lines.append(f"| {' | '.join(map(str, cells))} | `{one['command']}` |")
    return "\n".join(lines) + "\n"


def interactive_pages() -> dict[str, str]:
    """The project's own pages, to be shown in frames."""
    from fhtd import problems
    from fhtd.pages import build_report, explore, read_chapters

    maze, walk = problems.slippery_maze(), problems.random_walk()
    # The site has the pictures and no tables to link to.
    chapters = [replace(chapter, files=()) for chapter in read_chapters(RESULTS)]
    return {
        "report.html": build_report(chapters),
        "explore-maze.html": explore(maze.mdp, horizon=48),
        "explore-walk.html": explore(
            walk.mdp, horizon=40, policy=walk.target, policy_name="the random walk", steps=200_000
        ),
    }


def write(path: Path, text: str) -> None:
    """Only what has changed, so that unchanged pages are not built again."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.exists() or path.read_text() != text:
        path.write_text(text)


def generate(app: Sphinx) -> None:
    """Everything that is not written by hand."""
    from fhtd.deep import DFHQSettings, DFHTDSettings, DQNSettings, FHSACSettings, SACSettings

    write(GENERATED / "results.md", results_page())
    for kind in (DFHQSettings, DFHTDSettings, DQNSettings, FHSACSettings, SACSettings):
        name = kind.__name__.removesuffix("Settings").lower()
        write(GENERATED / f"settings-{name}.txt", settings_table(kind))
    write(GENERATED / "presets-dfhq.txt", presets_table("dfhq"))
    for name, text in interactive_pages().items():
        write(GENERATED / "pages" / name, text)


def as_plain_text(
    app: Sphinx, what: str, name: str, found: Any, options: Any, lines: list[str]
) -> None:
    """Docstrings are plain text: a star or a bar in them is just that."""
    for i, line in enumerate(lines):
        if not line.lstrip().startswith((">>>", "...", "*args", "**")):
            parts = re.split(r"(`+[^`]*`+)", line)
            parts[::2] = [re.sub(r"([*|])", r"\\\1", part) for part in parts[::2]]
            # What is in backticks may be followed by a letter, as in `DFHTD`s.
            lines[i] = re.sub(r"(?<=\w`)(?=\w)", r"\\ ", "".join(parts))


def short_types(app: Sphinx, domain: str, kind: str, content: Any) -> None:
    """What NumPy writes out in full is called by its name."""
    for types in app.env.current_document.autodoc_annotations.values():
        for name, text in types.items():
            like = re.sub(r"[\w.~]*_Buffer \|.*?\[complex \| bytes \| str\]", "ArrayLike", text)
            types[name] = re.sub(
                r"[\w.~]*ndarray\[[\w.~]*tuple\[[\w.~]*Any, \.\.\.\], [\w.~]*dtype\[([\w.~]+)\]\]",
                r"NDArray[\1]",
                like,
            )


def skipped(app: Sphinx, what: str, name: str, found: Any, skip: bool, options: Any) -> bool:
    """What belongs to the machinery has no place in the reference."""
    return skip or name in ("state_type", "rates", "settings_type", "takes", "presets")


def site_links(app: Sphinx, docname: str, source: list[str]) -> None:
    """What is a file on GitHub is a page here."""
    source[0] = source[0].replace("](../DEPARTURES.md)", "](departures.md)")


def setup(app: Sphinx) -> dict[str, bool]:
    """For Sphinx."""
    # A comment above a field is a sentence; what stands before a colon in it is not a type.
    GoogleDocstring._parse_attribute_docstring = GoogleDocstring._consume_to_end
    (GENERATED / "pages").mkdir(parents=True, exist_ok=True)
    # The pages' kernels keep their files here, and say only what went wrong.
    os.environ["IPYTHONDIR"] = str(GENERATED / "ipython")
    write(
        GENERATED / "ipython" / "profile_default" / "ipython_kernel_config.py",
        "get_config().IPKernelApp.log_level = 40\n",
    )
    app.connect("autodoc-process-docstring", as_plain_text, priority=400)
    app.add_html_math_renderer("mathml", (inline, None), (block, None))
    app.connect("object-description-transform", short_types, priority=400)
    app.connect("autodoc-skip-member", skipped)
    app.connect("builder-inited", generate)
    app.connect("source-read", site_links)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
