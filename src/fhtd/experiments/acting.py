"""Which horizon to act on, left to the horizons themselves, in the slippery maze."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from fhtd.experiments import mazes
from fhtd.features import Features
from fhtd.online import FHQ
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
    style,
)
from fhtd.statistics import Interval
from fhtd.weighting import Weighting

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: Of the best horizon's episode length: what counts as noise.
_NOISE = 0.02


@dataclass(frozen=True)
class Config:
    """Settings of the comparison of what to act on."""

    runs: int = 100
    """Independent runs of each arm."""
    episodes: int = 100
    """Episodes over which the mean length is taken."""
    horizons: tuple[int, ...] = (8, 16, 32, 48)
    """Final horizons to act on alone; with the last, all horizons are acted on together too."""
    step_sizes: tuple[float, ...] = (0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8)
    """Step sizes."""
    epsilon: float = 0.1
    """Probability of a random action."""

    def __post_init__(self) -> None:
        mazes.check(self)
        mazes.check_horizons(self.horizons)

    @classmethod
    def smoke(cls) -> "Config":
        """Two step sizes, few runs."""
        return cls(runs=6, episodes=30, step_sizes=(0.4, 0.6))


@dataclass(frozen=True)
class Arm:
    """FHQ-learning of so many horizons, and what it acts on."""

    acting: Literal["final", "agreement"]
    horizon: int

    def __str__(self) -> str:
        return f"{self.acting}-{self.horizon}"

    @property
    def words(self) -> str:
        """For a reader."""
        if self.acting == "final":
            return f"H = {self.horizon}"
        return f"what 1 to {self.horizon} agree on"


def alone(config: Config) -> list[Arm]:
    """One horizon each."""
    return [Arm("final", horizon) for horizon in config.horizons]


def together(config: Config) -> Arm:
    """All horizons up to the longest."""
    return Arm("agreement", config.horizons[-1])


def arms(config: Config) -> list[Arm]:
    """All of them."""
    return [*alone(config), together(config)]


def blocks(config: Config) -> list[Block]:
    """Every arm at every step size."""
    return mazes.blocks(config, arms(config))


def run(config: Config, seed: int, block: Block) -> Arrays:
    """Mean episode length of each run."""
    arm: Arm = block.arm.arm

    def make(features: Features, n_actions: int) -> FHQ:
        return FHQ(
            features,
            n_actions,
            Weighting.exponential(arm.horizon),
            step_size=block.arm.step_size,
            epsilon=config.epsilon,
            acting=arm.acting,
        )

    return mazes.run(config, seed, block, make)


def combine(config: Config, results: Results) -> Arrays:
    """(step sizes, runs) of mean episode lengths for each arm."""
    return mazes.combine(config, results, arms(config))


def plot(config: Config, data: Arrays) -> "Figure":
    """Mean episode length over step sizes."""
    figure, axes = style.panels(1, 1, width=6.0)
    panel = axes[0, 0]
    for i, arm in enumerate(arms(config)):
        found = [Interval.of(runs) for runs in data[str(arm)]]
        mean = np.array([one.mean for one in found])
        error = None if config.runs == 1 else mean - [one.low for one in found]
        style.line(panel, config.step_sizes, mean, error, arm.words, i, markers=True)
    title = f"Slippery maze, {config.runs} runs (bands: 95% intervals)"
    style.label(panel, title, "step size", f"mean length of {config.episodes} episodes (steps)")
    panel.set_ylim(top=2.0 * min(lengths.mean(axis=1).min() for lengths in data.values()))
    return figure


def claims(config: Config, data: Arrays) -> list[Claim]:
    """Written before the runs that judge them."""
    ours, longest = together(config), alone(config)[-1]
    best = min(alone(config), key=lambda arm: float(mazes.best(data, arm).mean()))
    rule = (
        "each arm at its own best step size; difference in mean episode length, paired over seeds, "
        "with its 95% interval; "
    )
    gain, loss = mazes.gap(data, longest, ours), mazes.gap(data, ours, best)
    allowed = _NOISE * float(mazes.best(data, best).mean())
    within = Verdict.FAILS if loss.low > 0 else below(loss, allowed)
    return [
        Claim(
            "better-than-the-longest",
            f"Acting on what all horizons agree on is better than acting on H = {longest.horizon}.",
            rule + "holds if it lies above 0, fails if below",
            f"H = {longest.horizon} takes {gain} more steps an episode",
            above(gain, 0),
        ),
        Claim(
            "as-good-as-the-best",
            "Acting on what all horizons agree on is as good as acting on the best of them, "
            "without knowing which that is.",
            rule + f"holds if it reaches down to 0 and not up to {_NOISE:.0%} of the best one's "
            "length, fails if it lies above 0",
            f"{loss} more steps an episode than the {mazes.best(data, best).mean():.4g} of "
            f"H = {best.horizon}",
            within,
        ),
    ]


def tables(config: Config, data: Arrays) -> dict[str, Arrays]:
    """Every arm at every step size."""
    return {"lengths": mazes.table(config, data, {arm: arm.words for arm in arms(config)})}


EXPERIMENT = Experiment(
    name="acting",
    title="Which horizon to act on",
    source="Left open by the paper, which names it as future work",
    shows="what all horizons agree on, against acting on one of them",
    cost="30 s",
    config=Config,
    blocks=blocks,
    run=run,
    combine=combine,
    plot=plot,
    claims=claims,
    tables=tables,
    charts=(
        Chart(
            "Mean episode length",
            "lengths",
            "step_size",
            "step size",
            "mean episode length (steps)",
            y="mean_length",
            arm="arm",
            low="low",
            high="high",
        ),
    ),
)
