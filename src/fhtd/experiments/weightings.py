"""Arbitrary temporal weightings, and when rewards come: learned against exact."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from fhtd import checks, oracle, problems
from fhtd.online import FHTD, Decay
from fhtd.online.simulate import simulate
from fhtd.problems import Problem
from fhtd.reproduction import (
    Arrays,
    Block,
    Chart,
    Claim,
    Experiment,
    Results,
    below,
    join_runs,
    run_blocks,
    style,
    worst,
)
from fhtd.statistics import Interval, Statistics
from fhtd.weighting import Weighting

if TYPE_CHECKING:
    from matplotlib.figure import Figure

NAMES = ("exponential", "average", "hyperbolic", "arbitrary", "reward-scaled", "fourier")
PROBLEMS = ("checkered-grid", "random-walk")
_BLOCK = 10


@dataclass(frozen=True)
class Config:
    """Settings of the experiment on weightings; the paper states targets, not an experiment."""

    runs: int = 20
    """Independent runs of each weighting on each problem."""
    steps: int = 1_000_000
    """Steps of each run."""
    horizon: int = 16
    """Final horizon H."""
    discount: float = 0.9
    """Discount of the reward-scaled exponential weighting."""
    hyperbolic_k: float = 1.0
    """Coefficient k of hyperbolic discounting."""
    frequency: int = 3
    """Which bin of the discrete Fourier transform to learn."""
    step_size: float = 0.5
    """First step size, which decays as 1 / (1 + t / 2000)^0.8."""

    def __post_init__(self) -> None:
        checks.integer("runs", self.runs, 1)
        checks.integer("steps", self.steps, 1000)
        checks.integer("horizon", self.horizon, 4)
        checks.real("discount", self.discount, 0)
        checks.real("hyperbolic_k", self.hyperbolic_k, 0)
        checks.integer("frequency", self.frequency, 0)
        checks.positive("step_size", self.step_size)

    @classmethod
    def smoke(cls) -> "Config":
        """Few runs, shorter."""
        return cls(runs=4, steps=150_000)


@dataclass(frozen=True)
class At:
    """A weighting on a problem."""

    name: str
    problem: str

    def __str__(self) -> str:
        return f"{self.problem}@{self.name}"


def weighting(config: Config, name: str) -> Weighting:
    """One of the weightings by name; `arbitrary` has zeros inside."""
    horizon = config.horizon
    if name == "exponential":
        return Weighting.exponential(horizon)
    if name == "average":
        return Weighting.average(horizon)
    if name == "hyperbolic":
        return Weighting.hyperbolic(horizon, config.hyperbolic_k)
    if name == "reward-scaled":
        return Weighting.reward_scaled(horizon, config.discount)
    if name == "fourier":
        return Weighting.fourier(horizon, config.frequency)
    weights = np.cos(np.arange(horizon)) ** 2
    weights[1 : horizon // 2] = 0
    return Weighting.from_weights(weights)


def _problem(name: str) -> Problem:
    return problems.PROBLEMS[name]()


def _recorded_at(config: Config) -> np.ndarray:
    return np.unique(np.geomspace(config.steps / 1000, config.steps, 25).astype(int))


def blocks(config: Config) -> list[Block]:
    """Every weighting on every problem."""
    return [
        block
        for problem in PROBLEMS
        for name in NAMES
        for block in run_blocks(At(name, problem), config.runs, _BLOCK)
    ]


def run(config: Config, seed: int, block: Block) -> Arrays:
    """Error of the final horizon over time, relative to the size of the exact values."""
    name: str = block.arm.name
    problem, chosen = _problem(block.arm.problem), weighting(config, name)
    truth = oracle.state_values(problem.mdp, problem.target, chosen)
    found = simulate(
        FHTD(problem.features, chosen, step_size=Decay(config.step_size, 2000, 0.8)),
        problem.mdp,
        steps=config.steps,
        runs=block.runs,
        behaviour=problem.behaviour,
        truth=truth,
        record_at=_recorded_at(config),
        per_run=True,
        keep_weights=name == "exponential",
        seed=seed,
        threads=1,
    )
    assert found.error_curves is not None
    exact = truth[~problem.mdp.terminal_states, -1]
    arrays = {"error": found.error_curves[:, :, -1] / np.sqrt((np.abs(exact) ** 2).mean())}
    if found.final_weights is not None:
        arrays["profile"] = chosen.expected_rewards(found.final_weights)
    return arrays


def combine(config: Config, results: Results) -> Arrays:
    """Errors (runs, moments) of each arm, and the learned and exact reward profiles."""
    data: Arrays = {"step": _recorded_at(config)}
    for problem in PROBLEMS:
        for name in NAMES:
            data[f"{problem}@{name}"] = join_runs(results, At(name, problem), "error")
        world = _problem(problem)
        alive = ~world.mdp.terminal_states
        exact = oracle.expected_rewards(world.mdp, world.target, config.horizon)
        learned = join_runs(results, At("exponential", problem), "profile")
        data[f"{problem}.exact"], data[f"{problem}.profile"] = exact[alive], learned[:, alive]
    return data


def _shown(data: Arrays, problem: str) -> int:
    """The state whose rewards vary most with time, to draw."""
    return int(np.argmax(data[f"{problem}.exact"].var(axis=1)))


def plot(config: Config, data: Arrays) -> "Figure":
    """Above: error over time of each weighting. Below: expected reward at each future step."""
    figure, axes = style.panels(2, 2, height=3.0)
    for column, problem in enumerate(PROBLEMS):
        panel = axes[0, column]
        for i, name in enumerate(NAMES):
            found = Statistics.of(data[f"{problem}@{name}"])
            style.line(panel, data["step"], found.mean, found.standard_error, name, i)
        panel.set_xscale("log")
        panel.set_yscale("log")
        title = problem.replace("-", " ")
        style.label(
            panel, f"{title}: V at horizon H", "step", "relative error", columns=3, below=True
        )
        panel = axes[1, column]
        ahead = np.arange(1, config.horizon + 1)
        state = _shown(data, problem)
        found = Statistics.of(data[f"{problem}.profile"][:, state])
        exact = data[f"{problem}.exact"][state]
        style.line(panel, ahead, exact, None, "exact", 0, markers=True)
        style.line(panel, ahead, found.mean, found.standard_error, "learned", 2, markers=True)
        style.label(
            panel, f"{title}: when rewards come", "steps ahead of one state", "expected reward"
        )
        style.whole_steps(panel)
    style.say(figure, style.band(config.runs))
    return figure


def claims(config: Config, data: Arrays) -> list[Claim]:
    """Every weighting is learned; subtracting horizons says when rewards come."""
    found = []
    for name in NAMES:
        finals = [Interval.of(data[f"{problem}@{name}"][:, -1]) for problem in PROBLEMS]
        found.append(
            Claim(
                f"learns-{name}",
                f"FHTD learns the {name} weighting of future rewards directly.",
                "root-mean-square error of the final horizon relative to the exact values; holds "
                "if the 95% interval lies below 0.15 on both problems, fails if above on one",
                "; ".join(f"{p}: {s}" for p, s in zip(PROBLEMS, finals, strict=True)),
                worst([below(final, 0.15) for final in finals]),
            )
        )
    gaps = []
    for problem in PROBLEMS:
        exact = data[f"{problem}.exact"]
        error = np.sqrt(((data[f"{problem}.profile"] - exact) ** 2).mean(axis=(1, 2)))
        gaps.append(Interval.of(error / np.sqrt((exact**2).mean())))
    found.append(
        Claim(
            "knows-when",
            "Subtracting consecutive horizons gives the expected reward at each future step.",
            "error of the learned reward at each step ahead, over all states, relative to the "
            "size of the exact ones; holds if the 95% interval lies below 0.25 on both problems, "
            "fails if above on one",
            "; ".join(f"{p}: {s}" for p, s in zip(PROBLEMS, gaps, strict=True)),
            worst([below(gap, 0.25) for gap in gaps]),
        )
    )
    return found


def tables(config: Config, data: Arrays) -> dict[str, Arrays]:
    """Errors over time and in the end, and the profiles."""
    rows = [(problem, name) for problem in PROBLEMS for name in NAMES]
    stats = [Interval.of(data[f"{problem}@{name}"][:, -1]) for problem, name in rows]
    profile: Arrays = {"steps_ahead": np.arange(1, config.horizon + 1)}
    for problem in PROBLEMS:
        state = _shown(data, problem)
        profile[f"{problem}.exact"] = data[f"{problem}.exact"][state]
        profile[f"{problem}.learned"] = data[f"{problem}.profile"][:, state].mean(axis=0)
    curves: Arrays = {"step": data["step"]}
    for problem, name in rows:
        over_time = Statistics.of(data[f"{problem}@{name}"])
        curves[f"{problem}@{name}"] = over_time.mean
        curves[f"{problem}@{name}.standard_error"] = over_time.standard_error
    return {
        "curves": curves,
        "errors": style.as_columns(
            ("problem", "weighting", "relative_error", "low", "high"),
            [problem for problem, _ in rows],
            [name for _, name in rows],
            [s.mean for s in stats],
            [s.low for s in stats],
            [s.high for s in stats],
        ),
        "profiles": profile,
    }


EXPERIMENT = Experiment(
    name="weightings",
    title="Arbitrary temporal weightings, and when rewards come",
    source="Appendix, arbitrary temporal weighting",
    shows="any weighting of future rewards is learned, and the time of each reward known",
    cost="15 s",
    config=Config,
    blocks=blocks,
    run=run,
    combine=combine,
    plot=plot,
    claims=claims,
    tables=tables,
    charts=(
        *(
            Chart(
                f"Error of each weighting, {problem}",
                "curves",
                "step",
                "step",
                "relative error",
                lines=f"{problem}@",
                log_x=True,
                log_y=True,
            )
            for problem in PROBLEMS
        ),
        *(
            Chart(
                f"When rewards come, {problem}",
                "profiles",
                "steps_ahead",
                "steps ahead",
                "expected reward",
                lines=f"{problem}.",
                styles=(("learned", 2),),
            )
            for problem in PROBLEMS
        ),
    ),
)
