"""One compiled function per frame: learn from a batch and choose the next greedy action."""

from collections.abc import Callable
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from jax import Array

from fhtd.deep.backup import Backup
from fhtd.deep.settings import Settings

# Far below any value, yet finite: a forbidden action of a terminal state must count as 0.
_FORBIDDEN = -1e30


class Batch(NamedTuple):
    """Transitions as `Replay.sample` gives them."""

    observations: Any
    actions: Any
    rewards: Any
    next_observations: Any
    terminated: Any
    next_masks: Any


class State(NamedTuple):
    """All that training changes."""

    parameters: Any
    #: None without a target network.
    target: Any
    optimiser: Any
    updates: Array
    #: Since the last log: updates, and sums of squared errors and of targets of each output.
    summed: Array
    error_sum: Array
    target_sum: Array


class Functions(NamedTuple):
    """The compiled functions of one agent."""

    #: (state, batches, observations, masks) -> (state, [greedy action of each..., largest loss])
    frame: Callable[..., tuple[State, Array]]
    #: (parameters, observations, masks) -> greedy actions
    act: Callable[..., Array]
    #: (parameters, observations) -> (batch, actions, outputs)
    values: Callable[..., Array]


def build(
    structure: Any,
    backup: Backup,
    optimiser: optax.GradientTransformation,
    settings: Settings,
    acting: Array,
    loss_weights: Array,
) -> Functions:
    """Bind the settings; `structure` is the network without its arrays."""

    def outputs(parameters: Any, observations: Array) -> Array:
        found: Array = eqx.combine(parameters, structure)(observations)
        return found

    def next_values(parameters: Any, target: Any, batch: Batch) -> Array:
        """U_j(S'): the best permitted action of each output."""
        mask = batch.next_masks[:, :, None]
        online = outputs(parameters, batch.next_observations)
        if target is None:
            return jnp.where(mask, online, _FORBIDDEN).max(axis=1)
        fixed = outputs(target, batch.next_observations)
        if not settings.double:
            return jnp.where(mask, fixed, _FORBIDDEN).max(axis=1)
        chosen = jnp.where(mask, online, _FORBIDDEN).argmax(axis=1, keepdims=True)
        return jnp.take_along_axis(fixed, chosen, axis=1)[:, 0]

    def loss(parameters: Any, targets: Array, batch: Batch) -> tuple[Array, Array]:
        """Mean over the batch and (weighted) over horizons of the squared error."""
        all_values = outputs(parameters, batch.observations)
        taken = jnp.take_along_axis(all_values, batch.actions[:, None, None], axis=1)[:, 0]
        errors = ((targets - taken) ** 2).mean(axis=0)
        return (loss_weights * errors).mean(), errors

    def learn(state: State, batch: Batch) -> tuple[State, Array]:
        ahead = next_values(state.parameters, state.target, batch)
        targets = jax.lax.stop_gradient(backup.targets(batch.rewards, ahead, batch.terminated))
        (_, errors), gradients = jax.value_and_grad(loss, has_aux=True)(
            state.parameters, targets, batch
        )
        changes, memory = optimiser.update(gradients, state.optimiser, state.parameters)
        parameters = optax.apply_updates(state.parameters, changes)
        updates = state.updates + 1
        target = state.target
        if target is not None:
            due = updates % settings.target_update_interval == 0
            target = jax.tree.map(lambda new, old: jnp.where(due, new, old), parameters, target)
        return State(
            parameters,
            target,
            memory,
            updates,
            state.summed + 1,
            state.error_sum + errors,
            state.target_sum + targets.mean(axis=0),
        ), errors.max()

    def greedy(parameters: Any, observations: Array, masks: Array) -> Array:
        scores = outputs(parameters, observations) @ acting
        return jnp.where(masks, scores, _FORBIDDEN).argmax(axis=1)

    def frame(
        state: State, batches: tuple[Batch, ...], observations: Array, masks: Array
    ) -> tuple[State, Array]:
        largest = jnp.zeros(())
        for batch in batches:
            state, error = learn(state, batch)
            largest = jnp.maximum(largest, error)
        actions = greedy(state.parameters, observations, masks)
        return state, jnp.append(actions.astype(largest.dtype), largest)

    return Functions(jax.jit(frame, donate_argnums=0), jax.jit(greedy), jax.jit(outputs))
