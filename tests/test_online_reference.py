"""Every stream learner against the naive reference, weight for weight, after every update."""

import random
from collections.abc import Callable
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import learners
import reference
from fhtd import (
    ETD,
    FHQ,
    FHTD,
    TD,
    TDC,
    Features,
    FHQLambda,
    FHTDLambda,
    FixedHorizonMC,
    Linear,
    NStepFHQ,
    NStepFHTD,
    NStepTD,
    QLearning,
    TDLambda,
    Weighting,
)
from reference import Transition

quick = settings(max_examples=30, deadline=None)
thorough = settings(quick, max_examples=150)


class Case(NamedTuple):
    """One problem for a learner and for the reference: who learns what, from which experience."""

    kind: str  # "table", "matrix" or "dense"
    rows: list  # phi(s) of every state s
    c: list  # c_h at index h, index 0 unused; d likewise
    d: list
    discount: complex | None  # of an exponential weighting, else None
    gamma: complex  # of the baselines
    n: int
    k: int  # one-step horizons of the hybrid
    extra: list  # horizons that are learned though the final one does not need them
    lambda_: float
    step_size: Any
    beta: float  # second step size of TDC
    n_actions: int
    initial: Any  # a number, or {h: weights}
    states: list  # (S_t, S_{t+1})
    stream: list

    @property
    def horizon(self):
        return len(self.c) - 1

    @property
    def features(self):
        if self.kind == "table":
            return Features.tabular(len(self.rows))
        if self.kind == "matrix":
            return Features.from_matrix(np.array(self.rows))
        return Features.dense(len(self.rows[0]))

    @property
    def weighting(self):
        if self.discount is not None:
            return Weighting.exponential(self.horizon, self.discount)
        return Weighting(rewards=np.array(self.c[1:]), bootstraps=np.array(self.d[1:]))

    def alpha(self, t):
        return self.step_size(t) if callable(self.step_size) else self.step_size

    def weights(self, horizons):
        """The first weights of the given horizons, and horizon 0, as the reference wants them."""
        size = self.n_actions * len(self.rows[0])
        if isinstance(self.initial, dict):
            return {0: [0.0] * size} | {h: self.initial[h] for h in horizons}
        return {0: [0.0] * size} | {h: [self.initial] * size for h in horizons}


# The methods: how to build the learner, how to ask the reference, which horizons are learned.


class Method(NamedTuple):
    """A learner of the package beside its naive twin."""

    build: Callable  # (features, case, options) -> learner
    refer: Callable  # (stream, weights, case) -> weights after every transition
    horizons: Callable = lambda case: list(range(1, case.horizon + 1))
    control: bool = False
    policies: bool = False
    baseline: bool = False
    untied: bool = False  # whether equal action values are to be rare


def baseline(build, refer, **flags):
    """A method with a single weight vector, filed under horizon H."""

    def history(stream, w, case):
        return [{case.horizon: after} for after in refer(stream, w[case.horizon], case)]

    return Method(build, history, lambda case: [case.horizon], baseline=True, **flags)


def source(h, case):
    """The horizon that a horizon of the hybrid bootstraps from."""
    return h - 1 if h <= case.k else max(h - case.n, case.k)


def closed_set(case):
    """The final horizon and some others, and whatever each of them needs."""
    found, missing = set(), {case.horizon, *case.extra}
    while missing:
        h = missing.pop()
        found.add(h)
        if source(h, case) not in found | {0}:
            missing.add(source(h, case))
    return sorted(found)


def hybrid_horizons(case):
    return closed_set(case._replace(extra=range(1, min(case.k, case.horizon) + 1)))


def refer_hybrid_fhtd(stream, w, case):
    """Without one-step or further horizons it is n-step FHTD, whose first horizon waits longer."""
    plain = range(case.horizon, 0, -case.n)
    if case.k == 0 and reference.horizons(w) == sorted(plain):
        return reference.n_step_fhtd(stream, w, case.c, case.d, case.alpha, case.n)
    return reference.hybrid_fhtd(stream, w, case.c, case.d, case.alpha, case.n, case.k)


METHODS = {
    "FHTD": Method(
        lambda f, k, o: FHTD(f, k.weighting, **o),
        lambda s, w, k: reference.fhtd(s, w, k.c, k.d, k.alpha),
    ),
    "NStepFHTD": Method(
        lambda f, k, o: NStepFHTD(f, k.weighting, k.n, **o),
        lambda s, w, k: reference.n_step_fhtd(s, w, k.c, k.d, k.alpha, k.n),
        lambda case: list(range(case.horizon % case.n or case.n, case.horizon + 1, case.n)),
    ),
    "FixedHorizonMC": Method(
        lambda f, k, o: FixedHorizonMC(f, k.weighting, **o),
        lambda s, w, k: reference.fixed_horizon_mc(s, w, k.c, k.d, k.alpha),
    ),
    "FHTDLambda": Method(
        lambda f, k, o: FHTDLambda(f, k.weighting, k.lambda_, **o),
        lambda s, w, k: reference.fhtd_lambda(s, w, k.c, k.d, k.alpha, k.lambda_),
    ),
    "FHQ": Method(
        lambda f, k, o: FHQ(f, k.n_actions, k.weighting, **o),
        lambda s, w, k: reference.fhq(s, w, k.c, k.d, k.alpha),
        control=True,
        policies=True,
    ),
    "NStepFHQ": Method(
        lambda f, k, o: NStepFHQ(f, k.n_actions, k.weighting, k.n, **o),
        lambda s, w, k: reference.hybrid_fhq(s, w, k.c, k.d, k.alpha, k.n, 0),
        lambda case: hybrid_horizons(case._replace(k=0)),
        control=True,
        policies=True,
    ),
    "hybrid FHQ": Method(
        lambda f, k, o: NStepFHQ(f, k.n_actions, k.weighting, k.n, one_step_horizons=k.k, **o),
        lambda s, w, k: reference.hybrid_fhq(s, w, k.c, k.d, k.alpha, k.n, k.k),
        hybrid_horizons,
        control=True,
        policies=True,
    ),
    "hybrid FHQ of a closed set": Method(
        lambda f, k, o: NStepFHQ(
            f, k.n_actions, k.weighting, k.n, one_step_horizons=k.k, horizons=closed_set(k), **o
        ),
        lambda s, w, k: reference.hybrid_fhq(s, w, k.c, k.d, k.alpha, k.n, k.k),
        closed_set,
        control=True,
        policies=True,
    ),
    "hybrid FHTD": Method(
        lambda f, k, o: NStepFHTD(f, k.weighting, k.n, one_step_horizons=k.k, **o),
        refer_hybrid_fhtd,
        hybrid_horizons,
    ),
    "FHTD of a closed set": Method(
        lambda f, k, o: NStepFHTD(
            f, k.weighting, k.n, one_step_horizons=k.k, horizons=closed_set(k), **o
        ),
        refer_hybrid_fhtd,
        closed_set,
    ),
    "FHQLambda": Method(
        lambda f, k, o: FHQLambda(f, k.n_actions, k.weighting, k.lambda_, **o),
        lambda s, w, k: reference.fhq_lambda(s, w, k.c, k.d, k.alpha, k.lambda_),
        control=True,
        untied=True,
    ),
    "TD": baseline(
        lambda f, k, o: TD(f, k.gamma, **o),
        lambda s, w, k: reference.td(s, w, k.gamma, k.alpha),
    ),
    "NStepTD": baseline(
        lambda f, k, o: NStepTD(f, k.gamma, k.n, **o),
        lambda s, w, k: reference.n_step_td(s, w, k.gamma, k.alpha, k.n),
    ),
    "TDLambda": baseline(
        lambda f, k, o: TDLambda(f, k.gamma, k.lambda_, **o),
        lambda s, w, k: reference.td_lambda(s, w, k.gamma, k.alpha, k.lambda_),
    ),
    "ETD": baseline(
        lambda f, k, o: ETD(f, k.gamma, lambda_=k.lambda_, **o),
        lambda s, w, k: reference.etd(s, w, k.gamma, k.alpha, k.lambda_),
    ),
    "TDC": baseline(
        lambda f, k, o: TDC(f, k.gamma, second_step_size=k.beta, **o),
        lambda s, w, k: reference.tdc(s, w, k.gamma, k.alpha, k.beta),
    ),
    "QLearning": baseline(
        lambda f, k, o: QLearning(f, k.n_actions, k.gamma, **o),
        lambda s, w, k: reference.q_learning(s, w, k.gamma, k.alpha),
        control=True,
        policies=True,
    ),
}


def learned(name, case):
    """Drive the package's learner; its weights after every update, as (actions x features, K)."""
    method = METHODS[name]
    horizons = method.horizons(case)
    first = case.initial
    if isinstance(first, dict):
        first = np.stack([first[h] for h in horizons], axis=-1)
        if method.control:
            first = first.reshape(case.n_actions, -1, len(horizons))
    learner = method.build(case.features, case, {"step_size": case.step_size, "initial": first})
    if not method.baseline:
        assert list(learner.horizons) == horizons
    history = []
    for (state, next_state), step in zip(case.states, case.stream, strict=True):
        seen, follows = state, next_state
        if case.kind == "dense":
            seen, follows = np.array(case.rows[state]), np.array(case.rows[next_state])
        ends = {"terminated": step.terminated, "truncated": step.truncated}
        ends["continuation"] = step.continuation
        reward = step.reward
        if isinstance(reward, list):
            ends["duration"] = len(reward)
            reward = reward if len(reward) > 1 else reward[0]
        if step.lam is not None:
            ends["lambda_"] = step.lam
        if method.control:
            if step.next_policy is not None:
                ends["next_policy"] = np.array(step.next_policy)
            learner.update(seen, step.action, reward, follows, **ends)
        else:
            learner.update(seen, reward, follows, **ends, ratio=step.ratio)
        history.append(np.array(learner.weights).reshape(-1, len(horizons)))
    return history


def referred(name, case):
    """The reference's weights after every update, in the same shape."""
    method = METHODS[name]
    horizons = method.horizons(case)
    history = method.refer(case.stream, case.weights(horizons), case)
    return [np.stack([w[h] for h in horizons], axis=-1) for w in history]


def assert_same(actual, expected):
    """Equal after every update, up to rounding at the scale of the largest weight so far."""
    assert len(actual) == len(expected)
    scale = 1.0
    for t, (left, right) in enumerate(zip(actual, expected, strict=True)):
        scale = max(scale, float(np.abs(right).max()))
        np.testing.assert_allclose(
            left, right, rtol=1e-9, atol=1e-9 * scale, err_msg=f"after transition {t}"
        )


# Random problems


def hundredths(low, high):
    """Numbers of two decimals from low to high: cheap to draw and easy to read."""
    return st.integers(round(100 * low), round(100 * high)).map(lambda k: k / 100)


def vectors(numbers, size):
    return st.lists(numbers, min_size=size, max_size=size)


@st.composite
def weightings(draw, horizon, numbers, phase):
    """c, d and, where the weighting is exponential, its discount; complex if phase is."""
    kind = draw(st.sampled_from(["exponential", "undiscounted", "average", "weights", "any"]))
    ones = [1.0] * horizon
    if kind == "exponential":
        discount = draw(numbers) * phase
        return ones, [discount] * horizon, discount
    if kind == "undiscounted":
        return ones, [1.0 * phase] * horizon, 1.0 * phase
    if kind == "average":
        shares = [1 / h for h in range(1, horizon + 1)]
        return [share * phase for share in shares], [1 - share for share in shares], None
    factors = vectors(numbers | st.just(0.0), horizon)
    c = [factor * phase for factor in draw(factors)]
    if kind == "weights":
        return c, ones, None
    return c, [factor * phase for factor in draw(factors)], None


@st.composite
def streams(draw, rows, numbers, ratios, n_actions, policies, max_length):
    """Chained transitions; after a boundary the next one starts anywhere. Self-loops are common."""
    states, varies = st.integers(0, len(rows) - 1), draw(st.booleans())
    calm = draw(st.sampled_from([3, 9, 24]))  # ordinary transitions per three boundaries
    ends = [(False, False)] * calm + [(True, False), (False, True), (True, True)]
    pairs, stream = [], []
    state = draw(states)
    for _ in range(draw(st.integers(max_length // 2, max_length))):
        next_state = draw(states)
        terminated, truncated = draw(st.sampled_from(ends))
        policy = None
        if policies and draw(st.booleans()):
            shares = draw(vectors(st.integers(0, 4), n_actions).filter(any))
            policy = [share / sum(shares) for share in shares]
        stream.append(
            Transition(
                rows[state],
                draw(numbers),
                rows[next_state],
                terminated,
                truncated,
                draw(ratios),
                draw(st.integers(0, n_actions - 1)),
                policy,
                draw(st.sampled_from([1.0, 1.0, 0.0, 0.7])) if varies else 1.0,
            )
        )
        pairs.append((state, next_state))
        state = draw(states) if terminated or truncated else next_state
    return pairs, stream


@st.composite
def cases(draw, method, complex_values=False, n_actions=None, kinds=("table", "matrix", "dense")):
    """A random problem that suits the method."""
    kind = draw(st.sampled_from(kinds))
    n_actions = n_actions or (draw(st.integers(2, 3)) if method.control else 1)
    n_states, horizon = draw(st.integers(3, 6)), draw(st.integers(1, 7))
    if kind == "table":
        rows = [[1.0 if i == s else 0.0 for i in range(n_states)] for s in range(n_states)]
    else:
        size = draw(st.integers(1, 4))
        entries = hundredths(-1, 1) | st.sampled_from([0.0, 1.0])
        rows = draw(vectors(vectors(entries, size), n_states))
    phase = draw(st.sampled_from([1j, 0.6 - 0.8j])) if complex_values else 1.0
    c, d, discount = draw(weightings(horizon, hundredths(-1.2, 1.2), phase))
    if method.control and not complex_values:
        # A maximum times a negative bootstrap is refused.
        d, discount = [abs(factor) for factor in d], discount and abs(discount)
    alpha = draw(hundredths(0.01, 0.6))
    size = n_actions * len(rows[0])
    spread = draw(vectors(st.integers(-9999, 9999), size * horizon))
    tilt = 0.8 + 0.6j if complex_values else 1.0
    initial = {
        h: [k / 5003 * tilt for k in spread[(h - 1) * size : h * size]]
        for h in range(1, horizon + 1)
    }
    if not method.untied and draw(st.booleans()):
        initial = draw(st.sampled_from([0.0, 0.75]))
    uneven = [n for n in range(2, horizon) if horizon % n]
    on_policy = method.control or draw(st.booleans())
    ratios = st.just(1.0) if on_policy else hundredths(0, 2)
    states, stream = draw(
        streams(rows, hundredths(-2, 2), ratios, n_actions, method.policies, max_length=16)
    )
    return Case(
        kind=kind,
        rows=rows,
        c=[None, *c],
        d=[None, *d],
        discount=discount,
        gamma=draw(hundredths(0, 1) | st.just(1.0)) * phase,
        n=draw(st.integers(1, horizon) | st.sampled_from(uneven or [horizon])),
        k=draw(st.integers(0, horizon + 1)),
        extra=draw(st.lists(st.integers(1, horizon), max_size=3)),
        lambda_=draw(st.sampled_from([0.0, 1.0]) | hundredths(0, 1)),
        step_size=draw(st.sampled_from([alpha, lambda t: alpha / (1 + t)])),
        beta=draw(hundredths(0.01, 0.6)),
        n_actions=n_actions,
        initial=initial,
        states=states,
        stream=stream,
    )


def before_near_tie(case):
    """The case up to the first action whose greediness hangs on rounding."""
    w = case.weights(range(1, case.horizon + 1))
    history = reference.fhq_lambda(case.stream, w, case.c, case.d, case.alpha, case.lambda_)
    for t, (before, step) in enumerate(zip([w, *history], case.stream, strict=False)):
        for h in reference.horizons(before):
            values = reference.action_values(before[h], step.features)
            mine = values.pop(step.action)
            if values and abs(mine - max(values)) < 1e-7:
                return case._replace(states=case.states[:t], stream=case.stream[:t])
    return case


# The learners are the reference


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


# Equivalences between learners

SPECIAL_CASES = [
    # method, its setting, and the method it must equal; n = 0 stands for n = H
    ("NStepFHTD", {"n": 1}, "FHTD"),
    ("NStepFHTD", {"n": 0}, "FixedHorizonMC"),
    ("FHTDLambda", {"lambda_": 0.0}, "FHTD"),
    ("FHQLambda", {"lambda_": 0.0}, "FHQ"),
    ("NStepFHQ", {"n": 1}, "FHQ"),
    ("hybrid FHQ", {"k": 7}, "FHQ"),
    ("hybrid FHQ", {"k": 0}, "NStepFHQ"),
    ("hybrid FHTD", {"k": 7}, "FHTD"),
    ("hybrid FHQ", {"k": 1}, "hybrid FHTD"),  # with a single action
    ("NStepTD", {"n": 1}, "TD"),
    ("TDLambda", {"lambda_": 0.0}, "TD"),
    ("ETD", {"lambda_": 1.0}, "TDLambda"),
    ("FHQ", {}, "FHTD"),  # with a single action, control is prediction
    ("FHQLambda", {}, "FHTDLambda"),
    ("QLearning", {}, "TD"),
]


@pytest.mark.parametrize(("name", "setting", "other"), SPECIAL_CASES)
@quick
@given(data=st.data())
def test_special_case(name, setting, other, data):
    """n = H is Monte Carlo under ratios and time limits too: both drop what is incomplete."""
    one, two = METHODS[name], METHODS[other]
    single = one.control and not two.control
    method = one._replace(policies=False)
    case = data.draw(cases(method, n_actions=1 if single else None))
    case = case._replace(**setting)
    if case.n == 0:
        case = case._replace(n=case.horizon)
    shared = [h for h in one.horizons(case) if h in two.horizons(case)]
    left = [one.horizons(case).index(h) for h in shared]
    right = [two.horizons(case).index(h) for h in shared]
    assert shared[-1] == case.horizon
    assert_same(
        [weights[:, left] for weights in learned(name, case)],
        [weights[:, right] for weights in learned(other, case)],
    )


@quick
@given(data=st.data())
def test_n_step_control_of_a_single_action_is_prediction(data):
    """Where n divides H; else the earliest horizon of n-step FHTD waits longer than it need."""
    case = data.draw(cases(METHODS["NStepFHQ"]._replace(policies=False), n_actions=1))
    divisors = [n for n in range(1, case.horizon + 1) if case.horizon % n == 0]
    case = case._replace(n=data.draw(st.sampled_from(divisors)))
    assert_same(learned("NStepFHQ", case), learned("NStepFHTD", case))


@pytest.mark.parametrize("name", METHODS)
@settings(quick, max_examples=20)
@given(data=st.data())
def test_one_hot_features_are_a_table(name, data):
    case = data.draw(cases(METHODS[name], kinds=["table"]))
    if name == "FHQLambda":
        case = before_near_tie(case)
    table = learned(name, case)
    assert_same(learned(name, case._replace(kind="matrix")), table)
    assert_same(learned(name, case._replace(kind="dense")), table)


@pytest.mark.parametrize(("name", "other"), [("FHTD", "TD"), ("FHQ", "QLearning")])
@quick
@given(data=st.data())
def test_last_horizon_starts_as_infinite_horizon(name, other, data):
    """From equal weights at every horizon, the first H - 1 updates of V^H are TD's."""
    case = data.draw(cases(METHODS[name]))
    H, first = case.horizon, data.draw(hundredths(-1, 1))
    case = case._replace(
        discount=case.gamma, initial=first, states=case.states[: H - 1], stream=case.stream[: H - 1]
    )
    assert_same([w[:, -1:] for w in learned(name, case)], learned(other, case))


@quick
@given(data=st.data())
def test_lambda_one_is_monte_carlo_where_no_state_recurs(data):
    """In a table, within an episode without repeated states, the errors telescope to the return."""
    case = data.draw(cases(METHODS["FHTDLambda"], kinds=["table"]))
    states, stream = [], []
    for _ in range(data.draw(st.integers(1, 4))):
        path = data.draw(st.permutations(range(len(case.rows))))
        path = path[: data.draw(st.integers(2, len(path)))]
        for state, next_state in pairwise(path):
            ends = next_state == path[-1]
            reward = data.draw(hundredths(-2, 2))
            states.append((state, next_state))
            stream.append(Transition(case.rows[state], reward, case.rows[next_state], ends))
    case = case._replace(lambda_=1.0, step_size=case.alpha(0), states=states, stream=stream)
    final = [t for t, step in enumerate(stream) if step.terminated]
    one, two = learned("FHTDLambda", case), learned("FixedHorizonMC", case)
    assert_same([one[t] for t in final], [two[t] for t in final])


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
        or (mistake == "ratios overlooked" and method.control)
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
