"""Running mean and variance of observations, as pure functions (Welford; Chan et al., 1979)."""

from typing import NamedTuple

import jax.numpy as jnp
from jax import Array

#: Beyond so many standard deviations an observation says no more.
_FURTHEST = 10.0


class Seen(NamedTuple):
    """Of all observations so far: how many, their mean, and summed squares of what differs."""

    total: Array
    mean: Array
    squares: Array


def begin(shape: tuple[int, ...]) -> Seen:
    """Nothing yet: observations are left as they are."""
    return Seen(jnp.zeros(()), jnp.zeros(shape), jnp.zeros(shape))


def update(seen: Seen, batch: Array) -> Seen:
    """With the observations of one more batch."""
    count, mean = batch.shape[0], batch.mean(axis=0)
    squares = ((batch - mean) ** 2).sum(axis=0)
    total = seen.total + count
    apart = mean - seen.mean
    return Seen(
        total,
        seen.mean + apart * (count / total),
        seen.squares + squares + apart**2 * (seen.total * count / total),
    )


def apply(seen: Seen, observations: Array) -> Array:
    """Mean 0, variance 1, and nothing far out."""
    variance = jnp.where(seen.total > 0, seen.squares / jnp.maximum(seen.total, 1), 1.0)
    scaled = (observations - seen.mean) / jnp.sqrt(variance + 1e-8)
    return jnp.clip(scaled, -_FURTHEST, _FURTHEST)
