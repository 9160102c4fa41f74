"""Optimisers by name, as optax computes them; RMSprop in the three conventions that papers mean."""

from collections.abc import Callable
from typing import Literal

import jax
import jax.numpy as jnp
import optax

Name = Literal[
    "rmsprop-torch",
    "rmsprop-tensorflow",
    "rmsprop-centred",
    "adam",
    "adamw",
    "nadam",
    "radam",
    "adabelief",
    "lion",
    "sgd",
]


def falling(first: float, last: float, updates: int) -> optax.Schedule:
    """A learning rate that falls, or rises, in a straight line and then stays.

    Args:
        first: Rate of the first update.
        last: Rate in the end.
        updates: How many it takes to get there.
    """
    return optax.linear_schedule(first, last, updates)


def build(
    name: Name, learning_rate: float | optax.Schedule, max_grad_norm: float | None
) -> optax.GradientTransformation:
    """Gradient clipping by global norm, where asked, then the optimiser.

    Args:
        name: Of the optimiser; weight decay and the like are optax's defaults.
        learning_rate: A number, or a function of the updates so far.
        max_grad_norm: Largest norm of the gradient; None for any.
    """
    chosen: dict[str, Callable[[], optax.GradientTransformation]] = {
        # PyTorch: decay 0.99, epsilon 1e-8 added to the root.
        "rmsprop-torch": lambda: _rmsprop(0.99, 1e-8, outside=True, centred=False),
        # TensorFlow 1 as it was used in 2019, but for its accumulator, which began at 1: decay 0.9,
        # epsilon 1e-10 within the root.
        "rmsprop-tensorflow": lambda: _rmsprop(0.9, 1e-10, outside=False, centred=False),
        # The DQN papers: centred, decay 0.95, epsilon 0.01 within the root.
        "rmsprop-centred": lambda: _rmsprop(0.95, 0.01, outside=False, centred=True),
        "adam": optax.scale_by_adam,
        "adamw": lambda: optax.chain(optax.scale_by_adam(), optax.add_decayed_weights(1e-4)),
        "nadam": lambda: optax.scale_by_adam(nesterov=True),
        "radam": optax.scale_by_radam,
        "adabelief": optax.scale_by_belief,
        "lion": lambda: optax.chain(optax.scale_by_lion(), optax.add_decayed_weights(1e-3)),
        "sgd": optax.identity,
    }
    if name not in chosen:
        raise ValueError(f"optimiser must be one of {', '.join(chosen)}, got {name!r}")
    clip = [] if max_grad_norm is None else [optax.clip_by_global_norm(max_grad_norm)]
    step = (
        optax.scale_by_learning_rate(learning_rate)
        if callable(learning_rate)
        else optax.scale(-learning_rate)
    )
    return optax.chain(*clip, chosen[name](), step)


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
