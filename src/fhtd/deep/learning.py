"""One compiled function per frame: learn from a batch and choose the next greedy action."""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import optax
from jax import Array

from fhtd.deep.backup import Backup
from fhtd.deep.replay import Batch, Layout, Sample
from fhtd.deep.settings import Settings

# Far below any value, yet finite: a forbidden action of a terminal state must count as 0.
_FORBIDDEN = -1e30


class State(NamedTuple):
    """All that training changes."""

    #: The network's arrays, as `networks.split` gives them.
    parameters: tuple[Array, ...]
    #: None without a target network.
    target: tuple[Array, ...] | None
    optimiser: Any
    updates: Array
    #: Since the last log: updates, and sums of squared errors and of targets of each output.
    summed: Array
    error_sum: Array
    target_sum: Array


class Functions(NamedTuple):
    """The compiled functions of one agent."""

    #: (state, samples, observations, masks) -> (state, [greedy action of each..., largest loss])
    frame: Callable[..., tuple[State, Array]]
    #: (parameters, observations, masks) -> greedy actions
    act: Callable[..., Array]
    #: (parameters, observations) -> (batch, actions, outputs)
    values: Callable[..., Array]


def build(
    rebuild: Callable[[tuple[Array, ...]], Any],
    layout: Layout,
    scaling: float | None,
    backup: Backup,
    optimiser: optax.GradientTransformation,
    settings: Settings,
    acting: Array,
    loss_weights: Array,
) -> Functions:
    """Bind the settings; `rebuild` makes the network of its arrays."""

    def outputs(parameters: tuple[Array, ...], observations: Array) -> Array:
        seen = observations.astype(jnp.float32)
        found: Array = rebuild(parameters)(seen if scaling is None else seen * scaling)
        return found

    def next_values(state: State, batch: Batch) -> Array:
        """U_j(S'): the best permitted action of each output."""
        mask = batch.next_masks[:, :, None] > 0
        online = state.parameters if state.target is None or settings.double else state.target
        permitted = jnp.where(mask, outputs(online, batch.next_observations), _FORBIDDEN)
        if not settings.double:
            return permitted.max(axis=1)
        assert state.target is not None
        fixed = outputs(state.target, batch.next_observations)
        chosen = permitted.argmax(axis=1, keepdims=True)
        return jnp.take_along_axis(fixed, chosen, axis=1)[:, 0]

    def loss(
        parameters: tuple[Array, ...], targets: Array, known: Any, batch: Batch
    ) -> tuple[Array, Array]:
        """Mean over the batch and (weighted) over horizons of the squared error."""
        all_values = outputs(parameters, batch.observations)
        # Only the heads of the action taken; a gather's gradient would be a slow scatter.
        taken = batch.actions[:, None].astype(int) == jnp.arange(all_values.shape[1])
        values = jnp.where(taken[:, :, None], all_values, 0).sum(axis=1)
        errors = jnp.where(known, (targets - values) ** 2, 0).mean(axis=0)
        return (loss_weights * errors).mean(), errors

    def learn(state: State, batch: Batch) -> tuple[State, Array]:
        targets, known = backup.targets(batch, next_values(state, batch))
        gradients, errors = jax.grad(loss, has_aux=True)(state.parameters, targets, known, batch)
        changes, memory = optimiser.update(gradients, state.optimiser, state.parameters)
        parameters = optax.apply_updates(state.parameters, changes)
        updates = state.updates + 1
        target = state.target
        if target is not None:
            due = updates % settings.target_update_interval == 0
            target = jax.tree.map(lambda new, old: jnp.where(due, new, old), parameters, target)
        counted = jnp.broadcast_to(known, targets.shape)
        mean = jnp.where(counted, targets, 0).sum(axis=0) / jnp.maximum(counted.sum(axis=0), 1)
        return State(
            parameters,
            target,
            memory,
            updates,
            state.summed + 1,
            state.error_sum + errors,
            state.target_sum + mean,
        ), errors.max()

    def greedy(parameters: tuple[Array, ...], observations: Array, masks: Array) -> Array:
        scores = outputs(parameters, observations) @ acting
        return jnp.where(masks, scores, _FORBIDDEN).argmax(axis=1)

    def frame(
        state: State, samples: tuple[Sample, ...], observations: Array, masks: Array
    ) -> tuple[State, Array]:
        largest = jnp.zeros(())
        for sample in samples:
            state, error = learn(state, layout.unpack(sample))
            largest = jnp.maximum(largest, error)
        actions = greedy(state.parameters, observations, masks)
        return state, jnp.append(actions.astype(largest.dtype), largest)

    return Functions(jax.jit(frame, donate_argnums=0), jax.jit(greedy), jax.jit(outputs))
