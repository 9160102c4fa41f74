"""The horizon explorer: the map of V^h and the greedy actions of Q^h, for every h, in one page.

The page holds the MDP and what was learned, and computes exact values itself, so that any
discount, hyperbolic rate or frequency can be asked for. The oracle is what its numbers are tested
against.

| learned under           | what the page can say of the learned values                     |
|-------------------------|-----------------------------------------------------------------|
| a fixed policy          | the expected reward of each step, so every weighting of them    |
| max over actions (FHQ)  | the values of the weighting they were learned with, no other    |
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from fhtd import checks, oracle
from fhtd.mdp import FiniteMDP
from fhtd.oracle import model
from fhtd.pages import charts
from fhtd.pages.document import MEGABYTE, escape, packed, page
from fhtd.weighting import Weighting

if TYPE_CHECKING:
    from fhtd.online.learner import Learner

#: A page is sent by e-mail and opened on telephones.
LARGEST = 5 * MEGABYTE
STEPS = 1_000_000
#: A float32 cannot tell closer values apart than this share of the largest.
_LEARNED_TIES = 1e-6
_ROW = 12


@dataclass(frozen=True, eq=False)
class Learned:
    """Values that were learned, in the form that the page can use."""

    #: (states, actions or 1, horizons): expected rewards of each step, or values.
    array: npt.NDArray[np.float64]
    #: Whether `array` holds rewards, which allow every weighting, or values of one weighting.
    rewards: bool
    weighting: Weighting
    #: How they were learned, in a few words.
    text: str


def explore(
    mdp: FiniteMDP,
    *,
    horizon: int | None = None,
    policy: npt.ArrayLike | None = None,
    policy_name: str = "the given policy",
    learner: "Learner | None" = None,
    steps: int = STEPS,
    seed: int = 0,
    state_names: list[str] | None = None,
    map_labels: Sequence[tuple[int, int, str]] = (),
) -> str:
    """The page for any finite MDP, as text of an HTML file.

    Args:
        mdp: The MDP.
        horizon: The final one, H; default: the learner's, or 48.
        policy: (states, actions) probabilities to evaluate; None for the best that can be done.
        policy_name: What the page calls that policy.
        learner: A fixed-horizon learner of this MDP's states; None learns a table from `steps`
            uniformly random steps. A learner of state values, or an `FHQ` learned towards a
            policy, needs the `policy` that it evaluates.
        steps: Random steps to learn that table from; 0 for no learned side.
        seed: Seed of those steps.
        state_names: What to call the states; their numbers otherwise.
        map_labels: Titles on the map: row, column of the five squares below, and text.

    Returns:
        The text of one HTML file, which needs no server and no network.

    Raises:
        TypeError: `mdp` is not a FiniteMDP, or `learner` is not an online learner.
        ValueError: The learner, policy or names do not fit the MDP, or the page would be too large.

    >>> from pathlib import Path
    >>> from fhtd import problems
    >>> from fhtd.pages import explore
    >>> page = explore(problems.slippery_maze().mdp, horizon=16, steps=10_000)
    >>> _ = Path("maze.html").write_text(page)  # open it in a browser
    >>> "<title>slippery maze: values of every horizon</title>" in page
    True
    """
    if not isinstance(mdp, FiniteMDP):
        raise TypeError(f"mdp must be a FiniteMDP, got {type(mdp).__name__}")
    steps, seed = checks.integer("steps", steps, 0), checks.integer("seed", seed, 0)
    chosen = None if policy is None else model.checked_policy(mdp, policy)
    if state_names is not None and len(state_names) != mdp.n_states:
        raise ValueError(f"state_names must name {mdp.n_states} states, got {len(state_names)}")
    learned = None
    if learner is not None:
        learned = _of_learner(learner, mdp, chosen)
        if horizon is not None and horizon != learned.weighting.horizon:
            raise ValueError(
                f"horizon must be the learner's, {learned.weighting.horizon}, got {horizon}"
            )
        horizon = learned.weighting.horizon
    horizon = checks.integer("horizon", 48 if horizon is None else horizon, 1)
    _check_size(mdp, horizon)
    if learner is None and steps:
        learned = _learn(mdp, horizon, chosen, steps, seed)
    data = _data(mdp, horizon, chosen, learned, state_names, map_labels)
    about = "optimal control" if chosen is None else f"evaluation of {policy_name}"
    text = page(
        f"{mdp.name}: values of every horizon",
        _body(mdp, horizon, about, learned),
        styles=["explorer.css"],
        scripts=["horizons.js", "explorer.js"],
        data=data,
        charts=_charts(horizon, chosen is None, learned is not None),
    )
    if len(text) > LARGEST:
        raise ValueError(_too_large(len(text)))
    return text


def _check_size(mdp: FiniteMDP, horizon: int) -> None:
    """Refuse before learning what would not fit."""
    numbers = mdp.n_states * mdp.n_actions * horizon * 4 + mdp.probabilities.size * 12
    if numbers * 4 / 3 > LARGEST:
        raise ValueError(_too_large(numbers * 4 // 3))


def _too_large(size: int) -> str:
    return (
        f"the page would have {size / MEGABYTE:.1f} MB, more than {LARGEST // MEGABYTE}: "
        "give a shorter horizon, or a smaller MDP"
    )


def _learn(
    mdp: FiniteMDP, horizon: int, policy: npt.NDArray[np.float64] | None, steps: int, seed: int
) -> Learned:
    """A table of action values from random steps: of the best actions, or of a policy."""
    from fhtd.features import Features
    from fhtd.online import FHQ, Decay
    from fhtd.online.simulate import simulate
    from fhtd.policy import uniform

    weighting = Weighting.exponential(horizon)
    # Each pair is met about once in as many steps as there are pairs.
    rate = Decay(0.5, 100 * mdp.n_states * mdp.n_actions)
    found = simulate(
        FHQ(Features.tabular(mdp.n_states), mdp.n_actions, weighting, step_size=rate),
        mdp,
        steps=steps,
        behaviour=uniform(mdp.n_states, mdp.n_actions),
        target=policy,
        record_at=np.zeros(0, np.int64),
        keep_weights=True,
        seed=seed,
    )
    assert found.final_weights is not None
    values = found.final_weights[0].transpose(1, 0, 2)
    text = f"FHQ-learning from {steps:,} random steps, seed {seed}"
    if policy is None:
        return Learned(values, False, weighting, text)
    return Learned(weighting.expected_rewards(values), True, weighting, text)


def _of_learner(
    learner: "Learner", mdp: FiniteMDP, policy: npt.NDArray[np.float64] | None
) -> Learned:
    from fhtd.features import StateFeatures
    from fhtd.online.control import ControlLearner
    from fhtd.online.learner import Learner

    if not isinstance(learner, Learner):
        raise TypeError(f"learner must be an online learner, got {type(learner).__name__}")
    name, weighting = type(learner).__name__, learner.weighting
    if not np.array_equal(learner.horizons, np.arange(1, weighting.horizon + 1)):
        raise ValueError(
            f"learner must have learned every horizon from 1 on; this {name} has horizons "
            f"{learner.horizons[0]:g} to {learner.horizons[-1]:g}"
        )
    if not isinstance(learner.features, StateFeatures) or learner.features.n_states != mdp.n_states:
        raise ValueError(f"learner must have features of the MDP's {mdp.n_states} states")
    acts = isinstance(learner, ControlLearner)
    if acts and learner.n_actions != mdp.n_actions:
        raise ValueError(f"learner has {learner.n_actions} actions, the MDP {mdp.n_actions}")
    if not acts and policy is None:
        raise ValueError(f"policy is needed: a {name} evaluates one, which its file does not hold")
    if weighting.is_complex and policy is None:
        raise ValueError("policy is needed under a complex weighting: it has no best actions")
    if policy is None and np.any(weighting.bootstraps < 0):
        raise ValueError("learner must have bootstraps of at least 0 to have best actions")
    values = np.stack([np.atleast_2d(learner.values(s)) for s in range(mdp.n_states)])
    if not np.isfinite(values).all():
        raise ValueError("learner must hold finite values only")
    text = f"{name} after {learner.step:,} steps"
    if policy is not None:
        try:
            return Learned(weighting.expected_rewards(values), True, weighting, text)
        except ValueError:  # some reward has no weight, or hardly any: it cannot be told
            if weighting.is_complex:
                raise
    return Learned(values.real, False, weighting, text)


def _kind(weighting: Weighting) -> dict[str, Any]:
    """A weighting as the page knows it: by name, or by its coefficients."""
    c, d = weighting.rewards, weighting.bootstraps
    if weighting.is_complex:  # only its rewards are used, which are real
        return {"kind": "discount", "value": 1.0}
    if weighting.is_constant and c[0] == 1 and d[0] >= 0:
        return {"kind": "discount", "value": float(d[0])}
    if weighting == Weighting.average(weighting.horizon):
        return {"kind": "average"}
    return {"kind": "own", "c": c.tolist(), "d": d.tolist()}


def places(mdp: FiniteMDP) -> npt.NDArray[np.int64]:
    """Row and column of every state: the map's, a row of a few, or a near-square of many."""
    if mdp.positions is not None:
        return mdp.positions
    width = mdp.n_states if mdp.n_states <= _ROW else int(np.ceil(np.sqrt(mdp.n_states)))
    states = np.arange(mdp.n_states)
    return np.stack([states // width, states % width], axis=1)


def reached(mdp: FiniteMDP) -> npt.NDArray[np.bool_]:
    """States in which a decision can come up, from the start on."""
    return mdp.decision_states


def _data(
    mdp: FiniteMDP,
    horizon: int,
    policy: npt.NDArray[np.float64] | None,
    learned: Learned | None,
    state_names: list[str] | None,
    map_labels: Sequence[tuple[int, int, str]],
) -> dict[str, Any]:
    from bokeh.palettes import cividis

    chances = model.continuing_probabilities(mdp).reshape(mdp.n_states * mdp.n_actions, -1)
    possible = chances > 0
    return {
        "horizon": horizon,
        "actions": list(mdp.action_names),
        "states": mdp.n_states,
        "names": state_names,
        "place": packed(places(mdp), "i4"),
        "walls": mdp.positions is not None and state_names is None,
        "ends": mdp.terminal_states.tolist(),
        "endings": _endings(mdp),
        "hole": "hole" if "FrozenLake" in mdp.name else "end",
        "labels": [list(one) for one in map_labels],
        "starts": np.flatnonzero(mdp.start > 0).tolist(),
        "reached": reached(mdp).tolist(),
        "start": int(np.argmax(mdp.start)),
        "model": {
            "first": packed(np.concatenate([[0], possible.sum(axis=1).cumsum()]), "i4"),
            "next": packed(mdp.next_states.reshape(chances.shape)[possible], "i4"),
            "chance": packed(chances[possible], "f8"),
            "reward": packed(model.action_rewards(mdp), "f8"),
        },
        "policy": None if policy is None else packed(policy, "f8"),
        "ties": {"exact": oracle.TIE_TOLERANCE, "learned": _LEARNED_TIES},
        "learned": None
        if learned is None
        else {
            "array": packed(learned.array, "f4"),
            "rewards": learned.rewards,
            "actions": learned.array.shape[1] == mdp.n_actions,
            "weighting": _kind(learned.weighting),
        },
        "palette": list(cividis(64)),
    }


def _endings(mdp: FiniteMDP) -> list[float | None]:
    """What is paid on entering each state that episodes end in; None for others."""
    found: list[float | None] = [None] * mdp.n_states
    met = (mdp.probabilities > 0) & mdp.terminal
    met[mdp.terminal_states] = False  # what a table says of going on from there
    for state in np.flatnonzero(mdp.terminal_states):
        rewards = mdp.rewards[met & (mdp.next_states == state)]
        if len(rewards):
            found[int(state)] = float(rewards.mean())
    return found


def _charts(horizon: int, control: bool, learned: bool) -> dict[str, Any]:
    reach = (0.5, horizon + 0.5)
    value = charts.figure("horizon h (steps)", "value", x_range=reach)
    ahead = charts.figure("steps ahead", "expected reward", x_range=reach, y_range=(-1, 1))
    agree = charts.figure(
        "horizon h (steps)", "share of states", x_range=reach, y_range=(-0.04, 1.04)
    )
    sides = [("exact", 0), ("learned", 2)] if learned else [("exact", 0)]
    # A chart that begins empty warns of having no range.
    empty = {"x": [1, horizon], "y": [0.0, 0.0]}
    for name, index in sides:
        tips = {"h": "@x", "value": "@y{0.0000}"}
        charts.add_line(value, name, index, empty, source=f"value-{name}", hover=tips)
        tips = {"step": "@x", "reward": "@y{0.0000}"}
        charts.add_line(
            ahead, name, index, empty, source=f"ahead-{name}", hover=tips, markers=horizon <= 64
        )
    tips = {"h": "@x", "share": "@y{0.000}"}
    lines = [(f"best for h is best for H = {horizon} too", 1, "agree-final")]
    if learned:
        lines.append(("learned best is exactly best", 2, "agree-learned"))
    lines.append(("all actions equally good", 3, "agree-undecided"))
    for name, index, source in lines:
        charts.add_line(agree, name, index, empty, source=source, hover=tips)
    for one in (value, agree, *([ahead] if control else [])):
        charts.add_cursor(one, "cursor")
    return {"chart-value": value, "chart-ahead": ahead, "chart-agree": agree}


def _body(mdp: FiniteMDP, horizon: int, about: str, learned: Learned | None) -> str:
    how = "" if learned is None else f" Learned: {escape(learned.text)}."
    first = min(8, horizon)
    own = learned is not None and _kind(learned.weighting)["kind"] == "own"
    more = '<option value="own">the learner’s own</option>' if own else ""
    maps = "".join(
        f'<figure><h2>{name}</h2><svg class="map" id="map-{name}" role="group" '
        f'aria-label="map of {name} values"></svg></figure>'
        for name in (["exact", "learned"] if learned is not None else ["exact"])
    )
    return f"""<h1>{escape(mdp.name)}: what each horizon expects</h1>
<p class="soft">{mdp.n_states} states, {mdp.n_actions} actions, {escape(about)}, horizons 1 to
{horizon}.{how} Colours and numbers are V<sup>h</sup>, the value of the next h steps; arrows are the
best actions of Q<sup>h</sup>, a dot where all are equally good. A ring marks where episodes
begin.</p>
<div class="controls">
<button id="play" type="button" aria-pressed="false" title="space bar">Play</button>
<label class="slider">horizon <input id="h" type="range" min="1" max="{horizon}" value="{first}"
 aria-label="horizon h"><output id="h-shown" for="h"></output></label>
<label>weighting <select id="weighting"><option value="discount">discount</option>
<option value="average">average</option><option value="hyperbolic">hyperbolic</option>
<option value="fourier">Fourier magnitude</option>{more}</select></label>
<label id="parameter-label"><span id="parameter-name"></span>
<input id="parameter" type="number" step="any"></label>
</div>
<p id="insight" role="status"></p><p id="note" class="soft"></p>
<div class="maps">{maps}</div>
<p class="soft scale"><span id="lowest"></span><canvas id="scale" width="64" height="1"
 aria-hidden="true"></canvas><span id="highest"></span>
<span>Click a state, or move with the arrow keys on a map.</span></p>
<div class="columns">
<section><h2 id="state-name"></h2><div class="scroll"><table id="numbers"><thead></thead><tbody>
</tbody></table></div></section>
<section><h2>Value over horizons</h2><div id="chart-value" class="chart"></div></section>
<section><h2>Expected reward at each step</h2>
<p id="acting-place"><label>acting <select id="acting">
<option value="shrinking">with the horizon that is left: it adds up to the value</option>
<option value="always">on this horizon at every step, as an agent does</option></select></label></p>
<div id="chart-ahead" class="chart"></div><p id="ahead-note" class="soft"></p></section>
<section><h2>Agreement grows with h</h2><div id="chart-agree" class="chart"></div>
<p class="soft">Over the states that an episode can decide in. An action is drawn from those that
are best, each equally likely.</p></section>
</div>"""
