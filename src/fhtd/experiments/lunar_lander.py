"""Deep control in LunarLander: DFHQ and DQN without target networks."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from fhtd import checks
from fhtd.experiments import landing
from fhtd.reproduction import (
    Arrays,
    Block,
    Claim,
    Experiment,
    Results,
    Scratch,
    above,
    below,
    exactly,
    style,
    worst,
)
from fhtd.reproduction import curves as learning
from fhtd.statistics import Interval

if TYPE_CHECKING:
    from matplotlib.figure import Figure


#: Fewer runs say nothing of their spread.
_FEW = 5


@dataclass(frozen=True)
class Config:
    """Settings of the comparison in LunarLander."""

    runs: int = 30
    """Independent runs of each arm (paper: 30)."""
    frames: int = 500_000
    """Frames of a run (paper: 500,000)."""
    horizon: int = 64
    """Final horizon of DFHQ (paper: 64)."""
    discounts: tuple[float, ...] = (0.99, 1.0)
    """Discounts of both (paper: 0.99 and 1)."""
    hidden: tuple[int, ...] = (256, 256)
    """Widths of the hidden layers (paper: 256 and 256)."""
    learning_rate: float = 1e-4
    """Learning rate of RMSprop (paper: 1e-4)."""
    evaluation_episodes: int = 10
    """Episodes after training, with frozen weights (paper: one is shown)."""
    evaluation_epsilon: float = 0.05
    """Probability of a random action in them (paper: 0.05)."""

    def __post_init__(self) -> None:
        checks.integer("runs", self.runs, 1)
        checks.integer("frames", self.frames, 1)
        checks.integer("horizon", self.horizon, 1)
        checks.integer("evaluation_episodes", self.evaluation_episodes, 1)
        checks.real("evaluation_epsilon", self.evaluation_epsilon, 0, 1)
        checks.positive("learning_rate", self.learning_rate)
        landing.check_each("discounts", self.discounts, lambda n, v: checks.real(n, v, 0, 1))
        landing.check_each("hidden", self.hidden, lambda n, v: checks.integer(n, v, 1))

    @classmethod
    def smoke(cls) -> "Config":
        """Two short runs of small networks."""
        return cls(runs=2, frames=1_500, horizon=8, hidden=(16, 16), evaluation_episodes=2)


@dataclass(frozen=True)
class Arm:
    """An algorithm with its discount."""

    algorithm: str
    discount: float

    def __str__(self) -> str:
        return f"{self.algorithm}-{exactly(self.discount)}"

    @property
    def title(self) -> str:
        """In words."""
        return f"{self.algorithm.upper()}, $\\gamma$ = {exactly(self.discount)}"


def arms(config: Config) -> list[Arm]:
    """Both algorithms at each discount."""
    return [Arm(name, discount) for name in ("dfhq", "dqn") for discount in config.discounts]


def blocks(config: Config) -> list[Block]:
    """One run each."""
    return learning.blocks_of(arms(config), config.runs)


def run(config: Config, seed: int, block: Block, scratch: Scratch) -> Arrays:
    """Train, then watch with frozen weights."""
    arm: Arm = block.arm
    settings = {
        "discount": float(arm.discount),
        "hidden": config.hidden,
        "learning_rate": config.learning_rate,
    }
    if arm.algorithm == "dfhq":
        settings["horizon"] = config.horizon
    return landing.train(
        arm.algorithm,
        settings,
        frames=config.frames,
        seed=seed,
        run=block.runs.start,
        scratch=scratch,
        evaluation_episodes=config.evaluation_episodes,
        epsilon=config.evaluation_epsilon,
    )


def combine(config: Config, results: Results) -> Arrays:
    """Curves of every run at common frames, and where value estimates left all sense."""
    at = learning.points(config.frames)
    data: Arrays = {"frame": at}
    for arm in arms(config):
        data[f"{arm}.curves"] = learning.curves(results, arm, config.runs, at)
        data[f"{arm}.senseless"] = np.array(
            [landing.senseless(results[learning.one_run(arm, run)]) for run in range(config.runs)]
        )
    return data


def plot(config: Config, data: Arrays) -> "Figure":
    """Mean and standard error over runs, and every run's area under the curve."""
    return landing.picture({arm: arm.title for arm in arms(config)}, data, config.runs)


def claims(config: Config, data: Arrays) -> list[Claim]:
    """What the paper reads off its figure."""
    first = config.discounts[0]
    ours, theirs = Arm("dfhq", first), Arm("dqn", first)
    found = [
        landing.more_area(
            "area-under-the-curve",
            f"DFHQ's area under the curve is well above DQN's (discount {exactly(first)}).",
            data,
            (ours, "DFHQ"),
            (theirs, "DQN"),
        ),
        _variance(data, ours, theirs),
        _improvement(config, data, ours),
    ]
    if len(config.discounts) > 1:
        last = config.discounts[-1]
        found.append(_sensitivity(data, first, last))
        found.append(_divergence(config, data, Arm("dqn", last), Arm("dfhq", last)))
    return found


def _variance(data: Arrays, ours: Arm, theirs: Arm) -> Claim:
    """Spread over runs, with an interval from resampled seeds."""
    spreads = [landing.resampled_spread(data[f"{arm}.curves"]) for arm in (ours, theirs)]
    # One run drawn again and again has no spread.
    ratio = spreads[1][spreads[0] > 0] / spreads[0][spreads[0] > 0]
    low, high = np.quantile(ratio[1:], [0.025, 0.975]).tolist()
    if len(data[f"{ours}.curves"]) < _FEW:
        low, high = -np.inf, np.inf
    interval = Interval(ratio[0], low, high)
    return Claim(
        "lower-variance",
        "DFHQ has considerably lower variance across runs than DQN.",
        "standard deviation over runs, averaged over frames, DQN's divided by DFHQ's; 95% interval "
        f"from 2,000 resamplings of seeds (at least {_FEW}), the same for both; holds if above 1, "
        "fails if below",
        f"DFHQ {spreads[0][0]:.3g}, DQN {spreads[1][0]:.3g}; ratio {interval}",
        above(interval, 1),
    )


def _improvement(config: Config, data: Arrays, arm: Arm) -> Claim:
    """Fifths of the run, each against the one before."""
    fifths = np.stack(
        [part.mean(axis=1) for part in np.array_split(data[f"{arm}.curves"], 5, axis=1)]
    )
    steps = [Interval.of(step) for step in np.diff(fifths, axis=0)]
    return Claim(
        "steady-improvement",
        "DFHQ improves relatively steadily.",
        "the run in fifths: the mean return of each minus that of the one before, paired over "
        "seeds; holds if all four 95% intervals lie above 0, fails if one lies below",
        "; ".join(str(step) for step in steps),
        worst([above(step, 0) for step in steps]),
    )


def _sensitivity(data: Arrays, first: float, last: float) -> Claim:
    """What a discount of 1 costs each."""
    lost = {
        name: learning.areas(data, Arm(name, first)) - learning.areas(data, Arm(name, last))
        for name in ("dfhq", "dqn")
    }
    more = Interval.of(lost["dqn"] - lost["dfhq"])
    either = Interval.of(lost["dqn"] + lost["dfhq"])
    return Claim(
        "less-sensitive-to-discount",
        "DFHQ is significantly less sensitive to the discount than DQN.",
        f"mean return lost from discount {exactly(first)} to {exactly(last)}, paired over seeds: "
        "DQN must lose more than DFHQ's change in either direction; holds if both 95% intervals "
        "lie above 0, fails if one lies below",
        f"DFHQ loses {Interval.of(lost['dfhq'])}, DQN {Interval.of(lost['dqn'])}; DQN's loss minus "
        f"DFHQ's {more}, plus DFHQ's {either}",
        worst([above(more, 0), above(either, 0)]),
    )


def _divergence(config: Config, data: Arrays, theirs: Arm, ours: Arm) -> Claim:
    """Mean value estimates beyond anything that an episode can bring."""
    early = config.frames / 5
    soon = (data[f"{theirs}.senseless"] >= 0) & (data[f"{theirs}.senseless"] <= early)
    never = data[f"{ours}.senseless"] < 0
    shares = Interval.share(soon), Interval.share(~never)
    return Claim(
        "dqn-diverges-undiscounted",
        "DQN with discount 1 diverges immediately; DFHQ does not.",
        f"a run has diverged where its mean target exceeds {landing.SENSELESS:g} in size, which no "
        "episode can bring; holds if the 95% interval of the share of DQN's runs that do in the "
        "first fifth lies above one half, and that of DFHQ's that ever do below, fails if one is "
        "clearly otherwise",
        f"{int(soon.sum())} of {len(soon)} DQN runs (first fifth), "
        f"{int((~never).sum())} of {len(never)} DFHQ runs (at any time); shares {shares[0]} and "
        f"{shares[1]}",
        worst([above(shares[0], 0.5), below(shares[1], 0.5)]),
    )


def tables(config: Config, data: Arrays) -> dict[str, Arrays]:
    """Curves, their every run at fewer frames, and each run in numbers."""
    every_arm, at = arms(config), data["frame"]
    found = landing.tables(every_arm, data, range(config.runs))
    found["runs"]["diverged_at"] = np.concatenate([data[f"{arm}.senseless"] for arm in every_arm])
    few = slice(9, None, 10) if len(at) >= 10 else slice(None)
    curves = np.stack([data[f"{arm}.curves"][:, few] for arm in every_arm])
    arm, run, point = np.indices(curves.shape).reshape(3, -1)
    found["run_curves"] = style.as_columns(
        ("arm", "run", "frame", "mean_return"),
        np.array([str(one) for one in every_arm])[arm],
        run,
        at[few][point],
        curves.ravel().round(2),
    )
    return found


EXPERIMENT = Experiment(
    name="lunar-lander",
    title="Deep FHTD control in LunarLander",
    source="Figure 3",
    shows="deep fixed-horizon Q-learning learns without a target network and undiscounted",
    cost="6 hours",
    config=Config,
    blocks=blocks,
    run=run,
    combine=combine,
    plot=plot,
    claims=claims,
    tables=tables,
    charts=(landing.chart((("dfhq-*", "DFHQ, γ = *"), ("dqn-*", "DQN, γ = *"))),),
    # A block's name says its discount.
    extent=("runs", "discounts"),
    extras=("deep", "lander"),
    resumable=True,
    only_by_name=True,
    megabytes=500,
)
