"""Presets: what agents begin with, in Python, on the command line and in files."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

pytest.importorskip("equinox")

from fhtd import Weighting
from fhtd.commands.main import main
from fhtd.deep import DFHQ, DFHTD, DQN, DFHQSettings, DQNSettings
from fhtd.deep import run as runs
from fhtd.deep.presets import Preset

#: As the paper has it, written down here once more.
PAPER = {
    "discount": 0.99,
    "hidden": (256, 256),
    "layer_norm": False,
    "initialisation": "glorot",
    "optimiser": "rmsprop-torch",
    "learning_rate": 1e-4,
    "max_grad_norm": None,
    "replay_size": 100_000,
    "batch_size": 32,
    "learning_starts": 32,
    "train_freq": 1,
    "gradient_steps": 1,
    "n_step": 1,
    "target_update_interval": 1,
    "double": False,
    "loss": "squared",
    "normalise": False,
    "epsilon_initial": 1.0,
    "epsilon_final": 0.1,
    "epsilon_frames": 50_000,
}


def run(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, str, str]:
    code = main([str(argument) for argument in arguments])
    return code, *capsys.readouterr()


@pytest.mark.parametrize("kind", [DFHQ, DQN])
def test_the_papers_agent_is_a_preset(kind: type[DFHQ] | type[DQN]) -> None:
    found = kind("CartPole-v1", preset="paper").settings
    for name, value in PAPER.items():
        assert getattr(found, name) == value, name
    if isinstance(found, DFHQSettings):
        assert (found.horizon, found.deepen_every, found.horizons) == (64, None, None)
        assert (found.unshared, found.loss_weights, found.acting) == (False, None, "final")


def test_by_default_horizons_deepen_without_a_target_network() -> None:
    agent = DFHQ("CartPole-v1", hidden=(8,))
    assert (agent.settings.horizon, agent.settings.deepen_every) == (8, 400)
    assert agent.settings.layer_norm
    assert agent.settings.hidden == (8,)
    assert agent.state.target is None
    assert agent.state.base is not None


def test_dqn_has_a_target_network_by_default() -> None:
    assert DQN("CartPole-v1", hidden=(8,)).state.target is not None


@pytest.mark.parametrize("kind", [DFHQ, DQN])
def test_every_preset_is_one_that_an_agent_takes(kind: type[DFHQ] | type[DQN]) -> None:
    assert list(kind.presets)[:2] == ["default", "paper"]
    for name, preset in kind.presets.items():
        settings = kind.settings_of(name)
        assert type(settings) is kind.settings_type
        if name not in ("default", "paper"):
            assert preset.score is not None, "a preset of an environment has been measured"
            assert f"fhtd compare {name} " in preset.command
            assert f"preset={name}" in preset.command


def test_presets_of_an_environment_go_on_top_of_the_general_one() -> None:
    general, tuned = (DFHQ.settings_of(name) for name in ("default", "CartPole-v1"))
    assert (tuned.n_step, general.n_step) == (4, 1)
    assert tuned.batch_size == general.batch_size != DFHQSettings().batch_size


def test_a_weighting_of_ones_own_stays_where_it_is() -> None:
    agent = DFHQ("CartPole-v1", weighting=Weighting.hyperbolic(6), hidden=(8,))
    assert agent.settings.deepen_every is None
    moving = DFHQ("CartPole-v1", weighting=Weighting.exponential(6), deepen_every=5, hidden=(8,))
    assert moving.settings.deepen_every == 5


def test_agents_without_presets_have_the_defaults_of_their_settings() -> None:
    agent = DFHTD("CartPole-v1", lambda seen: 0, hidden=(4,))
    assert agent.settings == replace(DFHTD.settings_type(), hidden=(4,))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"preset": "papr"}, "did you mean 'paper'"),
        ({"preset": "LunarLander"}, "preset must be one of default, paper, CartPole-v1"),
        ({"preset": "paper", "settings": DFHQSettings()}, "either a preset or settings"),
        ({"unshared": True}, "give deepen_every=None"),
        ({"horizons": (1, 8), "n_step": 7}, "or deepen_every=None"),
    ],
)
def test_what_does_not_go_together_is_refused(options: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        DFHQ("CartPole-v1", **options)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="preset must be a name"):
        DFHQ("CartPole-v1", preset=3)  # type: ignore[arg-type]


def test_a_run_takes_the_preset_of_its_environment_and_says_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    tuned = Preset("CartPole-v1", {"horizon": 3, "hidden": [4]}, 99.5, 1000, 5, "")
    monkeypatch.setattr(DFHQ, "presets", DFHQ.presets | {"CartPole-v1": tuned})
    short = ("--frames", 40, "--batch-size", 4)
    code, out, _ = run(capsys, "train", "CartPole-v1", *short, "--out", tmp_path / "tuned")
    assert code == 0
    assert out.startswith(
        "preset CartPole-v1 (99.5 at the end of 1000 frames, 5 runs); --preset default"
    )
    kept = json.loads((tmp_path / "tuned" / "run.json").read_text())["settings"]
    assert (kept["horizon"], kept["hidden"], kept["batch_size"]) == (3, [4], 4)
    general = ("--preset", "default", "--hidden", 4)
    code, out, _ = run(capsys, "train", "CartPole-v1", *short, *general, "--out", tmp_path / "own")
    assert (code, out.splitlines()[0]) == (0, "preset default")
    kept = json.loads((tmp_path / "own" / "run.json").read_text())["settings"]
    assert kept["horizon"] == DFHQ.settings_of("default").horizon


def test_a_resumed_run_does_not_ask_what_presets_say_now(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = {"hidden": [4], "horizon": 3}
    small = ["--hidden", "4", "--preset", "default", "--frames", "30"]
    assert main(["train", "CartPole-v1", *small, "--out", str(tmp_path / "a")]) == 0
    before = runs.read_request(tmp_path / "a").all_settings
    monkeypatch.setattr(DFHQ, "presets", {"default": Preset(settings=settings)})
    assert runs.read_request(tmp_path / "a").all_settings == before
    assert runs.load_agent(tmp_path / "a").settings == before


def test_runs_of_earlier_versions_are_what_they_were() -> None:
    """They wrote down only what differed from the paper."""
    request = runs.Request("CartPole-v1", "dfhq", 10, 0, {"horizon": 16})
    assert request.all_settings == DFHQSettings(horizon=16)
    assert runs.Request("CartPole-v1", "dqn", 10, 0).all_settings == DQNSettings()


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ("train CartPole-v1 --preset papr", "did you mean 'paper'?"),
        ("train --resume {} --preset paper", "--resume takes all settings from the folder"),
        ("presets --algorithm dqm", "algorithm must be one of dfhq, dqn"),
    ],
)
def test_mistakes_are_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: str, says: str
) -> None:
    code, _, err = run(capsys, *arguments.format(tmp_path).split())
    assert code == 2
    assert says in err
    assert len(err.splitlines()) == 1


def test_presets_are_listed_with_what_was_measured(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = run(capsys, "presets")
    assert (code, err) == (0, "")
    for name, kind in runs.ALGORITHMS.items():
        for preset in kind.presets.values():
            assert f"{name} {preset.name}" in out
            assert preset.measured in out
            assert preset.command in out
    assert "dqn" not in run(capsys, "presets", "--algorithm", "dfhq")[1]
