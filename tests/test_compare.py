"""Comparisons: arms in words, files that are found again, peers, and `fhtd compare` as typed."""

import json
import sys
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

pytest.importorskip("equinox")
pytest.importorskip("matplotlib")

import gymnasium

from fhtd.commands.main import main
from fhtd.comparison import experiment as comparison
from fhtd.comparison import peers
from fhtd.comparison.arms import cell, parse, parse_all
from fhtd.comparison.experiment import Config
from fhtd.deep import DFHQ, DFHQSettings
from fhtd.deep.presets import Preset
from fhtd.deep.settings import from_json

SMALL = "hidden=8,learning_starts=50,batch_size=8"


def run(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, str, str]:
    code = main([str(argument) for argument in arguments])
    return code, *capsys.readouterr()


def settings(text: str, environment: str = "CartPole-v1") -> DFHQSettings:
    return from_json(DFHQSettings, json.loads(cell(parse(text), environment, 10).settings))


def test_an_arm_is_its_algorithm_with_settings_changed() -> None:
    assert settings("dfhq") == DFHQ.settings_of("default")
    assert settings("paper=dfhq,preset=paper") == DFHQSettings()
    wide = settings("wide=dfhq,hidden=512:512,learning_rate=1e-3,replay_size=1e4,layer_norm=False")
    assert wide == replace(
        DFHQ.settings_of("default"),
        hidden=(512, 512),
        learning_rate=1e-3,
        replay_size=10_000,
        layer_norm=False,
    )
    assert settings("dfhq,hidden=32,deepen_every=None,loss=huber").hidden == (32,)


def test_a_tuned_arm_takes_each_environments_preset() -> None:
    assert settings("dfhq,preset=tuned") == DFHQ.settings_of("CartPole-v1")
    assert settings("dfhq,preset=tuned", "FrozenLake-v1") == DFHQ.settings_of("default")


def test_labels_are_what_comes_before_the_algorithm() -> None:
    texts = ("dfhq", "wide=dfhq,hidden=512:512", "dqn,hidden=8", "sb3:dqn", "x=sb3:dqn,gamma=0.9")
    labels = [arm.label for arm in parse_all(texts)]
    assert labels == ["dfhq", "wide", "dqn,hidden=8", "sb3:dqn", "x"]
    assert comparison.labels(Config(arms=texts)) == labels


def test_files_are_named_by_settings_not_by_labels_or_presets(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    one, other = (cell(parse(text), "CartPole-v1", 10) for text in ("dfhq", "x=dfhq"))
    assert str(one) == str(other)
    assert str(one) != str(cell(parse("dfhq,horizon=9"), "CartPole-v1", 10))
    assert str(one) != str(cell(parse("dfhq"), "CartPole-v1", 11))
    explicit = parse("dfhq,horizon=8,deepen_every=400")
    assert str(cell(explicit, "CartPole-v1", 10)) == str(one)
    monkeypatch.setattr(DFHQ, "presets", {"default": Preset(settings={"horizon": 5})})
    assert str(cell(parse("dfhq"), "CartPole-v1", 10)) != str(one)


def test_equal_arms_are_run_once_and_first_runs_come_first() -> None:
    config = Config(("CartPole-v1", "Acrobot-v1"), ("dfhq", "same=dfhq", "dqn"), (2, 1), (10, 20))
    blocks = comparison.blocks(config)
    assert [[one.arm.environment, one.arm.algorithm, one.runs.start] for one in blocks] == [
        ["CartPole-v1", "dfhq", 0],
        ["CartPole-v1", "dqn", 0],
        ["Acrobot-v1", "dfhq", 0],
        ["Acrobot-v1", "dqn", 0],
        ["CartPole-v1", "dfhq", 1],
        ["CartPole-v1", "dqn", 1],
    ]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ("", "name an environment"),
        ("CartPol-v1", "Did you mean: `CartPole`?"),
        ("CartPole-v1 --arms dfhk", "did you mean 'dfhq'?"),
        ("CartPole-v1 --arms sb3:dqm", "did you mean 'sb3:dqn'?"),
        ("CartPole-v1 --arms dfhq,horizn=3", "did you mean horizon?"),
        ("CartPole-v1 --arms dfhq,horizon=0", "horizon must be"),
        ("CartPole-v1 --arms dfhq,preset=papr", "did you mean 'paper'?"),
        ("CartPole-v1 --arms dfhq,hidden", "SETTING=VALUE, each once, got 'hidden'"),
        ("CartPole-v1 --arms =dfhq", "[LABEL=]ALGORITHM[,SETTING=VALUE...]"),
        ("CartPole-v1 --arms a=dfhq a=dqn", "labels of their own, got 'a' twice"),
        ("CartPole-v1 --arms dfhq dfhq", "arms must be named, each once"),
        ("CartPole-v1 --runs 0", "runs must be from 1 to"),
        ("CartPole-v1 --frames 10 20", "frames must be one, or one for each environment"),
        ("CartPole-v1 --arms nowhere:Agent", "nowhere"),
    ],
)
def test_mistakes_are_one_line_before_any_work(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: str, says: str
) -> None:
    code, out, err = run(capsys, "compare", *arguments.split(), "--out", tmp_path / "out")
    assert (code, out) == (2, "")
    assert says in err
    assert len(err.splitlines()) == 1
    assert not (tmp_path / "out").exists()


def test_a_peer_that_is_missing_is_named_with_what_to_install(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(peers, "find_spec", lambda name: None)
    code, _, err = run(capsys, "compare", "CartPole-v1", "--arms", "sb3-contrib:qrdqn")
    assert code == 2
    assert err == "fhtd: sb3-contrib:qrdqn needs sb3-contrib: pip install sb3-contrib\n"


def test_from_a_command_to_a_chapter_and_only_missing_runs_are_computed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arms = ("--arms", f"dfhq=dfhq,{SMALL}", f"dqn=dqn,{SMALL}")
    command = ["compare", "CartPole-v1", *arms, "--frames", 300, "--workers", 1]
    command += ["--out", tmp_path]
    code, out, err = run(capsys, *command, "--runs", 1)
    assert (code, err) == (0, "")
    assert ": 2 blocks in " in out
    assert "? inconclusive  dfhq over dqn: " in out
    code, out, _ = run(capsys, *command, "--runs", 2)
    assert code == 0
    assert ": 2 blocks in " in out
    assert "2 kept" in out
    (folder,) = tmp_path.glob("compare-CartPole-v1-*")
    names = {path.name for path in folder.iterdir()}
    assert {"curves.csv", "runs.csv", "scores.csv", "overall.csv", "pairs.csv", "arms.csv"} <= names
    assert (folder / "runs.csv").read_text().count("\n") == 1 + 4
    assert "dfhq, dqn in CartPole-v1" in (tmp_path / "report.html").read_text()


def data_of(areas: dict[str, dict[str, list[float]]]) -> Any:
    """Flat curves at these heights."""
    data: dict[str, Any] = {}
    for environment, arms in areas.items():
        data[f"{environment}.frame"] = np.array([5, 10])
        for arm, heights in arms.items():
            data[f"{environment}.{arm}.curves"] = np.array(heights)[:, None] * np.ones(2)
    return data


def test_areas_are_normalised_by_random_actions_and_what_counts_as_solved() -> None:
    config = Config(("CartPole-v1", "Other-v0"), ("dfhq", "dqn"))
    data = data_of(
        {
            "CartPole-v1": {"dfhq": [475.0, 22.0], "dqn": [22.0, 22.0]},
            "Other-v0": {"dfhq": [3.0, 5.0], "dqn": [1.0, 2.0]},
        }
    )
    known, other = comparison.scores(config, data, "dfhq")
    np.testing.assert_allclose(known, [1, 0])
    np.testing.assert_allclose(other, [0.5, 1])  # from the lowest to the highest of all runs


def test_references_are_gymnasiums() -> None:
    for environment, (_, solved) in comparison.REFERENCES.items():
        assert gymnasium.spec(environment).reward_threshold == solved


@pytest.mark.parametrize(
    ("ours", "verdict"), [(400.0, "holds"), (100.0, "fails"), (200.0, "inconclusive")]
)
def test_a_verdict_for_each_pair(ours: float, verdict: str) -> None:
    spread = np.linspace(-20, 20, 6)
    data = data_of({"CartPole-v1": {"dfhq": list(ours + spread), "dqn": list(200 - spread)}})
    (claim,) = comparison.claims(Config(), data)
    assert (claim.name, claim.verdict) == ("dfhq over dqn", verdict)


class Episode(gymnasium.Wrapper[Any, Any, Any, Any]):
    """What a monitor of the peer's would add."""

    def step(self, action: Any) -> Any:
        *seen, info = self.env.step(action)
        self.total = getattr(self, "total", 0.0) + float(seen[1])
        if seen[2] or seen[3]:
            info = info | {"episode": {"r": self.total}}
            self.total = 0.0
        return *seen, info


class FakePeer:
    """Takes the steps that a peer would, always to the left; a little further than asked."""

    made: Any = None

    def __init__(
        self, policy: str, env: Any, *, seed: int, device: str, learning_rate: Any, **more: Any
    ) -> None:
        self.world, self.seed, self.rate, self.more = Episode(env), seed, learning_rate, more
        FakePeer.made = self

    def learn(self, frames: int, callback: Any) -> None:
        self.loss = sys.modules["sb3_contrib.qrdqn.qrdqn"].quantile_huber_loss
        self.world.reset(seed=self.seed)
        for frame in range(1, frames + 200):
            *_, terminated, truncated, info = self.world.step(0)
            callback.num_timesteps, callback.locals = frame, {"infos": [info]}
            assert callback._on_step()
            if terminated or truncated:
                self.world.reset()


@pytest.mark.parametrize("compiles", [True, False])
def test_a_peer_has_published_settings_and_logs_every_episode(
    monkeypatch: pytest.MonkeyPatch, compiles: bool
) -> None:
    """In the form of the real one, which is not installed for tests."""
    modules = {name: ModuleType(name) for name in ("sb3_contrib", "torch", "callbacks")}
    modules["sb3_contrib"].QRDQN = FakePeer  # type: ignore[attr-defined]
    modules["torch"].set_num_threads = lambda count: None  # type: ignore[attr-defined]
    modules["torch"].zeros = lambda *shape: np.zeros(shape)  # type: ignore[attr-defined]
    qrdqn = modules["sb3_contrib.qrdqn.qrdqn"] = ModuleType("qrdqn")

    def plain(*of: Any, sum_over_quantiles: bool) -> str:
        return "as it is"

    def compiled(*of: Any, sum_over_quantiles: bool) -> str:
        if not compiles:
            raise RuntimeError("no compiler")
        return "compiled"

    def compile_it(function: Any, dynamic: bool) -> Any:
        assert function is plain
        return compiled

    qrdqn.quantile_huber_loss = plain  # type: ignore[attr-defined]
    modules["torch"].compile = compile_it  # type: ignore[attr-defined]
    modules["callbacks"].BaseCallback = object  # type: ignore[attr-defined]
    for name, module in modules.items():
        path = "stable_baselines3.common.callbacks" if name == "callbacks" else name
        monkeypatch.setitem(sys.modules, path, module)
    for name in ("stable_baselines3", "stable_baselines3.common", "sb3_contrib.qrdqn"):
        monkeypatch.setitem(sys.modules, name, ModuleType(name))
    monkeypatch.setattr(peers, "find_spec", lambda name: name)
    published = peers.settings_of("sb3-contrib:qrdqn", "LunarLander-v3")
    found = peers.train("sb3-contrib:qrdqn", "CartPole-v1", published, frames=100, seed=3)
    made = FakePeer.made
    assert made.loss is (compiled if compiles else plain)
    assert qrdqn.quantile_huber_loss is plain
    assert made.rate(0.5) == pytest.approx(0.00075)
    assert made.more["policy_kwargs"] == {"net_arch": [256, 256], "n_quantiles": 170}
    assert found["frame"].max() <= 100 < 100 + 200
    # CartPole brings 1 a frame.
    np.testing.assert_array_equal(found["return"], np.diff([0, *found["frame"]]))
    with pytest.raises(TypeError, match=r"learning_rat is not .*: did you mean learning_rate"):
        peers.check_settings("sb3-contrib:qrdqn", ["learning_rat"])


def test_published_settings_are_those_of_four_environments() -> None:
    soft = ("sb3:sac", "sbx:sac")
    for algorithm in soft:
        assert peers.settings_of(algorithm, "Pendulum-v1") == {}, "as the library has them"
    for algorithm in (name for name in peers.KINDS if name not in soft):
        for environment in comparison.REFERENCES:
            assert peers.settings_of(algorithm, environment)["exploration_fraction"] > 0
        assert peers.settings_of(algorithm, "Taxi-v3") == {}
    assert peers.settings_of("sb3:dqn", "LunarLander-v2") == peers.settings_of(
        "sb3:dqn", "LunarLander-v3"
    )
