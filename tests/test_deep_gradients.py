"""One gradient step, worked out with plain loops, against the compiled one."""

import numpy as np
import pytest

jax = pytest.importorskip("jax")
optax = pytest.importorskip("optax")
pytest.importorskip("equinox")

from fhtd.deep import DFHQ  # noqa: E402
from fhtd.deep.layout import Sample  # noqa: E402
from fhtd.deep.q_learning import q_learning  # noqa: E402
from scripted import Scripted  # noqa: E402

HORIZON = ACTIONS = UNITS = 2
DISCOUNT, STEP_SIZE = 0.9, 0.1
# Hidden weights [input][unit] and biases; heads [unit][action][horizon] and biases.
HIDDEN = [[0.5, -0.3], [0.2, 0.8]]
HIDDEN_BIAS = [0.1, -0.2]
HEADS = [[[0.7, -0.4], [0.3, 0.9]], [[-0.6, 0.5], [0.8, -0.1]]]
HEADS_BIAS = [[0.05, -0.15], [0.25, 0.1]]
# (observation, action, reward, next observation, terminated). At the first observation one
# hidden unit is off.
TRANSITIONS = [
    ([1.0, -0.5], 1, 2.0, [-0.5, 1.5], False),
    ([0.3, 0.9], 0, -1.0, [2.0, 2.0], True),
]


def hidden_sums(observation):
    return [
        sum(observation[i] * HIDDEN[i][u] for i in range(2)) + HIDDEN_BIAS[u] for u in range(UNITS)
    ]


def value(observation, action, horizon):
    units = [max(x, 0.0) for x in hidden_sums(observation)]
    heads = sum(units[u] * HEADS[u][action][horizon] for u in range(UNITS))
    return heads + HEADS_BIAS[action][horizon]


def best_action(observation, horizon):
    return max(range(ACTIONS), key=lambda action: value(observation, action, horizon))


def add_gradient(gradient, factor, observation, action, horizon):
    """Add `factor` times the gradient of one value."""
    hidden, hidden_bias, heads, heads_bias = gradient
    heads_bias[action][horizon] += factor
    for u in range(UNITS):
        x = hidden_sums(observation)[u]
        if x > 0:
            heads[u][action][horizon] += factor * x
            back = factor * HEADS[u][action][horizon]
            hidden_bias[u] += back
            for i in range(2):
                hidden[i][u] += back * observation[i]


def gradient_by_hand(through_target=False):
    """Of the mean over transitions and horizons of (target - value)^2; targets are constants."""
    gradient = [np.zeros(np.shape(x)) for x in (HIDDEN, HIDDEN_BIAS, HEADS, HEADS_BIAS)]
    share = 1 / (len(TRANSITIONS) * HORIZON)
    for observation, action, reward, following, terminated in TRANSITIONS:
        for horizon in range(HORIZON):
            target = reward
            bootstraps = horizon > 0 and not terminated
            if bootstraps:
                best = best_action(following, horizon - 1)
                target += DISCOUNT * value(following, best, horizon - 1)
            slope = 2 * (target - value(observation, action, horizon)) * share
            add_gradient(gradient, -slope, observation, action, horizon)
            if bootstraps and through_target:
                add_gradient(gradient, slope * DISCOUNT, following, best, horizon - 1)
    return gradient


@pytest.fixture(scope="module")
def change():
    """What one compiled frame of plain gradient descent does to the four arrays."""
    world = Scripted(observation=[1.0, 1.0])
    agent = DFHQ(world, preset="paper", horizon=HORIZON, discount=DISCOUNT, hidden=(UNITS,))
    optimiser = optax.sgd(STEP_SIZE)
    algorithm = q_learning(
        agent.backup,
        agent.settings,
        agent.observations,
        agent.actions,
        agent.seed,
        acting=np.array([0.0, 1.0]),
        loss_weights=np.ones(HORIZON),
        optimiser=optimiser,
    )
    before = [np.array(x, np.float32) for x in (HIDDEN, HIDDEN_BIAS, HEADS, HEADS_BIAS)]
    flat = [before[0], before[1], before[2].reshape(UNITS, -1), before[3].ravel()]
    parameters = tuple(jax.numpy.array(x) for x in flat)
    state = agent.state._replace(parameters=parameters, optimiser=optimiser.init(parameters))
    rows = [[*s, a, r, *following, end, 1, 1, 1] for s, a, r, following, end in TRANSITIONS]
    sample = Sample(np.array(rows, np.float32), None, None)
    after, _ = jax.jit(algorithm.update)(state, agent.experience.layout.unpack(sample))
    return [
        np.reshape(new, old.shape) - old for new, old in zip(after.parameters, before, strict=True)
    ]


def test_the_case_has_a_unit_that_is_off_and_one_that_is_on():
    signs = {x > 0 for transition in TRANSITIONS for x in hidden_sums(transition[0])}
    assert signs == {True, False}


def test_one_frame_descends_the_gradient_worked_out_by_hand(change):
    for found, by_hand in zip(change, gradient_by_hand(), strict=True):
        np.testing.assert_allclose(found, -STEP_SIZE * by_hand, rtol=1e-4, atol=1e-7)
        assert np.abs(by_hand).max() > 0.1


def test_the_gradient_does_not_flow_through_the_target(change):
    """Negative control: with the target's own gradient the numbers would be others."""
    for found, wrong in zip(change, gradient_by_hand(through_target=True), strict=True):
        assert np.abs(found + STEP_SIZE * wrong).max() > 1e-3
