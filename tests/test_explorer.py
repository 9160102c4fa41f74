"""The explorer's page as text: what is in it, what it refuses, and how large it is."""

import base64
import json
import re
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from fhtd import FHQ, FHTD, TD, Features, FiniteMDP, NStepFHTD, Weighting, oracle, problems, worlds
from fhtd.commands.main import main
from fhtd.pages import explore
from fhtd.pages.document import MEGABYTE, as_json
from fhtd.pages.explorer import reached
from fhtd.policy import uniform

WALK = problems.random_walk(5)
HOSTILE = "</script><script>alert(1)</script><!--"


def content(page: str) -> dict:
    found = re.findall(r'<script type="application/json" id="content">(.*?)</script>', page)
    assert len(found) == 1
    return json.loads(found[0])["data"]


def array(packed: dict) -> np.ndarray:
    kinds = {"f4": np.float32, "f8": np.float64, "i4": np.int32}
    raw = np.frombuffer(base64.b64decode(packed["bytes"]), kinds[packed["kind"]])
    return raw.reshape(packed["shape"])


def learner_of(kind=FHQ, **options):
    arguments = [Features.tabular(7)] + ([2] if kind is FHQ else [])
    return kind(*arguments, Weighting.exponential(6), **options)


def test_the_page_holds_the_model_and_what_was_learned():
    learner = learner_of()
    learner.weights[...] = np.random.default_rng(0).normal(size=learner.weights.shape)
    data = content(explore(WALK.mdp, learner=learner))
    held = array(data["learned"]["array"])
    np.testing.assert_allclose(held, learner.weights.transpose(1, 0, 2), rtol=1e-6)
    assert data["learned"]["weighting"] == {"kind": "discount", "value": 1.0}
    model = data["model"]
    first, following = array(model["first"]), array(model["next"])
    chance, reward = array(model["chance"]), array(model["reward"])
    # One step of the oracle from what the page holds.
    values = np.arange(7.0)
    q = reward.ravel() + [chance[a:b] @ values[following[a:b]] for a, b in pairwise(first)]
    ahead = oracle.model.next_values(WALK.mdp, values) + oracle.model.action_rewards(WALK.mdp)
    np.testing.assert_allclose(q.reshape(7, 2), ahead)


def test_under_a_policy_it_holds_the_expected_rewards():
    learner = learner_of(FHTD)
    learner.weights[...] = oracle.state_values(WALK.mdp, WALK.target, learner.weighting)
    data = content(explore(WALK.mdp, learner=learner, policy=WALK.target))
    expected = oracle.expected_rewards(WALK.mdp, WALK.target, 6)
    assert data["learned"]["rewards"]
    np.testing.assert_allclose(array(data["learned"]["array"])[:, 0], expected, atol=1e-6)


def test_rewards_are_told_from_complex_values_too():
    learner = FHTD(Features.tabular(7), Weighting.fourier(6, 2))
    learner.weights[...] = oracle.state_values(WALK.mdp, WALK.target, learner.weighting)
    data = content(explore(WALK.mdp, learner=learner, policy=WALK.target))
    expected = oracle.expected_rewards(WALK.mdp, WALK.target, 6)
    np.testing.assert_allclose(array(data["learned"]["array"])[:, 0], expected, atol=1e-6)
    assert data["learned"]["weighting"] == {"kind": "discount", "value": 1.0}


def test_a_weighting_without_a_name_is_kept_as_it_is():
    learner = FHQ(Features.tabular(7), 2, Weighting.hyperbolic(4))
    data = content(text := explore(WALK.mdp, learner=learner))
    assert data["learned"]["weighting"]["c"] == pytest.approx([1 / 4, 1 / 3, 1 / 2, 1])
    assert "the learner’s own" in text


def test_what_it_learns_itself_comes_near_the_oracle():
    data = content(explore(WALK.mdp, horizon=6, policy=WALK.target, steps=200_000, seed=3))
    found = (array(data["learned"]["array"]) * WALK.target[:, :, None]).sum(axis=1)
    expected = oracle.expected_rewards(WALK.mdp, WALK.target, 6)
    np.testing.assert_allclose(found, expected, atol=0.03)
    assert content(explore(WALK.mdp, horizon=6, steps=0))["learned"] is None


def test_hostile_text_stays_text():
    mdp = replace(WALK.mdp, name=HOSTILE, action_names=(HOSTILE, "b"))
    plain = explore(WALK.mdp, horizon=3, steps=0, state_names=["x"] * 7)
    page = explore(mdp, horizon=3, steps=0, state_names=[HOSTILE] * 7)
    for tag in ("<script", "</script", "<!--"):
        assert page.count(tag) == plain.count(tag)
    assert content(page)["actions"][0] == content(page)["names"][0] == HOSTILE
    assert json.loads(as_json([HOSTILE, "\u2028&", float("nan")])) == [HOSTILE, "\u2028&", None]
    assert not set("<>&\u2028") & set(as_json([HOSTILE, "\u2028&"]))


def test_nothing_comes_from_elsewhere():
    page = explore(WALK.mdp, horizon=3, steps=0)
    assert "default-src 'none'" in page
    assert not re.search(r"<(link|iframe|object|base|img)\b", page.partition("<script")[0])
    assert not re.search(r"<script[^>]* src=", page)


def test_sizes():
    grid = problems.random_grid().mdp
    assert len(explore(grid, horizon=64, steps=1000)) < 2 * MEGABYTE
    taxi = worlds.find("Taxi-v4")
    page = explore(taxi.mdp, horizon=64, steps=1000, state_names=taxi.state_names)
    assert len(page) < 5 * MEGABYTE
    with pytest.raises(ValueError, match="more than 5: give a shorter horizon"):
        explore(taxi.mdp, horizon=2000)


def test_refusals():
    mdp, policy = WALK.mdp, WALK.target
    with pytest.raises(TypeError, match="mdp must be a FiniteMDP, got Problem"):
        explore(WALK)
    with pytest.raises(ValueError, match="horizon must be at least 1"):
        explore(mdp, horizon=0)
    with pytest.raises(ValueError, match="policy must have shape"):
        explore(mdp, policy=np.ones((3, 2)))
    with pytest.raises(ValueError, match="horizon must be the learner's, 6, got 7"):
        explore(mdp, learner=learner_of(), horizon=7)
    with pytest.raises(ValueError, match="policy is needed: a FHTD evaluates one"):
        explore(mdp, learner=learner_of(FHTD))
    with pytest.raises(ValueError, match="must have learned every horizon"):
        explore(mdp, learner=NStepFHTD(Features.tabular(7), Weighting.exponential(6), n=2))
    with pytest.raises(ValueError, match="must have learned every horizon"):
        explore(mdp, learner=TD(Features.tabular(7), 0.9), policy=policy)
    with pytest.raises(ValueError, match="features of the MDP's 7 states"):
        explore(mdp, learner=FHQ(Features.tabular(8), 2, Weighting.exponential(6)))
    with pytest.raises(ValueError, match="3 actions, the MDP 2"):
        explore(mdp, learner=FHQ(Features.tabular(7), 3, Weighting.exponential(6)))
    turned = FHQ(Features.tabular(7), 2, Weighting.exponential(6, -0.5))
    with pytest.raises(ValueError, match="bootstraps of at least 0"):
        explore(mdp, learner=turned)
    broken = learner_of()
    broken.weights[0, 0, 0] = np.inf
    with pytest.raises(ValueError, match="finite values"):
        explore(mdp, learner=broken)
    with pytest.raises(ValueError, match="state_names must name 7 states, got 1"):
        explore(mdp, state_names=["a"])


def test_states_that_no_episode_meets():
    mdp = FiniteMDP(
        np.ones((4, 1, 1)),
        np.array([1, 2, 2, 0]).reshape(4, 1, 1),
        np.zeros((4, 1, 1)),
        np.array([False, True, False, False]).reshape(4, 1, 1),
        np.array([1.0, 0, 0, 0]),
    )
    assert reached(mdp).tolist() == [True, True, False, False]


# Files and names of MDPs.


def test_an_mdp_survives_its_file(tmp_path: Path):
    mdp = replace(problems.slippery_maze().mdp, name="größer <b>")
    worlds.save_mdp(mdp, tmp_path / "mdp.npz")
    for name in (str(tmp_path), str(tmp_path / "mdp.npz")):
        found = worlds.find(name).mdp
        for field in ("probabilities", "next_states", "rewards", "terminal", "start", "positions"):
            np.testing.assert_array_equal(getattr(found, field), getattr(mdp, field))
        assert (found.name, found.action_names) == (mdp.name, mdp.action_names)
    worlds.save_mdp(replace(mdp, positions=None), tmp_path / "other.npz")
    assert worlds.load_mdp(tmp_path / "other.npz").positions is None


def test_files_that_are_no_mdp(tmp_path: Path):
    path = tmp_path / "mdp.npz"
    path.write_bytes(b"nonsense")
    with pytest.raises(ValueError, match="not a readable MDP file"):
        worlds.load_mdp(path)
    learner_of().save(path)
    with pytest.raises(ValueError, match="not a readable MDP file: it is a learner file"):
        worlds.load_mdp(path)


@pytest.mark.parametrize(
    ("name", "actions", "place"),
    [
        ("FrozenLake-v1", ("left", "down", "right", "up"), (1, 1)),
        ("CliffWalking-v1", ("up", "right", "down", "left"), (0, 5)),
        ("fhtd/SlipperyMaze-v0", ("up", "right", "down", "left"), (0, 5)),
    ],
)
def test_gymnasium_worlds_have_maps(name: str, actions: tuple[str, ...], place: tuple[int, int]):
    mdp = worlds.find(name).mdp
    assert mdp.action_names == actions
    assert mdp.positions is not None
    assert tuple(mdp.positions[5]) == place
    # The names are right where moving changes the row or the column.
    steps = {"up": (-1, 0), "down": (1, 0), "left": (0, -1), "right": (0, 1)}
    for a, action in enumerate(actions):
        likely = mdp.probabilities[:, a].argmax(axis=1)
        if "Frozen" in name:
            likely = np.full(mdp.n_states, 1)  # of three ways to slip, the one asked for
            likely[mdp.probabilities[:, a, 1] == 0] = 0
        to = mdp.next_states[np.arange(mdp.n_states), a, likely]
        moved = mdp.positions[to] - mdp.positions
        met = {tuple(int(x) for x in one) for one in moved}
        assert steps[action] in met


def test_taxi_has_a_square_for_each_task():
    taxi = worlds.find("Taxi-v4")
    assert len({tuple(p) for p in taxi.mdp.positions}) == 500
    assert taxi.state_names[1] == (
        "taxi at row 1, column 1, passenger at red, wants to go to green"
    )


# The command.


def run(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, str, str]:
    code = main([str(argument) for argument in arguments])
    return code, *capsys.readouterr()


def test_the_command(capsys: pytest.CaptureFixture[str], tmp_path: Path):
    out = tmp_path / "new" / "page.html"
    code, said, err = run(
        capsys, "explore", "random-walk", "--policy", "target", "--steps", 100, "--out", out
    )
    assert (code, err) == (0, "")
    assert said == f"{out}: {len(out.read_bytes()) / 1e6:.1f} MB\n"
    assert "evaluation of its policy" in out.read_text()
    assert content(out.read_text())["horizon"] == 48


def test_the_command_on_a_folder(capsys: pytest.CaptureFixture[str], tmp_path: Path):
    worlds.save_mdp(WALK.mdp, tmp_path / "mdp.npz")
    learner_of(FHTD).save(tmp_path / "learner.npz")
    assert run(capsys, "explore", tmp_path, "--policy", "uniform")[0] == 0
    assert "FHTD after 0 steps" in (tmp_path / "explore.html").read_text()


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["slipery-maze"], "did you mean 'slippery-maze'?"),
        (["CartPole-v1"], "no transition table"),
        (["random-walk", "--horizon", "0"], "horizon must be at least 1, got 0"),
        (["random-walk", "--steps", "-1"], "steps must be at least 0, got -1"),
        (["FrozenLake-v1", "--policy", "target"], "only the paper's problems have a policy"),
        (["random-walk", "--policy", "best"], "invalid choice"),
        (["random-walk", "--learner", "absent.npz"], "absent.npz"),
        (["absent.npz"], "absent.npz"),
    ],
)
def test_refusals_of_the_command(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, arguments: list[str], says: str
):
    out = tmp_path / "page.html"
    code, said, err = run(capsys, "explore", *arguments, "--out", out)
    assert (code, said) == (2, "")
    assert says in err
    assert len(err.splitlines()) == 1
    assert not out.exists()


def test_a_folder_without_an_mdp(capsys: pytest.CaptureFixture[str], tmp_path: Path):
    assert "holds no mdp.npz" in run(capsys, "explore", tmp_path)[2]


def test_uniform_is_the_policy_it_says(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    out = tmp_path / "page.html"
    run(capsys, "explore", "baird", "--policy", "uniform", "--steps", 0, "--out", out)
    np.testing.assert_array_equal(array(content(out.read_text())["policy"]), uniform(7, 2))
