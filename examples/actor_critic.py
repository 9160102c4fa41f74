"""A fixed-horizon actor-critic in one file, outside the package.

The critic learns V^h(S) towards R + gamma V^(h-1)(S'), V^0 = 0, from the newest steps; the actor
takes actions more often that did better than V^H expected. Loop, checkpoints, logs and pages are
the package's:

    cd examples
    fhtd train CartPole-v1 --algorithm actor_critic:ActorCritic --frames 100000 --out ac
    fhtd watch ac --algorithm actor_critic:ActorCritic
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import optax

from fhtd import Weighting
from fhtd.deep import Agent, Algorithm, Backup, Settings, networks, optimisers
from fhtd.deep.experience import Rollout
from fhtd.deep.layout import Layout


@dataclass(frozen=True, kw_only=True)
class ActorCriticSettings(Settings):
    """Settings of ActorCritic."""

    horizon: int = 32
    """Final horizon H, by which actions are judged."""
    rollout: int = 64
    """Steps between updates; each is learned from once."""
    entropy: float = 0.01
    """How much a varied policy is worth."""
    optimiser: optimisers.Name = "adam"
    """Name of the optimiser."""
    learning_rate: float = 1e-3
    """Learning rate of actor and critic."""


class State(NamedTuple):
    """All that learning changes."""

    parameters: Any
    optimiser: Any
    updates: Any


class ActorCritic(Agent[ActorCriticSettings]):
    """One-step fixed-horizon actor-critic for discrete actions."""

    settings_type = ActorCriticSettings

    def make_algorithm(self) -> Algorithm:
        chosen, see, n = self.settings, self.observations, self.actions.n
        self.weighting = Weighting.exponential(chosen.horizon, chosen.discount)
        backup = Backup.fixed_horizons(self.weighting)
        optimiser = chosen.make_optimiser()

        def both() -> Any:
            shared = (chosen.hidden, chosen.initialisation, False)
            critic = networks.seeded(self.seed, see.shape, 1, chosen.horizon, *shared)
            return critic, networks.seeded(self.seed + 2**32, see.shape, n, 1, *shared)

        rebuild = networks.structure(both)

        def init() -> State:
            parameters = networks.split(both())[0]
            return State(parameters, optimiser.init(parameters), jnp.zeros((), jnp.int32))

        def values(parameters: Any, seen: Any) -> Any:
            return rebuild(parameters)[0](see.to_network(seen))

        def log_policy(parameters: Any, seen: Any, masks: Any = True) -> Any:
            logits = rebuild(parameters)[1](see.to_network(seen))[..., 0]
            return jax.nn.log_softmax(jnp.where(masks, logits, -1e30))

        def act(parameters: Any, seen: Any, masks: Any, key: Any) -> Any:
            logs = log_policy(parameters, seen, masks)
            return logs.argmax(axis=1) if key is None else jax.random.categorical(key, logs)

        def loss(parameters: Any, batch: Any, targets: Any) -> Any:
            expected = values(parameters, batch.observations)[:, 0]
            better = jax.lax.stop_gradient(targets - expected)[:, -1]
            logs = log_policy(parameters, batch.observations)
            taken = jnp.take_along_axis(logs, batch.actions[:, None].astype(int), axis=1)[:, 0]
            entropy = -(jnp.exp(logs) * logs).sum(axis=1).mean()
            errors = ((targets - expected) ** 2).mean(axis=0)
            return errors.mean() - (better * taken).mean() - chosen.entropy * entropy, errors

        def update(state: State, batch: Any) -> tuple[State, dict[str, Any]]:
            ahead = values(state.parameters, batch.next_observations)[:, 0]
            targets, _ = backup.targets(batch, ahead)
            slope, errors = jax.grad(loss, has_aux=True)(state.parameters, batch, targets)
            changes, memory = optimiser.update(slope, state.optimiser, state.parameters)
            parameters = optax.apply_updates(state.parameters, changes)
            return State(parameters, memory, state.updates + 1), {"loss": errors}

        return Algorithm(init, update, act, values)

    def make_experience(self) -> Rollout:
        layout = Layout(self.observations, self.actions, 1)
        return Rollout(self.settings.rollout, layout, n_streams=self.settings.n_envs)
