"""Optimisers by name. RMSprop comes in the three conventions that papers mean by it."""

from typing import Literal

import jax
import jax.numpy as jnp
import optax

Name = Literal["rmsprop-torch", "rmsprop-tensorflow", "rmsprop-centred", "adam"]


def build(
    name: Name, learning_rate: float, max_grad_norm: float | None
) -> optax.GradientTransformation:
    """Gradient clipping by global norm, where asked, then the optimiser."""
    chosen = {
        # PyTorch: decay 0.99, epsilon 1e-8 added to the root.
        "rmsprop-torch": lambda: _rmsprop(0.99, 1e-8, outside=True, centred=False),
        # TensorFlow 1 as it was used in 2019, but for its accumulator, which began at 1: decay 0.9,
        # epsilon 1e-10 within the root.
        "rmsprop-tensorflow": lambda: _rmsprop(0.9, 1e-10, outside=False, centred=False),
        # The DQN papers: centred, decay 0.95, epsilon 0.01 within the root.
        "rmsprop-centred": lambda: _rmsprop(0.95, 0.01, outside=False, centred=True),
        "adam": optax.scale_by_adam,
    }
    if name not in chosen:
        raise ValueError(f"optimiser must be one of {', '.join(chosen)}, got {name!r}")
    clip = [] if max_grad_norm is None else [optax.clip_by_global_norm(max_grad_norm)]
    return optax.chain(*clip, chosen[name](), optax.scale(-learning_rate))


def _rmsprop(
    decay: float, epsilon: float, *, outside: bool, centred: bool
) -> optax.GradientTransformation:
    """G / sqrt(v - m^2 + epsilon), or g / (sqrt(v) + epsilon); moments start at 0."""

    def init(parameters: optax.Params) -> tuple[optax.Params, optax.Params | None]:
        zeros = jax.tree.map(jnp.zeros_like, parameters)
        return zeros, jax.tree.map(jnp.zeros_like, parameters) if centred else None

    def update(gradients, state, parameters=None):  # type: ignore[no-untyped-def]
        del parameters
        squares, means = state
        squares = jax.tree.map(lambda v, g: decay * v + (1 - decay) * g * g, squares, gradients)
        if centred:
            means = jax.tree.map(lambda m, g: decay * m + (1 - decay) * g, means, gradients)
            variance = jax.tree.map(lambda v, m: v - m * m, squares, means)
        else:
            variance = squares
        if outside:
            scaled = jax.tree.map(lambda g, v: g / (jnp.sqrt(v) + epsilon), gradients, variance)
        else:
            scaled = jax.tree.map(lambda g, v: g / jnp.sqrt(v + epsilon), gradients, variance)
        return scaled, (squares, means)

    return optax.GradientTransformation(init, update)
