"""Targets against hand-computed numbers, the learners' own definition, rlax and JAX."""

import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fhtd import Weighting, targets

jax = pytest.importorskip("jax")
jnp = jax.numpy


def trajectory(rng, steps, horizon, is_complex=False):
    values = rng.normal(size=(steps, horizon))
    if is_complex:
        values = values + 1j * rng.normal(size=values.shape)
    return (
        rng.normal(size=steps),
        values,
        rng.random(steps) < 0.15,
        rng.random(steps) < 0.15,
    )


def naive(weighting, n, lambda_, rewards, next_values, terminated, truncated, t, h):
    """The target of V^h(S_t), by following the definition forward in time."""
    if h == 0:
        return 0.0
    c, d = weighting.rewards[h - 1], weighting.bootstraps[h - 1]
    if terminated[t]:
        return c * rewards[t]
    value = next_values[t, h - 2] if h > 1 else 0.0
    if n == 1 or truncated[t] or t == len(rewards) - 1:
        return c * rewards[t] + d * value
    later = naive(
        weighting, n - 1, lambda_, rewards, next_values, terminated, truncated, t + 1, h - 1
    )
    return c * rewards[t] + d * ((1 - lambda_) * value + lambda_ * later)


def naive_all(weighting, n, lambda_, *data):
    steps = len(data[0])
    return np.array(
        [
            [naive(weighting, n, lambda_, *data, t, h) for h in range(1, weighting.horizon + 1)]
            for t in range(steps)
        ]
    )


def weighting_of(kind, horizon):
    return {
        "discounted": Weighting.exponential(horizon, 0.9),
        "average": Weighting.average(horizon),
        "hyperbolic": Weighting.hyperbolic(horizon, 0.5),
        "fourier": Weighting.fourier(horizon, 2),
    }[kind]


KINDS = ("discounted", "average", "hyperbolic", "fourier")


@given(
    st.integers(0, 10**6),
    st.integers(1, 9),
    st.integers(1, 6),
    st.integers(1, 8),
    st.sampled_from([0.0, 0.3, 1.0]),
    st.sampled_from(KINDS),
)
def test_targets_follow_their_definition(seed, steps, horizon, n, lambda_, kind):
    weighting = weighting_of(kind, horizon)
    data = trajectory(np.random.default_rng(seed), steps, horizon, weighting.is_complex)
    rewards, values, terminated, truncated = data
    np.testing.assert_allclose(
        targets.one_step(weighting, rewards, values, terminated),
        naive_all(weighting, 1, 1.0, *data),
    )
    np.testing.assert_allclose(
        targets.n_step(weighting, n, rewards, values, terminated, truncated),
        naive_all(weighting, n, 1.0, *data),
    )
    np.testing.assert_allclose(
        targets.lambda_returns(weighting, lambda_, rewards, values, terminated, truncated),
        naive_all(weighting, steps + 1, lambda_, *data),
    )


def test_a_trajectory_by_hand():
    weighting = Weighting.exponential(3, 0.5)
    rewards, values = [1.0, 2.0, 4.0], [[10.0, 20.0, 30.0]] * 3
    np.testing.assert_allclose(
        targets.one_step(weighting, rewards, values, [False, True, False]),
        [[1, 6, 11], [2, 2, 2], [4, 9, 14]],
    )
    np.testing.assert_allclose(
        targets.n_step(weighting, 2, rewards, values), [[1, 2, 4.5], [2, 4, 6.5], [4, 9, 14]]
    )
    sums, complete = targets.monte_carlo(weighting, rewards)
    np.testing.assert_allclose(sums, [[1, 2, 3], [2, 4, 4], [4, 4, 4]])
    np.testing.assert_array_equal(complete, [[1, 1, 1], [1, 1, 0], [1, 0, 0]])


def test_monte_carlo_is_complete_at_a_termination_but_not_at_a_truncation():
    weighting = Weighting.exponential(4)
    for flag, expected in (("terminated", True), ("truncated", False)):
        _, complete = targets.monte_carlo(weighting, np.ones(2), **{flag: [False, True]})
        assert complete[1, 3] == expected
        assert complete[1, 0]


def test_extremes_meet():
    rng = np.random.default_rng(1)
    weighting = Weighting.exponential(5, 0.8)
    data = trajectory(rng, 12, 5)
    np.testing.assert_allclose(
        targets.n_step(weighting, 1, *data), targets.one_step(weighting, *data[:3])
    )
    np.testing.assert_allclose(
        targets.lambda_returns(weighting, 0.0, *data), targets.one_step(weighting, *data[:3])
    )
    np.testing.assert_allclose(
        targets.n_step(weighting, 5, *data), targets.lambda_returns(weighting, 1.0, *data)
    )


@pytest.mark.parametrize("kind", KINDS)
def test_jax_gives_what_numpy_gives_also_compiled_and_batched(kind):
    weighting = weighting_of(kind, 6)
    rng = np.random.default_rng(2)
    data = trajectory(rng, 10, 6, weighting.is_complex)
    functions = [
        lambda *d: targets.one_step(weighting, *d[:3]),
        lambda *d: targets.n_step(weighting, 3, *d),
        lambda *d: targets.lambda_returns(weighting, 0.7, *d),
        lambda r, _, te, tr: targets.monte_carlo(weighting, r, te, tr)[0],
    ]
    for function in functions:
        expected = function(*data)
        on_jax = [jnp.asarray(array) for array in data]
        for result in (
            function(*on_jax),
            jax.jit(function)(*on_jax),
            jax.vmap(function, in_axes=1, out_axes=1)(*[jnp.stack([a, a], 1) for a in on_jax])[
                :, 0
            ],
        ):
            assert isinstance(result, jax.Array)
            np.testing.assert_allclose(result, expected, rtol=2e-5, atol=2e-5)


def test_a_batch_of_trajectories_is_each_of_them():
    rng = np.random.default_rng(3)
    weighting = Weighting.average(4)
    both = [trajectory(rng, 7, 4) for _ in range(2)]
    batch = [np.stack(arrays, axis=1) for arrays in zip(*both, strict=True)]
    result = targets.lambda_returns(weighting, 0.5, *batch)
    for i, one in enumerate(both):
        np.testing.assert_allclose(result[:, i], targets.lambda_returns(weighting, 0.5, *one))


def test_gradients_flow_to_the_values():
    weighting = Weighting.exponential(3, 0.5)

    def total(values):
        return targets.one_step(weighting, jnp.ones(2), values).sum()

    # V^h(S') appears in the target of horizon h + 1 only, with factor d.
    expected = [[0.5, 0.5, 0.0]] * 2
    np.testing.assert_allclose(jax.grad(total)(jnp.ones((2, 3))), expected)


def test_rlax_agrees_where_the_horizon_outlasts_the_trajectory():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        rlax = pytest.importorskip("rlax")
    rng = np.random.default_rng(4)
    steps, discount = 8, 0.9
    horizon = steps + 3
    rewards, ends = rng.normal(size=steps), rng.random(steps) < 0.2
    # One value function for every horizon, as in the infinite-horizon case.
    value = rng.normal(size=steps)
    values = np.repeat(value[:, None], horizon, axis=1)
    discounts = discount * (1.0 - ends)
    weighting = Weighting.exponential(horizon, discount)
    single = [jnp.asarray(array, jnp.float32) for array in (rewards, discounts, value)]
    for lambda_ in (0.0, 0.4, 1.0):
        ours = targets.lambda_returns(weighting, lambda_, rewards, values, ends)[:, -1]
        np.testing.assert_allclose(ours, rlax.lambda_returns(*single, lambda_), rtol=1e-4)
    for n in (1, 3):
        ours = targets.n_step(weighting, n, rewards, values, ends)[:, -1]
        theirs = rlax.n_step_bootstrapped_returns(*single, n)
        np.testing.assert_allclose(ours, theirs, rtol=1e-4)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"next_values": np.zeros((3, 5))}, "next_values must have shape"),
        ({"rewards": np.zeros(0), "next_values": np.zeros((0, 4))}, "rewards must have"),
        ({"terminated": np.zeros(2, bool)}, "terminated must have shape"),
        ({"truncated": np.zeros(2, bool)}, "truncated must have shape"),
        ({"terminated": np.array([0, 0.5, 1])}, "terminated must be True or False"),
        ({"truncated": np.array([0, 2, 0])}, "truncated must be True or False"),
        ({"lambda_": 1.5}, "lambda_ must be"),
    ],
)
def test_wrong_arrays_are_refused_by_name(change, message):
    arguments = {
        "lambda_": 0.5,
        "rewards": np.zeros(3),
        "next_values": np.zeros((3, 4)),
        "terminated": None,
        "truncated": None,
    } | change
    with pytest.raises(ValueError, match=message):
        targets.lambda_returns(Weighting.exponential(4), **arguments)


def test_flags_of_jax_are_no_shares():
    with pytest.raises(ValueError, match="terminated must be True or False"):
        targets.one_step(
            Weighting.exponential(2), jnp.ones(2), jnp.ones((2, 2)), jnp.array([0.5, 0.0])
        )


def test_wrong_n_and_weighting_are_refused():
    with pytest.raises(ValueError, match="n must be"):
        targets.n_step(Weighting.exponential(2), 0, np.zeros(3), np.zeros((3, 2)))
    with pytest.raises(TypeError, match="weighting must be"):
        targets.one_step(0.9, np.zeros(3), np.zeros((3, 2)))


@pytest.mark.parametrize("horizon", [1, 3, 9])
def test_weighted_sums_are_the_final_monte_carlo_targets_of_an_episode(horizon):
    weighting = Weighting.hyperbolic(horizon, 0.3)
    rewards = np.random.default_rng(horizon).normal(size=5)
    ended = np.arange(5) == 4
    wanted, _ = targets.monte_carlo(weighting, rewards, ended)
    found = targets.weighted_sums(weighting.coefficients()[-1], rewards)
    np.testing.assert_allclose(found, wanted[:, -1])


def test_weighted_sums_take_complex_weights_as_they_are():
    weights, rewards = np.array([1.0, 2j, -1.0 + 1j]), np.array([1.0, 2.0, 3.0, 4.0])
    padded = [*rewards, 0.0, 0.0]
    expected = [sum(weights[k] * padded[t + k] for k in range(3)) for t in range(4)]
    np.testing.assert_allclose(targets.weighted_sums(weights, rewards), expected)
