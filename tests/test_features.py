"""Features: tables, matrices, dense vectors and tile coding as active lists."""

import math
from collections.abc import Callable
from typing import Any

import gymnasium
import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fhtd.features import DenseFeatures, Features, StateFeatures, TileCoder
from strategies import feature_matrices
from worlds import wrong

MATRICES = st.integers(1, 5).flatmap(feature_matrices)
PLACES = st.tuples(st.floats(-1.2, 0.6), st.floats(-0.07, 0.07))


def mountain() -> TileCoder:
    return Features.tile_coded([-1.2, -0.07], [0.6, 0.07], tiles=8, n_tilings=8)


def test_a_table_has_one_feature_of_its_own_per_state() -> None:
    table = Features.tabular(4)
    assert np.array_equal(table.matrix, np.eye(4))
    assert (table.n_states, table.n_active, table.size) == (4, 1, 4)
    assert table.observation_shape == ()


@given(MATRICES)
def test_a_matrix_survives_the_active_lists(matrix: npt.NDArray[np.float64]) -> None:
    features = Features.from_matrix(matrix)
    assert np.array_equal(features.matrix, matrix)
    for state, row in enumerate(matrix):
        indices, values = features.active(state)
        assert len(indices) == features.n_active == len(set(indices.tolist()))
        dense = np.zeros(features.size)
        dense[indices] = values
        assert np.array_equal(dense, row)


def test_baird_needs_two_active_features() -> None:
    rows = [[2, 0, 1], [0, 2, 1]]
    assert Features.from_matrix(rows).n_active == 2
    assert Features.from_matrix(np.zeros((3, 2))).n_active == 1


def test_listing_a_feature_twice_adds_up() -> None:
    features = StateFeatures(np.array([[0, 0]]), np.array([[1.0, 2.0]]), 2)
    assert np.array_equal(features.matrix, [[3.0, 0.0]])


@pytest.mark.parametrize("state", [1, np.int64(1), np.array(1)])
def test_a_state_may_be_any_kind_of_integer(state: Any) -> None:
    indices, _ = Features.tabular(3).active(state)
    assert indices.tolist() == [1]


def test_a_dense_observation_is_its_own_features() -> None:
    indices, values = Features.dense(3).active([1.0, 0.0, -2.0])
    assert indices.tolist() == [0, 1, 2]
    assert values.tolist() == [1.0, 0.0, -2.0]


@given(PLACES)
def test_one_tile_of_each_tiling_is_active(place: tuple[float, float]) -> None:
    coder = mountain()
    indices, values = coder.active(place)
    per_tiling = coder.size // coder.n_tilings
    assert values.tolist() == [1.0] * 8
    # Distinct and in range: the i-th tile lies in the i-th tiling's own share of the indices.
    assert np.array_equal(indices // per_tiling, np.arange(8))


@given(PLACES, PLACES)
def test_sharing_falls_with_distance(one: tuple[float, float], other: tuple[float, float]) -> None:
    coder = mountain()
    width = (coder.high - coder.low) / coder.tiles
    apart = np.abs(np.subtract(one, other)) / width
    shared = int((coder.active(one)[0] == coder.active(other)[0]).sum())
    if np.any(apart >= 1 + 1e-9):
        assert shared == 0
    if np.all(apart < 1e-12):
        assert shared == 8
    # Along one dimension the boundaries of the tilings are an eighth of a tile apart.
    at_most = math.floor(8 * apart[0] + 1e-9) + 1
    moved = (one[0], other[1]), (other[0], other[1])
    kept = int((coder.active(moved[0])[0] == coder.active(moved[1])[0]).sum())
    assert kept >= 8 - at_most


def test_neighbours_share_some_tiles_and_not_all() -> None:
    coder = mountain()
    here, near = coder.active([0.0, 0.0])[0], coder.active([0.1, 0.0])[0]
    assert 0 < (here == near).sum() < 8


@given(st.tuples(st.floats(-9, 9), st.floats(-9, 9)))
def test_outside_the_box_counts_as_its_border(place: tuple[float, float]) -> None:
    coder = mountain()
    inside = np.clip(place, coder.low, coder.high)
    assert np.array_equal(coder.active(place)[0], coder.active(inside)[0])
    assert coder.active(place)[0].max() < coder.size


def test_tilings_resolve_more_than_tiles() -> None:
    fine = np.linspace(0, 1, 999, endpoint=False)
    coarse = Features.tile_coded([0.0], [1.0], tiles=4, n_tilings=1)
    layered = Features.tile_coded([0.0], [1.0], tiles=4, n_tilings=4)
    assert len({tuple(coarse.active([x])[0]) for x in fine}) == 4
    assert len({tuple(layered.active([x])[0]) for x in fine}) == 16


@pytest.mark.parametrize(
    "features",
    [
        Features.tabular(3),
        Features.from_matrix([[1.0, 2.0], [0.0, 3.0]]),
        Features.dense(4),
        Features.tile_coded([0, -1], [1, 1], [3, 4], 5),
    ],
)
def test_arrays_rebuild_the_features(features: Any) -> None:
    again = Features.from_arrays(type(features).__name__, features.to_arrays())
    observation = 1 if features.observation_shape == () else np.ones(features.observation_shape)
    assert type(again) is type(features)
    for first, second in zip(features.active(observation), again.active(observation), strict=True):
        assert np.array_equal(first, second)


def test_spaces_have_ready_features() -> None:
    spaces = gymnasium.spaces
    assert isinstance(Features.from_space(spaces.Discrete(5)), StateFeatures)
    box = spaces.Box(np.array([-1, 0], np.float32), np.array([1, 2], np.float32))
    coder = Features.from_space(box, tiles=4, n_tilings=2)
    assert (coder.n_active, coder.size) == (2, 50)
    unbounded = spaces.Box(-np.inf, np.inf, (2,))
    for space in (unbounded, spaces.Discrete(5, start=1), spaces.Box(0, 1, (2, 2))):
        with pytest.raises(ValueError, match="has no ready features"):
            Features.from_space(space)


def test_features_are_frozen() -> None:
    with pytest.raises(ValueError, match="read-only"):
        Features.tabular(3).values[0, 0] = 2.0


@pytest.mark.parametrize(
    ("build", "error", "message"),
    [
        (lambda: Features.tabular(0), ValueError, "n_states must be at least 1"),
        (lambda: Features.from_matrix([1.0, 2.0]), ValueError, "matrix must have shape"),
        (lambda: Features.from_matrix(np.zeros((0, 2))), ValueError, "matrix must have states"),
        (lambda: Features.from_matrix([[math.inf]]), ValueError, "matrix must hold finite"),
        (lambda: Features.from_matrix([["a"]]), TypeError, "matrix must hold numbers"),
        (lambda: Features.dense(-1), ValueError, "size must be at least 1"),
        (lambda: DenseFeatures(wrong(2.5)), TypeError, "size must be an integer"),
        (lambda: Features.dense(2).active([1.0]), ValueError, "observation must have shape"),
        (lambda: Features.dense(1).active([math.nan]), ValueError, "observation must hold finite"),
        (lambda: Features.tabular(3).active(3), ValueError, "observation must be a state from 0"),
        (lambda: Features.tabular(3).active(-1), ValueError, "observation must be"),
        (lambda: Features.tabular(3).active(1.0), TypeError, "observation must be an integer"),
        (
            lambda: StateFeatures(np.array([[3]]), np.ones((1, 1)), 3),
            ValueError,
            "indices must be from 0 to 2",
        ),
        (
            lambda: StateFeatures(wrong([[0.0]]), np.ones((1, 1)), 3),
            ValueError,
            "indices must be integers",
        ),
        (lambda: Features.tile_coded([0], [0]), ValueError, "high must be greater than low"),
        (lambda: Features.tile_coded([0], [1, 2]), ValueError, "high must have shape"),
        (lambda: Features.tile_coded([0], [1], 0), ValueError, "tiles must be at least 1"),
        (lambda: Features.tile_coded([0], [1], wrong(2.5)), TypeError, "tiles must hold integers"),
        (lambda: Features.tile_coded([0], [1], [2, 2]), ValueError, "tiles must be at least 1"),
        (lambda: Features.tile_coded([0], [1], 2, 0), ValueError, "n_tilings must be at least 1"),
        (lambda: mountain().active([0.0, math.nan]), ValueError, "observation must hold finite"),
        (lambda: mountain().active([0.0]), ValueError, "observation must have shape"),
        (lambda: Features.from_arrays("Fourier", {}), ValueError, "'Fourier', are not of this"),
    ],
)
def test_bad_input_is_refused_by_name(
    build: Callable[[], Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        build()
