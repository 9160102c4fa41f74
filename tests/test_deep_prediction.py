"""Deep evaluation of a policy against the exact oracle, on- and off-policy, any signal."""

import resource

import numpy as np
import pytest

from fhtd import FiniteMDP, Weighting, oracle, problems
from fhtd.envs import FiniteMDPEnv

pytest.importorskip("equinox")

from fhtd.deep import DFHQ, DFHTD

HORIZON = 5
WALK = problems.random_walk(5)
RIGHT = np.tile([0.3, 0.7], (7, 1))
FAST = {
    "hidden": (32,),
    "optimiser": "adam",
    "learning_rate": 3e-3,
    "batch_size": 64,
    "learning_starts": 200,
}


def gap(learner, exact, name="reward"):
    found = np.stack([learner.values(s)[name] for s in range(7)])
    return np.abs(found - exact)[~WALK.mdp.terminal_states].max()


@pytest.mark.parametrize("kind", ["exponential", "average", "fourier"])
def test_on_policy_values_are_exact(kind):
    weighting = {
        "exponential": Weighting.exponential(HORIZON, 0.9),
        "average": Weighting.average(HORIZON),
        "fourier": Weighting.fourier(HORIZON, 1),
    }[kind]
    learner = DFHTD(FiniteMDPEnv(WALK.mdp), lambda s: RIGHT[s], weighting=weighting, seed=0, **FAST)
    learner.learn(5000)
    exact = oracle.state_values(WALK.mdp, RIGHT, weighting)
    assert gap(learner, exact) < 0.12
    assert np.abs(exact).max() > 0.15


def test_importance_ratios_lead_to_the_target_policy():
    weighting = Weighting.exponential(HORIZON)
    learner = DFHTD(
        FiniteMDPEnv(WALK.mdp),
        lambda s: RIGHT[s],
        behaviour=lambda s: [0.5, 0.5],
        weighting=weighting,
        seed=0,
        **FAST,
    )
    learner.learn(6000)
    exact = oracle.state_values(WALK.mdp, RIGHT, weighting)
    wrong = oracle.state_values(WALK.mdp, WALK.behaviour, weighting)
    assert gap(learner, exact) < 0.15 < gap(learner, wrong)


def test_any_signal_of_the_transition_several_at_once():
    """Two signals with known answers: a constant, and entering the middle state."""
    learner = DFHTD(
        FiniteMDPEnv(WALK.mdp),
        lambda s: [0.5, 0.5],
        cumulants={
            "one": lambda *_: 1.0,
            "middle": lambda s, a, r, following, info: float(following == 3),
        },
        horizon=3,
        discount=1.0,
        seed=0,
        **FAST,
    )
    learner.learn(5000)
    # From the middle three steps are sure; from its neighbour it is entered on odd steps only.
    assert learner.values(3)["one"] == pytest.approx([1, 2, 3], abs=0.15)
    assert learner.rewards(2)["middle"] == pytest.approx([0.5, 0, 0.375], abs=0.12)


@pytest.mark.parametrize("kind", ["real", "complex"])
def test_what_follows_counts_as_much_as_the_transition_says(kind):
    """Held to the MDP that has these continuations itself, for every signal."""
    weighting = Weighting.exponential(HORIZON, 1.0 if kind == "real" else 0.9j)
    counts = np.array([1.0, 1.0, 0.2, 0.0, 1.0, 0.6, 1.0])
    learner = DFHTD(
        FiniteMDPEnv(WALK.mdp),
        lambda s: RIGHT[s],
        cumulants={"one": lambda *_: 1.0, "reward": lambda s, a, reward, after, info: reward},
        continuation=lambda s, a, reward, after, info: counts[after],
        weighting=weighting,
        seed=0,
        **FAST,
    )
    learner.learn(6000)
    exact = oracle.state_values(WALK.mdp.continuing(counts[WALK.mdp.next_states]), RIGHT, weighting)
    assert gap(learner, exact) < 0.12
    for mdp in (WALK.mdp, WALK.mdp.continuing(counts[WALK.mdp.next_states])):
        ones = FiniteMDP(
            mdp.probabilities,
            mdp.next_states,
            np.ones(mdp.rewards.shape),
            mdp.terminal,
            mdp.start,
        )
        off = gap(learner, oracle.state_values(ones, RIGHT, weighting), "one")
        assert (off < 0.2) == (mdp is not WALK.mdp)


@pytest.mark.parametrize(
    ("wrong", "error"),
    [(0.5, TypeError), (lambda *_: np.inf, ValueError), (lambda *_: -1, ValueError)],
)
def test_a_continuation_that_is_none_is_named(wrong, error):
    with pytest.raises(error, match=r"^continuation"):
        DFHTD(FiniteMDPEnv(WALK.mdp), lambda s: 0, continuation=wrong).learn(1)


def test_an_agent_can_be_the_policy():
    agent = DFHQ("CartPole-v1", preset="paper", horizon=4, hidden=(8,), seed=0)
    learner = DFHTD("CartPole-v1", agent, horizon=6, discount=1.0, seed=0, **FAST)
    learner.learn(2500)
    values = learner.values(np.zeros(4))["reward"]
    assert values == pytest.approx([1, 2, 3, 4, 5, 6], abs=0.6)


def test_seeds_decide_everything():
    def weights(seed):
        learner = DFHTD(FiniteMDPEnv(WALK.mdp), lambda s: [0.5, 0.5], horizon=3, seed=seed, **FAST)
        return learner.learn(300).values(3)["reward"]

    np.testing.assert_array_equal(weights(1), weights(1))
    assert not np.array_equal(weights(1), weights(2))


@pytest.mark.parametrize(
    ("build", "error", "message"),
    [
        (lambda e: DFHTD(e, 3), TypeError, "policy must be a function"),
        (lambda e: DFHTD(e, lambda s: 0, double=True), TypeError, "double is not a setting"),
        (lambda e: DFHTD(e, lambda s: 0, cumulants={}), ValueError, "cumulants must name"),
        (lambda e: DFHTD(e, lambda s: 9).learn(1), ValueError, "action of behaviour must be"),
        (lambda e: DFHTD(e, lambda s: [1, 1]).learn(1), ValueError, "must sum to 1"),
        (
            lambda e: DFHTD(e, lambda s: 0, cumulants={"x": lambda *_: np.nan}).learn(1),
            ValueError,
            "x at frame 1 must be finite",
        ),
    ],
)
def test_mistakes_are_named(build, error, message):
    with pytest.raises(error, match=message):
        build(FiniteMDPEnv(WALK.mdp))


def two_signals():
    return {"one": lambda *_: 1.0, "end": lambda s, a, r, following, info: float(following == 6)}


def predictor(**kind):
    return DFHTD(
        FiniteMDPEnv(WALK.mdp),
        lambda s: [0.5, 0.5],
        cumulants=two_signals(),
        seed=2,
        hidden=(8,),
        learning_starts=20,
        replay_size=150,
        **kind,
    )


def halved(*_):
    return 0.5


@pytest.mark.parametrize(
    "kind",
    [
        {"horizon": 4},
        {"weighting": Weighting.fourier(3, 1)},
        {"horizon": 4, "continuation": halved},
    ],
)
def test_a_loaded_predictor_goes_on_to_the_bit(tmp_path, kind):
    path = tmp_path / "predictor.npz"
    first = predictor(**kind)
    first.learn(200)
    first.save(path)
    again = DFHTD.load(
        path,
        lambda s: [0.5, 0.5],
        environment=FiniteMDPEnv(WALK.mdp),
        cumulants=two_signals(),
        continuation=kind.get("continuation"),
    )
    assert (again.frames, again.episodes) == (first.frames, first.episodes)
    first.learn(120)
    again.learn(120)
    for name, values in first.values(3).items():
        np.testing.assert_array_equal(values, again.values(3)[name])
    assert first.settings == again.settings


def test_loading_with_other_signals_is_refused(tmp_path):
    path = tmp_path / "predictor.npz"
    predictor(horizon=2).save(path)
    world = FiniteMDPEnv(WALK.mdp)
    with pytest.raises(ValueError, match=r"it predicts one, end, but cumulants are \['reward'\]"):
        DFHTD.load(path, lambda s: 0, environment=world)
    again = {"environment": world, "cumulants": two_signals()}
    with pytest.raises(ValueError, match="without a continuation, which must be left out"):
        DFHTD.load(path, lambda s: 0, continuation=halved, **again)
    predictor(horizon=2, continuation=halved).save(path)
    with pytest.raises(ValueError, match="with a continuation, which must be given again"):
        DFHTD.load(path, lambda s: 0, **again)
    DFHQ(world, preset="paper", horizon=2, hidden=(4,)).save(path)
    with pytest.raises(ValueError, match="it holds a DFHQ, not a DFHTD"):
        DFHTD.load(path, lambda s: 0, environment=world)
    with pytest.raises(FileNotFoundError):
        DFHTD.load(tmp_path / "nothing.npz", lambda s: 0, environment=world)


def test_a_file_cannot_have_a_module_imported(tmp_path, monkeypatch):
    """An id of the form module:Env would make Gymnasium import it."""
    from fhtd import archive

    path = tmp_path / "predictor.npz"
    predictor(horizon=2).save(path)
    manifest, arrays = archive.read(path, "agent")
    del manifest["arrays"], manifest["format"], manifest["kind"]
    (tmp_path / "canary.py").write_text("raise SystemExit('it was imported')\n")
    monkeypatch.syspath_prepend(tmp_path)
    archive.write(path, "agent", {**manifest, "environment": "canary:Env-v0"}, arrays)
    with pytest.raises(ValueError, match="is not a readable checkpoint"):
        DFHTD.load(path, lambda s: 0, cumulants=two_signals())


@pytest.mark.parametrize("hidden", [[20_000, 20_000], [10**9, 10**9], [4] * 10_000, [3]])
def test_a_file_cannot_claim_memory(tmp_path, hidden):
    """Settings that its arrays do not have are refused before a network is made of them."""
    from fhtd import archive

    path = tmp_path / "predictor.npz"
    predictor(horizon=2).save(path)
    manifest, arrays = archive.read(path, "agent")
    del manifest["arrays"], manifest["format"], manifest["kind"]
    manifest["settings"]["hidden"] = hidden
    archive.write(path, "agent", manifest, arrays)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(ValueError, match="is not a readable checkpoint"):
        DFHTD.load(path, lambda s: 0, environment=FiniteMDPEnv(WALK.mdp), cumulants=two_signals())
    # Kilobytes; two layers of 20,000 units have 1.6 GB of weights.
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 200_000
