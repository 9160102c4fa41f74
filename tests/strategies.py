"""Hypothesis strategies: small random finite MDPs, policies, weightings and features."""

from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from fhtd.mdp import FiniteMDP
from fhtd.weighting import Weighting

Floats = npt.NDArray[np.float64]
Endings = Literal["sometimes", "never", "always possible"]


def _normalised(weights: npt.NDArray[np.int64]) -> Floats:
    """Integer weights as probabilities over the last axis; all zero counts as uniform."""
    counts = weights + (weights.sum(axis=-1, keepdims=True) == 0)
    result: Floats = counts / counts.sum(axis=-1, keepdims=True)
    return result


def distributions(*shape: int, smallest: int = 0) -> st.SearchStrategy[Floats]:
    """Probabilities over the last axis, multiples of a small fraction; `smallest=1` for no zero."""
    return hnp.arrays(np.int64, shape, elements=st.integers(smallest, 4)).map(_normalised)


@st.composite
def finite_mdps(
    draw: st.DrawFn,
    max_states: int = 4,
    max_actions: int = 3,
    max_outcomes: int = 3,
    endings: Endings = "sometimes",
) -> FiniteMDP:
    """A small MDP with impossible outcomes, self-loops, and endings as asked.

    With "always possible", any action in any state may end the episode at once, so every
    policy ends every episode with probability one.
    """
    shape = tuple(draw(st.integers(1, most)) for most in (max_states, max_actions, max_outcomes))
    n_states = shape[0]
    weights = draw(hnp.arrays(np.int64, shape, elements=st.integers(0, 4)))
    terminal = draw(hnp.arrays(np.bool_, shape)) & (endings != "never")
    if endings == "always possible":
        weights[:, :, 0] += 1
        terminal[:, :, 0] = True
    return FiniteMDP(
        _normalised(weights),
        draw(hnp.arrays(np.int64, shape, elements=st.integers(0, n_states - 1))),
        draw(hnp.arrays(np.int64, shape, elements=st.integers(-6, 6))) / 2,
        terminal,
        draw(distributions(n_states)),
    )


def policies(mdp: FiniteMDP, smallest: int = 0) -> st.SearchStrategy[Floats]:
    """A policy for an MDP; `smallest=1` takes every action sometimes."""
    return distributions(mdp.n_states, mdp.n_actions, smallest=smallest)


def feature_matrices(n_states: int, max_features: int = 5) -> st.SearchStrategy[Floats]:
    """One row of small features per state; columns may be dependent, and rows zero."""
    return st.integers(1, max_features).flatmap(
        lambda n_features: hnp.arrays(
            np.int64, (n_states, n_features), elements=st.integers(-2, 2)
        ).map(lambda matrix: matrix.astype(np.float64))
    )


def weightings(
    horizon: int | st.SearchStrategy[int] = 4,
    allow_complex: bool = True,
    allow_negative: bool = True,
) -> st.SearchStrategy[Weighting]:
    """Any weighting of a horizon (or of one drawn): every named one, and arbitrary pairs (c, d).

    `allow_negative=False` keeps bootstraps at 0 or more, as maximisation requires.
    """
    if not isinstance(horizon, int):
        return horizon.flatmap(lambda h: weightings(h, allow_complex, allow_negative))
    reals = st.floats(-1.5, 1.5, width=16)
    factors = st.floats(0, 1.5, width=16)
    discounts: st.SearchStrategy[Any] = reals if allow_negative else factors
    rates = st.floats(0, 2, width=16)
    rows = hnp.arrays(np.float64, horizon, elements=reals)
    pairs = hnp.arrays(np.float64, horizon, elements=discounts)
    named = [
        st.builds(Weighting.exponential, st.just(horizon), discounts),
        st.just(Weighting.average(horizon)),
        st.builds(Weighting.from_weights, rows),
        st.builds(Weighting.hyperbolic, st.just(horizon), rates),
        st.builds(Weighting.reward_scaled, st.just(horizon), reals),
        st.builds(Weighting, rows, pairs),
    ]
    if allow_complex:
        bins = st.integers(0, horizon - 1)
        named.append(st.builds(Weighting.fourier, st.just(horizon), bins, factors))
    return st.one_of(named)
