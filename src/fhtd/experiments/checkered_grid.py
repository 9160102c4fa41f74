"""Multi-step policy evaluation on the checkered grid: n-step FHTD and FHTD(lambda)."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from fhtd import checks, oracle, problems
from fhtd.online import FHTDLambda, NStepFHTD
from fhtd.online.simulate import simulate
from fhtd.reproduction import (
    Arrays,
    Block,
    Chart,
    Claim,
    Experiment,
    Results,
    Verdict,
    above,
    below,
    exactly,
    join_runs,
    run_blocks,
    style,
    worst,
)
from fhtd.statistics import Interval, Statistics
from fhtd.weighting import Weighting

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_BLOCK = 100


@dataclass(frozen=True)
class Config:
    """Settings of the experiment on the checkered grid."""

    runs: int = 100
    """Independent runs of each arm (paper: 100)."""
    early: int = 20
    """Episodes after which the first error is taken (paper: 20)."""
    late: int = 200
    """Episodes after which the second error is taken (paper: 200)."""
    horizon: int = 32
    """Final horizon H (paper: 32)."""
    backups: tuple[int, ...] = (1, 2, 4, 8, 16, 32)
    """Backup lengths n of n-step FHTD (paper: 1, 2, 4, 8, 16, 32)."""
    lambdas: tuple[float, ...] = (0.0, 0.5, 0.75, 0.875, 0.9375, 1.0)
    """Trace decays of FHTD(lambda) (paper: 0, 0.5, 0.75, 0.875, 0.9375, 1)."""
    exponents: tuple[int, ...] = (-8, -7, -6, -5, -4, -3, -2, -1, 0)
    """Powers of two of the step sizes (paper: negative powers of two)."""
    start_reward: float = 1.0
    """Reward for entering the colour of the start cell (paper: not given which is white)."""

    def __post_init__(self) -> None:
        checks.integer("runs", self.runs, 1)
        checks.integer("early", self.early, 1)
        checks.integer("late", self.late, self.early + 1)
        checks.integer("horizon", self.horizon, 1)
        for n in self.backups:
            checks.integer("backups", n, 1, self.horizon)
        for decay in self.lambdas:
            checks.real("lambdas", decay, 0, 1)
        for exponent in self.exponents:
            checks.integer("exponents", exponent, -60, 0)
        checks.real("start_reward", self.start_reward)
        for name, first, last in (("backups", 1, self.horizon), ("lambdas", 0, 1)):
            values = list(getattr(self, name))
            if len(values) < 3 or values != sorted({first, *values, last}):
                raise ValueError(f"{name} must ascend from {first} to {last} in 3 values or more")
        if not self.exponents:
            raise ValueError("exponents must not be empty")

    @classmethod
    def smoke(cls) -> "Config":
        """Few runs and step sizes."""
        return cls(
            runs=20, exponents=(-6, -4, -3, -2, -1), backups=(1, 4, 32), lambdas=(0, 0.75, 1)
        )


@dataclass(frozen=True)
class Arm:
    """n-step FHTD or FHTD(lambda), with its n or lambda."""

    family: str
    value: float

    def __str__(self) -> str:
        return f"{self.family}={exactly(self.value)}"


@dataclass(frozen=True)
class At:
    """An arm at a step size, which is a power of two."""

    arm: Arm
    exponent: int

    def __str__(self) -> str:
        return f"{self.arm}@{self.exponent}"


def blocks(config: Config) -> list[Block]:
    """Every arm at every step size."""
    return [
        block
        for arm in [*arms(config, "n"), *arms(config, "lambda")]
        for exponent in config.exponents
        for block in run_blocks(At(arm, exponent), config.runs, _BLOCK)
    ]


def arms(config: Config, family: str) -> list[Arm]:
    """Of n-step FHTD or of FHTD(lambda)."""
    values = config.backups if family == "n" else config.lambdas
    return [Arm(family, value) for value in values]


def _names(config: Config, family: str) -> list[str]:
    return [str(arm) for arm in arms(config, family)]


def run(config: Config, seed: int, block: Block) -> Arrays:
    """Error of the final horizon in each run, early and late; infinite where it diverged."""
    arm: Arm = block.arm.arm
    grid = problems.checkered_grid(start_reward=config.start_reward)
    weighting = Weighting.exponential(config.horizon)
    learner: NStepFHTD | FHTDLambda
    step_size = 2.0**block.arm.exponent
    if arm.family == "n":
        learner = NStepFHTD(
            grid.features, weighting, int(arm.value), step_size=step_size, allow_divergence=True
        )
    else:
        learner = FHTDLambda(
            grid.features, weighting, float(arm.value), step_size=step_size, allow_divergence=True
        )
    found = simulate(
        learner,
        grid.mdp,
        episodes=config.late,
        runs=block.runs,
        behaviour=grid.behaviour,
        truth=oracle.state_values(grid.mdp, grid.target, weighting),
        record_at=[config.early, config.late],
        per_run=True,
        seed=seed,
        threads=1,
    )
    assert found.error_curves is not None
    errors = found.error_curves[:, :, -1]
    return {"error": np.where(np.isfinite(errors), errors, np.inf)}


def combine(config: Config, results: Results) -> Arrays:
    """(step sizes, runs, early and late) of errors for each arm."""
    return {
        str(arm): np.stack([join_runs(results, At(arm, e), "error") for e in config.exponents])
        for arm in [*arms(config, "n"), *arms(config, "lambda")]
    }


def plot(config: Config, data: Arrays) -> "Figure":
    """Four panels: n-step and lambda, early and late."""
    figure, axes = style.panels(2, 2, height=3.0)
    sizes = 2.0 ** np.array(config.exponents, float)
    ceiling = _ceiling(config)
    for row, (moment, when) in enumerate([(config.early, 0), (config.late, 1)]):
        for column, family in enumerate(("n", "lambda")):
            panel = axes[row, column]
            for i, arm in enumerate(_names(config, family)):
                with np.errstate(invalid="ignore", over="ignore"):
                    found = Statistics.of(data[arm][:, :, when].T)
                    shown = np.isfinite(found.mean) & (found.mean < 3 * ceiling)
                text = arm.replace("lambda", r"$\lambda$").replace("=", " = ")
                style.line(
                    panel,
                    sizes[shown],
                    found.mean[shown],
                    found.standard_error[shown],
                    text,
                    i,
                    markers=True,
                )
            panel.set_xscale("log", base=2)
            panel.set_ylim(0, ceiling)
            name = "n-step FHTD" if family == "n" else r"FHTD($\lambda$)"
            style.label(
                panel,
                f"{name}, {moment} episodes",
                "step size (lines end where runs diverge)",
                "root-mean-square error",
                beside=True,
            )
    style.say(figure, f"{style.band(config.runs)}; the top is the error of values that are all 0")
    return figure


def _ceiling(config: Config) -> float:
    """The error of knowing nothing: all values zero."""
    grid = problems.checkered_grid(start_reward=config.start_reward)
    exact = oracle.state_values(grid.mdp, grid.target, Weighting.exponential(config.horizon))
    return float(np.sqrt((exact[~grid.mdp.terminal_states, -1] ** 2).mean()))


def _best(data: Arrays, arm: str, when: int) -> np.ndarray:
    """Runs of an arm at its own best step size."""
    errors = data[arm][:, :, when]
    return np.asarray(errors[np.argmin(errors.mean(axis=1))])


def claims(config: Config, data: Arrays) -> list[Claim]:
    """The bias-variance trade-off, one-step catching up, and FHTD(lambda) at large steps."""
    found = []
    for family in ("n", "lambda"):
        names = _names(config, family)
        one, full = names[0], names[-1]
        inner = min(names[1:-1], key=lambda arm: _best(data, arm, 0).mean())
        gaps = [Interval.of(_best(data, arm, 0) - _best(data, inner, 0)) for arm in (one, full)]
        found.append(
            Claim(
                f"intermediate-{family}",
                f"After {config.early} episodes an intermediate {family} has less error than "
                "either extreme.",
                "each at its best step size; holds if both 95% intervals of the difference, "
                "paired over seeds, lie above 0, fails if one lies below",
                f"{one} has {gaps[0]} more error than {inner}, {full} {gaps[1]} more",
                worst([above(gap, 0) for gap in gaps]),
            )
        )
    inner = min(_names(config, "n")[1:], key=lambda arm: _best(data, arm, 0).mean())
    late = min(_names(config, "n")[1:], key=lambda arm: _best(data, arm, 1).mean())
    early, ratio = (_relative_excess(data, arm, i) for i, arm in enumerate((inner, late)))
    found.append(
        Claim(
            "one-step-catches-up",
            "One-step FHTD, behind at first, catches up with the multi-step methods.",
            "excess error of n = 1 over the best n > 1, paired over seeds and relative to the "
            "latter, each at its best step size; holds if the 95% interval lies above 0 after "
            f"{config.early} episodes and below 0.05 after {config.late}, fails if one is "
            "clearly otherwise",
            f"{early} after {config.early} episodes, {ratio} after {config.late}",
            worst([above(early, 0.0), below(ratio, 0.05)]),
        )
    )
    found.append(_stability(config, data))
    return found


def _relative_excess(data: Arrays, arm: str, when: int) -> Interval:
    """How much more error n = 1 has than another arm, as a share of the latter."""
    other = _best(data, arm, when)
    return Interval.of((_best(data, "n=1", when) - other) / other.mean())


def _stability(config: Config, data: Arrays) -> Claim:
    """Which of the two families fails in more of its arms, run by run."""
    longest = f"n={config.horizon}"
    pairs = [(longest, "lambda=1"), ("n=16", "lambda=0.9375"), ("n=8", "lambda=0.875")]
    pairs = [(n, decay) for n, decay in pairs if n in data and decay in data]
    ceiling = _ceiling(config)
    steps, traces = (
        np.array([data[pair[i]][-1, :, 1] > ceiling for pair in pairs]) for i in (0, 1)
    )
    more, less = traces.sum(axis=0), steps.sum(axis=0)
    worse, better = Interval.share(more > less), Interval.share(less > more)
    verdict = above(worse, 0.5)
    if verdict is not Verdict.HOLDS:
        verdict = Verdict.FAILS if better.low > 0.5 else Verdict.INCONCLUSIVE
    return Claim(
        "lambda-less-stable",
        "FHTD(lambda) is less stable than n-step FHTD for large step sizes.",
        f"at step size {2.0 ** config.exponents[-1]:g} an arm has failed if its error exceeds that "
        "of knowing nothing, over arms of comparable length (lambda = 1 - 1/n, and 1 for H); holds "
        "if the 95% interval of the share of runs in which more arms of FHTD(lambda) fail lies "
        "above one half, fails if that of the share in which fewer do",
        f"more in a share of {worse} of runs, fewer in {better}; {traces.mean():.3f} of "
        f"FHTD(lambda) and {steps.mean():.3f} of n-step FHTD fail",
        verdict,
    )


def tables(config: Config, data: Arrays) -> dict[str, Arrays]:
    """Every arm at every step size, early and late."""
    names = [*_names(config, "n"), *_names(config, "lambda")]
    rows = [
        (arm, i, when) for arm in names for i in range(len(config.exponents)) for when in (0, 1)
    ]
    with np.errstate(invalid="ignore", over="ignore"):
        stats = [Interval.of(data[arm][i, :, when]) for arm, i, when in rows]
    return {
        "errors": style.as_columns(
            ("arm", "step_size", "episodes", "mean_error", "low", "high", "diverged"),
            [arm for arm, _, _ in rows],
            [2.0 ** config.exponents[i] for _, i, _ in rows],
            [(config.early, config.late)[when] for _, _, when in rows],
            [s.mean for s in stats],
            [s.low for s in stats],
            [s.high for s in stats],
            [int(np.isinf(data[arm][i, :, when]).sum()) for arm, i, when in rows],
        )
    }


EXPERIMENT = Experiment(
    name="checkered-grid",
    title="Multi-step FHTD policy evaluation on the checkered grid",
    source="Appendix, multi-step policy evaluation",
    shows="intermediate n and lambda learn fastest, one-step catches up",
    cost="30 s",
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
                title,
                "errors",
                "step_size",
                "step size",
                "root-mean-square error",
                y="mean_error",
                arm="arm",
                low="low",
                high="high",
                where=(("arm", f"{kind}=*"), ("diverged", "0")),
                split="episodes",
                log_x=True,
                labels=(("n=*", "n = *"), ("lambda=*", "λ = *")),
            )
            for kind, title in (("n", "n-step FHTD"), ("lambda", "FHTD(lambda)"))
        ),
    ),
)
