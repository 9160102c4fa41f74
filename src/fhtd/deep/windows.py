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


def grown(tree: Any, n_actions: int, outputs: int, more: int) -> Any:
    """Arrays of heads in a tree with `more` outputs, each a copy of the last; others as they are.

    For parameters, and for the moments of an optimiser, which have the same shapes.
    """
    width = n_actions * outputs

    def grow(leaf: Array) -> Array:
        if leaf.ndim not in (1, 2) or leaf.shape[-1] != width:
            return leaf
        split = leaf.reshape(*leaf.shape[:-1], n_actions, outputs)
        last = jnp.repeat(split[..., -1:], more, axis=-1)
        return jnp.concatenate([split, last], axis=-1).reshape(*leaf.shape[:-1], -1)

    return jax.tree.map(grow, tree)
