"""Control learners in Gymnasium environments, as a user would run them."""

import gymnasium
import numpy as np
import pytest

import fhtd.envs
from fhtd import FHQ, Decay, Features, FHQLambda, QLearning, Weighting

assert fhtd.envs

RATE = Decay(0.5, 3000, 0.8)


def evaluate(learner, environment, episodes, limit):
    returns = []
    for episode in range(episodes):
        observation, _ = environment.reset(seed=1000 + episode)
        total = 0.0
        for _ in range(limit):
            action, _ = learner.predict(observation)
            observation, reward, terminated, truncated, _ = environment.step(action)
            total += float(reward)
            if terminated or truncated:
                break
        returns.append(total)
    return float(np.mean(returns))


def test_tile_coded_fhq_learns_mountain_car():
    environment = gymnasium.make("MountainCar-v0")
    features = Features.from_space(environment.observation_space, tiles=8, n_tilings=8)
    learner = FHQ(features, 3, Weighting.exponential(128), step_size=0.2 / 8, epsilon=0.05, seed=0)
    assert evaluate(learner, environment, 3, 200) == -200
    learner.learn(environment, 60_000, seed=0)
    # Every episode reaches the top well within the limit of 200 steps.
    assert evaluate(learner, environment, 20, 200) > -180


@pytest.mark.parametrize(
    "build",
    [
        lambda f: FHQ(f, 4, Weighting.exponential(48), step_size=RATE, seed=0),
        lambda f: FHQLambda(f, 4, Weighting.exponential(48), 0.3, step_size=RATE, seed=0),
        lambda f: QLearning(f, 4, 0.98, step_size=RATE, seed=0),
    ],
)
def test_the_maze_by_its_id(build):
    environment = gymnasium.make("fhtd/SlipperyMaze-v0")
    learner = build(Features.from_space(environment.observation_space))
    lengths = []

    def watch(_, episode):
        lengths.append(episode["length"])
        assert episode["return"] == -episode["length"]

    assert learner.learn("fhtd/SlipperyMaze-v0", 30_000, seed=1, callback=watch) is learner
    # 61.77 steps are optimal, a random walk takes 611.
    assert -evaluate(learner, environment, 60, 3000) < 250
    assert np.mean(lengths[-50:]) < np.mean(lengths[:10])


def test_learning_is_repeatable_and_seeds_differ():
    def weights(seed):
        learner = FHQ(Features.tabular(21), 2, Weighting.exponential(8), epsilon=0.5, seed=seed)
        return learner.learn("fhtd/RandomWalk-v0", 400, seed=seed).weights.copy()

    np.testing.assert_array_equal(weights(1), weights(1))
    assert not np.array_equal(weights(1), weights(2))


def test_a_callback_ends_learning():
    learner = FHQ(Features.tabular(21), 2, Weighting.exponential(4), seed=0)
    learner.learn("fhtd/RandomWalk-v0", 100_000, callback=lambda *_: False)
    assert learner.step < 5000


def test_what_does_not_fit_is_refused():
    learner = FHQ(Features.tabular(21), 3, Weighting.exponential(4))
    with pytest.raises(ValueError, match="environment has 2 actions, but this learner has 3"):
        learner.learn("fhtd/RandomWalk-v0", 10)
    with pytest.raises(ValueError, match="discrete actions"):
        learner.learn("Pendulum-v1", 10)
    with pytest.raises(ValueError, match="total_timesteps"):
        learner.learn("fhtd/RandomWalk-v0", 0)
    assert learner.step == 0


class Corridor(gymnasium.Env):
    """States 0 to 4 in a row, each worth its number; one array serves all observations."""

    observation_space = gymnasium.spaces.Box(0.0, 4.0, (1,))
    action_space = gymnasium.spaces.Discrete(1)

    def __init__(self):
        self.seen = np.zeros(1)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.seen[0] = 0
        return self.seen, {"action_mask": np.ones(1, np.int8)}

    def step(self, action):
        self.seen[0] += 1
        ended = self.seen[0] == 4
        # At the end nothing is permitted, and nothing is asked.
        return self.seen, float(self.seen[0]), ended, False, {"action_mask": np.zeros(1, np.int8)}


@pytest.mark.parametrize("build", [FHQ, lambda *a, **o: FHQLambda(*a, 0.5, **o)])
def test_an_environment_may_reuse_its_array(build):
    features = Features.tile_coded([0.0], [4.0], 4, 1)
    learner = build(features, 1, Weighting.exponential(2), step_size=1.0)
    learner.learn(Corridor(), 40)
    values = [learner.values(np.array([s]))[0].tolist() for s in range(4)]
    assert values == [[1.0, 3.0], [2.0, 5.0], [3.0, 7.0], [4.0, 4.0]]


def test_traces_do_not_cross_the_reset_of_another_call():
    features = Features.tile_coded([0.0], [4.0], 4, 1)
    learner = FHQLambda(features, 1, Weighting.exponential(4), 1.0, step_size=0.5)
    learner.learn(Corridor(), 3)
    before = learner.weights.copy()
    learner.learn(Corridor(), 1)
    changed = np.flatnonzero((learner.weights != before).any(axis=(0, 2)))
    assert changed.tolist() == features.active(np.array([0.0]))[0].tolist()
