"""Learners and MDPs in files: earlier formats stay readable, and no file does any harm."""

import json
import os
import re
import time
import tracemalloc
import zipfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from checkpoint_files import npy, npy_claiming, pack, unpack, zipped
from fhtd import (
    ETD,
    FHQ,
    FHTD,
    TDC,
    Features,
    FHQLambda,
    FHTDLambda,
    NStepFHTD,
    Weighting,
    load,
    problems,
    worlds,
)
from learners import ALL, feed, is_control, overlapping_features

DATA = Path(__file__).parent / "data"


# Files of earlier versions, and what they were worth to the version that wrote them.


def test_a_learner_of_format_1_goes_on():
    learner = NStepFHTD.load(DATA / "learner-format-1.npz")
    assert (learner.n, learner.step, learner.seed, learner.initial_spread) == (4, 33, 3, 0.1)
    assert learner.weighting == Weighting.hyperbolic(6, 0.5)
    feed("NStepFHTD", learner, np.random.default_rng(2), 20)
    np.testing.assert_allclose(learner.weights.sum(axis=0), [0.19983635, -0.04032286], atol=1e-8)


def test_a_control_learner_of_format_1_goes_on():
    learner = FHQLambda.load(DATA / "learner-format-1-control.npz")
    for _ in range(9):
        learner.update(np.full(2, 0.3), 1, 1.0, np.full(2, 0.6))
    expected = [-0.58723917, -0.97648485, -0.51690367, -0.80898918]
    np.testing.assert_allclose(learner.weights.sum(axis=(0, 1)), expected, atol=1e-8)
    actions = [learner.act(np.full(2, 0.3)) for _ in range(8)]
    assert actions == [1, 1, 1, 1, 0, 1, 0, 0]


def test_a_complex_learner_of_format_1_goes_on():
    learner = TDC.load(DATA / "learner-format-1-complex.npz")
    learner.update(np.ones(3), 1.0, np.ones(3))
    expected = [-0.16710018 + 0.14420248j, 0.76175927 + 0.26559413j, 2.17176896 + 0.09713199j]
    np.testing.assert_allclose(learner.weights[:, 0], expected, atol=1e-8)


@pytest.mark.parametrize(
    "name", ["NStepFHTD", "FHTDLambda", "FixedHorizonMC", "FHQLambda", "NStepTD", "TDLambda", "ETD"]
)
def test_a_file_from_before_continuations_goes_on(name, tmp_path):
    """It does not say which arrays it holds, and lacks those that were not there yet."""
    path = tmp_path / "learner.npz"
    learner = ALL[name](overlapping_features(), step_size=0.05)
    feed(name, learner, np.random.default_rng(1), 33)
    learner.save(path)
    manifest, arrays = unpack(path.read_bytes())
    del manifest["memory"]
    later = {f"state_{array}" for array in ("window_continuations", "window_links", "carried")}
    assert later & set(arrays)
    path.write_bytes(pack(manifest, {k: v for k, v in arrays.items() if k not in later}))
    again = load(path)
    for one in (learner, again):
        feed(name, one, np.random.default_rng(2), 20)
    np.testing.assert_array_equal(learner.weights, again.weights)


def test_an_mdp_of_format_1_is_still_read():
    found, wanted = worlds.load_mdp(DATA / "mdp-format-1.npz"), problems.slippery_maze().mdp
    for field in ("probabilities", "next_states", "rewards", "terminal", "start", "positions"):
        np.testing.assert_array_equal(getattr(found, field), getattr(wanted, field))
    assert (found.name, found.action_names) == (wanted.name, wanted.action_names)


# Positions that kernels rely on.


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"state_cursor": [4, 0]}, "cursor must lie within the window of 4"),
        ({"state_cursor": [0, 4]}, "cursor must lie"),
        ({"state_cursor": [-1, 0]}, "cursor must lie"),
        ({"state_window_indices": np.full((4, 3), 3)}, "window_indices must be from 0 to 2"),
        ({"state_window_indices": np.full((4, 3), -1)}, "window_indices must be from 0 to 2"),
        ({"state_weights": np.ones((3, 3))}, "weights of horizon 0 must be 0"),
        ({"state_weights": np.zeros((3, 2))}, r"expected float64 of shape \(3, 3\)"),
        ({"state_window_rewards": np.zeros(5)}, "array window_rewards is"),
    ],
)
def test_arrays_that_do_not_fit_are_refused(tmp_path, change, message):
    path = tmp_path / "learner.npz"
    learner = ALL["NStepFHTD"](overlapping_features())
    feed("NStepFHTD", learner, np.random.default_rng(0), 9)
    learner.save(path)
    manifest, arrays = unpack(path.read_bytes())
    path.write_bytes(pack(manifest, arrays | {k: np.array(v) for k, v in change.items()}))
    with pytest.raises(ValueError, match=f"{re.escape(str(path))} .*{message}"):
        load(path)


@settings(max_examples=60)
@given(st.sampled_from(sorted(ALL)), st.randoms(use_true_random=False))
def test_no_state_of_a_file_reaches_outside_its_arrays(tmp_path_factory, name, random):
    """Whatever integers a file holds, it is refused or learns on within its arrays."""
    path = tmp_path_factory.mktemp("files") / "learner.npz"
    learner = ALL[name](overlapping_features())
    feed(name, learner, np.random.default_rng(0), random.randrange(12))
    learner.save(path)
    manifest, arrays = unpack(path.read_bytes())
    chosen = [k for k, v in arrays.items() if k.startswith("state_") and v.dtype.kind in "iu"]
    for key in chosen:
        changed = arrays[key].copy()
        for _ in range(random.randrange(1, 4)):
            where = random.randrange(changed.size)
            limits = np.iinfo(changed.dtype)
            values = [0, 1, 2, 3, 4, 5, 6, 7, limits.min, limits.max]
            changed.flat[where] = random.choice(values)
        arrays[key] = changed
    path.write_bytes(pack(manifest, arrays))
    try:
        loaded = load(path)
    except ValueError:
        return
    guards = guarded(loaded)
    feed(name, loaded, np.random.default_rng(1), 40)
    for guard in guards:
        assert np.all(guard == 77)


def guarded(learner):
    """Put every array of the state between margins of 77, and return the margins."""
    margins, moved = [], {}
    for field, array in learner._state._asdict().items():
        if isinstance(array, np.ndarray):
            room = np.full(array.size + 4096, 77, array.dtype)
            moved[field] = room[2048 : 2048 + array.size].reshape(array.shape)
            moved[field][...] = array
            margins += [room[:2048], room[2048 + array.size :]]
    learner._state = learner._state._replace(**moved)
    return margins


# Hostile files.


def hostile_learners():
    """Bytes of learner files, each with something wrong."""
    sources = {
        "n-step": NStepFHTD(Features.tabular(3), Weighting.hyperbolic(4), 2, seed=1),
        "dense": FHTD(Features.dense(3), Weighting.exponential(4, 0.9)),
        "tiles": FHQLambda(
            Features.tile_coded([0.0], [1.0], 2, 2), 2, Weighting.exponential(3), 0.5
        ),
        "complex": ETD(Features.tabular(3), 0.5 + 0.1j),
        "lambda": FHTDLambda(Features.tabular(3), Weighting.average(4), 0.5),
    }
    for name, learner in sources.items():
        yield from hostile(name, learner.save)
    huge = 10**9
    manifest, arrays = contents(sources["dense"].save)
    yield "dense size", pack(manifest, arrays | {"feature_size": np.array(huge)})
    manifest, arrays = contents(sources["tiles"].save)
    for key in ("feature_tiles", "feature_n_tilings"):
        for value in (huge, 2**62, -1):
            claimed = np.full_like(arrays[key], value)
            yield f"{key} {value}", pack(manifest, arrays | {key: claimed})
    manifest, arrays = contents(sources["n-step"].save)
    for value in (0, 3, 5, huge, 2**70, -1, 2.0, None, "2", [2], {"array": "state_weights"}):
        changed = manifest | {"arguments": manifest["arguments"] | {"n": value}}
        yield f"n {value}", pack(changed, arrays)
    long = Weighting.exponential(100_000)
    claimed = {"weighting_rewards": long.rewards, "weighting_bootstraps": long.bootstraps}
    for name in ("n-step", "dense", "tiles", "lambda"):
        manifest, arrays = contents(sources[name].save)
        yield f"{name} horizon", pack(manifest, arrays | claimed)
    manifest, arrays = contents(sources["complex"].save)
    for state in ({}, {"bit_generator": "MT19937"}, 5, None, {"bit_generator": "PCG64"}):
        yield f"generator {state}", pack(manifest | {"generator": state}, arrays)


def hostile_mdps():
    small = worlds.load_mdp(DATA / "mdp-format-1.npz")
    yield from hostile("mdp", lambda path: worlds.save_mdp(small, path))
    manifest, arrays = contents(lambda path: worlds.save_mdp(problems.baird().mdp, path))
    for name in ("probabilities", "rewards", "start"):
        for value in (np.nan, np.inf, -1.0):
            array = arrays[name].copy()
            array.flat[0] = value
            if (name, value) != ("rewards", -1.0):
                yield f"{name} {value}", pack(manifest, arrays | {name: array})
    yield "far", pack(manifest, arrays | {"next_states": arrays["next_states"] + 10**6})
    bomb = np.zeros(2**23 - 512)
    header = np.frombuffer(json.dumps({"format": 1, "name": "", "action_names": []}).encode(), "u1")
    for shape in ((-1, 1, 1), (1, -1, 1), (1, 1, -1), (-1,)):
        members = [("mdp.npy", npy(header)), ("probabilities.npy", npy(bomb.reshape(shape)))]
        yield f"bomb {shape}", zipped(members, zipfile.ZIP_DEFLATED)


def contents(save):
    path = Path(os.environ["PYTEST_TEMPORARY"]) / "source.npz"
    save(path)
    return unpack(path.read_bytes())


def hostile(name, save):
    """What can be done to any archive: bits, ends, fields, dtypes, shapes, members."""
    manifest, arrays = contents(save)
    whole = pack(manifest, arrays)
    rng = np.random.default_rng(0)
    for place in rng.choice(len(whole) * 8, 30, replace=False):
        damaged = bytearray(whole)
        damaged[place // 8] ^= 1 << int(place % 8)
        yield f"{name} bit {place}", bytes(damaged)
    for length in (0, 1, 4, *np.linspace(10, len(whole) - 1, 8).astype(int)):
        yield f"{name} first {length}", whole[:length]
    values = (None, -1, 10**30, 1e308, "x", [[]], {"rate": {"a": 1}})
    fields = [(key,) for key in manifest]
    fields += [("arguments", key) for key in manifest.get("arguments", {})]
    for field in fields:
        for value in (*values, ...):
            changed = json.loads(json.dumps(manifest))
            inner = changed if len(field) == 1 else changed["arguments"]
            if inner[field[-1]] == value:
                continue
            inner[field[-1]] = value
            if value is ...:
                del inner[field[-1]]
            if is_still_right(field[-1], value):
                continue
            yield f"{name} {field} {value}", pack(changed, arrays)
    for key, array in arrays.items():
        others = [np.zeros((0, 3))]
        if key.startswith("state_") or name == "mdp":
            others += [array[None], array.real.astype("f2")]
        for other in others:
            if key != "argument_initial":
                changed = arrays | {key: other}
                yield f"{name} {key} {other.dtype} {other.shape}", pack(manifest, changed)
        text = {key: npy(array.astype("S8"))}
        yield f"{name} {key} text", pack(manifest, arrays, members=text)
        if key != "positions":
            rest = {k: v for k, v in arrays.items() if k != key}
            yield f"{name} without {key}", pack(manifest, rest)
        huge = {"descr": "<f8", "fortran_order": False, "shape": (10**15,)}
        yield f"{name} {key} claims", pack(manifest, arrays, members={key: npy_claiming(huge)})
        for text in ("(" * 50_000, "{'descr': '<f8'"):
            member = {key: npy_claiming(text)}
            yield f"{name} {key} {text[:9]}", pack(manifest, arrays, members=member)
    for text in (b"", b"[", b"[]", b"1", b"{}", b"[" * 100_000, b"\xff", b'{"format": 3}'):
        yield f"{name} manifest {text[:9]!r}", pack(text, arrays)


def is_still_right(field, value):
    """A change that makes another learner, or another name, and no damage."""
    may_be = {
        "deepen_every": [None],
        "seed": [None, 10**30],
        "initial": [True, -1, 1e308],
        "initial_spread": [1e308, 10**30],
        "allow_divergence": [None, True, -1, 10**30, 1e308, "", "x", [], [[]], {}],
        "step_size": [1e308, 10**30],
        "discount": [-1, 10**30, 1e308],
        "name": ["", "x"],
        # As files of earlier versions are, where nothing is missing.
        "memory": [...],
    }
    return any(type(value) is type(one) and value == one for one in may_be.get(field, []))


@pytest.mark.parametrize(
    ("kind", "read", "made", "least"),
    [
        ("learner file", load, hostile_learners, 600),
        ("MDP file", worlds.load_mdp, hostile_mdps, 100),
    ],
)
def test_hostile_files_get_one_clear_error(tmp_path, monkeypatch, kind, read, made, least):
    monkeypatch.setenv("PYTEST_TEMPORARY", str(tmp_path))
    path = tmp_path / "hostile.npz"
    count = 0
    for name, content in made():
        path.write_bytes(content)
        del content
        begun = time.perf_counter()
        said, taken = error_of(read, path, traced=any(word in name for word in LARGE))
        # Some bits of a zip file say nothing, such as its dates.
        if said is None and " bit " in name:
            continue
        assert str(said).startswith(f"{path} is not a readable {kind}: "), name
        assert len(str(said).splitlines()) == 1
        assert time.perf_counter() - begun < 5, name  # a second, on a machine that is not busy
        count += 1
        assert taken < 200e6, name
    assert count >= least


#: Files that claim much; tracing every one would take long.
LARGE = ("size", "tiles", "horizon", "bomb", "claims", "n 1")


def error_of(read, path, traced):
    """The ValueError that reading raises (anything else passes), and the memory that it took."""
    if traced:
        tracemalloc.start()
    try:
        read(path)
    except ValueError as error:
        return error, tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    return None, 0


@pytest.mark.parametrize("read", [load, worlds.load_mdp])
def test_what_is_no_plain_file_is_refused_at_once(tmp_path, read):
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", tmp_path):
        with pytest.raises(ValueError, match="it is not a plain file"):
            read(path)
    with pytest.raises(FileNotFoundError):
        read(tmp_path / "missing")


# What a user's own features may do to a kernel.


class Careless:
    """Features of a user's who has miscounted."""

    size, n_active, observation_shape = 4, 2, ()

    def __init__(self):
        self.answer = [0, 1], [1.0, 1.0]

    def active(self, observation):
        return self.answer


@settings(max_examples=150)
@given(
    st.sampled_from(sorted(ALL)),
    st.lists(
        st.tuples(
            st.lists(
                st.sampled_from([0, 1, 3, 4, -1, 1000, 10**6, -(2**63), 2**63 - 1]), max_size=3
            ),
            st.lists(st.sampled_from([0.0, 1.0, np.nan, np.inf, -1e9]), max_size=3),
            st.booleans(),
        ),
        max_size=12,
    ),
)
def test_no_update_reaches_outside_the_weights(name, updates):
    """An update is refused whole, or it is learned from within the arrays."""
    features = Careless()
    learner = ALL[name](features, allow_divergence=True)
    margins = guarded(learner)
    for indices, values, ends in updates:
        features.answer = np.array(indices, np.int64), values
        fits = len(indices) == len(values) == 2 and all(0 <= i < 4 for i in indices)
        before = learner.weights.copy()
        action = (0,) if is_control(name) else ()
        if fits and np.isfinite(values).all():
            learner.update(0, *action, 1.0, 0, ends)
            continue
        with pytest.raises(ValueError, match="features of observation must"):
            learner.update(0, *action, 1.0, 0, ends)
        np.testing.assert_array_equal(learner.weights, before)
    for margin in margins:
        assert np.all(margin == 77)


def test_features_that_change_their_size_are_not_believed():
    features = Careless()
    learner = FHQ(features, 2, Weighting.exponential(3))
    features.size, learner.n_actions = 10**6, 5
    for action, indices in ((0, [0, 4]), (4, [0, 1])):
        features.answer = np.array(indices), [1.0, 1.0]
        with pytest.raises(ValueError, match=r"must be one of|indices from 0 to 3"):
            learner.update(0, action, 1.0, 0)
    features.answer = np.array([0.5, 1.0]), [1.0, 1.0]
    with pytest.raises(TypeError, match="integer indices"):
        learner.update(0, 0, 1.0, 0)
    features.size = 0
    with pytest.raises(ValueError, match=r"features.size must be"):
        FHTD(features, Weighting.exponential(3))
    features.size, features.n_active = 4, 0
    with pytest.raises(ValueError, match=r"features.n_active must be"):
        FHTD(features, Weighting.exponential(3))


def test_tiles_too_many_to_count_are_refused():
    with pytest.raises(ValueError, match="too many to count"):
        Features.tile_coded(np.zeros(20), np.ones(20), 8)
    with pytest.raises(ValueError, match="too many to count"):
        Features.tile_coded([0.0], [1.0], 2**62, 4)
