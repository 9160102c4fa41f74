"""What the README shows runs as printed, and what comes out is what the README says of it."""

import json
import re
from pathlib import Path

import numpy as np
import pytest

from fhtd import Weighting, oracle, problems
from fhtd.commands.main import main
from fhtd.experiments import NAMES
from fhtd.reproduction.summary import SUMMARY, folders

ROOT = Path(__file__).resolve().parent.parent
README = (ROOT / "README.md").read_text()
SNIPPETS = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
COMMANDS = [
    line.split("#")[0].split()[1:] for line in re.findall(r"^    (fhtd .*)$", README, re.MULTILINE)
]
#: The folder on show of each experiment: that at its own settings; what takes hours may be there at
#: other settings only, and is shown at those that the table says.
FOLDERS = {
    name: folder
    for name in NAMES
    for folder in folders(ROOT / "results", name)
    # What takes many hours may not be there yet, and what takes minutes not either.
    if (folder / SUMMARY).exists()
    and (folder.name == name or f"results/{folder.name}/{name}.png" in README)
}


def run_snippet(containing, monkeypatch, folder, shorter=None):
    """The one snippet with these words, and the names that it leaves behind."""
    (code,) = (one for one in SNIPPETS if containing in one)
    for long, short in (shorter or {}).items():
        assert long in code
        code = code.replace(long, short)
    monkeypatch.chdir(folder)
    names = {}
    exec(compile(code, "README", "exec"), names)
    return names


def test_there_is_a_test_for_each_snippet():
    assert len(SNIPPETS) == 3


def test_an_agent_is_trained_and_looked_at(monkeypatch, tmp_path, capsys):
    pytest.importorskip("equinox")
    run_snippet("DFHQ", monkeypatch, tmp_path, {"50_000": "600"})
    assert len(capsys.readouterr().out.strip("[]\n").split()) == 10
    assert "what DFHQ expects" in (tmp_path / "episode.html").read_text()


def test_the_walk_is_predicted(monkeypatch, tmp_path, capsys):
    names = run_snippet("RandomWalk", monkeypatch, tmp_path)
    capsys.readouterr()
    walk = problems.random_walk()
    exact = oracle.state_values(walk.mdp, walk.target, Weighting.exponential(20))
    assert np.abs(names["learner"].values(17) - exact[17]).max() < 0.2
    # The end is 3 steps away: no sooner can a reward come.
    assert np.abs(names["learner"].rewards(17)[:2]).max() < 1e-9 < names["learner"].rewards(17)[2]


def test_the_stability_of_baird_is_what_the_text_says(monkeypatch, tmp_path, capsys):
    run_snippet("stability", monkeypatch, tmp_path)
    said = capsys.readouterr().out
    assert "TD is unstable" in said
    assert "FHTD is stable" in said
    assert "-0.24 " in README.replace(",", " ")
    assert float(re.search(r"Phi is (-\d\.\d+)", said)[1]) == pytest.approx(-0.24, abs=0.005)


def test_commands_do_what_is_said_of_them(monkeypatch, tmp_path, capsys):
    """All of them in turn, as printed but for the length of training."""
    pytest.importorskip("equinox")
    monkeypatch.chdir(tmp_path)
    said = {}
    for command in COMMANDS:
        shorter = ["600" if word == "50000" else word for word in command]
        assert main(shorter) == 0, capsys.readouterr().err
        said[command[0]] = capsys.readouterr().out
    assert set(said) == {"train", "evaluate", "watch", "explore", "reproduce"}
    assert "mean return" in said["evaluate"]
    assert (tmp_path / "runs" / "cartpole" / "episode.html").exists()
    assert (tmp_path / "explore-slippery-maze.html").exists()
    claims = json.loads((tmp_path / "runs" / "baird" / SUMMARY).read_text())["claims"]
    assert [claim["verdict"] for claim in claims] == ["holds"] * 5


def test_every_experiment_that_has_results_is_in_the_table():
    found = {path.parent.name.partition("@")[0] for path in (ROOT / "results").glob(f"*/{SUMMARY}")}
    assert found == set(FOLDERS)


@pytest.mark.parametrize("name", FOLDERS)
def test_the_table_of_results_says_what_was_measured(name):
    folder = FOLDERS[name]
    claims = json.loads((folder / SUMMARY).read_text())["claims"]
    row = next(line for line in README.splitlines() if f"`fhtd reproduce {name}`" in line)
    assert f"**{in_english([claim['verdict'] for claim in claims])}**" in row
    assert f"results/{folder.name}/{name}.png" in row
    assert (folder / f"{name}.png").exists()


@pytest.mark.parametrize(
    "page", sorted((ROOT / "docs" / "algorithms").glob("*.md")), ids=lambda page: page.stem
)
def test_pages_of_algorithms_say_what_was_measured(page):
    for line in page.read_text().splitlines():
        if said := re.search(r"`fhtd reproduce ([\w-]+)` \| (\d+ of \d+ hold[^|]*?) *\|", line):
            claims = json.loads((FOLDERS[said[1]] / SUMMARY).read_text())["claims"]
            assert said[2] == in_english([claim["verdict"] for claim in claims])


def in_english(verdicts):
    said = f"{verdicts.count('holds')} of {len(verdicts)} hold"
    if count := verdicts.count("inconclusive"):
        said += f", {count} {'is' if count == 1 else 'are'} inconclusive"
    if count := verdicts.count("fails"):
        said += f", {count} {'fails' if count == 1 else 'fail'}"
    return said


def test_links_lead_somewhere():
    links = re.findall(r"\]\(([^)#]+)\)", README) + re.findall(r'(?:href|src)="([^"]+)"', README)
    assert len(links) > 20
    for target in links:
        assert (ROOT / target).exists(), target


def test_what_make_is_said_to_do_exists():
    targets = re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert set(re.findall(r"`make ([\w-]+)`", README)) <= set(targets)
