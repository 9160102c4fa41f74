"""Every setting of a deep agent does what its sentence says: known effects, all else equal."""

from dataclasses import fields
from pathlib import Path

import numpy as np
import pytest

from fhtd import Weighting
from scripted import Scripted, with_values

jax = pytest.importorskip("jax")
pytest.importorskip("equinox")

from fhtd.deep import DFHQ, DQN, DFHQSettings  # noqa: E402
from fhtd.errors import DivergenceError  # noqa: E402

#: No hidden layers, learning from the first frame.
TINY = {"hidden": (), "learning_starts": 1, "replay_size": 50, "batch_size": 4, "horizon": 3}


def tiny(world=None, **changes):
    return DFHQ(world or Scripted(length=10**6), preset="paper", seed=0, **(TINY | changes))


def shapes(agent):
    return [leaf.shape for leaf in agent.loop.plan.state.parameters]


def parameters(agent):
    return [np.asarray(leaf) for leaf in agent.state.parameters]


def learned(agent, frames):
    """Change of each parameter over so many frames."""
    before = [leaf.copy() for leaf in parameters(agent)]
    agent.learn(frames)
    return [new - old for new, old in zip(parameters(agent), before, strict=True)]


def first_targets(agent):
    """Mean target of each horizon in the very first update."""
    agent.learn(1)
    assert agent.updates == 1
    return agent.take_statistics()["target"]


def test_every_setting_is_tested_here():
    """A new setting needs a test in this file, or among those of windows and lengths."""
    here = Path(__file__)
    others = ("test_deep_windows.py", "test_deep_lengths.py")
    text = "".join(file.read_text() for file in (here, *map(here.with_name, others)))
    for field in fields(DFHQSettings):
        assert f"{field.name}=" in text or f'"{field.name}":' in text, field.name


@pytest.mark.parametrize("horizon", [1, 5])
def test_horizon_is_how_many_values_each_action_has(horizon):
    agent = tiny(horizon=horizon)
    assert agent.horizons.tolist() == list(range(1, horizon + 1))
    assert agent.values([1.0]).shape == (2, horizon)


def test_discount_multiplies_the_shorter_horizon():
    agent = with_values(tiny(discount=0.5), [[10, 20, 30], [0, 40, 0]])
    np.testing.assert_allclose(first_targets(agent), [1, 1 + 5, 1 + 20])
    undiscounted = with_values(tiny(discount=1.0), [[10, 20, 30], [0, 40, 0]])
    np.testing.assert_allclose(first_targets(undiscounted), [1, 1 + 10, 1 + 40])


def test_a_weighting_replaces_horizon_and_discount():
    options = {key: value for key, value in TINY.items() if key != "horizon"}
    world = Scripted(length=10**6, reward=6.0)
    agent = DFHQ(world, preset="paper", weighting=Weighting.average(3), **options)
    targets = first_targets(with_values(agent, [[10, 20, 30], [0, 40, 0]]))
    np.testing.assert_allclose(targets, [6, 3 + 5, 2 + 40 * 2 / 3], rtol=1e-6)


@pytest.mark.parametrize(
    ("discount", "expected"), [(1.0, [1, 2, 3]), (0.5, [1, 1.5, 1.75]), (0.0, [1, 1, 1])]
)
def test_a_reward_of_1_for_ever_is_worth_the_sum_of_powers(discount, expected):
    agent = tiny(discount=discount, optimiser="adam", learning_rate=0.03, epsilon_final=1.0)
    agent.learn(600)
    np.testing.assert_allclose(agent.values([1.0]), [expected] * 2, atol=0.1)


def test_n_step_sums_rewards_and_learns_every_nth_horizon():
    world = Scripted(length=10**6, reward=[1.0, 10.0, 100.0])
    agent = tiny(world, horizon=7, n_step=3, discount=1.0)
    assert agent.horizons.tolist() == [1, 4, 7]
    with_values(agent, [[1000, 2000, 3000], [0, 0, 0]])
    agent.learn(3)
    # The first window has all three rewards; horizon 1 counts only its own.
    np.testing.assert_allclose(agent.take_statistics()["target"], [1, 1111, 2111])


def test_horizons_are_learned_where_they_are_wanted():
    agent = tiny(horizon=7, n_step=3, horizons=(1, 2, 4, 7))
    assert agent.horizons.tolist() == [1, 2, 4, 7]
    assert agent.values([1.0]).shape == (2, 4)


@pytest.mark.parametrize(
    ("hidden", "expected"),
    [
        ((), [(1, 6), (6,)]),
        ((5,), [(1, 5), (5,), (5, 6), (6,)]),
        ((5, 4), [(1, 5), (5,), (5, 4), (4,), (4, 6), (6,)]),
    ],
)
def test_hidden_gives_the_widths(hidden, expected):
    assert shapes(tiny(hidden=hidden)) == expected


def test_glorot_weights_fill_their_range_and_biases_are_0():
    first, bias, second, last_bias = parameters(tiny(hidden=(500,), initialisation="glorot"))
    for weights, inputs, outputs in ((first, 1, 500), (second, 500, 6)):
        reach = np.sqrt(6 / (inputs + outputs))
        assert 0.97 * reach < np.abs(weights).max() <= reach
        assert abs(weights.mean()) < 0.15 * reach
    assert not bias.any()
    assert not last_bias.any()


def test_pytorchs_weights_and_biases_are_within_1_over_the_root_of_the_inputs():
    first, bias, second, last_bias = parameters(tiny(hidden=(500,), initialisation="torch"))
    for drawn, inputs in ((first, 1), (bias, 1), (second, 500)):
        reach = inputs**-0.5
        assert 0.97 * reach < np.abs(drawn).max() <= reach
        assert abs(drawn.mean()) < 0.15 * reach
    assert 0 < np.abs(last_bias).max() <= 500**-0.5


def test_unshared_horizons_share_no_parameter():
    agent = tiny(hidden=(5,), unshared=True)
    assert shapes(agent) == [(3, 1, 5), (3, 5), (3, 5, 2), (3, 2)]
    before = agent.values([1.0])
    for i in range(4):
        disturbed = list(agent.state.parameters)
        disturbed[i] = disturbed[i].at[1].add(0.5)
        other = tiny(hidden=(5,), unshared=True)
        other.state = other.state._replace(parameters=tuple(disturbed))
        changed = (other.values([1.0]) != before).any(axis=0)
        assert changed.tolist() == [False, True, False]
    shared = tiny(hidden=(5,))
    before = shared.values([1.0])
    weight, *others = shared.state.parameters
    shared.state = shared.state._replace(parameters=(weight * 2, *others))
    assert (shared.values([1.0]) != before).all()


@pytest.mark.parametrize("rate", [0.01, 0.02])
@pytest.mark.parametrize(
    ("optimiser", "step"),
    [
        # Of a first gradient g only the sign is left: g / sqrt((1 - decay) g^2).
        ("rmsprop-torch", 0.01**-0.5),
        ("rmsprop-tensorflow", 0.1**-0.5),
        ("rmsprop-centred", (0.05 - 0.05**2) ** -0.5),
        ("adam", 1.0),
    ],
)
def test_optimiser_and_learning_rate_give_the_first_step(optimiser, step, rate):
    world = Scripted(length=10**6, reward=1e5)
    agent = with_values(tiny(world, optimiser=optimiser, learning_rate=rate), np.zeros((2, 3)))
    weights, biases = learned(agent, 1)
    taken = weights[0].reshape(2, 3)[int(agent.experience.fields.actions[0])]
    np.testing.assert_allclose(taken, [rate * step] * 3, rtol=1e-4)
    assert np.count_nonzero(weights) == np.count_nonzero(biases) == 3


def gradients(**changes):
    """The first gradient, of weights and biases, read from the mean squares of RMSprop."""
    world = Scripted(length=10**6, reward=3.0)
    agent = with_values(tiny(world, optimiser="rmsprop-torch", **changes), np.zeros((2, 3)))
    agent.learn(1)
    # The rewards are positive and the values 0, so that every slope is negative or 0.
    squares = jax.tree.leaves(agent.state.optimiser)
    return -(np.concatenate([np.ravel(leaf) for leaf in squares]) ** 0.5) * 10


def test_max_grad_norm_shortens_the_gradient_and_keeps_its_direction():
    free = gradients()
    # Slope -2 * 3 / 3 horizons for the three weights and the three biases of one action.
    assert sorted(free) == pytest.approx([-2] * 6 + [0] * 6, rel=1e-5)
    clipped = gradients(max_grad_norm=0.5)
    assert np.linalg.norm(clipped) == pytest.approx(0.5, rel=1e-5)
    np.testing.assert_allclose(clipped, free * 0.5 / np.linalg.norm(free), rtol=1e-5)
    np.testing.assert_allclose(gradients(max_grad_norm=10.0), free)


def test_loss_weights_scale_the_gradient_of_each_horizon():
    free = gradients().reshape(2, 2, 3)
    weighted = gradients(loss_weights=(4.0, 0.0, 2.0)).reshape(2, 2, 3)
    # Scaled to a mean of 1: they weigh 2, 0 and 1.
    np.testing.assert_allclose(weighted, free * [2, 0, 1], rtol=1e-5)


def test_a_horizon_without_weight_in_the_loss_does_not_move():
    agent = tiny(loss_weights=(1.0, 0.0, 1.0), learning_rate=0.01)
    before = agent.values([1.0])
    agent.learn(20)
    moved = (agent.values([1.0]) != before).any(axis=0)
    assert moved.tolist() == [True, False, True]


def test_replay_size_is_reached_and_then_the_oldest_go():
    agent = tiny(Scripted(length=10**6, reward=np.arange(100)), replay_size=5, learning_starts=99)
    agent.learn(4)
    assert len(agent.experience) == 4
    agent.learn(4)
    assert len(agent.experience) == 5
    assert agent.experience.fields.rewards[:, 0].tolist() == [5, 6, 7, 3, 4]


def spy_on_samples(agent):
    """The rewards of every batch that is drawn from now on."""
    drawn, sample = [], agent.experience.sample

    def remember(size, rng):
        found = sample(size, rng)
        drawn.append(agent.experience.layout.unpack(found).rewards[:, 0].tolist())
        return found

    agent.experience.sample = remember
    return drawn


@pytest.mark.parametrize("batch_size", [1, 7])
def test_batch_size_is_how_many_are_drawn(batch_size):
    agent = tiny(batch_size=batch_size)
    drawn = spy_on_samples(agent)
    agent.learn(3)
    assert [len(batch) for batch in drawn] == [batch_size] * 3


@pytest.mark.parametrize(
    ("learning_starts", "train_freq", "gradient_steps", "expected"),
    [
        (1, 1, 1, 40),
        (10, 1, 1, 31),  # frames 10 to 40
        (1, 4, 1, 10),  # frames 4, 8, ..., 40
        (10, 4, 3, 24),  # three each at frames 12, 16, ..., 40
        (41, 1, 1, 0),
    ],
)
def test_updates_happen_when_they_are_due(learning_starts, train_freq, gradient_steps, expected):
    agent = tiny(
        learning_starts=learning_starts, train_freq=train_freq, gradient_steps=gradient_steps
    )
    drawn = spy_on_samples(agent)
    agent.learn(40)
    assert agent.updates == len(drawn) == expected


def test_n_envs_counts_the_frames_of_all():
    options = {key: value for key, value in TINY.items() if key != "learning_starts"}
    agent = DFHQ(
        "CartPole-v1", preset="paper", n_envs=3, learning_starts=7, train_freq=2, **options
    )
    assert len(agent.loop.streams) == 3
    agent.learn(12)
    assert agent.frames == len(agent.experience) == 12
    # After 9 and 12 frames; the multiples of 2 since the frames before are 8, and 10 and 12.
    assert agent.updates == 1 + 2


def test_a_target_network_is_copied_exactly_at_multiples_and_stale_between():
    agent = tiny(target_update_interval=5, learning_rate=0.01)
    copy = parameters(agent)
    for update in range(1, 13):
        agent.learn(1)
        assert agent.updates == update
        if update % 5 == 0:
            copy = parameters(agent)
        for kept, now, new in zip(copy, agent.state.target, parameters(agent), strict=True):
            np.testing.assert_array_equal(now, kept)
            assert update % 5 == 0 or not np.array_equal(now, new)
    assert tiny(target_update_interval=1).state.target is None


def test_double_chooses_by_one_network_and_values_by_the_other():
    online, fixed = [[4, 9, 0], [3, 8, 0]], [[10, 30, 0], [20, 50, 0]]
    options = {"discount": 1.0, "target_update_interval": 5}
    # The online network prefers action 0 at both horizons; the target network prefers action 1.
    double = with_values(tiny(double=True, **options), online, fixed)
    np.testing.assert_allclose(first_targets(double), [1, 1 + 10, 1 + 30])
    single = with_values(tiny(double=False, **options), online, fixed)
    np.testing.assert_allclose(first_targets(single), [1, 1 + 20, 1 + 50])
    none = with_values(tiny(discount=1.0), online)
    np.testing.assert_allclose(first_targets(none), [1, 1 + 4, 1 + 9])


def test_epsilon_falls_in_a_straight_line():
    agent = tiny(epsilon_initial=0.8, epsilon_final=0.2, epsilon_frames=60, learning_starts=10**6)
    seen = []
    for _ in range(4):
        seen.append(agent.epsilon)
        agent.learn(20)
    assert seen == pytest.approx([0.8, 0.6, 0.4, 0.2])
    assert agent.epsilon == pytest.approx(0.2)


def test_actions_are_random_as_often_as_epsilon_says():
    agent = tiny(
        epsilon_initial=1.0,
        epsilon_final=0.0,
        epsilon_frames=1000,
        learning_starts=10**6,
        replay_size=2000,
    )
    with_values(agent, [[0, 0, 1], [0, 0, 0]]).learn(1400)
    explored = agent.experience.fields.actions[:1400] == 1
    # Half of the random ones: 1000 frames at 1/2 on average, of which a half; 4 deviations.
    assert abs(explored[:1000].sum() - 250) < 4 * np.sqrt(250)
    assert explored[:500].sum() > explored[500:1000].sum() + 50
    assert not explored[1000:].any()
    always = with_values(tiny(epsilon_final=1.0), [[0, 0, 1], [0, 0, 0]])
    chosen = [always.predict([1.0], deterministic=False)[0] for _ in range(50)]
    assert set(chosen) == {0, 1}
    assert {always.predict([1.0])[0] for _ in range(50)} == {0}


@pytest.mark.parametrize(
    ("acting", "expected"),
    [("final", 0), ("mean", 1), (2, 2), (3, 1), (1, 0), ((1.0, -1.0, 0.0), 3)],
)
def test_acting_chooses_what_is_maximised(acting, expected):
    values = [[0, 0, 10], [9, 9, 0], [0, 7, 6], [0, -20, 0]]
    world = Scripted(length=10**6, n_actions=4)
    agent = tiny(world, acting=acting, learning_starts=10**6, epsilon_initial=0, epsilon_final=0)
    with_values(agent, values)
    assert agent.predict([1.0], deterministic=True)[0] == expected
    step = next(agent.episode(world))
    assert step.action == expected
    agent.learn(3)
    assert agent.experience.fields.actions[:3].tolist() == [expected] * 3


def test_max_episode_frames_cuts_and_still_bootstraps():
    agent = tiny(max_episode_frames=3, learning_starts=10**6)
    agent.learn(10)
    assert agent.episodes == 3
    assert not agent.experience.fields.terminated.any()
    # Every transition is the last of its episode; a termination would leave the reward alone.
    cut = with_values(tiny(max_episode_frames=1, discount=1.0), [[10, 20, 30], [0, 0, 0]])
    np.testing.assert_allclose(first_targets(cut), [1, 11, 21])
    ended = with_values(tiny(Scripted(length=1), discount=1.0), [[10, 20, 30], [0, 0, 0]])
    np.testing.assert_allclose(first_targets(ended), [1, 1, 1])


#: Values 0 and reward 10: squared errors of 100, 900 and 400 in the first update.
UNEVEN = Weighting([1.0, 3.0, 2.0], [1.0, 1.0, 1.0])


def diverging(**changes):
    options = {key: value for key, value in TINY.items() if key != "horizon"} | changes
    world = Scripted(length=10**6, reward=10.0)
    agent = DFHQ(world, preset="paper", weighting=UNEVEN, **(options | {"learning_starts": 5}))
    return with_values(agent, np.zeros((2, 3)))


def test_a_loss_above_divergence_limit_stops_with_frame_and_horizon():
    agent = diverging(divergence_limit=899.0)
    with pytest.raises(DivergenceError) as caught:
        agent.learn(20)
    assert (caught.value.step, caught.value.horizon) == (5, 2)
    assert agent.frames == 5
    diverging(divergence_limit=901.0).learn(5)


def test_on_divergence_record_notes_the_first_and_goes_on():
    agent = diverging(divergence_limit=899.0, on_divergence="record")
    agent.learn(20)
    assert agent.divergence == (5, 2.0)
    assert (agent.frames, agent.updates) == (20, 16)
    calm = diverging(divergence_limit=901.0, on_divergence="record")
    calm.learn(20)
    assert calm.divergence is None
    np.testing.assert_array_equal(calm.values([1.0]), agent.values([1.0]))


def seeded(seed, **changes):
    return DFHQ(
        Scripted(length=10**6, reward=np.arange(1000)),
        preset="paper",
        seed=seed,
        **(TINY | changes),
    )


def test_seeds_differ_in_initialisation():
    one, again, other = (parameters(seeded(seed, initialisation="torch")) for seed in (1, 1, 2))
    for a, b, c in zip(one, again, other, strict=True):
        np.testing.assert_array_equal(a, b)
        assert (a != c).all()


def test_seeds_differ_in_exploration():
    """With learning out of the way, and everything random."""
    actions = []
    for seed in (1, 1, 2):
        agent = seeded(seed, learning_starts=10**6, epsilon_final=1.0)
        agent.learn(40)
        actions.append(agent.experience.fields.actions[:40].tolist())
    assert actions[0] == actions[1] != actions[2]


def test_seeds_differ_in_what_is_replayed():
    """The replay is the same but for the actions: rewards say which transitions were drawn."""
    drawn = []
    for seed in (1, 1, 2):
        agent = seeded(seed, learning_starts=30, epsilon_initial=0.0, epsilon_final=0.0)
        drawn.append(spy_on_samples(agent))
        agent.learn(33)
    assert drawn[0] == drawn[1] != drawn[2]
    assert len(drawn[0]) == 4
    # Not one batch for all times either.
    assert len({tuple(batch) for batch in drawn[0]}) == 4


def test_dqn_takes_the_same_settings():
    agent = DQN(
        Scripted(length=10**6), preset="paper", hidden=(), discount=0.5, n_step=2, learning_starts=2
    )
    with_values(agent, [[8], [4]]).learn(2)
    np.testing.assert_allclose(agent.take_statistics()["target"], [1 + 0.5 + 0.25 * 8])


def test_a_learning_rate_that_falls_to_nothing_ends_learning():
    # The one update at the first rate is made; all later ones are at a rate of 0.
    ended = tiny(learning_rate_final=0.0, learning_rate_updates=1)
    assert any(np.any(change) for change in learned(ended, 1))
    assert not any(np.any(change) for change in learned(ended, 20))
    assert any(np.any(change) for change in learned(tiny(), 20))
