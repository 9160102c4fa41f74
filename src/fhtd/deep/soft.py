"""Soft actor-critic as pure functions; the backup is what tells FHSAC from SAC.

    U_j(S') = min over critics of Q_j(S', A') - alpha c_j log pi(A'|S'),   A' from the policy
    critics: mean over the batch and outputs j of (target_j - Q_j(S, A))^2
    actor:   maximise  sum_j w_j (min over critics of Q_j(S, A) - alpha c_j log pi(A|S))
    temperature: alpha grows where the policy's entropy is below what is wanted, and falls above

where the targets are those of `Backup`, of U. What the entropy of a step is worth is weighed as the
reward of that step is (c_j; 1 under exponential discounting), and horizon 0 brings none: U_0 = 0.
"""

from dataclasses import replace
from functools import reduce
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import numpy.typing as npt
import optax
from jax import Array

from fhtd.deep import gaussian, networks, windows
from fhtd.deep.algorithm import Algorithm, Metrics
from fhtd.deep.backup import Backup
from fhtd.deep.codecs import BoxActions, Observations
from fhtd.deep.layout import Batch
from fhtd.deep.settings import SoftSettings

Arrays = tuple[Array, ...]
#: Apart: stacked, each product would be followed by a transposition.
Critics = tuple[Arrays, ...]
N_CRITICS = 2


class Parameters(NamedTuple):
    """What is learned by descent."""

    #: As `networks.split` gives them.
    actor: Arrays
    #: The same of each critic.
    critics: Critics
    log_temperature: Array


class State(NamedTuple):
    """All that learning changes."""

    parameters: Parameters
    #: Critics that follow slowly; None without target networks.
    target: Critics | None
    #: Of the actor, the critics and the temperature.
    optimiser: Any
    updates: Array
    #: Of each critic; None where the horizons stay where they are.
    base: tuple[windows.Base, ...] | None = None
    #: The target networks' own, whose heads fit their hidden layers; None without either.
    target_base: tuple[windows.Base, ...] | None = None


def soft_actor_critic(
    backup: Backup,
    settings: SoftSettings,
    observations: Observations,
    actions: BoxActions,
    seed: int,
    *,
    entropy_weights: npt.NDArray[np.float64],
    acting: npt.NDArray[np.float64],
    loss_weights: npt.NDArray[np.float64],
    deepen_every: int | None = None,
    optimiser: optax.GradientTransformation | None = None,
) -> Algorithm:
    """The algorithm for one kind of observations and actions.

    Args:
        backup: which rewards each output sums, and which output it bootstraps from.
        settings: rates, target networks, temperature.
        observations: how observations come.
        actions: how many numbers there are to choose.
        seed: of the first weights, and of what is drawn while learning.
        entropy_weights: c_j, what the entropy of a step counts for in each output.
        acting: w_j, weight of each output in what the actor maximises.
        loss_weights: weight of each output in the critics' loss.
        deepen_every: updates between moves of the window of horizons; None for never.
        optimiser: any of optax's in place of the one that the settings name.
    """
    first_key, noise_key = (_key(seed, spawn) for spawn in (1, 6))
    wanted_entropy = settings.target_entropy
    if wanted_entropy is None:
        wanted_entropy = -float(actions.size)
    size, shape = actions.size, observations.shape

    def make_actor() -> networks.Network:
        key = jax.random.fold_in(first_key, N_CRITICS)
        return networks.Network(shape, size, 2, settings.hidden, settings.initialisation, key)

    def make_critic(number: int) -> networks.Network:
        return networks.Network(
            shape,
            1,
            backup.size,
            settings.hidden,
            settings.initialisation,
            jax.random.fold_in(first_key, number),
            settings.layer_norm,
            n_beside=size,
        )

    actor_of = networks.structure(make_actor)
    critic_of = networks.structure(lambda: make_critic(0))
    chosen = optimiser or settings.make_optimiser()
    of_temperature = optimiser or replace(settings, max_grad_norm=None).make_optimiser()
    # Only the outputs that the actor looks at are computed for it.
    looked_at = np.flatnonzero(acting)
    score = jnp.asarray(acting[looked_at], jnp.float32)
    entropy_score = float(acting @ entropy_weights)
    weights = jnp.asarray(entropy_weights, jnp.float32)
    importance = jnp.asarray(loss_weights, jnp.float32)

    def init() -> State:
        actor = networks.split(make_actor())[0]
        critics = tuple(networks.split(make_critic(i))[0] for i in range(N_CRITICS))
        fixed = settings.temperature
        begun = settings.initial_temperature if fixed is None else fixed
        log_temperature = jnp.log(jnp.float32(begun))
        memory = (
            chosen.init(actor),
            chosen.init(critics),
            None if fixed is not None else of_temperature.init(log_temperature),
        )
        base = None
        if deepen_every is not None:
            base = tuple(windows.grounded(arrays, 1) for arrays in critics)
        target = None if settings.tau is None else jax.tree.map(jnp.copy, critics)
        its_base = None if base is None or target is None else jax.tree.map(jnp.copy, base)
        parameters = Parameters(actor, critics, log_temperature)
        return State(parameters, target, memory, jnp.zeros((), jnp.int32), base, its_base)

    def policy(actor: Arrays, seen: Array) -> Array:
        """Mean and log deviation of each of an action's numbers: (batch, numbers, 2)."""
        found: Array = actor_of(actor)(seen)
        return found

    def judged(critics: Critics, seen: Array, done: Array) -> list[Array]:
        """Q_j(s, a) of each critic: (batch, outputs)."""
        return [critic_of(arrays)(seen, done)[:, 0] for arrays in critics]

    def next_values(state: State, following: Array, noise: Array) -> tuple[Array, Array | None]:
        """U_j(S'), and of the base, if there is one."""
        parameters = state.parameters
        base = state.base if state.target is None else state.target_base
        done, log_density = gaussian.drawn(policy(parameters.actor, following), noise)
        critics = parameters.critics if state.target is None else state.target
        if base is not None:
            critics = tuple(map(windows.widened, critics, base))
        lowest = reduce(jnp.minimum, judged(critics, following, done))
        bonus = -jnp.exp(parameters.log_temperature) * log_density[:, None]
        if base is None:
            return lowest + bonus * weights, None
        # The base is horizon 0, which brings nothing, until the window has moved.
        beneath = jnp.where(base[0].moves > 0, lowest[:, :1] + bonus * weights[0], 0)
        return lowest[:, 1:] + bonus * weights, beneath

    def critics_loss(
        critics: Critics, seen: Array, done: Array, targets: Array, known: Any
    ) -> tuple[Array, Array]:
        """Summed over critics; mean over the batch and (weighted) over outputs."""
        each = [
            jnp.where(known, jnp.square(targets - values), 0).mean(axis=0)
            for values in judged(critics, seen, done)
        ]
        errors = reduce(jnp.add, each)
        return (importance * errors).mean(), errors / N_CRITICS

    def actor_loss(
        actor: Arrays, critics: Critics, log_temperature: Array, seen: Array, noise: Array
    ) -> tuple[Array, Array]:
        """What the actor maximises, negative; and the mean log-density."""
        done, log_density = gaussian.drawn(policy(actor, seen), noise)
        few = tuple((*one[:-2], one[-2][:, looked_at], one[-1][looked_at]) for one in critics)
        value = reduce(jnp.minimum, judged(few, seen, done)) @ score
        cost = jnp.exp(log_temperature) * entropy_score * log_density
        return (cost - value).mean(), log_density.mean()

    def update(state: State, batch: Batch) -> tuple[State, Metrics]:
        (actor, critics, log_temperature), (for_actor, for_critics, for_temperature) = (
            state.parameters,
            state.optimiser,
        )
        seen = observations.to_network(batch.observations)
        following = observations.to_network(batch.next_observations)
        key = jax.random.fold_in(noise_key, state.updates)
        noise, next_noise = jax.random.normal(key, (2, len(batch.actions), size))
        targets, known = backup.targets(batch, *next_values(state, following, next_noise))
        slope, errors = jax.grad(critics_loss, has_aux=True)(
            critics, seen, batch.actions, targets, known
        )
        changes, for_critics = chosen.update(slope, for_critics, critics)
        critics = optax.apply_updates(critics, changes)
        slope, log_density = jax.grad(actor_loss, has_aux=True)(
            actor, critics, log_temperature, seen, noise
        )
        changes, for_actor = chosen.update(slope, for_actor, actor)
        actor = optax.apply_updates(actor, changes)
        temperature = jnp.exp(log_temperature)
        if for_temperature is not None:
            down = -(log_density + wanted_entropy)
            change, for_temperature = of_temperature.update(down, for_temperature, log_temperature)
            log_temperature = optax.apply_updates(log_temperature, change)
        updates = state.updates + 1
        target, base, its_base = state.target, state.base, state.target_base
        if target is not None:
            target = optax.incremental_update(critics, target, settings.tau)
            if base is not None and its_base is not None:
                its_base = tuple(map(nearer, its_base, base))
        if base is not None and deepen_every is not None:
            due = updates % deepen_every == 0
            if target is not None and its_base is not None:
                target, its_base = windows.where(due, moved(target, its_base), (target, its_base))
            critics, base = windows.where(due, moved(critics, base), (critics, base))
        counted = jnp.broadcast_to(known, targets.shape)
        mean = jnp.where(counted, targets, 0).sum(axis=0) / jnp.maximum(counted.sum(axis=0), 1)
        found = State(
            Parameters(actor, critics, log_temperature),
            target,
            (for_actor, for_critics, for_temperature),
            updates,
            base,
            its_base,
        )
        metrics = {"loss": errors, "target": mean, "entropy": -log_density}
        return found, metrics | {"ent_coef": temperature}

    def nearer(slow: windows.Base, quick: windows.Base) -> windows.Base:
        """A target network's base follows as its other arrays do."""
        weight, bias = optax.incremental_update(quick[:2], slow[:2], settings.tau)
        return windows.Base(weight, bias, quick.moves)

    def act(parameters: Parameters, observed: Array, masks: Array, key: Array | None) -> Array:
        """Drawn from the policy with the key, or its middle."""
        del masks
        outputs = policy(parameters.actor, observations.to_network(observed))
        if key is None:
            found = gaussian.middle(outputs)
        else:
            found = gaussian.drawn(outputs, jax.random.normal(key, outputs.shape[:2]))[0]
        # Where a divergence is only noted, what has lost its mind does nothing, and goes on.
        return jnp.nan_to_num(found) if settings.on_divergence == "record" else found

    def action_values(parameters: Parameters, observed: Array, done: Array) -> Array:
        """What the critics expect of actions, on average: (batch, outputs)."""
        found = judged(parameters.critics, observations.to_network(observed), done)
        mean: Array = reduce(jnp.add, found) / N_CRITICS
        return mean

    def explore(
        rng: np.random.Generator, drawn: Any, mask: npt.NDArray[np.bool_], frame: int
    ) -> Any:
        """Any action until there is something to learn from."""
        return actions.random(rng, mask) if frame < settings.learning_starts else drawn

    return Algorithm(init, update, act, explore=explore, action_values=action_values)


def moved(
    critics: Critics, base: tuple[windows.Base, ...]
) -> tuple[Critics, tuple[windows.Base, ...]]:
    """Every critic's window one horizon further."""
    arrays, below = zip(*map(windows.moved, critics, base), strict=True)
    return arrays, below


def _key(seed: int, spawn: int) -> Array:
    words = np.random.SeedSequence(seed, spawn_key=(spawn,)).generate_state(2)
    found: Array = jax.random.wrap_key_data(jnp.asarray(words, jnp.uint32))
    return found
