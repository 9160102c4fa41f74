"""The paper's remarks on representation: necessary outputs, auxiliary ones, and equal magnitudes.

| arm               | outputs for each action                               | weighting          |
|-------------------|-------------------------------------------------------|--------------------|
| dfhq              | H horizons, each learned from the one before          | discount 0.99      |
| dqn               | one value without end                                 | discount 0.99      |
| dqn-auxiliary     | the same, and H - 1 horizons that it does not need    | discount 0.99      |
| dfhq-undiscounted | H horizons                                            | discount 1         |
| dfhq-average      | H horizons, each the mean of its rewards, not the sum | 1/h and (h - 1)/h  |

The second and third tell what many outputs do for the hidden layers, the first and third what it is
worth that they are needed. The last two have the same best actions wherever values are exact, as
one value is h times the other; only the magnitudes of their outputs differ.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from fhtd import checks
from fhtd.experiments import landing
from fhtd.reproduction import Arrays, Block, Claim, Experiment, Results, Scratch
from fhtd.reproduction import curves as learning
from fhtd.weighting import Weighting

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: What arms are called in words.
ARMS = {
    "dfhq": "DFHQ",
    "dqn": "DQN",
    "dqn-auxiliary": "DQN with auxiliary horizons",
    "dfhq-undiscounted": "DFHQ, undiscounted sum",
    "dfhq-average": "DFHQ, average reward",
}


@dataclass(frozen=True)
class Config(landing.Settings):
    """Settings of the comparison of outputs."""

    runs: int = 10
    """Independent runs of each arm."""
    horizon: int = 64
    """Final horizon of DFHQ; DQN's outputs are as many with its auxiliary ones (paper: 64)."""

    def __post_init__(self) -> None:
        super().__post_init__()
        checks.integer("horizon", self.horizon, 2)


def blocks(config: Config) -> list[Block]:
    """One run each."""
    return learning.blocks_of(list(ARMS), config.runs)


def run(config: Config, seed: int, block: Block, scratch: Scratch) -> Arrays:
    """Train one agent."""
    own: dict[str, dict[str, Any]] = {
        "dfhq": {"horizon": config.horizon, "discount": config.discount},
        "dqn": {"discount": config.discount},
        "dqn-auxiliary": {
            "discount": config.discount,
            "auxiliary_horizons": config.horizon - 1,
        },
        "dfhq-undiscounted": {"horizon": config.horizon, "discount": 1.0},
        "dfhq-average": {"weighting": Weighting.average(config.horizon)},
    }
    return landing.train(
        block.arm.partition("-")[0],
        {"hidden": config.hidden, **own[block.arm]},
        frames=config.frames,
        seed=seed,
        run=block.runs.start,
        scratch=scratch,
    )


def combine(config: Config, results: Results) -> Arrays:
    """Curves of every run."""
    return landing.curves(list(ARMS), config.frames, config.runs, results)


def plot(config: Config, data: Arrays) -> "Figure":
    """Mean and standard error over runs, and every run's area under the curve."""
    return landing.picture(ARMS, data, config.runs)


def claims(config: Config, data: Arrays) -> list[Claim]:
    """Written before the runs that judge them."""
    needed, beside = config.horizon, config.horizon - 1

    def claim(name: str, statement: str, ours: str, theirs: str) -> Claim:
        return landing.more_area(name, statement, data, (ours, ARMS[ours]), (theirs, ARMS[theirs]))

    return [
        claim(
            "necessary-outputs",
            f"{needed} necessary outputs are better than one output with {beside} auxiliary ones.",
            "dfhq",
            "dqn-auxiliary",
        ),
        claim(
            "auxiliary-outputs",
            f"{beside} auxiliary horizons improve DQN by what they do for its hidden layers.",
            "dqn-auxiliary",
            "dqn",
        ),
        claim(
            "similar-magnitudes",
            "Outputs of similar magnitude help: the average reward is learned better than the sum, "
            f"both of {needed} steps.",
            "dfhq-average",
            "dfhq-undiscounted",
        ),
    ]


def tables(config: Config, data: Arrays) -> dict[str, Arrays]:
    """Curves, and every run of every arm."""
    return landing.tables(list(ARMS), data, range(config.runs))


EXPERIMENT = Experiment(
    name="representation",
    title="Necessary and auxiliary outputs in LunarLander",
    source="Remarks on representation, sections on deep control and on temporal weighting",
    shows="whether many outputs help because they are many, or because they are needed",
    cost="1 hour",
    config=Config,
    blocks=blocks,
    run=run,
    combine=combine,
    plot=plot,
    claims=claims,
    tables=tables,
    charts=(landing.chart(tuple(ARMS.items())),),
    extras=("deep", "lander"),
    resumable=True,
    only_by_name=True,
    megabytes=500,
)
