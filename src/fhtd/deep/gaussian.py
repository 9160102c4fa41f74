"""A Gaussian squashed into (-1, 1) by tanh: the policy of a soft actor-critic.

a = tanh(u),   u = mean + deviation * noise,   noise ~ N(0, 1)
log pi(a|s) = sum over the action's numbers of
-noise^2 / 2 - log(deviation) - log(2 pi) / 2 - log(1 - tanh(u)^2)
"""

import math

import jax
import jax.numpy as jnp
from jax import Array

#: Within these the logarithm of the deviation is kept: no certainty, and no uniform noise.
_LEAST, _MOST = -20.0, 2.0


def parted(outputs: Array) -> tuple[Array, Array]:
    """Means and log deviations of (batch, numbers, 2) outputs."""
    return outputs[..., 0], jnp.clip(outputs[..., 1], _LEAST, _MOST)


def drawn(outputs: Array, noise: Array) -> tuple[Array, Array]:
    """Actions (batch, numbers) made of noise of that shape, and their log-densities (batch,)."""
    mean, log_deviation = parted(outputs)
    u = mean + jnp.exp(log_deviation) * noise
    # 1 - tanh(u)^2 = 4 / (e^u + e^-u)^2, which is 0 in floating point long before its logarithm is
    # minus infinity.
    squashed = 2 * (math.log(2) - u - jax.nn.softplus(-2 * u))
    each = -0.5 * noise**2 - log_deviation - 0.5 * math.log(2 * math.pi) - squashed
    return jnp.tanh(u), each.sum(axis=-1)


def middle(outputs: Array) -> Array:
    """What the policy does without noise."""
    return jnp.tanh(parted(outputs)[0])
