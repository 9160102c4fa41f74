"""A window of horizons that moves on, and horizons that grow: what happens to the heads.

Outputs are horizons m + 1, ..., m + K over a frozen base, horizon m. A move makes the first output
the base and every output the one after it; the last stays, as the start of its successor:

    base <- Q_1,   Q_j <- Q_(j+1),   Q_K stays,   m <- m + 1

No output ever bootstraps from itself. All share the hidden layers, the base too, and the
optimiser's moments stay where they are.
"""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array

Parameters = tuple[Array, ...]


class Base(NamedTuple):
    """The frozen output beneath the window, and how often the window has moved."""

    #: (units, actions).
    weight: Array
    #: (actions,).
    bias: Array
    moves: Array


def grounded(parameters: Parameters, n_actions: int) -> Base:
    """Horizon 0: nothing is expected."""
    units = parameters[-2].shape[0]
    return Base(jnp.zeros((units, n_actions)), jnp.zeros(n_actions), jnp.zeros((), jnp.int32))


def _heads(parameters: Parameters, n_actions: int) -> tuple[Array, Array]:
    """Weights (units, actions, outputs) and biases (actions, outputs) of the heads."""
    weight, bias = parameters[-2:]
    return weight.reshape(weight.shape[0], n_actions, -1), bias.reshape(n_actions, -1)


def _with_heads(parameters: Parameters, weight: Array, bias: Array) -> Parameters:
    return (*parameters[:-2], weight.reshape(weight.shape[0], -1), bias.ravel())


def widened(parameters: Parameters, base: Base) -> Parameters:
    """The network with the base as one more output, before the others."""
    weight, bias = _heads(parameters, len(base.bias))
    return _with_heads(
        parameters,
        jnp.concatenate([base.weight[:, :, None], weight], axis=2),
        jnp.concatenate([base.bias[:, None], bias], axis=1),
    )


def moved(parameters: Parameters, base: Base) -> tuple[Parameters, Base]:
    """One horizon further."""
    weight, bias = _heads(parameters, len(base.bias))
    below = Base(weight[:, :, 0], bias[:, 0], base.moves + 1)
    weight = jnp.concatenate([weight[:, :, 1:], weight[:, :, -1:]], axis=2)
    bias = jnp.concatenate([bias[:, 1:], bias[:, -1:]], axis=1)
    return _with_heads(parameters, weight, bias), below


def where(due: Array, new: Any, old: Any) -> Any:
    """One tree of arrays or the other."""
    return jax.tree.map(lambda one, other: jnp.where(due, one, other), new, old)


def grown(tree: Any, parameters: Parameters, n_actions: int, more: int, *, unshared: bool) -> Any:
    """A tree in which all arrays that belong to the heads have `more` outputs, copies of the last.

    For parameters, target networks and the moments of an optimiser, which have their shapes.

    Args:
        tree: Of arrays; every part of it that is shaped as the parameters grows.
        parameters: The network's arrays; the heads are the last two.
        n_actions: Actions that each output has a head for.
        more: How many outputs.
        unshared: Every array has a row for each output, its network's own.
    """
    shapes = [array.shape for array in parameters]

    def is_alike(part: Any) -> bool:
        # Not by size alone: a hidden layer may be as wide as the heads are many.
        return type(part) is tuple and [getattr(array, "shape", None) for array in part] == shapes

    def with_more(array: Array, axis: int) -> Array:
        last = jax.lax.slice_in_dim(array, array.shape[axis] - 1, array.shape[axis], axis=axis)
        return jnp.concatenate([array, jnp.repeat(last, more, axis=axis)], axis=axis)

    def grow(part: Any) -> Any:
        if not is_alike(part):
            return part
        if unshared:
            return tuple(with_more(array, 0) for array in part)
        weight, bias = _heads(part, n_actions)
        return _with_heads(part, with_more(weight, 2), with_more(bias, 1))

    return jax.tree.map(grow, tree, is_leaf=is_alike)
