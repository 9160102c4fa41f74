"""Made-up results of `deep-values`."""

import numpy as np

from claim_cases.changes import RUNS, SPREAD, Change, put
from fhtd.reproduction import Arrays


def holding() -> Arrays:
    """DQN expects too much and errs more."""
    data: Arrays = {}
    for arm, bias, error in (("dfhq-0.99", 0.1, 0.5), ("dqn-0.99", 1.0, 2.0)):
        data[f"{arm}.bias"] = 20 * (bias + 0.05 * SPREAD)
        data[f"{arm}.error"] = 20 * (error + 0.05 * SPREAD)
        data[f"{arm}.spread"] = np.full(RUNS, 20.0)
    return data


FAILS: dict[str, list[Change]] = {
    "dqn-overestimates": [put("dqn-0.99.bias", -10.0)],
    "dqn-overestimates-more": [put("dfhq-0.99.bias", 100.0)],
    "dfhq-matches-better": [put("dfhq-0.99.error", 100.0)],
}
UNCLEAR: dict[str, list[Change]] = {
    "dqn-overestimates": [put("dqn-0.99.bias", 20 * SPREAD)],
    "dqn-overestimates-more": [put("dfhq-0.99.bias", 20 + 20 * SPREAD)],
    "dfhq-matches-better": [put("dfhq-0.99.error", 40 + 20 * SPREAD)],
}
