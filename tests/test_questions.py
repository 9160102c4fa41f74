"""Several weightings of one stream; and one weighting answered from another."""

import numpy as np
import pytest

import learners
from fhtd import (
    FHQ,
    FHTD,
    TD,
    Features,
    FHTDLambda,
    FixedHorizonMC,
    NStepFHTD,
    Questions,
    Weighting,
    load,
)

RNG = np.random.default_rng
ASKED = {
    "sum": Weighting.exponential(5, 0.9),
    "mean": Weighting.average(3),
    "soon": Weighting.from_weights([1.0, 0.5, 0.0, 0.25]),
    "one": Weighting.exponential(1),
}


def told(learner, seed, steps=200):
    learners.feed("FHTD", learner, RNG(seed), steps)
    return learner


@pytest.mark.parametrize("features", [Features.tabular(5), learners.overlapping_features()])
@pytest.mark.parametrize("extra", [{}, {"turn": Weighting.fourier(4, 1)}])
@pytest.mark.parametrize("initial", [0.0, 0.7])
def test_every_answer_is_that_of_a_learner_of_its_own(features, extra, initial):
    asked = ASKED | extra
    together = told(Questions(features, asked, step_size=0.3, initial=initial), 1)
    for name, weighting in asked.items():
        alone = told(FHTD(features, weighting, step_size=0.3, initial=initial), 1)
        for state in range(5):
            answer = together.answers(state)[name]
            assert answer.dtype == weighting.dtype
            np.testing.assert_allclose(answer, alone.values(state), atol=1e-12)
    assert together.horizons.tolist()[:9] == [1, 2, 3, 4, 5, 0, 1, 2, 3]
    np.testing.assert_allclose(
        together.rewards(2), told(FHTD(features, ASKED["sum"], step_size=0.3, initial=initial), 1)
        .rewards(2), atol=1e-12,
    )  # fmt: skip


def test_all_bins_are_the_fast_fourier_transform():
    """Of the next 8 rewards on a ring, where whole steps make every value exact."""
    horizon, rewards = 8, RNG(2).normal(size=5)
    learner = Questions(
        Features.tabular(5),
        [Weighting.fourier(horizon, f) for f in range(horizon)],
        step_size=1.0,
    )
    for t in range(5 * horizon):
        learner.update(t % 5, float(rewards[t % 5]), (t + 1) % 5)
    for state in range(5):
        ahead = rewards[(state + np.arange(horizon)) % 5]
        found = np.array([answer[-1] for answer in learner.answers(state).values()])
        np.testing.assert_allclose(found, np.fft.fft(ahead), atol=1e-12)


@pytest.mark.parametrize("extra", [{}, {"turn": Weighting.fourier(4, 1)}])
def test_transitions_of_several_steps_stay_within_each_question(extra):
    """Also those that take more steps than a question looks ahead."""
    features, asked = learners.overlapping_features(), ASKED | extra
    together = Questions(features, asked, step_size=0.3, initial=0.7)
    alone = {
        name: FHTD(features, weighting, step_size=0.3, initial=0.7)
        for name, weighting in asked.items()
    }
    rng = RNG(6)
    for _ in range(100):
        state, following = rng.integers(5, size=2).tolist()
        rewards, ended = rng.normal(size=rng.integers(1, 8)), bool(rng.random() < 0.2)
        for learner in (together, *alone.values()):
            learner.update(
                state,
                rewards if len(rewards) > 1 else float(rewards[0]),
                following,
                ended,
                duration=len(rewards),
            )
    for name, learner in alone.items():
        for state in range(5):
            np.testing.assert_allclose(
                together.answers(state)[name], learner.values(state), atol=1e-12
            )


def test_questions_are_kept_in_files(tmp_path):
    learner = told(Questions(learners.overlapping_features(), ASKED, initial_spread=1.0, seed=3), 4)
    learner.save(tmp_path / "asked.npz")
    again = load(tmp_path / "asked.npz")
    assert list(again.weightings) == list(ASKED)
    for one in (learner, again):
        told(one, 5)
    np.testing.assert_array_equal(learner.weights, again.weights)


@pytest.mark.parametrize(
    "wrong",
    [{}, [], {"x": 3}, {3: Weighting.exponential(2)}, [0.9], Weighting.exponential(2)],
)
def test_bad_questions_are_refused(wrong):
    with pytest.raises((TypeError, ValueError), match="weighting"):
        Questions(Features.tabular(2), wrong)


def test_what_questions_cannot_do():
    learner = Questions(Features.tabular(2), ASKED)
    for refused in (
        lambda: learner.extend(9),
        lambda: learner.reweighted(Weighting.exponential(2)),
    ):
        with pytest.raises((TypeError, ValueError), match=r"Questions"):
            refused()
    hiding = Questions(Features.tabular(2), [Weighting.from_weights([1.0, 0.0])])
    with pytest.raises(ValueError, match="single rewards"):
        hiding.rewards(0)


# From one weighting to another

KINDS = {
    "FHTD": FHTD,
    "FHTDLambda": lambda f, w, **o: FHTDLambda(f, w, 0.0, **o),
    "NStepFHTD": lambda f, w, **o: NStepFHTD(f, w, 1, **o),
}
OTHERS = [
    Weighting.exponential(6, 0.5),
    Weighting.average(4),
    Weighting.hyperbolic(6),
    Weighting.fourier(6, 2),
    Weighting.from_weights([0.0, 1.0]),
]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("other", OTHERS)
@pytest.mark.parametrize("own", [Weighting.exponential(6, 0.9), Weighting.average(6)])
def test_a_reweighted_learner_is_one_that_learned_so_from_the_start(kind, own, other):
    """What is learned of single rewards does not depend on how they are weighed."""
    features = learners.overlapping_features()
    begun = told(KINDS[kind](features, own, step_size=0.1), 7)
    changed, always = begun.reweighted(other), KINDS[kind](features, other, step_size=0.1)
    told(always, 7)
    assert changed.weighting == other
    assert changed.step == 200
    np.testing.assert_allclose(changed.weights, always.weights, atol=1e-9)
    for learner in (changed, always):
        learner.new_episode()
        told(learner, 8)
    np.testing.assert_allclose(changed.weights, always.weights, atol=1e-9)


@pytest.mark.parametrize("other", OTHERS)
def test_monte_carlo_is_reweighted_by_its_rewards(other):
    """Its horizons learn at different times, so only what is known now can be weighed anew."""
    begun = told(FixedHorizonMC(Features.tabular(5), Weighting.exponential(6, 0.9)), 7)
    found = begun.reweighted(other).values(3)
    expected = other.coefficients() @ begun.rewards(3)[: other.horizon]
    np.testing.assert_allclose(found, expected, atol=1e-12)


def test_horizons_beyond_those_asked_for_do_not_matter():
    """They may hide their rewards, or be fewer than n."""
    steep = told(FHTD(Features.tabular(5), Weighting.exponential(60, 0.5)), 7)
    with pytest.raises(ValueError, match="rounding of the values hide"):
        steep.reweighted(Weighting.exponential(60))
    short = told(FHTD(Features.tabular(5), Weighting.exponential(6)), 7)
    np.testing.assert_allclose(
        steep.reweighted(Weighting.exponential(6)).weights, short.weights, atol=1e-9
    )
    long = NStepFHTD(Features.tabular(5), Weighting.exponential(6), 4, horizons=range(1, 7))
    found = told(long, 7).reweighted(Weighting.average(3))
    assert found.n == 3
    np.testing.assert_allclose(
        found.values(2), np.cumsum(long.rewards(2))[:3] / [1, 2, 3], atol=1e-12
    )


def test_what_cannot_be_reweighted_says_why():
    features, two = Features.tabular(2), Weighting.exponential(2)
    moved = FHTD(features, two)
    moved.deepen()
    for learner, why in (
        (FHQ(features, 2, two), "policy of its own"),
        (FHQ(features, 1, two), "policy of its own"),
        (TD(features, 0.9), "when rewards come"),
        (NStepFHTD(features, Weighting.exponential(4), 2), "every horizon"),
        (moved, "every horizon"),
        (FHTD(features, Weighting.from_weights([1.0, 0.0])), "cannot be recovered"),
        (FHTD(features, Weighting.exponential(1)), "at most the 1"),
    ):
        with pytest.raises((TypeError, ValueError), match=why):
            learner.reweighted(two)
    with pytest.raises(TypeError, match=r"^weighting"):
        FHTD(features, two).reweighted(0.9)
