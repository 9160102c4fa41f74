"""Theorem 2: networks that can fit any target learn every horizon as well as they can fit.

A learning algorithm is delta-strong if, for every target function, it ends with a loss of at most
delta. Then FHQ-learning with separate networks for its horizons ends with

    || B Q^(h-1) - Q^h || <= delta   for every h,

B being the Bellman operator. Here the norm is the root mean square over states and actions, B is
exact, and delta is measured: the largest loss with which the same algorithm fits functions drawn at
random, of the values' own size.
"""

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from fhtd import checks, oracle
from fhtd.mdp import FiniteMDP
from fhtd.reproduction import (
    Arrays,
    Block,
    Chart,
    Claim,
    Experiment,
    Results,
    above,
    below,
    join_runs,
    run_blocks,
    style,
    worst,
)
from fhtd.statistics import Interval, Statistics
from fhtd.weighting import Weighting

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_BLOCK = 10
#: Numbers that a network sees of a state.
_SEEN = 4
#: What rounding makes of a loss of nothing.
_ROUNDING = 1e-5
#: Moments of the training at which losses are noted.
_MOMENTS = 50


@dataclass(frozen=True)
class Config:
    """Settings of the check of Theorem 2; the paper proves it, and gives no experiment."""

    runs: int = 20
    """Independent runs, each with a random MDP and first weights of its own."""
    wide: int = 64
    """Hidden units of networks that can fit any function of so few states."""
    middle: int = 6
    """Hidden units of networks that nearly can."""
    narrow: int = 1
    """Hidden units of networks that cannot."""
    steps: int = 5_000
    """Gradient steps, all horizons at once; the step size falls from its first value to 0."""
    step_size: float = 0.01
    """First step size of Adam."""
    horizon: int = 8
    """Final horizon H."""
    discount: float = 0.9
    """Discount rate gamma."""
    n_states: int = 12
    """States of each MDP."""
    n_actions: int = 3
    """Actions of each MDP."""
    targets: int = 16
    """Random functions that delta is measured on."""

    def __post_init__(self) -> None:
        for name in (
            "runs",
            "wide",
            "middle",
            "narrow",
            "horizon",
            "n_states",
            "n_actions",
            "targets",
        ):
            checks.integer(name, getattr(self, name), 1)
        checks.integer("steps", self.steps, _MOMENTS)
        checks.positive("step_size", self.step_size)
        checks.real("discount", self.discount, 0, 1)

    @classmethod
    def smoke(cls) -> "Config":
        """Fewer runs, shorter."""
        return cls(runs=4, steps=2_000, horizon=4, targets=4)


def widths(config: Config) -> dict[str, int]:
    """Hidden units of each arm."""
    return {"wide": config.wide, "middle": config.middle, "narrow": config.narrow}


def blocks(config: Config) -> list[Block]:
    """Runs of every arm."""
    return [block for arm in widths(config) for block in run_blocks(arm, config.runs, _BLOCK)]


def world(config: Config, seed: int, run: int) -> tuple[FiniteMDP, npt.NDArray[np.float64]]:
    """A random MDP and what networks see of its states: the same for all arms."""
    rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(run,)))
    shape = (config.n_states, config.n_actions, config.n_states)
    mdp = FiniteMDP(
        probabilities=rng.dirichlet(np.full(config.n_states, 0.3), size=shape[:2]),
        next_states=np.broadcast_to(np.arange(config.n_states), shape),
        rewards=np.broadcast_to(rng.normal(size=(*shape[:2], 1)), shape),
        terminal=np.zeros(shape, bool),
        start=np.full(config.n_states, 1 / config.n_states),
        name=f"random MDP {run}",
    )
    return mdp, rng.normal(size=(config.n_states, _SEEN))


def run(config: Config, seed: int, block: Block) -> Arrays:
    """Losses of every horizon over time, delta, and errors of the final values."""
    found = [_one(config, seed, number, widths(config)[block.arm]) for number in block.runs]
    return {name: np.stack([one[name] for one in found]) for name in found[0]}


def _one(config: Config, seed: int, number: int, width: int) -> Arrays:
    mdp, seen = world(config, seed, number)
    weighting = Weighting.exponential(config.horizon, config.discount)
    exact = oracle.optimal(mdp, weighting).action_values
    size = float(np.sqrt((exact[..., -1] ** 2).mean()))
    rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(number, 1)))
    drawn = size * rng.normal(size=(config.targets, config.n_states, config.n_actions))
    fitted = _trained(config, seen, _first(config, rng, width, config.targets), _as_drawn, drawn)
    # Outcomes are next states in order, as `world` builds them.
    model = (mdp.probabilities * mdp.rewards).sum(axis=2), config.discount * mdp.probabilities
    learned = _trained(config, seen, _first(config, rng, width, config.horizon), _bellman, *model)
    last = learned["values"]
    return {
        # (moments, horizons): || B Q^(h-1) - Q^h ||, in units of the final horizon's values.
        "loss": learned["loss"] / size,
        "delta": np.asarray(fitted["loss"][-1].max() / size),
        "error": np.sqrt(((last - np.moveaxis(exact, -1, 0)) ** 2).mean(axis=(1, 2))) / size,
        # How far the values still moved in the last tenth of the training.
        "change": np.sqrt(((last - learned["before"]) ** 2).mean(axis=(1, 2))) / size,
    }


def _as_drawn(values: Any, drawn: Any) -> Any:
    return drawn


def _bellman(values: Any, rewards: Any, chances: Any) -> Any:
    """Targets of all horizons from the values of all: (horizons, states, actions)."""
    import jax.numpy as jnp

    best = jnp.concatenate([jnp.zeros_like(values[:1, :, 0]), values[:-1].max(axis=2)])
    return rewards + jnp.einsum("san,hn->hsa", chances, best)


def _first(config: Config, rng: np.random.Generator, width: int, count: int) -> Any:
    """Weights and biases of so many networks with one hidden layer, by Glorot's rule."""

    def drawn(inputs: int, outputs: int) -> npt.NDArray[np.float64]:
        reach = np.sqrt(6 / (inputs + outputs))
        return rng.uniform(-reach, reach, (count, inputs, outputs))

    return (
        drawn(_SEEN, width),
        np.zeros((count, 1, width)),
        drawn(width, config.n_actions),
        np.zeros((count, 1, config.n_actions)),
    )


def _trained(
    config: Config, seen: npt.NDArray[np.float64], first: Any, targets: Any, *data: Any
) -> Arrays:
    """Networks each towards its own target: losses over time, and values at the end."""
    import jax.numpy as jnp

    stretch, optimiser = _stretch(targets, config.step_size, config.steps)
    weights = tuple(jnp.asarray(array, jnp.float32) for array in first)
    given = tuple(jnp.asarray(array, jnp.float32) for array in (seen, *data))
    carried = weights, optimiser.init(weights)
    losses, kept = [], []
    for _ in range(_MOMENTS):
        carried, loss, now = stretch(carried, *given)
        losses.append(np.asarray(loss, np.float64))
        kept.append(np.asarray(now, np.float64))
    return {
        "loss": np.array(losses),
        "values": kept[-1],
        "before": kept[-1 - _MOMENTS // 10],
    }


@cache
def _stretch(targets: Any, step_size: float, steps: int) -> tuple[Any, Any]:
    """A part of the training, compiled once for all runs of an arm; and the optimiser."""
    import jax
    import jax.numpy as jnp
    import optax

    optimiser = optax.adam(optax.linear_schedule(step_size, 0.0, steps))

    def values(weights: Any, seen: Any) -> Any:
        into, bias, out, shift = weights
        return jnp.tanh(seen @ into + bias) @ out + shift

    def squares(weights: Any, seen: Any, *data: Any) -> Any:
        now = values(weights, seen)
        aims = targets(jax.lax.stop_gradient(now), *data)
        return ((aims - now) ** 2).mean(axis=(1, 2))

    @jax.jit
    def stretch(carried: Any, seen: Any, *data: Any) -> Any:
        def step(carried: Any, _: Any) -> tuple[Any, None]:
            weights, memory = carried
            slope = jax.grad(lambda w: squares(w, seen, *data).sum())(weights)
            change, memory = optimiser.update(slope, memory, weights)
            return (optax.apply_updates(weights, change), memory), None

        carried, _ = jax.lax.scan(step, carried, None, length=steps // _MOMENTS)
        weights = carried[0]
        return carried, jnp.sqrt(squares(weights, seen, *data)), values(weights, seen)

    return stretch, optimiser


def combine(config: Config, results: Results) -> Arrays:
    """Every arm's arrays, run by run."""
    names = ("loss", "delta", "error", "change")
    data = {
        f"{arm}.{name}": join_runs(results, arm, name) for arm in widths(config) for name in names
    }
    data["step"] = np.arange(1, _MOMENTS + 1) * (config.steps // _MOMENTS)
    return data


def plot(config: Config, data: Arrays) -> "Figure":
    """Loss of the worst horizon over time beside delta; and loss by horizon at the end."""
    figure, axes = style.panels(1, 2, width=4.8)
    for i, (arm, width) in enumerate(widths(config).items()):
        found = Statistics.of(data[f"{arm}.loss"].max(axis=2))
        label = f"{width} hidden unit{'s' if width > 1 else ''}"
        style.line(axes[0, 0], data["step"], found.mean, found.standard_error, label, i)
        delta = float(data[f"{arm}.delta"].mean())
        axes[0, 0].axhline(delta, color=style.COLOURS[i], linewidth=0.8, linestyle=":")
        last = Statistics.of(data[f"{arm}.loss"][:, -1])
        horizons = np.arange(1, config.horizon + 1)
        style.line(axes[0, 1], horizons, last.mean, last.standard_error, label, i, markers=True)
    for panel in axes[0]:
        panel.set_yscale("log")
    style.label(
        axes[0, 0], "Worst horizon; dotted: delta", "gradient step", "loss, relative to the values"
    )
    style.label(axes[0, 1], "At the end", "horizon", "loss, relative to the values")
    style.say(figure, style.band(config.runs))
    return figure


def claims(config: Config, data: Arrays) -> list[Claim]:
    """Written before the runs that judge them; sizes were chosen on other seeds."""
    found = []
    for arm, width in widths(config).items():
        loss, delta = data[f"{arm}.loss"][:, -1].max(axis=1), data[f"{arm}.delta"]
        gap = Interval.of(loss - delta)
        found.append(
            Claim(
                f"within-delta-{arm}",
                f"Networks of {width} hidden unit{'s' if width > 1 else ''} learn every horizon "
                "to within their own delta (Theorem 2).",
                "loss of the worst horizon at the end minus delta, in units of the values; holds "
                f"if its 95% interval over seeds lies below {_ROUNDING:g}, which rounding makes of "
                "nothing, fails if above",
                f"loss {Interval.of(loss)}, delta {Interval.of(delta)}; difference {gap}",
                below(gap, _ROUNDING),
            )
        )
    strong = Interval.of(data["wide.delta"])
    error = Interval.of(data["wide.error"][:, -1])
    weak = Interval.of(data["narrow.loss"][:, -1].max(axis=1) - data["wide.delta"])
    change = [Interval.of(data[f"{arm}.change"].max(axis=1)) for arm in widths(config)]
    return [
        *found,
        Claim(
            "strong-and-right",
            "Wide networks are strong, with a small delta, and their values near the optimal ones.",
            "delta, and the error of the final horizon's values, in units of the values; holds if "
            "both 95% intervals over seeds lie below 0.05, fails if one lies above",
            f"delta {strong}, error {error}",
            worst([below(strong, 0.05), below(error, 0.05)]),
        ),
        Claim(
            "weak-does-not",
            "Networks that are not that strong do not reach it.",
            "loss of the narrow networks' worst horizon minus the wide networks' delta, paired "
            "over seeds; holds if its 95% interval lies above 0, fails if below",
            str(weak),
            above(weak, 0),
        ),
        Claim(
            "all-converge",
            "Strong or not, all horizons come to rest.",
            "how far values move in the last tenth of the training, worst horizon, in units of the "
            "values; holds if the 95% intervals over seeds lie below 0.01, fails if one lies above",
            "; ".join(f"{arm} {one}" for arm, one in zip(widths(config), change, strict=True)),
            worst([below(one, 0.01) for one in change]),
        ),
    ]


def tables(config: Config, data: Arrays) -> dict[str, Arrays]:
    """Losses over time, and every run at the end."""
    curves: Arrays = {"step": data["step"]}
    rows: Arrays = {"run": np.arange(len(data["wide.delta"]))}
    for arm in widths(config):
        found = Statistics.of(data[f"{arm}.loss"].max(axis=2))
        curves[arm], curves[f"{arm}.standard_error"] = found.mean, found.standard_error
        rows[f"{arm}.loss"] = data[f"{arm}.loss"][:, -1].max(axis=1)
        rows[f"{arm}.delta"] = data[f"{arm}.delta"]
        rows[f"{arm}.error"] = data[f"{arm}.error"][:, -1]
    return {"losses": curves, "runs": rows}


EXPERIMENT = Experiment(
    name="general-approximation",
    title="Networks that can fit any target",
    source="Theorem 2",
    shows="each horizon is learned as well as its network can fit, and no worse",
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
            "Loss of the worst horizon",
            "losses",
            "step",
            "gradient step",
            "loss, relative to the values",
            lines="",
            labels=(("*", "* networks"),),
            log_y=True,
        ),
    ),
    extras=("deep",),
    only_by_name=True,
)
