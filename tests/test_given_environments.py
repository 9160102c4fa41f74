"""Environments as people have them: spaces of every kind, wrappers, vectors, factories, copies."""

import threading
from pathlib import Path

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces

pytest.importorskip("equinox")

from fhtd import FHQ, Weighting
from fhtd.deep import DFHQ
from fhtd.environments import check_id, make
from scripted import Scripted

SMALL = {"horizon": 3, "hidden": (8,), "learning_starts": 20, "batch_size": 8, "replay_size": 60}


class Seen(gymnasium.Env):
    """Shows whatever its space allows, from its own random numbers."""

    def __init__(self, space, length=7):
        self.observation_space, self.action_space = space, spaces.Discrete(2)
        self.length = length

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        if seed is not None:
            self.observation_space.seed(seed)
        self.t = 0
        return self.observation_space.sample(), {}

    def step(self, action):
        self.t += 1
        return self.observation_space.sample(), float(action), self.t >= self.length, False, {}


class Pictures(gymnasium.Env):
    """Small moving pictures, each told by its step and its episode."""

    observation_space = spaces.Box(0, 255, (36, 40), np.uint8)
    action_space = spaces.Discrete(2)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.t, self.shade = 0, int(self.np_random.integers(1, 200))
        return self._see(), {}

    def _see(self):
        picture = np.full((36, 40), self.shade, np.uint8)
        picture[self.t % 36] = 255
        return picture

    def step(self, action):
        self.t += 1
        return self._see(), float(action), self.t >= 9, False, {}


class Last(gymnasium.ObservationWrapper):
    """Frames last, as an image: stored whole."""

    def __init__(self, env):
        super().__init__(env)
        k, h, w = env.observation_space.shape
        self.observation_space = spaces.Box(0, 255, (h, w, k), np.uint8)

    def observation(self, observation):
        return np.moveaxis(observation, 0, -1)


SPACES = {
    "dict": spaces.Dict({"place": spaces.Box(-1, 1, (3,), np.float32), "key": spaces.Discrete(4)}),
    "tuple": spaces.Tuple((spaces.Discrete(3), spaces.Box(0, 1, (2, 2), np.float32))),
    "choices": spaces.MultiDiscrete([3, 5]),
    "flags": spaces.MultiBinary(4),
    "matrix": spaces.Box(0, 1, (4, 5), np.float32),
}


@pytest.mark.parametrize("name", SPACES)
def test_what_gymnasium_flattens_is_learned_from(name, tmp_path: Path):
    space = SPACES[name]
    agent = DFHQ(Seen(space), preset="paper", seed=0, **SMALL).learn(60)
    assert agent.observations.shape == spaces.flatten_space(space).shape
    observation = space.sample()
    np.testing.assert_array_equal(
        agent.observations.encode(observation),
        spaces.flatten(space, observation).astype(np.float32),
    )
    action, _ = agent.predict(observation)
    assert action in (0, 1)
    assert agent.predict([observation, observation])[0].shape == (2,)
    assert agent.evaluate(2).shape == (2,)
    agent.save(tmp_path / "a.npz")
    again = DFHQ.load(tmp_path / "a.npz", env=Seen(space))
    np.testing.assert_array_equal(again.values(observation), agent.values(observation))


def test_what_cannot_be_flattened_is_refused():
    with pytest.raises(ValueError, match="what Gymnasium can flatten"):
        DFHQ(Seen(spaces.Sequence(spaces.Discrete(3))))
    agent = DFHQ(Seen(SPACES["dict"]), preset="paper", **SMALL)
    with pytest.raises(ValueError, match="observation must be one of Dict"):
        agent.predict({"place": np.zeros(3, np.float32)})


def stacked():
    return gymnasium.wrappers.FrameStackObservation(Pictures(), 4)


HYBRID = {"n_step": 2, "one_step_horizons": 2, "horizon": 5}


@pytest.mark.parametrize("options", [{}, {"n_step": 3}, {"n_envs": 2}, HYBRID])
def test_frames_of_stacks_are_stored_once_and_learned_from_as_if_whole(options):
    settings = {"preset": "paper", "seed": 0, **SMALL, **options}
    once = DFHQ(stacked, **settings)
    whole = DFHQ(lambda: Last(stacked()), **settings)
    assert once.observations.shape == whole.observations.shape == (36, 40, 4)
    for agent in (once, whole):
        agent.learn(150)  # more than the replay holds
    assert once.loop.rng.bit_generator.state == whole.loop.rng.bit_generator.state
    for ours, theirs in zip(once.state.parameters, whole.state.parameters, strict=True):
        np.testing.assert_array_equal(np.asarray(ours), np.asarray(theirs))
    rows = np.arange(len(once.experience))
    kept, stored = once.experience.gather(rows), whole.experience.gather(rows)
    np.testing.assert_array_equal(kept.images, stored.images)
    np.testing.assert_array_equal(kept.next_images, stored.next_images)
    store = once.experience.all.images.store
    # About one for each row, where whole stacks would have been eight.
    assert np.count_nonzero(store._needed) < 1.7 * len(rows)


@pytest.mark.parametrize("options", [{}, HYBRID])
def test_stored_frames_are_resumed_to_the_bit(tmp_path: Path, options):
    settings = {"preset": "paper", "seed": 1, **SMALL, **options}
    whole = DFHQ(stacked, **settings).learn(170)
    broken = DFHQ(stacked, **settings)
    for part in (37, 66, 67):
        broken.learn(part)
        broken.save(tmp_path / "agent.npz")
        broken = DFHQ.load(tmp_path / "agent.npz", stacked())
    whole.save(tmp_path / "whole.npz")
    broken.save(tmp_path / "broken.npz")
    assert (tmp_path / "whole.npz").read_bytes() == (tmp_path / "broken.npz").read_bytes()


def test_a_single_picture_is_a_stack_of_one():
    agent = DFHQ(Pictures, preset="paper", seed=0, **SMALL).learn(40)
    assert agent.observations.shape == (36, 40, 1)
    assert agent.predict(np.zeros((36, 40), np.uint8))[0] in (0, 1)


def test_vectors_of_environments_are_refused_with_the_word_that_helps():
    with pytest.raises(TypeError, match=r"a vector of 3 environments.* and n_envs=3"):
        DFHQ(gymnasium.make_vec("CartPole-v1", num_envs=3))

    class VecEnv:
        num_envs, observation_space, action_space = 2, None, None

        def step(self, actions):
            """As Stable-Baselines3 has it."""

    with pytest.raises(TypeError, match="n_envs=2"):
        DFHQ(VecEnv())
    with pytest.raises(TypeError, match="n_envs=2"):
        DFHQ([Scripted(), Scripted()])


def test_classes_and_factories_are_environments():
    for given in (Scripted, lambda: Scripted(length=3)):
        agent = DFHQ(given, preset="paper", n_envs=2, **SMALL).learn(30)
        assert len({id(stream.environment) for stream in agent.loop.streams}) == 2
        assert agent.evaluate(2).shape == (2,)
    with pytest.raises(ValueError, match=r"environment Seen cannot be made: .*space"):
        DFHQ(Seen)
    with pytest.raises(TypeError, match="a Gymnasium environment, its id, or a function"):
        DFHQ(3)


def test_evaluation_works_without_a_spec_and_names_what_to_give_where_it_cannot():
    agent = DFHQ(Scripted(length=5), preset="paper", **SMALL).learn(22)
    before = agent.environment.steps
    np.testing.assert_array_equal(agent.evaluate(3), [5, 5, 5])
    assert agent.environment.steps == before  # in a copy

    class Locked(Scripted):
        def __init__(self):
            super().__init__()
            self.lock = threading.Lock()  # which nobody can copy

    closed = DFHQ(Locked(), preset="paper", **SMALL)
    with pytest.raises(ValueError, match="give environment= to evaluate"):
        closed.evaluate(2)
    assert closed.evaluate(2, environment=Locked()).shape == (2,)


def test_a_wrapper_that_no_spec_can_hold_is_kept_in_evaluation():
    class Doubled(gymnasium.RewardWrapper):
        def reward(self, reward):
            return 2 * float(reward)

    world = Doubled(gymnasium.make("CartPole-v1", max_episode_steps=4))
    agent = DFHQ(world, preset="paper", **SMALL)
    np.testing.assert_array_equal(agent.evaluate(2), [8, 8])
    learner = FHQ("FrozenLake-v1", weighting=Weighting.exponential(4), seed=0)
    assert learner.evaluate(2).shape == (2,)


class Announcement:
    """What an installed package says of its environments."""

    @staticmethod
    def load():
        def register():
            gymnasium.register("Announced/Cart-v7", "gymnasium.envs.classic_control:CartPoleEnv")

        return register


@pytest.mark.parametrize("use", [make, check_id])
def test_environments_of_installed_packages_are_found_by_their_namespace(use, monkeypatch):
    asked = []

    def entry_points(group, name):
        asked.append((group, name))
        return [Announcement] if name == "Announced" else []

    monkeypatch.setattr("fhtd.environments.entry_points", entry_points)
    monkeypatch.setattr(gymnasium.envs.registration, "registry", dict(gymnasium.registry))
    monkeypatch.setattr(gymnasium, "registry", gymnasium.envs.registration.registry)
    use("Announced/Cart-v7")
    assert asked == [("gymnasium.envs", "Announced")]
    use("Announced/Cart-v7")
    use("CartPole-v1")
    assert len(asked) == 1
    with pytest.raises(ValueError, match="Elsewhere"):
        use("Elsewhere/Cart-v7")
