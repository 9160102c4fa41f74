"""A problem is a world, a way to see it, and a question about it."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from fhtd import checks
from fhtd.features import StateFeatures
from fhtd.mdp import FiniteMDP
from fhtd.policy import Policy


@dataclass(frozen=True, eq=False, repr=False)
class Problem:
    """Everything an experiment needs to know before it chooses a learner.

    Raises:
        ValueError: Its parts do not fit together, or a policy's probabilities do not sum to 1.

    >>> from fhtd import problems
    >>> problems.baird()
    Problem("Baird's counterexample", 7 states, 2 actions, 8 features, off-policy, discount 0.99)
    """

    #: The world.
    mdp: FiniteMDP
    #: What a learner sees of each state.
    features: StateFeatures
    #: The policy to predict, pi.
    target: Policy
    #: The policy that acts, mu.
    behaviour: Policy
    #: The discount that the problem is posed with, gamma.
    discount: float
    #: Weights of every horizon to begin with, or None for zeros.
    initial_weights: npt.NDArray[np.float64] | None = None

    def __post_init__(self) -> None:
        mdp = self.mdp
        if self.features.n_states != mdp.n_states:
            raise ValueError(
                f"features must describe {mdp.n_states} states, got {self.features.n_states}"
            )
        checked = {
            name: checks.probabilities(name, value, (mdp.n_states, mdp.n_actions))
            for name, value in (("target", self.target), ("behaviour", self.behaviour))
        }
        if self.initial_weights is not None:
            checked["initial_weights"] = checks.array(
                "initial_weights", self.initial_weights, (self.features.size,)
            )
        for name, value in checked.items():
            object.__setattr__(self, name, checks.frozen(value))
        object.__setattr__(self, "discount", checks.real("discount", self.discount))

    def __repr__(self) -> str:
        mdp = self.mdp
        same = "on-policy" if np.array_equal(self.target, self.behaviour) else "off-policy"
        return (
            f"Problem({mdp.name!r}, {mdp.n_states} states, {mdp.n_actions} actions, "
            f"{self.features.size} features, {same}, discount {self.discount:g})"
        )
