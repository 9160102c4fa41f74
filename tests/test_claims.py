"""Every claim can hold, can fail, and is inconclusive on unclear data."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

from claim_cases import DECIDED, FAILING, HOLDING, UNCLEAR
from claim_cases.changes import SPREAD, Change
from fhtd.experiments import NAMES, Verdict, find, slippery_maze
from fhtd.reproduction import Arrays, above, below, truth_of, worst
from fhtd.statistics import Interval


def verdicts(name: str, data: Arrays) -> dict[str, Verdict]:
    """Of every claim, at the paper's settings."""
    experiment = find(name)
    found = experiment.claims(experiment.config(), data)
    assert len({claim.name for claim in found}) == len(found)
    return {claim.name: claim.verdict for claim in found}


def cases(changes: Mapping[str, Mapping[str, list[Change]]]) -> list[Any]:
    return [
        pytest.param(name, claim, change, id=f"{name}-{claim}-{i}")
        for name, of_claims in changes.items()
        for claim, several in of_claims.items()
        for i, change in enumerate(several)
    ]


@pytest.mark.parametrize("name", NAMES)
def test_every_claim_holds_where_it_should(name: str) -> None:
    found = verdicts(name, HOLDING[name]())
    assert found == dict.fromkeys(found, Verdict.HOLDS)


@pytest.mark.parametrize("name", NAMES)
def test_every_claim_has_data_that_make_it_fail(name: str) -> None:
    claims = verdicts(name, HOLDING[name]()).keys()
    assert claims == FAILING[name].keys()
    empty = {claim for claim, changes in FAILING[name].items() if not changes}
    assert empty <= {"optimal-length"}  # has a test of its own
    assert claims == UNCLEAR.get(name, {}).keys() | DECIDED.get(name, set())


@pytest.mark.parametrize(("name", "claim", "change"), cases(FAILING))
def test_claim_fails(name: str, claim: str, change: Change) -> None:
    data = HOLDING[name]()
    change(data)
    assert verdicts(name, data)[claim] is Verdict.FAILS


@pytest.mark.parametrize(("name", "claim", "change"), cases(UNCLEAR))
def test_claim_is_inconclusive(name: str, claim: str, change: Change) -> None:
    data = HOLDING[name]()
    change(data)
    assert verdicts(name, data)[claim] is Verdict.INCONCLUSIVE


def test_optimal_length_fails_in_another_maze(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(slippery_maze, "optimal_length", lambda: 61.76)
    assert verdicts("slippery-maze", HOLDING["slippery-maze"]())["optimal-length"] is Verdict.FAILS


def test_an_excess_that_cannot_be_seen_is_no_crossing() -> None:
    data = HOLDING["random-walk"]()
    data["fhtd.blocks"][:, 1200, 50] = data["td.blocks"][:, 1200, 0] + 0.001 * SPREAD
    assert verdicts("random-walk", data)["no-crossing"] is Verdict.HOLDS


@pytest.mark.parametrize("value", [np.inf, -np.inf, np.nan, 1e308])
def test_what_is_beyond_all_numbers_has_diverged(value: float) -> None:
    data = HOLDING["baird"]()
    data["td.final_values"][:, 3] = value
    assert verdicts("baird", data)["td-diverges"] is Verdict.HOLDS


@pytest.mark.parametrize(
    ("low", "high", "is_above", "is_below"),
    [
        (1.1, 2.0, "holds", "fails"),
        (0.0, 0.9, "fails", "holds"),
        (0.9, 1.1, "inconclusive", "inconclusive"),
        (1.0, 2.0, "inconclusive", "inconclusive"),
        (0.0, 1.0, "inconclusive", "inconclusive"),
        (-np.inf, np.inf, "inconclusive", "inconclusive"),
        (np.nan, np.nan, "inconclusive", "inconclusive"),
    ],
)
def test_an_interval_decides_only_if_all_of_it_is_on_one_side(
    low: float, high: float, is_above: str, is_below: str
) -> None:
    interval = Interval((low + high) / 2, low, high)
    assert above(interval, 1.0) == is_above
    assert below(interval, 1.0) == is_below


def test_verdicts_combine_to_the_worst() -> None:
    holds, fails, unclear = Verdict.HOLDS, Verdict.FAILS, Verdict.INCONCLUSIVE
    assert worst([holds, unclear, fails]) is fails
    assert worst([holds, unclear]) is unclear
    assert worst([holds, holds]) is holds
    assert (truth_of(True), truth_of(False)) == (holds, fails)
