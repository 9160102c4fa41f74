"""What can happen while an agent learns, deep or not: at frames, at episodes, in a log."""

import sys
import types
import warnings
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("equinox")

from fhtd import FHQ, Weighting
from fhtd.boards import TensorBoard, WeightsAndBiases
from fhtd.callbacks import Callback, Checkpoint, Evaluation, StopAtReturn
from fhtd.deep import DFHQ
from scripted import Scripted

SMALL = {"preset": "paper", "horizon": 3, "hidden": (8,), "learning_starts": 20}


class Noted(Callback):
    """Everything that it was told."""

    def __init__(self):
        self.begun = self.ended = 0
        self.frames, self.episodes, self.rows = [], [], []

    def begin(self, agent):
        self.begun += 1

    def step(self, agent):
        self.frames.append(agent.frames)

    def __call__(self, agent, episode):
        self.episodes.append(episode["frame"])

    def log(self, agent, row):
        self.rows.append(row)

    def end(self, agent):
        self.ended += 1


MAKERS = (
    lambda: DFHQ("CartPole-v1", seed=0, **SMALL),
    lambda: FHQ("FrozenLake-v1", weighting=Weighting.exponential(4), seed=0),
)


@pytest.mark.parametrize("make", MAKERS, ids=["DFHQ", "FHQ"])
def test_several_callbacks_at_frames_and_at_episodes(make, tmp_path: Path):
    noted, lengths = Noted(), []
    evaluation = Evaluation(every=100, episodes=2, best_path=tmp_path / "best.npz")
    agent = make().learn(
        350,
        callback=[
            noted,
            lambda learner, episode: lengths.append(episode["length"]),
            evaluation,
            Checkpoint(tmp_path / "last.npz", every=150),
        ],
        log_interval=2,
    )
    assert noted.frames == list(range(1, 351))
    assert noted.episodes == np.cumsum(lengths).tolist()
    assert (noted.begun, noted.ended) == (1, 1)
    assert [frame for frame, _ in evaluation.history] == [100, 200, 300]
    assert [row["time/episodes"] for row in noted.rows if "time/episodes" in row] == list(
        range(2, len(lengths) + 1, 2)
    )
    evaluated = [row["eval/mean_reward"] for row in noted.rows if "eval/mean_reward" in row]
    assert evaluated == [mean for _, mean in evaluation.history]
    best = max(evaluation.history, key=lambda one: one[1])
    kept = type(agent).load(tmp_path / "best.npz", env=agent.environment)
    assert kept.frames == best[0]
    assert type(agent).load(tmp_path / "last.npz", env=agent.environment).frames == 300


@pytest.mark.parametrize("make", MAKERS, ids=["DFHQ", "FHQ"])
def test_watching_disturbs_nothing(make, capsys: pytest.CaptureFixture[str]):
    # FHQ does not seed its environment unless it is told to.
    seeded = {"seed": 1} if isinstance(make(), FHQ) else {}
    quiet = make().learn(total_timesteps=300, **seeded)
    watched = make().learn(
        total_timesteps=300,
        **seeded,
        callback=[Evaluation(70, 2, epsilon=0.5), Noted()],
        verbose=1,
        log_interval=3,
    )
    ours, theirs = (
        one.weights if isinstance(one, FHQ) else np.asarray(one.state.parameters[-1])
        for one in (watched, quiet)
    )
    np.testing.assert_array_equal(ours, theirs)
    lines = capsys.readouterr().out.splitlines()
    assert any(line.startswith("frame ") and ", episode 3, return " in line for line in lines)
    assert sum(", evaluated " in line for line in lines) == 4


@pytest.mark.parametrize("make", MAKERS, ids=["DFHQ", "FHQ"])
def test_predicting_does_not_disturb_learning(make):
    quiet, asked = make().learn(50), make().learn(50)
    if isinstance(asked, DFHQ):  # FHQ explores by its own random numbers
        for _ in range(20):
            asked.predict(np.zeros(4), deterministic=False)
    asked.predict(0 if isinstance(asked, FHQ) else np.zeros(4))
    quiet.learn(50)
    asked.learn(50)
    if isinstance(asked, DFHQ):
        assert asked.rng.bit_generator.state == quiet.rng.bit_generator.state


def test_any_of_them_ends_training():
    agent = DFHQ(Scripted(length=5), **SMALL)
    agent.learn(500, callback=[Noted(), StopAtReturn(5.0, window=3)])
    assert agent.frames == 15
    agent.learn(500, callback=Evaluation(10, 2, stop_at=5.0))
    assert agent.frames == 20

    class AtFrame(Callback):
        def step(self, agent):
            return agent.frames < 33

    agent.learn(500, callback=AtFrame())
    assert agent.frames == 33


def test_what_is_no_callback_is_refused_before_learning():
    agent = DFHQ(Scripted(length=5), **SMALL)
    for wrong in (3, [3], "often"):
        with pytest.raises(TypeError, match="callback must be a function"):
            agent.learn(10, callback=wrong)
    assert agent.frames == 0
    with pytest.raises(ValueError, match="every must be at least 1"):
        Evaluation(every=0)


def test_tensorboard_from_python(tmp_path: Path):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        accumulator = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator")
        agent = DFHQ("CartPole-v1", **SMALL)
        callbacks = [TensorBoard(tmp_path / "board"), Evaluation(100, 1)]
        agent.learn(300, callback=callbacks, log_interval=2)
        events = accumulator.EventAccumulator(str(tmp_path / "board"))
        events.Reload()
        tags = events.Tags()
    names = set(tags["scalars"] + tags["tensors"])
    assert {"rollout/ep_rew_mean", "train/loss", "eval/mean_reward"} <= names


def test_weights_and_biases_gets_every_row(monkeypatch: pytest.MonkeyPatch):
    """Of a stand-in for the library, which needs an account."""
    sent, asked = [], {}

    class Run:
        def log(self, row, step):
            sent.append((step, row))

        def finish(self):
            sent.append("finished")

    def init(**options):
        asked.update(options)
        return Run()

    monkeypatch.setitem(sys.modules, "wandb", types.SimpleNamespace(run=None, init=init))
    agent = DFHQ("CartPole-v1", **SMALL)
    agent.learn(200, callback=WeightsAndBiases({"project": "mine"}), log_interval=2)
    assert asked["project"] == "mine"
    assert asked["config"]["horizon"] == 3
    assert sent[-1] == "finished"
    assert all(step == row["time/total_timesteps"] for step, row in sent[:-1])
    assert len(sent) == 1 + agent.episodes // 2
    monkeypatch.setitem(sys.modules, "wandb", None)
    with pytest.raises(ModuleNotFoundError, match="pip install wandb"):
        agent.learn(10, callback=WeightsAndBiases())


def test_episodes_without_end_are_cut_with_a_word():
    agent = DFHQ(Scripted(length=10**9), **SMALL)
    with pytest.warns(UserWarning, match="2 of 2 episodes had not ended after 50 steps"):
        returns = agent.evaluate(2, max_steps=50)
    np.testing.assert_array_equal(returns, [50, 50])
    # One that ends just there was not cut.
    ended = DFHQ(Scripted(length=50), **SMALL)
    np.testing.assert_array_equal(ended.evaluate(2, max_steps=50), [50, 50])
    with pytest.raises(ValueError, match="max_steps must be at least 1"):
        agent.evaluate(2, max_steps=0)
