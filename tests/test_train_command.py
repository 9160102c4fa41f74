"""`fhtd train` and what belongs to it, as typed: evaluations, extensions, seeds, wrappers."""

import csv
import json
import os
import pty
import re
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("equinox")

from commands import COMMAND, finish, start, wait_until
from fhtd import progress
from fhtd.commands.main import main
from fhtd.deep import run as training

SMALL = ["--preset", "paper", "--horizon", "3", "--hidden", "8", "--learning-starts", "50"]
LAKE = ["train", "FrozenLake-v1", *SMALL, "--checkpoint-every", "150"]


def run(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, str, str]:
    """Exit code, output and errors of a command."""
    try:
        code = main([str(argument) for argument in arguments])
    except SystemExit as end:
        code = int(end.code or 0)
    return code, *capsys.readouterr()


def contents(folder: Path, *names: str) -> dict[str, bytes]:
    return {name: (folder / name).read_bytes() for name in names}


TABLES = ("agent.npz", "episodes.csv", "progress.csv")
ALL = (*TABLES, "evaluations.csv", "best.npz")


def test_evaluations_keep_the_best_agent(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "run"
    often = ["--evaluate-every", "100", "--evaluate-episodes", "3"]
    code, out, err = run(capsys, *LAKE, "--frames", 450, *often, "--out", folder)
    assert (code, err) == (0, "")
    with open(folder / "evaluations.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [int(row["frame"]) for row in rows] == [100, 200, 300, 400]
    best = max(rows, key=lambda row: float(row["mean"]))
    assert f"best evaluation {float(best['mean']):.4g} at frame {best['frame']}: " in out
    agent = training.load_agent(folder, best=True)
    assert agent.frames == int(best["frame"])
    assert agent.evaluate(3).mean() == float(best["mean"])
    code, out, _ = run(capsys, "evaluate", folder, "--best", "--episodes", 2)
    assert code == 0
    assert out.endswith(f"after {best['frame']} frames\n")
    plain = tmp_path / "plain"
    assert run(capsys, *LAKE, "--frames", 450, "--out", plain)[0] == 0
    # Looking on changes nothing.
    assert contents(plain, *TABLES) == contents(folder, *TABLES)
    code, _, err = run(capsys, "evaluate", plain, "--best")
    assert code == 2
    assert "holds no best agent: train with --evaluate-every" in err


def test_a_finished_run_goes_on_as_if_asked_for_at_first(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    often = ["--evaluate-every", "100", "--evaluate-episodes", "2"]
    whole, later = tmp_path / "whole", tmp_path / "later"
    assert run(capsys, *LAKE, "--frames", 640, *often, "--out", whole)[0] == 0
    assert run(capsys, *LAKE, "--frames", 330, *often, "--out", later)[0] == 0
    code, out, err = run(capsys, "train", "--resume", later, "--frames", 640)
    assert (code, err) == (0, "")
    assert f"resuming {later} at frame 330 of 640" in out
    assert contents(later, *ALL) == contents(whole, *ALL)
    assert json.loads((later / "run.json").read_text())["frames"] == 640
    code, _, err = run(capsys, "train", "--resume", later)
    assert code == 2
    assert "nothing to do, unless --frames are more" in err
    code, _, err = run(capsys, "train", "--resume", later, "--frames", 100)
    assert code == 2
    assert "frames must be more than the 640 that" in err
    assert contents(later, *ALL) == contents(whole, *ALL)


def test_an_extension_that_is_stopped_goes_on(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    whole, later = tmp_path / "whole", tmp_path / "later"
    assert run(capsys, *LAKE, "--frames", 500, "--out", whole)[0] == 0
    assert run(capsys, *LAKE, "--frames", 200, "--out", later)[0] == 0
    training.resume(later, frames=500)  # and nothing happens
    assert not (later / "agent.npz").exists()
    code, out, _ = run(capsys, "train", "--resume", later)
    assert code == 0
    assert "at frame 200 of 500" in out
    assert contents(later, *TABLES) == contents(whole, *TABLES)


def test_several_seeds_are_a_study(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "study"
    command = [*LAKE, "--frames", 300, "--seed", 3, "--runs", 3, "--out", folder]
    code, out, err = run(capsys, *command, "--workers", 2)
    assert (code, err) == (0, "")
    assert out.startswith(f"training 3 seeds of FrozenLake-v1 in {folder}\n")
    assert sorted(path.name for path in folder.iterdir()) == ["seed-3", "seed-4", "seed-5"]
    means = []
    for seed in (3, 4, 5):
        with open(folder / f"seed-{seed}" / "episodes.csv", newline="") as file:
            returns = [float(row["return"]) for row in csv.DictReader(file)]
        means.append(np.mean(returns[-100:]))
        assert f"  seed {seed}: {means[-1]:.4g}\n" in out
    assert f"mean return of the last 100 episodes {np.mean(means):.4g} [" in out
    # One of them is what a run of its own is.
    alone = tmp_path / "alone"
    assert run(capsys, *LAKE, "--frames", 300, "--seed", 4, "--out", alone)[0] == 0
    assert contents(alone, *TABLES) == contents(folder / "seed-4", *TABLES)
    # A second call computes only what is missing.
    before = (folder / "seed-3" / "agent.npz").stat().st_mtime_ns
    final = contents(folder / "seed-5", *TABLES)
    (folder / "seed-5" / "agent.npz").unlink()
    assert run(capsys, *command)[0] == 0
    assert (folder / "seed-3" / "agent.npz").stat().st_mtime_ns == before
    assert contents(folder / "seed-5", *TABLES) == final
    code, _, err = run(capsys, *command[:-1], folder, "--horizon", 2)
    assert code == 2
    assert "seed-3 holds a finished run with horizon 3, not 2: give another --out" in err
    pytest.importorskip("matplotlib")
    code, out, err = run(capsys, "plot", folder, alone, "--out", tmp_path / "curves.svg")
    assert (code, err) == (0, "")
    drawn = (tmp_path / "curves.svg").read_text()
    assert "study (3 seeds)" in drawn
    assert "95% intervals over seeds" in drawn


def test_an_interrupted_study_leaves_checkpoints_and_goes_on(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "study"
    command = [*LAKE, "--frames", "6000", "--runs", "2", "--workers", "2", "--out", str(folder)]
    command[command.index("150")] = "100000"  # none but that of the interrupt
    process = start(*command)
    tables = [folder / f"seed-{seed}" / "episodes.csv" for seed in (0, 1)]
    wait_until(lambda: all(path.exists() for path in tables) or process.poll() is not None, 300)
    os.killpg(process.pid, signal.SIGINT)
    code, _, err = finish(process, 300)
    assert code == 130
    assert "run again to go on" in err
    assert all((path.parent / "checkpoint.npz").exists() for path in tables)
    assert run(capsys, *command)[0] == 0
    alone = tmp_path / "alone"
    plain = [*command[: command.index("--runs")], "--seed", "1", "--out", str(alone)]
    assert run(capsys, *plain)[0] == 0
    assert contents(alone, *TABLES) == contents(folder / "seed-1", *TABLES)


def test_wrappers_are_typed_and_kept(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine_only.py").write_text(
        "import gymnasium\n"
        "class Shifted(gymnasium.RewardWrapper):\n"
        "    def __init__(self, env, by=1.0):\n"
        "        super().__init__(env)\n"
        "        self.by = by\n"
        "    def reward(self, reward):\n"
        "        return float(reward) + self.by\n"
    )
    cart = ["train", "CartPole-v1", *SMALL, "--frames", "120"]
    given = ["--wrappers", "TimeLimit,max_episode_steps=5", "FrameStackObservation,stack_size=2"]
    assert run(capsys, *cart, *given, "--out", "run")[0] == 0
    assert json.loads(Path("run/run.json").read_text())["wrappers"] == given[1:]
    # Gymnasium's own are taken from the file.
    code, out, _ = run(capsys, "evaluate", "run", "--episodes", 2)
    assert code == 0
    assert "mean return 5" in out
    own = ["--wrappers", "mine_only:Shifted,by=2.5", "TimeLimit,max_episode_steps=4"]
    assert run(capsys, *cart, *own, "--out", "mine")[0] == 0
    code, _, err = run(capsys, "evaluate", "mine")
    assert code == 2
    assert "you type yourself, --wrappers mine_only:Shifted,by=2.5 TimeLimit" in err
    code, out, _ = run(capsys, "evaluate", "mine", "--episodes", 2, *own)
    assert code == 0
    assert "mean return 14" in out


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ("train CartPole-v1 --hidden", "--hidden needs a value, or several"),
        ("train CartPole-v1 --wrappers", "--wrappers needs a value, or several"),
        ("train CartPole-v1 --wrappers RecordVideo", "wrapper 'RecordVideo' must be MODULE:NAME"),
        ("train CartPole-v1 --wrappers TimeLimit,5", "must be NAME=VALUE"),
        ("train CartPole-v1 --wrappers TimeLimit", "wrapper TimeLimit cannot be put around"),
        ("train CartPole-v1 --wrappers no:Such", "wrapper no:Such cannot be imported"),
        ("train CartPole-v1 --evaluate-every 0", "evaluate_every must be at least 1"),
        ("train CartPole-v1 --evaluate-every 3 --n-envs 4", "evaluate_every must be at least 4"),
        ("train CartPole-v1 --evaluate-episodes 0", "evaluate_episodes must be at least 1"),
        ("train CartPole-v1 --runs 0", "runs must be from 1"),
        ("train CartPole-v1 --runs 2 --workers 0", "workers must be at least 1"),
        ("train CartPole-v1 --runs 2 --tensorboard", "--tensorboard is for single runs"),
        ("train Nonsense-v0 --runs 2", "environment 'Nonsense-v0' cannot be made"),
        ("train --resume nowhere --runs 2", "--resume takes all settings from the folder"),
        ("evaluate nowhere --max-steps 0", "max_steps must be at least 1"),
        ("plot", "name the folder of a training run"),
        ("plot nowhere", "nowhere holds no episodes of a training run"),
        ("plot nowhere --out x.pdf", "--out must end in .png or .svg"),
    ],
)
def test_mistakes_are_one_line(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    arguments: str,
    says: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    code, out, err = run(capsys, *arguments.split())
    assert (code, out) == (2, "")
    (line,) = err.splitlines()
    assert says in line
    assert not list(tmp_path.rglob("*.npz"))


def test_the_cap_on_episodes_is_said_when_it_bites(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "run"
    # The maze of the paper has no time limit, and a fresh agent hardly leaves it.
    maze = ["train", "fhtd/SlipperyMaze-v0", *SMALL, "--frames", "60", "--out", folder]
    assert run(capsys, *maze)[0] == 0
    code, out, err = run(capsys, "evaluate", folder, "--episodes", 2, "--max-steps", 30)
    assert (code, err) == (0, "")
    assert "of 2 episodes had not ended after 30 steps and were cut there (--max-steps)" in out
    cart = tmp_path / "cart"
    assert run(capsys, "train", "CartPole-v1", *SMALL, "--frames", 60, "--out", cart)[0] == 0
    assert "cut" not in run(capsys, "evaluate", cart, "--episodes", 2)[1]


def test_piped_there_is_a_line_now_and_then_and_the_folder_first(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(progress, "SECONDS_BETWEEN_LINES", 0.0)
    folder = tmp_path / "run"
    cart = ["train", "CartPole-v1", *SMALL, "--frames", 3000, "--out", folder]
    code, out, err = run(capsys, *cart)
    assert code == 0
    assert out.splitlines()[1] == f"training CartPole-v1 in {folder}"
    line = err.splitlines()[-1]
    for words in (
        r"^training: [0-9,]+ of 3,000 frames, ",
        r" [0-9,]+ frames/s, ",
        r" [0-9,]+ episodes, ",
        r" mean return [0-9.]+, ",
        r" epsilon 0\.\d+",
        r" loss [0-9.e-]+, ",
        r" 0:00:\d\d left$",
    ):
        assert re.search(words, line), line
    code, out, err = run(capsys, "evaluate", folder, "--episodes", 3)
    assert code == 0
    assert "evaluating: 2 of 3 episodes" in err


def test_on_a_terminal_training_is_live(tmp_path: Path) -> None:
    ours, theirs = pty.openpty()
    cart = ["train", "CartPole-v1", *SMALL, "--frames", "3000", "--out", str(tmp_path / "run")]
    process = subprocess.Popen(
        [*COMMAND, *cart],
        stdout=subprocess.PIPE,
        stderr=theirs,
        env=os.environ | {"TERM": "xterm", "COLUMNS": "80"},
    )
    os.close(theirs)
    shown = b""
    while True:
        try:
            if not (part := os.read(ours, 65536)):
                break
        except OSError:  # it has ended
            break
        shown += part
    process.communicate(timeout=300)
    assert process.returncode == 0
    text = re.sub(rb"\x1b\[[0-9;?]*[A-Za-z]", b"", shown).decode()
    for word in ("/3000", "frames/s", "episodes", "mean return", "epsilon", "loss", "left"):
        assert word in text


MODULE = """
import gymnasium
from gymnasium.envs.classic_control import CartPoleEnv

gymnasium.register("OfThisFolder-v0", entry_point=CartPoleEnv, max_episode_steps=20)
"""


def test_an_environment_of_the_present_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """An installed command, unlike `python`, does not look there by itself."""
    (tmp_path / "of_this_folder.py").write_text(MODULE)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [place for place in sys.path if place])
    monkeypatch.delitem(sys.modules, "of_this_folder", raising=False)
    name = "of_this_folder:OfThisFolder-v0"
    code, _, said = run(capsys, "train", name, *SMALL, "--frames", 100, "--out", "run")
    assert code == 0, said
    assert run(capsys, "evaluate", "run", "--environment", name, "--episodes", 1)[0] == 0
    # A file's word is not enough to import a module.
    code, _, said = run(capsys, "evaluate", "run", "--episodes", 1)
    assert code == 2
    assert "type it yourself" in said
