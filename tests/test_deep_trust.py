"""What deep agents do when the world around them misbehaves, stops or is stopped."""

import json
import signal
import subprocess
import sys
import warnings

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces

pytest.importorskip("equinox")

from commands import COMMAND, fhtd, finish, start, wait_until
from fhtd.deep import DFHQ, DFHTD, DQN
from fhtd.deep import run as runs
from fhtd.errors import DivergenceError
from scripted import Scripted

SMALL = {"horizon": 4, "hidden": (8,), "learning_starts": 20, "epsilon_frames": 100}


class Reused(gymnasium.Env):
    """Counts its steps, in one array that it returns again and again."""

    observation_space = spaces.Box(-1, 1000, (1,), np.float32)
    action_space = spaces.Discrete(2)

    def __init__(self, length=50):
        self.length, self.seen = length, np.zeros(1, np.float32)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.seen[0] = 0
        return self.seen, {}

    def step(self, action):
        self.seen[0] += 1
        return self.seen, 1.0, False, bool(self.seen[0] >= self.length), {}


class Chance(Reused):
    """What it shows has nothing to do with its seed."""

    def step(self, action):
        found = super().step(action)
        self.seen[0] += np.random.default_rng().random()
        return found


@pytest.mark.parametrize("kind", ["dfhq", "dfhtd"])
def test_an_environment_may_reuse_its_array(kind):
    world = Reused()
    agent = (
        DFHQ(world, preset="paper", **SMALL)
        if kind == "dfhq"
        else DFHTD(world, lambda s: 0, hidden=(8,))
    )
    agent.learn(10)
    stored = agent.experience.fields
    assert stored.observations[:10, 0].tolist() == list(range(10))
    assert stored.next_observations[:10, 0].tolist() == list(range(1, 11))


def test_policies_and_signals_are_given_what_was_seen_then():
    seen = []

    def signal_of(before, action, reward, after, info):
        seen.append((float(before[0]), float(after[0])))
        return 0.0

    DFHTD(Reused(), lambda s: 0, cumulants={"x": signal_of}, hidden=(4,)).learn(5)
    assert seen == [(t, t + 1) for t in range(5)]


class Masked(Scripted):
    """Permits nothing where nothing is to be done any more."""

    def step(self, action):
        observation, reward, terminated, truncated, _ = super().step(action)
        mask = np.zeros(2) if terminated else np.array([0, 1])
        return observation, reward, terminated, truncated, {"action_mask": mask}


def test_a_terminal_step_needs_no_mask():
    agent = DFHQ(Masked(length=3, mask=[0, 1]), preset="paper", **SMALL).learn(30)
    assert agent.episodes == 10
    agent = DFHQ(Masked(length=3, terminates=False, mask=[0, 1]), preset="paper", **SMALL).learn(30)
    assert agent.experience.fields.next_masks[:30].min(axis=0).tolist() == [0, 1]


def test_a_policy_that_the_behaviour_never_follows_is_refused():
    learner = DFHTD(
        "CartPole-v1", lambda s: [0.5, 0.5], behaviour=lambda s: [1.0, 0.0], hidden=(4,)
    )
    with pytest.raises(ValueError, match="behaviour never takes action 1, which policy takes"):
        learner.learn(5)
    assert learner.frames == 0


def test_divergence_is_recorded_or_stops_for_good():
    options = {"hidden": (), "divergence_limit": 1e-9, "learning_starts": 5}
    for build in (
        lambda **more: DQN(Scripted(length=3), preset="paper", **options, **more),
        lambda **more: DFHTD(Scripted(length=3), lambda s: 0, **options, **more),
    ):
        agent = build()
        with pytest.raises(DivergenceError, match="smaller learning_rate") as first:
            agent.learn(20)
        assert "step_size" not in str(first.value)
        frames = agent.frames
        with pytest.raises(DivergenceError):
            agent.learn(20)
        assert agent.frames == frames
        recorded = build(on_divergence="record").learn(20)
        assert recorded.frames == 20
        assert recorded.divergence[0] == 5


def leaves(agent):
    import jax

    return [np.asarray(leaf).tobytes() for leaf in jax.tree.leaves(agent.loop.training)]


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"n_envs": 3},
        {"n_step": 3, "horizon": 6},
        {"n_step": 2, "n_envs": 2},
        {"target_update_interval": 7, "double": True},
        {"max_episode_frames": 13, "n_step": 3, "horizon": 6},
    ],
)
@pytest.mark.parametrize("frames", [1, 30, 77])
def test_an_agent_saved_at_any_frame_goes_on_to_the_bit(tmp_path, options, frames):
    agent = DFHQ("CartPole-v1", preset="paper", seed=1, **(SMALL | options)).learn(frames)
    agent.save(tmp_path / "agent.npz")
    again = DFHQ.load(tmp_path / "agent.npz")
    log = []
    for one in (agent, again):
        ended = []
        one.learn(60, callback=lambda _, episode, ended=ended: ended.append(episode))
        log.append(ended)
    assert log[0] == log[1]
    assert leaves(agent) == leaves(again)
    assert agent.rng.bit_generator.state == again.rng.bit_generator.state


def test_an_episode_without_end_can_be_saved(tmp_path):
    agent = DFHQ(Reused(length=10**9), preset="paper", **SMALL).learn(100)
    agent.save(tmp_path / "agent.npz")
    again = DFHQ.load(tmp_path / "agent.npz", Reused(length=10**9))
    assert again.loop.streams[0].present.length == 100
    assert leaves(agent.learn(30)) == leaves(again.learn(30))


def test_a_world_that_its_seed_does_not_decide_begins_a_new_episode(tmp_path):
    agent = DFHQ(Chance(), preset="paper", **SMALL).learn(15)
    agent.save(tmp_path / "agent.npz")
    with pytest.warns(UserWarning, match="did not come to the same observation"):
        again = DFHQ.load(tmp_path / "agent.npz", Chance())
    again.learn(5)
    assert again.frames == 20


class Failing(Scripted):
    """Raises where it is told to, once."""

    def __init__(self, reset=None, step=None, **options):
        super().__init__(**options)
        self.fail_reset, self.fail_step, self.resets = reset, step, 0

    def reset(self, **options):
        self.resets += 1
        if self.resets == self.fail_reset:
            raise RuntimeError("no reset")
        return super().reset(**options)

    def step(self, action):
        if self.steps + 1 == self.fail_step:
            self.fail_step = None
            raise RuntimeError("no step")
        return super().step(action)


@pytest.mark.parametrize("where", [{"reset": 1}, {"reset": 3}, {"step": 5}])
@pytest.mark.parametrize("kind", ["dfhq", "dfhtd"])
def test_after_an_error_of_the_environment_training_goes_on(where, kind):
    world = Failing(length=4, **where)
    agent = (
        DFHQ(world, preset="paper", **SMALL)
        if kind == "dfhq"
        else DFHTD(world, lambda s: 0, hidden=(8,))
    )
    with pytest.raises(RuntimeError):
        agent.learn(40)
    before, resets = agent.frames, world.resets
    agent.learn(40)
    assert agent.frames == before + 40
    assert world.resets > resets


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"reward": "1"}, "reward at frame 1 must be a real number"),
        ({"reward": 10**400}, "reward at frame 1 must be finite"),
        ({"reward": np.nan}, "reward at frame 1 must be finite"),
        ({"info": None}, "info must be a dictionary"),
        ({"observation": np.array([np.inf], np.float32)}, "observation at frame 1 must be finite"),
        ({"observation": np.zeros(3, np.float32)}, "observation at frame 1 must have shape"),
    ],
)
def test_what_an_environment_returns_is_checked(change, message):
    class Wrong(Scripted):
        def step(self, action):
            observation, reward, terminated, truncated, info = super().step(action)
            found = {"observation": observation, "reward": reward, "info": info} | change
            return found["observation"], found["reward"], terminated, truncated, found["info"]

    agent = DFHQ(Wrong(length=3), preset="paper", **SMALL)
    with pytest.raises((TypeError, ValueError), match=message):
        agent.learn(5)
    assert (agent.frames, len(agent.experience)) == (0, 0)


@pytest.mark.parametrize(
    ("space", "message"),
    [
        (spaces.Box(-1, 1, (0,), np.float32), "has observations Box"),
        (spaces.Sequence(spaces.Discrete(2)), "has observations Sequence"),
    ],
)
def test_observations_that_no_network_takes_are_named(space, message):
    world = Scripted()
    world.observation_space = space
    with pytest.raises(ValueError, match=message):
        DFHQ(world, preset="paper")


def test_actions_that_cannot_be_listed_are_named():
    world = Scripted()
    world.action_space = spaces.MultiBinary(3)
    with pytest.raises(ValueError, match="must have discrete actions, got MultiBinary"):
        DFHQ(world, preset="paper")


TRAIN = ("train", "CartPole-v1", "--preset", "paper", "--horizon", 4, "--hidden", 8)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_stopped_run_says_how_to_go_on_and_does(tmp_path, number):
    whole, stopped = tmp_path / "whole", tmp_path / "stopped"
    assert fhtd(*TRAIN, "--frames", 12_000, "--out", whole).returncode == 0
    process = start(*TRAIN, "--frames", 12_000, "--checkpoint-every", 10**9, "--out", stopped)
    wait_until((stopped / "episodes.csv").exists)
    process.send_signal(number)
    code, _, err = finish(process)
    assert code == 128 + number
    (line,) = err.splitlines()
    assert line.endswith(f"go on with: fhtd train --resume {stopped}")
    assert fhtd("train", "--resume", stopped).returncode == 0
    for name in ("agent.npz", "episodes.csv", "progress.csv"):
        assert (stopped / name).read_bytes() == (whole / name).read_bytes()


def test_two_trainers_do_not_share_a_folder(tmp_path):
    folder = tmp_path / "run"
    first = start(*TRAIN, "--frames", 10**7, "--out", folder)
    wait_until((folder / "run.json").exists)
    second = fhtd("train", "--resume", folder)
    assert second.returncode == 2
    assert "is in use: another process is training there" in second.stderr
    # A crash does not leave the lock behind.
    first.kill()
    finish(first)
    (folder / "episodes.csv").unlink(missing_ok=True)
    (folder / "progress.csv").unlink(missing_ok=True)
    third = start("train", "--resume", folder)
    wait_until((folder / "episodes.csv").exists)
    third.send_signal(signal.SIGTERM)
    assert finish(third)[0] == 128 + signal.SIGTERM


def request(**changes):
    options = {"environment": "CartPole-v1", "algorithm": "dfhq", "frames": 400, "seed": 0}
    return runs.Request(**(options | {"settings": SMALL, "log_every": 2} | changes))


def test_episodes_that_end_together_are_all_in_the_log(tmp_path):
    settings = SMALL | {"n_envs": 2, "max_episode_frames": 8}
    folder = tmp_path / "run"
    run = runs.start(request(settings=settings, checkpoint_every=50), folder)
    agent = run.train()
    rows = (folder / "episodes.csv").read_text().splitlines()[1:]
    assert [int(row.split(",")[0]) for row in rows] == list(range(1, agent.episodes + 1))
    assert len((folder / "progress.csv").read_text().splitlines()) - 1 == agent.episodes // 2


def test_tensorboard_holds_no_step_twice(tmp_path):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        accumulator = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator")
        folder = tmp_path / "run"
        for life in (runs.start(request(checkpoint_every=150), folder), None):
            run = life or runs.resume(folder)
            run.use_tensorboard()
            run.train()
            if life is not None:
                # As if it had been killed at the end: everything since the checkpoint is run again.
                (folder / "agent.npz").unlink()
        events = accumulator.EventAccumulator(str(folder / "tensorboard"), {"tensors": 0})
        events.Reload()
        steps = [event.step for event in events.Tensors("rollout/ep_rew_mean")]
    assert steps == sorted(set(steps))
    assert len(steps) == len((folder / "progress.csv").read_text().splitlines()) - 1


def changed_request(folder, **changes):
    path = folder / "run.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"environment": "canary:CartPole-v1"}, "type it yourself"),
        ({"algorithm": "canary:DFHQ"}, "type it yourself"),
        ({"settings": SMALL | {"horizon": 5}}, "does not say what the checkpoint"),
        ({"seed": 1}, "does not say what the checkpoint"),
        ({"settings": {"horizon": 10**9}}, "horizon must be from 1"),
        ({"settings": {"batch_size": 10**9}}, "batch_size must be from 1"),
        ({"settings": {"gradient_steps": 10**9}}, "gradient_steps must be from 1"),
        ({"settings": {"colour": 1}}, "colour is not a setting"),
        ({"settings": []}, "settings must be a dictionary"),
        ({"frames": "many"}, "frames must be an integer"),
        ({"environment": 7}, "environment must be a name"),
        ({"format": 9}, "another format"),
    ],
)
def test_a_request_in_a_file_is_not_believed(tmp_path, monkeypatch, changes, message):
    (tmp_path / "canary.py").write_text("raise SystemExit('it was imported')\n")
    monkeypatch.syspath_prepend(tmp_path)
    folder = tmp_path / "run"
    runs.start(request(frames=60, checkpoint_every=50), folder).train()
    changed_request(folder, **changes)
    (folder / "agent.npz").unlink()
    for read in (runs.load_agent, runs.resume):
        with pytest.raises((ValueError, TypeError), match=message):
            read(folder)


@pytest.mark.parametrize(
    ("environment", "options", "message"),
    [
        ("FrozenLake-v1", "map_name=nope", "cannot be made"),
        ("CartPole-v1", "gravity=5", "cannot be made"),
        ("CartPole-v1", "render_mode=5", "cannot be made"),
    ],
)
def test_options_that_raise_are_one_line_and_leave_nothing(tmp_path, environment, options, message):
    found = fhtd("train", environment, "--environment-options", options, "--out", tmp_path / "run")
    assert found.returncode == 2
    (line,) = found.stderr.splitlines()
    assert environment in line
    assert message in line
    assert not (tmp_path / "run").exists()


def test_the_module_is_a_command_too():
    done = subprocess.run(
        [sys.executable, "-m", "fhtd", "--version"], capture_output=True, text=True, check=True
    )
    assert done.stdout.startswith("fhtd ")
    assert COMMAND[-1] == "fhtd.commands.main"
