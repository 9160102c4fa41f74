"""What the arms of the experiments in LunarLander are: agents, environments, seeds and blocks."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fhtd import Weighting
from fhtd.experiments import find, lander_best, lander_readings, landing
from fhtd.reproduction import Block
from fhtd.reproduction.executors import LocalScratch
from fhtd.reproduction.store import Key

pytest.importorskip("equinox")
pytest.importorskip("Box2D")


@pytest.fixture
def agents(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Any:
    """The untrained agent of each arm's first run at smoke scale, by the arm's name."""
    built: list[Any] = []

    def build(kind: Any, make_environment: Any, frames: int, scratch: Any, **options: Any) -> Any:
        built.append(kind(make_environment(), **options))
        return built[-1], {}

    monkeypatch.setattr(landing, "trained", build)

    def of(name: str) -> dict[str, Any]:
        experiment = find(name)
        config = experiment.smoke()
        blocks = experiment.blocks(config)
        first = [block for block in blocks if block.runs == blocks[0].runs]
        for block in first:
            experiment.run(config, 0, block, LocalScratch(tmp_path))
        return {str(block.arm): agent for block, agent in zip(first, built, strict=True)}

    return of


def test_outputs_and_weightings_of_representation(agents: Any) -> None:
    found = agents("representation")
    horizons = {name: agent.horizons.tolist() for name, agent in found.items()}
    eight = [float(h) for h in range(1, 9)]
    assert horizons == {
        "dfhq": eight,
        "dqn": [np.inf],
        "dqn-auxiliary": [*eight[:-1], np.inf],
        "dfhq-undiscounted": eight,
        "dfhq-average": eight,
    }
    weightings = {
        "dfhq": Weighting.exponential(8, 0.99),
        "dfhq-undiscounted": Weighting.exponential(8, 1.0),
        "dfhq-average": Weighting.average(8),
    }
    for name, weighting in weightings.items():
        np.testing.assert_array_equal(found[name].weighting.rewards, weighting.rewards)
        np.testing.assert_array_equal(found[name].weighting.bootstraps, weighting.bootstraps)
    for name in ("dqn", "dqn-auxiliary"):
        np.testing.assert_allclose(found[name].reward_weights(9)[-1], 0.99 ** np.arange(9))
    assert len({agent.seed for agent in found.values()}) == 1


def lived(agent: Any, steps: int) -> tuple[int, bool]:
    """Length of an episode in which nothing happens, and whether it terminated."""
    environment = agent.environment
    environment.reset(seed=0)
    environment.unwrapped.step = lambda action: (np.zeros(8, np.float32), 0.0, False, False, {})
    for length in range(1, steps + 1):
        *_, terminated, truncated, _ = environment.step(0)
        if terminated or truncated:
            return length, bool(terminated)
    return steps, False


def test_readings_of_the_time_limit(agents: Any) -> None:
    found = agents("lander-readings")
    for algorithm in ("dfhq", "dqn"):
        ends = {
            reading: lived(found[f"{algorithm}_{reading}"], 6_000)
            for reading in lander_readings.READINGS
        }
        assert ends == {
            "present": (5_000, False),
            "limit-terminates": (5_000, True),
            "limit-1000": (1_000, False),
        }
        limits = [
            found[f"{algorithm}_{reading}"].settings.max_episode_frames
            for reading in lander_readings.READINGS
        ]
        assert limits == [5_000, None, 1_000]


def test_an_episode_that_ends_by_itself_is_the_same_under_every_reading() -> None:
    ends = []
    for place in (landing.environment(), lander_readings.ending(), lander_readings.short()):
        place.reset(seed=0)
        rewards, terminated, truncated = [], False, False
        while not (terminated or truncated):
            _, reward, terminated, truncated, _ = place.step(0)
            rewards.append(reward)
        ends.append((rewards, terminated, truncated))
        place.close()
    assert ends[0] == ends[1] == ends[2]
    assert ends[0][1:] == (True, False)


def test_the_best_settings_are_further_runs_of_the_sweep() -> None:
    """The same blocks, so that nothing is computed twice, and none that chose the settings."""
    best, sweep = find("lander-best"), find("lander-sweep")
    wide = sweep.config(runs=1_010, frames=100_000)
    config = best.config(dfhq_width=512, dqn_learning_rate=1e-3)
    blocks = best.blocks(config)
    assert best.identity(config) == sweep.identity(wide)
    assert set(blocks) <= set(sweep.blocks(wide))
    assert not set(blocks) & set(sweep.blocks(sweep.config(frames=100_000)))
    assert best.run is sweep.run
    assert [str(block) for block in blocks[:2]] == [
        "dfhq64_0.99_512_0.0001_1.runs-1000-1000",
        "dqn_0.99_256_0.001_1.runs-1000-1000",
    ]
    keys = [
        Key.of(one, settings, 0, blocks[0]) for one, settings in ((best, config), (sweep, wide))
    ]
    assert keys[0] == keys[1]


def test_settings_of_the_best_reach_the_agents(agents: Any) -> None:
    found = agents("lander-best")
    config = lander_best.Config.smoke()
    assert list(found) == [str(arm) for arm in lander_best.arms(config)]
    ours, theirs = found.values()
    assert ours.state.target is None
    assert theirs.settings.target_update_interval == 100
    assert ours.horizons[-1] == 8
    assert {one.settings.hidden for one in found.values()} == {(16, 16)}


def test_new_runs_have_seeds_of_their_own() -> None:
    config = lander_best.Config(runs=3)
    (first, *_), last = lander_best.blocks(config), lander_best.blocks(config)[-1]
    assert first == Block(lander_best.best(config, "dfhq"), range(1_000, 1_001))
    assert last.runs == range(1_002, 1_003)


def test_one_discount_alone_takes_the_runs_of_both() -> None:
    """So that arms which are still open can have more runs than those which are not."""
    experiment = find("lunar-lander")
    both, alone = experiment.config(), experiment.config(discounts=(0.99,))
    assert set(experiment.blocks(alone)) < set(experiment.blocks(both))
    (first, *_) = experiment.blocks(alone)
    values = find("deep-values")
    keys = {
        Key.of(experiment, both, 0, first),
        Key.of(experiment, alone, 0, first),
        Key.of(values, values.config(), 0, first),
    }
    assert len(keys) == 1
    other = experiment.config(learning_rate=1e-3)
    assert Key.of(experiment, other, 0, first) not in keys
