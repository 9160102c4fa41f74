"""The episode viewer in a browser: what is shown against the oracle, and an episode lived again."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
from driving import chart_data, number, settle, wait_until
from playwright.sync_api import Page

from fhtd import Weighting, oracle
from fhtd.deep import FHSAC
from fhtd.envs import Repeat
from fhtd.pages import watch
from fhtd.policy import uniform
from watching import (
    GAMMA,
    GRID,
    OPTIMAL,
    SMALL,
    ExactDQN,
    H,
    control,
    lived,
    prediction,
    rows_as_rewards,
    world,
)

HOSTILE = "</script><script>document.title='run'</script><img src=x onerror=alert(1)>"


@pytest.fixture(scope="session")
def episode(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("episode") / "episode.html"
    path.write_text(watch(control(), world(30), predictors=[prediction()], epsilon=0.5))
    return path


def go(page: Page, t: int) -> None:
    page.locator("#t").evaluate("(e, t) => { e.value = t; e.dispatchEvent(new Event('input')) }", t)
    settle(page)


def table(page: Page, signal: int) -> list[list[str]]:
    rows = page.locator(f"[data-numbers='{signal}'] tbody tr").all()
    return [row.locator("td").all_inner_texts() for row in rows]


def came(rewards: list[float], t: int, weights: Any) -> float:
    return float(sum(w * r for w, r in zip(weights, rewards[t:], strict=False)))


def test_each_step_shows_what_was_expected_and_what_came(show: Callable[..., Page], episode: Path):
    steps = lived(control(), 30, 0.5)
    rewards = [step.reward for step in steps]
    ended = steps[-1].terminated
    page = show(episode)
    assert page.locator("#t").get_attribute("max") == str(len(steps) - 1)
    pictures = set()
    for t in range(0, len(steps), max(1, len(steps) // 5)):
        go(page, t)
        pictures.add(page.locator("#frame").get_attribute("src"))
        step = steps[t]
        state = int(step.observation)
        exact = OPTIMAL.action_values[state]
        name = GRID.action_names[step.action]
        assert f"Action taken: {name}." in page.locator("#caption").inner_text()
        assert f"Return so far: {sum(rewards[:t]):g}".replace("-", "−") in (
            page.locator("#caption").inner_text()
        )
        rows = table(page, 0)
        np.testing.assert_allclose([number(row[1]) for row in rows], exact[:, -1], rtol=1e-3)
        if ended or t + H <= len(steps):
            total = came(rewards, t, GAMMA ** np.arange(H))
            assert number(rows[step.action][2]) == pytest.approx(total, rel=1e-3)
        else:
            assert rows[step.action][2] == "–"
        for a in range(GRID.n_actions):
            found = chart_data(page, f"horizon-{a}-0")
            assert found["x"] == list(range(1, H + 1))
            np.testing.assert_allclose(found["y"], exact[a], rtol=1e-5)
        # By hand: differences between horizons, without their discount.
        taken = exact[step.action]
        ahead = np.diff(taken, prepend=0) / GAMMA ** np.arange(H)
        np.testing.assert_allclose(chart_data(page, "ahead-value-0")["y"], ahead, atol=1e-4)
        real = chart_data(page, "ahead-came-0")["y"]
        np.testing.assert_allclose(real[: len(rewards) - t], rewards[t : t + H])
        assert not any(real[len(rewards) - t :])
    assert len(pictures) > 2


def test_another_action_can_be_asked_about(show: Callable[..., Page], episode: Path):
    steps = lived(control(), 30, 0.5)
    page = show(episode)
    go(page, 1)
    page.select_option("[data-signal='0'] .action", index=3)
    exact = OPTIMAL.action_values[int(steps[1].observation), 2]
    ahead = np.diff(exact, prepend=0) / GAMMA ** np.arange(H)
    np.testing.assert_allclose(chart_data(page, "ahead-value-0")["y"], ahead, atol=1e-4)


def test_predictions_against_outcomes_over_the_episode(show: Callable[..., Page], episode: Path):
    steps = lived(control(), 30, 0.5)
    rewards = [step.reward for step in steps]
    page = show(episode)
    for h in (H, 3):
        page.select_option("[data-signal='0'] .horizon", index=h - 1)
        expected = [OPTIMAL.action_values[int(s.observation), s.action, h - 1] for s in steps]
        np.testing.assert_allclose(chart_data(page, "episode-value-0")["y"], expected, rtol=1e-5)
        found = chart_data(page, "episode-came-0")
        whole = len(steps) if steps[-1].terminated else len(steps) - h + 1
        assert found["x"] == list(range(whole))
        totals = [came(rewards, t, GAMMA ** np.arange(h)) for t in range(whole)]
        np.testing.assert_allclose(found["y"], totals, atol=1e-9)
    go(page, 2)
    cursor = """() => Bokeh.documents.map(d => d.roots()[0]).flatMap(f => f.center)
        .filter(c => c.name === "cursor").map(c => c.location)"""
    assert page.evaluate(cursor) == [2, 2]


def test_further_signals_are_shown_in_the_same_way(show: Callable[..., Page], episode: Path):
    steps = lived(control(), 30, 0.5)
    page = show(episode)
    assert page.locator("[data-signal='1'] h2").inner_text() == "row"
    policy = uniform(GRID.n_states, GRID.n_actions)
    values = oracle.state_values(rows_as_rewards(), policy, Weighting.average(6))
    rewards = oracle.expected_rewards(rows_as_rewards(), policy, 6)
    for t in (0, 2):
        go(page, t)
        state = int(steps[t].observation)
        assert number(table(page, 1)[0][1]) == pytest.approx(values[state, -1], rel=1e-3)
        np.testing.assert_allclose(chart_data(page, "horizon-0-1")["y"], values[state], rtol=1e-5)
        found = chart_data(page, "ahead-value-1")["y"]
        np.testing.assert_allclose(found, rewards[state], atol=1e-4)
    # After step t the agent is where the next one begins.
    entered = [float(GRID.positions[int(s.observation)][0]) for s in steps[1:]]
    shown = chart_data(page, "ahead-came-1")["y"]
    np.testing.assert_allclose(shown[: len(entered) - 2], entered[2:8])


def test_the_keyboard_scrubs_and_plays(show: Callable[..., Page], episode: Path):
    page = show(episode)
    page.locator("#t").focus()
    for _ in range(2):
        page.keyboard.press("ArrowRight")
    assert page.locator("#t-shown").inner_text().startswith("3 of ")
    page.keyboard.press("Home")
    page.keyboard.press("Space")
    wait_until(lambda: int(page.locator("#t").input_value()) > 2)
    page.keyboard.press("Space")
    assert page.locator("#play").get_attribute("aria-pressed") == "false"
    met = set()
    for _ in range(30):
        page.keyboard.press("Tab")
        met.add(page.evaluate("document.activeElement.id || document.activeElement.className"))
    assert {"play", "action", "horizon"} <= met


def test_an_episode_that_was_cut_off_leaves_the_rest_open(
    show: Callable[..., Page], tmp_path: Path
):
    path = tmp_path / "page.html"
    path.write_text(watch(control(), world(3)))
    steps = lived(control(), 3)
    if steps[-1].terminated:
        pytest.fail("the grid ends within three steps")
    page = show(path)
    assert "It was cut off" in page.locator("p").first.inner_text()
    taken = steps[0].action
    assert table(page, 0)[taken][2] == "–"
    assert chart_data(page, "horizon-came-0")["x"] == [1, 2, 3]
    assert chart_data(page, "ahead-came-0")["x"] == [1, 2, 3]


def test_dqn_has_one_value_and_no_horizons(show: Callable[..., Page], tmp_path: Path):
    agent = ExactDQN(world(), preset="paper", discount=GAMMA, **SMALL)
    path = tmp_path / "page.html"
    path.write_text(watch(agent, world(), epsilon=0.5))
    steps = lived(agent, epsilon=0.5)
    page = show(path)
    assert page.locator("#chart-horizon-0, #chart-ahead-0").count() == 0
    assert "learns one value without a horizon" in page.locator("#signals").inner_text()
    exact = oracle.infinite_optimal(GRID, GAMMA).action_values[int(steps[0].observation)]
    rows = table(page, 0)
    np.testing.assert_allclose([number(row[1]) for row in rows], exact, rtol=1e-3)
    rewards = [step.reward for step in steps]
    total = came(rewards, 0, GAMMA ** np.arange(len(rewards)))
    assert number(rows[steps[0].action][2]) == pytest.approx(total, rel=1e-3)


def test_auxiliary_horizons_are_a_signal_of_their_own(show: Callable[..., Page], tmp_path: Path):
    agent = ExactDQN(world(), preset="paper", discount=GAMMA, auxiliary_horizons=3, **SMALL)
    path = tmp_path / "page.html"
    path.write_text(watch(agent, world(), epsilon=0.5))
    state = int(lived(agent, epsilon=0.5)[0].observation)
    page = show(path)
    assert page.locator("#chart-horizon-0, #chart-ahead-0").count() == 0
    endless = oracle.infinite_optimal(GRID, GAMMA).action_values[state]
    np.testing.assert_allclose([number(row[1]) for row in table(page, 0)], endless, rtol=1e-3)
    exact = oracle.optimal(GRID, Weighting.exponential(3, GAMMA)).action_values[state]
    for action, values in enumerate(exact):
        found = chart_data(page, f"horizon-{action}-1")
        assert found["x"] == [1, 2, 3]
        np.testing.assert_allclose(found["y"], values, rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose([number(row[1]) for row in table(page, 1)], exact[:, -1], rtol=1e-3)
    assert "not acted on" in page.locator("[data-signal='1']").inner_text()


def test_actions_of_several_steps_are_compared_step_by_step(
    show: Callable[..., Page], tmp_path: Path
):
    agent = control(max_duration=3)
    path = tmp_path / "page.html"
    path.write_text(watch(agent, Repeat(world(30), 3), epsilon=0.5))
    steps = list(agent.episode(Repeat(world(30), 3), epsilon=0.5))
    rewards = [reward for step in steps for reward in step.rewards]
    starts = np.cumsum([0, *(len(step.rewards) for step in steps)])
    ended = steps[-1].terminated
    assert len(rewards) > len(steps) > 2
    page = show(path)
    assert "Horizons count steps of the environment" in page.locator("#signals").inner_text()
    for t in (0, 1, len(steps) - 1):
        go(page, t)
        shown = chart_data(page, "horizon-came-0")
        left = H if ended else min(H, len(rewards) - starts[t])
        wanted = [came(rewards, starts[t], GAMMA ** np.arange(h)) for h in range(1, left + 1)]
        assert shown["x"] == list(range(1, left + 1))
        np.testing.assert_allclose(shown["y"], wanted, atol=1e-9)
        single = [*rewards[starts[t] :], *[0.0] * H][:left]
        np.testing.assert_allclose(chart_data(page, "ahead-came-0")["y"], single, atol=1e-9)
    over = chart_data(page, "episode-came-0")
    known = [t for t in range(len(steps)) if ended or starts[t] + H <= len(rewards)]
    assert over["x"] == known


@pytest.mark.parametrize("width", [400, 1280])
def test_continuous_actions_are_shown_with_a_few_others(
    show: Callable[..., Page], tmp_path: Path, width: int
):
    def pendulum() -> Any:
        made = gymnasium.make("Pendulum-v1", render_mode="rgb_array")
        return gymnasium.wrappers.TimeLimit(made.unwrapped, 12)

    agent = FHSAC(pendulum(), horizon=5, deepen_every=None, hidden=(8,), seed=0)
    path = tmp_path / "page.html"
    path.write_text(watch(agent, pendulum()))
    steps = list(agent.episode(pendulum(), seed=0))
    page = show(path, width=width)
    for t in (0, 5, 11):
        go(page, t)
        step = steps[t]
        assert f"Action taken: {float(step.action[0]):.3g}." in (
            page.locator("#caption").inner_text().replace("−", "-")
        )
        rows = table(page, 0)
        # In words of the page: what was done, the policy's mean, and the ends of the range.
        actions = [step.action, agent.predict(step.observation)[0], [-2.0], [2.0]]
        exact = agent.values(step.observation, actions)
        assert [row[0] for row in rows] == [
            "the action taken",
            "the policy's mean",
            "lowest",
            "highest",
        ]
        np.testing.assert_allclose([number(row[1]) for row in rows], exact[:, -1], rtol=2e-3)
        for row, values in enumerate(exact):
            found = chart_data(page, f"horizon-{row}-0")
            assert found["x"] == [1, 2, 3, 4, 5]
            np.testing.assert_allclose(found["y"], values, rtol=1e-4, atol=1e-6)
        rewards = [one.reward for one in steps[t : t + 5]]
        if len(rewards) == 5:
            total = came(rewards, 0, 0.99 ** np.arange(5))
            assert number(rows[0][2]) == pytest.approx(total, rel=1e-3)
    assert "entropy counts too" in page.locator("#signals").inner_text()
    assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_hostile_names_stay_text(show: Callable[..., Page], tmp_path: Path):
    path = tmp_path / "page.html"
    path.write_text(watch(control(), world(5), predictors=[prediction(HOSTILE)]))
    page = show(path)
    assert page.locator("[data-signal='1'] h2").inner_text() == HOSTILE
    assert page.locator("img").count() == 1
    assert page.title().startswith("FiniteMDPEnv")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_can_be_read(show: Callable[..., Page], episode: Path, scheme: str):
    page = show(episode, scheme)
    assert page.evaluate((Path(__file__).parent / "contrast.js").read_text()) > 4.4


def test_narrow_screens_do_not_scroll_sideways(show: Callable[..., Page], episode: Path):
    page = show(episode, width=390)
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


def test_the_discount_is_said_where_returns_are_compared(show: Callable[..., Page], episode: Path):
    page = show(episode)
    head = page.locator("[data-numbers='0'] thead").inner_text()
    assert f"next {H} steps, discounted by {GAMMA:g} a step" in head
    assert "what was expected and what came alike" in page.locator("[data-signal='0']").inner_text()
    # Beneath the picture, where there is room.
    picture, numbers = (
        page.locator(one).bounding_box() for one in ("#frame", "[data-numbers='0']")
    )
    assert numbers["x"] == pytest.approx(picture["x"], abs=3)
    assert numbers["y"] > picture["y"] + picture["height"]


def test_rewards_are_shown_in_bins_too(show: Callable[..., Page], episode: Path):
    page = show(episode)
    single = chart_data(page, "ahead-value-0")
    page.select_option("[data-signal='0'] .bins", "4")
    binned = chart_data(page, "ahead-value-0")
    assert binned["x"] == [2.5, 6.5, 10.5]
    np.testing.assert_allclose(binned["y"], np.reshape(single["y"], (3, 4)).mean(axis=1))


def test_nothing_leaves_a_chart(show: Callable[..., Page], episode: Path):
    """The scale of rewards holds everything that came in the episode."""
    rewards = [step.reward for step in lived(control(), 30, 0.5)]
    low, high = show(episode).evaluate(
        """() => {
            const one = Bokeh.documents.map((d) => d.roots()[0]).find(
                (f) => f.renderers.some((r) => r.data_source.name === "ahead-came-0"));
            return [one.y_range.start, one.y_range.end];
        }"""
    )
    assert low < min(rewards)
    assert high > max(rewards)
