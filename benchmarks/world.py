"""What every variant samples from: a finite MDP and a policy as cumulative probabilities."""

from bisect import bisect_right
from collections.abc import Callable, Sequence

import numpy as np

from fhtd.problems import Problem

#: A source of numbers from [0, 1).
Uniform = Callable[[], float]


class World:
    """The problem as nested lists, for Python code, and as arrays, for C."""

    ARRAYS = ("start", "behaviour", "outcomes", "next_states", "rewards", "terminal")

    def __init__(self, problem: Problem) -> None:
        mdp = problem.mdp
        self.n_states, self.n_actions = mdp.n_states, mdp.n_actions
        self.arrays = {
            "start": cumulative(mdp.start),
            "behaviour": cumulative(problem.behaviour),
            "outcomes": cumulative(mdp.probabilities),
            "next_states": np.ascontiguousarray(mdp.next_states),
            "rewards": np.ascontiguousarray(mdp.rewards),
            "terminal": np.ascontiguousarray(mdp.terminal),
        }
        self.start = self.arrays["start"].tolist()
        self.behaviour = self.arrays["behaviour"].tolist()
        #: [state][action]: cumulative probabilities, and (next state, reward, terminal) of each.
        self.outcomes = [
            [
                (chances, list(zip(*details, strict=True)))
                for chances, *details in zip(*state, strict=True)
            ]
            for state in zip(
                *(
                    self.arrays[name].tolist()
                    for name in ("outcomes", "next_states", "rewards", "terminal")
                ),
                strict=True,
            )
        ]

    def first_state(self, uniform: Uniform) -> int:
        return draw(self.start, uniform)

    def act(self, state: int, action: int, uniform: Uniform) -> tuple[int, float, bool]:
        """The next state, the reward, and whether the episode ends."""
        chances, outcomes = self.outcomes[state][action]
        return outcomes[draw(chances, uniform)]

    def follow(self, state: int, uniform: Uniform) -> tuple[int, float, bool]:
        """The same for an action of the policy."""
        return self.act(state, draw(self.behaviour[state], uniform), uniform)


def cumulative(probabilities: np.ndarray) -> np.ndarray:
    """Cumulative sums, from the last possible entry on 2, so that no draw passes it."""
    sums = np.cumsum(probabilities, axis=-1)
    return np.where(sums > 1 - 1e-9, 2.0, sums)


def draw(chances: Sequence[float], uniform: Uniform) -> int:
    """An index with these cumulative probabilities; a certain one takes no random number."""
    return 0 if chances[0] > 1 else bisect_right(chances, uniform())


class Xoshiro:
    """xoshiro256++ in plain Python: slow, but the simulator's numbers, for checks."""

    def __init__(self, seed: int) -> None:
        self.state = [int(word) for word in seed_words(seed)]

    def __call__(self) -> float:
        s0, s1, s2, s3 = self.state
        result = (_rotate((s0 + s3) & _MASK, 23) + s0) & _MASK
        s2 ^= s0
        s3 ^= s1
        self.state = [s0 ^ s3, s1 ^ s2, s2 ^ (s1 << 17) & _MASK, _rotate(s3, 45)]
        return (result >> 11) * 2.0**-53


_MASK = 2**64 - 1


def _rotate(word: int, by: int) -> int:
    return (word << by | word >> 64 - by) & _MASK


def seed_words(seed: int) -> np.ndarray:
    """The state of the simulator's generator at the beginning of run 0."""
    return np.random.SeedSequence(seed, spawn_key=(0,)).generate_state(4, np.uint64)
