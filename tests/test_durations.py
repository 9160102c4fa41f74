"""Transitions of several steps, options, and discounting that depends on the transition."""

import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import learners
import reference
from fhtd import (
    FHQ,
    FHTD,
    TD,
    Decay,
    Features,
    FiniteMDP,
    FixedHorizonMC,
    QLearning,
    Weighting,
    oracle,
    policy,
    problems,
    simulate,
    targets,
)
from fhtd.envs import FiniteMDPEnv, Repeat

RNG = np.random.default_rng


def random_mdp(seed, n_states=5, n_actions=2, endings=0.2):
    rng = RNG(seed)
    shape = (n_states, n_actions, 3)
    return FiniteMDP(
        rng.dirichlet(np.ones(3), shape[:2]),
        rng.integers(0, n_states, shape),
        rng.normal(size=shape),
        rng.random(shape) < endings,
        np.full(n_states, 1 / n_states),
    )


def random_options(seed, mdp, count=3):
    rng = RNG(seed)
    policies = rng.dirichlet(np.ones(mdp.n_actions), (count, mdp.n_states))
    return policies, rng.uniform(0.2, 0.9, (count, mdp.n_states))


# Learners


@pytest.mark.parametrize("kind", [FHTD, FixedHorizonMC])
@pytest.mark.parametrize("duration", [2, 3, 7, 12])
def test_a_reward_of_one_a_step_is_worth_the_horizon(kind, duration):
    learner = kind(Features.tabular(1), Weighting.exponential(10, 0.9), step_size=0.5)
    for _ in range(80):
        learner.update(0, [1.0] * duration, 0, duration=duration)
    expected = (1 - 0.9 ** np.arange(1, 11)) / (1 - 0.9)
    np.testing.assert_allclose(learner.values(0), expected, rtol=1e-6)


def test_infinite_horizons_take_durations_too():
    value, action_value = TD(Features.tabular(1), 0.9), QLearning(Features.tabular(1), 1, 0.9)
    for _ in range(2_000):
        value.update(0, [1.0, 2.0], 0, duration=2)
        action_value.update(0, 0, [1.0, 2.0], 0, duration=2)
    expected = (1 + 0.9 * 2) / (1 - 0.9**2)
    np.testing.assert_allclose(value.values(0), [expected])
    np.testing.assert_allclose(action_value.values(0), [[expected]])


@pytest.mark.parametrize("terminated", [False, True])
@pytest.mark.parametrize("duration", [2, 3, 5, 9])
def test_a_window_learns_what_it_can_over_its_base(duration, terminated):
    """Against a learner of all horizons; what bootstraps from beneath the base stays as it is."""
    discount, base, size = 0.9, 3, 4
    whole = FHTD(Features.tabular(2), Weighting.exponential(base + size, discount), step_size=1.0)
    window = FHTD(Features.tabular(2), Weighting.exponential(size, discount), step_size=1.0)
    exact = RNG(1).normal(size=(2, base + size))
    whole.weights[:] = exact
    for _ in range(base):
        window.deepen()
    window._state.weights[:] = exact[:, base - 1 :]
    rewards = RNG(2).normal(size=duration).tolist()
    for learner in (whole, window):
        learner.update(0, rewards, 1, terminated, duration=duration)
    horizons = np.arange(base + 1, base + size + 1)
    known = (horizons <= duration) | (horizons - duration >= base) | terminated
    expected = np.where(known, whole.values(0)[base:], exact[0, base:])
    np.testing.assert_allclose(window.values(0), expected)
    assert not known.all() or terminated or duration in (2, 9)


@pytest.mark.parametrize("name", sorted({*learners.ALL} - {"FHTD", "FHQ", "FixedHorizonMC"}))
def test_other_learners_refuse_durations_and_stay_as_they_are(name):
    learner = learners.ALL[name](Features.tabular(3))
    if name in ("TD", "QLearning"):
        return
    seen = (0, 1, [1.0, 2.0], 2) if learners.is_control(name) else (0, [1.0, 2.0], 2)
    with pytest.raises(ValueError, match=r"^duration must be 1"):
        learner.update(*seen, duration=2)
    assert learner.step == 0
    assert not np.any(learner.weights)


@pytest.mark.parametrize("kind", [FHTD, FixedHorizonMC])
@pytest.mark.parametrize(
    ("reward", "more", "named"),
    [
        (1.0, {"duration": 2}, "reward"),
        ([1.0], {"duration": 2}, "reward"),
        ([1.0, np.nan], {"duration": 2}, "reward"),
        ([1.0, 2.0], {}, "reward"),
        ([], {"duration": 0}, "duration"),
        ([1.0, 2.0], {"duration": 2.5}, "duration"),
        (1.0, {"continuation": -0.1}, "continuation"),
        (1.0, {"continuation": np.inf}, "continuation"),
    ],
)
def test_bad_transitions_are_refused_by_name(kind, reward, more, named):
    learner = kind(Features.tabular(2), Weighting.exponential(3))
    with pytest.raises((ValueError, TypeError), match=f"^{named}"):
        learner.update(0, reward, 1, **more)
    assert learner.step == 0


# Options


@given(seed=st.integers(0, 10**6))
@settings(max_examples=30, deadline=None)
def test_options_of_one_step_are_actions_and_endless_ones_are_policies(seed):
    mdp = random_mdp(seed)
    weighting = Weighting.from_weights(RNG(seed).normal(size=6))
    single = np.tile(np.eye(2)[:, None], (1, mdp.n_states, 1))
    always = np.ones((2, mdp.n_states))
    found = oracle.option_values(mdp, single, always, weighting)
    np.testing.assert_allclose(found, oracle.optimal(mdp, weighting).action_values, atol=1e-12)
    choice = RNG(seed).dirichlet(np.ones(2), mdp.n_states)
    found = oracle.option_values(mdp, single, always, weighting, choice)
    np.testing.assert_allclose(found, oracle.action_values(mdp, choice, weighting), atol=1e-12)
    policies, _ = random_options(seed, mdp)
    found = oracle.option_values(mdp, policies, np.zeros((3, mdp.n_states)), weighting)
    for one, pi in enumerate(policies):
        expected = oracle.state_values(mdp, pi, weighting)
        np.testing.assert_allclose(found[:, one], expected, atol=1e-12)


@given(seed=st.integers(0, 10**6), chooses=st.booleans())
@settings(max_examples=30, deadline=None)
def test_options_that_may_end_anywhere_are_worth_what_all_their_courses_bring(seed, chooses):
    """By plain recursion over every course, chance by chance."""
    mdp = random_mdp(seed, n_states=3)
    c, d = RNG(seed).normal(size=4), RNG(seed + 1).uniform(0, 1.2, 4)
    policies, endings = random_options(seed, mdp)
    choice = RNG(seed).dirichlet(np.ones(3), mdp.n_states) if chooses else None

    def worth(state, option, h):
        if h == 0:
            return 0.0
        total = 0.0
        for action in range(mdp.n_actions):
            for k, chance in enumerate(mdp.probabilities[state, action]):
                after = int(mdp.next_states[state, action, k])
                ahead = 0.0
                if not mdp.terminal[state, action, k]:
                    every = [worth(after, other, h - 1) for other in range(3)]
                    anew = max(every) if choice is None else float(choice[after] @ every)
                    ends = endings[option, after]
                    ahead = ends * anew + (1 - ends) * every[option]
                reward = mdp.rewards[state, action, k]
                own = c[h - 1] * reward + d[h - 1] * ahead
                total += policies[option, state, action] * chance * own
        return total

    weighting = Weighting(c[:3], d[:3])
    found = oracle.option_values(mdp, policies, endings, weighting, choice)
    expected = [[[worth(s, o, h) for h in (1, 2, 3)] for o in range(3)] for s in range(3)]
    np.testing.assert_allclose(found, expected, atol=1e-12)


def walked(rng, mdp, policies, endings, state, option):
    """An option from a state on: its rewards, where it ended, whether the episode did."""
    rewards = []
    while True:
        action = rng.choice(mdp.n_actions, p=policies[option, state])
        k = rng.choice(3, p=mdp.probabilities[state, action])
        rewards.append(float(mdp.rewards[state, action, k]))
        over = bool(mdp.terminal[state, action, k])
        state = int(mdp.next_states[state, action, k])
        if over or rng.random() < endings[option, state]:
            return rewards, state, over


@pytest.mark.parametrize("chooses", ["the best", "a policy"])
def test_learning_from_options_finds_their_exact_values(chooses):
    mdp = random_mdp(3)
    policies, endings = random_options(4, mdp)
    weighting = Weighting.exponential(6, 0.9)
    choice = None if chooses == "the best" else RNG(5).dirichlet(np.ones(3), mdp.n_states)
    exact = oracle.option_values(mdp, policies, endings, weighting, choice)
    rng = RNG(6)
    step_size = Decay(0.5, 150)
    learner = FHQ(Features.tabular(5), 3, weighting, step_size=step_size)
    blind = FHQ(Features.tabular(5), 3, weighting, step_size=step_size)
    for _ in range(40_000):
        state, option = int(rng.integers(5)), int(rng.integers(3))
        rewards, following, over = walked(rng, mdp, policies, endings, state, option)
        next_policy = None if choice is None else choice[following]
        seen = (state, option, rewards if len(rewards) > 1 else rewards[0], following, over)
        learner.update(*seen, next_policy=next_policy, duration=len(rewards))
        blind.update(state, option, sum(rewards), following, over, next_policy=next_policy)
    found = np.array([learner.values(s) for s in range(5)])
    assert np.abs(found - exact).max() < 0.15
    # As if each option were one step, which is what a plain frame skip teaches.
    wrong = np.array([blind.values(s) for s in range(5)])
    assert np.abs(wrong - exact).max() > 0.5


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"policies": np.ones((2, 5, 2)) / 2}, "policies"),
        ({"endings": np.full((3, 5), 1.5)}, "endings"),
        ({"endings": np.full((3, 4), 0.5)}, "endings"),
        ({"choice": np.ones((5, 3))}, "choice"),
        ({"weighting": Weighting.fourier(4, 1)}, "choice"),
    ],
)
def test_bad_options_are_refused_by_name(change, named):
    mdp = random_mdp(0)
    policies, endings = random_options(1, mdp)
    given = {"policies": policies, "endings": endings, "weighting": Weighting.exponential(4)}
    with pytest.raises(ValueError, match=f"^{named}"):
        oracle.option_values(mdp, **(given | change))


# Targets


@pytest.mark.parametrize("numbers", [np, jnp])
@given(seed=st.integers(0, 10**6))
@settings(max_examples=20, deadline=None)
def test_targets_of_long_steps_are_the_reference(numbers, seed):
    rng = RNG(seed)
    horizon, longest, count = 5, 7, 6
    c, d = rng.normal(size=(2, horizon))
    durations, rewards = rng.integers(1, longest + 1, count), rng.normal(size=(count, longest))
    values, ends = rng.normal(size=(count, horizon)), rng.random(count) < 0.3
    found = targets.long_step(
        Weighting(c, d), *(numbers.asarray(a) for a in (durations, rewards, values, ends))
    )
    for t in range(count):
        seen = rewards[t, : durations[t]].tolist()
        step = reference.Transition([1.0], seen, [1.0], bool(ends[t]))
        w = {0: [0.0]} | {h: [values[t, h - 1]] for h in range(1, horizon + 1)}
        expected = [
            reference.long_target(w, step, h, [None, *c], [None, *d], reference.next_value)
            for h in range(1, horizon + 1)
        ]
        np.testing.assert_allclose(found[t], expected, rtol=1e-5, atol=1e-5)


def test_bad_durations_of_targets_are_refused():
    weighting, values = Weighting.exponential(3), np.zeros((2, 3))
    for durations in ([0, 1], [1, 4], [1]):
        with pytest.raises(ValueError, match=r"^durations"):
            targets.long_step(weighting, np.array(durations), np.ones((2, 3)), values)


# Repeated actions


def test_repeated_actions_teach_what_their_options_are_worth():
    mdp, weighting = random_mdp(9), Weighting.exponential(6, 0.9)
    environment = Repeat(FiniteMDPEnv(mdp), times=2)
    learner = FHQ(environment, weighting=weighting, step_size=Decay(0.5, 150), epsilon=1.0, seed=0)
    learner.learn(30_000, seed=1)
    # Every state twice: to begin in, and in the middle of a repetition, which ends after it.
    n, middle = mdp.n_states, np.concatenate([mdp.next_states + mdp.n_states, mdp.next_states])
    twice = FiniteMDP(
        np.concatenate([mdp.probabilities] * 2),
        middle,
        np.concatenate([mdp.rewards] * 2),
        np.concatenate([mdp.terminal] * 2),
        np.concatenate([mdp.start, 0 * mdp.start]),
    )
    policies = np.tile(np.eye(2)[:, None], (1, 2 * n, 1))
    endings = np.tile(np.arange(2 * n) < n, (2, 1)).astype(float)
    exact = oracle.option_values(twice, policies, endings, weighting)[:n]
    found = np.array([learner.values(s) for s in range(n)])
    assert np.abs(found - exact).max() < 0.08
    assert np.abs(found - oracle.optimal(mdp, weighting).action_values).max() > 0.2


def test_repetition_stops_with_the_episode():
    ends = FiniteMDP.from_table({0: {0: [(1.0, 0, 2.0, True)]}}, start=[1.0])
    environment = Repeat(FiniteMDPEnv(ends), times=4)
    environment.reset(seed=0)
    _, reward, terminated, _, info = environment.step(0)
    assert (reward, terminated, info["step_rewards"]) == (2.0, True, [2.0])
    with pytest.raises(ValueError, match=r"^times"):
        Repeat(FiniteMDPEnv(ends), times=0)


# Discounting that depends on the transition


@pytest.mark.parametrize("name", sorted({*learners.PREDICTION} | {"TD", "TDLambda", "NStepTD"}))
def test_continuations_lead_to_the_values_of_the_mdp_that_has_them(name):
    mdp = random_mdp(7, endings=0.0)
    continuations = RNG(8).choice([0.0, 0.5, 1.0], mdp.rewards.shape)
    acting = policy.uniform(mdp.n_states, mdp.n_actions)
    learner = learners.ALL[name](Features.tabular(5), step_size=Decay(0.5, 2_000))
    exact = exact_values(name, mdp.continuing(continuations), acting, learner)
    options = {"steps": 200_000, "runs": 4, "record_at": [200_000], "behaviour": acting, "seed": 2}
    found = simulate(learner, mdp, continuations=continuations, truth=exact, **options)
    assert found.errors.mean.max() < 0.06
    assert simulate(learner, mdp, truth=exact, **options).errors.mean.max() > 0.2


def exact_values(name, mdp, acting, learner):
    if name in learners.BASELINES:
        return oracle.infinite_state_values(mdp, acting, learner.discount)
    return oracle.state_values(mdp, acting, learner.weighting)


@pytest.mark.parametrize("wrong", [1.5, -0.5, np.nan, np.ones((2, 2, 2))])
def test_bad_continuations_are_refused(wrong):
    mdp = problems.random_walk(5).mdp
    with pytest.raises(ValueError, match=r"^continuations"):
        mdp.continuing(wrong)
