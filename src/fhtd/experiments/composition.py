"""Horizons are built on one another: a longer one makes use of what shorter ones have learned.

A learner that knows horizons 1 to h is asked for a longer one, in two ways, and compared with one
that learns all of them from nothing, with the same seeds.

| start     | shorter horizons | new horizons                                    |
|-----------|------------------|-------------------------------------------------|
| anew      | zero             | zero                                            |
| from-zero | known            | zero: all they have is what they bootstrap from |
| extended  | known            | begin as the longest known one: `extend`        |

Values are learned in the 19-state random walk, policies in the slippery maze. The last claim needs
no such start: what a horizon learns does not depend on whether there are longer ones.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from fhtd import checks, oracle, policy, problems
from fhtd.online import FHQ, FHTD
from fhtd.online.simulate import simulate
from fhtd.reproduction import (
    Arrays,
    Block,
    Chart,
    Claim,
    Experiment,
    Results,
    above,
    every,
    join_runs,
    run_blocks,
    style,
    worst,
)
from fhtd.statistics import Interval, Statistics
from fhtd.weighting import Weighting

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Floats = npt.NDArray[np.float64]

TASKS = ("walk", "maze")
#: What starts are called in words.
STARTS = {
    "anew": "all horizons from nothing",
    "from-zero": "new horizons from zero, over known ones",
    "extended": "new horizons begin as the longest known",
}
_BLOCK = 50
#: Points of an error curve.
_POINTS = 100
#: Random steps in the maze after which shorter horizons are compared.
_COMPARED = 2_000
#: Share of runs that must be the same; that of all runs has an interval above it from 72 on.
_NEARLY_ALL = 0.95


@dataclass(frozen=True)
class Config:
    """Settings of the comparison of starts."""

    runs: int = 100
    """Independent runs of each start."""
    walk_known: int = 50
    """Horizons that are known in the random walk."""
    walk_horizon: int = 100
    """Final horizon there (paper: 100)."""
    walk_step_size: float = 0.1
    """Step size there."""
    walk_steps_before: int = 5_000
    """Steps from which the known horizons were learned."""
    walk_steps: int = 2_000
    """Steps over which the new final horizon's error is taken (paper: 2,000)."""
    maze_known: int = 16
    """Horizons that are known in the slippery maze."""
    maze_horizon: int = 32
    """Final horizon there, which is acted on (paper: 32 among others)."""
    maze_step_size: float = 0.5
    """Step size there."""
    maze_epsilon: float = 0.1
    """Probability of a random action (paper: 0.1)."""
    maze_episodes_before: int = 50
    """Episodes from which the known horizons were learned."""
    maze_episodes: int = 20
    """Episodes whose mean length is taken."""

    def __post_init__(self) -> None:
        checks.integer("runs", self.runs, 1)
        for task in TASKS:
            known = checks.integer(f"{task}_known", getattr(self, f"{task}_known"), 1)
            checks.integer(f"{task}_horizon", getattr(self, f"{task}_horizon"), known + 1)
            checks.positive(f"{task}_step_size", getattr(self, f"{task}_step_size"))
        checks.real("maze_epsilon", self.maze_epsilon, 0, 1)
        for name in ("walk_steps_before", "walk_steps", "maze_episodes_before", "maze_episodes"):
            checks.integer(name, getattr(self, name), 1)

    @classmethod
    def smoke(cls) -> "Config":
        """Few runs, short ones."""
        return cls(runs=6, walk_steps_before=1_000, walk_steps=400, maze_episodes_before=10)


def blocks(config: Config) -> list[Block]:
    """All starts of a run together: they share what was learned before."""
    return [block for task in TASKS for block in run_blocks(task, config.runs, _BLOCK)]


def run(config: Config, seed: int, block: Block) -> Arrays:
    """Curves of every start, and whether longer horizons changed shorter ones."""
    learn = _walk if block.arm == "walk" else _maze
    # What comes after the extension is other experience than what came before.
    later = int(np.random.SeedSequence(seed, spawn_key=(block.runs.start, 1)).generate_state(1)[0])
    return learn(config, seed, later, block.runs)


def _starts(
    make: Callable[[int, Any], Any], known: int, longer: int, weights: Floats
) -> dict[str, Any]:
    """A learner for each start, from the weights of the known horizons."""
    added = (*weights.shape[:-1], longer - known)
    return {
        "anew": make(longer, 0.0),
        "from-zero": make(known, weights).extend(longer, initial=np.zeros(added)),
        "extended": make(known, weights).extend(longer),
    }


def _walk(config: Config, seed: int, later: int, runs: range) -> Arrays:
    """The error of the final horizon, over time."""
    walk = problems.random_walk()
    known, longer = config.walk_known, config.walk_horizon
    truth = oracle.state_values(walk.mdp, walk.target, Weighting.exponential(longer))

    def make(horizon: int, initial: Any) -> FHTD:
        weighting = Weighting.exponential(horizon)
        return FHTD(walk.features, weighting, step_size=config.walk_step_size, initial=initial)

    at = _recorded_at(config)
    shared: Any = {"behaviour": walk.behaviour, "keep_weights": True, "threads": 1}
    before = simulate(
        make(known, 0.0),
        walk.mdp,
        steps=config.walk_steps_before,
        runs=runs,
        record_at=[],
        seed=seed,
        **shared,
    )
    assert before.final_weights is not None
    found: Arrays = {start: np.empty((len(runs), len(at))) for start in STARTS}
    found["same"] = np.empty(len(runs), np.bool_)
    shared |= {"steps": config.walk_steps, "seed": later}
    for i, weights in enumerate(before.final_weights):
        shared["runs"] = range(i, i + 1)
        ends = {}
        for start, learner in _starts(make, known, longer, weights).items():
            one = simulate(learner, walk.mdp, truth=truth, record_at=at, per_run=True, **shared)
            assert one.error_curves is not None
            assert one.final_weights is not None
            found[start][i] = one.error_curves[0, :, -1]
            ends[start] = one.final_weights[0]
        alone = simulate(make(known, weights), walk.mdp, record_at=[], **shared)
        assert alone.final_weights is not None
        found["same"][i] = np.array_equal(ends["extended"][..., :known], alone.final_weights[0])
    return found


def _maze(config: Config, seed: int, later: int, runs: range) -> Arrays:
    """The lengths of episodes, acting on the final horizon."""
    maze = problems.slippery_maze()
    known, longer = config.maze_known, config.maze_horizon

    def make(horizon: int, initial: Any) -> FHQ:
        return FHQ(
            maze.features,
            maze.mdp.n_actions,
            Weighting.exponential(horizon),
            step_size=config.maze_step_size,
            epsilon=config.maze_epsilon,
            initial=initial,
        )

    before = simulate(
        make(known, 0.0),
        maze.mdp,
        episodes=config.maze_episodes_before,
        runs=runs,
        record_at=[],
        keep_weights=True,
        seed=seed,
        threads=1,
    )
    assert before.final_weights is not None
    found: Arrays = {start: np.empty((len(runs), config.maze_episodes)) for start in STARTS}
    found["same"] = np.empty(len(runs), np.bool_)
    # An agent that acts on another horizon sees other things: shorter ones are compared under
    # random actions.
    random = policy.uniform(maze.mdp.n_states, maze.mdp.n_actions)
    for i, weights in enumerate(before.final_weights):
        shared: Any = {"runs": range(i, i + 1), "seed": later, "record_at": [], "threads": 1}
        starts = _starts(make, known, longer, weights)
        for start, learner in starts.items():
            one = simulate(learner, maze.mdp, episodes=config.maze_episodes, **shared)
            assert one.lengths is not None
            found[start][i] = one.lengths[0]
        shared |= {"steps": _COMPARED, "behaviour": random, "keep_weights": True}
        above_it, alone = (
            simulate(learner, maze.mdp, **shared).final_weights
            for learner in (starts["extended"], make(known, weights))
        )
        assert above_it is not None
        assert alone is not None
        found["same"][i] = np.array_equal(above_it[..., :known], alone)
    return found


def _recorded_at(config: Config) -> npt.NDArray[np.int64]:
    count = min(_POINTS, config.walk_steps)
    return np.linspace(config.walk_steps / count, config.walk_steps, count).astype(np.int64)


def combine(config: Config, results: Results) -> Arrays:
    """Every run of every start."""
    return {
        f"{task}.{name}": join_runs(results, task, name)
        for task in TASKS
        for name in (*STARTS, "same")
    }


def _axis(config: Config, task: str) -> npt.NDArray[np.int64]:
    """Steps or episodes that curves run over."""
    return _recorded_at(config) if task == "walk" else np.arange(1, config.maze_episodes + 1)


def plot(config: Config, data: Arrays) -> "Figure":
    """What each start leads to, from the extension on."""
    figure, axes = style.panels(1, 2, width=4.6)
    names = {
        "walk": (
            f"Random walk: horizon {config.walk_horizon}, {config.walk_known} known",
            "step",
            f"error of horizon {config.walk_horizon}",
        ),
        "maze": (
            f"Slippery maze: horizon {config.maze_horizon}, {config.maze_known} known",
            "episode",
            "length of the episode (steps)",
        ),
    }
    for panel, task in zip(axes[0], TASKS, strict=True):
        for i, (start, words) in enumerate(STARTS.items()):
            found = Statistics.of(data[f"{task}.{start}"])
            error = found.standard_error if config.runs > 1 else None
            style.line(panel, _axis(config, task), found.mean, error, words, i)
        style.label(panel, *names[task], legend=False)
    style.whole_steps(axes[0, 1])
    style.share_legend(figure, axes[0, 0])
    style.say(figure, style.band(config.runs))
    return figure


def claims(config: Config, data: Arrays) -> list[Claim]:
    """Written before the runs that judge them."""
    walk, maze = config.walk_horizon, config.maze_horizon

    def sooner(name: str, statement: str, task: str, start: str) -> Claim:
        gap = Interval.of((data[f"{task}.anew"] - data[f"{task}.{start}"]).mean(axis=1))
        what, paired = f"error over {config.walk_steps:,} steps", "on the same experience"
        if task == "maze":
            what, paired = f"length of {config.maze_episodes} episodes", "paired over seeds"
        means = (f"{data[f'{task}.{one}'].mean():.3g}" for one in ("anew", start))
        return Claim(
            name,
            statement,
            f"mean {what} after the extension, of a start from nothing minus this one, {paired}; "
            "holds if its 95% interval lies above 0, fails if below",
            f"{' against '.join(means)}; difference {gap}",
            above(gap, 0),
        )

    return [
        sooner(
            "values-are-reused",
            f"A newly asked horizon {walk} makes use of known values: it is predicted sooner.",
            "walk",
            "extended",
        ),
        sooner(
            "values-by-bootstrapping",
            "Bootstrapping from known horizons is enough for that: new ones may begin at zero.",
            "walk",
            "from-zero",
        ),
        sooner(
            "policies-are-reused",
            f"A newly asked horizon {maze} makes use of known policies: the agent does better.",
            "maze",
            "extended",
        ),
        sooner(
            "policies-by-bootstrapping",
            "Bootstrapping from known horizons is enough for that too.",
            "maze",
            "from-zero",
        ),
        _unaffected(data),
    ]


def _unaffected(data: Arrays) -> Claim:
    """To the bit, on the same experience."""
    shares = {task: Interval.share(data[f"{task}.same"].astype(np.bool_)) for task in TASKS}
    return Claim(
        "unaffected-by-longer",
        "What a horizon has learned, values and policies, does not depend on longer ones.",
        "weights of the known horizons with longer ones above them and without, after the same "
        "experience; holds if they are the same to the bit in every run and the 95% interval of "
        f"the share of such runs lies above {_NEARLY_ALL:g}, fails if below",
        "; ".join(f"{task}: share {share} of runs" for task, share in shares.items()),
        worst([every(share, _NEARLY_ALL) for share in shares.values()]),
    )


def tables(config: Config, data: Arrays) -> dict[str, Arrays]:
    """The curves of both."""
    found = {}
    for task, column in (("walk", "step"), ("maze", "episode")):
        at = _axis(config, task)
        stats = [Statistics.of(data[f"{task}.{start}"]) for start in STARTS]
        found[task] = style.as_columns(
            ("start", column, "mean", "standard_error"),
            np.repeat(list(STARTS), len(at)),
            np.tile(at, len(STARTS)),
            np.concatenate([one.mean for one in stats]),
            np.concatenate([one.standard_error for one in stats]),
        )
    return found


EXPERIMENT = Experiment(
    name="composition",
    title="Longer horizons built on what shorter ones know",
    source="Sections on fixed-horizon values and on control: compositional questions",
    shows="a newly asked horizon makes use of known values and policies",
    cost="10 s",
    config=Config,
    blocks=blocks,
    run=run,
    combine=combine,
    plot=plot,
    claims=claims,
    tables=tables,
    charts=tuple(
        Chart(
            title,
            task,
            column,
            column,
            y_label,
            y="mean",
            arm="start",
            error="standard_error",
            labels=tuple(STARTS.items()),
        )
        for task, column, title, y_label in (
            ("walk", "step", "Error of the new final horizon, random walk", "error"),
            ("maze", "episode", "Length of episodes, slippery maze", "steps"),
        )
    ),
)
