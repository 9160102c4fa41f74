"""Stability in Baird's counterexample: FHTD converges where TD diverges."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from fhtd import checks, problems
from fhtd.online import FHTD, TD
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
    every,
    join_runs,
    join_statistics,
    pack,
    run_blocks,
    style,
    worst,
)
from fhtd.statistics import Interval
from fhtd.weighting import Weighting

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Floats = npt.NDArray[np.float64]
ARMS = ("fhtd", "td", "fhtd-random")
_BLOCK = 100


@dataclass(frozen=True)
class Config:
    """Settings of the experiment on Baird's counterexample."""

    runs: int = 1000
    """Independent runs (paper: 1,000)."""
    steps: int = 10_000
    """Steps of each run (paper: 10,000)."""
    horizon: int = 100
    """Final horizon H = 1 / (1 - discount) (paper: 100)."""
    discount: float = 0.99
    """Discount rate gamma (paper: 0.99)."""
    step_size: float = 0.2 / 7
    """Step size alpha (paper: 0.2 / number of states)."""
    spread: float = 3.66
    """Standard deviation of the random first weights, about 0 (paper: not given; this is the
    root-mean-square of the other arm's first weights)."""

    def __post_init__(self) -> None:
        checks.integer("runs", self.runs, 1)
        checks.integer("steps", self.steps, 1)
        checks.integer("horizon", self.horizon, 1)
        checks.real("discount", self.discount, 0)
        checks.positive("step_size", self.step_size)
        checks.positive("spread", self.spread)

    @classmethod
    def smoke(cls) -> "Config":
        """Small enough for a test, large enough for the claims."""
        return cls(runs=8, steps=6000, horizon=40, discount=0.975)


def _recorded_at(config: Config) -> np.ndarray:
    every = max(1, config.steps // 1000)
    early = np.arange(1, min(100, config.steps) + 1)
    return np.union1d(early, np.arange(every, config.steps + 1, every))


def blocks(config: Config) -> list[Block]:
    """Every arm in blocks of runs."""
    return [block for arm in ARMS for block in run_blocks(arm, config.runs, _BLOCK)]


def run(config: Config, seed: int, block: Block) -> Arrays:
    """Weights over time of the final horizon, every run's end, and when its values settled."""
    arm = block.arm
    problem = problems.baird()
    assert problem.initial_weights is not None
    first = problem.initial_weights[:, None]
    at = _recorded_at(config)
    learner: Learner
    if arm == "td":
        learner = TD(
            problem.features,
            config.discount,
            step_size=config.step_size,
            initial=first,
            allow_divergence=True,
        )
    else:
        learner = FHTD(
            problem.features,
            Weighting.exponential(config.horizon, config.discount),
            step_size=config.step_size,
            initial=0.0 if arm == "fhtd-random" else first,
            initial_spread=config.spread if arm == "fhtd-random" else 0.0,
            allow_divergence=True,
        )
    found = simulate(
        learner,
        problem.mdp,
        steps=config.steps,
        runs=block.runs,
        behaviour=problem.behaviour,
        target=problem.target,
        # Rewards are 0, and so are all values.
        truth=np.zeros((problem.mdp.n_states, len(learner.horizons))),
        per_run=True,
        record_at=at,
        record_weights=[learner.horizons[-1]],
        keep_weights=True,
        seed=seed,
        threads=1,
    )
    assert found.weights is not None
    assert found.final_weights is not None
    assert found.error_curves is not None
    final = found.final_weights[..., -1]
    return {
        "settled_at": _settled_at(found.error_curves[..., -1], _close(problem), at),
        **pack("weights", found.weights),
        "final_weights": final,
        "final_values": final @ problem.features.matrix.T,
    }


def _close(problem: problems.Problem) -> float:
    """Values below this have converged: a thousandth of the largest at the start."""
    assert problem.initial_weights is not None
    return 1e-3 * float(np.abs(problem.features.matrix @ problem.initial_weights).max())


def _settled_at(errors: Floats, close: float, at: npt.NDArray[np.int64]) -> Floats:
    """The first recorded step from which on a run's error stays this small; infinite if none."""
    # Errors that are not numbers any more are not small.
    far = ~(errors < close)
    last = np.where(far.any(axis=1), errors.shape[1] - far[:, ::-1].argmax(axis=1), 0)
    return np.append(at.astype(np.float64), np.inf)[last]


def combine(config: Config, results: Results) -> Arrays:
    """Mean and standard error over runs of each arm, and every run's final values."""
    data: Arrays = {"step": _recorded_at(config)}
    for arm in ARMS:
        total = join_statistics(results, arm, "weights")
        data[f"{arm}.mean"] = total.mean[..., 0]
        data[f"{arm}.error"] = total.standard_error[..., 0]
        data[f"{arm}.final_weights"] = join_runs(results, arm, "final_weights")
        data[f"{arm}.final_values"] = join_runs(results, arm, "final_values")
        data[f"{arm}.settled_at"] = join_runs(results, arm, "settled_at")
    return data


#: Weights that go together: six of them see one state each, the others see several.
GROUPS = (("$w_1$ to $w_6$", slice(0, 6), 1), ("$w_7$", slice(6, 7), 2), ("$w_8$", slice(7, 8), 0))
#: Records over which the picture shows how far the weights swing: two of their swings.
_WINDOW = 41
#: Below this, a weight is drawn as this.
_SMALLEST = 1e-3


def _reach(weights: Floats) -> Floats:
    """The largest of some sizes within so many records around each."""
    size = weights.max(axis=1)
    padded = np.pad(size, _WINDOW // 2, mode="edge")
    return np.asarray(np.lib.stride_tricks.sliding_window_view(padded, _WINDOW).max(axis=1))


def plot(config: Config, data: Arrays) -> "Figure":
    """How large the weights of the final horizon are over time; TD's beside it."""
    figure, axes = style.panels(1, 3, width=4.0)
    titles = {
        "fhtd": f"FHTD, horizon {config.horizon}",
        "td": "TD on the same experience",
        "fhtd-random": "FHTD, random first weights",
    }
    rows = style.thin(len(data["step"]))
    for panel, arm in zip(axes[0], ARMS, strict=True):
        mean, error = np.abs(data[f"{arm}.mean"]), data[f"{arm}.error"]
        for label, which, index in GROUPS:
            size, low, high = (
                np.maximum(_reach(one[:, which]), _SMALLEST)[rows]
                for one in (mean, mean - error, mean + error)
            )
            style.line(panel, data["step"][rows], size, None, label, index)
            colour, _ = style.look(index)
            panel.fill_between(data["step"][rows], low, high, color=colour, alpha=0.2, linewidth=0)
        panel.set_yscale("log")
        style.label(panel, titles[arm], "step", "size of the weight", columns=3, below=True)
    around = _WINDOW * int(data["step"][-1] - data["step"][-2]) if len(data["step"]) > 1 else 1
    style.say(
        figure,
        f"the largest size within {around:,} steps of means that swing about 0, drawn as "
        f"{_SMALLEST:g} where smaller; {style.band(config.runs)}",
    )
    return figure


def claims(config: Config, data: Arrays) -> list[Claim]:
    """Convergence, the transient, TD's divergence, and random first weights."""
    problem = problems.baird()
    assert problem.initial_weights is not None
    close = _close(problem)
    first = 1e3 * close
    size = np.abs(data["td.final_values"]).max(axis=1)
    # Beyond the largest number there is nothing to compare.
    size = np.where(np.isfinite(size), size, np.finfo(np.float64).max)
    grown = Interval.of(np.log10(size) - np.log10(first))
    return [
        _convergence(
            "converges",
            "One-step FHTD converges in every run, to weights whose values are 0 in every state.",
            data["fhtd.final_values"],
            close,
        ),
        _transient(data, float(np.abs(problem.initial_weights).max())),
        Claim(
            "td-diverges",
            "TD diverges on the same experience.",
            "holds if the 95% interval of log10 of the growth of the largest |value| lies above "
            "3, fails if below",
            f"log10 of growth {grown}",
            above(grown, 3.0),
        ),
        _convergence(
            "random-converges",
            "FHTD also converges when each horizon's weights start at random.",
            data["fhtd-random.final_values"],
            close,
        ),
        _quicker(data, close),
    ]


#: Share of runs that must converge; that of all runs has an interval above it from 368 on.
_NEARLY_ALL = 0.99


def _convergence(name: str, statement: str, values: Floats, close: float) -> Claim:
    """Every run that was made, and nearly every one that could be."""
    final = np.abs(values).max(axis=1)
    share = Interval.share(final < close)
    return Claim(
        name,
        statement,
        f"a run converges if its largest |value| over states after the last step is below "
        f"{close:.3g}; holds if every run does and the 95% interval of their share lies above "
        f"{_NEARLY_ALL:g}, fails if below",
        f"share {share} of {len(final)} runs; largest |value| {final.max():.2g}, median "
        f"{np.median(final):.2g}",
        every(share, _NEARLY_ALL),
    )


#: What "sometimes" means at least, of all runs.
_SOMETIMES = 0.05


def _quicker(data: Arrays, close: float) -> Claim:
    """Random first weights against equal ones, on the same experience."""
    equal, random = data["fhtd.settled_at"], data["fhtd-random.settled_at"]
    share = Interval.share(random < equal)
    return Claim(
        "random-sometimes-quicker",
        "From random first weights FHTD sometimes converges quicker.",
        "a run has settled from where the root-mean-square over states of the final horizon's "
        f"values stays below {close:.3g}; share of runs that do so at an earlier record from "
        "random first weights than from equal ones, on the same experience; holds if its 95% "
        f"interval lies above {_SOMETIMES:g}, fails if below",
        f"share {share} of {len(equal)} runs; medians {np.median(random):,.0f} and "
        f"{np.median(equal):,.0f} steps",
        above(share, _SOMETIMES),
    )


def _transient(data: Arrays, begun: float) -> Claim:
    """The largest mean weight on the way, against where the weights began and end."""
    mean, error = np.abs(data["fhtd.mean"]), data["fhtd.error"]
    runs = len(data["fhtd.final_weights"])
    where = np.unravel_index(np.argmax(mean), mean.shape)
    if runs < 2:
        peak = Interval(float(mean[where]), -np.inf, np.inf)
    else:
        peak = Interval.around(float(mean[where]), float(error[where]), runs)
    end = Interval.of(np.abs(data["fhtd.final_weights"]).max(axis=1))
    return Claim(
        "transient",
        "Early on the weights grow as TD's do, because every horizon starts from the same "
        "weights; then FHTD recovers.",
        "largest mean weight on the way, and every run's largest at the end; holds if the 95% "
        "interval of the first lies above 10 times the largest first weight, and that of the "
        "second below it, fails if one is clearly otherwise",
        f"largest first weight {begun:.3g}, on the way {peak}, at the end {end}",
        worst([above(peak, 10 * begun), below(end, begun)]),
    )


def tables(config: Config, data: Arrays) -> dict[str, Arrays]:
    """The curves of all three arms."""
    rows = style.thin(len(data["step"]), keep=300)
    table: Arrays = {"step": data["step"][rows]}
    for arm in ARMS:
        for i in range(data[f"{arm}.mean"].shape[1]):
            table[f"{arm}.w{i + 1}"] = data[f"{arm}.mean"][rows, i]
            table[f"{arm}.w{i + 1}.standard_error"] = data[f"{arm}.error"][rows, i]
    return {"weights": table}


EXPERIMENT = Experiment(
    name="baird",
    title="Stability in Baird's counterexample",
    source="Figure 1",
    shows="off-policy linear FHTD converges where TD diverges",
    cost="10 s",
    # Revision 2 keeps when values settled.
    revision=2,
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
                "weights",
                "step",
                "step",
                "size of the weight",
                lines=f"{arm}.",
                log_y=True,
                absolute=True,
                styles=(*((f"w{i}", 1) for i in range(1, 7)), ("w7", 2), ("w8", 0)),
            )
            for arm, title in zip(
                ARMS,
                ("FHTD", "TD on the same experience", "FHTD, random first weights"),
                strict=True,
            )
        ),
    ),
)
