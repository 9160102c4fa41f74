"""Stream learners that must equal others where their settings or problems meet."""

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from online_cases import METHODS, assert_same, before_near_tie, cases, hundredths, learned, quick
from reference import Transition

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
    # Of a single action all policies are the same, and ratios 1.
    method = one._replace(policies=False, corrected=one.corrected and not single)
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
    method = METHODS["NStepFHQ"]._replace(policies=False, corrected=False)
    case = data.draw(cases(method, n_actions=1))
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
