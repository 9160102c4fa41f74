"""Tabular control in the slippery maze: which horizon an agent should act on."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from fhtd import checks, oracle, policy, problems
from fhtd.experiments import mazes
from fhtd.features import Features
from fhtd.online import FHQ, QLearning
from fhtd.online.control import ControlLearner
from fhtd.reproduction import (
    Arrays,
    Block,
    Chart,
    Claim,
    Experiment,
    Results,
    above,
    below,
    exactly,
    style,
    truth_of,
    worst,
)
from fhtd.statistics import Interval, Statistics
from fhtd.weighting import Weighting

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class Config:
    """Settings of the experiment in the slippery maze."""

    runs: int = 100
    """Independent runs of each arm (paper: 100)."""
    episodes: int = 100
    """Episodes over which the mean length is taken (paper: 100)."""
    horizons: tuple[int, ...] = (8, 16, 32, 48)
    """Final horizons of undiscounted FHQ-learning (paper: 8, 16, 32, 48)."""
    discounts: tuple[float, ...] = (0.875, 0.938, 0.969, 0.979, 1.0)
    """Discounts of Q-learning (paper: the first four; 1 is the full episodic return)."""
    step_sizes: tuple[float, ...] = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
    """Step sizes, linearly spaced (paper: which ones is not given)."""
    epsilon: float = 0.1
    """Probability of a random action (paper: 0.1)."""

    def __post_init__(self) -> None:
        mazes.check(self)
        mazes.check_horizons(self.horizons)
        for discount in self.discounts:
            checks.real("discounts", discount, 0, 1)
        if not self.discounts or min(self.discounts) == 1:
            raise ValueError("discounts must hold a value below 1")

    @classmethod
    def smoke(cls) -> "Config":
        """Two step sizes, few runs."""
        return cls(runs=6, episodes=30, step_sizes=(0.4, 0.8))


@dataclass(frozen=True)
class Arm:
    """FHQ-learning with its horizon, or Q-learning with its discount."""

    algorithm: str
    value: float

    def __str__(self) -> str:
        return f"{self.algorithm}-{exactly(self.value)}"


def fhq_arms(config: Config) -> list[Arm]:
    """By horizon."""
    return [Arm("fhq", horizon) for horizon in config.horizons]


def q_arms(config: Config) -> list[Arm]:
    """By discount."""
    return [Arm("q", discount) for discount in config.discounts]


def arms(config: Config) -> list[Arm]:
    """All of them."""
    return [*fhq_arms(config), *q_arms(config)]


def blocks(config: Config) -> list[Block]:
    """Every arm at every step size."""
    return mazes.blocks(config, arms(config))


def run(config: Config, seed: int, block: Block) -> Arrays:
    """Mean episode length of each run."""
    arm: Arm = block.arm.arm
    common = {"step_size": block.arm.step_size, "epsilon": config.epsilon}

    def make(features: Features, n_actions: int) -> ControlLearner:
        if arm.algorithm == "fhq":
            return FHQ(features, n_actions, Weighting.exponential(int(arm.value)), **common)
        return QLearning(features, n_actions, arm.value, **common)

    return mazes.run(config, seed, block, make)


def combine(config: Config, results: Results) -> Arrays:
    """(step sizes, runs) of mean episode lengths for each arm."""
    return mazes.combine(config, results, arms(config))


def plot(config: Config, data: Arrays) -> "Figure":
    """Mean episode length over step sizes, FHQ left and Q-learning right."""
    figure, axes = style.panels(1, 2)
    groups = [
        ("FHQ-learning, undiscounted", [(arm, f"H = {arm.value}") for arm in fhq_arms(config)]),
        ("Q-learning", [(arm, rf"$\gamma$ = {arm.value:g}") for arm in q_arms(config)]),
    ]
    for panel, (title, members) in zip(axes[0], groups, strict=True):
        for i, (arm, text) in enumerate(members):
            found = Statistics.of(data[str(arm)].T)
            style.line(
                panel, config.step_sizes, found.mean, found.standard_error, text, i, markers=True
            )
        style.label(panel, title, "step size", f"mean length of {config.episodes} episodes (steps)")
    low = min(panel.get_ylim()[0] for panel in axes[0])
    high = 2.2 * min(data[str(arm)].mean(axis=1).min() for arm in arms(config))
    for panel in axes[0]:
        panel.set_ylim(low, high)
    style.say(figure, f"{style.band(config.runs)}; lines that leave at the top go on above")
    return figure


def claims(config: Config, data: Arrays) -> list[Claim]:
    """The orderings that the paper reads off its two panels, each arm at its best step size."""
    rule = (
        "each arm at its own best step size (chosen on the same runs, as the paper does); holds if "
        "the 95% interval of the difference in mean episode length, paired over seeds, lies above "
        "0, fails if below"
    )
    found = []
    short, good, *longer = fhq_arms(config)
    gap = mazes.gap(data, short, good)
    found.append(
        Claim(
            "too-short-is-poor",
            f"FHQ with H = {short.value} performs poorly (against H = {good.value}).",
            rule,
            f"H = {short.value} takes {gap} more steps an episode",
            above(gap, 0),
        )
    )
    for arm in longer:
        gap = mazes.gap(data, arm, good)
        found.append(
            Claim(
                f"shorter-than-{arm.value}",
                f"FHQ with H = {good.value} does better than with H = {arm.value}.",
                rule,
                f"H = {arm.value} takes {gap} more steps an episode",
                above(gap, 0),
            )
        )
    paper = [arm for arm in q_arms(config) if arm.value < 1]
    means = {arm: mazes.best(data, arm).mean() for arm in paper}
    first, last = min(means, key=lambda a: means[a]), max(means, key=lambda a: means[a])
    gap = mazes.gap(data, last, first)
    share = Interval(*(100 * bound / means[first] for bound in (gap.mean, gap.low, gap.high)))
    found.append(
        Claim(
            "discounts-alike",
            "Q-learning performs about alike with each of the discounts.",
            "each at its best step size; holds if the 95% interval of the gap between worst and "
            "best lies below 10% of the best, fails if above",
            f"{exactly(last.value)} takes {share}% more steps than {exactly(first.value)}",
            below(share, 10.0),
        )
    )
    gap = mazes.gap(data, first, good)
    found.append(
        Claim(
            "fhq-against-q",
            f"The best fixed horizon (H = {good.value}) does better than Q-learning with its best "
            "discount.",
            rule,
            f"Q-learning ({exactly(first.value)}) takes {gap} more steps an episode",
            above(gap, 0),
        )
    )
    if 1.0 in config.discounts:
        full = Arm("q", 1.0)
        gaps = [mazes.gap(data, full, good), mazes.gap(data, full, first)]
        found.append(
            Claim(
                "shorter-than-episode",
                "For both algorithms a shorter horizon is better than the full episodic return.",
                rule + "; against Q-learning with discount 1",
                f"the full return takes {gaps[0]} more steps than FHQ (H = {good.value}), "
                f"{gaps[1]} more than Q-learning ({exactly(first.value)})",
                worst([above(gap, 0) for gap in gaps]),
            )
        )
    exact = optimal_length()
    found.append(
        Claim(
            "optimal-length",
            "An optimal policy takes 61.77 steps on average.",
            "exact; holds if it rounds to 61.77",
            f"{exact:.4f} steps by the oracle",
            truth_of(round(exact, 2) == 61.77),
        )
    )
    return found


def optimal_length() -> float:
    """Exact mean episode length of an optimal policy."""
    mdp = problems.slippery_maze().mdp
    best = oracle.infinite_optimal(mdp, 1.0)
    acting = policy.greedy(best.action_values)
    return float(oracle.mean_episode_length(mdp, acting))


def tables(config: Config, data: Arrays) -> dict[str, Arrays]:
    """Every arm at every step size."""
    return {"lengths": mazes.table(config, data, {arm: str(arm) for arm in arms(config)})}


EXPERIMENT = Experiment(
    name="slippery-maze",
    title="Tabular FHTD control in the slippery maze",
    source="Figure 2",
    shows="a short fixed horizon controls a slippery world better than a long one",
    cost="20 s",
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
                "lengths",
                "step_size",
                "step size",
                "mean episode length (steps)",
                y="mean_length",
                arm="arm",
                low="low",
                high="high",
                where=(("arm", f"{kind}-*"),),
                labels=(("fhq-*", "H = *"), ("q-*", "γ = *")),
            )
            for kind, title in (
                ("fhq", "FHQ-learning, by horizon"),
                ("q", "Q-learning, by discount"),
            )
        ),
    ),
)
