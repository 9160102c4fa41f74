"""Action values of a policy, by learners of state values over pairs of state and action."""

import numpy as np
import pytest

import learners
from fhtd import (
    FHTD,
    Decay,
    Features,
    FHTDLambda,
    FiniteMDP,
    FixedHorizonMC,
    NStepFHTD,
    Weighting,
    load,
    oracle,
)

WEIGHTING = Weighting.exponential(5, 0.9)
KINDS = {
    "FHTD": FHTD,
    "NStepFHTD": lambda f, w, **o: NStepFHTD(f, w, 2, **o),
    "FHTDLambda": lambda f, w, **o: FHTDLambda(f, w, 0.7, **o),
    "FixedHorizonMC": FixedHorizonMC,
}


def world():
    rng = np.random.default_rng(3)
    shape = (3, 2, 2)
    mdp = FiniteMDP(
        rng.dirichlet(np.ones(2), shape[:2]),
        rng.integers(0, 3, shape),
        rng.normal(size=shape),
        rng.random(shape) < 0.15,
        np.full(3, 1 / 3),
    )
    return mdp, *rng.dirichlet(np.full(2, 5.0), (2, 3))


def experience(mdp, behaviour, steps, seed):
    """(S, A), R, (S', A'), whether it ended; chained."""
    rng = np.random.default_rng(seed)
    pick = [
        [rng.choice(2, steps, p=mdp.probabilities[s, a]).tolist() for a in range(2)]
        for s in range(3)
    ]
    actions = [rng.choice(2, steps, p=behaviour[s]).tolist() for s in range(3)]
    starts = rng.integers(0, 3, steps).tolist()
    s, a = starts[0], actions[starts[0]][0]
    for t in range(steps - 1):
        k = pick[s][a][t]
        after, over = int(mdp.next_states[s, a, k]), bool(mdp.terminal[s, a, k])
        then = actions[after][t + 1]
        yield (s, a), float(mdp.rewards[s, a, k]), (after, then), over
        s = starts[t] if over else after
        a = actions[s][t + 1]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("off_policy", [False, True])
def test_action_values_of_a_policy_are_found(kind, off_policy):
    mdp, behaviour, other = world()
    target = other if off_policy else behaviour
    learner = KINDS[kind](
        Features.with_actions(Features.tabular(3), 2), WEIGHTING, step_size=Decay(0.5, 150)
    )
    for before, reward, after, over in experience(mdp, behaviour, 40_000, 1):
        ratio = target[after] / behaviour[after] if off_policy else 1.0
        learner.update(before, reward, after, over, ratio=ratio)
    found = np.array([[learner.values((s, a)) for a in range(2)] for s in range(3)])
    horizons = learner.horizons.astype(int) - 1
    exact = oracle.action_values(mdp, target, WEIGHTING)[..., horizons]
    gap = np.abs(found - exact).max()
    assert gap < 0.2
    if off_policy:
        wrong = oracle.action_values(mdp, behaviour, WEIGHTING)[..., horizons]
        assert np.abs(found - wrong).max() > 3 * gap


def test_pairs_are_numbered_action_by_action():
    features = learners.overlapping_features()
    pairs = Features.with_actions(features, 3)
    assert (pairs.size, pairs.n_active) == (9, features.n_active)
    indices, values = pairs.active((4, 2))
    np.testing.assert_array_equal(indices, features.active(4)[0] + 6)
    np.testing.assert_array_equal(values, features.active(4)[1])


@pytest.mark.parametrize(
    ("features", "seen"),
    [
        (learners.overlapping_features(), 2),
        (Features.dense(3), [1.0, 2.0, 3.0]),
        (Features.tile_coded([0.0], [1.0]), [0.4]),
    ],
)
def test_learners_of_pairs_are_kept_in_files(features, seen, tmp_path):
    learner = FHTD(Features.with_actions(features, 2), WEIGHTING)
    learner.update((seen, 1), 1.0, (seen, 0))
    learner.save(tmp_path / "pairs.npz")
    again = load(tmp_path / "pairs.npz")
    for one in (learner, again):
        one.update((seen, 0), 2.0, (seen, 1))
    np.testing.assert_array_equal(learner.weights, again.weights)


@pytest.mark.parametrize("wrong", [3, (1, 2, 3), (1, 2), (9, 1), (1, -1), (1, 0.5)])
def test_what_is_no_pair_is_refused(wrong):
    learner = FHTD(Features.with_actions(Features.tabular(4), 2), WEIGHTING)
    with pytest.raises((TypeError, ValueError), match=r"^next_observation"):
        learner.update((0, 0), 1.0, wrong)
    assert learner.step == 0


def test_what_are_no_features_are_refused():
    with pytest.raises(TypeError, match=r"^features"):
        Features.with_actions(5, 2)
    with pytest.raises(ValueError, match=r"^n_actions"):
        Features.with_actions(Features.tabular(2), 0)
