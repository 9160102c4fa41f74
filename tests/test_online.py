"""What every learner promises, whatever its algorithm."""

import pickle
from collections import deque

import numpy as np
import pytest

from fhtd import (
    FHQ,
    FHTD,
    TD,
    Decay,
    DivergenceError,
    Features,
    FHQLambda,
    FHTDLambda,
    FixedHorizonMC,
    Linear,
    NStepFHTD,
    QLearning,
    Weighting,
    load,
    problems,
)
from learners import ALL, FIXED, HORIZON, PREDICTION, WEIGHTING, feed, is_control
from learners import overlapping_features as shared

TABLE = Features.tabular(5)


def rng(seed=0):
    return np.random.default_rng(seed)


@pytest.mark.parametrize("name", ALL)
def test_shapes_and_horizons(name):
    learner = ALL[name](shared())
    feed(name, learner, rng(), 30)
    horizons = len(learner.horizons)
    actions = (2,) if is_control(name) else ()
    assert learner.weights.shape == (*actions, 3, horizons)
    assert learner.values(2).shape == (*actions, horizons)
    expected = np.einsum("...fh,f->...h", learner.weights, shared().matrix[2])
    np.testing.assert_allclose(learner.values(2), expected)
    assert learner.step == 30
    assert type(learner).__name__ in repr(learner)


@pytest.mark.parametrize("name", FIXED)
def test_rewards_are_differences_of_horizons(name):
    learner = FIXED[name](TABLE)
    feed(name, learner, rng(), 50)
    if len(learner.horizons) < HORIZON:
        with pytest.raises(ValueError, match=r"rewards needs every horizon"):
            learner.rewards(1)
        return
    values = learner.values(1)
    before = np.concatenate([np.zeros_like(values[..., :1]), values[..., :-1]], axis=-1)
    expected = (values - before) / 0.9 ** np.arange(HORIZON)
    np.testing.assert_allclose(learner.rewards(1), expected)


@pytest.mark.parametrize("name", ["TD", "QLearning"])
def test_infinite_horizon_learners_say_what_they_cannot(name):
    learner = ALL[name](TABLE)
    with pytest.raises(TypeError, match="when rewards come"):
        learner.rewards(0)
    with pytest.raises(TypeError, match="no horizon to extend"):
        learner.extend(10)


@pytest.mark.parametrize("name", FIXED)
def test_extending_keeps_every_horizon_as_if_the_rest_were_not_there(name):
    """Compositional values: longer horizons never disturb shorter ones, before or after."""
    short, grown = (FIXED[name](shared(), step_size=0.3) for _ in range(2))
    feed(name, short, rng(1), 200)
    feed(name, grown, rng(1), 200)
    # n-step learners with n = 4 can grow from 6 to 10: 2, 6, then 10.
    assert grown.extend(10) is grown
    assert grown.horizons[-1] == 10
    np.testing.assert_array_equal(grown.weights[..., : len(short.horizons)], short.weights)
    np.testing.assert_array_equal(grown.weights[..., -1], short.weights[..., -1])
    feed(name, short, rng(2), 200)
    feed(name, grown, rng(2), 200)
    np.testing.assert_allclose(grown.weights[..., : len(short.horizons)], short.weights)
    assert not np.allclose(grown.weights[..., -1], short.weights[..., -1])


def test_an_extended_learner_is_one_that_was_born_long():
    long = Weighting.exponential(10, 0.9)
    for name in FIXED:
        born, grown = FIXED[name](TABLE, long), FIXED[name](TABLE)
        grown.extend(long, initial=0.0)
        feed(name, born, rng(), 60)
        feed(name, grown, rng(), 60)
        np.testing.assert_array_equal(born.weights, grown.weights)


def test_extend_refuses_what_would_change_the_past():
    learner = FHTD(TABLE, Weighting.hyperbolic(6))
    with pytest.raises(ValueError, match="horizon 8 is not determined"):
        learner.extend(8)
    with pytest.raises(ValueError, match="keeps the first 6"):
        learner.extend(Weighting.hyperbolic(8))
    with pytest.raises(ValueError, match="at least 6"):
        learner.extend(3)
    with pytest.raises(ValueError, match="do not continue"):
        NStepFHTD(TABLE, WEIGHTING, 4).extend(8)


@pytest.mark.parametrize("name", ALL)
def test_save_and_load_continue_to_the_bit(name, tmp_path):
    path = tmp_path / "learner.npz"
    first = ALL[name](shared(), step_size=Decay(0.1, 50), initial_spread=0.1, seed=3)
    feed(name, first, rng(1), 33)
    first.save(path)
    second = type(first).load(path)
    assert second.step == first.step
    feed(name, first, rng(2), 33)
    feed(name, second, rng(2), 33)
    np.testing.assert_array_equal(first.weights, second.weights)
    if is_control(name):
        assert [first.act(s) for s in (0, 1, 2) * 9] == [second.act(s) for s in (0, 1, 2) * 9]


def test_save_and_load_all_kinds_of_features_and_numbers(tmp_path):
    path = tmp_path / "learner.npz"
    tiles = Features.tile_coded([0.0, -1.0], [1.0, 1.0], tiles=4, n_tilings=3)
    observation = np.array([0.3, 0.2])
    for learner in (
        FHTD(tiles, WEIGHTING),
        FHTD(Features.dense(2), Weighting.fourier(5, 1)),
        TD(tiles, 0.5 + 0.1j),
    ):
        learner.update(observation, 1.0, observation)
        learner.save(path)
        np.testing.assert_array_equal(load(path).values(observation), learner.values(observation))
        assert load(path).weighting == learner.weighting


def test_functions_cannot_be_saved_but_given_back(tmp_path):
    path = tmp_path / "learner.npz"
    FHTD(TABLE, WEIGHTING, step_size=lambda t: 1 / (t + 1)).save(path)
    with pytest.raises(ValueError, match="step_size was a function"):
        load(path)
    assert load(path, step_size=lambda t: 0.5).step_size(0) == 0.5
    with pytest.raises(TypeError, match="cannot replace 'epsilon' of a FHTD"):
        load(path, epsilon=0.1)


def test_files_of_another_learner_are_refused(tmp_path):
    path = tmp_path / "learner.npz"
    FHTDLambda(TABLE, WEIGHTING, 0.5).save(path)
    with pytest.raises(ValueError, match="holds a FHTDLambda, not a FHQ"):
        FHQ.load(path)
    with pytest.raises(FileNotFoundError):
        load(tmp_path / "missing.npz")


def test_the_first_updates_of_the_last_horizon_are_tds():
    """Identically initialised, horizon H follows TD for H - 1 steps, then departs."""
    horizon, experience = 6, rng(5)
    first = experience.normal(size=(5, 1))
    fixed = FHTD(TABLE, Weighting.exponential(horizon, 0.9), initial=first, step_size=0.5)
    td = TD(TABLE, 0.9, initial=first, step_size=0.5)
    agreed = []
    for _ in range(40 * horizon):
        s, following = (int(i) for i in experience.integers(5, size=2))
        reward = float(experience.normal())
        for learner in (fixed, td):
            learner.update(s, reward, following)
        agreed.append(np.allclose(fixed.weights[:, -1], td.weights[:, 0], rtol=0, atol=1e-13))
    assert all(agreed[: horizon - 1])
    assert not agreed[-1]


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"reward": np.nan}, ValueError, "reward must be finite"),
        ({"reward": np.inf}, ValueError, "reward must be finite"),
        ({"reward": "1"}, TypeError, "reward must be a real"),
        ({"observation": 5}, ValueError, r"^observation must be a state from 0 to 4"),
        ({"next_observation": -1}, ValueError, "next_observation must be"),
        ({"observation": 1.5}, TypeError, "observation must be an integer"),
    ],
)
def test_bad_transitions_change_nothing(name, change, error, message):
    learner = ALL[name](TABLE)
    feed(name, learner, rng(), 9)
    before = [np.copy(field) for field in learner._state]
    good = {"observation": 0, "reward": 1.0, "next_observation": 1}
    if is_control(name):
        good["action"] = 0
    with pytest.raises(error, match=message):
        learner.update(**(good | change))
    for then, now in zip(before, learner._state, strict=True):
        np.testing.assert_array_equal(then, now)
    assert learner.step == 9


@pytest.mark.parametrize("name", ALL)
def test_what_comes_after_a_termination_does_not_matter(name):
    """It may be left out: there is no next action, say, to make a pair of."""
    learners = [ALL[name](TABLE, initial=0.5, step_size=0.1) for _ in range(2)]
    for learner, after in zip(learners, (3, None), strict=True):
        feed(name, learner, rng(), 9)
        action = (1,) if is_control(name) else ()
        learner.update(2, *action, 1.0, after, terminated=True)
        feed(name, learner, rng(), 9)
    np.testing.assert_array_equal(learners[0].weights, learners[1].weights)
    with pytest.raises((TypeError, ValueError), match="next_observation"):
        learners[1].update(2, *action, 1.0, None, truncated=True)


@pytest.mark.parametrize("single", [[1.5], (1.5,), np.array([1.5]), deque([1.5])])
@pytest.mark.parametrize("name", ALL)
def test_one_reward_may_come_in_a_list(name, single):
    """As the rewards of an option do, however many there are."""
    learners = [ALL[name](TABLE) for _ in range(2)]
    action = (1,) if is_control(name) else ()
    for learner, reward in zip(learners, (1.5, single), strict=True):
        learner.update(2, *action, reward, 3, duration=1)
    np.testing.assert_array_equal(learners[0].weights, learners[1].weights)
    with pytest.raises(TypeError, match="reward must be a real number"):
        learners[0].update(2, *action, [1.5, 2.0], 3)


def test_bad_ratios_actions_and_policies_are_refused():
    for ratio in (-0.5, np.nan, np.inf):
        with pytest.raises(ValueError, match="ratio must be"):
            FHTD(TABLE, WEIGHTING).update(0, 1.0, 1, ratio=ratio)
    control = FHQ(TABLE, 2, WEIGHTING)
    for action in (2, -1):
        with pytest.raises(ValueError, match="action must be from 0 to 1"):
            control.update(0, action, 1.0, 1)
    with pytest.raises(ValueError, match="next_policy must sum to 1"):
        control.update(0, 1, 1.0, 1, next_policy=[0.5, 0.6])
    with pytest.raises(ValueError, match="next_policy is not defined"):
        FHQLambda(TABLE, 2, WEIGHTING, 0.5).update(0, 1, 1.0, 1, next_policy=[0.5, 0.5])
    assert not control.weights.any()


@pytest.mark.parametrize(
    ("build", "error", "message"),
    [
        (lambda: FHTD(TABLE, 0.9), TypeError, "weighting must be a Weighting"),
        (lambda: FHTD(5, WEIGHTING), TypeError, "features must be"),
        (lambda: FHTD(TABLE, WEIGHTING, step_size=-1), ValueError, "step_size must be"),
        (lambda: FHTD(TABLE, WEIGHTING, step_size=np.nan), ValueError, "step_size must be"),
        (lambda: FHTD(TABLE, WEIGHTING, step_size=lambda t: -1.0), ValueError, "step_size"),
        (lambda: FHTD(TABLE, WEIGHTING, initial=np.zeros(3)), ValueError, "initial must broad"),
        (lambda: FHTD(TABLE, WEIGHTING, initial=np.inf), ValueError, "initial must hold finite"),
        (lambda: FHTD(TABLE, WEIGHTING, initial=1j), TypeError, "initial must hold real"),
        (lambda: FHTD(TABLE, WEIGHTING, initial_spread=-1), ValueError, "initial_spread"),
        (lambda: FHTD(TABLE, WEIGHTING, speed=1), TypeError, "argument 'speed'"),
        (
            lambda: FHQLambda(TABLE, 2, Weighting.exponential(3, -0.5), 0.5),
            ValueError,
            "weighting must have bootstraps of at least 0",
        ),
        (lambda: NStepFHTD(TABLE, WEIGHTING, 7), ValueError, "n must be from 1 to 6"),
        (lambda: NStepFHTD(TABLE, WEIGHTING, 0), ValueError, "n must be from 1 to 6"),
        (lambda: NStepFHTD(TABLE, WEIGHTING, 2.0), TypeError, "n must be an integer"),
        (lambda: FHTDLambda(TABLE, WEIGHTING, 1.1), ValueError, "lambda_ must be"),
        (lambda: TD(TABLE, np.nan), ValueError, "discount must be finite"),
        (lambda: TD(TABLE, "0.9"), TypeError, "discount must be"),
        (lambda: FHQ(TABLE, 0, WEIGHTING), ValueError, "n_actions must be"),
        (lambda: FHQ(TABLE, 2, WEIGHTING, epsilon=1.5), ValueError, "epsilon must be"),
        (lambda: FHQLambda(TABLE, 2, Weighting.fourier(3, 1), 0.5), ValueError, "must be real"),
        (lambda: Decay(0.1, 0.0), ValueError, "offset must be"),
        (lambda: Linear(1.0, 0.1, 0), ValueError, "steps must be"),
    ],
)
def test_bad_settings_are_refused_by_name(build, error, message):
    with pytest.raises(error, match=message):
        build()


def baird_loop(learner, steps):
    """Off-policy experience of Baird's counterexample, one transition at a time."""
    problem, generator = problems.baird(), rng(7)
    state = 0
    for _ in range(steps):
        solid = generator.random() < 1 / 7
        following = 6 if solid else int(generator.integers(6))
        learner.update(state, 0.0, following, ratio=7.0 if solid else 0.0)
        state = following
    return np.abs(problem.features.matrix @ learner.weights[:, -1]).max()


def test_td_diverges_on_baird_and_says_when_fhtd_does_not():
    problem = problems.baird()
    first = problem.initial_weights[:, None]
    # Large steps bring the overflow within reach.
    td = TD(problem.features, 0.99, step_size=0.3, initial=first)
    with pytest.raises(DivergenceError, match="TD diverged") as caught:
        baird_loop(td, 20_000)
    assert caught.value.step == td.step > 100
    assert caught.value.horizon == np.inf
    assert not np.isfinite(td.weights).all()
    fhtd = FHTD(problem.features, Weighting.exponential(20, 0.99), step_size=0.2 / 7, initial=first)
    assert baird_loop(fhtd, 4000) < 1e-3


def test_divergence_names_the_first_horizon_and_can_be_allowed():
    for allow in (False, True):
        learner = FHTD(
            TABLE, Weighting.exponential(3, 1e200), step_size=1.0, allow_divergence=allow
        )
        learner.update(0, 1.0, 0)
        learner.update(0, 1.0, 0)
        if allow:
            learner.update(0, 1.0, 0)
            assert np.isinf(learner.weights[0, 2])
        else:
            with pytest.raises(DivergenceError) as caught:
                learner.update(0, 1.0, 0)
            assert (caught.value.step, caught.value.horizon) == (3, 3)


@pytest.mark.parametrize("name", PREDICTION)
def test_initial_values_same_or_random_per_horizon(name):
    same = PREDICTION[name](TABLE, initial=2.5)
    assert np.all(same.weights == 2.5)
    noisy = PREDICTION[name](TABLE, initial=2.5, initial_spread=1.0, seed=1)
    again = PREDICTION[name](TABLE, initial=2.5, initial_spread=1.0, seed=1)
    other = PREDICTION[name](TABLE, initial=2.5, initial_spread=1.0, seed=2)
    assert len(np.unique(noisy.weights)) == noisy.weights.size
    np.testing.assert_array_equal(noisy.weights, again.weights)
    assert not np.any(noisy.weights == other.weights)


def test_schedules():
    assert Decay(0.5, 10, 1.0)(10) == 0.25
    assert [Linear(1.0, 0.1, 9)(t) for t in (0, 9, 99)] == pytest.approx([1.0, 0.1, 0.1])
    learner = FHTD(TABLE, Weighting.exponential(1), step_size=lambda t: 1 / (t + 1))
    for reward in (1.0, 2.0, 6.0):
        learner.update(0, reward, 0)
    # Averaging: the mean of all rewards.
    assert learner.values(0) == pytest.approx([3.0])


def test_acting_breaks_ties_at_random_and_explores():
    learner = FHQ(TABLE, 3, Weighting.exponential(4), epsilon=0.0, seed=0)
    assert {learner.act(0) for _ in range(60)} == {0, 1, 2}
    learner.update(0, 1, 5.0, 1)
    learner.weights[2, 0, 0] = 9.0  # a short horizon does not decide
    assert {learner.act(0) for _ in range(60)} == {1}
    assert learner.predict(0) == (1, None)
    np.testing.assert_array_equal(learner.predict(np.array([0, 0]))[0], [1, 1])
    eager = FHQ(TABLE, 3, Weighting.exponential(4), epsilon=1.0, seed=0)
    eager.update(0, 1, 5.0, 1)
    assert {eager.act(0) for _ in range(60)} == {0, 1, 2}
    assert {eager.predict(0)[0] for _ in range(9)} == {1}


def test_complex_values_have_no_greedy_action():
    learner = FHQ(TABLE, 2, Weighting.fourier(4, 1))
    with pytest.raises(ValueError, match="next_policy is needed"):
        learner.update(0, 0, 1.0, 1)
    learner.update(0, 0, 1.0, 1, next_policy=[0.5, 0.5])
    assert learner.weights.dtype == np.complex128
    with pytest.raises(ValueError, match="no greedy action"):
        learner.act(0)
    with pytest.raises(ValueError, match="next_policy is needed"):
        QLearning(TABLE, 2, 0.5j).update(0, 0, 1.0, 1)


@pytest.mark.parametrize(
    "build",
    [FHTD, FixedHorizonMC, lambda f, w: NStepFHTD(f, w, 50), lambda f, w: FHTDLambda(f, w, 0.5)],
)
def test_memory_is_the_weights_and_a_few_rows(build):
    horizon, n_states = 200, 300
    learner = build(Features.tabular(n_states), Weighting.exponential(horizon))
    held = sum(field.nbytes for field in learner._state if isinstance(field, np.ndarray))
    assert held <= learner._state.weights.nbytes + 10 * 8 * (horizon + 1)


@pytest.mark.parametrize("name", ALL)
def test_a_new_episode_forgets_the_past_and_nothing_else(name):
    """As if a fresh learner with the same weights had begun."""
    learner, fresh = (ALL[name](TABLE, step_size=0.5) for _ in range(2))
    action = (0,) if is_control(name) else ()
    for s in range(4):
        learner.update(s, *action, 1.0, s + 1)
    learner.new_episode()
    fresh.weights[...] = learner.weights
    if name == "TDC":
        fresh._state.secondary[:] = learner._state.secondary
    for one in (learner, fresh):
        one.update(4, *action, 1.0, 0)
        one.update(0, *action, 2.0, 1, terminated=True)
    np.testing.assert_array_equal(learner.weights, fresh.weights)


def test_control_maximises_only_where_more_is_better():
    learner = FHQ(TABLE, 2, Weighting.exponential(4, -0.5))
    with pytest.raises(ValueError, match="next_policy is needed: weighting must have bootstraps"):
        learner.update(0, 0, 1.0, 1)
    learner.update(0, 0, 1.0, 1, next_policy=[0.5, 0.5])
    with pytest.raises(ValueError, match="next_policy is needed: weighting must have bootstraps"):
        QLearning(TABLE, 2, -0.5).update(0, 0, 1.0, 1)


def test_an_error_of_divergence_advises_as_it_is_told():
    error = DivergenceError("DFHQ", 7, 3.0, advice="use a smaller learning_rate")
    again = pickle.loads(pickle.dumps(error))
    for one in (error, again):
        assert str(one).endswith("at step 7; use a smaller learning_rate")
        assert (one.learner, one.step, one.horizon, one.run) == ("DFHQ", 7, 3.0, None)
    assert "step_size" in str(DivergenceError("FHTD", 7, 3.0, 1))
