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

from fhtd.deep import networks, normaliser, windows
from fhtd.deep.algorithm import Algorithm, Metrics
from fhtd.deep.backup import Backup
from fhtd.deep.codecs import DiscreteActions, Observations
from fhtd.deep.layout import Batch
from fhtd.deep.normaliser import Seen
from fhtd.deep.settings import QSettings

Arrays = tuple[Array, ...]

# Far below any value, yet finite: a forbidden action of a terminal state must count as 0.
_FORBIDDEN = -1e30


class State(NamedTuple):
    """All that learning changes."""

    #: The network's arrays, as `networks.split` gives them; before them, where observations are
    #: normalised, what they are normalised by.
    parameters: tuple[Any, ...]
    #: None without a target network.
    target: Arrays | None
    optimiser: Any
    updates: Array
    #: None where the horizons stay where they are.
    base: windows.Base | None = None
    #: The target network's own, whose heads fit its hidden layers; None without either.
    target_base: windows.Base | None = None


def q_learning(
    backup: Backup,
    settings: QSettings,
    observations: Observations,
    actions: DiscreteActions,
    seed: int,
    *,
    acting: npt.NDArray[np.float64] | None,
    loss_weights: npt.NDArray[np.float64],
    unshared: bool = False,
    deepen_every: int | None = None,
    optimiser: optax.GradientTransformation | None = None,
) -> Algorithm:
    """The algorithm for one kind of observations and actions.

    Args:
        backup: which rewards each output sums, and which output it bootstraps from.
        settings: rates, target network, exploration.
        observations: how observations come.
        actions: how many there are to choose from.
        seed: of the first weights.
        acting: weight of each output in the score that actions are chosen by; None for agreement.
        loss_weights: weight of each output in the loss.
        unshared: a network for each output.
        deepen_every: updates between moves of the window of horizons; None for never.
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
            settings.layer_norm,
        )

    rebuild = networks.structure(network)
    if optimiser is None:
        optimiser = settings.make_optimiser()
    normalises = settings.normalise
    cost = jnp.square if settings.loss == "squared" else optax.huber_loss
    score = None if acting is None else jnp.asarray(acting, jnp.float32)
    importance = jnp.asarray(loss_weights, jnp.float32)

    def init() -> State:
        arrays = networks.split(network())[0]
        has_target = settings.target_update_interval > 1
        target = tuple(map(jnp.copy, arrays)) if has_target else None
        base = None if deepen_every is None else windows.grounded(arrays, actions.n)
        its_base = None if base is None or target is None else jax.tree.map(jnp.copy, base)
        parameters = (normaliser.begin(observations.shape), *arrays) if normalises else arrays
        none_yet = jnp.zeros((), jnp.int32)
        return State(parameters, target, optimiser.init(arrays), none_yet, base, its_base)

    def parted(parameters: tuple[Any, ...]) -> tuple[Seen | None, Arrays]:
        """What observations are normalised by, and the network's arrays."""
        return (parameters[0], parameters[1:]) if normalises else (None, parameters)

    def outputs(seen: Seen | None, arrays: Arrays, observed: Array) -> Array:
        """Q_j(s, a): (batch, actions, outputs)."""
        x = observations.to_network(observed)
        found: Array = rebuild(arrays)(x if seen is None else normaliser.apply(seen, x))
        return found

    def next_values(
        seen: Seen | None, arrays: Arrays, state: State, batch: Batch
    ) -> tuple[Array, Array | None]:
        """U_j(S'): the best permitted action of each output; and of the base, if there is one."""

        def of(following: Array, masks: Array) -> tuple[Array, Array | None]:
            return ahead(seen, arrays, state, following, masks)

        # A hybrid bootstraps from several states.
        each = of if len(backup.lengths) == 1 else jax.vmap(of, in_axes=1, out_axes=1)
        return each(batch.next_observations, batch.next_masks)

    def ahead(
        seen: Seen | None, arrays: Arrays, state: State, following: Array, masks: Array
    ) -> tuple[Array, Array | None]:
        """The same of one state that follows."""
        mask = masks[:, :, None] > 0

        def valued_by(arrays: Arrays, base: windows.Base | None) -> Array:
            """Q_j(S', .), the base first where there is one; what is forbidden is far below."""
            if base is not None:
                arrays = windows.widened(arrays, base)
            return jnp.where(mask, outputs(seen, arrays, following), _FORBIDDEN)

        fixed = state.target
        if fixed is None or settings.double:
            online = valued_by(arrays, state.base)
        else:
            online = valued_by(fixed, state.target_base)
        if not settings.double:
            found = online.max(axis=1)
        elif fixed is not None:
            chosen = online.argmax(axis=1, keepdims=True)
            found = jnp.take_along_axis(valued_by(fixed, state.target_base), chosen, axis=1)[:, 0]
        else:
            # The output above, which in a chain bootstraps from j, says which action it is about.
            above = jnp.concatenate([online[:, :, 1:], online[:, :, -1:]], axis=2)
            chosen = above.argmax(axis=1, keepdims=True)
            found = jnp.take_along_axis(online, chosen, axis=1)[:, 0]
        return (found, None) if state.base is None else (found[:, 1:], found[:, :1])

    def loss(
        arrays: Arrays, seen: Seen | None, targets: Array, known: Any, batch: Batch
    ) -> tuple[Array, Array]:
        """Mean over the batch and (weighted) over outputs of the error's cost."""
        all_values = outputs(seen, arrays, batch.observations)
        # Only the heads of the action taken; a gather's gradient would be a slow scatter.
        taken = batch.actions[:, None].astype(int) == jnp.arange(all_values.shape[1])
        values = jnp.where(taken[:, :, None], all_values, 0).sum(axis=1)
        errors = jnp.where(known, cost(targets - values), 0).mean(axis=0)
        return (importance * errors).mean(), errors

    def update(state: State, batch: Batch) -> tuple[State, Metrics]:
        seen, arrays = parted(state.parameters)
        if seen is not None:
            seen = normaliser.update(seen, observations.to_network(batch.observations))
        targets, known = backup.targets(batch, *next_values(seen, arrays, state, batch))
        gradients, errors = jax.grad(loss, has_aux=True)(arrays, seen, targets, known, batch)
        changes, memory = optimiser.update(gradients, state.optimiser, arrays)
        arrays = optax.apply_updates(arrays, changes)
        updates = state.updates + 1
        target, base, its_base = state.target, state.base, state.target_base
        if target is not None:
            due = updates % settings.target_update_interval == 0
            target, its_base = windows.where(due, (arrays, base), (target, its_base))
        if base is not None and deepen_every is not None:
            due = updates % deepen_every == 0
            if target is not None and its_base is not None:
                target, its_base = windows.where(
                    due, windows.moved(target, its_base), (target, its_base)
                )
            arrays, base = windows.where(due, windows.moved(arrays, base), (arrays, base))
        counted = jnp.broadcast_to(known, targets.shape)
        mean = jnp.where(counted, targets, 0).sum(axis=0) / jnp.maximum(counted.sum(axis=0), 1)
        parameters = arrays if seen is None else (seen, *arrays)
        found = State(parameters, target, memory, updates, base, its_base)
        return found, {"loss": errors, "target": mean}

    def values(parameters: tuple[Any, ...], observed: Array) -> Array:
        """What is expected of each action at each output."""
        return outputs(*parted(parameters), observed)

    def act(parameters: tuple[Any, ...], observed: Array, masks: Array, key: Array | None) -> Array:
        """The greedy action by the weighted outputs; `explore` adds what is random."""
        del key
        found = values(parameters, observed)
        scores = agreement(found, masks[:, :, None], jnp) if score is None else found @ score
        return jnp.where(masks, scores, _FORBIDDEN).argmax(axis=1)

    return Algorithm(init, update, act, values, epsilon_greedy(settings.epsilon, actions))


def agreement(values: Any, permitted: Any, module: Any = np) -> Any:
    """What all outputs agree on: each has its worst permitted action at 0 and its best at 1.

    An output to which the actions are alike does not count, one to which they differ counts as much
    as any other, however large its values are. Then the mean over outputs, which come last; actions
    come before them. NumPy or JAX arrays.

    Args:
        values: Of each action and output.
        permitted: Which actions may be chosen, with an axis for the outputs.
        module: NumPy, or its twin in JAX.
    """
    lowest = module.where(permitted, values, -_FORBIDDEN).min(axis=-2, keepdims=True)
    highest = module.where(permitted, values, _FORBIDDEN).max(axis=-2, keepdims=True)
    spread = highest - lowest
    return ((values - lowest) / module.where(spread > 0, spread, 1)).mean(axis=-1)


def epsilon_greedy(
    epsilon: Callable[[int], float], actions: DiscreteActions
) -> Callable[[np.random.Generator, Any, npt.NDArray[np.bool_], int], int]:
    """The greedy action, or with probability `epsilon(frame)` any that is permitted."""

    def explore(
        rng: np.random.Generator, greedy: int, mask: npt.NDArray[np.bool_], frame: int
    ) -> int:
        return actions.random(rng, mask) if rng.random() < epsilon(frame) else greedy

    return explore
