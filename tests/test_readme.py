"""What the README shows runs as printed, and what it says of results is what was measured."""

import json
import re
from pathlib import Path

import pytest

from fhtd.commands.main import main
from fhtd.experiments import NAMES, find
from fhtd.reproduction.summary import SUMMARY, folders

ROOT = Path(__file__).resolve().parent.parent
README = (ROOT / "README.md").read_text()
SNIPPETS = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
#: The folder on show of each experiment; what takes hours may be there at other settings only.
FOLDERS = {
    name: folder
    for name in NAMES
    for folder in folders(ROOT / "results", name)[-1 if find(name).takes_hours else 0 :][:1]
    # What takes many hours may not be there yet.
    if not find(name).takes_hours or (folder / SUMMARY).exists()
}
# The same code, shorter.
SHORTER = {
    "range(50_000)": "range(2_000)",
    "total_timesteps=100_000": "total_timesteps=500",
    "runs=100": "runs=2",
    "agent.learn(15_000": "agent.learn(300",
}


@pytest.mark.parametrize("number", range(len(SNIPPETS)))
def test_snippets_run(number, capsys, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    code = SNIPPETS[number]
    for long, short in SHORTER.items():
        code = code.replace(long, short)
    exec(compile(code, f"README snippet {number}", "exec"), {})
    assert capsys.readouterr().out


COMMANDS = [
    line.split("#")[0].split()[1:]
    for line in re.findall(r"^    (fhtd .*)$", README, re.MULTILINE)
    if line.split()[1] in ("train", "compare", "presets")
]


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_commands_are_understood(command, monkeypatch, tmp_path, capsys):
    """As printed, up to where the work would begin; a peer may have to be installed."""
    begun = []
    monkeypatch.chdir(tmp_path)
    for place in ("fhtd.deep.run.start", "fhtd.deep.run.resume", "fhtd.reproduction.study.train"):
        monkeypatch.setattr(place, stop_at(begun))
    monkeypatch.setattr("fhtd.commands.reproduce.run_experiment", stop_at(begun))
    code = main(command)
    out, err = capsys.readouterr()
    assert begun or out or "pip install stable-baselines3" in err, err
    assert code == (2 if begun or err else 0)


def stop_at(begun):
    def stop(*arguments, **options):
        begun.append(arguments)
        raise ValueError("enough")

    return stop


def test_there_are_snippets():
    assert len(SNIPPETS) == 4


@pytest.mark.parametrize("name", FOLDERS)
def test_the_table_of_results_says_what_was_measured(name):
    folder = FOLDERS[name]
    summary = json.loads((folder / "summary.json").read_text())
    counts = {v: sum(c["verdict"] == v for c in summary["claims"]) for v in VERDICTS}
    said = ", ".join(f"{count} {verdict}" for verdict, count in counts.items() if count)
    row = next(line for line in README.splitlines() if f"`fhtd reproduce {name}`" in line)
    assert said in row
    assert f"results/{folder.name}/{name}.png" in row
    assert (folder / f"{name}.png").exists()


VERDICTS = ("holds", "inconclusive", "fails")


def test_links_lead_somewhere():
    for target in re.findall(r"\]\(([^)#]+)\)", README):
        assert (ROOT / target).exists(), target
