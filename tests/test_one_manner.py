"""Learners and agents alike: what is typed, what is shown, what is said of a mistake."""

import inspect
from pathlib import Path

import numpy as np
import pytest

from fhtd import FHQ, FHTD, FHQLambda, QLearning, Weighting, oracle, problems, simulate
from worlds import wrong

FOUR = Weighting.exponential(4)


def test_a_learner_is_built_for_an_environment_and_knows_it(tmp_path: Path) -> None:
    learner = FHQ("FrozenLake-v1", weighting=FOUR, seed=0).learn(500, seed=1)
    assert (learner.n_actions, learner.features.size) == (4, 16)
    assert learner.frames == 500
    assert learner.evaluate(3).shape == (3,)
    learner.save(tmp_path / "fhq.npz")
    again = FHQ.load(tmp_path / "fhq.npz", env="FrozenLake-v1")
    np.testing.assert_array_equal(again.evaluate(3), learner.evaluate(3))
    again.learn(10)
    bare = FHQ.load(tmp_path / "fhq.npz")
    with pytest.raises(TypeError, match="evaluate needs an environment"):
        bare.evaluate()
    with pytest.raises(TypeError, match="learn needs an environment"):
        bare.learn(10)
    # As before: features and actions, and the environment when learning.
    plain = FHQ(learner.features, 4, FOUR, seed=0).learn("FrozenLake-v1", 500, seed=1)
    np.testing.assert_array_equal(plain.weights, learner.weights)
    assert plain.evaluate(2).shape == (2,)


def test_every_control_learner_takes_an_environment() -> None:
    assert FHQLambda("FrozenLake-v1", weighting=FOUR, lambda_=0.5).n_actions == 4
    assert QLearning("FrozenLake-v1", discount=0.9).n_actions == 4
    with pytest.raises(TypeError, match="weighting must be a Weighting"):
        FHQ("FrozenLake-v1")
    with pytest.raises(TypeError, match="discount must be"):
        QLearning("FrozenLake-v1")
    with pytest.raises(TypeError, match="n_actions must be an integer"):
        FHQ(problems.baird().features, weighting=FOUR)


def test_predict_has_one_default() -> None:
    deep = pytest.importorskip("fhtd.deep")
    for kind in (FHQ, QLearning, deep.DFHQ, deep.DQN):
        assert inspect.signature(kind.predict).parameters["deterministic"].default is True


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda k: k("CartPole-v1", gamma=0.9), "gamma is not a setting of DFHQ: did you mean dis"),
        (lambda k: k("CartPole-v1", hidden=64), r"hidden must be widths such as \(64, 64\), or"),
        (lambda k: k("MlpPolicy", "CartPole-v1"), "takes no policy 'MlpPolicy': the environment"),
        (lambda k: k(env="CartPole-v1"), "env is called environment here"),
        (lambda k: k("CartPole-v1", verbose=1), "verbose is not a setting of DFHQ: give it to le"),
        (lambda k: k("CartPole-v1", tensorboard_log="x"), "the callback fhtd.boards.TensorBoard"),
        (lambda k: k("CartPole-v1", learning_rat=1), "did you mean learning_rate"),
    ],
)
def test_calls_of_other_libraries_are_explained(call: wrong, says: str) -> None:
    deep = pytest.importorskip("fhtd.deep")
    with pytest.raises(TypeError, match=says):
        call(deep.DFHQ)


def test_environment_and_env_are_one(tmp_path: Path) -> None:
    deep = pytest.importorskip("fhtd.deep")
    agent = deep.DFHQ("CartPole-v1", preset="paper", horizon=2, hidden=(4,))
    agent.save(tmp_path / "a.npz")
    assert deep.DFHQ.load(tmp_path / "a.npz", env="CartPole-v1").horizons.tolist() == [1, 2]
    with pytest.raises(TypeError, match="either environment or env"):
        deep.DFHQ.load(tmp_path / "a.npz", "CartPole-v1", env="CartPole-v1")


def test_representations_are_one_short_line() -> None:
    baird = problems.baird()
    learner = FHTD(baird.features, FOUR, initial=baird.initial_weights[:, None])
    found = simulate(
        learner,
        baird.mdp,
        steps=20,
        runs=3,
        behaviour=baird.behaviour,
        target=baird.target,
        record_weights=[4],
    )
    assert repr(baird.mdp) == 'FiniteMDP("Baird\'s counterexample", 7 states, 2 actions)'
    assert repr(baird).startswith('Problem("Baird\'s counterexample", 7 states, 2 actions, 8 fea')
    assert repr(found) == "Simulation(3 runs, 20 records to 20 steps: weights)"
    assert max(len(repr(one)) for one in (baird, baird.mdp, found)) < 120


def test_a_simulation_draws_itself() -> None:
    pytest.importorskip("matplotlib")
    walk = problems.random_walk()
    truth = oracle.state_values(walk.mdp, walk.target, FOUR)
    options = {"runs": 5, "behaviour": walk.behaviour}
    found = simulate(FHTD(walk.features, FOUR), walk.mdp, steps=30, truth=truth, **options)
    axes = found.plot()
    assert [line.get_label() for line in axes.lines] == [f"horizon {h}" for h in (1, 2, 3, 4)]
    for h, line in enumerate(axes.lines):
        np.testing.assert_array_equal(line.get_ydata(), found.errors.mean[:, h])
    assert axes.get_title() == "mean of 5 runs, 95% intervals"
    assert len(found.plot(horizons=[4]).lines) == 1
    with pytest.raises(ValueError, match="horizons must be from 1 to 4"):
        found.plot(horizons=[5])
    episodes = simulate(FHTD(walk.features, FOUR), walk.mdp, episodes=6, **options)
    assert episodes.plot().get_xlabel() == "episode"
    nothing = simulate(FHTD(walk.features, FOUR), walk.mdp, steps=6, **options)
    with pytest.raises(ValueError, match="measured nothing to plot"):
        nothing.plot()
