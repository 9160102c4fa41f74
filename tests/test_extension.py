"""An experiment of one's own: one file, anywhere, with everything that the paper's have."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from commands import LIMIT, blocks_in
from fhtd.experiments import find

#: All that a new experiment takes.
EXPERIMENT = '''
"""How far a random walk gets."""

from dataclasses import dataclass

import numpy as np

from fhtd.reproduction import *
from fhtd.reproduction import style
from fhtd.statistics import Interval


@dataclass(frozen=True)
class Config:
    runs: int = 40
    """Walks."""
    steps: int = 100
    """Steps of each."""
    limit: float = 0.0
    """How far the biased one must get."""


@dataclass(frozen=True)
class Coin:
    bias: float

    def __str__(self):
        return f"coin-{exactly(self.bias)}"


ARMS = (Coin(0.5), Coin(0.7))


def blocks(config):
    return [block for arm in ARMS for block in run_blocks(arm, config.runs, 10)]


def run(config, seed, block):
    rng = np.random.default_rng([seed, block.runs.start])
    heads = rng.random((len(block.runs), config.steps)) < block.arm.bias
    return {"end": (2.0 * heads - 1).sum(axis=1)}


def combine(config, results):
    return {str(arm): join_runs(results, arm, "end") for arm in ARMS}


def plot(config, data):
    figure, axes = style.panels(1, 1)
    for i, arm in enumerate(ARMS):
        style.line(axes[0, 0], np.arange(config.runs), data[str(arm)], None, str(arm), i)
    style.label(axes[0, 0], "Walks", "run", "end")
    return figure


def claims(config, data):
    end = Interval.of(data["coin-0.7"])
    rule = "holds if the 95% interval lies above 0, fails if below"
    return [Claim("drifts", "A biased coin drifts.", rule, f"end {end}", above(end, config.limit))]


def tables(config, data):
    arms = np.repeat([str(arm) for arm in ARMS], config.runs)
    ends = np.concatenate([data[str(arm)] for arm in ARMS])
    return {"ends": {"arm": arms, "run": np.tile(np.arange(config.runs), 2), "end": ends}}


EXPERIMENT = Experiment(
    name="coins", title="Biased coins", source="our own", shows="a biased coin drifts",
    cost="1 s", config=Config, blocks=blocks, run=run, combine=combine, plot=plot,
    claims=claims, tables=tables,
    charts=(Chart("Ends", "ends", "run", "run", "end", y="end", arm="arm"),),
)
'''


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "coins.py").write_text(EXPERIMENT)
    return tmp_path


def fhtd_in(folder: Path, *arguments: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "fhtd", *map(str, arguments)],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=LIMIT,
        check=False,
    )


def test_an_experiment_of_ones_own(folder: Path) -> None:
    command = ("reproduce", "coins:EXPERIMENT", "--workers", 2)
    first = fhtd_in(folder, *command)
    assert (first.returncode, first.stderr) == (0, "")
    assert first.stdout.startswith("coins: 8 blocks in ")
    assert "+ holds         drifts: end " in first.stdout
    assert {path.name for path in (folder / "runs" / "coins").iterdir()} == {
        *("coins.png", "coins.svg", "ends.csv", "claims.csv", "summary.json")
    }
    second = fhtd_in(folder, *command)
    assert second.stdout.startswith("coins: 8 kept; see ")
    assert second.stdout.splitlines()[1:] == first.stdout.splitlines()[1:]

    page = (folder / "runs" / "report.html").read_text()
    assert 'id="coins"' in page
    assert "<h3>Ends</h3>" in page
    shown = fhtd_in(folder, "show", "coins:EXPERIMENT").stdout
    assert "  steps = 100\n      Steps of each.\n" in shown
    assert "A biased coin drifts." in shown


def test_its_settings_are_flags(folder: Path) -> None:
    help_ = fhtd_in(folder, "reproduce", "coins:EXPERIMENT", "--help").stdout
    assert "Biased coins: a biased coin drifts." in help_
    assert "--steps INT" in help_
    shorter = fhtd_in(folder, "reproduce", "coins:EXPERIMENT", "--steps", "1e1", "--workers=1")
    assert shorter.stdout.endswith("runs/report.html\n")
    summary = json.loads((folder / "runs" / "coins@steps-10" / "summary.json").read_text())
    assert summary["settings"] == {"runs": 40, "steps": 10, "limit": 0.0}
    assert len(blocks_in(folder / "runs")) == 8
    # The report needs only what is written, not the module.
    (folder / "coins.py").unlink()
    assert fhtd_in(folder, "report").returncode == 0
    assert "steps 10 instead of 100" in (folder / "runs" / "report.html").read_text()


def test_other_settings_never_replace_those_of_the_experiment(folder: Path) -> None:
    """And a failed claim is an exit code where that is asked for."""
    command = ("reproduce", "coins:EXPERIMENT", "--workers", 1)
    assert fhtd_in(folder, *command, "--check").returncode == 0
    kept = {path: path.read_bytes() for path in (folder / "runs" / "coins").iterdir()}
    assert fhtd_in(folder, *command, "--limit", "1e3").returncode == 0
    failed = fhtd_in(folder, *command, "--limit", "1e3", "--check")
    assert (failed.returncode, failed.stderr) == (1, "")
    assert "x fails         drifts" in failed.stdout
    assert {path: path.read_bytes() for path in (folder / "runs" / "coins").iterdir()} == kept

    shown = fhtd_in(folder, "show", "coins:EXPERIMENT").stdout
    own, _, other = shown.partition("Verdicts at other settings (limit 1000.0 instead of 0.0)")
    assert "Verdicts at these settings" in own
    assert "+ holds " in own
    assert "x fails " in other
    page = (folder / "runs" / "report.html").read_text()
    assert "Of 1 claim 1 holds, 0 fail and 0 are inconclusive." in page
    assert "Of 1 claim at other settings than the paper's, marked below, 0 hold, 1 fails" in page
    assert page.count("limit 1000.0 instead of 0.0") == 3  # index, table of claims, chapter


@pytest.mark.parametrize(
    ("place", "says"),
    [
        ("nowhere:EXPERIMENT", "No module named 'nowhere'"),
        ("coins:NOTHING", "module 'coins' has no attribute 'NOTHING'"),
        ("coins:Config", "coins:Config must be an Experiment"),
        ("coins:", "must be MODULE:NAME, got 'coins:'"),
        (":EXPERIMENT", "must be MODULE:NAME, got ':EXPERIMENT'"),
        ("coins:LIKE_BAIRD", "must have a name of its own, got 'baird'"),
        ("coins:EXPERIMENT --scale smoke", "coins has no smoke scale"),
    ],
)
def test_what_is_no_experiment_is_refused(folder: Path, place: str, says: str) -> None:
    more = "from dataclasses import replace\nLIKE_BAIRD = replace(EXPERIMENT, name='baird')\n"
    (folder / "coins.py").write_text(EXPERIMENT + more)
    done = fhtd_in(folder, "reproduce", *place.split())
    assert done.returncode == 2
    (line,) = done.stderr.splitlines()
    assert line.startswith("fhtd: ")
    assert says in line
    assert not (folder / "runs").exists()


def test_what_other_processes_cannot_import_is_refused() -> None:
    from dataclasses import replace

    with pytest.raises(ValueError, match="run must be a function at the top of a module"):
        replace(find("baird"), run=lambda config, seed, block: {})
    for name in ("", "a/b", "raw", "a@b", ".a"):
        with pytest.raises(ValueError, match="name must be"):
            replace(find("baird"), name=name)
