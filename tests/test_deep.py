"""Deep agents against the core's targets, the linear learner, the oracle and known values."""

import numpy as np
import pytest

from fhtd import FHQ, Features, Weighting, oracle, problems, targets
from fhtd.envs import FiniteMDPEnv
from scripted import Scripted

jax = pytest.importorskip("jax")
optax = pytest.importorskip("optax")
pytest.importorskip("equinox")

from fhtd.deep import DFHQ, DQN, Backup, optimisers  # noqa: E402
from fhtd.deep.algorithm import begin, compiled, planned  # noqa: E402
from fhtd.deep.layout import Batch, Sample  # noqa: E402
from fhtd.deep.networks import Network  # noqa: E402
from fhtd.deep.q_learning import q_learning  # noqa: E402
from fhtd.errors import DivergenceError  # noqa: E402

SMALL = {"hidden": (16,), "learning_starts": 20, "epsilon_frames": 200, "replay_size": 500}


def leaves(agent):
    return [np.asarray(leaf) for leaf in jax.tree.leaves(agent.state)]


def same(one, other):
    return all(np.array_equal(a, b) for a, b in zip(leaves(one), leaves(other), strict=True))


def transitions(rewards, ends=None, lengths=None):
    """What a backup reads of a batch."""
    count, n = rewards.shape
    ends = np.zeros(count) if ends is None else np.asarray(ends, float)
    lengths = np.full(count, n) if lengths is None else np.array(lengths)
    return Batch(None, None, rewards, None, ends, None, lengths)


@pytest.mark.parametrize("kind", ["exponential", "average", "hyperbolic"])
@pytest.mark.parametrize("n", [1, 3])
def test_the_deep_target_is_the_cores(kind, n):
    horizon = 7
    weighting = {
        "exponential": Weighting.exponential(horizon, 0.9),
        "average": Weighting.average(horizon),
        "hyperbolic": Weighting.hyperbolic(horizon, 0.5),
    }[kind]
    rng = np.random.default_rng(0)
    steps = 12
    rewards, values = rng.normal(size=steps), rng.normal(size=(steps, horizon))
    backup = Backup.fixed_horizons(weighting, n)
    learned = backup.horizons.astype(int)
    expected = targets.n_step(weighting, n, rewards, values)[: steps - n + 1, learned - 1]
    windows = np.stack([rewards[t : t + n] for t in range(steps - n + 1)])
    ahead = values[n - 1 :, learned - 1]
    found, known = backup.targets(transitions(windows), ahead)
    assert np.all(known)
    np.testing.assert_allclose(found, expected)
    if n == 1:
        ends = rng.random(steps) < 0.5
        np.testing.assert_allclose(
            backup.targets(transitions(rewards[:, None], ends), values)[0],
            targets.one_step(weighting, rewards, values, ends),
        )


def test_dqn_differs_from_dfhq_only_in_what_it_points_at():
    backup = Backup.infinite_horizon(0.9, 2)
    batch = transitions(np.array([[1.0, 2.0]] * 3), [False, True, False], [2, 2, 1])
    found, known = backup.targets(batch, np.array([[10.0]] * 3))
    assert known.all()
    np.testing.assert_allclose(found, [[1 + 1.8 + 8.1], [2.8], [1 + 9]])


def test_horizons_must_be_closed_under_the_backup():
    weighting = Weighting.exponential(9)
    assert Backup.fixed_horizons(weighting, 4).horizons.tolist() == [1, 5, 9]
    assert Backup.fixed_horizons(weighting, 4, [1, 2, 5, 9]).sources[-1].tolist() == [0, 0, 1, 3]
    for horizons, message in (
        ([5, 9], None),
        ([1, 9], "9 bootstraps from 5"),
        ([5, 1, 9], "must ascend"),
        ([1, 5], "to the final horizon 9"),
    ):
        if message is None:
            with pytest.raises(ValueError, match="5 bootstraps from 1"):
                Backup.fixed_horizons(weighting, 4, horizons)
        else:
            with pytest.raises(ValueError, match=message):
                Backup.fixed_horizons(weighting, 4, horizons)


def test_without_hidden_layers_it_is_linear_fhq():
    """One-hot states, plain gradient steps on single transitions: the core's FHQ with a bias."""
    n_states, horizon, step_size = 4, 5, 0.1
    env = FiniteMDPEnv(problems.random_walk(n_states - 1 if n_states % 2 else 3).mdp)
    n_states = env.observation_space.n
    agent = DFHQ(env, preset="paper", horizon=horizon, discount=0.9, hidden=(), seed=0)
    features = Features.from_matrix(np.hstack([np.eye(n_states), np.ones((n_states, 1))]))
    weighting = Weighting.exponential(horizon, 0.9)
    weight, bias = agent.state.parameters
    initial = np.concatenate([weight, bias[None]]).reshape(n_states + 1, 2, horizon)
    linear = FHQ(features, 2, weighting, step_size=step_size, initial=initial.transpose(1, 0, 2))
    # The mean over horizons of squared errors has gradient -2 error / H.
    optimiser = optax.sgd(step_size * horizon / 2)
    layout = agent.experience.layout
    algorithm = q_learning(
        agent.backup,
        agent.settings,
        agent.observations,
        agent.actions,
        agent.seed,
        acting=np.eye(horizon)[-1],
        loss_weights=np.ones(horizon),
        optimiser=optimiser,
    )
    training = begin(algorithm, planned(algorithm, layout))
    frame = compiled(algorithm, layout, jax.random.key(0)).frame
    rng = np.random.default_rng(1)
    for _ in range(40):
        s, following = rng.integers(n_states, size=2)
        action, reward, ended = int(rng.integers(2)), float(rng.normal()), bool(rng.random() < 0.2)
        linear.update(int(s), action, reward, int(following), ended)
        row = [*np.eye(n_states)[s], action, reward, *np.eye(n_states)[following], ended, 1, 1, 1]
        sample = Sample(np.array([row], np.float32), None, None)
        observation = np.zeros((1, n_states), np.float32)
        training, _ = frame(training, (sample,), observation, np.ones((1, 2), bool), 0)
    weight, bias = training.state.parameters
    learned = np.concatenate([weight, bias[None]]).reshape(n_states + 1, 2, horizon)
    np.testing.assert_allclose(learned.transpose(1, 0, 2), linear.weights, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("unshared", [False, True])
def test_values_converge_to_the_oracle_for_every_horizon(unshared):
    mdp = problems.random_walk(5).mdp
    horizon = 6
    agent = DFHQ(
        FiniteMDPEnv(mdp),
        preset="paper",
        horizon=horizon,
        discount=1.0,
        hidden=(32,),
        optimiser="adam",
        learning_rate=2e-3,
        epsilon_final=1.0,
        batch_size=64,
        learning_starts=200,
        unshared=unshared,
        seed=0,
    )
    agent.learn(8000)
    exact = oracle.optimal(mdp, Weighting.exponential(horizon)).action_values
    found = np.stack([agent.values(s) for s in range(mdp.n_states)])
    gaps = np.abs(found - exact)[~mdp.terminal_states]
    assert gaps.max() < 0.15
    assert np.abs(exact).max() > 0.9


@pytest.mark.parametrize(("terminates", "expected"), [(True, [1, 1, 1, 1]), (False, [1, 2, 3, 4])])
def test_termination_and_truncation_differ_as_they_must(terminates, expected):
    """Episodes of one step with reward 1: ended they are worth 1, cut they are worth h."""
    agent = DFHQ(
        Scripted(terminates=terminates),
        preset="paper",
        horizon=4,
        discount=1.0,
        hidden=(),
        optimiser="adam",
        learning_rate=0.02,
        learning_starts=1,
        seed=0,
    )
    agent.learn(2500)
    np.testing.assert_allclose(agent.values([1.0]), [expected] * 2, atol=0.1)


def test_an_n_step_window_never_reaches_across_a_boundary():
    agent = DFHQ(
        Scripted(length=2, terminates=False), preset="paper", horizon=3, n_step=3, seed=0, **SMALL
    )
    agent.learn(30)
    fields = agent.experience.fields
    assert fields.rewards[:2].tolist() == [[1, 1, 0], [1, 0, 0]]
    assert fields.lengths[:2].tolist() == [2, 1]
    assert not fields.terminated.any()
    agent = DFHQ(
        Scripted(length=2, terminates=True), preset="paper", horizon=3, n_step=3, seed=0, **SMALL
    )
    agent.learn(30)
    fields = agent.experience.fields
    assert fields.rewards[:2].tolist() == [[1, 1, 0], [1, 0, 0]]
    assert fields.terminated[: len(agent.experience)].all()


def test_a_window_cut_by_a_time_limit_counts_where_the_shorter_horizon_is_learned():
    """Of horizons 1, 2, 3, 5 and 3 steps: after 1 step horizon 5 would need 4, which is not."""
    weighting = Weighting.exponential(5, 0.5)
    backup = Backup.fixed_horizons(weighting, 3, [1, 2, 3, 5])
    rewards, values = np.array([[8.0, 4.0, 0.0]] * 2), np.array([[10.0, 20.0, 30.0, 50.0]] * 2)
    found, known = backup.targets(transitions(rewards, lengths=[1, 2]), values)
    assert known.tolist() == [[True, True, True, False], [True, True, True, True]]
    np.testing.assert_allclose(found[0, :3], [8, 8 + 5, 8 + 10])
    np.testing.assert_allclose(found[1], [8, 10, 10 + 0.25 * 10, 10 + 0.25 * 30])


def test_gradients_ignore_what_is_not_known():
    """Episodes of one step, cut: two-step horizons 2 and 4 need 1 and 3, which are missing."""
    agent = DFHQ(
        Scripted(terminates=False),
        preset="paper",
        horizon=4,
        n_step=2,
        discount=1.0,
        hidden=(),
        optimiser="adam",
        learning_rate=0.02,
        learning_starts=1,
        seed=0,
    )
    before = agent.values([1.0])
    agent.learn(300)
    after = agent.values([1.0])
    np.testing.assert_array_equal(before, after)
    full = DFHQ(
        Scripted(terminates=False),
        preset="paper",
        horizon=4,
        n_step=2,
        horizons=(1, 2, 3, 4),
        discount=1.0,
        hidden=(),
        optimiser="adam",
        learning_rate=0.02,
        learning_starts=1,
        seed=0,
    )
    full.learn(2500)
    np.testing.assert_allclose(full.values([1.0]), [[1, 2, 3, 4]] * 2, atol=0.1)


@pytest.mark.parametrize("kind", [DFHQ, DQN])
def test_seeds_decide_everything_and_differ(kind):
    one, again, other = (kind("CartPole-v1", preset="paper", seed=s, **SMALL) for s in (1, 1, 2))
    start = [leaf.copy() for leaf in leaves(other)]
    weights = [pair for pair in zip(leaves(one), start, strict=True) if pair[0].any()]
    assert weights
    assert not any(np.array_equal(a, b) for a, b in weights)
    for agent in (one, again, other):
        agent.learn(300)
    assert same(one, again)
    np.testing.assert_array_equal(one.experience.fields.actions, again.experience.fields.actions)
    assert not np.array_equal(one.experience.fields.actions, other.experience.fields.actions)
    assert not same(one, other)


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"n_step": 3},
        {"n_envs": 3},
        {"target_update_interval": 7, "double": True},
        {"optimiser": "adam", "max_grad_norm": 1.0},
        {"optimiser": "rmsprop-centred", "unshared": True, "gradient_steps": 2, "train_freq": 3},
        {"optimiser": "rmsprop-tensorflow", "initialisation": "torch", "acting": "mean"},
    ],
)
def test_a_loaded_agent_goes_on_to_the_bit(settings, tmp_path):
    path = tmp_path / "agent.npz"
    kind = DFHQ if settings.get("n_step") != 3 else DQN
    agent = kind("CartPole-v1", preset="paper", seed=3, **(SMALL | settings))
    saved_at = []

    def save(agent, episode):
        if not saved_at and episode["frame"] > 150:
            agent.save(path)
            saved_at.append(agent.frames)

    agent.learn(400, callback=save)
    resumed = kind.load(path)
    assert resumed.frames == saved_at[0] < 400
    resumed.learn(agent.frames - resumed.frames)
    assert same(agent, resumed)
    assert (agent.episodes, agent.updates) == (resumed.episodes, resumed.updates)
    np.testing.assert_array_equal(
        agent.experience.fields.rewards, resumed.experience.fields.rewards
    )
    assert agent.rng.bit_generator.state == resumed.rng.bit_generator.state


def test_several_environments_are_each_their_own():
    agent = DFHQ("CartPole-v1", preset="paper", seed=0, horizon=4, n_envs=3, **SMALL)
    agent.learn(300)
    assert agent.frames == 300
    # Different seeds: the three streams do not repeat one another.
    firsts = agent.experience.fields.observations[:3]
    assert len(np.unique(firsts, axis=0)) == 3
    assert agent.updates == 300 - 18
    # Each stored step leads to where the same environment went on.
    stored = agent.experience.fields
    follows = [
        np.array_equal(stored.next_observations[i], stored.observations[i + 3])
        for i in range(len(agent.experience) - 3)
        if not stored.terminated[i : i + 3].any()
    ]
    assert all(follows)
    assert len(follows) > 200


def test_a_mask_in_info_is_respected():
    mask = np.array([0, 1], np.int8)
    agent = DFHQ(Scripted(length=5, mask=mask), preset="paper", horizon=3, seed=0, **SMALL)
    agent.learn(60)
    assert (agent.experience.fields.actions[: len(agent.experience)] == 1).all()
    assert agent.predict(np.ones(1), deterministic=True, mask=mask)[0] == 1
    agent.evaluate(2, epsilon=1.0, environment=Scripted(length=5, mask=mask))
    assert agent.evaluate(2).shape == (2,)  # in a copy
    with pytest.raises(ValueError, match="permit at least one"):
        DFHQ(Scripted(mask=np.zeros(2)), preset="paper", horizon=3, **SMALL).learn(1)


def test_the_acting_rule_decides():
    agent = DFHQ("CartPole-v1", preset="paper", horizon=3, acting=(1.0, 0.0, 0.0), seed=0, **SMALL)
    observation = np.array([0.1, -0.2, 0.05, 0.3], np.float32)
    for acting, index in (((1.0, 0.0, 0.0), 0), ((0.0, 0.0, 1.0), 2)):
        agent = DFHQ("CartPole-v1", preset="paper", horizon=3, acting=acting, seed=0, **SMALL)
        values = agent.values(observation)
        assert agent.predict(observation, deterministic=True)[0] == values[:, index].argmax()
    batch = np.stack([observation] * 3)
    assert agent.predict(batch, deterministic=True)[0].shape == (3,)


def test_divergence_stops_with_frame_and_horizon():
    agent = DQN(
        Scripted(length=50, reward=1e30), preset="paper", seed=0, learning_rate=1.0, **SMALL
    )
    with pytest.raises(DivergenceError) as caught:
        agent.learn(200)
    assert caught.value.step == agent.frames
    assert caught.value.horizon == np.inf


@pytest.mark.parametrize(
    ("env", "message"),
    [
        (Scripted(reward=np.nan), "reward at frame 1 must be finite"),
        (Scripted(observation=np.nan), "observation at frame 0 must be finite"),
    ],
)
def test_broken_environments_are_named(env, message):
    with pytest.raises(ValueError, match=message):
        DFHQ(env, preset="paper", horizon=2, **SMALL).learn(5)


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: DFHQ("Pendulum-v1", preset="paper"), "discrete actions"),
        (lambda: DFHQ("CartPole-v1", preset="paper", horizon=0), "horizon must be"),
        (lambda: DFHQ("CartPole-v1", preset="paper", optimiser="sgdd"), "optimiser must be one of"),
        (lambda: DFHQ("CartPole-v1", preset="paper", acting=(1.0,)), "acting must have shape"),
        (
            lambda: DFHQ("CartPole-v1", preset="paper", loss_weights=(1.0,)),
            "loss_weights must have shape",
        ),
        (lambda: DFHQ("CartPole-v1", preset="paper", replay_size=10**13), "GiB are free"),
        (
            lambda: DFHQ("CartPole-v1", preset="paper", weighting=Weighting.fourier(4, 1)),
            "must be real",
        ),
        (lambda: DFHQ("CartPole-v1", preset="paper", n_step=65), "n_step must be from 1 to 64"),
    ],
)
def test_bad_settings_are_refused_by_name(build, message):
    with pytest.raises(ValueError, match=message):
        build()


@pytest.mark.parametrize("shape", [(84, 84, 3), (10, 10, 4), (5, 5, 1)])
def test_images_go_through_convolutions(shape):
    network = Network(shape, 3, 4, (8,), "glorot", jax.random.key(0))
    assert network(np.zeros((2, *shape), np.float32)).shape == (2, 3, 4)
    assert network.convolutions


def test_rmsprop_conventions_by_hand():
    gradient = {"w": np.array([2.0])}
    for name, expected in (
        ("rmsprop-torch", 2 / (np.sqrt(0.01 * 4) + 1e-8)),
        ("rmsprop-tensorflow", 2 / np.sqrt(0.1 * 4 + 1e-10)),
        ("rmsprop-centred", 2 / np.sqrt(0.05 * 4 - (0.05 * 2) ** 2 + 0.01)),
    ):
        optimiser = optimisers.build(name, 0.5, None)
        change, _ = optimiser.update(gradient, optimiser.init(gradient))
        np.testing.assert_allclose(change["w"], [-0.5 * expected], rtol=1e-5)
