"""Deep agents that look ahead over several lengths: hybrids, and actions that take many steps."""

import gymnasium
import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

jax = pytest.importorskip("jax")

import optax  # noqa: E402

from fhtd import FHQ, Features, Weighting, oracle, policy, problems  # noqa: E402
from fhtd.deep import DFHQ, DQN, FHSAC, SAC, Backup, DFHQSettings, FHSACSettings  # noqa: E402
from fhtd.deep.algorithm import begin, compiled, planned  # noqa: E402
from fhtd.deep.experience import Rows, Transition  # noqa: E402
from fhtd.deep.layout import Batch, Layout, Sample  # noqa: E402
from fhtd.deep.q_learning import q_learning  # noqa: E402
from fhtd.envs import FiniteMDPEnv, Repeat  # noqa: E402
from scripted import Continuous, Scripted, with_values  # noqa: E402

SMALL = {"hidden": (8,), "learning_starts": 20, "batch_size": 8, "replay_size": 60}


# Hybrids: the first k horizons one-step, the others n-step


def naive_target(weighting, h, source, rewards, steps, ended, value):
    """Step by step down from horizon h; None where the horizon that is needed is not learned."""
    total, scale, at = 0.0, 1.0, h
    for k in range(min(h - source, steps)):
        total += scale * weighting.rewards[at - 1] * rewards[k]
        scale *= weighting.bootstraps[at - 1]
        at -= 1
        if ended and k + 1 == steps:
            return total
    return total + scale * value(h - at, at) if at else total


@settings(max_examples=60, deadline=None)
@given(
    final=st.integers(2, 12),
    n=st.integers(1, 5),
    k=st.integers(0, 13),
    steps=st.integers(1, 5),
    ended=st.booleans(),
    seed=st.integers(0, 2**16),
)
@example(final=10, n=4, k=3, steps=1, ended=False, seed=0)
@example(final=10, n=4, k=2, steps=3, ended=False, seed=1)
@example(final=12, n=5, k=0, steps=2, ended=False, seed=2)
def test_targets_of_a_hybrid_are_those_of_plain_loops(final, n, k, steps, ended, seed):
    n = min(n, final)
    rng = np.random.default_rng(seed)
    weighting = Weighting(rng.normal(size=final), rng.uniform(0.3, 1.2, final))
    backup = Backup.fixed_horizons(weighting, n, one_step_horizons=k)
    learned = backup.horizons.astype(int).tolist()
    if n == 1 or k >= final:
        assert learned == list(range(1, final + 1))
        assert backup.lengths == (1,)
    steps = min(steps, backup.n)
    rewards = np.append(rng.normal(size=steps), np.zeros(backup.n - steps))
    # What each learned horizon is worth after 1, 2, ... steps.
    worth = rng.normal(size=(backup.n + 1, final + 1))
    after = [min(length, steps) for length in backup.lengths]
    several = len(after) > 1
    values = np.array([[worth[t, learned] for t in after]])
    ends = np.array([[float(ended and t == steps) for t in after]])
    batch = Batch(
        None,
        None,
        rewards[None],
        None,
        ends if several else ends[:, 0],
        None,
        np.array([backup.n if ended else steps]),
    )
    found, known = backup.targets(batch, values if several else values[:, 0])
    known = np.broadcast_to(known, found.shape)
    for j, h in enumerate(learned):
        source = h - 1 if h <= k else max(h - n, k)
        reached = h - min(h - source, steps)
        is_known = ended or reached == 0 or reached in learned
        if not (ended and known[0, j]):
            assert known[0, j] == is_known
        if is_known:
            wanted = naive_target(
                weighting, h, source, rewards, steps, ended, lambda t, at: worth[t, at]
            )
            assert found[0, j] == pytest.approx(wanted, rel=1e-9, abs=1e-9)


def kept(lengths, n, steps, ending):
    """Rows of an episode in which state, action and reward of step t are t."""
    agent = DFHQ(Scripted(observation=[0.0]), preset="paper", horizon=4, hidden=(4,))
    layout = Layout(agent.observations, agent.actions, n, len(lengths))
    rows = Rows(50, layout, n, lengths=lengths)
    for t in range(steps):
        last = t == steps - 1
        rows.add(
            0,
            Transition(
                np.array([t], np.float32),
                t % 2,
                float(t),
                np.array([t + 1], np.float32),
                last and ending == "terminated",
                last and ending == "truncated",
                np.array([True, t % 3 == 0]),
            ),
        )
    return rows


def test_rows_hold_the_state_after_each_length():
    fields = kept((1, 3), 3, 6, "open").fields
    assert fields.next_observations[:4, :, 0].tolist() == [[1, 3], [2, 4], [3, 5], [4, 6]]
    assert fields.rewards[:4].tolist() == [[0, 1, 2], [1, 2, 3], [2, 3, 4], [3, 4, 5]]
    # After step 0 both actions are permitted, after steps 1 and 2 the first alone, and so on.
    assert fields.next_masks[:3, :, 1].tolist() == [[1, 0], [0, 1], [0, 0]]
    assert not fields.terminated.any()


@pytest.mark.parametrize("ending", ["terminated", "truncated"])
def test_rows_at_the_end_of_an_episode(ending):
    rows = kept((1, 3), 3, 4, ending)
    fields, ended = rows.fields, ending == "terminated"
    assert len(rows) == 4
    assert fields.next_observations[:4, :, 0].tolist() == [[1, 3], [2, 4], [3, 4], [4, 4]]
    assert fields.terminated[:4].tolist() == [
        [False, False],
        [False, ended],
        [False, ended],
        [ended, ended],
    ]
    assert fields.lengths[:4].tolist() == ([3, 3, 3, 3] if ended else [3, 3, 2, 1])


def walker(**options):
    return DFHQ(
        FiniteMDPEnv(problems.random_walk(5).mdp),
        **{
            "preset": "paper",
            "horizon": 7,
            "discount": 1.0,
            "hidden": (32,),
            "optimiser": "adam",
            "learning_rate": 2e-3,
            "learning_rate_final": 1e-4,
            "learning_rate_updates": 7_800,
            "epsilon_final": 1.0,
            "batch_size": 64,
            "learning_starts": 200,
            "seed": 0,
            **options,
        },
    )


def test_a_hybrid_converges_to_its_oracle_and_to_no_other():
    mdp = problems.random_walk(5).mdp
    agent = walker(n_step=3, one_step_horizons=2).learn(8_000)
    learned = agent.horizons.astype(int)
    assert learned.tolist() == [1, 2, 4, 7]
    assert agent.backup.lengths == (1, 2, 3)
    # Nothing is done in the states at both ends.
    found, inner = np.array([agent.values(s) for s in range(1, 6)]), slice(1, 6)
    uniform = policy.uniform(mdp.n_states, mdp.n_actions)
    weighting = Weighting.exponential(7)
    wanted = oracle.hybrid_values(mdp, uniform, weighting, 3, 2)[inner][:, :, learned - 1]
    others = {
        "one-step": oracle.optimal(mdp, weighting).action_values[inner][:, :, learned - 1],
        "n-step": oracle.hybrid_values(mdp, uniform, weighting, 3)[inner][:, :, learned - 1],
    }
    assert np.abs(found - wanted).max() < 0.06
    for name, other in others.items():
        assert np.abs(found - other).max() > 0.12, name


def test_no_step_beyond_the_first_is_one_step_dfhq_to_the_bit():
    plain = walker(horizon=4, **SMALL).learn(150)
    hybrid = walker(horizon=4, n_step=3, one_step_horizons=4, **SMALL).learn(150)
    for one, other in zip(plain.state.parameters, hybrid.state.parameters, strict=True):
        np.testing.assert_array_equal(one, other)


class Masked(gymnasium.Wrapper):
    """A walk of which every other state allows one action only."""

    def step(self, action):
        seen, reward, terminated, truncated, info = self.env.step(action)
        return seen, reward, terminated, truncated, info | {"action_mask": self._mask(seen)}

    def reset(self, **options):
        seen, info = self.env.reset(**options)
        return seen, info | {"action_mask": self._mask(seen)}

    def _mask(self, seen):
        return np.array([True, int(seen) % 2 == 0])


@pytest.mark.parametrize("extra", [{}, {"target_update_interval": 7, "double": True}])
@pytest.mark.parametrize("frames", [40, 41, 47])
def test_a_hybrid_is_resumed_to_the_bit(tmp_path, frames, extra):
    def world():
        return Masked(FiniteMDPEnv(problems.random_walk(9).mdp))

    options = {"n_step": 4, "one_step_horizons": 2, "horizon": 8, "preset": "paper", "seed": 3}
    whole = DFHQ(world(), **options, **SMALL, **extra).learn(120)
    broken = DFHQ(world(), **options, **SMALL, **extra).learn(frames)
    broken.save(tmp_path / "agent.npz")
    resumed = DFHQ.load(tmp_path / "agent.npz", world()).learn(120 - frames)
    for one, other in zip(whole.state.parameters, resumed.state.parameters, strict=True):
        np.testing.assert_array_equal(one, other)


def test_a_hybrid_grows_while_its_rows_still_serve():
    agent = walker(horizon=5, n_step=3, one_step_horizons=2, **SMALL).learn(60)
    assert agent.extend(8).horizons.tolist() == [1, 2, 5, 8]
    agent.learn(60)
    with pytest.raises(ValueError, match="multiple of n_step"):
        agent.extend(10)
    short = walker(horizon=4, n_step=3, one_step_horizons=2, **SMALL)
    with pytest.raises(ValueError, match=r"needs states \(1, 2, 3\) steps ahead, and the replay"):
        short.extend(7)
    assert short.horizons.tolist() == [1, 2, 4]


@pytest.mark.parametrize(("double", "wanted"), [(False, [1, 11, 42]), (True, [1, 1, 22])])
def test_double_estimation_of_a_hybrid_asks_the_output_above(double, wanted):
    """Horizon 2 is one-step, 4 two-step: each by its own best action, or by the one above's."""
    agent = DFHQ(
        Scripted(length=9, terminates=False),
        preset="paper",
        horizon=4,
        n_step=2,
        one_step_horizons=2,
        discount=1.0,
        hidden=(),
        double=double,
        learning_starts=2,
    )
    with_values(agent, [[10, 20, 30], [0, 40, 0]]).learn(2)
    assert agent.updates == 1
    np.testing.assert_allclose(agent.take_statistics()["target"], wanted)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"one_step_horizons": 2}, "one_step_horizons needs n_step above 1"),
        ({"one_step_horizons": 2, "n_step": 2, "deepen_every": 9}, "needs deepen_every=None"),
        ({"one_step_horizons": -1, "n_step": 2}, "one_step_horizons must be"),
        ({"one_step_horizons": 2, "n_step": 2, "horizons": (1, 64)}, "closed under the backup"),
        ({"max_duration": 0}, "max_duration must be"),
        ({"max_duration": 2, "n_step": 2}, "max_duration above 1 needs n_step=1"),
        ({"max_duration": 2, "deepen_every": 10}, "max_duration above 1 needs deepen_every=None"),
        ({"max_duration": 2, "horizons": (1, 64)}, "max_duration above 1 needs horizons=None"),
    ],
)
def test_settings_that_do_not_go_together_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        DFHQSettings(**options)
    if "one_step_horizons" not in options:
        with pytest.raises(ValueError, match=message):
            FHSACSettings(**{"horizon": 64, "deepen_every": None} | options)


# Actions that take several steps


def test_long_transitions_without_hidden_layers_are_linear_fhq():
    """One-hot states, plain gradient steps on single transitions of one to three steps."""
    horizon, step_size, longest = 6, 0.1, 3
    world = FiniteMDPEnv(problems.random_walk(3).mdp)
    agent = DFHQ(
        world, preset="paper", horizon=horizon, discount=0.9, hidden=(), max_duration=longest
    )
    n_states = world.observation_space.n
    features = Features.from_matrix(np.hstack([np.eye(n_states), np.ones((n_states, 1))]))
    weight, bias = agent.state.parameters
    initial = np.concatenate([weight, bias[None]]).reshape(n_states + 1, 2, horizon)
    linear = FHQ(
        features,
        2,
        Weighting.exponential(horizon, 0.9),
        step_size=step_size,
        initial=initial.transpose(1, 0, 2),
    )
    algorithm = q_learning(
        agent.backup,
        agent.settings,
        agent.observations,
        agent.actions,
        agent.seed,
        acting=np.eye(horizon)[-1],
        loss_weights=np.ones(horizon),
        # The mean over horizons of squared errors has gradient -2 error / H.
        optimiser=optax.sgd(step_size * horizon / 2),
    )
    rows = agent.experience
    training = begin(algorithm, planned(algorithm, rows.layout))
    frame = compiled(algorithm, rows.layout, jax.random.key(0)).frame
    # Negative control: the same transitions with the sum of their rewards, as if of one step.
    summed = FHQ(
        features,
        2,
        Weighting.exponential(horizon, 0.9),
        step_size=step_size,
        initial=initial.transpose(1, 0, 2),
    )
    rng = np.random.default_rng(1)
    for i in range(60):
        s, following = (int(x) for x in rng.integers(n_states, size=2))
        action, ended = int(rng.integers(2)), bool(rng.random() < 0.2)
        rewards = rng.normal(size=rng.integers(1, longest + 1)).tolist()
        reward = rewards if len(rewards) > 1 else rewards[0]
        linear.update(s, action, reward, following, ended, duration=len(rewards))
        summed.update(s, action, sum(rewards), following, ended)
        eye = np.eye(n_states, dtype=np.float32)
        step = Transition(eye[s], action, rewards, eye[following], ended, False, [True, True])
        rows.add(0, step)
        sample: Sample = rows.gather(np.array([i]))
        seen = np.zeros((1, n_states), np.float32)
        training, _ = frame(training, (sample,), seen, np.ones((1, 2), bool), 0)
    weight, bias = training.state.parameters
    learned = np.concatenate([weight, bias[None]]).reshape(n_states + 1, 2, horizon)
    np.testing.assert_allclose(learned.transpose(1, 0, 2), linear.weights, rtol=1e-4, atol=1e-5)
    assert np.abs(summed.weights - linear.weights).max() > 0.1


def endless(times):
    """A reward of 1 at every step, in one state, three steps an action but for the last ones."""
    return Repeat(Scripted(length=10, terminates=False), times)


def test_values_count_steps_and_not_actions():
    """A reward of 1 a step: horizon h is worth h, however many steps an action takes."""
    common = {"preset": "paper", "hidden": (), "optimiser": "sgd", "learning_rate": 0.3, "seed": 0}
    agent = DFHQ(endless(3), **common, horizon=8, discount=1.0, max_duration=3, train_freq=1)
    agent.learn(1_500)
    np.testing.assert_allclose(agent.values([1.0]).mean(axis=0), np.arange(1, 9), rtol=0.02)
    actions = DFHQ(endless(3), **common, horizon=8, discount=1.0).learn(1_500)
    # Where actions are counted, each brings three, or one at the end of an episode.
    assert actions.values([1.0])[0, 0] > 2


def test_a_value_without_end_is_discounted_by_the_step():
    agent = DQN(
        endless(3),
        preset="paper",
        hidden=(),
        optimiser="sgd",
        learning_rate=0.05,
        discount=0.8,
        max_duration=3,
        seed=0,
    ).learn(2_000)
    np.testing.assert_allclose(agent.values([1.0]), 5.0, rtol=0.02)


@pytest.mark.parametrize("kind", [FHSAC, SAC])
def test_actor_critics_take_long_actions_too(kind, tmp_path):
    def world():
        return Repeat(Continuous(), 3)

    options = {"max_duration": 3, "seed": 0, **SMALL}
    if kind is FHSAC:
        options |= {"horizon": 6, "deepen_every": None}
    agent = kind(world(), **options).learn(70)
    rows = agent.experience.fields
    assert set(rows.lengths[:60].tolist()) == {1.0, 3.0}
    agent.save(tmp_path / "agent.npz")
    again = kind.load(tmp_path / "agent.npz", world())
    one, other = agent.learn(20), again.learn(20)
    np.testing.assert_array_equal(one.values([0.0]), other.values([0.0]))


class Told(gymnasium.Wrapper):
    """Says what it is told of the rewards of an action's steps."""

    def __init__(self, env, step_rewards):
        super().__init__(env)
        self.told = step_rewards

    def step(self, action):
        seen, _, terminated, truncated, info = self.env.step(action)
        return seen, 3.0, terminated, truncated, info | self.told


@pytest.mark.parametrize(
    ("told", "message"),
    [
        ({"step_rewards": [1.0] * 3}, "at most 2 rewards, as max_duration says, got 3"),
        ({"step_rewards": [1.0, 1.0]}, "must sum to the reward, got 2 and 3"),
        ({"step_rewards": [np.nan, 1.0]}, "must sum to the reward"),
        ({"step_rewards": []}, "must be a list of numbers"),
        ({"step_rewards": 3.0}, "must be a list of numbers"),
        ({"step_rewards": None}, "must be a list of numbers"),
        ({"step_rewards": ["much"]}, "must be a list of numbers"),
        ({}, r"needs an environment that lists the rewards .* as fhtd.envs.Repeat does"),
    ],
)
def test_rewards_that_cannot_be_are_refused(told, message):
    agent = DFHQ(Told(Scripted(length=5), told), preset="paper", max_duration=2, **SMALL)
    with pytest.raises(ValueError, match=message):
        agent.learn(10)


def test_an_action_may_take_longer_than_the_longest_horizon():
    common = {"preset": "paper", "hidden": (), "optimiser": "sgd", "learning_rate": 0.3, "seed": 0}
    agent = DFHQ(endless(5), **common, horizon=2, discount=1.0, max_duration=5).learn(400)
    np.testing.assert_allclose(agent.values([1.0]).mean(axis=0), [1, 2], rtol=0.02)


def test_an_episode_has_the_rewards_of_every_step():
    agent = DFHQ(endless(3), preset="paper", horizon=4, max_duration=3, **SMALL)
    found = list(agent.episode(endless(3)))
    assert [step.rewards for step in found] == [[1.0] * 3] * 3 + [[1.0]]
    assert [step.reward for step in found] == [3.0, 3.0, 3.0, 1.0]
    plain = DFHQ(endless(3), preset="paper", horizon=4, **SMALL)
    assert [step.rewards for step in plain.episode(endless(3))] == [[3.0], [3.0], [3.0], [1.0]]
