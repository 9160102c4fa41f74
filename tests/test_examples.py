"""The scripts in `examples/`, as a user runs them."""

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

pytest.importorskip("equinox")

from commands import COMMAND, wait_until

EXAMPLES = Path(__file__).parent.parent / "examples"
NAMED = ("--algorithm", "actor_critic:ActorCritic")
TRAIN = ("train", "CartPole-v1", *NAMED, "--horizon", 8, "--hidden", 16, "--rollout", 20)
LONG = ("--frames", 8000, "--checkpoint-every", 500, "--n-envs", 2)


def start(*arguments):
    """A command in the folder of the examples."""
    return subprocess.Popen(
        [*COMMAND, *map(str, arguments)],
        cwd=EXAMPLES,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | {"PYTHONDONTWRITEBYTECODE": "1"},
    )


def run(*arguments):
    process = start(*arguments)
    out, err = process.communicate(timeout=300)
    assert process.returncode == 0, err
    return out


def test_an_agent_from_outside_is_trained_killed_resumed_and_watched(tmp_path):
    whole, broken = tmp_path / "whole", tmp_path / "broken"
    run(*TRAIN, *LONG, "--out", whole)
    process = start(*TRAIN, *LONG, "--out", broken)
    wait_until((broken / "checkpoint.npz").exists, 300)
    time.sleep(0.05)
    process.kill()
    process.communicate()
    assert process.returncode == -signal.SIGKILL
    assert not (broken / "agent.npz").exists()
    run("train", "--resume", broken, *NAMED)
    for name in ("agent.npz", "episodes.csv", "progress.csv"):
        assert (broken / name).read_bytes() == (whole / name).read_bytes()
    assert "mean return" in run("evaluate", whole, *NAMED, "--episodes", 3)
    run("watch", whole, *NAMED, "--steps", 20)
    page = (whole / "episode.html").read_text()
    assert "what ActorCritic expects" in page
    assert "What is expected of the policy as it is." in page


def test_its_settings_are_its_own(tmp_path):
    process = start("train", "CartPole-v1", *NAMED, "--replay-size", 100, "--out", tmp_path / "x")
    _, err = process.communicate(timeout=60)
    assert process.returncode == 2
    assert "--replay-size" in err
    shown = run("train", *NAMED, "--help")
    assert "How much a varied policy is worth." in shown
    assert "--replay-size" not in shown


def test_a_file_does_not_import_it_unasked(tmp_path):
    run(*TRAIN, "--frames", 100, "--out", tmp_path / "run")
    process = start("evaluate", tmp_path / "run")
    _, err = process.communicate(timeout=60)
    assert process.returncode == 2
    (line,) = err.splitlines()
    assert "type it yourself, --algorithm actor_critic:ActorCritic" in line


def test_it_learns():
    """In Python, and within half a minute: more than twice the 22 steps of random actions."""
    sys.path.insert(0, str(EXAMPLES))
    try:
        from actor_critic import ActorCritic
    finally:
        sys.path.remove(str(EXAMPLES))
    agent = ActorCritic("CartPole-v1", seed=0, hidden=(64, 64), learning_rate=3e-3)
    agent.learn(25_000)
    assert agent.evaluate(10).mean() > 50


#: What each script is given to be short, and what it must have said.
SCRIPTS = {
    "predict": (20_000, r"learned \[0\.   0\.   0\.\d+"),
    "maze": (20_000, r"steps to the exit: \d\d\.\d, and \d\d\.\d at best\nopen maze.html"),
    "train_and_watch": (600, r"after 600 frames: mean return \d+\nopen episode.html"),
    "question": (300, r"speed  1\.0: .* within 20 steps"),
    "options": (3_000, r"options:\n  3,000 updates learned from [5-9],\d+ steps"),
    "weighting": (5_000, r"after 5,000 steps: root-mean-square error \d"),
}


@pytest.mark.parametrize("name", SCRIPTS)
def test_scripts_run(name, tmp_path):
    length, said = SCRIPTS[name]
    done = subprocess.run(
        [sys.executable, EXAMPLES / f"{name}.py", str(length)],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert re.search(said, done.stdout), done.stdout


def test_every_script_is_run():
    assert {path.stem for path in EXAMPLES.glob("*.py")} == {*SCRIPTS, "actor_critic"}
