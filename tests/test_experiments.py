"""Every experiment from its blocks to its pictures, at smoke scale."""

import io
import math
from dataclasses import dataclass, fields, replace
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pandas
import pytest
from matplotlib.collections import PolyCollection

from fhtd.experiments import NAMES, Experiment, Verdict, find
from fhtd.reproduction import Arrays, Block, join_runs, join_statistics, pack, run_blocks
from fhtd.reproduction.executors import LocalScratch
from fhtd.reproduction.summary import to_csv
from fhtd.statistics import Statistics
from worlds import wrong

#: Measures time, so that no two runs are alike.
SEEDED = [name for name in NAMES if name != "complexity"]
QUICK = [name for name in SEEDED if not find(name).only_by_name]


def run_block(experiment: Experiment, config: Any, seed: int, block: Block) -> Arrays:
    """From the beginning, whatever the block keeps on the way."""
    if not experiment.resumable:
        return experiment.run(config, seed, block)
    with TemporaryDirectory() as folder:
        return experiment.run(config, seed, block, LocalScratch(Path(folder)))


@dataclass(frozen=True)
class Reproduced:
    """An experiment with all its blocks."""

    experiment: Experiment
    config: Any
    results: dict[Block, Arrays]
    data: Arrays


@cache
def smoke(name: str) -> Reproduced:
    """Computed once for all tests."""
    experiment = find(name)
    config = experiment.config.smoke()
    results = {
        block: run_block(experiment, config, 0, block) for block in experiment.blocks(config)
    }
    return Reproduced(experiment, config, results, experiment.combine(config, results))


@pytest.mark.parametrize("name", NAMES)
def test_figure_can_be_read(name: str) -> None:
    found = smoke(name)
    figure = found.experiment.plot(found.config, found.data)
    assert figure.axes
    for panel in figure.axes:
        assert panel.get_title()
        assert panel.get_xlabel()
        assert panel.get_ylabel()
        legend = panel.get_legend() or next(iter(figure.legends), None)
        assert legend is not None
        named = [line for line in panel.lines if not str(line.get_label()).startswith("_")]
        explained = {text.get_text() for text in legend.get_texts()}
        assert explained >= {line.get_label() for line in named}
        assert explained
        looks = {(line.get_color(), line.get_linestyle(), line.get_marker()) for line in named}
        assert len(looks) == len(named), "two curves of a panel look the same"
    drawn = [item for panel in figure.axes for item in panel.collections]
    assert any(isinstance(item, PolyCollection) for item in drawn), "no band of standard errors"
    picture = io.BytesIO()
    figure.savefig(picture, format="png")
    assert picture.getvalue().startswith(b"\x89PNG")


@pytest.mark.parametrize("name", NAMES)
def test_tables_open_in_pandas(name: str) -> None:
    found = smoke(name)
    tables = found.experiment.tables(found.config, found.data)
    assert tables
    for table in tables.values():
        frame = pandas.read_csv(io.BytesIO(to_csv(table)))
        assert list(frame.columns) == list(table)
        assert len(frame) > 0
        for column, values in table.items():
            if values.dtype.kind == "U":
                assert list(frame[column]) == list(values)
            else:
                np.testing.assert_allclose(frame[column], values, rtol=1e-12)


@pytest.mark.parametrize("name", NAMES)
def test_claims_say_what_was_measured(name: str) -> None:
    found = smoke(name)
    claims = found.experiment.claims(found.config, found.data)
    assert claims
    assert len({claim.name for claim in claims}) == len(claims)
    for claim in claims:
        assert claim.statement.endswith(".")
        assert "holds if" in claim.rule or "holds otherwise" in claim.rule
        assert any(character.isdigit() for character in claim.measured)
        assert "nan" not in claim.measured


#: What the paper expects and exact values contradict, in few worlds as in many.
CONTRADICTED = {"early-horizons-matter-most", "better-than-a-smaller-n"}


@pytest.mark.parametrize("name", QUICK)
def test_no_claim_fails_even_at_smoke_scale(name: str) -> None:
    found = smoke(name)
    claims = found.experiment.claims(found.config, found.data)
    failed = [claim for claim in claims if claim.verdict is Verdict.FAILS]
    assert [claim for claim in failed if claim.name not in CONTRADICTED] == []


def test_baird_is_a_negative_control() -> None:
    """FHTD converges and TD diverges, not only on average but in every single run."""
    experiment = find("baird")
    config = experiment.config.smoke()
    results = {block: experiment.run(config, 1, block) for block in experiment.blocks(config)}
    data = experiment.combine(config, results)
    assert np.abs(data["fhtd.final_values"]).max() < 1e-6
    assert np.abs(data["fhtd-random.final_values"]).max() < 1e-6
    assert np.abs(data["td.final_values"]).max(axis=1).min() > 1e6


def same_bits(a: Arrays, b: Arrays) -> bool:
    return a.keys() == b.keys() and all(a[name].tobytes() == b[name].tobytes() for name in a)


def small(name: str) -> tuple[Experiment, Any]:
    """An experiment with settings for a few milliseconds."""
    steps = {"weightings": 5000, "convergence": 5000, "baird": 500}
    config = find(name).config.smoke()
    return find(name), replace(config, steps=steps[name]) if name in steps else config


@pytest.mark.parametrize("name", SEEDED)
def test_seed_decides_the_bits(name: str) -> None:
    experiment, config = small(name)
    for block in (experiment.blocks(config)[0], experiment.blocks(config)[-1]):
        first, again, other = (run_block(experiment, config, seed, block) for seed in (0, 0, 1))
        assert same_bits(first, again)
        assert not same_bits(first, other)


@pytest.mark.parametrize("name", SEEDED)
def test_a_block_does_not_depend_on_the_number_of_runs(name: str) -> None:
    experiment, config = small(name)
    runs = config.runs
    more = replace(
        config,
        runs=tuple(10 * n + 1 for n in runs) if isinstance(runs, tuple) else 10 * runs + 1,
    )
    for block in (experiment.blocks(config)[0], experiment.blocks(config)[-1]):
        assert same_bits(
            run_block(experiment, config, 0, block), run_block(experiment, more, 0, block)
        )


@pytest.mark.parametrize("name", QUICK)
def test_runs_of_a_block_differ(name: str) -> None:
    experiment, config = small(name)
    arrays = experiment.run(config, 0, experiment.blocks(config)[0])
    for array, values in arrays.items():
        if array.endswith(".squares"):  # over runs: zero only where all of them are alike
            assert values.max() > 0
        elif values.dtype == np.bool_ or np.isinf(values).all():
            pass  # whether something is so, or when it never is, may be the same in all runs
        elif len(values) > 1:
            assert len(np.unique(values.reshape(len(values), -1), axis=0)) > 1


@pytest.mark.parametrize("name", NAMES)
def test_more_runs_only_add_blocks(name: str) -> None:
    experiment = find(name)
    few, many = (set(experiment.blocks(experiment.config(runs=runs))) for runs in (1000, 3000))
    assert few < many


@pytest.mark.parametrize("name", NAMES)
def test_blocks_are_files_of_their_own(name: str) -> None:
    names = find(name).blocks(find(name).config())
    assert len(set(names)) == len(names)
    assert not any(set(str(block)) & set('/\\:*?"<>| ') for block in names)


@pytest.mark.parametrize("runs", [1, 5, 10, 23])
def test_blocks_hold_every_run_once(runs: int) -> None:
    blocks = run_blocks("an-arm@0.5", runs, 5)
    assert {block.arm for block in blocks} == {"an-arm@0.5"}
    assert [run for block in blocks for run in block.runs] == list(range(runs))
    assert str(blocks[0]) == f"an-arm@0.5.runs-0-{min(runs, 5) - 1}"


def test_blocks_join_in_the_order_of_runs() -> None:
    samples = np.random.default_rng(0).normal(size=(23, 3))
    results = {
        block: {"x": samples[block.runs], **pack("s", Statistics.of(samples[block.runs]))}
        for block in reversed([*run_blocks("a", 23, 5), Block("b", range(2))])
    }
    np.testing.assert_array_equal(join_runs(results, "a", "x"), samples)
    joined, whole = join_statistics(results, "a", "s"), Statistics.of(samples)
    assert joined.count == 23
    np.testing.assert_allclose(joined.mean, whole.mean)
    np.testing.assert_allclose(joined.standard_error, whole.standard_error)


@pytest.mark.parametrize("step_size", [0.1234567890123, 1e-05, 0.1 + 0.2])
def test_a_blocks_name_carries_the_very_setting(step_size: float) -> None:
    """Two numbers that differ in the last digit are two blocks."""
    experiment = find("slippery-maze")
    tiny = {"runs": 2, "episodes": 2, "horizons": (8, 16), "discounts": (step_size,)}
    config = experiment.config(step_sizes=(step_size,), **tiny)
    for block in experiment.blocks(config):
        arm, _, size = str(block).removesuffix(".runs-0-1").partition("@")
        assert float(size) == step_size
        assert not arm.startswith("q-") or float(arm[2:]) == step_size


BAD_BY_TYPE: dict[type, list[Any]] = {
    int: [-1, 1.5, True, "3", None],
    float: [math.nan, math.inf, -1e-9, "0.5", True, None],
    str: [3, None, ("x",)],
    tuple: [(), ("x",), (math.nan, 1.0, 2.0), (-100, -99, -98), (None,)],
}
#: Any finite number is a reward.
ANY_SIGN = {"start_reward"}
#: None given is all.
MAY_BE_EMPTY = {"target_widths"}


@pytest.mark.parametrize("name", NAMES)
def test_bad_settings_are_refused_by_name(name: str) -> None:
    config = find(name).config
    for field in fields(config):
        for bad in BAD_BY_TYPE[type(field.default)]:
            if field.name in ANY_SIGN and bad == -1e-9:
                continue
            if field.name in MAY_BE_EMPTY and bad == ():
                continue
            with pytest.raises((ValueError, TypeError), match=f"^{field.name}"):
                config(**{field.name: wrong(bad)})


@pytest.mark.parametrize(
    ("name", "settings", "field"),
    [
        ("baird", {"runs": 0}, "runs"),
        ("baird", {"step_size": 0.0}, "step_size"),
        ("slippery-maze", {"epsilon": 1.1}, "epsilon"),
        ("slippery-maze", {"horizons": (16,)}, "horizons"),
        ("slippery-maze", {"horizons": (16, 8)}, "horizons"),
        ("slippery-maze", {"discounts": (1.0,)}, "discounts"),
        ("slippery-maze", {"discounts": (1.01,)}, "discounts"),
        ("random-walk", {"runs": 1}, "runs"),
        ("random-walk", {"horizon": 4}, "horizon"),
        ("off-policyness", {"size": 1}, "size"),
        ("off-policyness", {"horizon": 7}, "horizon"),
        ("checkered-grid", {"late": 20}, "late"),
        ("checkered-grid", {"backups": (1, 2, 33)}, "backups"),
        ("checkered-grid", {"backups": (2, 4, 32)}, "backups"),
        ("checkered-grid", {"backups": (1, 32)}, "backups"),
        ("checkered-grid", {"lambdas": (0.0, 0.5, 0.9)}, "lambdas"),
        ("checkered-grid", {"exponents": (1,)}, "exponents"),
        ("complexity", {"horizons": (48, 64)}, "horizons"),
        ("complexity", {"lambda_horizons": (64, 32)}, "lambda_horizons"),
        ("weightings", {"horizon": 3}, "horizon"),
        ("convergence", {"n_features": 7}, "n_features"),
        ("convergence", {"discount": 1.1}, "discount"),
        ("lander-best", {"first_run": 29}, "first_run"),
        ("lander-best", {"dqn_width": 0}, "dqn_width"),
        ("lander-best", {"dfhq_learning_rate": 0.0}, "dfhq_learning_rate"),
        ("representation", {"horizon": 1}, "horizon"),
        ("representation", {"discount": 1.1}, "discount"),
    ],
)
def test_impossible_settings_are_refused_by_name(
    name: str, settings: dict[str, Any], field: str
) -> None:
    with pytest.raises(ValueError, match=f"^{field} must"):
        find(name).config(**settings)


@pytest.mark.parametrize("name", NAMES)
def test_too_many_runs_are_refused_before_they_take_the_memory(name: str) -> None:
    with pytest.raises(ValueError, match="runs must be"):
        find(name).blocks(find(name).config(runs=10**19))


@pytest.mark.parametrize(("given", "near"), [("bairt", "baird"), ("maze", "slippery-maze")])
def test_unknown_experiment_is_refused_with_the_nearest(given: str, near: str) -> None:
    with pytest.raises(ValueError, match=f"unknown experiment '{given}'; did you mean '{near}'"):
        find(given)
