"""The episode viewer: one episode of a deep agent, what it expected at each frame, and what came.

| agent    | what its values say                                                             |
|----------|---------------------------------------------------------------------------------|
| DFHQ     | the return of every action at every horizon; rewards by their differences, which |
|          | is near, not exact: each horizon is greedy for itself                            |
| DFHTD    | the same of signals of the user's choice under a fixed policy, where it is exact |
| DQN, SAC | one discounted return without end, which does not say when rewards come; DQN's   |
|          | auxiliary horizons are a signal of their own                                     |
| FHSAC    | the return of the action taken, of the policy's mean and of some other actions at  |
|          | every horizon, what the policy's entropy is worth included                        |
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from fhtd import checks, worlds
from fhtd.pages import charts
from fhtd.pages.document import MEGABYTE, escape, packed, page
from fhtd.pages.film import Film
from fhtd.weighting import Weighting, first_hidden, growth_of_errors, single_rewards

if TYPE_CHECKING:
    from fhtd.deep import DFHTD, Agent

LARGEST = 15 * MEGABYTE


#: Complex values are shown as two signals.
_PARTS: dict[str, Any] = {", real part": np.real, ", imaginary part": np.imag}


@dataclass(frozen=True, eq=False)
class Signal:
    """One thing that is predicted, and what came of it."""

    name: str
    #: One for each action, or a single one where a policy decides.
    labels: tuple[str, ...]
    #: (steps, labels, horizons).
    values: npt.NDArray[np.float64]
    #: What came at each step of the environment.
    came: npt.NDArray[np.float64]
    #: Horizons that were learned; infinity for a value without end.
    horizons: npt.NDArray[np.float64]
    #: (horizons, steps ahead): how much each later step counts.
    weights: npt.NDArray[np.float64]
    #: Which label each step was about.
    chosen: npt.NDArray[np.int64]
    #: Why single rewards cannot be told from the values, or nothing where they can.
    hidden: str = ""
    #: What the reader should know of it.
    about: str = ""
    #: Where in what came each action begins; None where each takes one step.
    starts: npt.NDArray[np.int64] | None = None

    @property
    def counted(self) -> str:
        """How later rewards count in its values, and so in what came: both are summed alike."""
        last = self.weights[-1]
        if len(last) < 2 or not last[0]:
            return ""
        rate = float(last[1] / last[0])
        if not np.allclose(last, last[0] * rate ** np.arange(len(last)), rtol=1e-6, atol=1e-12):
            return "later rewards weighted as in the values"
        return "not discounted" if rate == 1 else f"discounted by {rate:g} a step"

    def rewards(self) -> npt.NDArray[np.float64]:
        """Expected rewards of each of the next steps, (steps, labels, horizons)."""
        return single_rewards(self.weights, self.values)


class _Filmed:
    """An environment that keeps a picture of every state, and what each step brought."""

    def __init__(self, environment: Any, film: Film) -> None:
        self.environment, self.film = environment, film
        self.following: list[tuple[Any, dict[str, Any]]] = []

    def reset(self, **options: Any) -> Any:
        found = self.environment.reset(**options)
        self.film.add(self.environment.render())
        return found

    def step(self, action: Any) -> Any:
        found = self.environment.step(action)
        self.film.add(self.environment.render())
        self.following.append((found[0], found[4]))
        return found


def watch(
    agent: "Agent[Any]",
    environment: Any,
    *,
    predictors: "Sequence[DFHTD]" = (),
    epsilon: float = 0.0,
    seed: int = 0,
    steps: int = 5000,
    every: int = 1,
    width: int = 480,
    quality: int = 75,
    largest: int = LARGEST,
) -> str:
    """The page of one episode of `agent`, as text of an HTML file.

    Pictures are made smaller where the page would be larger than `largest`, and the page says so.

    Args:
        agent: A deep agent.
        environment: Where to act, made with render_mode="rgb_array".
        predictors: `DFHTD`s without a continuation, whose signals are shown in the same way.
        epsilon: Probability of a random action.
        seed: Seed of the episode.
        steps: Where an episode without end is cut off.
        every: Keep one picture in so many; numbers are kept for every step.
        width: Width of the pictures in pixels, at most.
        quality: Their JPEG quality, at most.
        largest: Bytes that the page may have.

    Returns:
        The text of one HTML file, which needs no server and no network.

    Raises:
        ValueError: The environment draws no pictures, or the page would be too large; or a
            predictor has a continuation.

    >>> import gymnasium
    >>> from fhtd.deep import DFHQ
    >>> from fhtd.pages import watch
    >>> agent = DFHQ("fhtd/SlipperyMaze-v0", hidden=(8,), horizon=4, seed=0).learn(100)
    >>> place = gymnasium.make("fhtd/SlipperyMaze-v0", render_mode="rgb_array")
    >>> watch(agent, place, steps=5, width=120).startswith("<!doctype html>")
    True
    """
    every, most = checks.integer("every", every, 1), checks.integer("steps", steps, 1)
    if any(predictor.continuation is not None for predictor in predictors):
        raise ValueError(
            "predictors must be without a continuation: the page holds them to all that came"
        )
    film = Film(checks.integer("width", width, 16), checks.integer("quality", quality, 1, 100))
    filmed = _Filmed(environment, film)
    found = list(islice(agent.episode(filmed, epsilon=epsilon, seed=seed), most))
    film.thin(every)
    name = _name(environment)
    if agent.actions.shape:
        # Hardly any two are the same: each step has a name of its own.
        actions = tuple(_in_words(step.action) for step in found)
        taken = list(range(len(found)))
    else:
        actions = _action_names(environment, name, agent.actions.n)
        taken = [step.action for step in found]
    signals = _of_agent(agent, found, agent.value_names() or actions)
    for predictor in predictors:
        signals += _of_predictor(predictor, found, filmed.following)
    ended = bool(found[-1].terminated)
    data: dict[str, Any] = {
        "steps": len(found),
        "ended": ended,
        "actions": list(actions),
        "taken": taken,
        "rewards": [float(step.reward) for step in found],
        "signals": [_data(signal) for signal in signals],
        "rate": _rate(environment),
        "frames": [],
        "every": every,
    }
    figures = {k: v for i, signal in enumerate(signals) for k, v in _charts(i, signal).items()}
    arguments: dict[str, Any] = {
        "styles": ["episode.css"],
        "scripts": ["episode.js"],
        "charts": figures,
    }
    title = f"{name}: what {type(agent).__name__} expects"
    about = (
        f"{type(agent).__name__} after {agent.frames:,} frames; an episode of {len(found)} steps, "
        f"return {sum(step.reward for step in found):.6g}, seed {seed}, "
        f"{epsilon:g} of the actions at random. "
        + ("It ended by itself." if ended else "It was cut off: what would have come is unknown.")
    )
    rest = len(page(title, _body(title, about, "", signals, len(found)), data=data, **arguments))
    film.fit(max(largest - rest - 10_000, 0))
    data |= {"frames": film.encoded(), "every": film.every}
    note = film.note or (f"One picture in {every} is kept." if every > 1 else "")
    text = page(title, _body(title, about, note, signals, len(found)), data=data, **arguments)
    if len(text) > largest:
        raise ValueError(
            f"the page would have {len(text) / MEGABYTE:.1f} MB without any picture, more than "
            f"{largest / MEGABYTE:g}: the episode of {len(found)} steps is too long"
        )
    return text


def _name(environment: Any) -> str:
    spec = getattr(environment, "spec", None)
    return (
        spec.id
        if spec is not None
        else type(getattr(environment, "unwrapped", environment)).__name__
    )


def _action_names(environment: Any, name: str, count: int) -> tuple[str, ...]:
    world = getattr(environment, "unwrapped", environment)
    found: Sequence[str] = ()
    if hasattr(world, "get_action_meanings"):
        found = [str(one).lower() for one in world.get_action_meanings()]
    elif hasattr(getattr(world, "mdp", None), "action_names"):
        found = world.mdp.action_names
    else:
        found = worlds.action_names(name, count)
    return tuple(found) if len(found) == count else tuple(f"action {a}" for a in range(count))


def _in_words(action: Any) -> str:
    """The numbers of an action."""
    numbers = [f"{number:.3g}" for number in np.ravel(action)]
    return numbers[0] if len(numbers) == 1 else f"({', '.join(numbers)})"


def _rate(environment: Any) -> float:
    rate = getattr(environment, "metadata", {}).get("render_fps")
    return float(rate) if isinstance(rate, int | float) and rate > 0 else 30.0


def _of_agent(agent: Any, steps: Sequence[Any], actions: tuple[str, ...]) -> list[Signal]:
    """The agent's own values, of every action or of some: without end, and of each horizon."""
    values = np.array([step.values for step in steps], np.float64)
    came = np.concatenate([step.rewards for step in steps]).astype(np.float64)
    ends = np.cumsum([len(step.rewards) for step in steps])
    starts = None if len(came) == len(steps) else np.append(0, ends[:-1])
    chosen = np.array([step.row for step in steps])
    horizons = np.asarray(agent.horizons, np.float64)
    fixed = horizons[np.isfinite(horizons)]
    beside = _entropy(agent)
    if starts is not None:
        beside += " Horizons count steps of the environment, of which an action takes several."
    found = []
    if values.shape[1] == 1 < len(actions):
        # A critic of states: one value, whatever is done.
        actions = ("expected",)
    if len(fixed) < len(horizons):
        weights = agent.reward_weights(len(came))[-1:]
        hidden = f"{type(agent).__name__} learns one value without a horizon"
        about = f"One discounted return, to the end of the episode.{beside}"
        last = (values[:, :, -1:], came, horizons[-1:], weights, chosen, hidden, about, starts)
        found.append(Signal("reward", actions, *last))
    if len(fixed):
        weights = agent.reward_weights(int(fixed[-1]))[: len(fixed)]
        about = (
            "Each horizon acts best for itself, so rewards read off the differences between "
            "horizons are near what the agent expects, not exactly it."
            if len(actions) > 1 and not agent.value_names()
            else "What is expected of the policy as it is."
        )
        name = "reward"
        if found:
            name = "reward, auxiliary horizons"
            about = f"Learned beside the value without end, and not acted on. {about}"
        hidden, about = _hidden(fixed, weights), f"{about}{beside}"
        shorter = (values[:, :, : len(fixed)], came, fixed, weights, chosen, hidden, about, starts)
        found.append(Signal(name, actions, *shorter))
    return found


def _entropy(agent: Any) -> str:
    """What a soft agent's values count beside rewards."""
    if not hasattr(agent, "temperature"):
        return ""
    return (
        f" The policy's entropy counts too, at {agent.temperature:.3g} a unit: what came is "
        "rewards alone."
    )


def _of_predictor(
    predictor: Any, steps: Sequence[Any], following: Sequence[tuple[Any, dict[str, Any]]]
) -> list[Signal]:
    """What a DFHTD predicts of each of its signals, for the policy that it evaluates."""
    weighting: Weighting = predictor.weighting
    seen: list[Mapping[str, Any]] = [predictor.values(step.observation) for step in steps]
    horizons, weights = np.arange(1.0, weighting.horizon + 1), weighting.coefficients()
    found = []
    for name, cumulant in predictor.cumulants.items():
        came = [
            float(cumulant(step.observation, step.action, step.reward, after, info))
            for step, (after, info) in zip(steps, following, strict=True)
        ]
        values = np.array([one[name] for one in seen])[:, None]
        for part, of in _PARTS.items() if weighting.is_complex else [("", np.real)]:
            found.append(
                Signal(
                    f"{name}{part}",
                    ("expected",),
                    np.asarray(of(values), np.float64),
                    np.array(came),
                    horizons,
                    np.asarray(of(weights), np.float64),
                    np.zeros(len(steps), np.int64),
                    _hidden(horizons, weights)
                    or ("they are in both parts together" if weighting.is_complex else ""),
                    "Predicted for the policy that the predictor was trained on.",
                )
            )
    return found


def _hidden(horizons: npt.NDArray[np.float64], weights: npt.NDArray[np.float64]) -> str:
    """Why single rewards cannot be told, if they cannot."""
    if not np.array_equal(horizons, np.arange(1, len(horizons) + 1)):
        return "not every horizon is learned, so their differences are sums of several rewards"
    # The page keeps values as float32.
    if first_hidden(growth_of_errors(weights), np.float32):
        return "the weighting leaves out some rewards, or hardly counts them"
    return ""


def _data(signal: Signal) -> dict[str, Any]:
    return {
        "name": signal.name,
        "labels": list(signal.labels),
        "values": packed(signal.values, "f4"),
        "came": packed(signal.came, "f8"),
        "starts": None if signal.starts is None else signal.starts.tolist(),
        "horizons": [int(h) if math.isfinite(h) else None for h in signal.horizons],
        "weights": packed(signal.weights, "f8"),
        "reach": signal.weights.shape[1],
        "chosen": signal.chosen.tolist(),
        "hidden": signal.hidden,
        "counted": signal.counted,
    }


def _range(*arrays: npt.NDArray[np.float64]) -> tuple[float, float]:
    """A scale for the whole episode, so that it does not jump and nothing is cut off."""
    numbers = np.concatenate([array.ravel() for array in arrays])
    low, high = min(numbers.min(), 0.0), max(numbers.max(), 0.0)
    room = 0.06 * (high - low) or 1.0
    return float(low - room), float(high + room)


def _charts(number: int, signal: Signal) -> dict[str, Any]:
    steps = (-0.5, len(signal.values) - 0.5)
    what = "reward" if signal.name.startswith("reward") else "signal"
    endless = not np.isfinite(signal.horizons[-1])
    found = {}
    chosen = signal.values[np.arange(len(signal.values)), signal.chosen]
    empty = {"x": [0.0], "y": [0.0]}
    tips = {"step": "@x", "value": "@y{0.0000}"}
    whole = charts.figure("step of the episode", "return", x_range=steps)
    charts.add_line(whole, "what came", 0, empty, source=f"episode-came-{number}", hover=tips)
    charts.add_line(whole, "expected", 2, empty, source=f"episode-value-{number}", hover=tips)
    charts.add_cursor(whole, "cursor")
    found[f"chart-episode-{number}"] = whole
    if endless:
        return found
    # A window of long horizons has the chart to itself.
    reach = (signal.horizons[0] - 0.5, signal.horizons[-1] + 0.5)
    sums = _sums(signal)
    over = charts.figure(
        "horizon (steps)", "return", x_range=reach, y_range=_range(signal.values, sums)
    )
    tips = {"horizon": "@x", "return": "@y{0.0000}"}
    charts.add_line(over, "what came", 0, empty, source=f"horizon-came-{number}", hover=tips)
    for a, label in enumerate(signal.labels):
        source = f"horizon-{a}-{number}"
        charts.add_line(
            over, label, a + 1 if len(signal.labels) > 1 else 2, empty, source=source, hover=tips
        )
    found[f"chart-horizon-{number}"] = over
    if not signal.hidden:
        rewards = signal.rewards()[np.arange(len(chosen)), signal.chosen]
        ahead = charts.figure(
            "steps ahead", what, x_range=reach, y_range=_range(rewards, signal.came)
        )
        tips = {"steps ahead": "@x", what: "@y{0.0000}"}
        few = signal.horizons[-1] <= 64
        charts.add_line(
            ahead, "what came", 0, empty, source=f"ahead-came-{number}", hover=tips, markers=few
        )
        charts.add_line(
            ahead, "expected", 2, empty, source=f"ahead-value-{number}", hover=tips, markers=few
        )
        found[f"chart-ahead-{number}"] = ahead
    return found


def _sums(signal: Signal) -> npt.NDArray[np.float64]:
    """What came over the final horizon from each step on, for the scale of a chart."""
    last, came = signal.weights[-1], signal.came
    starts = range(len(came)) if signal.starts is None else signal.starts
    return np.array([came[t : t + len(last)] @ last[: len(came) - t] for t in starts])


def _body(title: str, about: str, note: str, signals: Sequence[Signal], steps: int) -> str:
    sections = "".join(_section(i, signal) for i, signal in enumerate(signals))
    tables = "".join(
        f'<h2>{escape(signal.name)}</h2><div class="scroll"><table class="numbers" '
        f'data-numbers="{i}"><thead></thead><tbody></tbody></table></div>'
        for i, signal in enumerate(signals)
    )
    return f"""<h1>{escape(title)}</h1>
<p class="soft">{escape(about)} {escape(note)}</p>
<div class="controls">
<button id="play" type="button" aria-pressed="false" title="space bar">Play</button>
<label class="slider">step <input id="t" type="range" min="0" max="{steps - 1}" value="0"
 aria-label="step of the episode"><output id="t-shown" for="t"></output></label>
</div>
<div class="stage"><figure><img id="frame" alt="the environment at this step">
<figcaption id="caption" role="status"></figcaption>{tables}</figure>
<div id="signals">{sections}</div></div>"""


def _counting(signal: Signal) -> str:
    """What is compared with what."""
    if not signal.counted:
        return ""
    text = f"Returns are {signal.counted}, what was expected and what came alike."
    if not signal.hidden:
        text += (
            " Rewards of single steps are differences of horizons, which a network makes noisy: "
            "means of several steps are steadier."
        )
    return text


def _section(number: int, signal: Signal) -> str:
    endless = not np.isfinite(signal.horizons[-1])
    options = "".join(
        f'<option value="{i}"{" selected" if i == len(signal.horizons) - 1 else ""}>'
        f"{'without end' if math.isinf(h) else f'{h:g}'}</option>"
        for i, h in enumerate(signal.horizons)
    )
    several = len(signal.labels) > 1
    choice = "".join(
        f'<option value="{a}">{escape(label)}</option>' for a, label in enumerate(signal.labels)
    )
    which = (
        f'<label>action <select class="action"><option value="">the one taken</option>{choice}'
        "</select></label>"
        if several
        else ""
    )
    over = (
        ""
        if endless
        else f"""<div><h3>Expected return{" of every action" if several else ""}, by horizon</h3>
<div id="chart-horizon-{number}" class="chart"></div></div>"""
    )
    if signal.hidden:
        ahead = f'<p class="soft">No rewards step by step: {escape(signal.hidden)}.</p>'
    else:
        bins = "".join(
            f'<option value="{width}">means of {width}</option>'
            for width in (2, 4, 8, 16)
            if width < len(signal.horizons)
        )
        shown = (
            '<label>shown <select class="bins"><option value="1">one by one</option>'
            f"{bins}</select></label>"
        )
        ahead = f"""<div><h3>Each of the next {len(signal.horizons)} steps</h3>{which} {shown}
<div id="chart-ahead-{number}" class="chart"></div></div>"""
    return f"""<section data-signal="{number}"><h2>{escape(signal.name)}</h2>
<p class="soft">{escape(signal.about)} {escape(_counting(signal))}</p>
<div class="columns">{over}{ahead}</div>
<h3>Over the episode: expected when acting, and what then came</h3>
<label>horizon <select class="horizon">{options}</select></label>
<div id="chart-episode-{number}" class="chart"></div></section>"""
