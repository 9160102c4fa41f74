"""Agents with continuous actions: codec, training, files, pages, commands, and what they refuse."""

import json

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces

pytest.importorskip("equinox")

import jax

from fhtd import Weighting
from fhtd.commands.main import main
from fhtd.deep import DFHQ, DFHTD, DQN, FHSAC, SAC
from fhtd.deep import run as runs
from fhtd.deep.codecs import BoxActions
from fhtd.pages import watch
from scripted import Continuous, Scripted

SMALL = {"hidden": (8,), "learning_starts": 20, "batch_size": 8}
#: What a checkpoint has to hold beside.
CASES = {
    "window": (FHSAC, {"horizon": 3, "deepen_every": 7}),
    "n-step, two environments, target": (
        FHSAC,
        {"horizon": 4, "n_step": 2, "n_envs": 2, "tau": 0.1, "max_episode_frames": 13},
    ),
    "SAC, fixed temperature": (SAC, {"temperature": 0.2}),
}


# The codec.


def test_actions_are_scaled_to_the_bounds_and_back():
    space = spaces.Box(np.array([-2, 0]), np.array([2, 10]), dtype=np.float32)
    codec = BoxActions(space)
    assert codec.to_environment(np.array([-1, 1], np.float32)).tolist() == [-2, 10]
    assert codec.to_environment(np.zeros(2, np.float32)).tolist() == [0, 5]
    for _ in range(20):
        action = space.sample()
        scaled = codec.from_environment("action", action)
        assert np.abs(scaled).max() <= 1
        np.testing.assert_allclose(codec.to_environment(scaled), action, atol=1e-5)
        assert space.contains(codec.to_environment(scaled))


@pytest.mark.parametrize(("shape", "dtype"), [((), np.float32), ((2, 3), np.float64)])
def test_any_shape_that_flattens(shape, dtype):
    codec = BoxActions(spaces.Box(-3, 1, shape, dtype))
    action = codec.to_environment(np.ones(codec.size, np.float32))
    assert (action.shape, action.dtype) == (shape, dtype)
    np.testing.assert_array_equal(action, np.ones(shape))
    agent = FHSAC(Continuous(shape=shape), **SMALL)
    agent.learn(30)
    assert agent.predict(np.zeros(1, np.float32))[0].shape == shape


@pytest.mark.parametrize(
    ("low", "high", "dtype", "message"),
    [
        (-np.inf, np.inf, np.float32, "number 0 .* is unbounded"),
        ([-1, -np.inf], [1, 4], np.float32, "number 1 .* is bounded on one side only"),
        (-1, np.finfo(np.float32).max, np.float32, "is bounded on one side only"),
        (1, 1, np.float32, "must have actions to choose from"),
        (0, 255, np.uint8, "must have actions of real numbers"),
    ],
)
def test_what_cannot_be_scaled_is_refused(low, high, dtype, message):
    low, high = np.broadcast_arrays(np.atleast_1d(low), np.atleast_1d(high))
    world = Continuous()
    world.action_space = spaces.Box(low.astype(dtype), high.astype(dtype), dtype=dtype)
    with pytest.raises(ValueError, match=message):
        FHSAC(world, **SMALL)


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: FHSAC("CartPole-v1"), "continuous actions, got Discrete.*for FHSAC: use DFHQ or"),
        (lambda: SAC(Scripted()), "continuous actions, got Discrete.*for SAC: use DFHQ or DQN"),
        (lambda: DFHQ("Pendulum-v1"), "discrete actions, got Box.*for DFHQ: use FHSAC or SAC"),
        (lambda: DQN(Continuous()), "discrete actions, got Box.*for DQN: use FHSAC or SAC"),
    ],
)
def test_the_algorithm_to_use_is_named(build, message):
    with pytest.raises(ValueError, match=message) as refusal:
        build()
    assert len(str(refusal.value).splitlines()) == 1


# Learning.


@pytest.mark.parametrize("kind", [FHSAC, SAC])
def test_the_best_action_is_found(kind):
    options = {"horizon": 2, "deepen_every": None} if kind is FHSAC else {}
    agent = kind(
        Continuous(length=1),
        hidden=(32,),
        learning_starts=100,
        batch_size=64,
        learning_rate=5e-3,
        discount=0.0 if kind is SAC else 0.5,
        seed=1,
        **options,
    )
    agent.learn(900)
    assert agent.evaluate(5, environment=Continuous(length=1)).mean() > -0.02
    action, _ = agent.predict(np.zeros(1, np.float32), deterministic=True)
    assert action == pytest.approx(0.5, abs=0.15)
    seen = np.zeros((3, 1), np.float32)
    drawn = [agent.predict(seen, deterministic=False)[0] for _ in range(3)]
    assert np.shape(drawn) == (3, 3, 1)
    assert len(np.unique(drawn)) > 3


def test_random_actions_until_learning_starts_and_then_the_policys():
    world = Continuous()
    agent = FHSAC(world, **SMALL)
    agent.learn(20)
    first = np.ravel(world.received)
    assert first.min() < -0.5
    assert first.max() > 1.5
    # The policy's draws, made the same by noise that is next to nothing.
    actor = tuple(np.zeros_like(a) for a in agent.state.parameters.actor[:-1])
    certain = (*actor, np.array([0.3, -20], np.float32))
    agent.state = agent.state._replace(parameters=agent.state.parameters._replace(actor=certain))
    agent.loop.streams[0].present.proposal = np.array([np.tanh(0.3)], np.float32)
    agent.learn(1)
    assert world.received[-1] == pytest.approx(0.5 + 1.5 * np.tanh(0.3), abs=1e-4)


def test_the_window_moves_after_so_many_updates_and_a_target_with_it():
    agent = FHSAC(Continuous(), horizon=3, deepen_every=10, tau=0.5, **SMALL)
    agent.learn(20 + 34)
    assert (agent.updates, agent.base) == (35, 3)
    assert agent.horizons.tolist() == [4, 5, 6]
    assert agent.output_names() == ["output1", "output2", "output3"]
    assert agent.deepening() == {"train/horizon": 6}
    before = agent.state
    agent.deepen()
    for one, other, base in zip(
        before.parameters.critics, agent.state.parameters.critics, agent.state.base, strict=True
    ):
        np.testing.assert_array_equal(other[-2][:, :2], one[-2][:, 1:])
        np.testing.assert_array_equal(other[-2][:, 2], one[-2][:, 2])
        np.testing.assert_array_equal(base.weight[:, 0], one[-2][:, 0])
    np.testing.assert_array_equal(agent.state.target[0][-1][:2], before.target[0][-1][1:])
    with pytest.raises(ValueError, match="deepen needs an agent with deepen_every"):
        FHSAC(Continuous(), deepen_every=None, **SMALL).deepen()


def test_target_networks_follow_slowly():
    agent = SAC(Continuous(), tau=0.25, **SMALL)
    agent.learn(19)
    before = agent.state.target[0][0].copy()
    agent.learn(1)
    now = agent.state.parameters.critics[0][0]
    np.testing.assert_allclose(
        agent.state.target[0][0], 0.75 * before + 0.25 * now, rtol=1e-5, atol=1e-7
    )
    assert SAC(Continuous(), tau=None, **SMALL).state.target is None
    assert FHSAC(Continuous(), **SMALL).state.target is None


def test_the_default_is_a_window_with_layer_norm_and_no_target_networks():
    chosen = FHSAC.settings_of("default")
    assert (chosen.horizon, chosen.layer_norm, chosen.tau) == (8, True, None)
    assert chosen.deepen_every is not None
    assert SAC.settings_of("default").tau == 0.005


def test_seeds_differ_and_repeat():
    def weights(seed):
        agent = FHSAC(Continuous(), seed=seed, **SMALL)
        agent.learn(25)
        return np.asarray(agent.state.parameters.critics[0][0])

    np.testing.assert_array_equal(weights(1), weights(1))
    assert np.abs(weights(1) - weights(2)).max() > 0.01
    agent = FHSAC(Continuous(), seed=1, **SMALL)
    one, other = (arrays[0] for arrays in agent.state.parameters.critics)
    assert np.abs(one - other).max() > 0.01, "critics begin apart"


# Weightings and settings.


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"weighting": Weighting.fourier(4, 1)}, "weighting must be real"),
        ({"weighting": Weighting([1.0, -1.0], [0.0, 1.0])}, "rewards of at least 0 for FHSAC"),
        ({"weighting": Weighting([1.0, 0.0], [0.0, 1.0])}, "must be worth something"),
        ({"weighting": Weighting.average(3), "deepen_every": 5}, "same for every horizon"),
        ({"horizon": 5, "n_step": 2, "deepen_every": 5}, "a horizon that n_step divides"),
        ({"tau": 0.0}, "tau must be"),
        ({"tau": 1.5}, "tau must be"),
        ({"temperature": 0}, "temperature must be"),
        ({"target_entropy": np.nan}, "target_entropy must be"),
        ({"acting": "first"}, "acting must be"),
        ({"loss_weights": (1.0,)}, "loss_weights"),
        ({"deepen_every": 0}, "deepen_every must be"),
    ],
)
def test_settings_that_make_no_sense_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        FHSAC(Continuous(), **(SMALL | options))


def test_weightings_and_sparse_horizons_are_learned():
    agent = FHSAC(Continuous(), weighting=Weighting.average(3), **SMALL)
    agent.learn(30)
    assert agent.values(np.zeros(1, np.float32)).shape == (3, 3)
    agent = FHSAC(
        Continuous(), horizon=5, n_step=2, deepen_every=None, acting="mean", loss_weights=(1, 2, 3)
    )
    assert agent.horizons.tolist() == [1, 3, 5]
    # Acting on the mean needs no entropy of a single horizon.
    agent = FHSAC(Continuous(), weighting=Weighting([1.0, 0.0], [0.0, 1.0]), acting="mean", **SMALL)
    assert agent.entropy_weights.tolist() == [1, 0]


# Values to look at.


def test_values_of_actions_of_ones_own():
    agent = FHSAC(Continuous(), horizon=4, deepen_every=None, **SMALL)
    seen = np.zeros(1, np.float32)
    mean, lowest, highest = agent.values(seen)
    own = agent.values(seen, [[-1.0], [2.0], agent.predict(seen, deterministic=True)[0]])
    np.testing.assert_allclose(own, [lowest, highest, mean], rtol=1e-5)
    with pytest.raises(ValueError, match="within the bounds"):
        agent.values(seen, [[2.1]])
    step = next(iter(agent.episode(Continuous(), epsilon=1.0)))
    assert step.row == 0
    assert step.values.shape == (4, 4)
    np.testing.assert_allclose(
        step.values[0], agent.values(step.observation, [step.action])[0], rtol=1e-4, atol=1e-6
    )
    assert len(agent.value_names()) == 4
    assert SAC(Continuous(size=2), **SMALL).values(seen).shape == (5, 1)


def test_an_episode_on_a_page_and_as_an_animation(tmp_path):
    from fhtd.pages.gif import record_episode
    from test_episode import array, content

    world = gymnasium.make("Pendulum-v1", render_mode="rgb_array", max_episode_steps=6)
    agent = FHSAC(world, horizon=4, deepen_every=None, **SMALL)
    data = content(text := watch(agent, world, epsilon=0.5, width=32))
    assert data["taken"] == list(range(6))
    assert all(-2 <= float(action) <= 2 for action in data["actions"])
    (signal,) = data["signals"]
    assert signal["labels"] == ["the action taken", "the policy's mean", "lowest", "highest"]
    assert signal["chosen"] == [0] * 6
    assert array(signal["values"]).shape == (6, 4, 4)
    assert not signal["hidden"], "rewards of each of the next steps are shown"
    assert "entropy counts too" in text
    assert record_episode(agent, world, tmp_path / "it.gif", every=3) == 6


# Files.


@pytest.mark.parametrize("case", CASES)
def test_a_run_goes_on_to_the_byte_from_the_middle_of_an_episode(tmp_path, case):
    kind, options = CASES[case]
    world = "Pendulum-v1" if "n_envs" in options else Continuous(length=9)
    agent = kind(world, seed=5, **(SMALL | options))
    agent.learn(32)
    agent.save(tmp_path / "middle.npz")
    agent.learn(24)
    agent.save(tmp_path / "alone.npz")
    other = kind.load(tmp_path / "middle.npz", None if "n_envs" in options else world)
    other.save(tmp_path / "again.npz")
    assert (tmp_path / "again.npz").read_bytes() == (tmp_path / "middle.npz").read_bytes()
    other.learn(24)
    other.save(tmp_path / "resumed.npz")
    assert (tmp_path / "resumed.npz").read_bytes() == (tmp_path / "alone.npz").read_bytes()


def test_a_file_with_impossible_actions_is_refused(tmp_path):
    agent = FHSAC(Continuous(), **SMALL)
    agent.learn(25)
    for place, message in (("replay", "actions that are not possible"), ("loop", "from -1 to 1")):
        other = FHSAC.load(_saved(agent, tmp_path), Continuous())
        if place == "replay":
            other.experience.fields.actions[3] = np.nan
        else:
            other.loop.streams[0].present.actions[0] = np.array([1.5], np.float32)
        with pytest.raises(ValueError, match=message):
            FHSAC.load(_saved(other, tmp_path, "wrong.npz"), Continuous())
    with pytest.raises(ValueError, match="it holds a FHSAC, not a SAC"):
        SAC.load(_saved(agent, tmp_path), Continuous())


def _saved(agent, folder, name="agent.npz"):
    agent.save(folder / name)
    return folder / name


# What goes wrong.


class Broken(Continuous):
    """Something that is not a number, at one frame."""

    def __init__(self, what, frame):
        super().__init__()
        self.what, self.frame, self.count = what, frame, 0

    def step(self, action):
        observation, reward, *rest = super().step(action)
        self.count += 1
        if self.count == self.frame:
            if self.what == "reward":
                reward = np.nan
            else:
                observation[0] = np.inf
        return observation, reward, *rest


@pytest.mark.parametrize("what", ["reward", "observation"])
def test_what_is_not_finite_is_refused_with_the_frame_and_nothing_is_lost(what):
    agent = FHSAC(Broken(what, 33), **SMALL)
    with pytest.raises(ValueError, match=f"{what} at frame 33 must be"):
        agent.learn(50)
    assert (agent.frames, len(agent.experience)) == (32, 32)
    agent.learn(10)
    assert agent.frames == 42


def test_actions_that_are_not_finite_are_refused_with_the_frame():
    agent = FHSAC(Continuous(), **SMALL)
    agent.learn(25)
    agent.loop.streams[0].present.proposal = np.array([np.nan], np.float32)
    with pytest.raises(ValueError, match="action at frame 26 must be 1 finite numbers"):
        agent.learn(1)
    assert (agent.frames, len(agent.experience)) == (25, 25)
    agent.learn(5)
    assert agent.frames == 30


def test_a_divergence_stops_or_is_noted():
    wild = SMALL | {"learning_rate": 1e30}
    agent = SAC(Continuous(), **wild)
    with pytest.raises(ArithmeticError, match="SAC diverged"):
        agent.learn(60)
    agent = SAC(Continuous(), on_divergence="record", **wild)
    agent.learn(60)
    assert agent.divergence is not None
    assert agent.frames == 60


def test_an_optimiser_of_ones_own_is_given_again(tmp_path):
    optax = pytest.importorskip("optax")
    agent = FHSAC(Continuous(), transformation=optax.sgd(0.01), **SMALL)
    agent.learn(25)
    agent.save(tmp_path / "agent.npz")
    with pytest.raises(ValueError, match="an optimiser of your own"):
        FHSAC.load(tmp_path / "agent.npz", Continuous())
    again = FHSAC.load(tmp_path / "agent.npz", Continuous(), transformation=optax.sgd(0.01))
    assert again.updates == agent.updates


def test_masks_are_for_lists_of_actions():
    agent = FHSAC(Continuous(), **SMALL)
    with pytest.raises(ValueError, match="action_mask must not be given"):
        agent.predict(np.zeros(1, np.float32), mask=[True])


def test_stable_baselines3_evaluates_it():
    evaluation = pytest.importorskip("stable_baselines3.common.evaluation")
    from stable_baselines3.common.monitor import Monitor

    agent = FHSAC("Pendulum-v1", **SMALL)
    mean, _ = evaluation.evaluate_policy(agent, Monitor(gymnasium.make("Pendulum-v1")), 1)
    assert -2500 < mean < 0


# Evaluation of a policy of the user's own.


class Normal:
    """A Gaussian kept within the bounds by drawing again."""

    def __init__(self, mean, deviation=0.2):
        self.mean, self.deviation = mean, deviation

    def draw(self, observation, rng):
        while True:
            action = rng.normal(self.mean, self.deviation, 1)
            if -1 <= action[0] <= 2:
                return action

    def log_density(self, observation, action):
        apart = (float(action[0]) - self.mean) / self.deviation
        return -0.5 * apart**2 - np.log(self.deviation)


def predictor(policy, behaviour=None, **options):
    chosen = {"hidden": (16,), "horizon": 3, "discount": 1.0, "optimiser": "adam"}
    chosen |= {"learning_rate": 5e-3, "batch_size": 128, "seed": 2}
    return DFHTD(Continuous(), policy, behaviour=behaviour, **(chosen | options))


def test_a_policy_that_draws_its_own_actions_is_evaluated():
    signals = {"first": lambda seen, action, reward, after, info: float(action[0])}
    agent = predictor(Normal(1.0), cumulants=signals)
    agent.learn(1500)
    found = agent.values(np.zeros(1, np.float32))["first"]
    np.testing.assert_allclose(found, [1, 2, 3], rtol=0.15)
    plain = predictor(lambda seen: np.array([0.75]))
    plain.learn(600)
    values = plain.values(np.zeros(1, np.float32))["reward"]
    np.testing.assert_allclose(values, -0.0625 * np.arange(1, 4), atol=0.05)


def test_another_behaviour_is_corrected_for_by_densities():
    signals = {"first": lambda seen, action, reward, after, info: float(action[0])}
    behaviour, policy = Normal(0.4, 0.3), Normal(0.7)
    agent = predictor(policy, behaviour, cumulants=signals)
    agent.learn(3000)
    found = agent.values(np.zeros(1, np.float32))["first"]
    np.testing.assert_allclose(found, 0.7 * np.arange(1, 4), atol=0.25)
    # Negative control: without ratios it would be the behaviour's.
    assert found[2] > 0.4 * 3 + 0.4


def test_policies_without_densities_or_within_no_bounds_are_refused():
    with pytest.raises(TypeError, match="behaviour must have log_density"):
        predictor(Normal(0.0), lambda seen: np.zeros(1))
    with pytest.raises(ValueError, match="at frame 1 must be finite and within"):
        predictor(lambda seen: np.array([np.nan])).learn(1)
    with pytest.raises(ValueError, match="action of behaviour at frame 1 must have shape"):
        predictor(lambda seen: 0.5).learn(1)
    certain = Normal(0.0)
    certain.log_density = lambda seen, action: np.nan
    with pytest.raises(ValueError, match="finite ratio, got nan of policy"):
        predictor(certain, Normal(0.1)).learn(1)


def test_an_evaluation_goes_on_to_the_byte(tmp_path):
    agent = predictor(Normal(1.0))
    agent.learn(36)
    agent.save(tmp_path / "middle.npz")
    agent.learn(20)
    agent.save(tmp_path / "alone.npz")
    other = DFHTD.load(tmp_path / "middle.npz", Normal(1.0), environment=Continuous())
    other.learn(20)
    other.save(tmp_path / "resumed.npz")
    assert (tmp_path / "resumed.npz").read_bytes() == (tmp_path / "alone.npz").read_bytes()


# Commands.


def run(capsys, *arguments):
    """Exit code, output and errors of a command."""
    code = main([str(argument) for argument in arguments])
    return code, *capsys.readouterr()


def test_the_command_picks_the_algorithm_and_says_so(tmp_path, capsys):
    small = ("--frames", 60, "--hidden", 4, "--learning-starts", 20, "--batch-size", 4)
    folder = tmp_path / "it"
    code, out, err = run(capsys, "train", "Pendulum-v1", *small, "--tau", 0.1, "--out", folder)
    assert (code, err) == (0, "")
    first, second, *_ = out.splitlines()
    assert first == "algorithm fhsac: the actions of Pendulum-v1 are continuous"
    assert second == "preset default"
    kept = json.loads((folder / "run.json").read_text())
    assert (kept["algorithm"], kept["settings"]["tau"]) == ("fhsac", 0.1)
    agent = runs.load_agent(folder)
    assert isinstance(agent, FHSAC)
    assert jax.tree.leaves(agent.state)
    assert run(capsys, "evaluate", folder, "--episodes", 1)[0] == 0
    options = ("--environment-options", "continuous=True")
    lander = ("train", "LunarLander-v3", *options, *small, "--out", tmp_path / "lander")
    assert "algorithm fhsac" in run(capsys, *lander)[1]
