"""Linear FHQ-learning reaches Proposition 1's equilibrium, though its bound fails on the way.

And the matrices that make FHTD stable where TD is not.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from fhtd import checks, oracle, problems
from fhtd.features import Features, StateFeatures
from fhtd.mdp import FiniteMDP
from fhtd.online import FHQ, Decay
from fhtd.online.simulate import simulate
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
    join_runs,
    run_blocks,
    style,
    truth_of,
    worst,
)
from fhtd.statistics import Interval, Statistics
from fhtd.weighting import Weighting

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_BLOCK = 10
#: Sums of step sizes at which the bound is looked at, along the mean path from zero weights.
_TIMES = np.concatenate([[0.0], np.geomspace(0.1, 300, 40)])


@dataclass(frozen=True)
class Config:
    """Settings of the convergence check; the paper proves it, and gives no experiment."""

    runs: int = 10
    """Independent runs in each random MDP."""
    worlds: int = 8
    """Random MDPs, each with its own features and behaviour policy."""
    steps: int = 1_000_000
    """Steps of each run."""
    horizon: int = 8
    """Final horizon H."""
    discount: float = 0.9
    """Discount rate gamma."""
    n_states: int = 6
    """States of each MDP."""
    n_actions: int = 3
    """Actions of each MDP."""
    n_features: int = 3
    """Features of each state: fewer than states, so that values are approximate."""
    step_size: float = 0.1
    """First step size, which decays as 1 / (1 + t / 1000)^0.8 (Robbins-Monro)."""

    def __post_init__(self) -> None:
        for name in ("runs", "worlds", "horizon", "n_states", "n_actions", "n_features"):
            checks.integer(name, getattr(self, name), 1)
        checks.integer("worlds", self.worlds, 1, 1000)
        checks.integer("steps", self.steps, 1000)
        checks.integer("n_features", self.n_features, 1, self.n_states)
        checks.real("discount", self.discount, 0, 1)
        checks.positive("step_size", self.step_size)

    @classmethod
    def smoke(cls) -> "Config":
        """Few worlds, shorter."""
        return cls(runs=4, worlds=3, steps=300_000)


@dataclass(frozen=True)
class World:
    """A random MDP, by its number."""

    index: int

    def __str__(self) -> str:
        return f"world-{self.index}"


def world(
    config: Config, seed: int, index: int
) -> tuple[FiniteMDP, StateFeatures, npt.NDArray[np.float64]]:
    """A random continuing MDP, random features, and a behaviour policy that tries everything."""
    rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(index, 1)))
    shape = (config.n_states, config.n_actions, config.n_states)
    mdp = FiniteMDP(
        probabilities=rng.dirichlet(np.ones(config.n_states), size=shape[:2]),
        next_states=np.broadcast_to(np.arange(config.n_states), shape),
        rewards=np.broadcast_to(rng.normal(size=(*shape[:2], 1)), shape),
        terminal=np.zeros(shape, bool),
        start=np.full(config.n_states, 1 / config.n_states),
        name=f"random MDP {index}",
    )
    features = Features.from_matrix(rng.normal(size=(config.n_states, config.n_features)))
    behaviour = rng.dirichlet(np.full(config.n_actions, 3.0), size=config.n_states)
    return mdp, features, behaviour


def _recorded_at(config: Config) -> np.ndarray:
    return np.unique(np.geomspace(config.steps / 1000, config.steps, 31).astype(int))


def blocks(config: Config) -> list[Block]:
    """Every world in blocks of runs."""
    return [
        block
        for index in range(config.worlds)
        for block in run_blocks(World(index), config.runs, _BLOCK)
    ]


def run(config: Config, seed: int, block: Block) -> Arrays:
    """Distance of the action values from the equilibrium's over time, relative to their size."""
    mdp, features, behaviour = world(config, seed, block.arm.index)
    weighting = Weighting.exponential(config.horizon, config.discount)
    distribution = oracle.stationary_distribution(mdp, behaviour)
    weights = oracle.linear_control_fixed_point(mdp, features, behaviour, weighting, distribution)
    # Q^h(s, a) at the equilibrium.
    truth = np.einsum("sf,afh->sah", features.matrix, weights)
    found = simulate(
        FHQ(
            features,
            mdp.n_actions,
            weighting,
            step_size=Decay(config.step_size, 1000, 0.8),
        ),
        mdp,
        steps=config.steps,
        runs=block.runs,
        behaviour=behaviour,
        truth=truth,
        record_at=_recorded_at(config),
        per_run=True,
        seed=seed,
        threads=1,
    )
    assert found.error_curves is not None
    size = np.sqrt((truth**2).mean(axis=(0, 1)))
    where = mdp, features, behaviour, weighting
    path = oracle.mean_path(*where, _TIMES, distribution=distribution)
    sides = [oracle.ode_bound(*where, weights, distribution) for weights in path]
    ratio = np.array([left / right for left, right in sides])
    return {"distance": found.error_curves / size, "bound": ratio}


def combine(config: Config, results: Results) -> Arrays:
    """(worlds, runs, moments, horizons) of distances, the bound's sides, Baird's eigenvalues."""
    baird = problems.baird()
    distribution = np.full(baird.mdp.n_states, 1 / baird.mdp.n_states)
    found = oracle.stability(baird.mdp, baird.features, baird.target, distribution, baird.discount)
    return {
        "step": _recorded_at(config),
        "distance": np.stack(
            [join_runs(results, World(i), "distance") for i in range(config.worlds)]
        ),
        "time": _TIMES,
        # Left side over right side: (worlds, moments, horizons - 1).
        "bound": np.stack(
            [
                results[run_blocks(World(i), config.runs, _BLOCK)[0]]["bound"]
                for i in range(config.worlds)
            ]
        ),
        "td_eigenvalues": np.linalg.eigvals(found.td_matrix).astype(complex),
        "fhtd_eigenvalues": np.linalg.eigvals(found.fhtd_matrix).astype(complex),
    }


def plot(config: Config, data: Arrays) -> "Figure":
    """Distance over time in each world; eigenvalues of A on Baird's counterexample."""
    figure, axes = style.panels(1, 3)
    panel = axes[0, 0]
    for i in range(config.worlds):
        found = Statistics.of(data["distance"][i, :, :, -1])
        style.line(panel, data["step"], found.mean, found.standard_error, f"MDP {i + 1}", i)
    panel.set_xscale("log")
    panel.set_yscale("log")
    style.label(
        panel,
        f"FHQ-learning, horizon {config.horizon}",
        "step",
        "relative distance from equilibrium",
        columns=2,
    )
    panel = axes[0, 1]
    for i, ratio in enumerate(data["bound"].max(axis=2)):
        style.line(panel, data["time"][1:], ratio[1:], None, f"MDP {i + 1}", i)
    panel.axhline(1, color="#000000", linewidth=0.8)
    panel.set_xscale("log")
    panel.set_yscale("log")
    style.label(
        panel,
        "Proposition 1's bound: needs less than 1",
        "sum of step sizes, along the mean path",
        "left side over right, worst horizon",
        columns=2,
    )
    panel = axes[0, 2]
    for i, (name, key) in enumerate([("TD", "td_eigenvalues"), ("FHTD", "fhtd_eigenvalues")]):
        values = data[key]
        panel.scatter(
            values.real,
            values.imag,
            s=90 if name == "TD" else 30,
            marker=style.MARKERS[i],
            facecolors="none" if name == "TD" else style.COLOURS[1],
            edgecolors=style.COLOURS[2 - i],
            label=name,
        )
    panel.axvline(0, color="#000000", linewidth=0.8)
    style.label(panel, "eigenvalues of A on Baird's counterexample", "real part", "imaginary part")
    style.say(figure, style.band(config.runs))
    return figure


def claims(config: Config, data: Arrays) -> list[Claim]:
    """Convergence to the equilibrium, and the signs of the eigenvalues."""
    # Runs in one MDP are alike: the unit is the mean over each MDP's runs.
    distance = data["distance"][..., -1].mean(axis=1)
    # From a hundredth of the steps to the end.
    start = int(np.searchsorted(data["step"], config.steps // 100))
    shrink = Interval.of(distance[:, -1] / distance[:, start])
    reached = Interval.of(distance[:, -1])
    n_runs = data["distance"].shape[1]
    td, fhtd = data["td_eigenvalues"].real.min(), data["fhtd_eigenvalues"].real.min()
    tiny = 1e-12
    return [
        Claim(
            "reaches-equilibrium",
            "Linear FHQ-learning under a fixed behaviour policy converges to the equilibrium that "
            "Proposition 1 constructs (Theorem 1).",
            "distance of the final horizon's action values from the equilibrium's, relative to "
            "their size; holds if its 95% interval lies below 0.05 and that of its ratio to the "
            "distance after a hundredth of the steps below 0.5, fails if above",
            f"distance {reached}, ratio {shrink}, over {config.worlds} MDPs of {n_runs} runs each",
            worst([below(reached, 0.05), below(shrink, 0.5)]),
        ),
        *_bound(data, distance[:, -1]),
        Claim(
            "td-unstable",
            "TD's matrix A is not positive definite on Baird's counterexample.",
            "exact; holds if its smallest eigenvalue has a negative real part",
            f"smallest real part {td:.4f}",
            truth_of(bool(td < -tiny)),
        ),
        Claim(
            "fhtd-stable",
            "FHTD's matrix A has no eigenvalue with a negative real part.",
            "exact; holds if the smallest real part is at least 0 up to rounding. It is 0, not "
            "positive as the paper says, because Baird's 8 features of 7 states are dependent",
            f"smallest real part {fhtd:.2g}",
            truth_of(bool(fhtd > -tiny)),
        ),
    ]


def _bound(data: Arrays, distance: npt.NDArray[np.float64]) -> list[Claim]:
    """Whether the condition of Proposition 1 is met on the way, and whether it matters."""
    highest = data["bound"].max(axis=(1, 2))
    fails = highest >= 1
    share = Interval.share(~fails)
    there = Interval.of(distance[fails]) if fails.any() else None
    return [
        Claim(
            "bound-on-the-way",
            "Proposition 1's bound holds along the mean path of FHQ-learning from zero weights.",
            "share of random MDPs in which its left side is below its right side at every moment "
            "and horizon; holds if the 95% interval over MDPs lies above 0.5, fails if below",
            f"{int((~fails).sum())} of {len(fails)}, share {share}; left over right at most "
            f"{highest.min():.3g} to {highest.max():.3g}",
            above(share, 0.5),
        ),
        Claim(
            "converges-without-the-bound",
            "Where that bound fails on the way, FHQ-learning converges all the same.",
            "distance as above, in the MDPs where it fails; holds if its 95% interval lies below "
            "0.05, fails if above",
            "no such MDP" if there is None else f"{there} over {int(fails.sum())} MDPs",
            Verdict.INCONCLUSIVE if there is None else below(there, 0.05),
        ),
    ]


def tables(config: Config, data: Arrays) -> dict[str, Arrays]:
    """Distances over time by world, and the bound along its mean path."""
    table: Arrays = {"step": data["step"]}
    for i in range(config.worlds):
        found = Statistics.of(data["distance"][i, :, :, -1])
        table[f"mdp{i + 1}"] = found.mean
        table[f"mdp{i + 1}.standard_error"] = found.standard_error
    bound = {"time": data["time"]}
    for i in range(config.worlds):
        bound[f"mdp{i + 1}"] = data["bound"][i].max(axis=1)
    return {"distances": table, "bound": bound}


EXPERIMENT = Experiment(
    name="convergence",
    title="Convergence of linear FHQ-learning",
    source="Proposition 1, Theorem 1",
    shows="FHQ-learning reaches the constructed equilibrium, also where the proof's bound fails; "
    "and why TD need not",
    cost="10 s",
    config=Config,
    blocks=blocks,
    run=run,
    combine=combine,
    plot=plot,
    claims=claims,
    tables=tables,
    charts=(
        Chart(
            "Distance from the equilibrium",
            "distances",
            "step",
            "step",
            "relative distance",
            lines="",
            labels=(("mdp*", "MDP *"),),
            log_x=True,
            log_y=True,
        ),
        Chart(
            "Proposition 1's bound",
            "bound",
            "time",
            "sum of step sizes",
            "left side over right",
            lines="",
            labels=(("mdp*", "MDP *"),),
            log_y=True,
        ),
    ),
    extent=("runs", "worlds"),
    revision=2,
)
