"""Q-learning with networks as pure functions; the backup is what tells DFHQ from DQN.

    loss = mean over the batch and outputs j of (target_j - Q_j(S, A))^2

where the targets are those of `Backup`, of U_j(S') = max over actions of Q_j(S', .).
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import numpy.typing as npt
import optax
from jax import Array

from fhtd.deep import networks, optimisers
from fhtd.deep.algorithm import Algorithm, Metrics
from fhtd.deep.backup import Backup
from fhtd.deep.codecs import DiscreteActions, Observations
from fhtd.deep.experience import Batch
from fhtd.deep.settings import QSettings

# Far below any value, yet finite: a forbidden action of a terminal state must count as 0.
_FORBIDDEN = -1e30


class State(NamedTuple):
    """All that learning changes."""

    #: The network's arrays, as `networks.split` gives them.
    parameters: tuple[Array, ...]
    #: None without a target network.
    target: tuple[Array, ...] | None
    optimiser: Any
    updates: Array


def q_learning(
    backup: Backup,
    settings: QSettings,
    observations: Observations,
    actions: DiscreteActions,
    seed: int,
    *,
    acting: npt.NDArray[np.float64],
    loss_weights: npt.NDArray[np.float64],
    unshared: bool = False,
    optimiser: optax.GradientTransformation | None = None,
) -> Algorithm:
    """The algorithm for one kind of observations and actions.

    Args:
        backup: which rewards each output sums, and which output it bootstraps from.
        settings: rates, target network, exploration.
        observations: how observations come.
        actions: how many there are to choose from.
        seed: of the first weights.
        acting: weight of each output in the score that actions are chosen by.
        loss_weights: weight of each output in the loss.
        unshared: a network for each output.
        optimiser: any of optax's in place of the one that the settings name.
    """

    def network() -> networks.Network | networks.Separate:
        return networks.seeded(
            seed,
            observations.shape,
            actions.n,
            backup.size,
            settings.hidden,
            settings.initialisation,
            unshared,
        )

    rebuild = networks.structure(network)
    if optimiser is None:
        optimiser = optimisers.build(
            settings.optimiser, settings.learning_rate, settings.max_grad_norm
        )
    score, importance = jnp.asarray(acting, jnp.float32), jnp.asarray(loss_weights, jnp.float32)

    def init() -> State:
        parameters = networks.split(network())[0]
        has_target = settings.target_update_interval > 1
        target = tuple(map(jnp.copy, parameters)) if has_target else None
        return State(parameters, target, optimiser.init(parameters), jnp.zeros((), jnp.int32))

    def outputs(parameters: tuple[Array, ...], seen: Array) -> Array:
        """Q_j(s, a): (batch, actions, outputs)."""
        found: Array = rebuild(parameters)(observations.to_network(seen))
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
        """Mean over the batch and (weighted) over outputs of the squared error."""
        all_values = outputs(parameters, batch.observations)
        # Only the heads of the action taken; a gather's gradient would be a slow scatter.
        taken = batch.actions[:, None].astype(int) == jnp.arange(all_values.shape[1])
        values = jnp.where(taken[:, :, None], all_values, 0).sum(axis=1)
        errors = jnp.where(known, (targets - values) ** 2, 0).mean(axis=0)
        return (importance * errors).mean(), errors

    def update(state: State, batch: Batch) -> tuple[State, Metrics]:
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
        return State(parameters, target, memory, updates), {"loss": errors, "target": mean}

    def act(parameters: tuple[Array, ...], seen: Array, masks: Array, key: Array | None) -> Array:
        """The greedy action by the weighted outputs; `explore` adds what is random."""
        del key
        scores = outputs(parameters, seen) @ score
        return jnp.where(masks, scores, _FORBIDDEN).argmax(axis=1)

    return Algorithm(init, update, act, outputs, epsilon_greedy(settings.epsilon, actions))


def epsilon_greedy(
    epsilon: Callable[[int], float], actions: DiscreteActions
) -> Callable[[np.random.Generator, Any, npt.NDArray[np.bool_], int], int]:
    """The greedy action, or with probability `epsilon(frame)` any that is permitted."""

    def explore(
        rng: np.random.Generator, greedy: int, mask: npt.NDArray[np.bool_], frame: int
    ) -> int:
        return actions.random(rng, mask) if rng.random() < epsilon(frame) else greedy

    return explore
