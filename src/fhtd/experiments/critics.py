"""Fixed-horizon critics in a soft actor-critic, with and without target networks."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from fhtd.comparison import experiment as comparison
from fhtd.comparison.arms import cell, parse_all
from fhtd.reproduction import (
    Arrays,
    Claim,
    Experiment,
    Results,
    Verdict,
    above,
    below,
    every,
    worst,
)
from fhtd.reproduction import curves as learning
from fhtd.statistics import Interval

PENDULUM, LANDER = "Pendulum-v1", "LunarLanderContinuous-v3"
#: What each arm is; those without a word about it have no target networks.
ARMS = {
    "window": "fhsac",
    "H16": "fhsac,horizon=16,deepen_every=None,layer_norm=False",
    "H32": "fhsac,horizon=32,deepen_every=None,layer_norm=False",
    "H32-target": "fhsac,horizon=32,deepen_every=None,layer_norm=False,tau=0.005",
    "sac": "sac,tau=None",
    "sac-target": "sac",
}
#: Horizons of the arms whose horizons stay where they are.
FIXED = {"H16": 16, "H32": 32}
#: A step of Pendulum costs at most pi^2 + 0.1 * 8^2 + 0.001 * 2^2.
_WORST_REWARD = np.pi**2 + 6.4 + 0.004
_DISCOUNT = 0.99
#: Mean returns in Pendulum: random actions bring about -1,200, good ones -150.
_NOTHING_LEARNED, _LEARNED = -900.0, -300.0
#: A normalised area that is no more than this below another counts as no worse.
MARGIN = 0.05


def arms(others: str = "") -> tuple[str, ...]:
    """The arms in words, all with these settings beside."""
    return tuple(f"{label}={words}{others}" for label, words in ARMS.items())


@dataclass(frozen=True)
class Config(comparison.Config):
    """Settings of the comparison of critics."""

    environments: tuple[str, ...] = (PENDULUM, LANDER)
    """Ids of Gymnasium environments with continuous actions, Pendulum first."""
    arms: tuple[str, ...] = arms()
    """Critics with fixed horizons and without, with target networks and without."""
    runs: tuple[int, ...] = (10, 5)
    """Independent runs of each arm: one number, or one for each environment."""
    frames: tuple[int, ...] = (20_000, 60_000)
    """Frames of a run: one number, or one for each environment."""

    def __post_init__(self) -> None:
        if not self.environments or self.environments[0] != PENDULUM:
            raise ValueError(f"environments must begin with {PENDULUM}")
        texts = all(isinstance(arm, str) for arm in self.arms)
        if not texts or comparison.labels(self) != list(ARMS):
            raise ValueError(f"arms must be labelled {', '.join(ARMS)}, got {self.arms}")
        super().__post_init__()

    @classmethod
    def smoke(cls) -> "Config":
        """Two short runs of small networks."""
        small = ",hidden=16:16,learning_starts=100,batch_size=16"
        return cls(environments=(PENDULUM,), arms=arms(small), runs=(2,), frames=(600,))


def combine(config: Config, results: Results) -> Arrays:
    """Curves of every run; and its critics' last mean target and mean squared error."""
    data = comparison.combine(config, results)
    for environment, runs, frames in config.each():
        for arm in parse_all(config.arms):
            one = cell(arm, environment, frames)
            found = [results[learning.one_run(one, run)] for run in range(runs)]
            for name, column in (("target", "mean_target"), ("error", "mean_loss")):
                # Noted every 10,000 frames: shorter runs have none.
                last = [float(np.append(np.nan, run[column])[-1]) for run in found]
                data[f"{comparison.key(environment, arm)}.{name}"] = np.array(last)
    return data


def reach(horizon: int) -> tuple[float, float]:
    """What so many steps of Pendulum can bring: the worst rewards, or all the entropy there is.

    An action within (-1, 1) has an entropy of at most log 2, and the temperature begins at 1.
    """
    steps = (1 - _DISCOUNT**horizon) / (1 - _DISCOUNT)
    return -_WORST_REWARD * steps, float(np.log(2) * steps)


def _ends(data: Arrays, arm: str) -> npt.NDArray[np.float64]:
    return learning.last_fifths(data, comparison.key(PENDULUM, arm))


def claims(config: Config, data: Arrays) -> list[Claim]:
    """Written before the runs that judge them; settings were chosen on other seeds."""
    return [
        _values_lost(data),
        _not_learned(data),
        _learned(data),
        _within_reach(data),
        _not_below(config, data),
        _above(config, data),
    ]


def _values_lost(data: Arrays) -> Claim:
    errors = [data[f"{comparison.key(PENDULUM, arm)}.error"] for arm in ("sac", "sac-target")]
    with np.errstate(divide="ignore", invalid="ignore"):
        ratios = np.log10(errors[0]) - np.log10(errors[1])
    gap, known = Interval.of(ratios), bool(np.isfinite(ratios).all())
    return Claim(
        "sac-loses-control",
        "In Pendulum, without target networks SAC loses control of its values.",
        "the critics' mean squared error over the last 10,000 frames against that with target "
        "networks, as the logarithm to base 10 of their ratio, paired over seeds; holds if its 95% "
        "interval lies above 1, a factor of ten, fails if below",
        str(gap) if known else f"not known of all {len(ratios)} runs",
        above(gap, 1.0) if known else Verdict.INCONCLUSIVE,
    )


def _not_learned(data: Arrays) -> Claim:
    end = Interval.of(_ends(data, "sac"))
    return Claim(
        "sac-does-not-learn",
        "In Pendulum, without target networks SAC does not learn.",
        f"mean return over the last fifth of the frames; holds if its 95% interval over seeds lies "
        f"below {_NOTHING_LEARNED:g}, fails if above",
        str(end),
        below(end, _NOTHING_LEARNED),
    )


def _learned(data: Arrays) -> Claim:
    ends = {arm: Interval.of(_ends(data, arm)) for arm in ("window", *FIXED)}
    return Claim(
        "fhsac-learns",
        "In Pendulum, FHSAC learns without target networks: 16 horizons, 32, and the window.",
        f"mean return over the last fifth of the frames; holds if every 95% interval over seeds "
        f"lies above {_LEARNED:g}, fails if one lies below",
        "; ".join(f"{arm} {end}" for arm, end in ends.items()),
        worst([above(end, _LEARNED) for end in ends.values()]),
    )


def _within_reach(data: Arrays) -> Claim:
    found, told = [], []
    for arm, horizon in FIXED.items():
        low, high = reach(horizon)
        targets = data[f"{comparison.key(PENDULUM, arm)}.target"]
        known = bool(np.isfinite(targets).all())
        within = Interval.share((targets >= low) & (targets <= high))
        found.append(every(within, 0.5) if known else Verdict.INCONCLUSIVE)
        seen = f"from {targets.min():.4g} to {targets.max():.4g}" if known else "not known"
        told.append(f"{arm} {seen} of {low:.4g} to {high:.3g}; share {within}")
    return Claim(
        "values-within-reach",
        "In Pendulum, values of FHSAC stay within what their horizon's steps can bring.",
        "mean target of the final horizon over the last 10,000 frames, within the worst rewards "
        "and the largest entropy of so many steps; holds if that of every run is, and the 95% "
        "interval of their share lies above one half, for both horizons; fails if it lies below "
        "for one",
        "; ".join(told),
        worst(found),
    )


def _not_below(config: Config, data: Arrays) -> Claim:
    gaps = {}
    for other in ("sac", "sac-target"):
        pairs = zip(
            config.environments,
            comparison.scores(config, data, "window"),
            comparison.scores(config, data, other),
            strict=True,
        )
        for environment, mine, its in pairs:
            gaps[f"{environment} against {other}"] = Interval.of(mine - its)
    return Claim(
        "window-not-below",
        "In no environment does the window without target networks learn less well than SAC with "
        "or without them.",
        f"difference in normalised area, paired over seeds; holds if every 95% interval lies above "
        f"-{MARGIN:g}, fails if one lies below",
        "; ".join(f"{name} {gap}" for name, gap in gaps.items()),
        worst([above(gap, -MARGIN) for gap in gaps.values()]),
    )


def _above(config: Config, data: Arrays) -> Claim:
    one = comparison.pair(config, data, "window", "sac-target")
    return Claim(
        "window-above",
        "Over all environments the window without target networks learns better than SAC with "
        "them.",
        one.rule,
        one.measured,
        one.verdict,
    )


def tables(config: Config, data: Arrays) -> dict[str, Arrays]:
    """Those of the comparison, and what the critics said at the end of each run."""
    rows = [
        (environment, arm, run, *values)
        for environment in config.environments
        for arm in ARMS
        for run, values in enumerate(
            zip(
                data[f"{comparison.key(environment, arm)}.target"],
                data[f"{comparison.key(environment, arm)}.error"],
                strict=True,
            )
        )
    ]
    names = ("environment", "arm", "run", "mean_target", "mean_squared_error")
    values = {
        name: np.array(column) for name, column in zip(names, zip(*rows, strict=True), strict=True)
    }
    return comparison.tables(config, data) | {"values": values}


EXPERIMENT = Experiment(
    name="critics",
    title="Fixed-horizon critics in a soft actor-critic",
    source="Not in the paper, which names fixed-horizon critics as future work",
    shows="a window of horizons learns continuous control without target networks",
    cost="4 hours",
    config=Config,
    blocks=comparison.blocks,
    run=comparison.run,
    combine=combine,
    plot=comparison.plot,
    claims=claims,
    tables=tables,
    extent=comparison.EXTENT,
    charts=comparison.CHARTS,
    extras=("deep", "lander"),
    resumable=True,
    only_by_name=True,
    work=comparison.WORK,
    megabytes=500,
    check=comparison.check,
)
