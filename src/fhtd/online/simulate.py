"""Many independent runs of a learner in a finite MDP, compiled and spread over threads."""

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np
import numpy.typing as npt

from fhtd import checks, policy
from fhtd.features import StateFeatures
from fhtd.mdp import FiniteMDP
from fhtd.online.control import ControlLearner
from fhtd.online.fixed_horizon import with_column_zero
from fhtd.online.kernels.dispatch import specialised
from fhtd.online.kernels.one_step import OneStep, OneStepControl
from fhtd.online.kernels.simulator import Plan, Record, World, simulate_block
from fhtd.online.learner import Learner
from fhtd.online.schedule import Rate, rate_at
from fhtd.statistics import Statistics

_UNLIMITED = np.iinfo(np.int64).max


@dataclass(frozen=True, eq=False, repr=False)
class Simulation:
    """What the runs showed. The first axis of statistics is `recorded_at`, horizons are last."""

    #: Numbers of steps (or of episodes) after which was recorded.
    recorded_at: npt.NDArray[np.int64]
    #: Root-mean-square error of every learned horizon: (records, horizons); needs `truth`.
    errors: Statistics | None
    #: Weights of the asked horizons: (records, *weights' shape, horizons).
    weights: Statistics | None
    #: The same errors run by run: (runs, records, horizons); needs `per_run`.
    error_curves: npt.NDArray[np.float64] | None
    #: Weights at the end of each run: (runs, *weights' shape, horizons); needs `keep_weights`.
    final_weights: npt.NDArray[Any] | None
    #: Steps and sum of rewards of each episode: (runs, episodes), when run by episodes.
    lengths: npt.NDArray[np.float64] | None
    returns: npt.NDArray[np.float64] | None
    #: Steps that each run took.
    steps: npt.NDArray[np.int64]

    def __repr__(self) -> str:
        kept = ("errors", "weights", "error_curves", "final_weights", "lengths", "returns")
        found = [name for name in kept if getattr(self, name) is not None]
        unit = "steps" if self.returns is None else "episodes"
        last = f" to {self.recorded_at[-1]:,} {unit}" if len(self.recorded_at) else ""
        return (
            f"Simulation({len(self.steps)} runs, {len(self.recorded_at):,} records{last}: "
            f"{', '.join(found) or 'nothing measured'})"
        )

    def plot(self, axes: Any = None, *, horizons: Sequence[int] | None = None) -> Any:
        """Draw the errors, or else the returns of episodes, with 95% intervals over runs.

        Args:
            axes: Matplotlib's, to draw into; new ones by default.
            horizons: Which columns of the errors to draw, counted from 1; up to five by default.
        """
        from fhtd.online.plotting import plot

        return plot(self, axes, horizons)


def simulate(
    learner: Learner,
    mdp: FiniteMDP,
    *,
    steps: int | None = None,
    episodes: int | None = None,
    runs: int | range = 1,
    behaviour: npt.ArrayLike | None = None,
    target: npt.ArrayLike | None = None,
    continuations: npt.ArrayLike | None = None,
    time_limit: int | None = None,
    truth: npt.ArrayLike | None = None,
    state_weights: npt.ArrayLike | None = None,
    record_at: npt.ArrayLike | None = None,
    record_weights: npt.ArrayLike = (),
    per_run: bool = False,
    keep_weights: bool = False,
    seed: int = 0,
    threads: int | None = None,
    progress: Callable[[int], None] | None = None,
) -> Simulation:
    """Run `learner` afresh, `runs` times, for so many steps or episodes, and measure.

    Args:
        learner: Its settings and initial values are used; it is not changed itself.
        mdp: The world to act in; the learner's features describe its states.
        steps: How many steps each run takes; give either these or `episodes`.
        episodes: How many episodes each run takes.
        runs: How many, or which run numbers; run i draws from SeedSequence(seed, spawn_key=(i,)),
            so learners simulated with the same seed, policy and MDP see the same experience.
        behaviour: (states, actions) probabilities to act by. Control learners may leave it out and
            then act epsilon-greedily on their own final horizon; not with a target that n-step
            learners need ratios for.
        target: The policy to evaluate, where it is another: state values are corrected by
            importance ratios, action values by expecting over it, and those that sum n rewards
            by the ratios of the actions between as well. Control learners without one maximise.
        continuations: How much of what follows each outcome counts, beside the weighting, as an
            array that broadcasts to `mdp.rewards`; all of it by default. Exact values are those of
            `mdp.continuing(continuations)`.
        time_limit: Steps after which an episode is cut; its last state keeps its value.
        truth: Exact values to measure errors against, (states, horizons) or (states, actions,
            horizons) as `oracle` gives them.
        state_weights: The weight of each state in that error; by default equal over all states
            but those that are only ever entered by ending.
        record_at: After which steps (episodes) to record; by default after every one.
        record_weights: Horizons whose weights to record.
        per_run: Whether to keep the errors of every single run.
        keep_weights: Whether to keep the weights at the end of every run. Where the learner has
            `deepen_every`, each run's horizons have moved on after so many of its `steps`.
        seed: Seed of all runs.
        threads: How many threads to use, by default one for each core; results are the same.
        progress: Called with the number of runs finished each time some are.

    Returns:
        What was recorded, with means and standard errors over runs.

    >>> from fhtd import FHTD, Weighting, oracle, problems, simulate
    >>> walk, weighting = problems.random_walk(), Weighting.exponential(10)
    >>> exact = oracle.state_values(walk.mdp, walk.target, weighting)
    >>> learner = FHTD(walk.features, weighting, step_size=0.05)
    >>> options = {"steps": 5_000, "runs": 8, "record_at": [100, 5_000], "truth": exact}
    >>> found = simulate(learner, walk.mdp, behaviour=walk.behaviour, **options)
    >>> found
    Simulation(8 runs, 2 records to 5,000 steps: errors)
    >>> early, late = found.errors.mean[:, -1]
    >>> bool(late < early / 2)
    True
    """
    task = _Task(learner, mdp, runs, seed)
    plan = task.plan(steps, episodes, time_limit, truth, state_weights, record_at, record_weights)
    world = task.world(behaviour, target, continuations, time_limit, plan)
    threads = checks.integer("threads", threads if threads is not None else os.cpu_count(), 1)
    blocks = [task.runs[i : i + task.block_size] for i in range(0, len(task.runs), task.block_size)]
    merged = _Merger(task, plan, per_run, keep_weights)
    pool = ThreadPoolExecutor(threads)
    try:
        waiting = iter(blocks)
        # A few blocks ahead: enough to keep every thread busy, without holding all results.
        pending = [
            pool.submit(task.run_block, block, world, plan, per_run, keep_weights)
            for block in islice(waiting, 2 * threads)
        ]
        for done in _in_order(pending, waiting, pool, task, world, plan, per_run, keep_weights):
            merged.add(done)
            if progress is not None:
                progress(merged.finished)
    finally:
        pool.shutdown(wait=True, cancel_futures=True)
    return merged.result()


def _in_order(
    pending: list["Future[Record]"],
    waiting: Iterator[range],
    pool: ThreadPoolExecutor,
    task: "_Task",
    *arguments: Any,
) -> Iterator[Record]:
    """Results in the order of their runs, so that merging does not depend on threads."""
    while pending:
        yield pending.pop(0).result()
        for block in islice(waiting, 1):
            pending.append(pool.submit(task.run_block, block, *arguments))


class _Task:
    """The checked settings, as arrays for the kernel."""

    def __init__(self, learner: Learner, mdp: FiniteMDP, runs: int | range, seed: int) -> None:
        if not isinstance(learner, Learner):
            raise TypeError(f"learner must be an online learner, got {learner!r}")
        if not isinstance(mdp, FiniteMDP):
            raise TypeError(f"mdp must be a FiniteMDP, got {mdp!r}")
        features = learner.features
        if not isinstance(features, StateFeatures) or features.n_states != mdp.n_states:
            raise ValueError(
                f"learner must have features of integer states for the {mdp.n_states} states "
                f"of the MDP, got {type(features).__name__}"
            )
        if features.size != learner._n_features or features.n_active != learner._n_active:
            raise ValueError("learner must have the features that it was built with")
        self.is_control = isinstance(learner, ControlLearner)
        if self.is_control and learner.n_actions != mdp.n_actions:
            raise ValueError(f"learner has {learner.n_actions} actions, the MDP {mdp.n_actions}")
        self.learner, self.mdp, self.features = learner, mdp, features
        self.runs = runs if isinstance(runs, range) else range(checks.integer("runs", runs, 1))
        if len(self.runs) < 1 or self.runs.start < 0 or self.runs.step != 1:
            raise ValueError(f"runs must be a number or an ascending range, got {runs}")
        self.seed = checks.integer("seed", seed, 0)
        # Fixed by the number of runs alone: results must not depend on the number of threads.
        self.block_size = max(1, min(64, len(self.runs) // 8))

    def plan(
        self,
        steps: int | None,
        episodes: int | None,
        time_limit: int | None,
        truth: npt.ArrayLike | None,
        state_weights: npt.ArrayLike | None,
        record_at: npt.ArrayLike | None,
        record_weights: npt.ArrayLike,
    ) -> Plan:
        if (steps is None) == (episodes is None):
            raise ValueError("give either steps or episodes")
        if time_limit is not None:
            time_limit = checks.integer("time_limit", time_limit, 1)
        counts_episodes = steps is None
        if counts_episodes:
            total = checks.integer("episodes", episodes, 1)
            if not self.mdp.terminal.any() and time_limit is None:
                raise ValueError("episodes of this continuing MDP never end: give a time_limit")
            known = None if time_limit is None else total * time_limit
        else:
            total = known = checks.integer("steps", steps, 1)
        learner = self.learner
        moments = np.arange(1, total + 1) if record_at is None else np.asarray(record_at)
        if moments.ndim != 1 or (len(moments) and not np.issubdtype(moments.dtype, np.integer)):
            raise ValueError("record_at must be a list of integers")
        if len(moments) and (
            moments[0] < 1 or moments[-1] > total or np.any(np.diff(moments) <= 0)
        ):
            raise ValueError(f"record_at must ascend from at least 1 to at most {total}")
        wanted = np.asarray(record_weights, np.float64).reshape(-1)
        missing = wanted[~np.isin(wanted, learner._first_horizons)]
        if len(missing):
            raise ValueError(f"record_weights: horizon {missing[0]:g} is not learned")
        exact, shares = self._truth(truth, state_weights)
        every = getattr(learner, "deepen_every", None)
        if every is not None and (len(exact) or len(wanted)):
            name = "truth" if len(exact) else "record_weights"
            raise ValueError(
                f"{name} names horizons, but the learner's move on: use keep_weights, or a learner "
                "without deepen_every"
            )
        return Plan(
            steps=_UNLIMITED if counts_episodes else total,
            episodes=total if counts_episodes else _UNLIMITED,
            rates=self._rates(known),
            watch=False,
            must_be_finite=not learner.allow_divergence,
            record_at=moments.astype(np.int64),
            counts_episodes=counts_episodes,
            truth=exact,
            shares=shares,
            is_table=self._is_table(),
            columns=np.searchsorted(learner._first_horizons, wanted).astype(np.int64) + 1,
            deepen_every=_UNLIMITED if every is None else every,
        )

    def _rates(self, steps: int | None) -> npt.NDArray[np.float64]:
        """A column for each rate of the learner, and a row for each step unless all are alike."""
        learner = self.learner
        rates = [_tabulate(name, getattr(learner, name), steps) for name in learner.rates]
        length = max(len(column) for column in rates)
        return np.stack([np.broadcast_to(column, length) for column in rates], axis=1)

    def _is_table(self) -> bool:
        one_hot = self.features.size == self.mdp.n_states and np.array_equal(
            self.features.matrix, np.eye(self.mdp.n_states)
        )
        return one_hot and isinstance(self.learner._state, OneStep | OneStepControl)

    def _truth(
        self, truth: npt.ArrayLike | None, state_weights: npt.ArrayLike | None
    ) -> tuple[npt.NDArray[Any], npt.NDArray[np.float64]]:
        learner, mdp = self.learner, self.mdp
        dtype = learner.weighting.dtype
        columns = len(learner.horizons)
        if truth is None:
            return np.zeros((0, columns + 1), dtype), np.zeros(0)
        rows = (mdp.n_states, mdp.n_actions) if self.is_control else (mdp.n_states,)
        exact = checks.array("truth", truth, allow_complex=learner.weighting.is_complex)
        if exact.shape == (*rows, learner.weighting.horizon) and columns != exact.shape[-1]:
            exact = exact[..., learner._first_horizons.astype(int) - 1]
        if exact.shape == rows:
            exact = exact[..., None]
        exact = checks.array("truth", exact, (*rows, columns), allow_complex=True)
        if state_weights is None:
            weights = (~mdp.terminal_states).astype(np.float64)
        else:
            weights = checks.array("state_weights", state_weights, (mdp.n_states,))
            if np.any(weights < 0) or not weights.sum() > 0:
                raise ValueError("state_weights must be at least 0 and not all 0")
        shares = np.repeat(weights / weights.sum(), mdp.n_actions if self.is_control else 1)
        if self.is_control:
            shares = shares / mdp.n_actions
        table = with_column_zero(exact.reshape(-1, columns).astype(dtype))
        return table, shares

    def world(
        self,
        behaviour: npt.ArrayLike | None,
        target: npt.ArrayLike | None,
        continuations: npt.ArrayLike | None,
        time_limit: int | None,
        plan: Plan,
    ) -> World:
        mdp, learner = self.mdp, self.learner
        shape = (mdp.n_states, mdp.n_actions)
        acts_greedily = behaviour is None
        if acts_greedily and not self.is_control:
            raise ValueError("behaviour is needed: a prediction learner does not act by itself")
        if self.is_control and (acts_greedily or target is None) and learner.weighting.no_maximum:
            raise ValueError(
                f"behaviour and target are both needed: {learner.weighting.no_maximum}"
            )
        actions = policy.uniform(*shape) if behaviour is None else behaviour
        actions = checks.probabilities("behaviour", actions, shape)
        ratios = np.ones(shape)
        expected = np.zeros((1, 0))
        if target is not None and self.is_control:
            expected = checks.probabilities("target", target, shape)
            if getattr(learner, "sums_later_actions", False):
                if acts_greedily:
                    raise ValueError(
                        f"behaviour is needed with target: a {type(learner).__name__} corrects for "
                        "the actions that its targets sum by the probability they were taken with"
                    )
                ratios = policy.importance_ratios(target, actions)
        elif target is not None:
            checks.probabilities("target", target, shape)
            ratios = policy.importance_ratios(target, actions)
        epsilons = np.zeros(1)
        if isinstance(learner, ControlLearner):
            known = None if plan.counts_episodes else plan.steps
            epsilons = _tabulate("epsilon", learner.epsilon, known)
        return World(
            outcomes=_cumulative(mdp.probabilities),
            next_states=np.array(mdp.next_states),
            rewards=np.array(mdp.rewards),
            terminal=np.array(mdp.terminal),
            continuations=mdp.check_continuations(1.0 if continuations is None else continuations),
            start=_cumulative(mdp.start),
            time_limit=0 if time_limit is None else time_limit,
            indices=np.array(self.features.indices),
            values=np.array(self.features.values),
            behaviour=_cumulative(actions),
            ratios=ratios,
            target=expected,
            acts_greedily=acts_greedily,
            by_agreement=isinstance(learner, ControlLearner) and learner.acting == "agreement",
            epsilons=epsilons,
        )

    def run_block(
        self, block: range, world: World, plan: Plan, per_run: bool, keep_weights: bool
    ) -> Record:
        learner, size = self.learner, len(block)
        seeds = [np.random.SeedSequence(self.seed, spawn_key=(i,)) for i in block]
        randoms = np.array([sequence.generate_state(4, np.uint64) for sequence in seeds])
        spread = learner.initial_spread > 0
        # A second stream of the same run, so that noise does not disturb the experience.
        initial = np.array(
            [
                learner.draw_weights(np.random.default_rng(sequence.spawn(1)[0]))
                for sequence in (seeds if spread else seeds[:1])
            ]
        )
        state = learner._build_state(np.empty_like(initial[0]))
        records = len(plan.record_at)
        rows, columns = initial.shape[1], initial.shape[2] - 1
        measured = records if len(plan.truth) else 0
        episodes = plan.episodes if plan.counts_episodes else 0
        record = Record(
            error_mean=np.zeros((measured, columns)),
            error_squares=np.zeros((measured, columns)),
            weight_mean=np.zeros((records, len(plan.columns), rows), initial.dtype),
            weight_squares=np.zeros((records, len(plan.columns), rows)),
            error_curves=np.full((size if per_run else 0, measured, columns), np.nan),
            final_weights=np.zeros((size if keep_weights else 0, rows, columns + 1), initial.dtype),
            lengths=np.zeros((size if episodes else 0, episodes)),
            returns=np.zeros((size if episodes else 0, episodes)),
            steps=np.zeros(size, np.int64),
            value=np.zeros((1, columns + 1), initial.dtype),
            total=np.zeros(columns + 1),
            floor=np.zeros(columns + 1),
            fresh=np.zeros(columns + 1),
            root=np.zeros(columns),
        )
        simulate = specialised(simulate_block, type(state))
        done = simulate(state, world, plan, record, initial, randoms.copy())
        if done < size:
            # Once more with that run alone, watching for the step.
            watched = plan._replace(watch=True, record_at=plan.record_at[:0])
            one = slice(done, done + 1) if spread else slice(0, 1)
            simulate(state, world, watched, record, initial[one], randoms[done : done + 1])
            raise learner.divergence(state.weights, int(record.steps[0]), block[done])
        return record


class _Merger:
    """Joins the blocks' records."""

    def __init__(self, task: _Task, plan: Plan, per_run: bool, keep_weights: bool) -> None:
        self.task, self.plan = task, plan
        self.finished = 0
        self.errors: Statistics | None = None
        self.weights: Statistics | None = None
        kept = [("steps", True), ("error_curves", per_run), ("final_weights", keep_weights)]
        kept += [(name, plan.counts_episodes) for name in ("lengths", "returns")]
        self.parts: dict[str, list[npt.NDArray[Any]]] = {name: [] for name, use in kept if use}

    def add(self, record: Record) -> None:
        count = len(record.steps)
        self.finished += count
        if len(self.plan.truth):
            new = Statistics(count, record.error_mean, record.error_squares)
            self.errors = new if self.errors is None else self.errors.merge(new)
        if len(self.plan.columns):
            new = Statistics(count, record.weight_mean, record.weight_squares)
            self.weights = new if self.weights is None else self.weights.merge(new)
        for name, parts in self.parts.items():
            parts.append(getattr(record, name))

    def result(self) -> Simulation:
        joined = {name: np.concatenate(parts) for name, parts in self.parts.items()}
        shape = self.task.learner._shape
        weights, final = self.weights, joined.get("final_weights")
        if weights is not None:
            weights = Statistics(
                weights.count,
                _horizons_last(weights.mean, shape),
                _horizons_last(weights.squares, shape),
            )
        return Simulation(
            recorded_at=self.plan.record_at,
            errors=self.errors,
            weights=weights,
            error_curves=joined.get("error_curves"),
            final_weights=None if final is None else final.reshape(len(final), *shape, -1)[..., 1:],
            lengths=joined.get("lengths"),
            returns=joined.get("returns"),
            steps=joined["steps"],
        )


def _horizons_last(records: npt.NDArray[Any], shape: tuple[int, ...]) -> npt.NDArray[Any]:
    """(records, horizons, rows) to (records, *shape, horizons)."""
    moved = np.moveaxis(records, 1, -1)
    return moved.reshape(len(records), *shape, moved.shape[-1])


def _cumulative(probabilities: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Cumulative sums; from the last possible entry on 2, so that no draw passes it."""
    sums = np.cumsum(probabilities, axis=-1)
    later = np.cumsum(probabilities[..., ::-1], axis=-1)[..., ::-1] - probabilities
    return np.where(later <= 0, 2.0, sums)


def _tabulate(name: str, rate: Rate, steps: int | None) -> npt.NDArray[np.float64]:
    """The rate of every step; one entry for a constant."""
    if isinstance(rate, float):
        return np.array([rate])
    if steps is None:
        raise ValueError(f"{name} as a schedule needs steps, or a time_limit of the episodes")
    return np.array([rate_at(name, rate, t) for t in range(steps)])
