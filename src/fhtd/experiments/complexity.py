"""What a step costs: n-step FHTD over n, FHTD(lambda) over H."""

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from fhtd import checks, problems
from fhtd.online import FHTDLambda, NStepFHTD
from fhtd.online.learner import Learner
from fhtd.online.simulate import simulate
from fhtd.reproduction import (
    Arrays,
    Block,
    Chart,
    Claim,
    Experiment,
    Results,
    above,
    below,
    style,
    worst,
)
from fhtd.reproduction.arms import MOST_RUNS
from fhtd.statistics import Interval, Statistics
from fhtd.weighting import Weighting

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class Config:
    """Settings of the measurement of cost; the paper counts operations."""

    runs: int = 7
    """Repetitions of each measurement."""
    horizons: tuple[int, ...] = (64, 256, 1024)
    """Final horizons H of n-step FHTD, powers of two."""
    lambda_horizons: tuple[int, ...] = (32, 64, 128, 256, 512, 1024)
    """Final horizons H of FHTD(lambda)."""
    steps: int = 100_000
    """Steps of n-step FHTD in one measurement; FHTD(lambda) takes fewer, as it costs more."""

    def __post_init__(self) -> None:
        checks.integer("runs", self.runs, 2, MOST_RUNS)
        checks.integer("steps", self.steps, 100)
        for name in ("horizons", "lambda_horizons"):
            values = getattr(self, name)
            if len(values) < 2 or list(values) != sorted(set(values)):
                raise ValueError(f"{name} must ascend and hold at least two values")
            for value in values:
                checks.integer(name, value, 4)
        if any(horizon & (horizon - 1) for horizon in self.horizons):
            raise ValueError("horizons must be powers of two")

    @classmethod
    def smoke(cls) -> "Config":
        """Short measurements."""
        return cls(runs=3, horizons=(64, 1024), lambda_horizons=(128, 512), steps=10_000)


def backups(horizon: int) -> list[int]:
    """Powers of two from 1 to the horizon."""
    return [2**k for k in range(int(np.log2(horizon)) + 1)]


def blocks(config: Config) -> list[Block]:
    """One measurement of everything at a time, so that slow moments of the machine are shared."""
    return [Block(f"repetition-{i}") for i in range(config.runs)]


def _nanoseconds(learner: Learner, steps: int) -> float:
    """Time per step on the continuing random grid."""
    problem = problems.random_grid()
    begun = time.perf_counter()
    simulate(
        learner,
        problem.mdp,
        steps=steps,
        behaviour=problem.behaviour,
        record_at=[],
        threads=1,
    )
    return (time.perf_counter() - begun) / steps * 1e9


def run(config: Config, seed: int, block: Block) -> Arrays:
    """Nanoseconds per step of every n for every H, and of FHTD(lambda)."""
    features = problems.random_grid().features
    arrays: Arrays = {}

    def n_step(horizon: int, n: int) -> NStepFHTD:
        return NStepFHTD(features, Weighting.exponential(horizon), n, step_size=0.01)

    def with_traces(horizon: int) -> FHTDLambda:
        return FHTDLambda(features, Weighting.exponential(horizon, 0.99), 0.9, step_size=0.01)

    # Compile and warm up before the clock starts.
    _nanoseconds(n_step(2, 2), 1000)
    _nanoseconds(with_traces(2), 1000)
    for horizon in config.horizons:
        arrays[f"n-step-{horizon}"] = np.array(
            [_nanoseconds(n_step(horizon, n), config.steps) for n in backups(horizon)]
        )
    arrays["lambda"] = np.array(
        [
            # Long enough to fill the window many times over.
            _nanoseconds(with_traces(horizon), max(8 * horizon, 10 * config.steps // horizon))
            for horizon in config.lambda_horizons
        ]
    )
    return arrays


def combine(config: Config, results: Results) -> Arrays:
    """(repetitions, settings) of nanoseconds."""
    names = [f"n-step-{horizon}" for horizon in config.horizons] + ["lambda"]
    return {name: np.stack([results[block][name] for block in blocks(config)]) for name in names}


def _count(horizon: int) -> np.ndarray:
    """The paper's count of operations, n - 1 + H / n."""
    n = np.array(backups(horizon))
    return np.asarray(n - 1 + horizon / n)


def plot(config: Config, data: Arrays) -> "Figure":
    """Cost over n with the paper's count scaled to it; cost of FHTD(lambda) over H."""
    figure, axes = style.panels(1, 2)
    panel = axes[0, 0]
    for i, horizon in enumerate(config.horizons):
        times = data[f"n-step-{horizon}"]
        n = np.array(backups(horizon))
        found = Statistics.of(times)
        style.line(panel, n, found.mean, found.standard_error, f"H = {horizon}", i, markers=True)
        # The count has no unit: scaled to the measured cost at n = 1.
        count = _count(horizon)
        label = "n - 1 + H/n, scaled" if i == 0 else None
        panel.plot(n, count * found.mean[0] / count[0], color="#999999", linewidth=1, label=label)
    panel.set_xscale("log", base=2)
    panel.set_yscale("log")
    style.label(panel, "n-step FHTD", "n", "nanoseconds per step")
    panel = axes[0, 1]
    found = Statistics.of(data["lambda"])
    horizons = np.array(config.lambda_horizons)
    style.line(
        panel, horizons, found.mean, found.standard_error, r"FHTD($\lambda$)", 0, markers=True
    )
    square = found.mean[-1] * (horizons / horizons[-1]) ** 2
    panel.plot(horizons, square, color="#999999", linewidth=1, label=r"$H^2$, scaled")
    panel.set_xscale("log", base=2)
    panel.set_yscale("log")
    style.label(panel, r"FHTD($\lambda$)", "final horizon H", "nanoseconds per step")
    style.say(figure, style.band(len(data["lambda"]), "measurements"))
    return figure


def claims(config: Config, data: Arrays) -> list[Claim]:
    """An intermediate n is cheapest, cost grows slower than H, FHTD(lambda) grows as H^2."""
    longest = config.horizons[-1]
    times = data[f"n-step-{longest}"]
    n = np.array(backups(longest))
    best = 1 + int(np.argmin(times[:, 1:-1].mean(axis=0)))
    gains = [Interval.of(times[:, end] / times[:, best]) for end in (0, -1)]
    cheapest = [data[f"n-step-{h}"].min(axis=1) for h in (config.horizons[0], longest)]
    growth = Interval.of(np.log(cheapest[1] / cheapest[0]) / np.log(longest / config.horizons[0]))
    last = config.lambda_horizons[-2:]
    ratios = data["lambda"][:, -1] / data["lambda"][:, -2]
    exponent = Interval.of(np.log(ratios) / np.log(last[1] / last[0]))
    return [
        Claim(
            "intermediate-n-cheapest",
            f"n-step FHTD is cheapest at an intermediate n: by the count n - 1 + H/n at sqrt(H), "
            f"{np.sqrt(longest):g} for H = {longest}, and dearest at n = 1 and n = H.",
            "holds if the 95% intervals of the cost at n = 1 and at n = H, relative to the "
            "cheapest n between them, lie above 1, fails if one lies below",
            f"cheapest in between at n = {n[best]} for H = {longest}; n = 1 costs {gains[0]} times "
            f"as much, n = {longest} {gains[1]} times",
            worst([above(gain, 1.0) for gain in gains]),
        ),
        Claim(
            "sublinear-in-horizon",
            "With the best n the cost grows slower than H (as its square root by the count).",
            "exponent of H in the cost at the cheapest n; holds if the 95% interval lies below 1, "
            "fails if above",
            f"exponent {growth} from H = {config.horizons[0]} to {longest}",
            below(growth, 1.0),
        ),
        Claim(
            "lambda-quadratic",
            "FHTD(lambda)'s cost grows with H^2.",
            "exponent of H in the cost between the two longest horizons (short ones have a share "
            "of fixed cost); holds if the 95% interval lies between 1.5 and 2.5, fails if outside",
            f"exponent {exponent} from H = {last[0]} to {last[1]}",
            worst([above(exponent, 1.5), below(exponent, 2.5)]),
        ),
    ]


def tables(config: Config, data: Arrays) -> dict[str, Arrays]:
    """Every measurement beside the count."""
    rows = [(h, i) for h in config.horizons for i in range(len(backups(h)))]
    stats = [Interval.of(data[f"n-step-{h}"][:, i]) for h, i in rows]
    found = Statistics.of(data["lambda"])
    return {
        "n-step": style.as_columns(
            ("horizon", "n", "nanoseconds", "low", "high", "count"),
            [h for h, _ in rows],
            [backups(h)[i] for h, i in rows],
            [s.mean for s in stats],
            [s.low for s in stats],
            [s.high for s in stats],
            [_count(h)[i] for h, i in rows],
        ),
        "lambda": style.as_columns(
            ("horizon", "nanoseconds", "standard_error"),
            config.lambda_horizons,
            found.mean,
            found.standard_error,
        ),
    }


EXPERIMENT = Experiment(
    name="complexity",
    title="What a step of multi-step FHTD costs",
    source="Sections on multi-step prediction and FHTD(lambda)",
    shows="skipping horizons makes long horizons cheap; traces cost H squared",
    cost="20 s",
    config=Config,
    blocks=blocks,
    run=run,
    combine=combine,
    plot=plot,
    claims=claims,
    tables=tables,
    charts=(
        Chart(
            "n-step FHTD, by final horizon",
            "n-step",
            "n",
            "n",
            "nanoseconds per step",
            y="nanoseconds",
            arm="horizon",
            labels=(("horizon *", "H = *"),),
            low="low",
            high="high",
            log_x=True,
            log_y=True,
        ),
        Chart(
            "FHTD(lambda)",
            "lambda",
            "horizon",
            "final horizon H",
            "nanoseconds per step",
            y="nanoseconds",
            error="standard_error",
            labels=(("FHTD(lambda)", "FHTD(λ)"),),
            log_x=True,
            log_y=True,
        ),
    ),
    needs_quiet=True,
)
