"""Every stream learner against the naive reference, weight for weight, after every update."""

import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import learners
import reference
from fhtd import Features, Linear
from online_cases import (
    METHODS,
    Case,
    assert_same,
    before_near_tie,
    cases,
    hundredths,
    learned,
    quick,
    referred,
    streams,
    thorough,
    vectors,
)
from reference import Transition


@pytest.mark.parametrize("name", METHODS)
@thorough
@given(data=st.data())
def test_learner_is_the_reference(name, data):
    case = data.draw(cases(METHODS[name]))
    if name == "FHQLambda":
        case = before_near_tie(case)
    history = learned(name, case)
    assert all(weights.dtype == np.float64 for weights in history)
    assert_same(history, referred(name, case))


@pytest.mark.parametrize("name", [name for name in METHODS if not METHODS[name].control])
@quick
@given(data=st.data())
def test_complex_learner_is_the_reference(name, data):
    case = data.draw(cases(METHODS[name], complex_values=True))
    assert_same(learned(name, case), referred(name, case))


@pytest.mark.parametrize("name", ["FHQ", "hybrid FHQ", "QLearning"])
@quick
@given(data=st.data())
def test_complex_control_under_a_policy_is_the_reference(name, data):
    """Complex values have an expectation, though no maximum."""
    case = data.draw(cases(METHODS[name], complex_values=True))
    uniform = [1 / case.n_actions] * case.n_actions
    case = case._replace(
        stream=[s._replace(next_policy=s.next_policy or uniform) for s in case.stream]
    )
    assert_same(learned(name, case), referred(name, case))


@st.composite
def exact_cases(draw):
    """Small numbers whose sums and products are exact in floats, so that ties are true ties."""
    n_states, horizon, n_actions = draw(st.integers(2, 3)), draw(st.integers(2, 3)), 2
    kind = draw(st.sampled_from(["table", "matrix"]))
    rows = [[1.0 if i == s else 0.0 for i in range(n_states)] for s in range(n_states)]
    if kind == "matrix":
        rows = draw(vectors(vectors(st.sampled_from([0.0, 1.0]), 2), n_states))
    whole = st.integers(-2, 2).map(float)
    states, stream = draw(streams(rows, whole, st.just(1.0), n_actions, False, max_length=8))
    return Case(
        kind=kind,
        rows=rows,
        c=[None, *draw(vectors(whole, horizon))],
        d=[None, *draw(vectors(st.sampled_from([0.0, 0.5, 1.0]), horizon))],
        discount=None,
        gamma=1.0,
        n=1,
        k=0,
        extra=[],
        lambda_=1.0,
        step_size=0.5,
        beta=0.5,
        n_actions=n_actions,
        initial=draw(whole),
        states=states,
        stream=stream,
    )


@thorough
@given(case=exact_cases())
def test_tied_actions_are_all_greedy(case):
    assert_same(learned("FHQLambda", case), referred("FHQLambda", case))


@thorough
@given(data=st.data())
def test_lambda_that_varies_is_the_reference(data):
    case = data.draw(cases(METHODS["FHTDLambda"]))
    lambdas = data.draw(vectors(st.none() | hundredths(0, 1), len(case.stream)))
    stream = [step._replace(lam=lam) for step, lam in zip(case.stream, lambdas, strict=True)]
    case = case._replace(stream=stream)
    assert_same(learned("FHTDLambda", case), referred("FHTDLambda", case))


@pytest.mark.parametrize("name", ["FHTDLambda", "FHQLambda"])
def test_a_schedule_of_lambda_is_that_of_each_step(name):
    schedule = Linear(0.9, 0.1, 20)
    varying = learners.ALL[name](Features.tabular(5))
    varying.lambda_ = schedule
    constant = learners.ALL[name](Features.tabular(5))
    for t in range(40):
        constant.lambda_ = schedule(t)
        same = np.random.default_rng((3, t)), np.random.default_rng((3, t))
        learners.feed(name, varying, same[0], 1)
        learners.feed(name, constant, same[1], 1)
        np.testing.assert_array_equal(varying.weights, constant.weights)
    untouched = learners.ALL[name](Features.tabular(5))
    for t in range(40):
        learners.feed(name, untouched, np.random.default_rng((3, t)), 1)
    assert not np.array_equal(untouched.weights, varying.weights)


LONG = {
    "FHTD": reference.long_fhtd,
    "FHQ": reference.long_fhq,
    "FixedHorizonMC": reference.long_fixed_horizon_mc,
}


@pytest.mark.parametrize("name", LONG)
@pytest.mark.parametrize("complex_values", [False, True])
@thorough
@given(data=st.data())
def test_transitions_of_several_steps_are_the_reference(name, complex_values, data):
    case = data.draw(cases(METHODS[name], complex_values and not METHODS[name].control))
    rewards = st.lists(hundredths(-2, 2), min_size=1, max_size=9)
    case = case._replace(stream=[s._replace(reward=data.draw(rewards)) for s in case.stream])
    first = case.weights(METHODS[name].horizons(case))
    history = LONG[name](case.stream, first, case.c, case.d, case.alpha)
    expected = [np.stack([w[h] for h in METHODS[name].horizons(case)], axis=-1) for w in history]
    assert_same(learned(name, case), expected)


# Worked by hand


@pytest.mark.parametrize(
    ("terminated", "last"),
    [(True, [[0.5, 1.5], [1.0, 3.0], [2.0, 2.0]]), (False, [[0.5, 1.5], [1.0, 3.25], [2.0, 0.0]])],
)
def test_two_steps_of_three_horizons_by_hand(terminated, last):
    """H = 3, n = 2: horizons 1 and 3; rewards 1, 2, 4 through states 0, 1, 2 and back to 0.

    Transition 1 gives state 0 half of 1 and half of 1 + 2. At the end, state 1 gets half of 2 and
    half of 2 + 4 (+ V^1 of state 0 = 0.5 if it was only a time limit); state 2 gets half of 4, for
    horizon 3 only if terminated.
    """
    rows = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]
    stream = [
        Transition(rows[0], 1.0, rows[1]),
        Transition(rows[1], 2.0, rows[2]),
        Transition(rows[2], 4.0, rows[0], terminated, not terminated),
    ]
    ones, moves = [None, 1.0, 1.0, 1.0], [(0, 1), (1, 2), (2, 0)]
    case = Case("table", rows, ones, ones, 1.0, 1.0, 2, 0, [], 0.0, 0.5, 0.5, 1, 0.0, moves, stream)
    second = [[0.5, 1.5], [0.0, 0.0], [0.0, 0.0]]
    by_hand = [np.zeros((3, 2)), np.array(second), np.array(last)]
    assert_same(learned("NStepFHTD", case), by_hand)
    assert_same(referred("NStepFHTD", case), by_hand)


def test_tied_action_keeps_the_trace_by_hand():
    """H = 2 from zeros: the second action, taken in a tie, hands its error to the state before."""
    rows = [[1.0, 0.0], [0.0, 1.0]]
    stream = [
        Transition(rows[0], 0.0, rows[1], action=0),
        Transition(rows[1], 1.0, rows[0], action=1),
    ]
    ones, moves = [None, 1.0, 1.0], [(0, 1), (1, 0)]
    case = Case("table", rows, ones, ones, 1.0, 1.0, 1, 0, [], 1.0, 0.5, 0.5, 2, 0.0, moves, stream)
    by_hand = [np.zeros((4, 2)), np.array([[0.0, 0.5], [0.0, 0.0], [0.0, 0.0], [0.5, 0.5]])]
    assert_same(learned("FHQLambda", case), by_hand)
    assert_same(referred("FHQLambda", case), by_hand)


# Negative controls: a wrong reference must not agree


def fixed_case(n_actions=1):
    """Forty transitions through four states, with self-loops, both boundaries and ratios."""
    rng = random.Random(3)
    rows = [[1.0, 0.0, 0.5], [0.0, 1.0, 0.5], [1.0, 1.0, 0.0], [0.25, 0.0, -1.0]]
    states, stream, state = [], [], 0
    for t in range(40):
        next_state = state if t % 5 == 3 else rng.randrange(4)
        terminated, truncated = t % 14 == 9, t % 14 == 5 or t % 28 == 9
        reward, ratio = rng.uniform(-1, 1), rng.choice([0.5, 1.0, 1.5])
        action = rng.randrange(n_actions)
        here, there = rows[state], rows[next_state]
        stream.append(Transition(here, reward, there, terminated, truncated, ratio, action))
        states.append((state, next_state))
        state = rng.randrange(4) if terminated or truncated else next_state
    c, d = [None, 1.0, 0.5, -0.75, 0.25, 1.25], [None, 0.5, 0.9, 1.0, 0.8, 1.1]
    initial = {h: [rng.uniform(-1, 1) for _ in range(3 * n_actions)] for h in range(1, 6)}
    return Case(
        "matrix", rows, c, d, None, 0.9, 3, 1, [3], 0.7, lambda t: 0.3 / (1 + 0.1 * t), 0.2,
        n_actions, initial, states, stream,
    )  # fmt: skip


def differ(actual, wrong):
    """Whether two histories are far apart at any time."""
    return any(np.abs(x - y).max() > 1e-4 for x, y in zip(actual, wrong, strict=True))


def altered(case, **changes):
    """The case with every transition changed by functions of that transition."""
    stream = [
        step._replace(**{field: change(step) for field, change in changes.items()})
        for step in case.stream
    ]
    return case._replace(stream=stream)


MISTAKES = {
    "termination taken for a time limit": lambda case: altered(
        case, terminated=lambda s: False, truncated=lambda s: s.terminated or s.truncated
    ),
    "time limit taken for a termination": lambda case: altered(
        case, terminated=lambda s: s.terminated or s.truncated
    ),
    "both flags taken for a time limit": lambda case: altered(
        case, terminated=lambda s: s.terminated and not s.truncated
    ),
    "time limit overlooked": lambda case: altered(case, truncated=lambda s: False),
    "ratios overlooked": lambda case: altered(case, ratio=lambda s: 1.0),
    "step sizes one late": lambda case: case._replace(step_size=lambda t: case.alpha(t + 1)),
    "rewards weighed in the wrong order": lambda case: case._replace(c=[None, *case.c[:0:-1]]),
    "values weighed in the wrong order": lambda case: case._replace(d=[None, *case.d[:0:-1]]),
}
ONE_STEP = {"FHTD", "TD", "TDC", "FHQ", "QLearning"}


def harmless(name, mistake):
    """Mistakes that a method cannot notice."""
    method = METHODS[name]
    return (
        (mistake == "time limit overlooked" and name in ONE_STEP)
        or (mistake == "ratios overlooked" and method.control and not method.corrected)
        or (mistake.endswith("wrong order") and method.baseline)
    )


@pytest.mark.parametrize("name", METHODS)
def test_mistakes_show(name):
    case = fixed_case(n_actions=2 if METHODS[name].control else 1)
    actual = learned(name, case)
    assert_same(actual, referred(name, case))
    for mistake, make in MISTAKES.items():
        agrees = not differ(actual, referred(name, make(case)))
        assert agrees == harmless(name, mistake), mistake


def in_place_fhtd(case):
    """The pseudocode read literally: horizon h bootstraps from a horizon h - 1 already changed."""
    w, history = case.weights(range(1, case.horizon + 1)), []
    for t, step in enumerate(case.stream):
        for h in reference.horizons(w):
            target = case.c[h] * step.reward + case.d[h] * reference.next_value(w[h - 1], step)
            delta = target - reference.dot(w[h], step.features)
            reference.add(w[h], case.alpha(t) * step.ratio * delta, step.features)
        history.append(np.stack([w[h] for h in reference.horizons(w)], axis=-1))
    return history


def test_horizons_updated_in_place_show():
    case = fixed_case()
    assert differ(learned("FHTD", case), in_place_fhtd(case))


def never_cut(w, h, step):
    return True


def always_cut(w, h, step):
    return False


def horizon_above(w, h, step, right=reference.is_greedy):
    return right(w, min(h + 1, max(w)), step)


def horizon_below(w, h, step, right=reference.is_greedy):
    return right(w, max(h - 1, 1), step)


@pytest.mark.parametrize("wrong", [never_cut, always_cut, horizon_above, horizon_below])
def test_wrong_trace_cuts_show(wrong, monkeypatch):
    case = fixed_case(n_actions=2)
    actual = learned("FHQLambda", case)
    assert_same(actual, referred("FHQLambda", case))
    monkeypatch.setattr(reference, "is_greedy", wrong)
    assert differ(actual, referred("FHQLambda", case))
