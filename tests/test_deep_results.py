"""What pages say of runs in LunarLander is what the runs say that are kept here."""

from functools import cache
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

from fhtd.experiments import find, landing
from fhtd.experiments.lunar_lander import Arm
from fhtd.reproduction import Results
from fhtd.reproduction import curves as learning
from fhtd.reproduction.store import Key, Store
from fhtd.statistics import Interval

ROOT = Path(__file__).parent.parent
EXPERIMENT = find("lunar-lander")
CONFIG = EXPERIMENT.config()
AT = learning.points(CONFIG.frames)
ARMS = {
    "DFHQ, discount 0.99": Arm("dfhq", 0.99),
    "DFHQ, discount 1": Arm("dfhq", 1.0),
    "DQN, discount 0.99": Arm("dqn", 0.99),
    "DQN, discount 1": Arm("dqn", 1.0),
}


@cache
def kept(name: str) -> Results:
    """All runs of an arm, from the first on."""
    store, found = Store(ROOT / "results/raw", warn=pytest.fail), {}
    for run in range(CONFIG.runs):
        block = learning.one_run(ARMS[name], run)
        one = store.read(Key.of(EXPERIMENT, CONFIG, 0, block))
        if one is None:
            break
        found[block] = one.arrays
    return found


def curves(name: str) -> npt.NDArray[np.float64]:
    return learning.curves(kept(name), ARMS[name], len(kept(name)), AT)


def said(values: npt.NDArray[np.float64]) -> str:
    found = Interval.of(values)
    return f"{found.mean:,.0f} [{found.low:,.0f}, {found.high:,.0f}]"


def diverged(name: str) -> str:
    runs = [landing.senseless(one) >= 0 for one in kept(name).values()]
    return f"{sum(runs)} of {len(runs)}"


@pytest.mark.parametrize("name", ARMS)
def test_the_table_is_that_of_the_runs(name: str) -> None:
    found = curves(name)
    parts = [found, found[:, AT <= 100_000], found[:, AT > 300_000]]
    cells = [said(part.mean(axis=1)) for part in parts]
    row = " | ".join([f"| {name} ({len(found)} runs)", *cells, f"{diverged(name)} |"])
    assert row in (ROOT / "docs/deep_results.md").read_text()


@pytest.mark.parametrize(
    ("page", "discounted", "undiscounted"),
    [
        ("dfhq", "DFHQ, discount 0.99", "DFHQ, discount 1"),
        ("dqn", "DQN, discount 0.99", "DQN, discount 1"),
    ],
)
def test_scores_on_pages_of_algorithms_are_those_of_the_runs(
    page: str, discounted: str, undiscounted: str
) -> None:
    text = (ROOT / f"docs/algorithms/{page}.md").read_text()
    end, other = curves(discounted)[:, AT > 300_000], curves(undiscounted)[:, AT > 300_000]
    assert f"| {said(end.mean(axis=1))}, {len(end)} runs |" in text
    score = f"{said(other.mean(axis=1))}, {len(other)} runs"
    if page == "dqn":
        score = f"diverges in {diverged(undiscounted)} runs"
    assert f"| the same, discount 1 | {score} |" in text
