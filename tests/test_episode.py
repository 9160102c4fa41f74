"""The episode viewer's page as text: pictures, sizes, what it refuses, and the command."""

import base64
import io
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from fhtd import Weighting
from fhtd.commands.main import main
from fhtd.pages import episode, watch
from fhtd.pages.film import Film
from watching import GAMMA, GRID, OPTIMAL, H, control, lived, prediction, world

NOISE = np.random.default_rng(0)


def content(text: str) -> dict[str, Any]:
    (found,) = re.findall(r'<script type="application/json" id="content">(.*?)</script>', text)
    return json.loads(found)["data"]


def array(packed: dict[str, Any]) -> np.ndarray:
    kinds = {"f4": np.float32, "f8": np.float64}
    raw = np.frombuffer(base64.b64decode(packed["bytes"]), kinds[packed["kind"]])
    return raw.reshape(packed["shape"])


def picture(frame: str) -> Image.Image:
    return Image.open(io.BytesIO(base64.b64decode(frame)))


def noisy_world(size: int = 300) -> Any:
    """Pictures that no format makes small."""
    environment = world(40)
    environment.render = lambda: NOISE.integers(0, 256, (size, size, 3), dtype=np.uint8)
    return environment


def test_the_page_holds_the_episode() -> None:
    steps = lived(control(), epsilon=0.5)
    data = content(watch(control(), world(), epsilon=0.5))
    assert data["taken"] == [step.action for step in steps]
    assert data["rewards"] == [step.reward for step in steps]
    assert data["ended"]
    assert data["actions"] == list(GRID.action_names)
    (signal,) = data["signals"]
    states = [int(step.observation) for step in steps]
    np.testing.assert_allclose(array(signal["values"]), OPTIMAL.action_values[states], rtol=1e-6)
    weights = array(signal["weights"])
    np.testing.assert_allclose(weights, Weighting.exponential(H, GAMMA).coefficients())
    # The picture of a step is of the state that was acted in; the last is where it ended.
    assert len(data["frames"]) == len(steps) + 1
    environment = world()
    environment.reset(options={"state": states[0]})
    first = np.asarray(picture(data["frames"][0]).convert("RGB"), float)
    assert np.abs(first - environment.render()).mean() < 6


def test_pictures_are_no_wider_than_asked() -> None:
    data = content(watch(control(), world(5), width=100))
    assert {picture(frame).width for frame in data["frames"]} == {100}


def test_pictures_are_made_smaller_rather_than_left_out() -> None:
    agent = control()
    rest = len(watch(agent, world(40), width=16))
    data = content(text := watch(agent, noisy_world(), largest=rest + 300_000, epsilon=0.9))
    assert len(text) <= rest + 300_000
    assert len(data["frames"]) == data["steps"] + 1
    assert data["every"] == 1
    assert "Pictures were made smaller" in text


def test_frames_are_left_out_only_with_a_word_about_it() -> None:
    agent = control()
    rest = len(watch(agent, world(40), width=16))
    data = content(text := watch(agent, noisy_world(), largest=rest + 60_000, epsilon=0.9))
    assert len(text) <= rest + 60_000
    assert data["every"] > 1
    assert f"only one in {data['every']} kept" in text
    assert len(data["frames"]) == -(-(data["steps"] + 1) // data["every"])


def test_every() -> None:
    data = content(text := watch(control(), world(9), every=4, epsilon=0.9))
    assert "One picture in 4 is kept." in text
    assert len(data["frames"]) == -(-(data["steps"] + 1) // 4)
    assert len(data["rewards"]) == data["steps"]


def test_an_episode_without_end_is_cut_off() -> None:
    data = content(watch(control(), world(), steps=2))
    assert data["steps"] == 2
    assert not data["ended"]


def test_why_rewards_are_hidden() -> None:
    skipping = control(n_step=3)
    values = OPTIMAL.action_values[:, :, 2::3].astype(np.float32)
    skipping.values = lambda observation: values[int(observation)]  # type: ignore[method-assign]
    assert "not every horizon is learned" in watch(skipping, world(5))
    weights = np.r_[np.ones(H - 1), 0]
    partial = type(control())(
        world(), weighting=Weighting.from_weights(weights), hidden=(4,), replay_size=50
    )
    assert "leaves out some rewards" in watch(partial, world(5))


def test_refusals() -> None:
    unseen = world(3)
    unseen.render = lambda: "text"
    with pytest.raises(ValueError, match="render rgb_array pictures to be watched"):
        watch(control(), unseen)
    with pytest.raises(ValueError, match="every must be at least 1"):
        watch(control(), world(3), every=0)
    with pytest.raises(ValueError, match="quality must be"):
        watch(control(), world(3), quality=101)
    with pytest.raises(ValueError, match="is too long"):
        watch(control(), world(3), largest=10_000)


def test_complex_values_are_two_signals() -> None:
    predictor = prediction()
    predictor.weighting = Weighting.fourier(6, 1)
    steps = lived(control(), 3)
    following = [(step.observation, {}) for step in steps]
    real, imaginary = episode._of_predictor(predictor, steps, following)
    assert (real.name, imaginary.name) == ("row, real part", "row, imaginary part")
    exact = np.array([predictor.values(step.observation)["row"] for step in steps])
    np.testing.assert_allclose(real.values[:, 0] + 1j * imaginary.values[:, 0], exact)
    table = predictor.weighting.coefficients()
    np.testing.assert_allclose(real.weights + 1j * imaginary.weights, table)
    assert "row, imaginary part" in watch(control(), world(3), predictors=[predictor])


def test_sums_that_end_on_the_way_are_not_held_to_all_that_came() -> None:
    predictor = prediction()
    predictor.continuation = lambda *_: 0.5
    with pytest.raises(ValueError, match="without a continuation"):
        watch(control(), world(3), predictors=[predictor])


def test_a_film_of_one_frame_that_does_not_fit() -> None:
    film = Film(300, 75)
    film.add(NOISE.integers(0, 256, (300, 300, 3), dtype=np.uint8))
    film.fit(10)
    assert len(film.frames) == 1


# The command.


def run(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, str, str]:
    code = main([str(argument) for argument in arguments])
    return code, *capsys.readouterr()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("runs") / "cartpole"
    options = (
        "--preset paper --frames 60 --horizon 5 --hidden 4 --learning-starts 50 --replay-size 100"
    )
    assert main(["train", "CartPole-v1", *options.split(), "--out", str(path)]) == 0
    return path


def test_the_command(capsys: pytest.CaptureFixture[str], folder: Path) -> None:
    code, said, err = run(capsys, "watch", folder, "--width", 120)
    assert (code, err) == (0, "")
    text = (folder / "episode.html").read_text()
    assert said == f"{(folder / 'episode.html').resolve()}: {len(text.encode()) / 1e6:.1f} MB\n"
    assert len(text) < 3_000_000
    data = content(text)
    assert data["actions"] == ["left", "right"]
    assert data["signals"][0]["horizons"] == [1, 2, 3, 4, 5]


def test_signals_of_a_saved_predictor_are_shown_too(
    capsys: pytest.CaptureFixture[str],
    folder: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from fhtd.deep import DFHTD
    from fhtd.deep.run import load_agent

    monkeypatch.chdir(tmp_path)
    source = "SIGNALS = {'angle': lambda s, a, r, following, info: float(following[2])}\n"
    Path("my_signals.py").write_text(source)
    signals = {"angle": lambda s, a, r, following, info: float(following[2])}
    options = {"horizon": 3, "hidden": (4,), "replay_size": 100, "learning_starts": 20}
    predictor = DFHTD("CartPole-v1", load_agent(folder), cumulants=signals, seed=0, **options)
    predictor.learn(60).save("predictor.npz")
    out = tmp_path / "page.html"
    command = ["watch", folder, "--width", 60, "--predictor", "predictor.npz", "--out", out]
    code, said, err = run(capsys, *command)
    assert (code, said) == (2, "")
    assert "it predicts angle, but cumulants are ['reward']" in err
    code, _, err = run(capsys, *command, "--cumulants", "my_signals:SIGNALS")
    assert (code, err) == (0, "")
    shown = content(out.read_text())["signals"]
    assert [one["name"] for one in shown] == [shown[0]["name"], "angle"]
    assert shown[1]["horizons"] == [1, 2, 3]
    DFHTD("CartPole-v1", load_agent(folder), continuation=lambda *_: 0.5, **options).save("partly")
    code, _, err = run(capsys, "watch", folder, "--predictor", "partly")
    assert (code, len(err.splitlines())) == (2, 1)
    assert "has a continuation: the page holds predictions to all that came" in err


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["nowhere"], "nowhere holds no training run"),
        (["FOLDER", "--cumulants", "a:b"], "give its file too"),
        (["FOLDER", "--predictor", "no.npz", "--cumulants", "a"], "must be MODULE:NAME"),
        (["FOLDER", "--predictor", "no.npz", "--cumulants", "none_such:b"], "none_such"),
        (["FOLDER", "--predictor", "no.npz", "--cumulants", "math:pi"], "dictionary of functions"),
        (["FOLDER", "--predictor", "no.npz"], "cannot use no.npz"),
        (["FOLDER", "--epsilon", "2"], "epsilon must be"),
        (["FOLDER", "--every", "0"], "every must be at least 1, got 0"),
        (["FOLDER", "--quality", "0"], "quality must be"),
        (["FOLDER", "--width", "x"], "width"),
    ],
)
def test_refusals_of_the_command(
    capsys: pytest.CaptureFixture[str], folder: Path, arguments: list[str], says: str
) -> None:
    given = [str(folder) if one == "FOLDER" else one for one in arguments]
    code, said, err = run(capsys, "watch", *given, "--out", folder / "not.html")
    assert (code, said) == (2, "")
    assert says in err
    assert len(err.splitlines()) == 1
    assert not (folder / "not.html").exists()
