"""Made-up results of `lander-sweep`."""

from collections.abc import Callable

from claim_cases.changes import SPREAD, Change, Floats
from fhtd.experiments import find
from fhtd.experiments.lander_sweep import arms
from fhtd.reproduction import Arrays


def holding() -> Arrays:
    """DFHQ at 100 whatever its setting, less with a target network; DQN falls with the width."""
    experiment = find("lander-sweep")
    data = {}
    for arm in arms(experiment.config()):
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


FAILS: dict[str, list[Change]] = {
    "targets-slow-dfhq": [each("dfhq", "_100", lambda runs: runs + 50)],
    "targets-help-dqn": [each("dqn", "_100", lambda runs: runs - 50)],
    "dfhq-best": [each("dqn", "", lambda runs: runs + 100)],
    "width-hurts-dqn-more": [each("dfhq64_0.99_4096", "_1", lambda runs: runs - 300)],
}
UNCLEAR: dict[str, list[Change]] = {
    "targets-slow-dfhq": [each("dfhq", "_100", lambda runs: runs + 200 * SPREAD)],
    "targets-help-dqn": [each("dqn", "_100", lambda runs: runs + 200 * SPREAD)],
    "dfhq-best": [each("dqn", "", lambda runs: runs + 200 * SPREAD)],
    "width-hurts-dqn-more": [each("dfhq64_0.99_4096", "_1", lambda runs: runs + 300 * SPREAD)],
}
