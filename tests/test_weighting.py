"""Weightings against closed forms, and against sums over the rewards of a known sequence."""

import cmath
import math
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fhtd.weighting import Weighting
from strategies import weightings
from worlds import wrong

H = 7


def values_of(weighting: Weighting, rewards: list[float]) -> list[complex]:
    """v^h at the beginning of a fixed sequence of rewards, by the recursion alone."""
    values = []
    for h in range(1, weighting.horizon + 1):
        v: complex = 0
        # From the last reward in reach backward: horizon 1 sees rewards[h - 1] only.
        for j in range(1, h + 1):
            v = weighting.rewards[j - 1] * rewards[h - j] + weighting.bootstraps[j - 1] * v
        values.append(v)
    return values


@pytest.mark.parametrize("discount", [1.0, 0.5, 0.0, 1.25, -0.5, 0.3 + 0.4j])
def test_constant_reward_sums_to_the_geometric_series(discount: complex) -> None:
    expected = [h if discount == 1 else (1 - discount**h) / (1 - discount) for h in range(1, H + 1)]
    assert np.allclose(values_of(Weighting.exponential(H, discount), [1.0] * H), expected)


def test_constant_reward_has_average_one_at_every_horizon() -> None:
    assert np.allclose(values_of(Weighting.average(H), [1.0] * H), np.ones(H))


def test_average_is_the_mean_of_the_rewards_so_far() -> None:
    rewards = [3.0, -1.0, 4.0, 1.0, -5.0, 9.0, 2.0]
    expected = [sum(rewards[:h]) / h for h in range(1, H + 1)]
    assert np.allclose(values_of(Weighting.average(H), rewards), expected)


NAMED: dict[str, tuple[Weighting, Callable[[int, int], complex]]] = {
    "exponential": (Weighting.exponential(H, 0.9), lambda h, k: 0.9**k),
    "undiscounted": (Weighting.exponential(H), lambda h, k: 1.0),
    "average": (Weighting.average(H), lambda h, k: 1 / h),
    "from_weights": (
        Weighting.from_weights([1, 0, 0, 5, -2, 0.5, 3]),
        lambda h, k: [1, 0, 0, 5, -2, 0.5, 3][H - h + k],
    ),
    "hyperbolic": (Weighting.hyperbolic(H, 0.5), lambda h, k: 1 / (1 + 0.5 * (H - h + k))),
    "reward_scaled": (Weighting.reward_scaled(H, 0.9), lambda h, k: 0.9 ** (H - h + k)),
    "fourier": (
        Weighting.fourier(H, 2, 0.9),
        lambda h, k: (0.9 * cmath.exp(-2j * math.pi * 2 / H)) ** k,
    ),
}


@pytest.mark.parametrize("name", NAMED)
def test_coefficients_are_the_weight_of_each_reward_in_each_horizon(name: str) -> None:
    weighting, weight = NAMED[name]
    table = weighting.coefficients()
    assert table.shape == (H, H)
    for h in range(1, H + 1):
        for k in range(H):
            assert table[h - 1, k] == pytest.approx(weight(h, k) if k < h else 0.0, abs=1e-12)


@given(weightings(5), st.lists(st.floats(-9, 9), min_size=5, max_size=5))
def test_coefficients_agree_with_the_recursion(weighting: Weighting, rewards: list[float]) -> None:
    assert np.allclose(weighting.coefficients() @ rewards, values_of(weighting, rewards))


def test_scaling_rewards_equals_discounting_at_the_final_horizon_only() -> None:
    rewards = [3.0, -1.0, 4.0, 1.0, -5.0, 9.0, 2.0]
    scaled = values_of(Weighting.reward_scaled(H, 0.8), rewards)
    discounted = values_of(Weighting.exponential(H, 0.8), rewards)
    assert scaled[-1] == pytest.approx(discounted[-1])
    assert not np.any(np.isclose(scaled[:-1], discounted[:-1]))


def test_fourier_of_a_deterministic_cycle_is_numpys_transform() -> None:
    rewards = np.array([2.0, -1.0, 0.0, 5.0, 3.0, 3.0, -4.0])
    transform = np.fft.fft(rewards)
    for frequency in range(H):
        values = values_of(Weighting.fourier(H, frequency), list(rewards))
        assert values[-1] == pytest.approx(transform[frequency])


INVERTIBLE = [name for name in NAMED if name != "from_weights"]


@pytest.mark.parametrize("name", INVERTIBLE)
def test_single_rewards_come_back_from_the_values(name: str) -> None:
    rewards = np.array([[3.0, -1, 4, 1, -5, 9, 2], [0.0, 0, 0, 1, 0, 0, 0]])
    weighting, _ = NAMED[name]
    values = np.array([values_of(weighting, list(row)) for row in rewards])
    recovered = weighting.expected_rewards(values)
    assert recovered.dtype == np.float64
    assert np.allclose(recovered, rewards)


def test_single_rewards_are_refused_where_a_weight_is_zero() -> None:
    # from_weights gives the reward h steps ahead the last weight in every horizon h.
    values = np.zeros(3)
    assert np.allclose(Weighting.from_weights([0, 0, 2]).expected_rewards(values), 0)
    with pytest.raises(ValueError, match="reward 1 steps ahead no weight in horizon 1"):
        Weighting.from_weights([1, 1, 0]).expected_rewards(values)
    with pytest.raises(ValueError, match="values must have the 3 horizons last"):
        Weighting.average(3).expected_rewards(np.zeros((3, 2)))


@pytest.mark.parametrize(
    ("discount", "dtype", "known"),
    [(0.5, "f8", 41), (0.9, "f8", 249), (0.99, "f8", 1_000), (0.5, "f4", 12), (0.9, "f4", 58)],
)
def test_rewards_that_rounding_hides_are_refused(discount: float, dtype: str, known: int) -> None:
    """The last horizon that can tell its own reward tells it; the next one is named."""

    def recovered(horizon: int) -> np.ndarray:
        weighting = Weighting.exponential(horizon, discount)
        return weighting.expected_rewards(weighting.coefficients().sum(axis=1).astype(dtype))

    assert np.allclose(recovered(known), 1, atol=2e-3)
    if known < 1_000:
        message = f"rounding of the values hide the reward {known + 1} steps ahead"
        with pytest.raises(ValueError, match=message):
            recovered(known + 1)


def test_errors_that_grow_from_horizon_to_horizon_are_refused() -> None:
    """The newest reward weighs 1 in its horizon, the one before it 3: errors triple."""
    growing = Weighting.from_weights([*np.zeros(58), 3.0, 1.0])
    values = growing.coefficients() @ np.full(60, 0.1)
    with pytest.raises(ValueError, match="hide the reward 27 steps ahead"):
        growing.expected_rewards(values)
    for fine in (Weighting.hyperbolic(256), Weighting.average(300), Weighting.exponential(500)):
        fine.check_single_rewards()


@pytest.mark.parametrize("horizon", [1_070, 1_074, 1_080])
def test_weights_that_underflow_are_no_other_matter(horizon: int) -> None:
    with pytest.raises(ValueError, match="hide the reward 42 steps ahead"):
        Weighting.exponential(horizon, 0.5).check_single_rewards()


@pytest.mark.parametrize("name", ["exponential", "undiscounted", "average"])
def test_extending_keeps_every_coefficient(name: str) -> None:
    weighting, weight = NAMED[name]
    longer = weighting.extend(H + 3)
    assert longer.horizon == H + 3
    assert np.array_equal(longer.rewards[:H], weighting.rewards)
    assert np.array_equal(longer.bootstraps[:H], weighting.bootstraps)
    assert longer.coefficients()[-1, H] == pytest.approx(weight(H + 3, H))
    assert weighting.extend(H) == weighting


@pytest.mark.parametrize("name", ["from_weights", "hyperbolic", "reward_scaled"])
def test_weightings_that_mention_the_horizon_do_not_extend(name: str) -> None:
    with pytest.raises(ValueError, match="horizon 9 is not determined"):
        NAMED[name][0].extend(9)


def test_shrinking_is_refused() -> None:
    with pytest.raises(ValueError, match="horizon must be at least 7"):
        Weighting.average(H).extend(H - 1)


def test_complex_is_a_dtype() -> None:
    assert not Weighting.exponential(3, 1).is_complex
    assert Weighting.exponential(3, 0.5 + 0j).is_complex
    assert Weighting.exponential(3, 0.5j).dtype == np.complex128
    assert Weighting.fourier(3, 1).is_complex
    assert Weighting(np.ones(2), np.array([1j, 1.0])).dtype == np.complex128


def test_equality_goes_by_coefficients_and_arrays_are_frozen() -> None:
    assert Weighting.hyperbolic(4, 0) == Weighting.exponential(4)
    assert hash(Weighting.hyperbolic(4, 0)) == hash(Weighting.exponential(4))
    assert Weighting.exponential(4, 0.5) != Weighting.exponential(4, 0.25)
    assert Weighting.exponential(4) != "exponential"
    with pytest.raises(ValueError, match="read-only"):
        Weighting.average(4).rewards[0] = 2.0


@pytest.mark.parametrize(
    ("build", "error", "message"),
    [
        (lambda: Weighting.exponential(0), ValueError, "horizon must be at least 1"),
        (lambda: Weighting.exponential(wrong(2.0)), TypeError, "horizon must be an integer"),
        (lambda: Weighting.exponential(True), TypeError, "horizon must be an integer"),
        (lambda: Weighting.exponential(3, math.inf), ValueError, "discount must be finite"),
        (
            lambda: Weighting.exponential(3, wrong("0.9")),
            TypeError,
            "discount must be a real or complex",
        ),
        (lambda: Weighting.average(-1), ValueError, "horizon must be at least 1"),
        (lambda: Weighting.from_weights([]), ValueError, "horizon must be at least 1"),
        (lambda: Weighting.from_weights([1, math.nan]), ValueError, "weights must hold finite"),
        (lambda: Weighting.from_weights([[1, 2]]), ValueError, "weights must have shape"),
        (lambda: Weighting.hyperbolic(3, -0.1), ValueError, "k must be finite and at least 0"),
        (lambda: Weighting.fourier(3, math.nan), ValueError, "frequency must be finite"),
        (lambda: Weighting.fourier(3, wrong(1j)), TypeError, "frequency must be a real number"),
        (lambda: Weighting(np.ones(1), np.ones(2)), ValueError, "one entry per horizon each"),
        (lambda: Weighting(wrong(["a"]), np.ones(1)), TypeError, "rewards must hold numbers"),
    ],
)
def test_bad_input_is_refused_by_name(
    build: Callable[[], Weighting], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        build()
