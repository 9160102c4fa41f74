"""An algorithm is a small value of pure functions; it knows nothing of environments or files.

    init()                                      -> state
    act(parameters, observations, masks, key)   -> what to do, one for each observation;
                                                   without a key, the best it knows
    update(state, batch)                        -> state, metrics

The loop composes them into one compiled function per frame: learn from the batches that are due,
and choose what to do next.
"""

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

import jax
import jax.numpy as jnp
import numpy as np
import numpy.typing as npt
from jax import Array

from fhtd.deep.layout import Layout, Sample

#: Arrays by name. `loss`, one number for each output or a single one, is what divergence is
#: judged by; means of all since the last log are what is logged.
Metrics = dict[str, Array]


class Learned(Protocol):
    """What a state must have: the arrays that `act` needs, and the number of updates so far."""

    @property
    def parameters(self) -> Any:
        """What the agent acts and predicts by."""

    @property
    def updates(self) -> Array:
        """Gradient steps so far."""


class Algorithm(NamedTuple):
    """Pure functions, and how to explore.

    >>> import numpy as np
    >>> from fhtd.deep import DQN
    >>> algorithm = DQN("CartPole-v1", hidden=(8,), seed=0).make_algorithm()
    >>> state = algorithm.init()
    >>> int(state.updates)
    0
    >>> algorithm.values(state.parameters, np.zeros((3, 4))).shape  # observations, actions, outputs
    (3, 2, 1)
    """

    #: The first state: parameters, optimiser, counters.
    init: Callable[[], Any]
    #: (state, batch) -> (state, metrics).
    update: Callable[[Any, Any], tuple[Any, Metrics]]
    #: (parameters, observations, masks, key) -> actions, drawn with the key, or the best ones where
    #: it is None. No function where the agent is given a policy.
    act: Callable[[Any, Array, Array, Array | None], Array] | None = None
    #: (parameters, observations) -> what the agent expects, one row for each observation.
    values: Callable[[Any, Array], Array] | None = None
    #: (generator, what `act` chose, mask, frame) -> the action to take while learning.
    explore: Callable[[np.random.Generator, Any, npt.NDArray[np.bool_], int], Any] = (
        lambda rng, chosen, mask, frame: chosen
    )
    #: (parameters, observations, actions) -> what is expected of these actions, where they cannot
    #: be listed: one row for each.
    action_values: Callable[[Any, Array, Array], Array] | None = None


class Training(NamedTuple):
    """All that a compiled frame changes."""

    state: Any
    #: Since the last log: updates, and sums of each metric over them.
    summed: Array
    sums: Metrics


class Compiled(NamedTuple):
    """The compiled functions of one agent."""

    #: (training, samples, observations, masks, frame) -> (training, [actions..., largest loss])
    frame: Callable[..., tuple[Training, Array]]
    #: (parameters, observations, masks, frame) -> actions
    act: Callable[..., Array] | None
    #: (parameters, observations, masks) -> the best actions
    best: Callable[..., Array] | None
    #: (parameters, observations) -> values
    values: Callable[..., Array] | None
    #: (parameters, observations, actions) -> values
    action_values: Callable[..., Array] | None


def compiled(algorithm: Algorithm, layout: Layout, key: Array) -> Compiled:
    """One function per frame; `key` makes what `act` draws, frame by frame."""

    def choose(parameters: Any, observations: Array, masks: Array, frame: Array) -> Array:
        assert algorithm.act is not None
        return algorithm.act(parameters, observations, masks, jax.random.fold_in(key, frame))

    def best(parameters: Any, observations: Array, masks: Array) -> Array:
        assert algorithm.act is not None
        return algorithm.act(parameters, observations, masks, None)

    def step(
        training: Training,
        samples: tuple[Sample, ...],
        observations: Array,
        masks: Array,
        frame: Array,
    ) -> tuple[Training, Array]:
        state, summed, sums = training
        largest = jnp.zeros(())
        for sample in samples:
            state, metrics = algorithm.update(state, layout.unpack(sample))
            summed = summed + 1
            sums = {name: sums[name] + value for name, value in metrics.items()}
            largest = jnp.maximum(largest, metrics["loss"].max())
        training = Training(state, summed, sums)
        if algorithm.act is None:
            return training, largest[None]
        actions = choose(state.parameters, observations, masks, frame)
        if jnp.issubdtype(actions.dtype, jnp.floating):
            # A policy that is not finite has diverged, whatever its critics say.
            largest = jnp.where(jnp.isfinite(actions).all(), largest, jnp.inf)
        return training, jnp.append(actions.astype(largest.dtype), largest)

    return Compiled(
        jax.jit(step, donate_argnums=0),
        None if algorithm.act is None else jax.jit(choose),
        None if algorithm.act is None else jax.jit(best),
        None if algorithm.values is None else jax.jit(algorithm.values),
        None if algorithm.action_values is None else jax.jit(algorithm.action_values),
    )


def planned(algorithm: Algorithm, layout: Layout) -> Any:
    """Shapes of everything that training changes, without taking the memory."""
    state = jax.eval_shape(algorithm.init)
    batch = jax.eval_shape(layout.unpack, jax.eval_shape(lambda: _one_row(layout)))
    _, metrics = jax.eval_shape(algorithm.update, state, batch)
    count = jax.eval_shape(lambda: jnp.zeros((), jnp.int32))
    return Training(state, count, metrics)


def _one_row(layout: Layout) -> Sample:
    shape, dtype = layout.observations.shape, layout.observations.dtype
    rows = jnp.zeros((1, layout.width), jnp.float32)
    if not layout.is_image:
        return Sample(rows, None, None)
    following = jnp.zeros((1, *layout.following_shape), dtype)
    return Sample(rows, jnp.zeros((1, *shape), dtype), following)


def begin(algorithm: Algorithm, plan: Any, state: Any = None) -> Training:
    """The first state, or the one given, with nothing summed yet."""
    sums = {name: jnp.zeros(one.shape, one.dtype) for name, one in plan.sums.items()}
    first = algorithm.init() if state is None else state
    return Training(first, jnp.zeros((), jnp.int32), sums)
