"""The default agent beside its peers, in four environments."""

from dataclasses import dataclass

import numpy as np

from fhtd.comparison import experiment as comparison
from fhtd.experiments import landing
from fhtd.reproduction import Arrays, Claim, Experiment, above, worst
from fhtd.reproduction import curves as learning
from fhtd.statistics import Interval

OURS, SB3 = "dfhq", "sb3:dqn"
#: A normalised area that is no more than this below another counts as no worse.
MARGIN = 0.05
#: The claim about single runs: what each must reach, and within how many frames.
_SOON, _SOLVED = 50_000, 200.0


@dataclass(frozen=True)
class Config(comparison.Config):
    """Settings of the comparison with peers."""

    environments: tuple[str, ...] = (
        landing.ENVIRONMENT,
        "CartPole-v1",
        "Acrobot-v1",
        "MountainCar-v0",
    )
    """Ids of Gymnasium environments, LunarLander first."""
    arms: tuple[str, ...] = (
        "dfhq=dfhq,preset=tuned",
        "dqn",
        "paper=dfhq,preset=paper",
        SB3,
        "sb3-contrib:qrdqn",
    )
    """What `fhtd train` takes for each environment, and what it is compared with: agents of ours
    with general settings, and peers with those that RL Baselines3 Zoo tuned for the environment."""
    runs: tuple[int, ...] = (10, 5, 5, 5)
    """Independent runs of each arm: one number, or one for each environment."""
    frames: tuple[int, ...] = (100_000, 50_000, 100_000, 120_000)
    """Frames of a run: one number, or one for each environment."""

    def __post_init__(self) -> None:
        if not self.environments or self.environments[0] != landing.ENVIRONMENT:
            raise ValueError(f"environments must begin with {landing.ENVIRONMENT}")
        texts = all(isinstance(arm, str) for arm in self.arms)
        if not self.arms or not texts or comparison.labels(self)[0] != OURS:
            raise ValueError(f"arms must begin with {OURS}, got {self.arms}")
        super().__post_init__()

    @classmethod
    def smoke(cls) -> "Config":
        """Two short runs of small networks of our own."""
        small = "hidden=16:16,learning_starts=200"
        return cls(
            environments=(landing.ENVIRONMENT, "CartPole-v1"),
            arms=(f"dfhq=dfhq,{small}", f"dqn=dqn,{small}"),
            runs=(2,),
            frames=(1_200,),
        )


def claims(config: Config, data: Arrays) -> list[Claim]:
    """Written before the runs that judge them."""
    found = []
    for peer in comparison.labels(config)[1:]:
        one = comparison.pair(config, data, OURS, peer)
        name = "above-" + "".join(c if c.isalnum() else "-" for c in peer)
        statement = f"Over all environments the default agent learns better than {peer}."
        found.append(Claim(name, statement, one.rule, one.measured, one.verdict))
    if SB3 in comparison.labels(config):
        found.append(_no_worse(config, data))
    return [*found, *_landing(data)]


def _no_worse(config: Config, data: Arrays) -> Claim:
    """Environment by environment."""
    ours, theirs = (comparison.scores(config, data, label) for label in (OURS, SB3))
    gaps = [Interval.of(mine - other) for mine, other in zip(ours, theirs, strict=True)]
    return Claim(
        "nowhere-below-sb3",
        "In no environment does the default agent learn less well than Stable-Baselines3's DQN.",
        f"difference in normalised area, by environment; holds if every 95% interval lies above "
        f"-{MARGIN:g}, fails if one lies below",
        "; ".join(f"{name} {gap}" for name, gap in zip(config.environments, gaps, strict=True)),
        worst([above(gap, -MARGIN) for gap in gaps]),
    )


def _landing(data: Arrays) -> list[Claim]:
    """What LunarLander's runs reach, one by one and at the end."""
    name = comparison.key(landing.ENVIRONMENT, OURS)
    curves = data[f"{name}.curves"]
    early = curves[:, data[f"{landing.ENVIRONMENT}.frame"] <= _SOON]
    soon = early.max(axis=1, initial=-np.inf) >= _SOLVED
    share = Interval.share(soon)
    end = Interval.of(learning.last_fifths(data, name))
    return [
        Claim(
            "lands-soon",
            "In LunarLander most runs of the default agent reach 200 in 50,000 frames.",
            f"runs whose mean return of ten episodes reaches {_SOLVED:g} within {_SOON:,} frames; "
            "holds if the 95% interval of their share lies above one half (of 10 runs, 9 must), "
            "fails if below",
            f"{int(soon.sum())} of {len(soon)}; share {share}",
            above(share, 0.5),
        ),
        Claim(
            "lands-at-the-end",
            "At the end the default agent lands: LunarLander counts as solved at 200.",
            "mean return over the last fifth of the frames; holds if its 95% interval over seeds "
            "lies above 200, fails if below",
            str(end),
            above(end, _SOLVED),
        ),
    ]


EXPERIMENT = Experiment(
    name="peers",
    title="The default agent beside its peers",
    source="Not in the paper",
    shows="how a window of horizons without a target network does beside DQN and QR-DQN",
    cost="20 hours",
    config=Config,
    blocks=comparison.blocks,
    run=comparison.run,
    combine=comparison.combine,
    plot=comparison.plot,
    claims=claims,
    tables=comparison.tables,
    extent=comparison.EXTENT,
    charts=comparison.CHARTS,
    extras=("deep", "lander"),
    resumable=True,
    only_by_name=True,
    work=comparison.WORK,
    megabytes=500,
    check=comparison.check,
)
