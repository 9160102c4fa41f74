"""Windows of horizons that move on, in the online learners: twins, oracle, files, refusals."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import fhtd
import reference
from fhtd import (
    FHQ,
    FHTD,
    Features,
    FHQLambda,
    FiniteMDP,
    FixedHorizonMC,
    NStepFHTD,
    Weighting,
    oracle,
    simulate,
)
from learners import overlapping_features

GAMMA = 0.9
N_STATES, N_ACTIONS = 6, 2


def certain_mdp(seed=0, ends=True):
    """Every action leads to one place; some end the episode."""
    rng = np.random.default_rng(seed)
    shape = (N_STATES, N_ACTIONS, 1)
    return FiniteMDP(
        np.ones(shape),
        rng.integers(N_STATES, size=shape),
        rng.normal(size=shape),
        (rng.random(shape) < 0.2) & ends,
        np.full(N_STATES, 1 / N_STATES),
    )


def outcome(mdp, s, a):
    return mdp.next_states[s, a, 0], mdp.rewards[s, a, 0], mdp.terminal[s, a, 0]


def shifted(w, horizon):
    """The move as the design writes it: base <- first, each <- the next, the last stays."""
    return {h: list(w[min(h + 1, horizon)]) for h in w}


@pytest.mark.parametrize("control", [False, True])
def test_every_move_deepens_the_exact_values(control):
    # Updates of a world without chance with a step size of 1, in sweeps, are exact.
    mdp, horizon = certain_mdp(), 4
    weighting, features = Weighting.exponential(horizon, GAMMA), Features.tabular(N_STATES)
    policy = np.tile([1.0, 0.0], (N_STATES, 1))
    if control:
        learner = FHQ(features, N_ACTIONS, weighting, step_size=1.0)
    else:
        learner = FHTD(features, weighting, step_size=1.0)
    longest = Weighting.exponential(20, GAMMA)
    if control:
        exact = oracle.optimal(mdp, longest).action_values
    else:
        exact = oracle.state_values(mdp, policy, longest)
    for moves in range(12):
        for _ in range(horizon):
            for s in range(N_STATES):
                for a in range(N_ACTIONS if control else 1):
                    following, reward, terminated = outcome(mdp, s, a)
                    if control:
                        learner.update(s, a, reward, following, terminated)
                    else:
                        learner.update(s, reward, following, terminated)
        assert_array_equal(learner.horizons, np.arange(moves + 1, moves + horizon + 1))
        assert learner.base == moves
        found = np.stack([learner.values(s) for s in range(N_STATES)])
        assert_allclose(found, exact[..., moves : moves + horizon], atol=1e-12)
        learner.deepen()


def streamed(rng, steps, features):
    """Transitions with both kinds of boundary, as numbers of states and as the reference's."""
    matrix = features.matrix
    for _ in range(steps):
        s, following, action = rng.integers(5), rng.integers(5), rng.integers(N_ACTIONS)
        kind = rng.random()
        yield (
            int(s),
            int(following),
            reference.Transition(
                list(matrix[s]),
                float(rng.normal()),
                list(matrix[following]),
                bool(kind < 0.2),
                bool(kind > 0.8),
                float(rng.uniform(0, 1.5)),
                int(action),
            ),
        )


@pytest.mark.parametrize("seed", range(5))
def test_prediction_agrees_with_the_naive_window(seed):
    rng, features = np.random.default_rng(seed), overlapping_features()
    horizon, every = int(rng.integers(1, 5)), int(rng.integers(1, 6))
    learner = FHTD(
        features, Weighting.exponential(horizon, GAMMA), step_size=0.3, deepen_every=every
    )
    w = {h: [0.0] * 3 for h in range(horizon + 1)}
    c, d = [0] + [1.0] * horizon, [0] + [GAMMA] * horizon
    for t, (s, following, step) in enumerate(streamed(rng, 60, features), 1):
        learner.update(s, step.reward, following, step.terminated, step.truncated, step.ratio)
        w = reference.fhtd([step], w, c, d, lambda t: 0.3)[-1]
        if t % every == 0:
            w = shifted(w, horizon)
        for h in range(1, horizon + 1):
            assert_allclose(learner.weights[:, h - 1], w[h], rtol=1e-10, atol=1e-12)
    assert learner.base == 60 // every


@pytest.mark.parametrize("seed", range(5))
def test_control_agrees_with_the_naive_window(seed):
    rng, features = np.random.default_rng(seed), overlapping_features()
    horizon, every = int(rng.integers(1, 5)), int(rng.integers(1, 6))
    weighting = Weighting.exponential(horizon, GAMMA)
    learner = FHQ(features, N_ACTIONS, weighting, step_size=0.3, deepen_every=every)
    w = np.zeros((horizon + 1, N_ACTIONS, 3))
    for t, (s, following, step) in enumerate(streamed(rng, 60, features), 1):
        learner.update(s, step.action, step.reward, following, step.terminated, step.truncated)
        before = w.copy()
        for h in range(1, horizon + 1):
            ahead = max(before[h - 1] @ step.next_features)
            target = step.reward + (0 if step.terminated else GAMMA * ahead)
            error = target - before[h, step.action] @ step.features
            w[h, step.action] += 0.3 * error * np.array(step.features)
        if t % every == 0:
            w = np.concatenate([w[1:], w[-1:]])
        for h in range(1, horizon + 1):
            assert_allclose(learner.weights[..., h - 1], w[h], rtol=1e-10, atol=1e-12)


def test_n_step_windows_move_on_by_n():
    # One chain without end, reward 1 everywhere: horizon h is worth (1 - gamma^h) / (1 - gamma).
    learner = NStepFHTD(Features.tabular(3), Weighting.exponential(6, GAMMA), 2, step_size=1.0)
    assert_array_equal(learner.horizons, [2, 4, 6])
    t = 0
    for moves in range(5):
        for _ in range(12):
            learner.update(t % 3, 1.0, (t + 1) % 3)
            t += 1
        horizons = np.array([2, 4, 6]) + 2 * moves
        assert_array_equal(learner.horizons, horizons)
        assert_allclose(learner.values(0), (1 - GAMMA**horizons) / (1 - GAMMA))
        learner.deepen()


def test_simulation_moves_on_like_the_stream():
    # A ring, one place further or two: every state is met again and again.
    ring = (np.arange(N_STATES)[:, None] + [1, 2])[..., None] % N_STATES
    mdp = replace(certain_mdp(3, ends=False), next_states=ring)
    weighting, features = Weighting.exponential(4, GAMMA), Features.tabular(N_STATES)
    exact = oracle.optimal(mdp, Weighting.exponential(14, GAMMA)).action_values

    def simulated(**options):
        learner = FHQ(features, N_ACTIONS, weighting, step_size=1.0, **options)
        uniform = np.full((N_STATES, N_ACTIONS), 1 / N_ACTIONS)
        found = simulate(
            learner, mdp, steps=21_000, behaviour=uniform, keep_weights=True, record_at=[]
        )
        return found.final_weights[0].transpose(1, 0, 2)

    assert_allclose(simulated(deepen_every=2_000), exact[..., 10:14], atol=1e-9)
    assert_allclose(simulated(), exact[..., :4], atol=1e-9)


@pytest.mark.parametrize("kind", ["FHTD", "NStepFHTD", "FHQ"])
def test_a_window_goes_on_from_its_file(kind, tmp_path):
    features, weighting = overlapping_features(), Weighting.exponential(4, GAMMA)
    learner = {
        "FHTD": lambda: FHTD(features, weighting, deepen_every=7),
        "NStepFHTD": lambda: NStepFHTD(features, weighting, 2, deepen_every=7),
        "FHQ": lambda: FHQ(features, N_ACTIONS, weighting, deepen_every=7, seed=0),
    }[kind]()

    def feed(learner, seed):
        for s, following, step in streamed(np.random.default_rng(seed), 40, features):
            action = (step.action,) if kind == "FHQ" else ()
            learner.update(s, *action, step.reward, following, step.terminated, step.truncated)

    feed(learner, 1)
    learner.save(tmp_path / "window.npz")
    again = fhtd.load(tmp_path / "window.npz")
    assert again.base == learner.base > 0
    assert again.deepen_every == 7
    feed(learner, 2)
    feed(again, 2)
    assert_array_equal(again.weights, learner.weights)
    assert_array_equal(again._state.weights, learner._state.weights)
    assert_array_equal(again.horizons, learner.horizons)


def test_a_window_that_has_moved_can_grow():
    learner = FHTD(Features.tabular(2), Weighting.exponential(2, GAMMA), step_size=1.0)
    for _ in range(4):
        learner.update(0, 1.0, 0)
    learner.deepen()
    learner.extend(4)
    assert_array_equal(learner.horizons, [2, 3, 4, 5])
    for _ in range(5):
        learner.update(0, 1.0, 0)
    assert_allclose(learner.values(0), (1 - GAMMA ** np.arange(2, 6)) / (1 - GAMMA))


def test_refusals():
    features, weighting = Features.tabular(4), Weighting.exponential(4, GAMMA)
    for mentions_the_end in (Weighting.average(4), Weighting.hyperbolic(4, 1.0)):
        with pytest.raises(ValueError, match="deepen_every needs a weighting that is the same"):
            FHTD(features, mentions_the_end, deepen_every=3)
        with pytest.raises(ValueError, match="deepen needs a weighting that is the same"):
            FHTD(features, mentions_the_end).deepen()
    for wrong in (0, -1, 2.5, True, "often"):
        with pytest.raises((TypeError, ValueError), match="deepen_every"):
            FHQ(features, 2, weighting, deepen_every=wrong)
    with pytest.raises(ValueError, match="n divides"):
        NStepFHTD(features, weighting, 3, deepen_every=5)
    with pytest.raises(TypeError, match="deepen is not for FHQ"):
        FHQLambda(features, 2, weighting, 0.5).deepen()
    with pytest.raises(TypeError, match="deepen_every"):
        FixedHorizonMC(features, weighting, deepen_every=5)
    moved = FHTD(features, weighting)
    moved.deepen()
    with pytest.raises(ValueError, match=r"rewards needs every horizon from 1 to 5"):
        moved.rewards(0)
    mdp = certain_mdp()
    learner = FHTD(Features.tabular(N_STATES), weighting, deepen_every=10)
    options = {"steps": 20, "behaviour": np.full((N_STATES, N_ACTIONS), 0.5)}
    with pytest.raises(ValueError, match="truth names horizons"):
        simulate(learner, mdp, truth=np.zeros((N_STATES, 4)), **options)
    with pytest.raises(ValueError, match="record_weights names horizons"):
        simulate(learner, mdp, record_weights=[4], **options)


def test_a_file_cannot_claim_a_base_without_moves(tmp_path):
    learner = FHTD(Features.tabular(2), Weighting.exponential(2, GAMMA))
    learner.deepen()
    learner._state.weights[:] = 1.0
    learner._moves = 0
    learner.save(tmp_path / "based.npz")
    with pytest.raises(ValueError, match="weights of horizon 0 must be 0"):
        fhtd.load(tmp_path / "based.npz")


@pytest.mark.parametrize("kind", ["FHTD", "NStepFHTD", "FHQ"])
def test_a_window_over_a_base_that_is_not_finite_goes_on(kind):
    """As asked for by `allow_divergence`; the base is frozen, and says nothing of the update."""
    features, weighting = Features.tabular(2), Weighting.exponential(4, 1e150)
    options = {"step_size": 1.0, "allow_divergence": True, "deepen_every": 2}
    learner = {
        "FHTD": lambda: FHTD(features, weighting, **options),
        "NStepFHTD": lambda: NStepFHTD(features, weighting, 2, **options),
        "FHQ": lambda: FHQ(features, 2, weighting, **options),
    }[kind]()
    actions = (0,) if kind == "FHQ" else ()
    for step in range(40):
        learner.update(step % 2, *actions, 1.0, (step + 1) % 2)
    assert not np.isfinite(learner.weights).all()


def test_a_window_that_has_moved_keeps_a_constant_weighting():
    learner = FHTD(Features.tabular(2), Weighting.exponential(2))
    learner.deepen()
    with pytest.raises(ValueError, match="extend needs a weighting that is the same"):
        learner.extend(Weighting(np.array([1.0, 1.0, 5.0]), np.array([1.0, 1.0, 2.0])))
    assert learner.extend(3).horizons.tolist() == [2.0, 3.0, 4.0]


@pytest.mark.parametrize("control", [False, True])
def test_nothing_counts_after_a_continuation_of_0_in_a_window_too(control):
    """Four rewards over a base of 3: as after a termination, and unlike where it goes on."""

    def learned(**options):
        features, weighting = Features.tabular(2), Weighting.exponential(3)
        if control:
            learner = FHQ(features, 1, weighting, step_size=1.0)
        else:
            learner = FHTD(features, weighting, step_size=1.0)
        for _ in range(3):
            learner.deepen()
        rewards = [1.0, 1.0, 1.0, 1.0]
        learner.update(0, *((0,) if control else ()), rewards, 1, duration=4, **options)
        return learner.values(0).ravel().tolist()

    assert learned(terminated=True) == [4.0, 4.0, 4.0]
    assert learned(continuation=0.0) == [4.0, 4.0, 4.0]
    assert learned() == [4.0, 0.0, 0.0]
