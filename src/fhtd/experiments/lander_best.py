"""Each algorithm's best setting of the sweep in LunarLander, judged on runs that did not choose it.

The paper compares the best settings of its sweep. What is best of many on some runs is partly luck
on them, so `lander-sweep` only chooses: of the settings at a discount of 0.99 the one of DFHQ and
the one of DQN with the largest mean area under the curve. They are named here, and their further
runs, with numbers that the sweep does not reach, are compared.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from fhtd import checks
from fhtd.experiments import lander_sweep, landing
from fhtd.experiments.lander_sweep import Arm
from fhtd.reproduction import Arrays, Block, Claim, Experiment, Results
from fhtd.reproduction import curves as learning
from fhtd.reproduction.arms import MOST_RUNS

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_EACH = ("width", "learning_rate", "target_interval")


@dataclass(frozen=True)
class Config:
    """The chosen settings, and on how many new runs they are compared."""

    runs: int = 10
    """New runs of each algorithm."""
    first_run: int = 1_000
    """Number of the first of them, beyond those of the sweep."""
    frames: int = 100_000
    """Frames of a run, as in the sweep that chose."""
    horizon: int = 64
    """Final horizon of DFHQ."""
    discount: float = 0.99
    """Discount of both."""
    dfhq_width: int = 256
    """Width of DFHQ's hidden layers."""
    dfhq_learning_rate: float = 1e-4
    """DFHQ's learning rate."""
    dfhq_target_interval: int = 1
    """Updates between copies to DFHQ's target network; 1 is none."""
    dqn_width: int = 256
    """Width of DQN's hidden layers."""
    dqn_learning_rate: float = 1e-4
    """DQN's learning rate."""
    dqn_target_interval: int = 1
    """Updates between copies to DQN's target network; 1 is none."""

    def __post_init__(self) -> None:
        checks.integer("runs", self.runs, 1)
        checks.integer("first_run", self.first_run, lander_sweep.Config().runs, MOST_RUNS)
        checks.integer("frames", self.frames, 1)
        checks.integer("horizon", self.horizon, 1)
        checks.real("discount", self.discount, 0, 1)
        for name in ("dfhq", "dqn"):
            checks.integer(f"{name}_width", getattr(self, f"{name}_width"), 1)
            checks.positive(f"{name}_learning_rate", getattr(self, f"{name}_learning_rate"))
            checks.integer(f"{name}_target_interval", getattr(self, f"{name}_target_interval"), 1)

    @classmethod
    def smoke(cls) -> "Config":
        """Two short runs of small networks, one with a target network."""
        return cls(
            runs=2, frames=1_200, horizon=8, dfhq_width=16, dqn_width=16, dqn_target_interval=100
        )


def best(config: Config, algorithm: str) -> Arm:
    """The chosen setting of an algorithm, as an arm of the sweep."""
    horizon = config.horizon if algorithm == "dfhq" else 0
    own = (getattr(config, f"{algorithm}_{name}") for name in _EACH)
    return Arm(algorithm, horizon, config.discount, *own)


def arms(config: Config) -> list[Arm]:
    """One of each algorithm."""
    return [best(config, algorithm) for algorithm in ("dfhq", "dqn")]


def blocks(config: Config) -> list[Block]:
    """Further runs of the sweep."""
    return learning.blocks_of(arms(config), config.runs, config.first_run)


def combine(config: Config, results: Results) -> Arrays:
    """Curves of every run."""
    return landing.curves(arms(config), config.frames, config.runs, results, config.first_run)


def plot(config: Config, data: Arrays) -> "Figure":
    """Mean and standard error over runs, and every run's area under the curve."""
    titles = {arm: f"{arm.kind}, width {arm.width}{arm.target}" for arm in arms(config)}
    return landing.picture(titles, data, config.runs)


def claims(config: Config, data: Arrays) -> list[Claim]:
    """What the paper says of the best settings."""
    ours, theirs = arms(config)
    return [
        landing.more_area(
            "dfhq-best-new-seeds",
            "At the settings that were best in the sweep, DFHQ is well above DQN on new runs.",
            data,
            (ours, "DFHQ"),
            (theirs, "DQN"),
        )
    ]


def tables(config: Config, data: Arrays) -> dict[str, Arrays]:
    """Curves, and every run of both."""
    numbers = range(config.first_run, config.first_run + config.runs)
    return landing.tables(arms(config), data, numbers)


EXPERIMENT = Experiment(
    name="lander-best",
    title="The best settings of the sweep in LunarLander, on new runs",
    source="Section on deep control, whose figure has the best settings of a sweep",
    shows="whether DFHQ stays above DQN on runs that did not choose the settings",
    cost="30 minutes",
    config=Config,
    blocks=blocks,
    run=lander_sweep.run,
    combine=combine,
    plot=plot,
    claims=claims,
    tables=tables,
    charts=(landing.chart((("dfhq*", "DFHQ"), ("dqn*", "DQN"))),),
    # A block's name says all but the frames, as in the sweep, whose blocks they are.
    extent=(
        *("runs", "first_run", "horizon", "discount"),
        *(f"{algorithm}_{name}" for algorithm in ("dfhq", "dqn") for name in _EACH),
    ),
    extras=("deep", "lander"),
    resumable=True,
    only_by_name=True,
    work=lander_sweep.EXPERIMENT.name,
    megabytes=lander_sweep.EXPERIMENT.megabytes,
)
