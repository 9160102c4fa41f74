"""DQN with auxiliary horizons: their targets, what they must not touch, files and pages."""

import csv
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest

from fhtd import Weighting, oracle, problems
from fhtd.commands.main import main
from fhtd.deep import DFHQ, DQN, Backup
from fhtd.deep.layout import Batch
from fhtd.envs import FiniteMDPEnv, Repeat
from fhtd.pages import watch
from scripted import Scripted, with_values
from test_episode import array, content

SMALL: dict[str, Any] = {"hidden": (8,), "learning_starts": 20, "epsilon_frames": 100}
GAMMA = 0.9


def drawn(n: int, count: int = 40) -> Batch:
    """Transitions of up to n steps, some of which ended."""
    rng = np.random.default_rng(n)
    lengths = rng.integers(1, n + 1, count)
    rewards = np.where(np.arange(n) < lengths[:, None], rng.normal(size=(count, n)), 0.0)
    ended = (rng.random(count) < 0.3).astype(float)
    return Batch(None, None, rewards, None, ended, None, lengths)


@pytest.mark.parametrize("n", [1, 2, 3, 6])
@pytest.mark.parametrize("auxiliary", [0, 1, 4])
def test_targets_are_sums_of_rewards_and_what_comes_after(n: int, auxiliary: int) -> None:
    batch, size = drawn(n), auxiliary + 1
    following = np.random.default_rng(9).normal(size=(len(batch.rewards), size))
    found, known = Backup.infinite_horizon(GAMMA, n, auxiliary).targets(batch, following)
    assert np.all(known)
    for i, length in enumerate(batch.lengths):
        for j in range(size):
            reach = min(length, j + 1) if j < auxiliary else length
            expected = sum(GAMMA**k * batch.rewards[i, k] for k in range(reach))
            if not batch.terminated[i]:
                if j == auxiliary:
                    expected += GAMMA**length * following[i, j]
                elif j >= length:
                    expected += GAMMA**length * following[i, j - length]
            assert found[i, j] == pytest.approx(expected)


@pytest.mark.parametrize("n", [1, 3])
def test_auxiliary_targets_are_those_of_dfhq(n: int) -> None:
    batch, following = drawn(n), np.random.default_rng(9).normal(size=(40, 6))
    fixed = Backup.fixed_horizons(Weighting.exponential(5, GAMMA), n, range(1, 6))
    expected, _ = fixed.targets(batch, following[:, :5])
    found, _ = Backup.infinite_horizon(GAMMA, n, 5).targets(batch, following)
    np.testing.assert_array_equal(found[:, :5], expected)


@pytest.mark.parametrize("n", [1, 3])
def test_the_last_output_bootstraps_from_itself_alone(n: int) -> None:
    batch, following = drawn(n), np.random.default_rng(9).normal(size=(40, 6))
    backup = Backup.infinite_horizon(GAMMA, n, 5)
    before, _ = backup.targets(batch, following)
    alone, _ = Backup.infinite_horizon(GAMMA, n).targets(batch, following[:, -1:])
    np.testing.assert_array_equal(before[:, -1:], alone)
    others, last = following.copy(), following.copy()
    others[:, :-1] += 100
    last[:, -1] += 100
    np.testing.assert_array_equal(backup.targets(batch, others)[0][:, -1], before[:, -1])
    np.testing.assert_array_equal(backup.targets(batch, last)[0][:, :-1], before[:, :-1])
    # What is changed does count elsewhere.
    assert not np.array_equal(backup.targets(batch, others)[0], before)
    assert not np.array_equal(backup.targets(batch, last)[0], before)


def test_every_output_comes_to_its_exact_values() -> None:
    mdp = problems.random_walk(5).mdp
    agent = DQN(
        FiniteMDPEnv(mdp),
        preset="paper",
        seed=0,
        hidden=(),
        auxiliary_horizons=3,
        discount=GAMMA,
        optimiser="adam",
        learning_rate=0.02,
        epsilon_final=1.0,
        learning_starts=50,
        batch_size=64,
    ).learn(4000)
    fixed = oracle.optimal(mdp, Weighting.exponential(3, GAMMA)).action_values
    endless = oracle.infinite_optimal(mdp, GAMMA).action_values
    states = [s for s in range(mdp.n_states) if not mdp.terminal_states[s]]
    found = np.array([agent.values(s) for s in states])
    np.testing.assert_allclose(found[:, :, :3], fixed[states], atol=0.03)
    np.testing.assert_allclose(found[:, :, 3], endless[states], atol=0.03)


def test_only_the_value_without_end_is_acted_on() -> None:
    agent = DQN(Scripted(length=10**6), preset="paper", hidden=(), auxiliary_horizons=2)
    with_values(agent, [[9, 9, 0], [0, 0, 1]])
    assert agent.predict([1.0])[0] == 1
    assert next(agent.episode(Scripted())).action == 1
    with_values(agent, [[0, 0, 1], [9, 9, 0]])
    assert agent.predict([1.0])[0] == 0


def test_actions_of_several_steps_reach_as_many_horizons_down() -> None:
    options: dict[str, Any] = {"hidden": (), "discount": 0.5, "learning_starts": 1}
    place = Repeat(Scripted(length=10**6), 3)
    agent = DQN(place, preset="paper", auxiliary_horizons=4, max_duration=3, **options)
    with_values(agent, [[1, 2, 3, 4, 8], [0, 0, 0, 0, 0]]).learn(1)
    sums = [1, 1.5, 1.75, 1.75 + 1 / 8, 1.75 + 8 / 8]
    np.testing.assert_allclose(agent.take_statistics()["target"], sums)


def test_its_outputs_share_the_hidden_layers_and_first_weights_of_dfhq() -> None:
    ours = DQN("CartPole-v1", preset="paper", auxiliary_horizons=3, **SMALL)
    theirs = DFHQ("CartPole-v1", preset="paper", horizon=4, **SMALL)
    for one, other in zip(ours.state.parameters, theirs.state.parameters, strict=True):
        np.testing.assert_array_equal(one, other)


def test_horizons_logs_and_returns_know_of_both_kinds() -> None:
    agent = DQN("CartPole-v1", preset="paper", discount=0.5, auxiliary_horizons=2, **SMALL)
    assert agent.horizons.tolist() == [1, 2, np.inf]
    assert agent.output_names() == ["h1", "h2", "hinf"]
    np.testing.assert_array_equal(
        agent.reward_weights(4), [[1, 0, 0, 0], [1, 0.5, 0, 0], [1, 0.5, 0.25, 0.125]]
    )
    np.testing.assert_allclose(agent.returns(np.array([1.0, 2.0, 4.0])), [3, 4, 4])
    assert "infinite horizon, 2 auxiliary ones" in repr(agent)
    assert agent.learn(60).take_statistics()["target"].shape == (3,)


def test_saved_and_loaded_it_goes_on_to_the_same_bits(tmp_path: Path) -> None:
    agent = DQN("CartPole-v1", preset="paper", seed=3, auxiliary_horizons=4, **SMALL).learn(80)
    agent.save(tmp_path / "agent.npz")
    again = DQN.load(tmp_path / "agent.npz")
    assert again.settings.auxiliary_horizons == 4
    for one in (agent, again):
        one.learn(70)
    for one, other in zip(*(jax.tree.leaves(a.state) for a in (agent, again)), strict=True):
        np.testing.assert_array_equal(one, other)


def test_the_command_trains_logs_and_resumes(tmp_path: Path) -> None:
    def train(folder: Path, frames: int, *more: str) -> None:
        words = f"train CartPole-v1 --algorithm dqn --preset paper --frames {frames} --hidden 8"
        words += f" --auxiliary-horizons 2 --log-every 1 --out {folder}"
        assert main([*words.split(), *more]) == 0

    train(tmp_path / "whole", 400)
    train(tmp_path / "parts", 250)
    assert main(["train", "--resume", str(tmp_path / "parts"), "--frames", "400"]) == 0
    whole, parts = ((tmp_path / name / "progress.csv").read_bytes() for name in ("whole", "parts"))
    assert whole == parts
    with open(tmp_path / "whole" / "progress.csv", newline="") as file:
        row = list(csv.DictReader(file))[-1]
    assert {"train/target_h1", "train/target_h2", "train/target_hinf"} <= set(row)
    # Every reward of CartPole is 1.
    assert float(row["train/target_h1"]) == pytest.approx(1)


def test_the_page_of_an_episode_shows_both_kinds() -> None:
    mdp = problems.checkered_grid().mdp

    def world() -> Any:
        return FiniteMDPEnv(mdp, render_mode="rgb_array")

    agent = DQN(world(), preset="paper", auxiliary_horizons=3, **SMALL)
    steps = list(agent.episode(world(), epsilon=1.0, seed=0))
    text = watch(agent, world(), epsilon=1.0)
    endless, fixed = content(text)["signals"]
    assert endless["horizons"] == [None]
    assert fixed["horizons"] == [1, 2, 3]
    values = np.array([step.values for step in steps])
    np.testing.assert_array_equal(array(endless["values"]), values[:, :, 3:])
    np.testing.assert_array_equal(array(fixed["values"]), values[:, :, :3])
    np.testing.assert_allclose(array(endless["weights"]), [0.99 ** np.arange(len(steps))])
    np.testing.assert_allclose(
        array(fixed["weights"]), Weighting.exponential(3, 0.99).coefficients()
    )
    # Single rewards are told by the differences of the auxiliary ones alone.
    assert endless["hidden"]
    assert not fixed["hidden"]
    assert "chart-horizon-1" in text
    assert "chart-horizon-0" not in text


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"auxiliary_horizons": -1}, "auxiliary_horizons must be"),
        ({"auxiliary_horizons": 2**20}, "auxiliary_horizons must be"),
        ({"auxiliary_horizons": 1.5}, "auxiliary_horizons must be"),
        ({"auxiliary_horizons": True}, "auxiliary_horizons must be"),
        ({"auxiliary_horizons": 4000, "n_step": 200}, "n_step 200 is too large"),
    ],
)
def test_bad_numbers_of_auxiliary_horizons_are_refused(
    options: dict[str, Any], message: str
) -> None:
    with pytest.raises((ValueError, TypeError), match=message):
        DQN("CartPole-v1", preset="paper", **SMALL, **options)
