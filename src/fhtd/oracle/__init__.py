"""Exact answers for finite MDPs, with NumPy alone: the witness that learners are held to."""

from fhtd.oracle.chain import episode_length, mean_episode_length, stationary_distribution
from fhtd.oracle.fixed import (
    TIE_TOLERANCE,
    OptimalValues,
    action_values,
    expected_rewards,
    optimal,
    state_values,
)
from fhtd.oracle.hybrid import hybrid_values
from fhtd.oracle.infinite import infinite_optimal, infinite_state_values
from fhtd.oracle.linear import linear_control_fixed_point, linear_fixed_point
from fhtd.oracle.model import expected_reward, transition_matrix
from fhtd.oracle.ode import mean_path, ode_bound
from fhtd.oracle.options import option_values
from fhtd.oracle.stability_analysis import Stability, stability

__all__ = [
    "TIE_TOLERANCE",
    "OptimalValues",
    "Stability",
    "action_values",
    "episode_length",
    "expected_reward",
    "expected_rewards",
    "hybrid_values",
    "infinite_optimal",
    "infinite_state_values",
    "linear_control_fixed_point",
    "linear_fixed_point",
    "mean_episode_length",
    "mean_path",
    "ode_bound",
    "optimal",
    "option_values",
    "stability",
    "state_values",
    "stationary_distribution",
    "transition_matrix",
]
