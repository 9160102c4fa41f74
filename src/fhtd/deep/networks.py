"""Networks: shared hidden layers with one linear output per action and horizon."""

from collections.abc import Callable
from typing import Any, Literal

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from fhtd import checks

Initialisation = Literal["glorot", "torch"]


class Dense(eqx.Module):
    """x W + b."""

    weight: Array
    bias: Array

    def __init__(self, inputs: int, outputs: int, start: Initialisation, key: Array) -> None:
        weight_key, bias_key = jax.random.split(key)
        if start == "glorot":
            self.weight = jax.nn.initializers.glorot_uniform()(weight_key, (inputs, outputs))
            self.bias = jnp.zeros(outputs)
        else:
            # PyTorch's default: uniform within 1 / sqrt(inputs), biases too.
            reach = inputs**-0.5
            self.weight = jax.random.uniform(
                weight_key, (inputs, outputs), minval=-reach, maxval=reach
            )
            self.bias = jax.random.uniform(bias_key, (outputs,), minval=-reach, maxval=reach)

    def __call__(self, x: Array) -> Array:
        return x @ self.weight + self.bias


class Convolution(eqx.Module):
    """A convolution over (batch, height, width, channels)."""

    weight: Array
    bias: Array
    stride: int = eqx.field(static=True)

    def __init__(
        self, channels: int, filters: int, size: int, stride: int, start: Initialisation, key: Array
    ) -> None:
        weight_key, bias_key = jax.random.split(key)
        shape = (size, size, channels, filters)
        if start == "glorot":
            self.weight = jax.nn.initializers.glorot_uniform(in_axis=-2, out_axis=-1)(
                weight_key, shape
            )
            self.bias = jnp.zeros(filters)
        else:
            reach = (size * size * channels) ** -0.5
            self.weight = jax.random.uniform(weight_key, shape, minval=-reach, maxval=reach)
            self.bias = jax.random.uniform(bias_key, (filters,), minval=-reach, maxval=reach)
        self.stride = stride

    def __call__(self, x: Array) -> Array:
        windows = (self.stride, self.stride)
        layout = ("NHWC", "HWIO", "NHWC")
        found = jax.lax.conv_general_dilated(
            x, self.weight, windows, "VALID", dimension_numbers=layout
        )
        return found + self.bias


class LayerNorm(eqx.Module):
    """Each example's units brought to mean 0 and variance 1, then scaled and shifted."""

    scale: Array
    shift: Array

    def __init__(self, size: int) -> None:
        self.scale, self.shift = jnp.ones(size), jnp.zeros(size)

    def __call__(self, x: Array) -> Array:
        centred = x - x.mean(axis=-1, keepdims=True)
        variance = (centred**2).mean(axis=-1, keepdims=True)
        return centred * jax.lax.rsqrt(variance + 1e-5) * self.scale + self.shift


class Network(eqx.Module):
    """Observations to (batch, actions, outputs); the heads are the last two of its arrays.

    `n_beside` numbers, an action's, may come beside an observation.
    """

    convolutions: list[Convolution]
    hidden: list[Dense]
    #: One for each hidden layer, before its rectifiers; or none.
    norms: list[LayerNorm]
    heads: Dense
    n_actions: int = eqx.field(static=True)

    def __init__(
        self,
        shape: tuple[int, ...],
        n_actions: int,
        n_outputs: int,
        widths: tuple[int, ...],
        start: Initialisation,
        key: Array,
        layer_norm: bool = False,
        n_beside: int = 0,
    ) -> None:
        keys = iter(jax.random.split(key, len(widths) + 4))
        self.convolutions = []
        size = 1
        if len(shape) == 3:
            height, width, channels = shape
            for filters, kernel, stride in _filters(min(height, width)):
                self.convolutions.append(
                    Convolution(channels, filters, kernel, stride, start, next(keys))
                )
                height = (height - kernel) // stride + 1
                width = (width - kernel) // stride + 1
                channels = filters
            size = height * width * channels
        else:
            for length in shape:
                size *= length
        size += n_beside
        self.hidden = []
        for width in widths:
            self.hidden.append(Dense(size, width, start, next(keys)))
            size = width
        self.norms = [LayerNorm(width) for width in widths] if layer_norm else []
        self.heads = Dense(size, n_actions * n_outputs, start, next(keys))
        self.n_actions = n_actions

    def __call__(self, observations: Array, beside: Array | None = None) -> Array:
        x = observations
        for convolution in self.convolutions:
            x = jax.nn.relu(convolution(x))
        x = x.reshape(x.shape[0], -1)
        if beside is not None:
            x = jnp.concatenate([x, beside], axis=1)
        for i, layer in enumerate(self.hidden):
            x = layer(x)
            x = jax.nn.relu(self.norms[i](x) if self.norms else x)
        return self.heads(x).reshape(x.shape[0], self.n_actions, -1)


def _filters(side: int) -> list[tuple[int, int, int]]:
    """DQN's convolutions for large images (filters, kernel, stride), smaller ones for small."""
    if side >= 36:
        return [(32, 8, 4), (64, 4, 2), (64, 3, 1)]
    return [(16, 3, 1), (32, 3, 2)] if side >= 7 else [(16, min(2, side), 1)]


class Separate(eqx.Module):
    """One whole network per output, as the theory assumes: nothing is shared between horizons."""

    networks: Network

    def __init__(
        self,
        shape: tuple[int, ...],
        n_actions: int,
        n_outputs: int,
        widths: tuple[int, ...],
        start: Initialisation,
        key: Array,
        layer_norm: bool = False,
    ) -> None:
        def one(key: Array) -> Network:
            return Network(shape, n_actions, 1, widths, start, key, layer_norm)

        self.networks = eqx.filter_vmap(one)(jax.random.split(key, n_outputs))

    def __call__(self, observations: Array) -> Array:
        each = eqx.filter_vmap(lambda network: network(observations)[..., 0])(self.networks)
        return jnp.moveaxis(each, 0, -1)


def seeded(
    seed: int,
    shape: tuple[int, ...],
    n_actions: int,
    n_outputs: int,
    hidden: tuple[int, ...],
    start: Initialisation,
    unshared: bool,
    layer_norm: bool = False,
) -> "Network | Separate":
    """A network with the first weights of a seed."""
    words = np.random.SeedSequence(seed, spawn_key=(1,)).generate_state(2)
    key = jax.random.wrap_key_data(jnp.asarray(words, jnp.uint32))
    kind = Separate if unshared else Network
    return kind(shape, n_actions, n_outputs, hidden, start, key, layer_norm)


def split(network: Any) -> tuple[tuple[Array, ...], Callable[[tuple[Array, ...]], Any]]:
    """A network's arrays, and what makes the network of such arrays.

    A plain tuple goes in and out of compiled functions quicker than a tree of modules. A network of
    shapes only (`jax.eval_shape`) will do.
    """
    arrays, structure = eqx.partition(
        network, lambda leaf: eqx.is_array(leaf) or isinstance(leaf, jax.ShapeDtypeStruct)
    )
    leaves, tree = jax.tree.flatten(arrays)
    return tuple(leaves), lambda leaves: eqx.combine(jax.tree.unflatten(tree, leaves), structure)


def structure(make: Callable[[], Any]) -> Callable[[tuple[Array, ...]], Any]:
    """What makes the network of its arrays, without making the arrays."""
    return split(eqx.filter_eval_shape(make))[1]


def check_room(planned: Any) -> None:
    """Refuse a network and its optimiser, given as shapes, that would not fit into memory."""
    leaves = jax.tree.leaves(planned)
    checks.fits_memory(
        "the network and its optimiser need",
        sum(leaf.size * leaf.dtype.itemsize for leaf in leaves),
    )
