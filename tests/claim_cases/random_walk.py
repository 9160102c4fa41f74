"""Made-up results of `random-walk`."""

import numpy as np

from claim_cases.changes import RUNS, SPREAD, Change, put
from fhtd.reproduction import Arrays


def holding() -> Arrays:
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
FAILS: dict[str, list[Change]] = {
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
UNCLEAR: dict[str, list[Change]] = {
    "short-plateau-early": [slow_horizon_5(RUNS // 2), one_block],
    "approach-td": [horizon_60_like_40, one_block],
    "no-crossing": [
        put("fhtd.blocks", 1.3 + SPREAD, near_td),
        put("td.blocks", 2.0 + SPREAD[:, None], (every, 0)),  # does TD learn?
        one_block,
    ],
}
