"""Deep agents whose final horizon grows, and optimisers of every kind."""

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from fhtd import Weighting
from fhtd.deep import DFHQ, DFHTD, DQN, FHSAC, windows
from fhtd.deep.optimisers import build, falling

SMALL = {"hidden": (8, 8), "learning_starts": 8, "batch_size": 4, "replay_size": 200}


def agent(horizon=3, **changes):
    return DFHQ("CartPole-v1", preset="paper", seed=0, **SMALL, horizon=horizon, **changes)


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"unshared": True},
        {"target_update_interval": 5},
        {"normalise": True, "layer_norm": True},
        {"optimiser": "adamw", "max_grad_norm": 1.0, "learning_rate_final": 0.0},
        {"optimiser": "rmsprop-centred"},
        # As many heads as a hidden layer has units: they must not be taken for one another.
        {"horizon": 4},
    ],
)
def test_what_is_learned_stays(changes):
    grown = agent(**changes)
    grown.learn(60)
    kept, horizon = grown.values(np.ones(4)), grown.settings.horizon
    moments = jax.tree.leaves(grown.state.optimiser)
    frames, episodes = grown.frames, grown.episodes
    assert grown.extend(horizon + 2) is grown
    assert_array_equal(grown.horizons, np.arange(1, horizon + 3))
    values = grown.values(np.ones(4))
    assert_allclose(values[:, :horizon], kept, rtol=1e-6)
    assert_allclose(values[:, horizon:], np.repeat(kept[:, -1:], 2, axis=1), rtol=1e-6)
    assert len(jax.tree.leaves(grown.state.optimiser)) == len(moments)
    assert (grown.frames, grown.episodes) == (frames, episodes)
    grown.learn(60)
    assert grown.frames == frames + 60
    assert not np.array_equal(*grown.values(np.ones(4)).T[-2:])


def test_growing_is_learning_the_longer_target():
    # The update after growing is that of an agent that always had so many horizons.
    grown = agent(horizon=2)
    grown.learn(40)
    state = grown.state
    grown.extend(3)
    longer = agent(horizon=3)
    longer.learn(40)
    heads = windows.grown(state.parameters, state.parameters, 2, 1, unshared=False)
    for mine, other in zip(grown.state.parameters, heads, strict=True):
        assert_array_equal(mine, other)
    batch = longer.experience.sample(4, longer.rng)
    unpacked = longer.experience.layout.unpack(batch)
    start = grown.loop.algorithm.init()._replace(parameters=tuple(map(jnp.copy, heads)))
    ours, _ = grown.loop.algorithm.update(start, unpacked)
    theirs, _ = longer.loop.algorithm.update(start, unpacked)
    for mine, other in zip(ours.parameters, theirs.parameters, strict=True):
        assert_array_equal(mine, other)


def test_a_grown_agent_is_saved_and_goes_on(tmp_path):
    grown = agent(n_step=2, horizon=4)
    grown.learn(50)
    grown.extend(8)
    grown.learn(30)
    grown.save(tmp_path / "grown.npz")
    again = DFHQ.load(tmp_path / "grown.npz")
    assert_array_equal(again.horizons, [2, 4, 6, 8])
    grown.learn(30)
    again.learn(30)
    for mine, other in zip(jax.tree.leaves(grown.state), jax.tree.leaves(again.state), strict=True):
        assert_array_equal(mine, other)


def test_a_window_can_grow():
    grown = agent(horizon=2, deepen_every=5)
    grown.learn(40)
    base = grown.base
    assert base > 0
    grown.extend(4)
    assert_array_equal(grown.horizons, base + np.arange(1, 5))
    grown.learn(20)


@pytest.mark.parametrize("changes", [{}, {"tau": 0.1}, {"deepen_every": 5}])
def test_critics_grow(changes):
    grown = FHSAC(
        "Pendulum-v1", seed=0, **SMALL, **({"horizon": 3, "deepen_every": None} | changes)
    )
    grown.learn(30)
    kept, observed = grown.values(np.ones(3)), np.ones(3)
    base = grown.base
    grown.extend(5)
    assert_array_equal(grown.horizons, base + np.arange(1, 6))
    values = grown.values(observed)
    assert_allclose(values[..., :3], kept, rtol=1e-5)
    assert_allclose(values[..., 3:], np.repeat(kept[..., -1:], 2, axis=-1), rtol=1e-5)
    grown.learn(10)


@pytest.mark.parametrize("weighting", [Weighting.exponential(3, 0.9), Weighting.fourier(3, 1.0)])
def test_predictions_grow(weighting):
    signals = {"reward": lambda o, a, r, n, i: r, "left": lambda o, a, r, n, i: float(a == 0)}
    grown = DFHTD(
        "CartPole-v1", lambda o: [0.5, 0.5], weighting=weighting, cumulants=signals, **SMALL
    )
    grown.learn(30)
    kept = grown.values(np.ones(4))
    grown.extend(5)
    for name, values in grown.values(np.ones(4)).items():
        assert_allclose(values[:3], kept[name], rtol=1e-5)
        assert_allclose(values[3:], np.repeat(kept[name][-1:], 2), rtol=1e-5)
    grown.learn(30)
    assert len(grown.values(np.ones(4))["left"]) == 5


def test_a_weighting_grows_as_it_says():
    grown = DFHQ("CartPole-v1", weighting=Weighting.average(3), preset="paper", **SMALL)
    grown.learn(20)
    grown.extend(5)
    assert grown.weighting == Weighting.average(5)
    with pytest.raises(ValueError, match="horizon must be at least 5"):
        grown.extend(4)
    scaled = DFHQ("CartPole-v1", weighting=Weighting.hyperbolic(3), preset="paper", **SMALL)
    with pytest.raises(ValueError, match="not determined"):
        scaled.extend(5)
    with pytest.raises(ValueError, match="multiple of n_step"):
        agent(n_step=2, horizon=4).extend(5)
    with pytest.raises(ValueError, match="extend needs an agent without"):
        agent(horizon=3, acting=(0.0, 0.5, 0.5)).extend(5)


@pytest.mark.parametrize(
    ("name", "theirs"),
    [
        ("adam", optax.adam),
        ("adamw", optax.adamw),
        ("nadam", optax.nadam),
        ("radam", optax.radam),
        ("adabelief", optax.adabelief),
        ("lion", optax.lion),
        ("sgd", optax.sgd),
    ],
)
def test_named_optimisers_are_optax_s(name, theirs):
    parameters = (jnp.array([1.0, -2.0]), jnp.array([[0.5]]))
    ours, other = build(name, 0.1, None), theirs(0.1)
    mine, its = (ours.init(parameters), parameters), (other.init(parameters), parameters)
    rng = np.random.default_rng(0)
    for _ in range(8):
        slopes = jax.tree.map(lambda x: jnp.asarray(rng.normal(size=x.shape), x.dtype), parameters)
        results = []
        for transformation, (memory, present) in ((ours, mine), (other, its)):
            changes, new = transformation.update(slopes, memory, present)
            results.append((new, optax.apply_updates(present, changes)))
        mine, its = results
        for one, two in zip(mine[1], its[1], strict=True):
            assert_allclose(one, two, rtol=1e-6)


def test_the_learning_rate_falls_in_a_straight_line():
    falls = falling(0.4, 0.1, 3)
    assert_allclose([falls(i) for i in range(6)], [0.4, 0.3, 0.2, 0.1, 0.1, 0.1], rtol=1e-6)
    # What is logged is what the optimiser takes.
    said = agent(learning_rate=0.4, learning_rate_final=0.1, learning_rate_updates=3).settings
    assert_allclose([said.learning_rate_after(i) for i in range(6)], [falls(i) for i in range(6)])
    assert agent(learning_rate=0.4).settings.learning_rate_after(10) == 0.4


@pytest.mark.parametrize("kind", [DFHQ, DQN])
def test_any_optimiser_of_optax(kind, tmp_path):
    own = optax.chain(optax.clip(0.5), optax.yogi(optax.cosine_decay_schedule(0.01, 50)))
    learner = kind("CartPole-v1", preset="paper", transformation=own, **SMALL)
    learner.learn(40)
    learner.save(tmp_path / "own.npz")
    with pytest.raises(ValueError, match="give it to load as transformation"):
        kind.load(tmp_path / "own.npz")
    again = kind.load(tmp_path / "own.npz", transformation=own)
    learner.learn(30)
    again.learn(30)
    assert_array_equal(again.values(np.ones(4)), learner.values(np.ones(4)))
    with pytest.raises(TypeError, match="transformation must be an optimiser of optax"):
        kind("CartPole-v1", transformation="adam")


def test_wrong_rates_are_refused():
    for name, value in (("learning_rate_final", -1), ("learning_rate_updates", 0)):
        with pytest.raises(ValueError, match=name):
            agent(**{name: value})


def test_memories_of_another_shape_are_refused_before_anything_changes():
    own = optax.adafactor(1e-3, min_dim_size_to_factor=2)
    grown = agent(transformation=own)
    grown.learn(30)
    with pytest.raises(ValueError, match="extend cannot grow what transformation remembers"):
        grown.extend(5)
    assert_array_equal(grown.horizons, [1, 2, 3])
    assert grown.settings.horizon == 3
    grown.learn(30)
