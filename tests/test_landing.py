"""Long runs in LunarLander: curves by hand, and killed runs that go on to the bit."""

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest

from fhtd.experiments import deep_values, find, landing
from fhtd.reproduction import Arrays, Block
from fhtd.reproduction import curves as learning
from fhtd.reproduction.executors import LocalScratch


@dataclass(frozen=True)
class Fragile(LocalScratch):
    """Dies after so many checkpoints."""

    lives: list[int]

    def saved(self) -> None:
        self.lives[0] -= 1
        if not self.lives[0]:
            raise KeyboardInterrupt


def train(scratch: LocalScratch, algorithm: str = "dfhq") -> Arrays:
    settings = {"hidden": (8,), "horizon": 4} if algorithm == "dfhq" else {"hidden": (8,)}
    return landing.train(
        algorithm,
        settings,
        frames=2_000,
        seed=0,
        run=3,
        scratch=scratch,
        evaluation_episodes=1,
    )


@pytest.mark.parametrize("spoil", [False, True])
def test_a_killed_run_goes_on_to_the_bit(tmp_path: Path, spoil: bool) -> None:
    whole = train(LocalScratch(tmp_path / "whole"))
    broken = tmp_path / "broken"
    with pytest.raises(KeyboardInterrupt):
        train(Fragile(broken, [2]))
    if spoil:  # the checkpoint before it must do
        (broken / "checkpoint.npz").write_bytes(b"nonsense")
    again = train(LocalScratch(broken))
    assert whole.keys() == again.keys()
    for name in whole:
        assert whole[name].tobytes() == again[name].tobytes(), name


def test_arms_share_seeds_and_runs_do_not(tmp_path: Path) -> None:
    """The first episode is nearly all chance: the same for both, another for each run."""
    one, other = (train(LocalScratch(tmp_path / name), name) for name in ("dfhq", "dqn"))
    assert one["return"][0] == other["return"][0]
    assert not np.array_equal(one["evaluation_value"], other["evaluation_value"])


def test_a_curve_is_the_mean_of_the_last_ten() -> None:
    ends = np.arange(10, 210, 10)
    returns = np.arange(20.0)
    found = learning.curve(ends, returns, np.array([5, 10, 35, 100, 200, 500]))
    np.testing.assert_array_equal(found, [np.nan, 0, 1, 4.5, 14.5, 14.5])


def test_curves_start_at_the_first_return() -> None:
    results = {Block("a", range(1)): {"frame": np.array([20, 30]), "return": np.array([4.0, 6.0])}}
    np.testing.assert_array_equal(
        learning.curves(results, "a", 1, np.array([10, 20, 30])), [[4, 4, 5]]
    )


@pytest.mark.parametrize(
    ("means", "frame"),
    [([1.0, 2.0], -1), ([1.0, -2000.0, 3.0], 20), ([np.nan], 10), ([1.0, np.inf], 20)],
)
def test_estimates_that_no_episode_could_bring_are_senseless(
    means: list[float], frame: int
) -> None:
    one = {
        "mean_target": np.array(means),
        "statistics_frame": 10 * np.arange(1, len(means) + 1),
        "divergence": np.array([-1.0, -1.0]),
    }
    assert landing.senseless(one) == frame


def test_outcomes_by_hand() -> None:
    rewards = np.array([1.0, 2.0, 4.0])
    found, known = deep_values.outcomes(rewards, 0.5, 2, terminated=True)
    np.testing.assert_array_equal(found, [2, 4, 4])
    assert known.all()
    _, known = deep_values.outcomes(rewards, 0.5, 2, terminated=False)
    assert known.tolist() == [True, True, False]  # after the last step only one reward is known


def test_errors_by_steps_to_the_end_by_hand() -> None:
    """Two episodes: one that ends after ten steps, one that is cut."""
    one = {
        "evaluation_length": np.array([10, 3]),
        "evaluation_terminated": np.array([True, False]),
    }
    left = deep_values.steps_to_end(one)
    assert left[:10].tolist() == [10, 9, 8, 7, 6, 5, 4, 3, 2, 1]
    assert left[10:].min() > 10**9
    errors = np.array([5.0, 7.0, *[1.0, -3.0] * 4, 100.0, 100.0, 100.0])
    bias, size = deep_values.by_steps_to_end(errors, left)
    assert len(bias) == len(size) == 32
    # Eight steps at a time: the last eight, then the two before them, then nothing.
    np.testing.assert_allclose(bias[:2], [-1.0, 6.0])
    np.testing.assert_allclose(size[:2], [np.sqrt(5.0), np.sqrt(37.0)])
    assert np.isnan(bias[2:]).all()


def test_the_spread_over_runs_by_hand() -> None:
    curves = np.array([[0.0, 0.0], [2.0, 4.0]])
    spreads = landing.resampled_spread(curves)
    assert spreads[0] == pytest.approx((np.sqrt(2) + np.sqrt(8)) / 2)
    assert set(np.round(spreads, 6)) == {0.0, round(float(spreads[0]), 6)}


def test_a_sweep_may_try_target_networks_at_some_widths_only() -> None:
    sweep = find("lander-sweep")
    config = replace(sweep.config.smoke(), widths=(16, 32, 64), target_widths=(32,))
    names = [str(block).partition(".runs")[0] for block in sweep.blocks(config)]
    with_targets = {name for name in names if name.endswith("_100")}
    assert with_targets == {"dfhq8_0.99_32_0.0001_100", "dqn_0.99_32_0.0001_100"}
    assert len(set(names)) == 2 * 3 + 2
    rng = np.random.default_rng(0)
    data = {name: 10.0 * (name in with_targets) + rng.normal(size=9) * 0.01 for name in names}
    by_name = {claim.name: claim for claim in sweep.claims(config, data)}
    assert "mean over widths 32;" in by_name["targets-help-dqn"].rule
    assert by_name["targets-help-dqn"].verdict == "holds"
    assert by_name["targets-slow-dfhq"].verdict == "fails"
    assert "from width 16 to 64, no target network" in by_name["width-hurts-dqn-more"].rule
    # What is run with all widths has the same names, and so the same files.
    assert set(names) < {
        str(block).partition(".runs")[0]
        for block in sweep.blocks(replace(config, target_widths=()))
    }


def test_target_networks_at_a_width_that_is_not_run_are_refused() -> None:
    with pytest.raises(ValueError, match=r"target_widths must be among widths, got \(8,\)"):
        replace(find("lander-sweep").config.smoke(), target_widths=(8,))
