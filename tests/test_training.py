"""Training runs: killed and resumed they leave the same bytes; folders are never overwritten."""

import csv
import json
import random
import signal
import subprocess
import sys
import time
import warnings
from functools import partial

import numpy as np
import pytest

pytest.importorskip("equinox")

from commands import wait_until
from fhtd.deep import DFHQ, DQN
from fhtd.deep import run as training
from fhtd.deep.callbacks import Checkpoint, Evaluation, StopAtReturn, together
from fhtd.pages.gif import record_episode

SMALL = {"horizon": 8, "hidden": (16,), "learning_starts": 50, "epsilon_frames": 500}
CODE = """
import sys
from pathlib import Path
from fhtd.deep import run as training
folder = Path(sys.argv[1])
if (folder / "run.json").exists():
    run = training.resume(folder)
else:
    settings = {"horizon": 8, "hidden": (16,), "learning_starts": 50, "epsilon_frames": 500}
    run = training.start(
        training.Request("CartPole-v1", "dfhq", 2500, 3, settings, {}, 300, 5), folder
    )
run.train()
"""


def request(**changes):
    options = {"environment": "CartPole-v1", "algorithm": "dfhq", "frames": 600, "seed": 0}
    options |= {"settings": SMALL, "environment_options": {}, "checkpoint_every": 200}
    return training.Request(**(options | changes))


def contents(folder):
    names = ("agent.npz", "episodes.csv", "progress.csv")
    return {name: (folder / name).read_bytes() for name in names}


def rows(path):
    with open(path, newline="") as file:
        return list(csv.DictReader(file))


def test_killed_runs_end_as_if_nothing_had_happened(tmp_path):
    whole, broken = tmp_path / "whole", tmp_path / "broken"
    command = [sys.executable, "-c", CODE]
    subprocess.run([*command, whole], check=True, timeout=300)
    chance = random.Random(0)
    checkpoint = broken / "checkpoint.npz"

    def written():
        return checkpoint.stat().st_mtime_ns if checkpoint.exists() else None

    def changed_since(before, process):
        return written() != before or process.poll() is not None

    for _ in range(3):
        before = written()
        process = subprocess.Popen([*command, broken])
        wait_until(partial(changed_since, before, process), 300)
        # Somewhere in the frames after it, which are run again.
        time.sleep(chance.random() * 0.1)
        process.kill()
        assert process.wait() == -signal.SIGKILL
    assert checkpoint.exists()
    assert not (broken / "agent.npz").exists()
    subprocess.run([*command, broken], check=True, timeout=300)
    assert contents(broken) == contents(whole)


def test_logs_say_what_happened(tmp_path):
    run = training.start(request(log_every=3), tmp_path / "run")
    agent = run.train()
    episodes = rows(tmp_path / "run" / "episodes.csv")
    assert [int(row["episode"]) for row in episodes] == list(range(1, agent.episodes + 1))
    lengths = [int(row["length"]) for row in episodes]
    assert np.cumsum(lengths).tolist() == [int(row["frame"]) for row in episodes]
    progress = rows(tmp_path / "run" / "progress.csv")
    assert len(progress) == agent.episodes // 3
    last = progress[-1]
    counted = int(last["time/episodes"])
    expected = np.mean([float(row["return"]) for row in episodes[:counted]])
    assert float(last["rollout/ep_rew_mean"]) == pytest.approx(expected)
    assert float(last["train/loss_h1"]) >= 0
    assert float(last["train/target_h8"]) > float(last["train/target_h1"])


def test_folders_are_not_overwritten_and_finished_runs_say_so(tmp_path):
    folder = tmp_path / "run"
    training.start(request(), folder).train()
    with pytest.raises(ValueError, match="is not empty"):
        training.start(request(), folder)
    with pytest.raises(ValueError, match="is finished after 600 frames"):
        training.resume(folder)
    with pytest.raises(ValueError, match="holds no training run"):
        training.resume(tmp_path)
    assert training.load_agent(folder).frames == 600
    (folder / "run.json").write_text("{}")
    with pytest.raises(ValueError, match="cannot be read"):
        training.load_agent(folder)


def test_a_run_killed_before_its_first_file_can_begin_again(tmp_path):
    folder = tmp_path / "run"
    folder.mkdir()
    (folder / ".run.json.123-abcd").write_text("{")
    training.start(request(frames=60), folder).train()
    assert (folder / "agent.npz").exists()


def test_a_damaged_checkpoint_falls_back_to_the_one_before(tmp_path):
    folder = tmp_path / "run"
    run = training.start(request(frames=900), folder)
    run.train()
    final = contents(folder)
    (folder / "agent.npz").unlink()
    newest = folder / "checkpoint.npz"
    newest.write_bytes(newest.read_bytes()[:1000])
    resumed = training.resume(folder)
    assert 0 < resumed.agent.frames < 900
    resumed.train()
    assert contents(folder) == final


def test_a_row_cut_off_by_a_crash_is_written_again(tmp_path):
    folder = tmp_path / "run"
    training.start(request(checkpoint_every=250), folder).train()
    final = contents(folder)
    (folder / "agent.npz").unlink()
    table = folder / "episodes.csv"
    table.write_bytes(table.read_bytes()[:-4])
    training.resume(folder).train()
    assert contents(folder) == final


@pytest.mark.parametrize("name", ["episodes.csv", "progress.csv"])
@pytest.mark.parametrize("change", ["shorter", "empty", "missing", "binary"])
def test_logs_that_lack_what_was_before_the_checkpoint_are_refused(tmp_path, name, change):
    folder = tmp_path / "run"
    training.start(request(log_every=2), folder).train()
    (folder / "agent.npz").unlink()
    table = folder / name
    lines = table.read_bytes().splitlines(keepends=True)
    if change == "missing":
        table.unlink()
    else:
        kept = {"shorter": b"".join(lines[:3]), "empty": b"", "binary": bytes(range(256)) * 4}
        table.write_bytes(kept[change])
    with pytest.raises(ValueError, match=f"{name} (has|cannot be read)"):
        training.resume(folder)


def test_tensorboard_has_the_tags_of_stable_baselines(tmp_path):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        accumulator = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator")
        run = training.start(request(log_every=2), tmp_path / "run")
        run.use_tensorboard()
        run.train()
        events = accumulator.EventAccumulator(str(tmp_path / "run" / "tensorboard"))
        events.Reload()
        tags = events.Tags()
    names = tags["scalars"] + tags["tensors"]
    assert {"rollout/ep_rew_mean", "rollout/ep_len_mean", "train/loss"} <= set(names)


def test_environments_that_cannot_be_made_are_named(tmp_path):
    with pytest.raises(ValueError, match="'Nonsense-v0' cannot be made"):
        training.start(request(environment="Nonsense-v0"), tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_callbacks_evaluate_save_and_stop(tmp_path):
    agent = DQN("CartPole-v1", preset="paper", seed=0, hidden=(8,), learning_starts=50)
    path, best = tmp_path / "last.npz", tmp_path / "best.npz"
    evaluation = Evaluation(every=100, episodes=2, best_path=best)
    stop = StopAtReturn(0.0, window=12)
    agent.learn(5000, callback=together(Checkpoint(path, every=50), evaluation, stop))
    assert agent.episodes == 12
    assert path.exists()
    assert best.exists()
    assert [frame // 100 for frame, _ in evaluation.history] == sorted(
        {frame // 100 for frame, _ in evaluation.history}
    )
    quiet = DQN("CartPole-v1", preset="paper", seed=0, hidden=(8,), learning_starts=50)
    quiet.learn(agent.frames)
    # Watching does not disturb what is watched.
    assert agent.rng.bit_generator.state == quiet.rng.bit_generator.state


def test_recording_shows_an_episode(tmp_path):
    pytest.importorskip("matplotlib")
    import gymnasium
    from PIL import Image

    import fhtd.envs

    assert fhtd.envs
    environment = gymnasium.make("fhtd/RandomWalk-v0", render_mode="rgb_array")
    agent = DFHQ("fhtd/RandomWalk-v0", preset="paper", horizon=4, hidden=(8,), seed=0)
    steps = record_episode(agent, environment, tmp_path / "e.gif", epsilon=1.0, seed=1, every=20)
    with Image.open(tmp_path / "e.gif") as picture:
        assert picture.format == "GIF"
        assert 1 <= picture.n_frames <= steps // 20 + 1


def test_what_followed_is_summed_as_the_agent_predicts():
    rewards = np.array([1.0, 2.0, 4.0])
    fixed = DFHQ("CartPole-v1", preset="paper", horizon=2, discount=0.5, hidden=(4,))
    np.testing.assert_allclose(fixed.returns(rewards), [2, 4, 4])
    infinite = DQN("CartPole-v1", preset="paper", discount=0.5, hidden=(4,))
    np.testing.assert_allclose(infinite.returns(rewards), [3, 4, 4])


def test_stable_baselines_evaluates_our_agents():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        evaluation = pytest.importorskip("stable_baselines3.common.evaluation")
        monitor = pytest.importorskip("stable_baselines3.common.monitor")
        import gymnasium

        environment = monitor.Monitor(gymnasium.make("CartPole-v1"))
        agent = DFHQ(
            environment, preset="paper", horizon=4, hidden=(8,), seed=0, learning_starts=50
        )
        agent.learn(200)
        mean, deviation = evaluation.evaluate_policy(agent, environment, n_eval_episodes=3)
    assert mean > 5
    assert deviation >= 0


def test_the_request_is_kept_in_plain_words(tmp_path):
    training.start(request(), tmp_path / "run")
    kept = json.loads((tmp_path / "run" / "run.json").read_text())
    assert kept["environment"] == "CartPole-v1"
    assert kept["settings"]["hidden"] == [16]
    assert training.read_request(tmp_path / "run") == request()
