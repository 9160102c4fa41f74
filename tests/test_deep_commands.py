"""`fhtd train`, `evaluate` and `record` as they are typed, mistakes included."""

import json
from pathlib import Path

import pytest

pytest.importorskip("equinox")

from fhtd.commands.main import main

SMALL = ["--hidden", "8", "--learning-starts", "50", "--checkpoint-every", "100"]
CARTPOLE = ["CartPole-v1", "--preset", "paper", "--frames", "300", "--horizon", "4", *SMALL]


def run(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, str, str]:
    """Exit code, output and errors of a command."""
    code = main([str(argument) for argument in arguments])
    return code, *capsys.readouterr()


def test_from_training_to_a_picture(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "run"
    code, out, err = run(capsys, "train", *CARTPOLE, "--out", folder)
    assert (code, err) == (0, "")
    assert out.startswith(f"preset paper\ntraining CartPole-v1 in {folder}\ntrained 300 frames, ")
    before = (folder / "agent.npz").read_bytes()
    code, out, err = run(capsys, "train", *CARTPOLE, "--out", folder)
    assert (code, err) == (0, "")
    assert out.startswith(f"{folder} is finished")
    assert (folder / "agent.npz").read_bytes() == before
    code, out, _ = run(capsys, "evaluate", folder, "--episodes", 3, "--epsilon", 0)
    assert code == 0
    assert "over 3 episodes" in out
    assert out.endswith("after 300 frames\n")
    pytest.importorskip("matplotlib")
    code, out, _ = run(capsys, "record", folder, "--every", 20)
    assert code == 0
    assert (folder / "episode.gif").read_bytes().startswith(b"GIF8")


def test_a_run_is_resumed_from_its_folder_alone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    whole, broken = tmp_path / "whole", tmp_path / "broken"
    for folder in (whole, broken):
        assert run(capsys, "train", *CARTPOLE, "--out", folder)[0] == 0
    (broken / "agent.npz").unlink()
    code, out, err = run(capsys, "train", "--resume", broken)
    assert (code, err) == (0, "")
    assert f"resuming {broken} at frame " in out
    for name in ("agent.npz", "episodes.csv", "progress.csv"):
        assert (whole / name).read_bytes() == (broken / name).read_bytes()


def test_options_of_the_environment_reach_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "run"
    options = ["--environment-options", "is_slippery=False", "map_name=8x8"]
    command = ["train", "FrozenLake-v1", "--frames", "60", "--horizon", "3", *SMALL, *options]
    assert run(capsys, *command, "--out", folder)[0] == 0
    kept = json.loads((folder / "run.json").read_text())
    assert kept["environment_options"] == {"is_slippery": False, "map_name": "8x8"}
    # The larger map has 64 states; evaluating makes the same one again.
    assert run(capsys, "evaluate", folder, "--episodes", 1)[0] == 0


def test_a_divergence_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    wild = [*CARTPOLE, "--learning-rate", "1e20", "--divergence-limit", "1e6"]
    code, out, err = run(capsys, "train", *wild, "--out", tmp_path / "stops")
    assert (code, out) == (2, f"preset paper\ntraining CartPole-v1 in {tmp_path / 'stops'}\n")
    (line,) = err.splitlines()
    assert "diverged" in line
    recorded = [*wild, "--on-divergence", "record", "--out", tmp_path / "goes-on"]
    code, out, err = run(capsys, "train", *recorded)
    assert (code, err) == (0, "")
    assert "\ndiverged: the loss of horizon " in out


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ("train", "name an environment"),
        ("train Nonsense-v0", "environment 'Nonsense-v0' cannot be made"),
        (
            "train Pendulum-v1 --algorithm dfhq",
            "environment must have discrete actions, got Box(-2.0, 2.0, (1,), float32), for DFHQ: "
            "use FHSAC or SAC",
        ),
        (
            "train CartPole-v1 --algorithm fhsac",
            "environment must have continuous actions, got Discrete(2), for FHSAC: use DFHQ or DQN",
        ),
        ("train CartPole-v1 --horizon 0", "horizon must be from 1"),
        ("train CartPole-v1 --horizn 3", "did you mean --horizon"),
        ("train CartPole-v1 --algorithm dqn --horizon 3", "Unrecognized options: --horizon"),
        ("train CartPole-v1 --frames 0", "frames must be at least 1"),
        ("train CartPole-v1 --acting 1000", "acting must be"),
        ("train CartPole-v1 --environment-options gravity", "must be NAME=VALUE"),
        ("train CartPole-v1 --environment-options a=1 a=2", "must be NAME=VALUE, each once"),
        ("train CartPole-v1 --environment-options colour=red", "cannot be made"),
        ("train --resume nowhere", "nowhere holds no training run"),
        ("train --resume nowhere --horizon 3", "--resume takes all settings from the folder"),
        ("evaluate nowhere", "nowhere holds no training run"),
        ("evaluate nowhere --episodes 0", "episodes must be at least 1"),
        ("record nowhere --every 0", "every must be at least 1"),
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
    assert line.startswith("fhtd")
    assert says in line
    assert not list(tmp_path.rglob("*.npz"))
