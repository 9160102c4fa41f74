"""What to act on: the final horizon, or what all of them agree on."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import fhtd
from fhtd import FHQ, Features, FiniteMDP, Weighting, simulate
from fhtd.deep import DFHQ
from fhtd.deep.q_learning import agreement


def test_agreement_by_hand():
    # Horizon 1 has the actions alike, 2 prefers the second, 3 the third by far.
    values = np.array([[5.0, 0.0, 0.0], [5.0, 2.0, 100.0], [5.0, 1.0, 400.0]])
    every = np.ones((3, 1), bool)
    assert_allclose(agreement(values, every), np.array([0, 1.25, 1.5]) / 3)
    # Without the third action the second is the best to every horizon that tells them apart.
    some = np.array([[True], [True], [False]])
    assert_allclose(agreement(values, some)[:2], np.array([0, 2]) / 3)


def with_values(values, acting):
    """A learner of one state that has these values, (actions, horizons)."""
    weighting = Weighting.exponential(np.shape(values)[1])
    return FHQ(
        Features.tabular(1),
        len(values),
        weighting,
        initial=np.array(values)[:, None, :],
        acting=acting,
        epsilon=0.0,
        seed=0,
    )


def test_the_final_horizon_may_be_outvoted():
    values = [[1.0, 1.0, 0.0], [0.0, 0.0, 0.1]]
    assert with_values(values, "final").predict(0)[0] == 1
    assert with_values(values, "agreement").predict(0)[0] == 0


def test_scale_does_not_count_but_order_does():
    # A mean over horizons would follow the last, whose values are large.
    values = np.array([[1.0, 1.0, 0.0], [0.0, 0.0, 1000.0]])
    assert with_values(values, "agreement").predict(0)[0] == 0
    assert values.mean(axis=1).argmax() == 1


def test_ties_are_broken_at_random():
    learner = with_values(np.zeros((3, 4)), "agreement")
    assert {learner.act(0) for _ in range(100)} == {0, 1, 2}


@pytest.mark.parametrize(("acting", "expected"), [("final", 1), ("agreement", 0)])
def test_simulation_acts_as_the_learner_does(acting, expected):
    # One state, two actions whose rewards tell which was taken; the weights hardly change.
    values = [[1.0, 1.0, 0.0], [0.0, 0.0, 0.1]]
    learner = with_values(values, acting)
    learner.step_size = 1e-9
    mdp = FiniteMDP(
        np.ones((1, 2, 1)),
        np.zeros((1, 2, 1), int),
        np.array([[[0.0], [1.0]]]),
        np.ones((1, 2, 1), bool),
        np.ones(1),
    )
    found = simulate(learner, mdp, episodes=20)
    assert_array_equal(found.returns, np.full((1, 20), float(expected)))


def test_deep_agents_act_on_it_alike():
    small = {"hidden": (8,), "learning_starts": 8, "replay_size": 100, "horizon": 5}
    agent = DFHQ("CartPole-v1", preset="paper", seed=3, acting="agreement", **small)
    agent.learn(40)
    observed = np.random.default_rng(0).normal(size=(50, 4))
    for one in observed:
        values = agent.values(one)
        expected = int(agreement(values, np.ones((2, 1), bool)).argmax())
        assert agent.predict(one, deterministic=True)[0] == expected
        assert agent.expect(one)[1] == expected
    final = DFHQ("CartPole-v1", preset="paper", seed=3, **small)
    final.state = agent.state
    differ = [
        final.predict(o, deterministic=True)[0] != agent.predict(o, deterministic=True)[0]
        for o in observed
    ]
    assert any(differ)


def test_it_is_saved(tmp_path):
    with_values(np.eye(2), "agreement").save(tmp_path / "learner.npz")
    assert fhtd.load(tmp_path / "learner.npz").acting == "agreement"


def test_other_words_are_refused():
    with pytest.raises(ValueError, match="acting must be final or agreement"):
        with_values(np.eye(2), "loudest")
    with pytest.raises(ValueError, match="acting must be final, mean, agreement"):
        DFHQ("CartPole-v1", acting="loudest")


@pytest.mark.parametrize("acting", ["final", "agreement"])
def test_values_that_have_diverged_leave_the_first_action(acting):
    assert with_values(np.eye(2), acting)._greedy(0).tolist()
    broken = with_values(np.eye(2), acting)
    broken._state.weights[:] = np.nan
    assert broken.act(0) == 0
