"""Made-up results on which the claims of each experiment must hold, fail, or stay undecided.

For each experiment `HOLDING` builds data, in the shape that `combine` gives, on which every claim
holds. `FAILING` and `UNCLEAR` change that data so that one claim must fail or cannot be decided.
"""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from fhtd.experiments import critics as soft
from fhtd.experiments import deepening as windows
from fhtd.experiments import find
from fhtd.experiments import hybrid as hybrids
from fhtd.experiments import minatar as games
from fhtd.experiments.complexity import backups
from fhtd.experiments.lander_sweep import arms as sweep_arms
from fhtd.reproduction import Arrays

RUNS = 8
#: From -1 to 1 over the runs, with mean 0: a spread that leaves the mean in doubt.
SPREAD = np.linspace(-1, 1, RUNS)

Floats = npt.NDArray[np.float64]
Change = Callable[[Arrays], None]


def put(name: str, value: Any, at: Any = ...) -> Change:
    """Set a part of one array."""

    def change(data: Arrays) -> None:
        data[name][at] = value

    return change


def both(*changes: Change) -> Change:
    """One change after the other."""

    def change(data: Arrays) -> None:
        for one in changes:
            one(data)

    return change


#: Enough for the share of runs that converge.
MANY = 400


def baird() -> Arrays:
    means = np.array([10.0, 5000.0, 2.0])[:, None] * np.ones(8)
    near_zero = np.full((MANY, 7), 1e-9)
    return {
        "step": np.array([1, 50, 100]),
        "fhtd.mean": means,
        "fhtd.error": 0.1 * means,
        "fhtd.final_weights": np.full((MANY, 8), 2.0),
        "fhtd.final_values": near_zero.copy(),
        "fhtd-random.final_values": near_zero.copy(),
        "td.final_values": np.full((RUNS, 7), -1e12),
        "fhtd.settled_at": np.full(MANY, 6000.0),
        # Quicker in a quarter of the runs.
        "fhtd-random.settled_at": np.where(np.arange(MANY) % 4, 7000.0, 5000.0),
    }


def fewer(name: str, count: int) -> Change:
    """Only so many runs."""
    return lambda data: data.update({name: data[name][:count]})


BAIRD_FAILS: dict[str, list[Change]] = {
    "converges": [
        put("fhtd.final_values", -1.0, (slice(20), 6)),  # one state of some runs is enough
        put("fhtd.final_values", np.nan, (slice(20), 0)),
    ],
    "transient": [
        both(put("fhtd.mean", 11.0, 1), put("fhtd.error", 0.1)),  # no growth on the way
        put("fhtd.final_weights", 11.0, (slice(None), 0)),  # one weight does not recover
    ],
    "td-diverges": [put("td.final_values", 12.0)],
    "random-converges": [put("fhtd-random.final_values", 1.0, (slice(20), 0))],
    "random-sometimes-quicker": [
        put("fhtd-random.settled_at", 6000.0),  # no sooner is not quicker
        put("fhtd-random.settled_at", np.inf),
    ],
}
BAIRD_UNCLEAR: dict[str, list[Change]] = {
    "converges": [
        put("fhtd.final_values", -1.0, (3, 6)),  # not every run, and yet nearly all
        fewer("fhtd.final_values", 300),
        fewer("fhtd.final_values", 2),
    ],
    "transient": [
        put("fhtd.error", 5000.0),
        put("fhtd.final_weights", 10 + np.linspace(-1, 1, MANY), (slice(None), 0)),
        fewer("fhtd.final_weights", 1),
    ],
    "td-diverges": [put("td.final_values", 12 * 10 ** (3 + 3 * SPREAD[:, None]))],
    "random-converges": [fewer("fhtd-random.final_values", 2)],
    "random-sometimes-quicker": [
        put("fhtd-random.settled_at", np.where(np.arange(MANY) % 20, 7000.0, 5000.0)),
        both(fewer("fhtd.settled_at", 2), fewer("fhtd-random.settled_at", 2)),
    ],
}


def maze(values: Mapping[str, float] | None = None, spread: float = 0.0) -> Arrays:
    """At one step size as wanted, at others far worse; runs differ, alike in all arms."""
    wanted = {"fhq-8": 200.0, "fhq-16": 100.0, "fhq-32": 120.0, "fhq-48": 130.0, "q-1": 150.0}
    wanted |= {f"q-{discount}": 110.0 for discount in (0.875, 0.938, 0.969, 0.979)}
    wanted |= values or {}
    data = {}
    for i, (arm, length) in enumerate(sorted(wanted.items())):
        lengths = np.full((10, RUNS), 9000.0 if arm == "fhq-16" else 1000.0)
        lengths[i % 10] = length + 80 * SPREAD + (spread * SPREAD if arm in (values or {}) else 0)
        data[arm] = lengths
    return data


def becomes(build: Callable[..., Arrays], *options: Any, **more: Any) -> Change:
    """Replace the data by what `build` gives."""
    return lambda data: data.update(build(*options, **more))


ALL_DISCOUNTS = ("q-0.875", "q-0.938", "q-0.969", "q-0.979")
MAZE_FAILS: dict[str, list[Change]] = {
    "too-short-is-poor": [becomes(maze, {"fhq-8": 90.0})],
    "shorter-than-32": [becomes(maze, {"fhq-32": 90.0})],
    "shorter-than-48": [becomes(maze, {"fhq-48": 90.0})],
    "discounts-alike": [becomes(maze, {"q-0.938": 130.0}), becomes(maze, {"q-0.979": 90.0})],
    "fhq-against-q": [
        becomes(maze, dict.fromkeys(ALL_DISCOUNTS, 95.0)),
        becomes(maze, {"q-0.969": 99.0}),  # the best discount is what counts
    ],
    "shorter-than-episode": [
        becomes(maze, {"q-1": 105.0}),  # longer than FHQ takes, shorter than Q-learning does
        becomes(maze, {"q-1": 90.0}),
    ],
    "optimal-length": [],  # from the oracle, not from data: see below
}
MAZE_UNCLEAR: dict[str, list[Change]] = {
    "too-short-is-poor": [becomes(maze, {"fhq-8": 101.0}, spread=50)],
    "shorter-than-32": [becomes(maze, {"fhq-32": 101.0}, spread=50)],
    "shorter-than-48": [becomes(maze, {"fhq-48": 101.0}, spread=50)],
    "discounts-alike": [becomes(maze, {"q-0.969": 121.0}, spread=20)],
    "fhq-against-q": [becomes(maze, dict.fromkeys(ALL_DISCOUNTS, 101.0), spread=50)],
    "shorter-than-episode": [becomes(maze, {"q-1": 111.0}, spread=50)],
}


def acting(values: Mapping[str, float] | None = None, spread: float = 0.0) -> Arrays:
    """Lengths by what is acted on, at its second step size; the others are worse."""
    lengths = {"final-8": 120.0, "final-16": 100.0, "final-32": 105.0, "final-48": 110.0}
    lengths |= {"agreement-48": 100.0} | dict(values or {})
    sizes = np.array([40.0, 0.0, 10.0, 20.0, 30.0, 50.0, 60.0])[:, None]
    return {
        name: length + sizes + 0.1 * SPREAD + (spread * SPREAD if "agree" in name else 0)
        for name, length in lengths.items()
    }


ACTING_FAILS: dict[str, list[Change]] = {
    "better-than-the-longest": [becomes(acting, {"agreement-48": 115.0})],
    "as-good-as-the-best": [becomes(acting, {"agreement-48": 101.0})],
}
ACTING_UNCLEAR: dict[str, list[Change]] = {
    "better-than-the-longest": [becomes(acting, {"agreement-48": 109.0}, spread=5.0)],
    "as-good-as-the-best": [becomes(acting, {"agreement-48": 101.0}, spread=5.0)],
}


def composition(values: Mapping[str, float] | None = None, spread: float = 0.0) -> Arrays:
    """Curves that are level: from nothing the worst, extended the best."""
    levels = {"walk.anew": 0.5, "walk.from-zero": 0.4, "walk.extended": 0.2}
    levels |= {"maze.anew": 0.5, "maze.from-zero": 0.4, "maze.extended": 0.2}
    data: Arrays = {
        name: np.outer(level + 0.01 * SPREAD, np.ones(5))
        for name, level in (levels | dict(values or {})).items()
    }
    for name in values or {}:
        data[name] = data[name] + spread * SPREAD[:, None]
    return data | {f"{task}.same": np.ones(MANY, np.bool_) for task in ("walk", "maze")}


COMPOSITION_FAILS: dict[str, list[Change]] = {
    "values-are-reused": [becomes(composition, {"walk.extended": 0.6})],
    "values-by-bootstrapping": [becomes(composition, {"walk.from-zero": 0.6})],
    "policies-are-reused": [becomes(composition, {"maze.extended": 0.6})],
    "policies-by-bootstrapping": [becomes(composition, {"maze.from-zero": 0.6})],
    "unaffected-by-longer": [put("walk.same", False), put("maze.same", False, slice(40))],
}
COMPOSITION_UNCLEAR: dict[str, list[Change]] = {
    "values-are-reused": [becomes(composition, {"walk.extended": 0.49}, spread=0.3)],
    "values-by-bootstrapping": [becomes(composition, {"walk.from-zero": 0.5}, spread=0.3)],
    "policies-are-reused": [becomes(composition, {"maze.extended": 0.49}, spread=0.3)],
    "policies-by-bootstrapping": [becomes(composition, {"maze.from-zero": 0.49}, spread=0.3)],
    "unaffected-by-longer": [
        put("maze.same", False, 3),  # not every run, and yet nearly all
        fewer("walk.same", 60),
    ],
}


def walk() -> Arrays:
    """Horizon h falls to its level within about 5 h steps; TD is above all of them.

    Blocks of runs differ, alike for both.
    """
    steps, horizons = np.arange(1, 2001)[:, None], np.arange(1, 101)
    fhtd = horizons / (horizons + 10) * (1 + 2 * np.exp(-steps / (5 * horizons)))
    td = 1 + 2 * np.exp(-steps / 600)
    level = 1 + 0.01 * SPREAD[:, None, None]
    return {"fhtd.blocks": level * fhtd, "td.blocks": level * td}


def slow_horizon_5(blocks: int) -> Change:
    def change(data: Arrays) -> None:
        data["fhtd.blocks"][:blocks, :, 4] = data["fhtd.blocks"][:blocks, :, 99] / 2

    return change


def horizon_60_like_40(data: Arrays) -> None:
    like = data["fhtd.blocks"][:, :, 39] * (1 + 0.1 * SPREAD[:, None])
    data["fhtd.blocks"][:, :, 59] = like


def one_block(data: Arrays) -> None:
    data.update({name: values[:1] for name, values in data.items()})


every, near_td = slice(None), (slice(None), 1200, 50)
WALK_FAILS: dict[str, list[Change]] = {
    "short-plateau-early": [slow_horizon_5(RUNS)],
    "approach-td": [
        put("fhtd.blocks", 0.1, (every, every, 59)),  # horizon 60 is further from TD than 40
        put("fhtd.blocks", 2.0, (every, every, 99)),  # the last one overshoots
    ],
    "no-crossing": [
        put("fhtd.blocks", 4.0, near_td),
        put("td.blocks", 2.0),  # TD does not learn
    ],
}
WALK_UNCLEAR: dict[str, list[Change]] = {
    "short-plateau-early": [slow_horizon_5(RUNS // 2), one_block],
    "approach-td": [horizon_60_like_40, one_block],
    "no-crossing": [put("fhtd.blocks", 1.3 + SPREAD, near_td), one_block],
}


def off_policyness() -> Arrays:
    """Disagreement in half of the states, in the first 4 of 64 horizons only."""
    agreement = np.ones((RUNS, 2, 64))
    agreement[:, :, :4] = 0.5
    return {"agreement": agreement}


OFF_POLICYNESS_FAILS: dict[str, list[Change]] = {
    # Each under one tie rule only.
    "early-disagreement": [put("agreement", 0.5, (slice(None), rule)) for rule in (0, 1)],
    "late-agreement": [put("agreement", 0.7, (slice(None), rule, 31)) for rule in (0, 1)],
}
OFF_POLICYNESS_UNCLEAR: dict[str, list[Change]] = {
    # Half of the worlds disagree early only, half late only.
    "early-disagreement": [
        both(
            put("agreement", 1.0, (slice(0, RUNS // 2), 0, slice(0, 4))),
            put("agreement", 0.5, (slice(0, RUNS // 2), 0, slice(40, 44))),
        )
    ],
    "late-agreement": [put("agreement", 0.9 + SPREAD / 10, (slice(None), 1, 31))],
}


def checkered(**changes: tuple[float, float]) -> Arrays:
    """Errors (early, late) of arms at their best step size; knowing nothing would give about 7.

    At the largest step size FHTD(lambda) diverges and n-step FHTD does not. Runs differ, alike in
    all arms.
    """
    config = find("checkered-grid").config()
    wanted = {f"n={n}": (0.3, 0.12) for n in config.backups}
    wanted |= {f"lambda={decay:g}": (0.3, 0.12) for decay in config.lambdas}
    wanted |= {"n=1": (0.4, 0.1), "n=32": (0.4, 0.2), "lambda=0": (0.4, 0.1)}
    wanted |= {"lambda=1": (0.4, 0.2), "n=4": (0.2, 0.12), "lambda=0.75": (0.2, 0.12)}
    wanted |= changes
    data = {}
    for i, (arm, errors) in enumerate(wanted.items()):
        found = np.full((9, RUNS, 2), 0.9)
        found[i % 8] = np.array(errors) + 0.05 * SPREAD[:, None]
        if arm.startswith("lambda"):
            found[-1] = np.inf
        data[arm] = found
    return data


def unpaired(arm: str, early: float, late: float, spread: float) -> Change:
    """The arm's best errors, with a spread of their own on top of the one that all share."""

    def change(data: Arrays) -> None:
        best = data[arm][:8].mean(axis=(1, 2)).argmin()
        data[arm][best] = np.array([early, late]) + spread * SPREAD[:, None]

    return change


def stable_lambda(data: Arrays) -> None:
    for arm, errors in data.items():
        errors[-1] = 1000.0 if arm.startswith("n=") else 0.9


def alike_at_large_steps(data: Arrays) -> None:
    for errors in data.values():
        errors[-1] = np.inf


def two_runs(data: Arrays) -> None:
    data.update({arm: errors[:, :2] for arm, errors in data.items()})


CHECKERED_FAILS: dict[str, list[Change]] = {
    "intermediate-n": [
        becomes(checkered, **{"n=1": (0.15, 0.1)}),
        becomes(checkered, **{"n=32": (0.15, 0.2)}),
    ],
    "intermediate-lambda": [
        becomes(checkered, **{"lambda=0": (0.15, 0.1)}),
        becomes(checkered, **{"lambda=1": (0.15, 0.2)}),
    ],
    "one-step-catches-up": [
        becomes(checkered, **{"n=1": (0.4, 0.2)}),  # still behind at the end
        becomes(checkered, **{"n=1": (0.15, 0.1)}),  # never behind
    ],
    "lambda-less-stable": [stable_lambda],
}
CHECKERED_UNCLEAR: dict[str, list[Change]] = {
    "intermediate-n": [unpaired("n=32", 0.21, 0.2, 0.15)],
    "intermediate-lambda": [unpaired("lambda=0", 0.21, 0.1, 0.15)],
    "one-step-catches-up": [unpaired("n=1", 0.21, 0.1, 0.15), unpaired("n=1", 0.4, 0.125, 0.1)],
    "lambda-less-stable": [alike_at_large_steps, two_runs],
}


def complexity(exponent: float = 2.0, root: float = 0.5) -> Arrays:
    """Cost as the paper counts it, times a factor per repetition that all settings share."""
    load = np.exp(SPREAD)[:, None]
    data = {}
    for horizon in (64, 256, 1024):
        n = np.array(backups(horizon))
        count = n - 1 + horizon / n
        data[f"n-step-{horizon}"] = load * count / count.min() * horizon**root
    data["lambda"] = load * np.array([32.0, 64, 128, 256, 512]) ** exponent
    return data


def cost_at(n: int, factor: float | Floats) -> Change:
    """The cost of n for the longest horizon, relative to the cheapest."""

    def change(data: Arrays) -> None:
        times = data["n-step-1024"]
        times[:, n] = times.min(axis=1) * factor

    return change


COMPLEXITY_FAILS: dict[str, list[Change]] = {
    "intermediate-n-cheapest": [cost_at(0, 0.8), cost_at(-1, 0.8)],
    "sublinear-in-horizon": [becomes(complexity, root=1.2)],
    "lambda-quadratic": [becomes(complexity, exponent=1.0), becomes(complexity, exponent=3.0)],
}
COMPLEXITY_UNCLEAR: dict[str, list[Change]] = {
    "intermediate-n-cheapest": [cost_at(0, 1 + SPREAD / 2), cost_at(-1, 1 + SPREAD / 2)],
    "sublinear-in-horizon": [becomes(complexity, root=1 + SPREAD[:, None])],
    "lambda-quadratic": [becomes(complexity, exponent=1.5 + SPREAD[:, None])],
}


WEIGHTINGS = ("exponential", "average", "hyperbolic", "arbitrary", "reward-scaled", "fourier")


def weightings() -> Arrays:
    """Errors that end at 1%, and a learned profile that is 1% too large."""
    data: Arrays = {"step": np.array([1, 2, 3])}
    for problem in ("checkered-grid", "random-walk"):
        for name in WEIGHTINGS:
            data[f"{problem}@{name}"] = np.array([0.9, 0.5, 0.01]) * np.ones((RUNS, 1))
        exact = np.sin(np.arange(5 * 16)).reshape(5, 16)
        data[f"{problem}.exact"] = exact
        data[f"{problem}.profile"] = 1.01 * exact * np.ones((RUNS, 1, 1))
    return data


def profile_off_by(problem: str, share: float | Floats) -> Change:
    def change(data: Arrays) -> None:
        factor = 1 + np.asarray(share) * np.ones(RUNS)
        data[f"{problem}.profile"] = factor[:, None, None] * data[f"{problem}.exact"]

    return change


WEIGHTINGS_FAILS: dict[str, list[Change]] = {
    # On one of the two problems only.
    f"learns-{name}": [
        put(f"checkered-grid@{name}", 0.5, (slice(None), -1)),
        put(f"random-walk@{name}", 0.5, (slice(None), -1)),
    ]
    for name in WEIGHTINGS
} | {"knows-when": [profile_off_by("checkered-grid", 0.6), profile_off_by("random-walk", -0.6)]}
WEIGHTINGS_UNCLEAR: dict[str, list[Change]] = {
    f"learns-{name}": [put(f"random-walk@{name}", 0.15 + SPREAD / 10, (slice(None), -1))]
    for name in WEIGHTINGS
} | {"knows-when": [profile_off_by("random-walk", 0.25 + SPREAD / 5)]}


def convergence() -> Arrays:
    steps = find("convergence").config().steps
    bound = np.full((20, 4, 7), 0.5)
    bound[:5, 1, 3] = 1.5
    return {
        "time": np.array([0.0, 1.0, 2.0, 4.0]),
        "bound": bound,
        "step": np.array([steps // 1000, steps // 100, steps]),
        "distance": np.array([1.0, 0.5, 0.01])[:, None] * np.ones((20, RUNS, 3, 8)),
        "td_eigenvalues": np.array([-0.2 + 1j, 0.5, 0]),
        "fhtd_eigenvalues": np.array([0.1 + 1j, 0.5, -1e-17]),
    }


final = (slice(None), slice(None), -1)
CONVERGENCE_FAILS: dict[str, list[Change]] = {
    "reaches-equilibrium": [
        put("distance", 0.2, final),
        put("distance", 0.012, (slice(None), slice(None), 1)),  # near, but no longer approaching
    ],
    "bound-on-the-way": [
        put("bound", 1.2, (slice(18), 0, 0)),
        put("bound", 1.0, (slice(18), 3, 6)),
    ],
    "converges-without-the-bound": [put("distance", 0.2, (slice(5), slice(None), -1))],
    "td-unstable": [put("td_eigenvalues", 0.3, 0)],
    "fhtd-stable": [put("fhtd_eigenvalues", -0.01 + 1j, 0)],
}
CONVERGENCE_UNCLEAR: dict[str, list[Change]] = {
    "reaches-equilibrium": [
        put("distance", 0.05 + 0.04 * np.linspace(-1, 1, 20)[:, None, None], final)
    ],
    "bound-on-the-way": [put("bound", 1.2, (slice(10), 0, 0))],
    "converges-without-the-bound": [
        put("bound", 0.9, ...),
        put("distance", 0.2, (0, slice(None), -1)),
    ],
}


def general_approximation() -> Arrays:
    """Wide networks fit everything, others within their own delta; all come to rest."""
    data: Arrays = {"step": np.arange(1, 51)}
    for arm, loss, delta in (("wide", 1e-7, 1e-7), ("middle", 0.01, 0.08), ("narrow", 0.2, 1.0)):
        data[f"{arm}.loss"] = loss * (2 + SPREAD[:, None, None]) / 2 * np.ones((RUNS, 50, 8))
        data[f"{arm}.delta"] = np.full(RUNS, delta)
        data[f"{arm}.error"] = np.full((RUNS, 8), loss)
        data[f"{arm}.change"] = np.full((RUNS, 8), 1e-4)
    return data


at_last = (slice(None), -1)
GENERAL_FAILS: dict[str, list[Change]] = {
    "within-delta-wide": [put("wide.loss", 0.01, (slice(None), -1, 3))],
    "within-delta-middle": [put("middle.loss", 0.2, (slice(None), -1, 3))],
    "within-delta-narrow": [put("narrow.loss", 1.5, (slice(None), -1, 7))],
    "strong-and-right": [put("wide.delta", 0.2), put("wide.error", 0.1, at_last)],
    "weak-does-not": [put("narrow.loss", 1e-9, at_last)],
    "all-converge": [
        put(f"{arm}.change", 0.05, (slice(None), 2)) for arm in ("wide", "middle", "narrow")
    ],
}
GENERAL_UNCLEAR: dict[str, list[Change]] = {
    "within-delta-wide": [put("wide.delta", SPREAD)],
    "within-delta-middle": [put("middle.delta", 0.01 + SPREAD)],
    "within-delta-narrow": [put("narrow.delta", 0.2 + SPREAD)],
    "strong-and-right": [put("wide.error", 0.05 + 0.04 * SPREAD, at_last)],
    "weak-does-not": [put("wide.delta", 0.2 + SPREAD)],
    "all-converge": [put("narrow.change", 0.01 + 0.009 * SPREAD, (slice(None), 2))],
}


def lander() -> Arrays:
    """Curves that rise from 0 to 100 for DFHQ, less and more scattered for DQN."""
    rise = np.linspace(0, 100, 50)
    data: Arrays = {"frame": np.arange(10_000, 510_000, 10_000)}
    for arm, height, scatter, senseless in (
        ("dfhq-0.99", 1.0, 1.0, -1),
        ("dfhq-1", 0.99, 1.0, -1),
        ("dqn-0.99", 0.8, 5.0, -1),
        ("dqn-1", -2.0, 5.0, 20_000),
    ):
        data[f"{arm}.curves"] = height * rise + scatter * SPREAD[:, None]
        data[f"{arm}.senseless"] = np.full(RUNS, senseless)
    return data


def scatter(arm: str, size: float) -> Change:
    """Make an arm's runs differ by so much."""

    def change(data: Arrays) -> None:
        data[f"{arm}.curves"] += size * SPREAD[:, None]

    return change


def shift(name: str, by: Any) -> Change:
    """Move an array."""

    def change(data: Arrays) -> None:
        data[name] = data[name] + by

    return change


LANDER_FAILS: dict[str, list[Change]] = {
    "area-under-the-curve": [shift("dqn-0.99.curves", 50.0)],
    "lower-variance": [scatter("dfhq-0.99", 20.0)],
    "steady-improvement": [put("dfhq-0.99.curves", -300.0, (slice(None), slice(20, 30)))],
    "less-sensitive-to-discount": [
        shift("dfhq-1.curves", -500.0),
        shift("dfhq-1.curves", 500.0),  # a gain is a change too
    ],
    "dqn-diverges-undiscounted": [
        put("dqn-1.senseless", -1),
        put("dqn-1.senseless", 400_000),  # not at once
    ],
}
LANDER_UNCLEAR: dict[str, list[Change]] = {
    "area-under-the-curve": [scatter("dqn-0.99", 200.0)],
    "lower-variance": [scatter("dfhq-0.99", 4.0)],
    "steady-improvement": [
        put("dfhq-0.99.curves", 200.0 * SPREAD[:, None], (slice(None), slice(40, 50)))
    ],
    "less-sensitive-to-discount": [scatter("dqn-1", 2000.0)],
    "dqn-diverges-undiscounted": [
        put("dqn-1.senseless", -1, 3),
        put("dfhq-1.senseless", 100_000, 0),
        both(fewer("dqn-1.senseless", 2), fewer("dfhq-1.senseless", 2)),
    ],
}


def sweep() -> Arrays:
    """DFHQ at 100 whatever its setting, less with a target network; DQN falls with the width."""
    experiment = find("lander-sweep")
    data = {}
    for arm in sweep_arms(experiment.config()):
        area = 100.0 if arm.algorithm == "dfhq" else 60.0 - 40.0 * (arm.width > 512)
        area += {"dfhq": -20.0, "dqn": 5.0}[arm.algorithm] * (arm.target_interval > 1)
        area -= 1000.0 * (arm.learning_rate != 1e-4)
        data[str(arm)] = area + SPREAD
    return data


def each(prefix: str, ending: str, change: Callable[[Floats], Floats]) -> Change:
    """Change all settings whose names begin and end so."""

    def apply(data: Arrays) -> None:
        for name in data:
            if name.startswith(prefix) and name.endswith(ending):
                data[name] = change(data[name])

    return apply


SWEEP_FAILS: dict[str, list[Change]] = {
    "targets-slow-dfhq": [each("dfhq", "_100", lambda runs: runs + 50)],
    "targets-help-dqn": [each("dqn", "_100", lambda runs: runs - 50)],
    "dfhq-best": [each("dqn", "", lambda runs: runs + 100)],
    "width-hurts-dqn-more": [each("dfhq64_0.99_4096", "_1", lambda runs: runs - 300)],
}
SWEEP_UNCLEAR: dict[str, list[Change]] = {
    "targets-slow-dfhq": [each("dfhq", "_100", lambda runs: runs + 200 * SPREAD)],
    "targets-help-dqn": [each("dqn", "_100", lambda runs: runs + 200 * SPREAD)],
    "dfhq-best": [each("dqn", "", lambda runs: runs + 200 * SPREAD)],
    "width-hurts-dqn-more": [each("dfhq64_0.99_4096", "_1", lambda runs: runs + 300 * SPREAD)],
}

CONVENTIONS = [
    f"{o}-{i}" for o in find("lander-conventions").config().optimisers for i in ("glorot", "torch")
]


def conventions() -> Arrays:
    """DFHQ at 50, DQN at 30, under every reading."""
    data: Arrays = {}
    for name in CONVENTIONS:
        arm = "_".join(name.rsplit("-", 1))
        data[f"dfhq_{arm}.curves"] = 50.0 + SPREAD[:, None] * np.ones(20)
        data[f"dqn_{arm}.curves"] = 30.0 + SPREAD[::-1, None] * np.ones(20)
    return data


def of_convention(name: str, by: Any) -> Change:
    """Move DQN's runs."""
    return shift(f"dqn_{'_'.join(name.rsplit('-', 1))}.curves", by)


CONVENTIONS_FAIL = {name: [of_convention(name, 100.0)] for name in CONVENTIONS}
CONVENTIONS_UNCLEAR = {name: [of_convention(name, 100.0 * SPREAD[:, None])] for name in CONVENTIONS}


def representation() -> Arrays:
    """DFHQ above DQN, which its auxiliary horizons help; averages above sums."""
    heights = {"dfhq": 50, "dqn": 10, "dqn-auxiliary": 30, "dfhq-undiscounted": 20}
    heights["dfhq-average"] = 40
    return {
        "frame": np.arange(1, 21),
        **{
            f"{arm}.curves": height + SPREAD[:: 1 - 2 * (i % 2), None] * np.ones(20)
            for i, (arm, height) in enumerate(heights.items())
        },
    }


REPRESENTATION_FAILS: dict[str, list[Change]] = {
    "necessary-outputs": [shift("dfhq.curves", -40.0)],
    "auxiliary-outputs": [shift("dqn.curves", 40.0)],
    "similar-magnitudes": [shift("dfhq-average.curves", -40.0)],
}
REPRESENTATION_UNCLEAR: dict[str, list[Change]] = {
    "necessary-outputs": [scatter("dfhq", 100.0)],
    "auxiliary-outputs": [scatter("dqn", 100.0)],
    "similar-magnitudes": [scatter("dfhq-average", 100.0)],
}


READINGS = ("present", "limit-terminates", "limit-1000")


def readings() -> Arrays:
    """DFHQ above DQN under every reading, and further above under the other two."""
    data: Arrays = {"frame": np.arange(1, 21)}
    for reading, height in zip(READINGS, (20.0, 60.0, 90.0), strict=True):
        data[f"dfhq_{reading}.curves"] = height + SPREAD[:, None] * np.ones(20)
        data[f"dqn_{reading}.curves"] = SPREAD[::-1, None] * np.ones(20)
    return data


READINGS_FAIL: dict[str, list[Change]] = {
    **{reading: [shift(f"dqn_{reading}.curves", 200.0)] for reading in READINGS},
    **{
        f"{reading}-favours-dfhq": [
            shift(f"dqn_{reading}.curves", 200.0),
            shift("dfhq_present.curves", 200.0),
        ]
        for reading in READINGS[1:]
    },
}
READINGS_UNCLEAR: dict[str, list[Change]] = {
    **{reading: [scatter(f"dqn_{reading}", 300.0)] for reading in READINGS},
    **{
        f"{reading}-favours-dfhq": [
            scatter(f"dqn_{reading}", 300.0),
            scatter("dfhq_present", 300.0),
        ]
        for reading in READINGS[1:]
    },
}

BEST = ("dfhq64_0.99_256_0.0001_1.curves", "dqn_0.99_256_0.0001_1.curves")


def lander_best() -> Arrays:
    """DFHQ above DQN."""
    curves = (height + SPREAD[:, None] * np.ones(20) for height in (50.0, 30.0))
    return {"frame": np.arange(1, 21), **dict(zip(BEST, curves, strict=True))}


BEST_FAILS: dict[str, list[Change]] = {"dfhq-best-new-seeds": [shift(BEST[1], 100.0)]}
BEST_UNCLEAR: dict[str, list[Change]] = {
    "dfhq-best-new-seeds": [shift(BEST[1], 100.0 * SPREAD[:, None])]
}


def deep_values() -> Arrays:
    """DQN expects too much and errs more."""
    data: Arrays = {}
    for arm, bias, error in (("dfhq-0.99", 0.1, 0.5), ("dqn-0.99", 1.0, 2.0)):
        data[f"{arm}.bias"] = 20 * (bias + 0.05 * SPREAD)
        data[f"{arm}.error"] = 20 * (error + 0.05 * SPREAD)
        data[f"{arm}.spread"] = np.full(RUNS, 20.0)
    return data


VALUES_FAIL: dict[str, list[Change]] = {
    "dqn-overestimates": [put("dqn-0.99.bias", -10.0)],
    "dqn-overestimates-more": [put("dfhq-0.99.bias", 100.0)],
    "dfhq-matches-better": [put("dfhq-0.99.error", 100.0)],
}
VALUES_UNCLEAR: dict[str, list[Change]] = {
    "dqn-overestimates": [put("dqn-0.99.bias", 20 * SPREAD)],
    "dqn-overestimates-more": [put("dfhq-0.99.bias", 20 + 20 * SPREAD)],
    "dfhq-matches-better": [put("dfhq-0.99.error", 40 + 20 * SPREAD)],
}


def deepening() -> Arrays:
    """The default window lands, the others less well."""
    experiment = find("deepening")
    names = [*windows.grid(experiment.config()), windows.PLAIN]
    data: Arrays = {"LunarLander-v3.frame": np.arange(1_000, 101_000, 1_000)}
    for name in names:
        height = 220.0 if name == windows.name_of(*windows.CHOSEN) else 100.0
        data[f"LunarLander-v3.{name}.curves"] = height + 5 * SPREAD[:, None] * np.ones(100)
    return data


def of_window(name: str) -> str:
    return f"LunarLander-v3.{name}.curves"


#: In doubt with any other, and paired with none.
FORTH_AND_BACK = 200 * np.array([1, -1] * (RUNS // 2))[:, None]
DEEPENING_FAILS: dict[str, list[Change]] = {
    "several-horizons": [shift(of_window(f"K1-T{t}"), 200.0) for t in (100, 400, 1600)],
    "layer-norm": [shift(of_window(windows.PLAIN), 200.0)],
    "not-too-slowly": [shift(of_window("K8-T1600"), 200.0)],
    "lands": [put(of_window("K8-T400"), 190.0, (slice(None), slice(80, None)))],
}
DEEPENING_UNCLEAR: dict[str, list[Change]] = {
    "several-horizons": [shift(of_window("K1-T400"), 100.0 + FORTH_AND_BACK)],
    "layer-norm": [shift(of_window(windows.PLAIN), FORTH_AND_BACK)],
    "not-too-slowly": [shift(of_window("K8-T1600"), FORTH_AND_BACK)],
    "lands": [shift(of_window("K8-T400"), -20.0)],
}

#: A poor and a good mean return in each environment.
WORLDS = {
    "LunarLander-v3": (50.0, 220.0),
    "CartPole-v1": (150.0, 400.0),
    "Acrobot-v1": (-200.0, -95.0),
    "MountainCar-v0": (-180.0, -120.0),
}
PEERS = ("dqn", "paper", "sb3:dqn", "sb3-contrib:qrdqn")


def peers() -> Arrays:
    """The default agent near the best in every environment, the others far below."""
    data: Arrays = {}
    little = np.linspace(-1, 1, 10)[:, None] * np.ones(100)
    for world, (poor, good) in WORLDS.items():
        data[f"{world}.frame"] = np.arange(1_000, 101_000, 1_000)
        for arm in ("dfhq", *PEERS):
            data[f"{world}.{arm}.curves"] = (good if arm == "dfhq" else poor) + little
    return data


def in_all(arm: str, share: float, scatter: float = 0.0) -> Change:
    """Move an arm from poor to good by a share, and its runs apart by another, everywhere."""

    def change(data: Arrays) -> None:
        for world, (poor, good) in WORLDS.items():
            curves = data[f"{world}.{arm}.curves"]
            apart = np.linspace(-scatter, scatter, len(curves))[:, None]
            data[f"{world}.{arm}.curves"] = curves + (good - poor) * (share + apart)

    return change


PEERS_FAIL: dict[str, list[Change]] = {
    **{
        f"above-{peer.replace(':', '-')}": [in_all(peer, 1.5), in_all("dfhq", -1.5)]
        for peer in PEERS
    },
    "nowhere-below-sb3": [shift("Acrobot-v1.sb3:dqn.curves", 200.0)],
    "lands-soon": [put("LunarLander-v3.dfhq.curves", 190.0, (slice(2), slice(50)))],
    "lands-at-the-end": [put("LunarLander-v3.dfhq.curves", 190.0, (slice(None), slice(80, None)))],
}
PEERS_UNCLEAR: dict[str, list[Change]] = {
    **{f"above-{peer.replace(':', '-')}": [in_all(peer, 1.0, 1.0)] for peer in PEERS},
    "nowhere-below-sb3": [in_all("sb3:dqn", 0.9, 2.0)],
    "lands-soon": [both(*[fewer(f"LunarLander-v3.{arm}.curves", 9) for arm in ("dfhq", *PEERS)])],
    "lands-at-the-end": [shift("LunarLander-v3.dfhq.curves", -20.0)],
}


GAMES = games.Config().environments


def minatar() -> Arrays:
    """The window above DQN in every game."""
    data: Arrays = {}
    for game in GAMES:
        data[f"{game}.frame"] = np.arange(3_000, 303_000, 3_000)
        for arm, level in (("dfhq", 10.0), ("dqn", 5.0)):
            data[f"{game}.{arm}.curves"] = level + SPREAD[:, None] * np.ones(100) / 10
    return data


MINATAR_FAILS: dict[str, list[Change]] = {
    "above-dqn": [both(*[shift(f"{game}.dqn.curves", 6.0) for game in GAMES])],
    "nowhere-below-dqn": [shift(f"{game}.dqn.curves", 6.0) for game in GAMES],
}
MINATAR_UNCLEAR: dict[str, list[Change]] = {
    "above-dqn": [both(*[shift(f"{game}.dqn.curves", 5 + 5 * FORTH_AND_BACK) for game in GAMES])],
    "nowhere-below-dqn": [shift(f"{game}.dqn.curves", 5 + 5 * FORTH_AND_BACK) for game in GAMES],
}


#: Mean returns of an arm that has learned nothing, something, and the best, in each environment.
SOFT_WORLDS = {"Pendulum-v1": (-1150.0, -200.0), "LunarLanderContinuous-v3": (0.0, 150.0)}


def critics() -> Arrays:
    """The window a little above the others; SAC without target networks learns nothing."""
    data: Arrays = {}
    little = SPREAD[:, None] * np.ones(100)
    for world, (poor, good) in SOFT_WORLDS.items():
        data[f"{world}.frame"] = np.arange(200, 20_200, 200)
        for arm in soft.ARMS:
            middle = good - 0.1 * (good - poor)
            level = {"window": good, "sac": poor}.get(arm, middle)
            data[f"{world}.{arm}.curves"] = level + little
            data[f"{world}.{arm}.target"] = np.full(RUNS, -50.0)
            data[f"{world}.{arm}.error"] = np.full(RUNS, 1000.0 if arm == "sac" else 1.0)
    return data


def of_critics(arm: str, world: str = "Pendulum-v1", part: str = "curves") -> str:
    return f"{world}.{arm}.{part}"


CRITICS_FAIL: dict[str, list[Change]] = {
    "sac-loses-control": [put(of_critics("sac", part="error"), 5.0)],
    "sac-does-not-learn": [put(of_critics("sac"), -300.0)],
    "fhsac-learns": [put(of_critics(arm), -500.0) for arm in ("window", "H16", "H32")],
    "values-within-reach": [
        put(of_critics("H32", part="target"), -460.0, 3),
        put(of_critics("H16", part="target"), 30.0, 1),
    ],
    "window-not-below": [
        put(of_critics("window", world), soft_level, ...)
        for world, soft_level in (("Pendulum-v1", -700.0), ("LunarLanderContinuous-v3", 50.0))
    ],
    "window-above": [
        both(*[put(of_critics("window", w), poor) for w, (poor, _) in SOFT_WORLDS.items()])
    ],
}
CRITICS_UNCLEAR: dict[str, list[Change]] = {
    "sac-loses-control": [
        put(of_critics("sac", part="error"), 10.0 ** (1 + SPREAD)),
        put(of_critics("sac-target", part="error"), np.nan, 2),
    ],
    "sac-does-not-learn": [put(of_critics("sac"), -900 + 200 * SPREAD[:, None])],
    "fhsac-learns": [put(of_critics("H16"), -300 + 200 * SPREAD[:, None])],
    "values-within-reach": [put(of_critics("H16", part="target"), np.nan, 0)],
    "window-not-below": [shift(of_critics("sac-target"), 0.15 * 950 + 300 * SPREAD[:, None])],
    "window-above": [
        both(*[shift(of_critics("window", w), 4 * FORTH_AND_BACK) for w in SOFT_WORLDS]),
    ],
}


def hybrid() -> Arrays:
    """Hardly an error without exploration; with it, what the first one-step horizons remove."""
    config = find("hybrid").config()
    shape = (RUNS, 2, len(config.backups), len(config.one_step_horizons))
    error = np.zeros(shape)
    error[:, 0] = 0.001
    error[:, 1] = 0.1
    error[:, 1, 2, 4] = 0.05
    data: Arrays = {"error": error * (1 + 0.01 * SPREAD[:, None, None, None]), "loss": error}
    for horizon in config.maze_horizons:
        for arm in hybrids.arms(config, horizon):
            level = {"maze-16-1-0": 200.0, "maze-48-1-0": 200.0, "maze-16-8-0": 300.0}
            lengths = np.full((len(config.step_sizes), RUNS), 900.0)
            lengths[3] = level.get(str(arm), 205.0) + 20 * SPREAD
            data[str(arm)] = lengths
    return data


WITH_8 = (slice(None), 1, 2, 4)  # exploring, n = 8, k = 8
WITHOUT = (slice(None), 1, 2, 0)
HYBRID_FAILS: dict[str, list[Change]] = {
    "early-horizons-matter-most": [put("error", 0.095, WITH_8)],
    "it-is-the-exploration": [put("error", 0.05, (slice(None), 0, 2, 0))],
    "better-than-a-smaller-n": [put("error", 0.04, (slice(None), 1, 1, 0))],
    "two-one-step-horizons-help": [put("maze-16-8-0", 195 + 20 * SPREAD, 3)],
    "as-good-where-short": [put("maze-16-2-8", 230 + 20 * SPREAD, 3)],
    "as-good-where-long": [put("maze-48-2-8", 230 + 20 * SPREAD, 3)],
}
HYBRID_UNCLEAR: dict[str, list[Change]] = {
    "early-horizons-matter-most": [put("error", 0.0875 + 0.01 * SPREAD, WITH_8)],
    "it-is-the-exploration": [
        both(put("error", 0.1, WITHOUT), put("error", 0.01 + SPREAD / 100, (slice(None), 0, 2, 0)))
    ],
    "better-than-a-smaller-n": [put("error", 0.05 + 0.01 * SPREAD, (slice(None), 1, 1, 0))],
    "two-one-step-horizons-help": [put("maze-16-8-0", 205 - 20 * SPREAD, 3)],
    "as-good-where-short": [put("maze-16-2-8", 220 - 40 * SPREAD, 3)],
    "as-good-where-long": [put("maze-48-2-8", 220 - 40 * SPREAD, 3)],
}

HOLDING: dict[str, Callable[[], Arrays]] = {
    "baird": baird,
    "slippery-maze": maze,
    "random-walk": walk,
    "off-policyness": off_policyness,
    "hybrid": hybrid,
    "checkered-grid": checkered,
    "complexity": complexity,
    "weightings": weightings,
    "composition": composition,
    "convergence": convergence,
    "general-approximation": general_approximation,
    "acting": acting,
    "lunar-lander": lander,
    "lander-sweep": sweep,
    "lander-conventions": conventions,
    "lander-readings": readings,
    "lander-best": lander_best,
    "representation": representation,
    "deep-values": deep_values,
    "deepening": deepening,
    "peers": peers,
    "critics": critics,
    "minatar": minatar,
}
FAILING = {
    "baird": BAIRD_FAILS,
    "slippery-maze": MAZE_FAILS,
    "random-walk": WALK_FAILS,
    "off-policyness": OFF_POLICYNESS_FAILS,
    "hybrid": HYBRID_FAILS,
    "checkered-grid": CHECKERED_FAILS,
    "complexity": COMPLEXITY_FAILS,
    "weightings": WEIGHTINGS_FAILS,
    "composition": COMPOSITION_FAILS,
    "convergence": CONVERGENCE_FAILS,
    "general-approximation": GENERAL_FAILS,
    "acting": ACTING_FAILS,
    "lunar-lander": LANDER_FAILS,
    "lander-sweep": SWEEP_FAILS,
    "lander-conventions": CONVENTIONS_FAIL,
    "lander-readings": READINGS_FAIL,
    "lander-best": BEST_FAILS,
    "representation": REPRESENTATION_FAILS,
    "deep-values": VALUES_FAIL,
    "deepening": DEEPENING_FAILS,
    "peers": PEERS_FAIL,
    "critics": CRITICS_FAIL,
    "minatar": MINATAR_FAILS,
}
UNCLEAR = {
    "baird": BAIRD_UNCLEAR,
    "slippery-maze": MAZE_UNCLEAR,
    "random-walk": WALK_UNCLEAR,
    "off-policyness": OFF_POLICYNESS_UNCLEAR,
    "hybrid": HYBRID_UNCLEAR,
    "checkered-grid": CHECKERED_UNCLEAR,
    "complexity": COMPLEXITY_UNCLEAR,
    "weightings": WEIGHTINGS_UNCLEAR,
    "composition": COMPOSITION_UNCLEAR,
    "convergence": CONVERGENCE_UNCLEAR,
    "general-approximation": GENERAL_UNCLEAR,
    "acting": ACTING_UNCLEAR,
    "lunar-lander": LANDER_UNCLEAR,
    "lander-sweep": SWEEP_UNCLEAR,
    "lander-conventions": CONVENTIONS_UNCLEAR,
    "lander-readings": READINGS_UNCLEAR,
    "lander-best": BEST_UNCLEAR,
    "representation": REPRESENTATION_UNCLEAR,
    "deep-values": VALUES_UNCLEAR,
    "deepening": DEEPENING_UNCLEAR,
    "peers": PEERS_UNCLEAR,
    "critics": CRITICS_UNCLEAR,
    "minatar": MINATAR_UNCLEAR,
}
#: Claims that are exact.
DECIDED = {
    "slippery-maze": {"optimal-length"},
    "convergence": {"td-unstable", "fhtd-stable"},
}
