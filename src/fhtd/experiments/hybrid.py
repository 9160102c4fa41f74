"""The hybrid that the appendix suggests: first horizons one-step, from there n-step, over k.

By the oracle in random grid worlds, what it settles at; by learning in the slippery maze, how well
it does; and how many horizons each learns, which is what a step costs.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from fhtd import checks, oracle, policy, problems
from fhtd.experiments import mazes
from fhtd.features import Features
from fhtd.horizons import closed_horizons
from fhtd.online import NStepFHQ
from fhtd.reproduction import (
    Arrays,
    Block,
    Chart,
    Claim,
    Experiment,
    Results,
    above,
    below,
    exactly,
    join_runs,
    run_blocks,
    style,
)
from fhtd.statistics import Interval
from fhtd.weighting import Weighting

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: Worlds of a block, which take some seconds.
_WORLDS = 10
#: What the claims compare.
_CLAIMED = {
    "backups": {4, 8},
    "one_step_horizons": {0, 8},
    "maze_backups": {2, 8},
    "maze_one_step_horizons": {0, 2, 8},
}
#: What may remain of an error that another cause is said to explain.
_REST = 0.1
#: Of the episode length of one-step FHQ: what counts as as good.
_AS_GOOD = 0.1


@dataclass(frozen=True)
class Config:
    """Settings of the comparison of hybrids."""

    runs: int = 100
    """Random grid worlds, and independent runs of each arm in the maze."""
    size: int = 8
    """Rows and columns of the grid worlds (paper: 8)."""
    horizon: int = 64
    """Final horizon in the grid worlds (paper: 64)."""
    backups: tuple[int, ...] = (2, 4, 8, 16)
    """How many steps are skipped in the grid worlds, n."""
    one_step_horizons: tuple[int, ...] = (0, 1, 2, 4, 8, 16, 32)
    """How many of the first horizons are one-step in the grid worlds, k."""
    maze_horizons: tuple[int, ...] = (16, 48)
    """Final horizons in the slippery maze."""
    maze_backups: tuple[int, ...] = (2, 4, 8)
    """How many steps are skipped in the maze, n."""
    maze_one_step_horizons: tuple[int, ...] = (0, 1, 2, 4, 8)
    """How many of the first horizons are one-step in the maze, k."""
    episodes: int = 100
    """Episodes in the maze over which the mean length is taken (paper: 100)."""
    step_sizes: tuple[float, ...] = (0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.6)
    """Step sizes in the maze."""
    epsilon: float = 0.1
    """Probability of a random action (paper: 0.1 in the maze)."""

    def __post_init__(self) -> None:
        mazes.check(self)
        checks.integer("size", self.size, 2)
        checks.integer("horizon", self.horizon, 16)
        for name, needed in _CLAIMED.items():
            if not needed <= set(getattr(self, name)):
                raise ValueError(f"{name} must hold {sorted(needed)}, which the claims are about")
        if len(self.maze_horizons) != 2:
            raise ValueError("maze_horizons must hold two values")
        for final in self.maze_horizons:
            for n in self.maze_backups:
                closed_horizons(final, n)

    @classmethod
    def smoke(cls) -> "Config":
        """Few worlds and runs, two step sizes."""
        return cls(runs=6, episodes=30, step_sizes=(0.2, 0.4))


def _size(horizon: int, n: int, k: int) -> int:
    """How many horizons a hybrid learns."""
    return len(closed_horizons(horizon, n, one_step_horizons=k))


@dataclass(frozen=True)
class Arm:
    """A hybrid in the maze; n = 1 is one-step FHQ."""

    horizon: int
    n: int
    k: int

    def __str__(self) -> str:
        return f"maze-{self.horizon}-{self.n}-{self.k}"

    @property
    def size(self) -> int:
        """How many horizons it learns."""
        return _size(self.horizon, self.n, self.k)


def arms(config: Config, horizon: int) -> list[Arm]:
    """One-step FHQ, and every hybrid of a final horizon."""
    hybrids = [
        Arm(horizon, n, k) for n in config.maze_backups for k in config.maze_one_step_horizons
    ]
    return [Arm(horizon, 1, 0), *hybrids]


def everything(config: Config) -> list[Arm]:
    """The arms of all final horizons."""
    return [arm for horizon in config.maze_horizons for arm in arms(config, horizon)]


def blocks(config: Config) -> list[Block]:
    """The worlds, and every arm in the maze at every step size."""
    return [*run_blocks("worlds", config.runs, _WORLDS), *mazes.blocks(config, everything(config))]


def run(config: Config, seed: int, block: Block) -> Arrays:
    """Errors in each world, or the mean episode length of each run."""
    if block.arm == "worlds":
        found = [_world(config, seed, world) for world in block.runs]
        return {name: np.array([one[name] for one in found]) for name in found[0]}
    arm: Arm = block.arm.arm

    def make(features: Features, n_actions: int) -> NStepFHQ:
        return NStepFHQ(
            features,
            n_actions,
            Weighting.exponential(arm.horizon),
            arm.n,
            one_step_horizons=arm.k,
            step_size=block.arm.step_size,
            epsilon=config.epsilon,
        )

    return mazes.run(config, seed, block, make)


def _world(config: Config, seed: int, world: int) -> Arrays:
    """Of every (behaviour, n, k) at the final horizon, relative to the size of its values.

    `error` is the mean absolute error of the action values. `loss` is how much less than the best
    return one gets within the horizon by acting greedily on them.
    """
    layout = int(np.random.SeedSequence(seed, spawn_key=(world,)).generate_state(1)[0])
    mdp = problems.random_grid(seed=layout, size=config.size).mdp
    weighting = Weighting.exponential(config.horizon)
    best = oracle.optimal(mdp, weighting)
    exact, scale = best.action_values[..., -1], np.abs(best.action_values[..., -1]).mean()
    optimal = best.policy[..., -1]
    shape = (2, len(config.backups), len(config.one_step_horizons))
    error, loss = np.zeros(shape), np.zeros(shape)
    for i, epsilon in enumerate((0.0, config.epsilon)):
        behaviour = (1 - epsilon) * optimal + epsilon / mdp.n_actions
        for j, n in enumerate(config.backups):
            for m, k in enumerate(config.one_step_horizons):
                found = oracle.hybrid_values(mdp, behaviour, weighting, n, k)[..., -1]
                error[i, j, m] = np.abs(found - exact).mean() / scale
                acting = policy.greedy(np.round(found, 9))
                reached = oracle.state_values(mdp, acting, weighting)[:, -1]
                loss[i, j, m] = (best.state_values[:, -1] - reached).mean() / scale
    return {"error": error, "loss": loss}


def combine(config: Config, results: Results) -> Arrays:
    """(worlds, behaviours, n, k) for the worlds, (step sizes, runs) for each arm in the maze."""
    worlds = {name: join_runs(results, "worlds", name) for name in ("error", "loss")}
    return worlds | mazes.combine(config, results, everything(config))


def plot(config: Config, data: Arrays) -> "Figure":
    """What is lost over how many horizons are learned: in the worlds, and in the maze."""
    figure, axes = style.panels(1, 3, width=3.6)
    panel = axes[0, 0]
    for j, n in enumerate(config.backups):
        sizes = [_size(config.horizon, n, k) for k in config.one_step_horizons]
        found = [Interval.of(100 * data["error"][:, 1, j, m]) for m in range(len(sizes))]
        _draw(panel, sizes, found, f"n = {n}", j + 1)
    style.line(panel, [config.horizon], [0.0], None, "one-step FHQ", 0, markers=True)
    title = f"{config.runs} random grid worlds, H = {config.horizon}"
    style.label(panel, title, "horizons learned", "error of the final values (%)")
    for panel, horizon in zip(axes[0, 1:], config.maze_horizons, strict=True):
        first, *hybrids = arms(config, horizon)
        for j, n in enumerate(config.maze_backups):
            members = [arm for arm in hybrids if arm.n == n]
            found = [Interval.of(mazes.best(data, arm)) for arm in members]
            _draw(panel, [arm.size for arm in members], found, f"n = {n}", j + 1)
        _draw(panel, [first.size], [Interval.of(mazes.best(data, first))], "one-step FHQ", 0)
        title = f"Slippery maze, H = {horizon}"
        style.label(panel, title, "horizons learned", f"mean of {config.episodes} episodes (steps)")
    style.say(
        figure,
        "along each line more of the first horizons are one-step, from none at the left; "
        "bands: 95% intervals",
    )
    return figure


def _draw(panel: "Axes", sizes: list[int], found: list[Interval], name: str, i: int) -> None:
    mean = np.array([one.mean for one in found])
    reach = np.array([one.high - one.mean for one in found])
    error = reach if np.isfinite(reach).all() else None
    style.line(panel, sizes, mean, error, name, i, markers=True)


def claims(config: Config, data: Arrays) -> list[Claim]:
    """Written on other seeds than those that judge them."""
    error, n, k = data["error"], config.backups.index(8), config.one_step_horizons.index(8)
    none = config.one_step_horizons.index(0)
    plain, hybrid = error[:, 1, n, none], error[:, 1, n, k]
    removed = Interval.of(1 - hybrid / np.maximum(plain, 1e-12))
    share = 8 / config.horizon
    rest = Interval.of(error[:, 0, n, none] - _REST * plain)
    fewer = error[:, 1, config.backups.index(4), none]
    excess = Interval.of(hybrid - fewer)
    sizes = [_size(config.horizon, 8, 8), _size(config.horizon, 4, 0)]
    short, long = config.maze_horizons
    paired = (
        "each arm at its own best step size; difference in mean episode length, paired over seeds, "
        "with its 95% interval; "
    )
    saved = mazes.gap(data, Arm(short, 8, 0), Arm(short, 8, 2))
    near, far = (mazes.best(data, Arm(final, 1, 0)) for final in (short, long))
    lost = Interval.of(mazes.best(data, Arm(short, 2, 8)) - near)
    more = Interval.of(mazes.best(data, Arm(long, 2, 8)) - far)
    as_good = paired + f"holds if it lies below {_AS_GOOD:.0%} of FHQ's length, fails if above"
    return [
        Claim(
            "early-horizons-matter-most",
            "Off-policyness primarily affects the early horizons: with the first 8 one-step, "
            f"8-step control loses more than their share of its error ({share:.3f}).",
            f"random grid worlds, behaviour greedy for H = {config.horizon} but for epsilon = "
            f"{exactly(config.epsilon)}; share of the error of the final horizon's values that is "
            "gone; holds if its 95% interval over worlds lies above their share of the horizons, "
            "fails if below",
            f"{removed} of the error of plain 8-step control, {plain.mean():.3g} of the values",
            above(removed, share),
        ),
        Claim(
            "it-is-the-exploration",
            "The error of 8-step control at the final horizon is that of the exploration between "
            "its steps, not of horizons that disagree.",
            "random grid worlds; error of plain 8-step control with a behaviour that is greedy for "
            f"the final horizon, less {_REST:.0%} of its error with one that explores, paired over "
            "worlds; holds if the 95% interval lies below 0, fails if above",
            f"{error[:, 0, n, none].mean():.2g} without exploration, {plain.mean():.2g} with it: "
            f"{rest}",
            below(rest, 0),
        ),
        Claim(
            "better-than-a-smaller-n",
            f"With the first 8 horizons one-step, 8-step control, of {sizes[0]} horizons, errs "
            f"less than plain 4-step control, of {sizes[1]}.",
            "random grid worlds, exploring; difference of the errors, paired over worlds; holds if "
            "the 95% interval lies below 0, fails if above",
            f"the hybrid errs by {hybrid.mean():.3g}, which is {excess} more",
            below(excess, 0),
        ),
        Claim(
            "two-one-step-horizons-help",
            f"In the slippery maze with H = {short}, two one-step horizons make 8-step control "
            "better.",
            paired + "holds if it lies above 0, fails if below",
            f"without them an episode takes {saved} more steps",
            above(saved, 0),
        ),
        Claim(
            "as-good-where-short",
            f"In the slippery maze with H = {short}, the hybrid with n = 2 and 8 one-step horizons "
            "is as good as one-step FHQ.",
            as_good,
            f"{lost} more steps than the {near.mean():.4g} of FHQ",
            below(lost, _AS_GOOD * float(near.mean())),
        ),
        Claim(
            "as-good-where-long",
            f"The same with H = {long}, where it learns {Arm(long, 2, 8).size} horizons of {long}.",
            as_good,
            f"{more} more steps than the {far.mean():.4g} of FHQ",
            below(more, _AS_GOOD * float(far.mean())),
        ),
    ]


def tables(config: Config, data: Arrays) -> dict[str, Arrays]:
    """Every hybrid: how many horizons it learns, and what it loses."""
    worlds = [
        (i, j, m)
        for i in range(2)
        for j in range(len(config.backups))
        for m in range(len(config.one_step_horizons))
    ]
    members = everything(config)
    lengths = [Interval.of(mazes.best(data, arm)) for arm in members]
    steps = [config.step_sizes[int(np.argmin(data[str(arm)].mean(axis=1)))] for arm in members]
    return {
        "worlds": style.as_columns(
            ("epsilon", "n", "one_step_horizons", "horizons", "error", "low", "high", "loss"),
            [(0.0, config.epsilon)[i] for i, _, _ in worlds],
            [config.backups[j] for _, j, _ in worlds],
            [config.one_step_horizons[m] for _, _, m in worlds],
            [
                _size(config.horizon, config.backups[j], config.one_step_horizons[m])
                for _, j, m in worlds
            ],
            *(
                [getattr(Interval.of(data["error"][:, i, j, m]), part) for i, j, m in worlds]
                for part in ("mean", "low", "high")
            ),
            [data["loss"][:, i, j, m].mean() for i, j, m in worlds],
        ),
        "maze": style.as_columns(
            (
                *("horizon", "n", "one_step_horizons", "horizons", "step_size"),
                *("mean_length", "low", "high"),
            ),
            [arm.horizon for arm in members],
            [arm.n for arm in members],
            [arm.k for arm in members],
            [arm.size for arm in members],
            steps,
            *([getattr(one, part) for one in lengths] for part in ("mean", "low", "high")),
        ),
    }


EXPERIMENT = Experiment(
    name="hybrid",
    title="The hybrid of one-step and n-step control",
    source="Appendix, off-policyness: suggested, not tried there",
    shows="what the first horizons one-step, and n-step from there, lose and save",
    cost="3 min",
    only_by_name=True,
    config=Config,
    blocks=blocks,
    run=run,
    combine=combine,
    plot=plot,
    claims=claims,
    tables=tables,
    charts=(
        Chart(
            "Random grid worlds",
            "worlds",
            "horizons",
            "horizons learned",
            "error of the final values, of their size",
            y="error",
            arm="n",
            low="low",
            high="high",
            where=(("epsilon", "0.1"),),
            labels=(("*", "n = *"),),
        ),
        Chart(
            "Slippery maze",
            "maze",
            "horizons",
            "horizons learned",
            "mean episode length (steps)",
            y="mean_length",
            arm="n",
            low="low",
            high="high",
            split="horizon",
            labels=(("*", "n = *"),),
        ),
    ),
)
