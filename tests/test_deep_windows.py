"""Windows of horizons that move on, and what agents of today expect of their networks."""

import jax
import numpy as np
import pytest

from fhtd import Weighting, oracle, problems
from fhtd.envs import FiniteMDPEnv
from scripted import Scripted, with_values

pytest.importorskip("equinox")

from fhtd.deep import DFHQ, DQN
from fhtd.deep import run as runs
from fhtd.deep.backup import Backup
from fhtd.deep.layout import Batch
from fhtd.deep.networks import LayerNorm, Network
from fhtd.deep.normaliser import apply, begin, update

MDP = problems.random_walk(5).mdp
SMALL = {"hidden": (8,), "learning_starts": 20, "epsilon_frames": 100}


def window(**options):
    """A table of values in a network without hidden layers, learned by large exact steps."""
    chosen = {
        "hidden": (),
        "optimiser": "adam",
        "learning_rate": 0.02,
        "horizon": 3,
        "discount": 0.9,
        "deepen_every": 10**6,
        "epsilon_final": 1.0,
        "learning_starts": 50,
        "batch_size": 64,
    }
    return DFHQ(FiniteMDPEnv(MDP), preset="paper", seed=0, **(chosen | options))


def test_after_each_move_the_values_are_those_of_longer_horizons():
    """Control: the exact optimal values of horizons m + 1 to m + K, for every m."""
    agent = window()
    exact = oracle.optimal(MDP, Weighting.exponential(8, 0.9)).action_values
    states = [s for s in range(MDP.n_states) if not MDP.terminal_states[s]]
    for move in range(4):
        agent.learn(4000 if move == 0 else 2500)
        assert agent.horizons.tolist() == [move + 1, move + 2, move + 3]
        found = np.array([agent.values(s) for s in states])
        np.testing.assert_allclose(found, exact[states][:, :, move : move + 3], atol=0.03)
        agent.deepen()


def test_a_move_shifts_the_heads_and_the_base_takes_the_first():
    agent = DFHQ(Scripted(), preset="paper", horizon=3, hidden=(), deepen_every=7, discount=0.5)
    with_values(agent, [[1, 2, 3], [4, 5, 6]])
    agent.deepen()
    np.testing.assert_array_equal(agent.values([1.0]), [[2, 3, 3], [5, 6, 6]])
    np.testing.assert_array_equal(agent.state.base.bias, [1, 4])
    assert agent.base == 1
    assert agent.horizons.tolist() == [2, 3, 4]
    np.testing.assert_allclose(agent.reward_weights(5)[-1], [1, 0.5, 0.25, 0.125, 0])


def test_the_first_output_bootstraps_from_the_base():
    """After the move: r + gamma max over actions of the base, and of each output below."""
    agent = DFHQ(
        Scripted(reward=2.0, length=99), preset="paper", horizon=3, hidden=(), deepen_every=10**6
    )
    with_values(agent, [[1, 2, 3], [4, 5, 6]])
    agent.deepen()
    agent.experience.add(0, transition(agent))
    batch = agent.experience.layout.unpack(agent.experience.gather(np.zeros(1, np.int64)))
    _, metrics = agent.loop.algorithm.update(agent.state, batch)
    np.testing.assert_allclose(metrics["target"], 2 + 0.99 * np.array([4, 5, 6]), rtol=1e-6)


def transition(agent, terminated=False):
    from fhtd.deep.experience import Transition

    seen = np.ones(1, np.float32)
    return Transition(seen, 0, 2.0, seen, terminated, False, [True, True])


def test_windows_move_after_so_many_updates_and_not_before():
    agent = DFHQ("CartPole-v1", preset="paper", horizon=4, deepen_every=10, seed=0, **SMALL)
    agent.learn(20 + 35)
    assert (agent.updates, agent.base) == (36, 3)
    assert agent.horizons.tolist() == [4, 5, 6, 7]


def test_a_window_that_never_moves_is_the_papers_agent():
    options = {"horizon": 4, "seed": 0, **SMALL}
    still = DFHQ("CartPole-v1", preset="paper", deepen_every=10**6, **options).learn(200)
    paper = DFHQ("CartPole-v1", preset="paper", **options).learn(200)
    seen = np.zeros(4, np.float32)
    np.testing.assert_allclose(still.values(seen), paper.values(seen), rtol=1e-5, atol=1e-6)


def test_one_horizon_is_q_learning_with_a_frozen_copy_of_the_last_layer():
    """K = 1, T = 1: the base is the head of the update before."""
    agent = DFHQ(Scripted(reward=1.0), preset="paper", horizon=1, hidden=(), deepen_every=1)
    with_values(agent, [[3], [5]])
    agent.deepen()
    agent.experience.add(0, transition(agent))
    batch = agent.experience.layout.unpack(agent.experience.gather(np.zeros(1, np.int64)))
    state, metrics = agent.loop.algorithm.update(agent.state, batch)
    assert float(metrics["target"][0]) == pytest.approx(2 + 0.99 * 5)
    np.testing.assert_allclose(state.base.bias, np.ravel(state.parameters[-1]))


def test_n_step_windows_bootstrap_over_n_rewards():
    weighting = Weighting.exponential(6, 0.5)
    backup = Backup.fixed_horizons(weighting, 3).over_base(weighting)
    batch = Batch(None, None, np.array([[1.0, 2.0, 4.0]]), None, np.zeros(1), None, np.array([3.0]))
    found, known = backup.targets(batch, np.array([[10.0, 20.0]]), np.array([[6.0]]))
    np.testing.assert_allclose(found, [[3 + 6 / 8, 3 + 10 / 8]])
    assert known.all()
    short = batch._replace(lengths=np.array([2.0]))
    assert not backup.targets(short, np.array([[10.0, 20.0]]), np.array([[6.0]]))[1].any()


@pytest.mark.parametrize("target", [{}, {"target_update_interval": 5}])
def test_windows_are_saved_and_go_on_to_the_bit(tmp_path, target):
    agent = DFHQ(
        "CartPole-v1",
        preset="paper",
        horizon=4,
        deepen_every=9,
        layer_norm=True,
        normalise=True,
        **SMALL,
        **target,
    ).learn(77)
    agent.save(tmp_path / "agent.npz")
    again = DFHQ.load(tmp_path / "agent.npz")
    assert again.horizons.tolist() == agent.horizons.tolist()
    for one in (agent, again):
        one.learn(50)
    for mine, yours in zip(jax.tree.leaves(agent.state), jax.tree.leaves(again.state), strict=True):
        np.testing.assert_array_equal(mine, yours)


def test_logs_and_names_follow_the_window(tmp_path):
    settings = {"horizon": 3, "deepen_every": 20, "hidden": [8], "learning_starts": 50}
    request = runs.Request("CartPole-v1", "dfhq", 400, 0, settings, log_every=2)
    agent = runs.start(request, tmp_path / "run").train()
    names, *rows = (tmp_path / "run" / "progress.csv").read_text().splitlines()
    final = [float(row.split(",")[names.split(",").index("train/horizon")]) for row in rows]
    assert final == sorted(final)
    assert final[-1] > 5
    assert "train/loss_output3" in names.split(",")
    assert agent.horizons[-1] >= final[-1]


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (
            lambda: DFHQ(
                "CartPole-v1", preset="paper", weighting=Weighting.average(4), deepen_every=5
            ),
            "mentions",
        ),
        (
            lambda: DFHQ(
                "CartPole-v1", preset="paper", weighting=Weighting.hyperbolic(4), deepen_every=5
            ),
            "mentio",
        ),
        (
            lambda: DFHQ("CartPole-v1", preset="paper", horizon=5, n_step=2, deepen_every=5),
            "n_step divides",
        ),
        (
            lambda: DFHQ(
                "CartPole-v1",
                preset="paper",
                horizon=4,
                horizons=(1, 2, 3, 4),
                unshared=True,
                deepen_every=5,
            ),
            "give deepen_every=None with unshared",
        ),
        (lambda: DFHQ("CartPole-v1", preset="paper", deepen_every=0), "deepen_every must be"),
        (
            lambda: DFHQ("CartPole-v1", preset="paper").deepen(),
            "deepen needs an agent with deepen_every",
        ),
        (lambda: DQN("CartPole-v1", preset="paper", double=True), "double needs a target network"),
        (
            lambda: DFHQ("CartPole-v1", preset="paper", loss="cubic"),
            "loss must be one of squared, huber",
        ),
    ],
)
def test_what_has_no_meaning_is_refused(build, message):
    with pytest.raises(ValueError, match=message):
        build()


def test_double_estimation_without_a_target_network_asks_the_horizon_above():
    agent = DFHQ(Scripted(), preset="paper", horizon=3, hidden=(), double=True)
    # Horizon 2 would take action 1, so that horizon 1 is valued there, though 0 looks better to it.
    with_values(agent, [[5, 1, 9], [3, 2, 4]])
    agent.experience.add(0, transition(agent))
    batch = agent.experience.layout.unpack(agent.experience.gather(np.zeros(1, np.int64)))
    _, metrics = agent.loop.algorithm.update(agent.state, batch)
    np.testing.assert_allclose(metrics["target"], [2, 2 + 0.99 * 3, 2 + 0.99 * 1], rtol=1e-6)


def test_hubers_loss_is_linear_far_out():
    agent = DFHQ(Scripted(), preset="paper", horizon=2, hidden=(), loss="huber")
    with_values(agent, [[2.5, 12], [0, 0]])
    agent.experience.add(0, transition(agent, terminated=True))
    batch = agent.experience.layout.unpack(agent.experience.gather(np.zeros(1, np.int64)))
    _, metrics = agent.loop.algorithm.update(agent.state, batch)
    np.testing.assert_allclose(metrics["loss"], [0.125, 9.5], rtol=1e-6)


def test_layer_norm_has_mean_0_and_variance_1_and_no_say_over_the_first_weights():
    x = np.random.default_rng(0).normal(3, 5, (7, 16)).astype(np.float32)
    found = np.asarray(LayerNorm(16)(x))
    np.testing.assert_allclose(found.mean(axis=1), 0, atol=1e-6)
    np.testing.assert_allclose(found.var(axis=1), 1, atol=1e-3)
    plain, normed = (
        Network((4,), 2, 3, (8,), "glorot", jax.random.key(0), layer_norm=norm)
        for norm in (False, True)
    )
    np.testing.assert_array_equal(plain.heads.weight, normed.heads.weight)


def test_running_statistics_are_those_of_everything_seen():
    rng = np.random.default_rng(1)
    batches = [rng.normal(5, 3, (n, 2)).astype(np.float32) for n in (4, 1, 9)]
    seen = begin((2,))
    np.testing.assert_array_equal(apply(seen, batches[0]), batches[0])
    for batch in batches:
        seen = update(seen, batch)
    whole = np.concatenate(batches)
    np.testing.assert_allclose(seen.mean, whole.mean(axis=0), rtol=1e-5)
    np.testing.assert_allclose(seen.squares / seen.total, whole.var(axis=0), rtol=1e-4)
    np.testing.assert_allclose(apply(seen, whole).std(axis=0), 1, rtol=1e-3)
    assert float(np.abs(apply(seen, np.array([[1e9, -1e9]], np.float32))).max()) == 10


def base_value(network_arrays, base, observed):
    """Horizon m by hand: hidden layers of one network, and the head of a base."""
    x = observed
    for i in range(0, len(network_arrays) - 2, 2):
        x = np.maximum(x @ np.asarray(network_arrays[i]) + np.asarray(network_arrays[i + 1]), 0)
    return x @ np.asarray(base.weight) + np.asarray(base.bias)


def test_the_base_of_a_target_network_is_its_own():
    # The target network is never copied here: its base must be its first horizon of the beginning,
    # not the online head on hidden layers that the head was not learned with.
    agent = DFHQ(
        "CartPole-v1",
        preset="paper",
        seed=0,
        hidden=(8,),
        horizon=3,
        deepen_every=20,
        target_update_interval=10_000,
        learning_starts=8,
        learning_rate=1e-2,
    )
    observed = np.random.default_rng(0).normal(size=(5, 4)).astype(np.float32)
    first = np.stack([agent.values(one)[:, 0] for one in observed])
    agent.learn(8 + 25)
    assert agent.base == 1
    state = agent.state
    found = base_value(state.target, state.target_base, observed)
    np.testing.assert_allclose(found, first, rtol=1e-4, atol=1e-5)
    mixed = base_value(state.target, state.base, observed)
    assert not np.allclose(mixed, first, rtol=1e-2)


def test_a_copied_target_network_has_the_online_base():
    agent = DFHQ(
        "CartPole-v1",
        preset="paper",
        seed=0,
        hidden=(8,),
        horizon=3,
        deepen_every=20,
        target_update_interval=30,
        learning_starts=8,
    )
    agent.learn(8 + 29)
    assert agent.updates == 30
    for mine, other in zip(agent.state.target_base, agent.state.base, strict=True):
        np.testing.assert_array_equal(mine, other)
