"""What deep agents expected against what then came, with the weights of LunarLander's runs."""

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from fhtd.experiments import landing, lunar_lander
from fhtd.experiments.lunar_lander import Arm, Config
from fhtd.reproduction import (
    Arrays,
    Block,
    Chart,
    Claim,
    Experiment,
    Results,
    above,
    style,
)
from fhtd.reproduction import curves as learning
from fhtd.statistics import Interval
from fhtd.targets import weighted_sums

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: The share of a discounted return that may lie beyond the end of a cut episode.
_LEFT_OUT = 0.01
#: Steps before the end of an episode over which errors are shown, and how many are taken together.
_LAST_STEPS, _TOGETHER = 256, 8


def arms(config: Config) -> list[Arm]:
    """Both algorithms at the first discount."""
    return [Arm(name, config.discounts[0]) for name in ("dfhq", "dqn")]


def blocks(config: Config) -> list[Block]:
    """Those of LunarLander's experiment at the first discount."""
    return [b for b in lunar_lander.blocks(config) if b.arm in arms(config)]


def outcomes(
    rewards: npt.NDArray[np.float64], discount: float, span: int, terminated: bool
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.bool_]]:
    """The discounted sum of the next `span` rewards at each step, and where it is all known.

    After a termination nothing more comes; after a cut, what would have come is not known.
    """
    found = weighted_sums(discount ** np.arange(min(span, len(rewards))), rewards)
    known = np.full(len(rewards), terminated) | (np.arange(len(rewards)) + span <= len(rewards))
    return found, known


def span_of(config: Config, arm: Arm) -> int:
    """How many rewards an estimate is about: H, or all but the last 1% of a discounted sum."""
    if arm.algorithm == "dfhq":
        return config.horizon
    discount = config.discounts[0]
    if discount >= 1:
        return landing.EVALUATION_FRAMES
    return int(np.ceil(np.log(_LEFT_OUT) / np.log(discount)))


def combine(config: Config, results: Results) -> Arrays:
    """Per run: bias, root-mean-square error, spread of outcomes; and the first run's episodes."""
    data: Arrays = {"steps_to_end": np.arange(_TOGETHER, _LAST_STEPS + 1, _TOGETHER)}
    for arm in arms(config):
        rows, near = [], []
        for run in range(config.runs):
            one = results[learning.one_run(arm, run)]
            values, returns, known, first = _compare(config, arm, one)
            errors = (values - returns)[known]
            near.append(by_steps_to_end(errors, steps_to_end(one)[known]))
            enough = len(errors) > 1
            rows.append(
                [
                    errors.mean() if enough else np.nan,
                    np.sqrt((errors**2).mean()) if enough else np.nan,
                    returns[known].std() if enough else np.nan,
                    len(errors),
                ]
            )
            if run == 0:
                data[f"{arm}.values"], data[f"{arm}.returns"] = values[:first], returns[:first]
        bias, error, spread, steps = np.array(rows).T
        data |= {f"{arm}.bias": bias, f"{arm}.error": error, f"{arm}.spread": spread}
        data[f"{arm}.steps"] = steps
        data[f"{arm}.near_bias"], data[f"{arm}.near_error"] = np.stack(near, axis=1)
    return data


def steps_to_end(one: Arrays) -> npt.NDArray[np.int64]:
    """How many rewards are left of each step's episode; very many where it was cut."""
    return np.concatenate(
        [
            np.arange(length, 0, -1) if ended else np.full(length, np.iinfo(np.int64).max)
            for length, ended in zip(
                one["evaluation_length"], one["evaluation_terminated"], strict=True
            )
        ]
    )


def by_steps_to_end(
    errors: npt.NDArray[np.float64], left: npt.NDArray[np.int64]
) -> npt.NDArray[np.float64]:
    """Mean and root-mean-square error of the steps so near to the end; NaN where there are none."""
    place, count = (left - 1) // _TOGETHER, _LAST_STEPS // _TOGETHER
    near = place < count
    place, errors = place[near], errors[near]
    steps = np.bincount(place, minlength=count)
    first, second = (np.bincount(place, power, count) for power in (errors, errors**2))
    with np.errstate(invalid="ignore"):
        return np.stack([first / steps, np.sqrt(second / steps)])


def _over_runs(
    runs: npt.NDArray[np.float64],
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Mean and standard error of the runs that say something."""
    said = np.ma.masked_invalid(runs)
    mean = said.mean(axis=0).filled(np.nan)
    if len(runs) == 1:
        return mean, np.full_like(mean, np.nan)
    spread = said.std(axis=0, ddof=1).filled(np.nan)
    return mean, spread / np.sqrt(np.maximum(said.count(axis=0), 1))


def _compare(
    config: Config, arm: Arm, one: Arrays
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64], npt.NDArray[np.bool_], int]:
    """Estimates and outcomes of a run's episodes, joined; the length of the first."""
    lengths = one["evaluation_length"]
    rewards = np.split(one["evaluation_reward"].astype(np.float64), np.cumsum(lengths)[:-1])
    parts = [
        outcomes(episode, config.discounts[0], span_of(config, arm), bool(ended))
        for episode, ended in zip(rewards, one["evaluation_terminated"], strict=True)
    ]
    returns, known = (np.concatenate(column) for column in zip(*parts, strict=True))
    return one["evaluation_value"].astype(np.float64), returns, known, int(lengths[0])


def plot(config: Config, data: Arrays) -> "Figure":
    """An episode of each algorithm; bias and error of every run, and near the end of episodes."""
    figure, axes = style.panels(3, 2)
    for i, arm in enumerate(arms(config)):
        panel = axes[0, i]
        steps = np.arange(len(data[f"{arm}.values"]))
        style.line(panel, steps, data[f"{arm}.values"], None, "estimate", i)
        what = f"{config.horizon}-step return" if arm.algorithm == "dfhq" else "discounted return"
        panel.plot(steps, data[f"{arm}.returns"], color="#888888", linewidth=1.2, label=what)
        style.label(panel, f"{arm.title}: an episode", "step", "value of the action taken")
        for panel, field in ((axes[1, 0], "bias"), (axes[1, 1], "error")):
            runs = data[f"{arm}.{field}"] / data[f"{arm}.spread"]
            landing.dots(panel, i, runs, arm.title)
        for panel, field in ((axes[2, 0], "near_bias"), (axes[2, 1], "near_error")):
            mean, error = _over_runs(data[f"{arm}.{field}"])
            style.line(panel, data["steps_to_end"], mean, error, arm.title, i)
    for panel, word in ((axes[2, 0], "Bias"), (axes[2, 1], "Root-mean-square error")):
        style.label(
            panel,
            f"{word} near the end",
            "steps to the end of the episode",
            "reward",
            legend=False,
        )
        panel.invert_xaxis()
        panel.axhline(0, color="#888888", linewidth=0.8)
    for panel, word in ((axes[1, 0], "Bias"), (axes[1, 1], "Root-mean-square error")):
        title = f"{word} of each of {config.runs} runs"
        style.label(
            panel, title, "runs, by arm", "standard deviations of the returns", legend=False
        )
        panel.axhline(0, color="#888888", linewidth=0.8)
    style.share_legend(figure, axes[2, 0], axes[1, 0])
    style.say(figure, f"one colour for each arm; {style.band(config.runs)}")
    return figure


def claims(config: Config, data: Arrays) -> list[Claim]:
    """What the paper judges by eye."""
    ours, theirs = arms(config)
    bias = {arm: data[f"{arm}.bias"] / data[f"{arm}.spread"] for arm in (ours, theirs)}
    error = {arm: data[f"{arm}.error"] / data[f"{arm}.spread"] for arm in (ours, theirs)}
    over = Interval.of(bias[theirs])
    more = Interval.of(bias[theirs] - bias[ours])
    closer = Interval.of(error[theirs] - error[ours])
    unit = "in standard deviations of the run's returns, over all steps whose return is known"
    raw = {arm: Interval.of(data[f"{arm}.bias"]) for arm in (ours, theirs)}
    return [
        Claim(
            "dqn-overestimates",
            "DQN's estimates show maximisation bias.",
            f"mean of estimate minus return, {unit}; holds if its 95% interval over seeds lies "
            "above 0, fails if below",
            f"{over} standard deviations ({raw[theirs]} in reward)",
            above(over, 0),
        ),
        Claim(
            "dqn-overestimates-more",
            "DFHQ's estimates are less impacted: DQN overestimates more.",
            f"DQN's mean of estimate minus return less DFHQ's, {unit}, paired over seeds; holds if "
            "the 95% interval lies above 0, fails if below",
            f"{more} standard deviations (DFHQ {raw[ours]}, DQN {raw[theirs]} in reward)",
            above(more, 0),
        ),
        Claim(
            "dfhq-matches-better",
            "DFHQ's estimates match the returns that follow better than DQN's.",
            f"DQN's root-mean-square error less DFHQ's, {unit}, paired over seeds; holds if the "
            "95% interval lies above 0, fails if below",
            f"{closer} standard deviations (DFHQ {Interval.of(error[ours])}, DQN "
            f"{Interval.of(error[theirs])})",
            above(closer, 0),
        ),
    ]


def tables(config: Config, data: Arrays) -> dict[str, Arrays]:
    """Every run in numbers, and the episodes that are shown."""
    names = [str(arm) for arm in arms(config)]
    runs = {
        "arm": np.repeat(names, config.runs),
        "run": np.tile(np.arange(config.runs), len(names)),
    }
    for field in ("bias", "error", "spread", "steps"):
        runs[field] = np.concatenate([data[f"{arm}.{field}"] for arm in names])
    lengths = [len(data[f"{arm}.values"]) for arm in names]
    near = [_over_runs(data[f"{arm}.near_bias"]) for arm in names]
    return {
        "runs": runs,
        "near_the_end": {
            "arm": np.repeat(names, len(data["steps_to_end"])),
            "steps_to_end": np.tile(data["steps_to_end"], len(names)),
            "bias": np.concatenate([mean for mean, _ in near]),
            "standard_error": np.concatenate([error for _, error in near]),
            "error": np.concatenate([_over_runs(data[f"{a}.near_error"])[0] for a in names]),
        },
        "episodes": {
            "arm": np.repeat(names, lengths),
            "step": np.concatenate([np.arange(length) for length in lengths]),
            "estimate": np.concatenate([data[f"{arm}.values"] for arm in names]),
            "return": np.concatenate([data[f"{arm}.returns"] for arm in names]),
        },
    }


_LABELS = (("dfhq-*", "DFHQ, γ = *"), ("dqn-*", "DQN, γ = *"))

EXPERIMENT = Experiment(
    name="deep-values",
    title="Value estimates of deep agents against the returns that followed",
    source="Appendix, figures of deep value estimates",
    shows="fixed-horizon estimates are less biased upwards than those of DQN",
    cost="3 hours (none after lunar-lander)",
    config=Config,
    blocks=blocks,
    run=lunar_lander.run,
    combine=combine,
    plot=plot,
    claims=claims,
    tables=tables,
    charts=(
        Chart(
            "What was expected, one episode each",
            "episodes",
            "step",
            "step",
            "estimate",
            y="estimate",
            arm="arm",
            labels=_LABELS,
        ),
        Chart(
            "What then came",
            "episodes",
            "step",
            "step",
            "return",
            y="return",
            arm="arm",
            labels=_LABELS,
        ),
        Chart(
            "Estimate minus return near the end of episodes",
            "near_the_end",
            "steps_to_end",
            "steps to the end of the episode",
            "bias",
            y="bias",
            arm="arm",
            error="standard_error",
            labels=_LABELS,
        ),
    ),
    extent=lunar_lander.EXPERIMENT.extent,
    extras=("deep", "lander"),
    resumable=True,
    only_by_name=True,
    megabytes=500,
    work=lunar_lander.EXPERIMENT.name,
)
