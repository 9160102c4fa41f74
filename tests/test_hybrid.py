"""n-step control, the hybrid and closed sets of horizons: oracle, convergence, files, refusals."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

import fhtd
from fhtd import (
    FHQ,
    Decay,
    Features,
    FiniteMDP,
    NStepFHQ,
    NStepFHTD,
    Weighting,
    oracle,
    simulate,
)
from fhtd.horizons import closed_horizons
from learners import feed, overlapping_features
from strategies import finite_mdps, policies, weightings

TABLE = Features.tabular(5)
WEIGHTING = Weighting.exponential(6, 0.9)


def small_mdp(ends=True):
    """Four states, two actions, two outcomes each; some end the episode."""
    rng = np.random.default_rng(5)
    shape = (4, 2, 2)
    probabilities = rng.dirichlet([1.0, 1.0], size=shape[:2])
    terminal = np.zeros(shape, np.bool_)
    terminal[:, 0, 1] = ends
    return FiniteMDP(
        probabilities,
        rng.integers(4, size=shape),
        rng.normal(size=shape),
        terminal,
        np.full(4, 0.25),
    )


BEHAVIOUR = np.array([[0.6, 0.4], [0.3, 0.7], [0.5, 0.5], [0.8, 0.2]])


# Which horizons are learned


@pytest.mark.parametrize(
    ("final", "n", "k", "expected"),
    [
        (10, 4, 0, [2, 6, 10]),
        (12, 4, 0, [4, 8, 12]),
        (10, 4, 2, [1, 2, 6, 10]),
        (10, 4, 3, [1, 2, 3, 6, 10]),
        (12, 4, 2, [1, 2, 4, 8, 12]),
        (4, 4, 3, [1, 2, 3, 4]),
        (4, 2, 9, [1, 2, 3, 4]),
        (3, 1, 0, [1, 2, 3]),
    ],
)
def test_the_final_horizon_says_which_others_are_needed(final, n, k, expected):
    assert closed_horizons(final, n, one_step_horizons=k) == expected
    learner = NStepFHQ(TABLE, 2, Weighting.exponential(final), n, one_step_horizons=k)
    assert learner.horizons.tolist() == expected


@pytest.mark.parametrize("build", [lambda **o: NStepFHQ(TABLE, 2, WEIGHTING, 3, **o),
                                   lambda **o: NStepFHTD(TABLE, WEIGHTING, 3, **o)])  # fmt: skip
@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"horizons": [2, 6]}, r"6 bootstraps from 3 \(n is 3\), which is not among them"),
        (
            {"horizons": [1, 4, 6], "one_step_horizons": 2},
            r"4 bootstraps from 2 \(n is 3, one_step_horizons 2\)",
        ),
        ({"horizons": [2, 6], "one_step_horizons": 2}, "2 bootstraps from 1"),
        ({"horizons": [3]}, "horizons must ascend to the final horizon 6"),
        ({"horizons": [6, 3]}, "horizons must ascend"),
        ({"horizons": []}, "horizons must ascend"),
        ({"horizons": [0, 3, 6]}, "horizons must be from 1 to 6"),
        ({"one_step_horizons": -1}, "one_step_horizons must be"),
    ],
)
def test_sets_that_are_not_closed_are_refused_by_name(build, options, message):
    with pytest.raises(ValueError, match=message):
        build(**options)


def test_n_is_asked_for_by_name():
    with pytest.raises(TypeError, match="n must be an integer"):
        NStepFHQ(TABLE, 2, WEIGHTING)
    with pytest.raises(ValueError, match="n 20000 is too large for 20000 horizons"):
        NStepFHQ(TABLE, 2, Weighting.exponential(20_000), 20_000, one_step_horizons=20_000)


# The oracle


def expected_target(mdp, mu, weighting, q, state, action, h, m):
    """The mean over all paths of m steps of rewards and the best of what is left; plain loops."""
    c, d = weighting.rewards[h - 1], weighting.bootstraps[h - 1]
    total = 0.0
    for i in range(mdp.probabilities.shape[2]):
        p, reward = mdp.probabilities[state, action, i], mdp.rewards[state, action, i]
        following, ahead = mdp.next_states[state, action, i], 0.0
        if not mdp.terminal[state, action, i]:
            if m == 1:
                ahead = max(q[following][a][h - 1] for a in range(mdp.n_actions))
            else:
                for a in range(mdp.n_actions):
                    if mu[following, a]:
                        ahead += mu[following, a] * expected_target(
                            mdp, mu, weighting, q, following, a, h - 1, m - 1
                        )
        total += p * (c * reward + d * ahead)
    return total


@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_the_oracle_is_the_mean_over_all_paths(data):
    mdp = data.draw(finite_mdps(max_states=3, max_actions=2, max_outcomes=2))
    mu = data.draw(policies(mdp))
    weighting = data.draw(weightings(4, allow_complex=False, allow_negative=False))
    n, k = data.draw(st.integers(1, 4)), data.draw(st.integers(0, 5))
    found = oracle.hybrid_values(mdp, mu, weighting, n, k)
    pairs = list(itertools.product(range(mdp.n_states), range(mdp.n_actions)))
    q = [[[0.0] * 5 for _ in range(mdp.n_actions)] for _ in range(mdp.n_states)]
    for h in range(1, 5):
        m = 1 if h <= k else min(n, h - k)
        for s, a in pairs:
            q[s][a][h] = expected_target(mdp, mu, weighting, q, s, a, h, m)
    assert_allclose(found, np.array(q)[:, :, 1:], rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize(("n", "k"), [(1, 0), (3, 6), (3, 9)])
def test_one_step_everywhere_is_optimal(n, k):
    mdp = small_mdp()
    exact = oracle.optimal(mdp, WEIGHTING).action_values
    assert_allclose(oracle.hybrid_values(mdp, BEHAVIOUR, WEIGHTING, n, k), exact)
    assert not np.allclose(oracle.hybrid_values(mdp, BEHAVIOUR, WEIGHTING, 3, 2), exact)


# Convergence


def settled(learner, mdp=None, **options):
    """Root-mean-square error of every learned horizon in the end."""
    found = simulate(
        learner,
        small_mdp() if mdp is None else mdp,
        steps=400_000,
        behaviour=BEHAVIOUR,
        record_at=[400_000],
        seed=3,
        **options,
    )
    return found.errors.mean[0]


@pytest.mark.parametrize(
    ("n", "k", "horizons"),
    [(3, 0, None), (4, 0, None), (2, 3, None), (4, 1, None), (3, 1, [1, 2, 3, 4, 6]), (2, 6, None)],
)
def test_control_converges_to_its_oracle(n, k, horizons):
    mdp, options = small_mdp(), {"one_step_horizons": k, "horizons": horizons}
    learner = NStepFHQ(Features.tabular(4), 2, WEIGHTING, n, step_size=Decay(0.5, 200), **options)
    exact = oracle.hybrid_values(mdp, BEHAVIOUR, WEIGHTING, n, k)
    assert settled(learner, truth=exact).max() < 0.03
    if k < 6:  # and not to what one-step control learns
        best = oracle.optimal(mdp, WEIGHTING).action_values
        assert settled(learner, truth=best)[-1] > 0.1


@pytest.mark.parametrize("limit", [5, 7])
def test_time_limits_do_not_disturb_what_is_learned(limit):
    """Backups that are cut short bootstrap, or are dropped; they never see the next episode."""
    mdp = small_mdp(ends=False)
    learner = NStepFHQ(
        Features.tabular(4), 2, WEIGHTING, 3, one_step_horizons=1, step_size=Decay(0.5, 200)
    )
    exact = oracle.hybrid_values(mdp, BEHAVIOUR, WEIGHTING, 3, 1)
    assert settled(learner, mdp, truth=exact, time_limit=limit).max() < 0.03


def chain(learner, episodes, say_where_it_ends=True):
    """Three states in a row, a reward of 1 for each step, then a time limit, and again."""
    for _ in range(episodes):
        for state in range(3):
            cut = state == 2 and say_where_it_ends
            learner.update(state, 0, 1.0 + 10 * (state == 0), state + 1, truncated=cut)
    return learner


def test_an_overlooked_boundary_shows():
    """The fourth state is never left: its value stays 0, whatever comes in the next episode."""
    options = {"one_step_horizons": 1, "step_size": 0.5}
    build = lambda: NStepFHQ(Features.tabular(4), 1, Weighting.exponential(4), 3, **options)  # noqa: E731
    right, wrong = chain(build(), 60), chain(build(), 60, say_where_it_ends=False)
    assert_allclose(right.values(0)[0], [11.0, 13.0], atol=1e-6)  # 4 needs 1 of the last state: 0
    assert_allclose(right.values(2)[0], [1.0, 0.0], atol=1e-6)  # 4 is dropped: 3 is not learned
    assert wrong.values(2)[0, 1] > 5


def test_a_time_limit_uses_what_shorter_horizon_there_is():
    """State 2 has one reward when the episode is cut: horizon 4 may use horizon 3 after it."""
    options = {"one_step_horizons": 1, "step_size": 0.5, "horizons": [1, 3, 4]}
    learner = NStepFHQ(Features.tabular(4), 1, Weighting.exponential(4), 3, **options)
    assert_allclose(chain(learner, 60).values(2)[0], [1.0, 0.0, 1.0], atol=1e-6)


def test_state_values_of_any_closed_set_converge():
    mdp = small_mdp()
    exact = oracle.state_values(mdp, BEHAVIOUR, WEIGHTING)
    for options in ({"one_step_horizons": 2}, {"horizons": [1, 2, 3, 5, 6]}):
        learner = NStepFHTD(Features.tabular(4), WEIGHTING, 3, step_size=Decay(0.5, 200), **options)
        assert settled(learner, truth=exact).max() < 0.03


def test_a_policy_to_expect_over_is_evaluated():
    """Where the behaviour is that policy, nothing is off-policy and n makes no difference."""
    mdp = small_mdp()
    exact = oracle.action_values(mdp, BEHAVIOUR, WEIGHTING)
    learner = NStepFHQ(
        Features.tabular(4), 2, WEIGHTING, 3, one_step_horizons=1, step_size=Decay(0.5, 200)
    )
    assert settled(learner, truth=exact, target=BEHAVIOUR).max() < 0.03


TARGET = np.array([[0.1, 0.9], [0.8, 0.2], [0.5, 0.5], [0.3, 0.7]])


class Uncorrected(NStepFHQ):
    """As if the actions between were the target policy's."""

    sums_later_actions = False


@pytest.mark.parametrize(
    "options", [{}, {"one_step_horizons": 1}, {"horizons": [1, 2, 3, 4, 5, 6]}]
)
def test_another_policy_is_evaluated_by_the_ratios_of_later_actions(options):
    mdp = small_mdp()
    exact = oracle.action_values(mdp, TARGET, WEIGHTING)
    errors = [
        settled(
            kind(Features.tabular(4), 2, WEIGHTING, 3, step_size=Decay(0.5, 200), **options),
            truth=exact,
            target=TARGET,
        ).max()
        for kind in (NStepFHQ, Uncorrected)
    ]
    assert errors[0] < 0.06
    assert errors[1] > 5 * errors[0]


@pytest.mark.parametrize("n_actions", [1, 2])
def test_the_ratio_of_an_action_does_not_change_its_own_value(n_actions):
    learner = NStepFHQ(TABLE, n_actions, WEIGHTING, 3, one_step_horizons=6, step_size=1.0)
    learner.update(0, 0, 1.0, 1, ratio=0.5, next_policy=np.eye(n_actions)[0])
    assert learner.values(0)[0, 0] == 1.0


def test_a_policy_to_correct_for_needs_to_know_who_acts():
    mdp, table = small_mdp(), Features.tabular(4)
    with pytest.raises(ValueError, match="behaviour is needed with target"):
        simulate(NStepFHQ(table, 2, WEIGHTING, 3), mdp, steps=5, target=TARGET)
    for n, k in ((1, 0), (3, 6)):  # each target has one action, and that is given
        learner = NStepFHQ(table, 2, WEIGHTING, n, one_step_horizons=k)
        assert not learner.sums_later_actions
        simulate(learner, mdp, steps=5, target=TARGET)


# Files, growth and windows


@pytest.mark.parametrize(
    "build",
    [
        lambda: NStepFHQ(TABLE, 2, WEIGHTING, 3, horizons=[1, 3, 4, 6], seed=0),
        lambda: NStepFHQ(TABLE, 2, WEIGHTING, 3, one_step_horizons=2, seed=0),
        lambda: NStepFHTD(TABLE, WEIGHTING, 3, horizons=[1, 3, 4, 6], seed=0),
    ],
)
def test_own_horizons_are_kept_in_files(build, tmp_path):
    first = build()
    name = "hybrid" if isinstance(first, NStepFHQ) else "NStepFHTD"
    feed(name, first, np.random.default_rng(0), 41)
    first.save(tmp_path / "learner.npz")
    second = fhtd.load(tmp_path / "learner.npz")
    assert_array_equal(first.horizons, second.horizons)
    for learner in (first, second):
        feed(name, learner, np.random.default_rng(1), 41)
    assert_array_equal(first.weights, second.weights)


def test_own_horizons_do_not_grow():
    with pytest.raises(ValueError, match="extend needs a learner without `horizons`"):
        NStepFHQ(TABLE, 2, WEIGHTING, 3, horizons=[3, 6]).extend(9)
    grown = NStepFHQ(TABLE, 2, WEIGHTING, 3, one_step_horizons=3).extend(9)
    assert grown.horizons.tolist() == [1, 2, 3, 6, 9]


def test_windows_of_n_step_control_move_and_those_of_hybrids_do_not():
    learner = NStepFHQ(overlapping_features(), 2, WEIGHTING, 3, seed=0)
    feed("NStepFHQ", learner, np.random.default_rng(0), 30)
    before = learner.weights.copy()
    learner.deepen()
    assert learner.horizons.tolist() == [6.0, 9.0]
    assert_array_equal(learner.weights[..., 0], before[..., 1])
    for options in ({"one_step_horizons": 2}, {"horizons": [1, 3, 4, 6]}):
        with pytest.raises(ValueError, match="deepen needs horizons"):
            NStepFHQ(TABLE, 2, WEIGHTING, 3, **options).deepen()


def test_all_horizons_of_one_step_are_fhq():
    one, other = (
        FHQ(overlapping_features(), 2, WEIGHTING, seed=0),
        NStepFHQ(overlapping_features(), 2, WEIGHTING, 4, one_step_horizons=6, seed=0),
    )
    for learner in (one, other):
        feed("FHQ", learner, np.random.default_rng(0), 200)
    assert_allclose(one.weights, other.weights, rtol=1e-13, atol=1e-13)
    assert_allclose(one.rewards(2), other.rewards(2), rtol=1e-9)


def test_n_step_control_acts_and_learns_in_gymnasium():
    agent = NStepFHQ(
        "FrozenLake-v1", weighting=Weighting.exponential(12), n=3, one_step_horizons=3, seed=0
    )
    agent.learn(300, seed=0)
    assert agent.step == 300
    assert agent.evaluate(episodes=2).shape == (2,)
