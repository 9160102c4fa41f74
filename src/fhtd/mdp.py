"""A finite Markov decision process as frozen arrays.

| here                          | paper                                             |
|-------------------------------|---------------------------------------------------|
| probabilities[s, a, k]        | p(s', r | s, a), over a list of outcomes k        |
| next_states, rewards [s,a,k]  | s' and r of outcome k                             |
| terminal[s, a, k]             | the episode ends with outcome k: s' is worth 0    |
| start[s]                      | p(s_0)                                            |
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from fhtd import checks
from fhtd.environments import make


def closure(
    found: npt.NDArray[np.bool_], origins: npt.NDArray[Any], ends: npt.NDArray[Any]
) -> npt.NDArray[np.bool_]:
    """The states found, and all that the edges origins[i] -> ends[i] lead to from them."""
    found = found.copy()
    while True:
        met = ends[found[origins]]
        if found[met].all():
            return found
        found[met] = True


@dataclass(frozen=True, eq=False, repr=False)
class FiniteMDP:
    """States and actions are integers; lists of outcomes are padded with probability 0.

    It is an outcome that ends an episode, not a state: a state that episodes end in has outcomes of
    its own, which count for whoever asks about that state.
    """

    #: (states, actions, outcomes): the chance of each outcome.
    probabilities: npt.NDArray[np.float64]
    #: (states, actions, outcomes): the state that each leads to.
    next_states: npt.NDArray[np.int64]
    #: (states, actions, outcomes): the reward that comes with each.
    rewards: npt.NDArray[np.float64]
    #: (states, actions, outcomes): whether the episode ends with it, so that nothing follows.
    terminal: npt.NDArray[np.bool_]
    #: (states,): the chance of beginning in each.
    start: npt.NDArray[np.float64]
    #: What to call it.
    name: str = "MDP"
    #: One for each action; their numbers where none are given.
    action_names: tuple[str, ...] = ()
    #: Row and column of each state for drawing, or None where there is no map.
    positions: npt.NDArray[np.int64] | None = None

    def __post_init__(self) -> None:
        p = checks.probabilities("probabilities", self.probabilities, (None, None, None))
        shape = p.shape
        if 0 in shape:
            raise ValueError(f"probabilities must have states, actions, outcomes, got {shape}")
        following = np.asarray(self.next_states)
        if not np.issubdtype(following.dtype, np.integer):
            raise TypeError(f"next_states must hold integers, got dtype {following.dtype}")
        if following.shape != shape:
            raise ValueError(f"next_states must have shape {shape}, got {following.shape}")
        if np.any(following < 0) or np.any(following >= shape[0]):
            raise ValueError(f"next_states must be states from 0 to {shape[0] - 1}")
        terminal = np.asarray(self.terminal)
        if terminal.dtype != np.bool_ or terminal.shape != shape:
            raise ValueError(f"terminal must be booleans of shape {shape}")
        names = tuple(self.action_names) or tuple(str(a) for a in range(shape[1]))
        if len(names) != shape[1]:
            raise ValueError(f"action_names must name {shape[1]} actions, got {len(names)}")
        checked = {
            "probabilities": p,
            "next_states": following.astype(np.int64),
            "rewards": checks.array("rewards", self.rewards, shape),
            "terminal": terminal,
            "start": checks.probabilities("start", self.start, (shape[0],)),
        }
        if self.positions is not None:
            positions = np.asarray(self.positions)
            if positions.shape != (shape[0], 2) or not np.issubdtype(positions.dtype, np.integer):
                raise ValueError(f"positions must be integers of shape ({shape[0]}, 2)")
            if np.any(positions < 0):
                raise ValueError("positions must be at least 0")
            checked["positions"] = positions.astype(np.int64)
        for field, value in checked.items():
            object.__setattr__(self, field, checks.frozen(value))
        object.__setattr__(self, "action_names", names)

    @property
    def n_states(self) -> int:
        """Number of states, terminal ones included."""
        return len(self.probabilities)

    @property
    def n_actions(self) -> int:
        """Number of actions, the same in every state."""
        return int(self.probabilities.shape[1])

    @cached_property
    def decision_states(self) -> npt.NDArray[np.bool_]:
        """States in which a decision can come up, from the start on."""
        at = np.nonzero((self.probabilities > 0) & ~self.terminal)
        return checks.frozen(closure(self.start > 0, at[0], self.next_states[at]))

    @cached_property
    def terminal_states(self) -> npt.NDArray[np.bool_]:
        """States in which no decision is ever made: reached from the start only by ending.

        For drawing, and for leaving them out of means over states. What a state is worth does not
        depend on it.
        """
        decided, entered = self.decision_states, np.zeros(self.n_states, bool)
        ends = (self.probabilities > 0) & self.terminal
        entered[self.next_states[decided][ends[decided]]] = True
        return checks.frozen(entered & ~decided)

    def check_continuations(self, continuations: npt.ArrayLike) -> npt.NDArray[np.float64]:
        """How much of what follows each outcome counts, from 0 to 1, in full shape.

        Args:
            continuations: A number, or an array that broadcasts to (states, actions, outcomes).

        Raises:
            ValueError: Where it does not, or is outside 0 to 1.
        """
        found, shape = checks.array("continuations", continuations), self.rewards.shape
        try:
            found = np.array(np.broadcast_to(found, shape))
        except ValueError:
            raise ValueError(
                f"continuations must broadcast to {shape}, got shape {found.shape}"
            ) from None
        if np.any(found < 0) or np.any(found > 1):
            raise ValueError("continuations must be from 0 to 1")
        return found

    def continuing(self, continuations: npt.ArrayLike) -> "FiniteMDP":
        """The MDP in which an outcome counts as ending with the chance 1 - continuation.

        Its exact values are those under discounting that depends on the transition: what follows
        an outcome counts by its continuation, as `update(..., continuation=...)` has it.

        Args:
            continuations: A number, or an array that broadcasts to (states, actions, outcomes).

        >>> from fhtd import Weighting, oracle, problems
        >>> walk = problems.random_walk()
        >>> one, ten = Weighting.exponential(10, 0.9), Weighting.exponential(10)
        >>> exact = oracle.state_values(walk.mdp, walk.target, one)
        >>> same = oracle.state_values(walk.mdp.continuing(0.9), walk.target, ten)
        >>> bool(abs(exact - same).max() < 1e-12)
        True
        """
        going_on = self.check_continuations(continuations) * ~self.terminal
        p = self.probabilities
        return FiniteMDP(
            np.concatenate([p * going_on, p * (1 - going_on)], axis=-1),
            np.concatenate([self.next_states] * 2, axis=-1),
            np.concatenate([self.rewards] * 2, axis=-1),
            np.concatenate([self.terminal, np.ones_like(self.terminal)], axis=-1),
            self.start,
            name=self.name,
            action_names=self.action_names,
            positions=self.positions,
        )

    def __repr__(self) -> str:
        return f"FiniteMDP({self.name!r}, {self.n_states} states, {self.n_actions} actions)"

    @classmethod
    def from_table(
        cls,
        table: Mapping[int, Mapping[int, Sequence[tuple[float, int, float, bool]]]],
        start: npt.ArrayLike,
        *,
        name: str = "MDP",
        action_names: Sequence[str] = (),
        positions: npt.ArrayLike | None = None,
    ) -> "FiniteMDP":
        """Build from Gymnasium's layout.

        Args:
            table: table[s][a] lists the outcomes (probability, next state, reward, terminated).
            start: The chance of beginning in each state.
            name: What to call it.
            action_names: One for each action; their numbers where none are given.
            positions: Row and column of each state for drawing, or None where there is no map.

        >>> from fhtd import FiniteMDP, Weighting, oracle
        >>> table = {0: {0: [(0.5, 0, 0.0, False), (0.5, 0, 1.0, True)]}}
        >>> coin = FiniteMDP.from_table(table, start=[1.0], name="coin")
        >>> oracle.state_values(coin, [[1.0]], Weighting.exponential(3)).tolist()
        [[0.5, 0.75, 0.875]]
        """
        n_states = len(table)
        if sorted(table) != list(range(n_states)) or not n_states:
            raise ValueError("table must have the states 0, 1, 2, ... as keys")
        n_actions = len(table[0])
        for state in range(n_states):
            if sorted(table[state]) != list(range(n_actions)):
                raise ValueError(f"table must list actions 0 to {n_actions - 1} in state {state}")
        width = max(len(outcomes) for row in table.values() for outcomes in row.values())
        shape = (n_states, n_actions, max(width, 1))
        p, r = np.zeros(shape), np.zeros(shape)
        following, terminal = np.zeros(shape, np.int64), np.zeros(shape, bool)
        for state, row in table.items():
            for action, outcomes in row.items():
                for k, outcome in enumerate(outcomes):
                    if len(outcome) != 4:
                        raise ValueError(
                            f"table[{state}][{action}] must list (probability, state, reward, "
                            f"terminated), got {outcome!r}"
                        )
                    at = state, action, k
                    p[at], _, r[at], terminal[at] = outcome
                    where = f"next state in table[{state}][{action}]"
                    following[at] = checks.integer(where, outcome[1], 0, n_states - 1)
        return cls(
            p,
            following,
            r,
            terminal,
            checks.array("start", start),
            name=name,
            action_names=tuple(action_names),
            positions=None if positions is None else np.asarray(positions),
        )

    @classmethod
    def from_gymnasium(cls, environment: Any) -> "FiniteMDP":
        """Read a Gymnasium environment that carries its transition table `P`.

        Args:
            environment: The environment, or its id.
        """
        if isinstance(environment, str):
            made = make(environment)
            try:
                return cls.from_gymnasium(made)
            finally:
                made.close()
        world = environment.unwrapped
        if isinstance(getattr(world, "mdp", None), FiniteMDP):
            mdp: FiniteMDP = world.mdp
            return mdp
        if not hasattr(world, "P"):
            raise ValueError(f"environment {world} has no transition table P")
        start = getattr(world, "initial_state_distrib", None)
        if start is None:
            raise ValueError(f"environment {world} has no initial_state_distrib")
        spec = getattr(environment, "spec", None)
        start = np.asarray(start, np.float64)
        return cls.from_table(
            world.P, start / start.sum(), name=spec.id if spec is not None else str(world)
        )
