"""What starting costs: nothing heavy is imported, and nothing is compiled twice."""

import os
import subprocess
import sys

import pytest

HEAVY = ("numba", "jax", "matplotlib", "gymnasium", "ray", "scipy", "pandas")


def run(code, **environment):
    return subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        capture_output=True,
        text=True,
        check=True,
        env=os.environ | environment,
        timeout=300,
    ).stdout


@pytest.mark.parametrize(
    "use",
    [
        "import fhtd",
        "import fhtd, fhtd.commands.main",
        "from fhtd import Weighting, FiniteMDP, Features, oracle, problems, targets, policy",
    ],
)
def test_light_uses_load_nothing_heavy(use):
    loaded = run(f"import sys; {use}; print(*sys.modules)").split()
    assert not set(HEAVY) & {name.partition(".")[0] for name in loaded}


def test_learners_load_the_compiler_and_no_more():
    loaded = run("import sys; from fhtd import FHTD, simulate; print(*sys.modules)").split()
    roots = {name.partition(".")[0] for name in loaded}
    assert "numba" in roots
    assert not {"jax", "matplotlib", "gymnasium", "ray", "pandas"} & roots


CODE = """
import numpy as np
from fhtd import FHTD, FHQLambda, Features, Weighting, problems, simulate
from fhtd.online.kernels import dispatch, simulator
walk = problems.random_walk()
one = FHTD(walk.features, Weighting.exponential(3))
one.update(10, 0.0, 11)
two = FHQLambda(walk.features, 2, Weighting.exponential(3), 0.5)
two.update(10, 0, 0.0, 11)
simulate(one, walk.mdp, steps=5, behaviour=walk.behaviour, truth=np.zeros((21, 3)))
kernels = (dispatch.learn, simulator.simulate_block)
print(sum(sum(k.stats.cache_misses.values()) for k in kernels))
print(sum(sum(k.stats.cache_hits.values()) for k in kernels))
"""


def test_a_second_process_compiles_nothing(tmp_path):
    first = run(CODE, NUMBA_CACHE_DIR=str(tmp_path)).split()
    second = run(CODE, NUMBA_CACHE_DIR=str(tmp_path)).split()
    assert first == ["3", "0"]
    assert second == ["0", "3"]


def test_everything_public_can_be_reached():
    import fhtd

    for name in fhtd.__all__:
        assert getattr(fhtd, name) is not None
        assert name in dir(fhtd)
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        _ = fhtd.nonsense
