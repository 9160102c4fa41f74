"""A learner, a kernel and a weighting of one's own, all in this one file: see CONTRIBUTING.md."""

import os
import subprocess
import sys
from typing import NamedTuple

import numpy as np
import pytest

from fhtd import FHTD, Features, FHTDLambda, NStepFHTD, Weighting, load, oracle, problems
from fhtd.online.fixed_horizon import FixedHorizonLearner
from fhtd.online.kernels.compiled import Array, compiled, inlined
from fhtd.online.kernels.dispatch import kernel
from fhtd.online.learner import LEARNERS
from fhtd.online.prediction import PredictionLearner
from fhtd.online.simulate import simulate

WALK = problems.random_walk(5)


def front_loaded(horizon):
    """A weighting: every reward counts half as much as the one before it."""
    return Weighting.from_weights(0.5 ** np.arange(horizon))


class Cautious(FHTD):
    """A subclass with an argument of its own: it believes no reward beyond a limit."""

    def __init__(self, features, weighting, limit=1.0, **others):
        self.limit = limit
        super().__init__(features, weighting, **others)

    def update(self, observation, reward, *others, **more):
        super().update(observation, min(reward, self.limit), *others, **more)


class Counting(NamedTuple):
    """State of a learner that averages: the step size of a feature is 1 / its visits."""

    weights: Array
    rewards: Array
    bootstraps: Array
    visits: Array


@compiled
def _forget_visits(state):
    state.visits[:] = 0


@kernel(Counting, new_run=_forget_visits)
@inlined
def counting_update(state, seen, rates):
    weights = state.weights
    i, j = seen.indices[seen.row, 0], seen.indices[seen.next_row, 0]
    state.visits[i] += 1
    for h in range(weights.shape[1] - 1, 0, -1):
        ahead = 0.0 if seen.terminated else weights[j, h - 1]
        target = state.rewards[h] * seen.reward + state.bootstraps[h] * ahead
        weights[i, h] += rates[0] / state.visits[i] ** 0.8 * (target - weights[i, h])
    return 0.0


class Averaging(PredictionLearner, FixedHorizonLearner):
    """A learner with a kernel of its own."""

    state_type = Counting

    def _constants(self):
        return self._coefficients()

    def _memory(self):
        return {"visits": ((self._n_features,), np.float64)}


@pytest.mark.parametrize("build", [Cautious, Averaging])
def test_an_own_learner_trains_and_survives_its_file(tmp_path, build):
    learner = build(WALK.features, front_loaded(4), step_size=0.5)
    learner.update(1, 5.0, 2)
    assert learner.values(1)[0] == {Cautious: 0.5, Averaging: 2.5}[build] * 0.5**3
    learner.save(tmp_path / "own.npz")
    again = load(tmp_path / "own.npz")
    assert type(again) is build
    for one in (learner, again):
        one.update(1, 0.5, 2)
    np.testing.assert_array_equal(learner.weights, again.weights)
    assert again.weighting == learner.weighting


def test_an_argument_of_ones_own_is_kept(tmp_path):
    Cautious(WALK.features, front_loaded(3), limit=0.25, seed=4).save(tmp_path / "own.npz")
    again = Cautious.load(tmp_path / "own.npz")
    assert (again.limit, again.seed) == (0.25, 4)


def test_an_own_kernel_is_simulated():
    weighting = front_loaded(6)
    exact = oracle.state_values(WALK.mdp, WALK.target, weighting)
    found = simulate(
        Averaging(WALK.features, weighting, step_size=1.0),
        WALK.mdp,
        steps=100_000,
        runs=2,
        behaviour=WALK.behaviour,
        truth=exact,
        record_at=[100_000],
    )
    assert found.errors.mean[0, -1] < 0.02


def test_every_learner_takes_an_own_weighting():
    for build in (FHTD, lambda f, w: NStepFHTD(f, w, 2), lambda f, w: FHTDLambda(f, w, 0.5)):
        learner = build(Features.tabular(1), front_loaded(4))
        for _ in range(2000):
            learner.update(0, 1.0, 0)
        assert learner.values(0)[-1] == pytest.approx(1.875)


def test_a_class_that_is_not_known_says_what_to_import(tmp_path):
    Cautious(WALK.features, front_loaded(3)).save(tmp_path / "own.npz")
    known = LEARNERS.pop(f"{__name__}.Cautious")
    try:
        with pytest.raises(ValueError, match=f"not known; import {__name__} first"):
            load(tmp_path / "own.npz")
    finally:
        LEARNERS[f"{__name__}.Cautious"] = known


def test_what_cannot_be_kept_is_said_before_anything_is_written(tmp_path):
    class Forgetful(FHTD):
        def __init__(self, features, weighting, limit=1.0, **others):
            super().__init__(features, weighting, **others)

    with pytest.raises(TypeError, match="argument 'limit' is not kept as an attribute"):
        Forgetful(WALK.features, front_loaded(3)).save(tmp_path / "own.npz")
    with pytest.raises(TypeError, match="limit is a list"):
        Cautious(WALK.features, front_loaded(3), limit=[1.0]).save(tmp_path / "own.npz")
    assert not list(tmp_path.iterdir())


def test_the_cache_of_a_process_that_knows_an_own_kernel_is_of_use_to_others(tmp_path):
    """Compiled code of a user's state would stop those who cannot import it."""
    environment = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path)}
    here = os.path.dirname(__file__)
    environment["PYTHONPATH"] = os.pathsep.join([here, environment.get("PYTHONPATH", "")])
    own = (
        "import numpy as np, test_own_learner as t;"
        "t.Averaging(t.WALK.features, t.front_loaded(2)).update(1, 1.0, 2);"
        "t.simulate(t.Averaging(t.WALK.features, t.front_loaded(2)), t.WALK.mdp, steps=9,"
        " behaviour=t.WALK.behaviour)"
    )
    other = (
        "from fhtd import FHTD, Weighting, problems, simulate; w = problems.random_walk(5);"
        "FHTD(w.features, Weighting.exponential(2)).update(1, 1.0, 2);"
        "simulate(FHTD(w.features, Weighting.exponential(2)), w.mdp, steps=9,"
        " behaviour=w.behaviour)"
    )
    subprocess.run([sys.executable, "-c", own], check=True, env=environment)
    environment["PYTHONPATH"] = environment["PYTHONPATH"].partition(os.pathsep)[2]
    subprocess.run([sys.executable, "-c", other], check=True, env=environment)
