"""Random problems for every stream learner: who learns what, from which experience."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from hypothesis import settings
from hypothesis import strategies as st

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
    corrected: bool = False  # control whose later actions have importance ratios


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
        corrected=True,
    ),
    "hybrid FHQ": Method(
        lambda f, k, o: NStepFHQ(f, k.n_actions, k.weighting, k.n, one_step_horizons=k.k, **o),
        lambda s, w, k: reference.hybrid_fhq(s, w, k.c, k.d, k.alpha, k.n, k.k),
        hybrid_horizons,
        control=True,
        policies=True,
        corrected=True,
    ),
    "hybrid FHQ of a closed set": Method(
        lambda f, k, o: NStepFHQ(
            f, k.n_actions, k.weighting, k.n, one_step_horizons=k.k, horizons=closed_set(k), **o
        ),
        lambda s, w, k: reference.hybrid_fhq(s, w, k.c, k.d, k.alpha, k.n, k.k),
        closed_set,
        control=True,
        policies=True,
        corrected=True,
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
        if step.lam is not None:
            ends["lambda_"] = step.lam
        if method.control:
            if step.next_policy is not None:
                ends["next_policy"] = np.array(step.next_policy)
            if method.corrected:
                ends["ratio"] = step.ratio
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
    on_policy = (method.control and not method.corrected) or draw(st.booleans())
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
