"""Two readings of the time limit in LunarLander that may explain the difference to the paper.

| reading          | limit       | what the limit means                                            |
|------------------|-------------|-----------------------------------------------------------------|
| present          | 5,000 steps | the episode is cut: the last step still bootstraps              |
| limit-terminates | 5,000 steps | the episode has ended, worth nothing more, as most code of 2019 |
|                  |             | had it                                                          |
| limit-1000       | 1,000 steps | as at present, where Gymnasium cuts by default                  |

Returns under a shorter limit are those of shorter episodes: that reading moves the areas of both
algorithms by itself, and only the difference between them is compared across readings.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from fhtd.experiments import landing
from fhtd.reproduction import Arrays, Block, Claim, Experiment, Results, Scratch, above
from fhtd.reproduction import curves as learning
from fhtd.statistics import Interval

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: What readings are called in words; the first is that of all other experiments.
READINGS = {
    "present": "limit of 5,000 steps bootstraps",
    "limit-terminates": "limit of 5,000 steps terminates",
    "limit-1000": "limit of 1,000 steps bootstraps",
}
_SHORT = 1_000


@dataclass(frozen=True)
class Config(landing.Settings):
    """Settings of the comparison of readings."""


@dataclass(frozen=True)
class Arm:
    """An algorithm under one reading."""

    algorithm: str
    reading: str

    def __str__(self) -> str:
        return f"{self.algorithm}_{self.reading}"

    @property
    def title(self) -> str:
        """In words."""
        return f"{self.algorithm.upper()}, {READINGS[self.reading]}"


ARMS = [Arm(algorithm, reading) for reading in READINGS for algorithm in ("dfhq", "dqn")]


def ending() -> Any:
    """LunarLander in which the time limit of 5,000 steps terminates."""
    import gymnasium

    class Ending(gymnasium.Wrapper[Any, Any, Any, Any]):
        """Says terminated where it should say truncated."""

        def step(self, action: Any) -> Any:
            observation, reward, terminated, truncated, info = super().step(action)
            return observation, reward, terminated or truncated, False, info

    return Ending(landing.environment())


def short() -> Any:
    """LunarLander as Gymnasium cuts it."""
    return landing.environment(_SHORT)


def blocks(config: Config) -> list[Block]:
    """One run each."""
    return learning.blocks_of(ARMS, config.runs)


def run(config: Config, seed: int, block: Block, scratch: Scratch) -> Arrays:
    """Train one agent."""
    arm: Arm = block.arm
    settings: dict[str, Any] = {"discount": config.discount, "hidden": config.hidden}
    if arm.algorithm == "dfhq":
        settings["horizon"] = config.horizon
    # The environment's limit is to be met, not one of the agent's own.
    limits = {"limit-terminates": None, "limit-1000": _SHORT}
    if arm.reading in limits:
        settings["max_episode_frames"] = limits[arm.reading]
    places = {"present": landing.environment, "limit-terminates": ending, "limit-1000": short}
    return landing.train(
        arm.algorithm,
        settings,
        frames=config.frames,
        seed=seed,
        run=block.runs.start,
        scratch=scratch,
        make_environment=places[arm.reading],
    )


def combine(config: Config, results: Results) -> Arrays:
    """Curves of every run."""
    return landing.curves(ARMS, config.frames, config.runs, results)


def plot(config: Config, data: Arrays) -> "Figure":
    """Mean and standard error over runs, and every run's area under the curve."""
    return landing.picture({arm: arm.title for arm in ARMS}, data, config.runs)


def claims(config: Config, data: Arrays) -> list[Claim]:
    """The paper's comparison under every reading, and whether another reading is nearer to it."""
    found = [
        landing.more_area(
            reading,
            f"DFHQ's area under the curve is well above DQN's ({words}).",
            data,
            (Arm("dfhq", reading), "DFHQ"),
            (Arm("dqn", reading), "DQN"),
        )
        for reading, words in READINGS.items()
    ]
    return found + [_effect(data, reading) for reading in READINGS if reading != "present"]


def _effect(data: Arrays, reading: str) -> Claim:
    """What a reading does to both, against the present one."""
    moved = {
        name: learning.areas(data, Arm(name, reading)) - learning.areas(data, Arm(name, "present"))
        for name in ("dfhq", "dqn")
    }
    more = Interval.of(moved["dfhq"] - moved["dqn"])
    return Claim(
        f"{reading}-favours-dfhq",
        f"DFHQ is further above DQN than under the present reading ({READINGS[reading]}).",
        "change of the mean return over all frames from the present reading to this one, DFHQ's "
        "minus DQN's, paired over seeds; holds if its 95% interval lies above 0, fails if below",
        f"DFHQ changes by {Interval.of(moved['dfhq'])}, DQN by {Interval.of(moved['dqn'])}; "
        f"difference {more}",
        above(more, 0),
    )


def tables(config: Config, data: Arrays) -> dict[str, Arrays]:
    """Curves, and every run of every arm."""
    return landing.tables(ARMS, data, range(config.runs))


EXPERIMENT = Experiment(
    name="lander-readings",
    title="Readings of the time limit in LunarLander",
    source="not in the paper, which leaves them open",
    shows="whether what a time limit means explains the difference to the paper",
    cost="1 hour",
    config=Config,
    blocks=blocks,
    run=run,
    combine=combine,
    plot=plot,
    claims=claims,
    tables=tables,
    charts=(landing.chart([(str(arm), arm.title) for arm in ARMS]),),
    extras=("deep", "lander"),
    resumable=True,
    only_by_name=True,
    megabytes=500,
)
