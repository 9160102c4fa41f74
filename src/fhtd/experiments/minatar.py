"""The window of horizons beside DQN with a target network, in three games of MinAtar."""

import importlib.util
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from fhtd.comparison import experiment as comparison
from fhtd.reproduction import Arrays, Claim, Experiment, above, worst
from fhtd.statistics import Interval

OURS, THEIRS = "dfhq", "dqn"
#: A normalised area that is no more than this below another counts as no worse.
MARGIN = 0.05
#: What both agents have alike: an update every four frames, of 32 transitions.
ALIKE = (
    "batch_size=32,train_freq=4,gradient_steps=1,learning_rate=0.00025,learning_starts=5000,"
    "epsilon_frames=50000,epsilon_final=0.05"
)
_GAMES = "MinAtar/"
#: Updates between moves, chosen on other seeds than those that are reported.
DEEPEN_EVERY = 400


def arms(alike: str = ALIKE) -> tuple[str, ...]:
    """The two arms in words."""
    return f"{OURS}=dfhq,deepen_every={DEEPEN_EVERY},{alike}", f"{THEIRS}=dqn,{alike}"


@dataclass(frozen=True)
class Config(comparison.Config):
    """Settings of the comparison in MinAtar."""

    environments: tuple[str, ...] = (
        "MinAtar/Breakout-v1",
        "MinAtar/Asterix-v1",
        "MinAtar/SpaceInvaders-v1",
    )
    """Games of MinAtar, by their ids in Gymnasium."""
    arms: tuple[str, ...] = arms()
    """The window without a target network, and DQN with one."""
    runs: tuple[int, ...] = (3,)
    """Independent runs of each arm, equally many in every environment."""
    frames: tuple[int, ...] = (300_000,)
    """Frames of a run: one number, or one for each environment."""

    def __post_init__(self) -> None:
        super().__post_init__()
        known = [
            name.startswith(_GAMES) or name in comparison.REFERENCES for name in self.environments
        ]
        if not all(known):
            raise ValueError(f"environments must be games of MinAtar, got {self.environments}")
        if comparison.labels(self) != [OURS, THEIRS]:
            raise ValueError(f"arms must be labelled {OURS} and {THEIRS}, got {self.arms}")
        if len(set(self.runs)) > 1:
            raise ValueError(f"runs must be the same in every environment, got {self.runs}")

    @classmethod
    def smoke(cls) -> "Config":
        """Two short runs of small networks, where MinAtar is not needed."""
        small = "hidden=16:16,learning_starts=200"
        return cls(environments=("CartPole-v1",), arms=arms(small), runs=(2,), frames=(1_200,))


def check(config: Config) -> None:
    """As for every comparison; and say what to install where MinAtar is missing."""
    games = [name for name in config.environments if name.startswith(_GAMES)]
    if games and importlib.util.find_spec("minatar") is None:
        raise ValueError(f"{games[0]} needs MinAtar: pip install 'fhtd[minatar]'")
    comparison.check(config)


def gaps(config: Config, data: Arrays) -> npt.NDArray[np.float64]:
    """Difference in normalised area, (environments, runs); runs of a number share their seed."""
    ours, theirs = (np.array(comparison.scores(config, data, arm)) for arm in (OURS, THEIRS))
    return ours - theirs


def claims(config: Config, data: Arrays) -> list[Claim]:
    """Written before the runs that judge them."""
    found = gaps(config, data)
    whole = Interval.of(found.mean(axis=0))
    each = [Interval.of(row) for row in found]
    return [
        Claim(
            "above-dqn",
            "Over all games the window without a target network learns better than DQN with one.",
            "difference in normalised area, mean over the games, paired over seeds; holds if its "
            "95% interval lies above 0, fails if below",
            str(whole),
            above(whole, 0),
        ),
        Claim(
            "nowhere-below-dqn",
            "In no game does the window learn less well than DQN with a target network.",
            f"difference in normalised area, game by game, paired over seeds; holds if every 95% "
            f"interval lies above -{MARGIN:g}, fails if one lies below",
            "; ".join(f"{name} {gap}" for name, gap in zip(config.environments, each, strict=True)),
            worst([above(gap, -MARGIN) for gap in each]),
        ),
    ]


EXPERIMENT = Experiment(
    name="minatar",
    title="A window of horizons in MinAtar",
    source="Not in the paper",
    shows="how a window of horizons does on images, beside DQN with a target network",
    cost="1 hour",
    config=Config,
    blocks=comparison.blocks,
    run=comparison.run,
    combine=comparison.combine,
    plot=comparison.plot,
    claims=claims,
    tables=comparison.tables,
    extent=comparison.EXTENT,
    charts=comparison.CHARTS,
    extras=("deep",),
    resumable=True,
    only_by_name=True,
    work=comparison.WORK,
    megabytes=1_000,
    check=check,
)
