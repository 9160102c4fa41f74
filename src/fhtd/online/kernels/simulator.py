"""Learner x MDP x policy in one compiled loop: a block of independent runs."""

from typing import Any, NamedTuple

import numpy as np

from fhtd.online.kernels.compiled import (
    Array,
    compiled,
    inlined,
    inlined_uncached,
    read_column,
    read_rows,
)
from fhtd.online.kernels.dispatch import start_run, step
from fhtd.online.kernels.random import draw, uniform
from fhtd.online.kernels.transition import Transition
from fhtd.online.kernels.window import move

#: A mean squared error that is kept up to date is summed afresh when it has fallen below this
#: fraction of what it was; ten of its digits are then still right.
LOST = 1e-6


class World(NamedTuple):
    """The MDP as cumulative probabilities, the features of its states, and the policies."""

    outcomes: Array
    next_states: Array
    rewards: Array
    terminal: Array
    #: How much of what follows each outcome counts.
    continuations: Array
    start: Array
    #: Steps after which an episode is cut, or 0.
    time_limit: int
    indices: Array
    values: Array
    #: Cumulative action probabilities of the behaviour policy.
    behaviour: Array
    #: pi / mu by state and action.
    ratios: Array
    #: Policy whose expectation control learners bootstrap from; one empty row to maximise.
    target: Array
    #: Act epsilon-greedily on the learner's last column instead of following `behaviour`.
    acts_greedily: bool
    #: On what all columns agree on instead of the last.
    by_agreement: bool
    epsilons: Array


class Plan(NamedTuple):
    """How long to run, with which step sizes, and what to record when."""

    steps: int
    episodes: int
    #: One row for each step, or one for all; a column for each of the learner's rates.
    rates: Array
    #: Stop at the very step at which a weight stops being finite; costs some speed.
    watch: bool
    #: Stop after a run whose weights are not finite.
    must_be_finite: bool
    #: Counts of steps (or of episodes) after which to record, ascending.
    record_at: Array
    counts_episodes: bool
    #: Exact values by state (and action), with column 0; no rows to record no errors.
    truth: Array
    #: Share of each of those rows in the mean squared error.
    shares: Array
    #: One update changes one row's value only, so that errors are kept up to date cheaply.
    is_table: bool
    #: Columns whose weights are recorded.
    columns: Array
    #: Steps between moves of the window of horizons.
    deepen_every: int


class Record(NamedTuple):
    """Where a block of runs writes; means and sums of squares are over the block's runs."""

    error_mean: Array
    error_squares: Array
    weight_mean: Array
    weight_squares: Array
    #: One entry per run, or none at all.
    error_curves: Array
    final_weights: Array
    lengths: Array
    returns: Array
    steps: Array
    #: Room to work: one row of values, the mean squared errors, what each may fall to until it is
    #: summed afresh, such sums, and the roots of the errors.
    value: Array
    total: Array
    floor: Array
    fresh: Array
    root: Array


@compiled
def _copy(source: Array, out: Array) -> None:
    for i in range(out.shape[0]):
        for h in range(out.shape[1]):
            out[i, h] = source[i, h]


@compiled
def _is_finite(weights: Array) -> bool:
    probe = weights[0, 0] * 0
    for i in range(weights.shape[0]):
        for h in range(weights.shape[1]):
            probe += weights[i, h] * 0
    return probe == 0


@compiled
def _accumulate(mean: Array, squares: Array, values: Array, run: int) -> None:
    """Welford's update of every entry with the values of one more run."""
    share = 1 / (run + 1)
    for i in range(mean.shape[0]):
        change = values[i] - mean[i]
        mean[i] += change * share
        rest = values[i] - mean[i]
        squares[i] += change.real * rest.real + change.imag * rest.imag


@inlined
def _add_square(total: Array, values: Array, i: int, truth: Array, row: int, share: float) -> None:
    """Add share times the squared gap between two rows."""
    for h in range(1, total.shape[0]):
        gap = values[i, h] - truth[row, h]
        total[h] += share * (gap.real * gap.real + gap.imag * gap.imag)


@inlined
def _has_lost_digits(total: Array, floor: Array, follow: bool) -> bool:
    """Whether a sum kept up to date is so much less than it was that rounding errors show."""
    if follow:
        for h in range(1, total.shape[0]):
            floor[h] = max(floor[h], LOST * total[h])
    # Counting is vectorised; leaving the loop at the first would not be.
    lost = 0
    for h in range(1, total.shape[0]):
        lost += 1 if total[h] < floor[h] else 0
    return lost > 0


@compiled
def _measure(weights: Array, world: World, plan: Plan, record: Record, all_horizons: bool) -> None:
    """total[h] = mean squared error of h over all states (and actions), where it has lost digits.

    The others stay to the bit as they are, unless all horizons are to be measured.
    """
    n_valued = plan.truth.shape[0] // world.indices.shape[0]
    n_features = weights.shape[0] // n_valued
    value, total, floor, fresh = record.value, record.total, record.floor, record.fresh
    fresh[:] = 0
    for state in range(world.indices.shape[0]):
        for action in range(n_valued):
            row = state * n_valued + action
            if plan.shares[row] > 0:
                offset = action * n_features
                read_rows(weights, offset, world.indices, world.values, state, value[0])
                _add_square(fresh, value, 0, plan.truth, row, plan.shares[row])
    for h in range(total.shape[0]):
        if all_horizons or total[h] < floor[h]:
            total[h] = fresh[h]
            floor[h] = LOST * fresh[h]


@compiled
def _record(weights: Array, total: Array, plan: Plan, record: Record, at: int, run: int) -> None:
    if plan.truth.shape[0]:
        for h in range(1, total.shape[0]):
            # Rounding may leave a sum of squares slightly below 0.
            total[h] = 0.0 if total[h] < 0 else total[h]
            record.root[h - 1] = np.sqrt(total[h])
        _accumulate(record.error_mean[at], record.error_squares[at], record.root, run)
        if record.error_curves.shape[0]:
            for h in range(record.root.shape[0]):
                record.error_curves[run, at, h] = record.root[h]
    for c in range(plan.columns.shape[0]):
        column = weights[:, plan.columns[c]]
        _accumulate(record.weight_mean[at, c], record.weight_squares[at, c], column, run)


@compiled
def _agreement(weights: Array, world: World, s: int, action: int, n_actions: int) -> float:
    """Mean over horizons of where an action lies between the worst, 0, and the best, 1."""
    n_features = weights.shape[0] // n_actions
    total = 0.0
    for h in range(1, weights.shape[1]):
        own, low, high = 0.0, np.inf, -np.inf
        for other in range(n_actions):
            value = read_column(weights, other * n_features, world.indices, world.values, s, h).real
            low, high = min(low, value), max(high, value)
            if other == action:
                own = value
        if high > low:
            total += (own - low) / (high - low)
    return total


@compiled
def _greedy_action(weights: Array, world: World, s: int, n_actions: int, random: Array) -> int:
    """A best action of the last column, or of all that agree; ties broken uniformly."""
    last = weights.shape[1] - 1
    n_features = weights.shape[0] // n_actions
    is_single = world.indices.shape[1] == 1
    only, factor = world.indices[s, 0], world.values[s, 0]
    best, ties, chosen = -np.inf, 1, 0
    for action in range(n_actions):
        offset = action * n_features
        if world.by_agreement:
            value = _agreement(weights, world, s, action, n_actions)
        elif is_single:
            value = (factor * weights[offset + only, last]).real
        else:
            value = read_column(weights, offset, world.indices, world.values, s, last).real
        if value > best:
            best, ties, chosen = value, 1, action
        elif value == best:
            ties += 1
            if uniform(random) * ties < 1:
                chosen = action
    return chosen


@inlined_uncached
def _run(state: Any, world: World, plan: Plan, record: Record, random: Array, run: int) -> int:
    """One run; returns 0, or the step at which the weights stopped being finite."""
    weights = state.weights
    n_actions = world.outcomes.shape[1]
    total, floor = record.total, record.floor
    follows = world.target.shape[1] > 0
    measures = plan.truth.shape[0] > 0
    keeps_up = measures and plan.is_table
    # State values are those of one action; action values of all.
    n_valued = max(1, plan.truth.shape[0] // world.indices.shape[0])
    n_features = weights.shape[0] // n_valued
    if measures:
        _measure(weights, world, plan, record, True)
    t = episode = since = recorded = length = 0
    next_move = plan.deepen_every
    score = 0.0
    s = draw(world.start, random)
    while t < plan.steps and episode < plan.episodes:
        if world.acts_greedily:
            epsilon = world.epsilons[min(t, world.epsilons.shape[0] - 1)]
            if epsilon > 0 and uniform(random) < epsilon:
                action = int(uniform(random) * n_actions)
            else:
                action = _greedy_action(weights, world, s, n_actions, random)
        else:
            action = draw(world.behaviour[s], random)
        k = draw(world.outcomes[s, action], random)
        following = world.next_states[s, action, k]
        reward = world.rewards[s, action, k]
        terminated = world.terminal[s, action, k]
        length += 1
        score += reward
        truncated = not terminated and length == world.time_limit
        if keeps_up:
            row = s * n_valued + min(action, n_valued - 1)
            i = min(action, n_valued - 1) * n_features + s
            _add_square(total, weights, i, plan.truth, row, -plan.shares[row])
        seen = Transition(
            world.indices,
            world.values,
            s,
            following,
            action,
            reward,
            world.target[following if follows else 0],
            terminated,
            truncated,
            world.ratios[s, action],
            world.continuations[s, action, k],
            plan.watch,
        )
        finite = step(state, seen, plan.rates[min(t, plan.rates.shape[0] - 1)]) == 0
        t += 1
        if not finite:
            return t
        if t == next_move:
            move(weights)
            next_move += plan.deepen_every
        if keeps_up:
            _add_square(total, weights, i, plan.truth, row, plan.shares[row])
        if terminated or truncated:
            if record.lengths.shape[0]:
                record.lengths[run, episode] = length
                record.returns[run, episode] = score
            episode += 1
            length = 0
            score = 0.0
            s = draw(world.start, random)
        else:
            s = following
        progress = episode if plan.counts_episodes else t
        while recorded < plan.record_at.shape[0] and plan.record_at[recorded] == progress:
            since += 1
            if measures:
                afresh = not keeps_up or since % 256 == 0
                if afresh or _has_lost_digits(total, floor, since % 16 == 0):
                    _measure(weights, world, plan, record, afresh)
            _record(weights, total, plan, record, recorded, run)
            recorded += 1
    record.steps[run] = t
    if record.final_weights.shape[0]:
        _copy(weights, record.final_weights[run])
    return 0


@compiled
def simulate_block(
    state: Any, world: World, plan: Plan, record: Record, initial: Array, randoms: Array
) -> int:
    """Every run of a block, one after the other.

    Returns how many ended with finite weights before the first that did not: weights that stop
    being finite stay so. If watched, `record.steps` has the step at which that happened.
    """
    for run in range(randoms.shape[0]):
        _copy(initial[run if initial.shape[0] > 1 else 0], state.weights)
        start_run(state)
        diverged = _run(state, world, plan, record, randoms[run], run)
        if diverged:
            record.steps[run] = diverged
            return run
        if plan.must_be_finite and not _is_finite(state.weights):
            return run
    return randoms.shape[0]
