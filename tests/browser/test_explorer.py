"""The horizon explorer in a browser: every number that is shown is held to the oracle."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from driving import chart_data, number, settle, wait_until
from playwright.sync_api import Page

from fhtd import FHTD, Features, FiniteMDP, Weighting, oracle, problems, worlds
from fhtd.pages import explore
from fhtd.policy import uniform

MAZE = problems.slippery_maze().mdp
GRID = problems.random_grid(size=4).mdp
H = 24


@pytest.fixture(scope="session")
def maze(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("maze") / "maze.html"
    path.write_text(explore(MAZE, horizon=H, steps=200_000))
    return path


@pytest.fixture(scope="session")
def grid(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("grid") / "grid.html"
    policy = uniform(GRID.n_states, GRID.n_actions)
    path.write_text(explore(GRID, horizon=H, policy=policy, steps=300_000))
    return path


def move(page: Page, h: int) -> None:
    page.locator("#h").evaluate("(e, h) => { e.value = h; e.dispatchEvent(new Event('input')) }", h)


def choose(page: Page, kind: str, value: float | None = None) -> None:
    page.select_option("#weighting", kind)
    if value is not None:
        page.fill("#parameter", str(value))


def shown(page: Page, name: str) -> dict[int, float]:
    """Values on a map, by state."""
    cells = page.locator(f"#map-{name} .cell").evaluate_all(
        "cells => cells.map(c => [c.dataset.state, c.querySelectorAll('text')[1].textContent])"
    )
    return {int(state): number(text) for state, text in cells if text}


def numbers(page: Page, column: int) -> list[float]:
    """The table of the chosen state: its value, then each action's."""
    rows = page.locator("#numbers tbody tr").all()
    return [number(row.locator("td").nth(column).inner_text()) for row in rows]


def assert_map(page: Page, values: np.ndarray, mdp: object = MAZE) -> None:
    live = np.flatnonzero(~mdp.terminal_states)  # type: ignore[attr-defined]
    found = shown(page, "exact")
    assert sorted(found) == list(live)
    np.testing.assert_allclose([found[s] for s in live], values[live], rtol=0.06, atol=1e-9)


@pytest.mark.parametrize("h", [1, 8, 17, H])
def test_the_slider_shows_the_values_of_its_horizon(show: Callable[..., Page], maze: Path, h: int):
    exact = oracle.optimal(MAZE, Weighting.exponential(H))
    page = show(maze)
    move(page, h)
    assert page.locator("#h-shown").inner_text() == f"h = {h} of {H}"
    assert_map(page, exact.state_values[:, h - 1])
    start = int(np.argmax(MAZE.start))
    expected = [exact.state_values[start, h - 1], *exact.action_values[start, :, h - 1]]
    np.testing.assert_allclose(numbers(page, 1), expected, rtol=1e-4)
    np.testing.assert_allclose(numbers(page, 2), expected, rtol=0.1)


def test_arrows_are_the_best_actions(show: Callable[..., Page], maze: Path):
    exact = oracle.optimal(MAZE, Weighting.exponential(H))
    page = show(maze)
    for h in (3, 8, H):
        move(page, h)
        drawn = page.locator("#map-exact .cell path").evaluate_all(
            "paths => paths.map(p => p.getAttribute('d'))"
        )
        one_way = {
            drawn[s]: int(exact.greedy[s, :, h - 1].argmax())
            for s in range(MAZE.n_states)
            if exact.greedy[s, :, h - 1].sum() == 1 and not MAZE.terminal_states[s]
        }
        for s in range(MAZE.n_states):
            best = exact.greedy[s, :, h - 1]
            if MAZE.terminal_states[s]:
                assert drawn[s] == ""
            elif best.all():
                assert "a1.5" in drawn[s]  # a dot
            elif best.sum() == 1:
                assert one_way[drawn[s]] == int(best.argmax())
            else:
                assert drawn[s].count("M") == 2 * best.sum()
        undecided = sum(exact.greedy[s, :, h - 1].all() for s in range(33 + 1))
        ends = int(MAZE.terminal_states.sum())
        if undecided > ends:
            says = f"looks the same in {undecided - ends} of {MAZE.n_states - ends} states"
            assert says in page.locator("#insight").inner_text()


def test_a_click_shows_the_state(show: Callable[..., Page], maze: Path):
    exact = oracle.optimal(MAZE, Weighting.exponential(H))
    page = show(maze)
    move(page, 10)
    page.locator("#map-learned .cell[data-state='5']").click()
    assert page.locator("#state-name").inner_text().startswith("State 5 (row 1, column 6)")
    np.testing.assert_allclose(numbers(page, 1)[0], exact.state_values[5, 9], rtol=1e-4)
    curve = chart_data(page, "value-exact")
    assert curve["x"] == list(range(1, H + 1))
    np.testing.assert_allclose(curve["y"], exact.state_values[5], rtol=1e-12)
    assert page.locator(".cell.selected").count() == 2  # on both maps


def test_the_keyboard_moves_slider_state_and_animation(show: Callable[..., Page], maze: Path):
    page = show(maze)
    page.locator("#h").focus()
    page.keyboard.press("ArrowRight")
    assert page.locator("#h-shown").inner_text() == f"h = 9 of {H}"
    page.keyboard.press("End")
    assert page.locator("#h-shown").inner_text() == f"h = {H} of {H}"
    page.keyboard.press("Home")
    page.keyboard.press("Space")
    assert page.locator("#play").get_attribute("aria-pressed") == "true"
    wait_until(lambda: int(page.locator("#h").input_value()) > 3)
    page.keyboard.press("Space")
    assert page.locator("#play").get_attribute("aria-pressed") == "false"
    page.locator("#map-exact .cell.selected").focus()
    before = page.locator("#state-name").inner_text()
    page.keyboard.press("ArrowLeft")
    assert "(row 4, column 3)" in page.locator("#state-name").inner_text() != before
    for _ in range(9):  # to the edge, over walls, and no further
        page.keyboard.press("ArrowUp")
    assert "(row 1, column 3)" in page.locator("#state-name").inner_text()
    focused = page.evaluate("document.activeElement.getAttribute('aria-label')")
    assert "row 1, column 3" in focused
    assert "best:" in focused


def test_everything_can_be_reached_by_tab(show: Callable[..., Page], maze: Path):
    page = show(maze)
    met = set()
    for _ in range(40):
        page.keyboard.press("Tab")
        met.add(
            page.evaluate(
                "document.activeElement.id || document.activeElement.getAttribute('class')"
            )
        )
    assert {"play", "h", "weighting", "parameter", "acting", "cell selected"} <= met


def test_rewards_ahead_add_up_to_the_value(show: Callable[..., Page], maze: Path):
    exact = oracle.optimal(MAZE, Weighting.exponential(H))
    page = show(maze)
    page.locator("#map-exact .cell[data-state='30']").click()
    for h in (5, H):
        move(page, h)
        found = chart_data(page, "ahead-exact")
        assert found["x"] == list(range(1, h + 1))
        np.testing.assert_allclose(sum(found["y"]), exact.state_values[30, h - 1], rtol=1e-9)
    # An agent that acts on Q^h at every step is a fixed policy, which the oracle knows.
    page.select_option("#acting", "always")
    move(page, 5)
    rewards = oracle.expected_rewards(MAZE, exact.policy[:, :, 4], H)
    np.testing.assert_allclose(chart_data(page, "ahead-exact")["y"], rewards[30], rtol=1e-9)


def test_agreement_grows(show: Callable[..., Page], maze: Path):
    exact = oracle.optimal(MAZE, Weighting.exponential(H))
    live = ~MAZE.terminal_states
    best = exact.greedy[live]
    shared = (best & best[:, :, -1:]).sum(axis=1) / best.sum(axis=1)
    page = show(maze)
    np.testing.assert_allclose(chart_data(page, "agree-final")["y"], shared.mean(axis=0))
    found = chart_data(page, "agree-undecided")["y"]
    np.testing.assert_allclose(found, best.all(axis=1).mean(axis=0))
    assert found[7] > 0.4 > 0.05 > found[-1]  # why H = 8 fails


CONTROL = {
    "discount": (0.9, lambda h: Weighting.exponential(h, 0.9)),
    "average": (None, Weighting.average),
    "hyperbolic": (0.5, lambda h: Weighting.hyperbolic(h, 0.5)),
}


@pytest.mark.parametrize("kind", CONTROL)
def test_control_under_other_weightings_is_exact_only(
    show: Callable[..., Page], maze: Path, kind: str
):
    value, weighting = CONTROL[kind]
    page = show(maze)
    choose(page, kind, value)
    for h in (4, 19):
        move(page, h)
        exact = oracle.optimal(MAZE, weighting(h)).state_values[:, -1]
        assert_map(page, exact)
    page.locator("#map-exact .cell[data-state='30']").click()
    expected = [oracle.optimal(MAZE, weighting(h)).state_values[30, -1] for h in range(1, H + 1)]
    np.testing.assert_allclose(chart_data(page, "value-exact")["y"], expected, rtol=1e-9)
    assert shown(page, "learned") == {}
    assert "cannot be computed from them" in page.locator("#note").inner_text()


def test_a_complex_weighting_has_no_control(show: Callable[..., Page], maze: Path):
    page = show(maze)
    assert page.locator("#weighting option[value=fourier]").is_disabled()
    assert "complex values have no best action" in page.locator("#note").inner_text()


PREDICTION = {
    **CONTROL,
    "fourier": (3, None),
}


@pytest.mark.parametrize("kind", PREDICTION)
def test_a_fixed_policy_allows_every_weighting(show: Callable[..., Page], grid: Path, kind: str):
    value, weighting = PREDICTION[kind]
    policy = uniform(GRID.n_states, GRID.n_actions)
    if weighting is None:
        whole = oracle.state_values(GRID, policy, Weighting.fourier(H, value))
        expected = np.abs(whole)
    else:
        each = [oracle.state_values(GRID, policy, weighting(h))[:, -1] for h in range(1, H + 1)]
        expected = np.stack(each, axis=1)
    page = show(grid)
    choose(page, kind, value)
    move(page, 11)
    assert_map(page, expected[:, 10], GRID)
    for state in (0, 9):
        page.locator(f"#map-exact .cell[data-state='{state}']").click()
        np.testing.assert_allclose(
            chart_data(page, "value-exact")["y"], expected[state], rtol=1e-9, atol=1e-12
        )
        # Learned values are weighed anew from the same rewards.
        scale = np.abs(expected).max()
        np.testing.assert_allclose(
            chart_data(page, "value-learned")["y"], expected[state], atol=0.05 * scale
        )
    rewards = oracle.expected_rewards(GRID, policy, H)
    np.testing.assert_allclose(chart_data(page, "ahead-exact")["y"], rewards[9], atol=1e-12)
    np.testing.assert_allclose(chart_data(page, "ahead-learned")["y"], rewards[9], atol=0.1)


def test_action_values_of_a_policy(show: Callable[..., Page], grid: Path):
    policy = uniform(GRID.n_states, GRID.n_actions)
    exact = oracle.action_values(GRID, policy, Weighting.exponential(H, 0.8))
    page = show(grid)
    choose(page, "discount", 0.8)
    move(page, 6)
    page.locator("#map-exact .cell[data-state='10']").click()
    np.testing.assert_allclose(numbers(page, 1)[1:], exact[10, :, 5], rtol=2e-4)


def test_a_bad_number_is_refused_and_changes_nothing(show: Callable[..., Page], maze: Path):
    page = show(maze)
    before = shown(page, "exact")
    page.fill("#parameter", "-1")
    assert not page.locator("#parameter").evaluate("e => e.checkValidity()")
    assert shown(page, "exact") == before


def test_lines_are_shown_and_hidden(show: Callable[..., Page], maze: Path):
    page = show(maze)
    box = page.locator("#chart-value + .legend input").nth(1)
    seen = """() => Bokeh.documents.flatMap(d => d.roots()).flatMap(r => r.renderers)
        .filter(r => r.name === "learned" && r.data_source.name === "value-learned")
        .map(r => r.visible)"""
    assert set(page.evaluate(seen)) == {True}  # the line, and the wide one under the pointer
    box.focus()
    page.keyboard.press("Space")
    assert set(page.evaluate(seen)) == {False}
    assert page.locator("#play").get_attribute("aria-pressed") == "false"


def test_hostile_names_stay_text(show: Callable[..., Page], tmp_path: Path):
    hostile = "</script><script>document.title='run'</script><img src=x onerror=alert(1)>"
    mdp = GRID.__class__(
        **{
            **{k: getattr(GRID, k) for k in GRID.__dataclass_fields__},
            "name": hostile,
            "action_names": (hostile, "up", "{{x}}", "$$x$$"),
        }
    )
    path = tmp_path / "page.html"
    names = [hostile] * mdp.n_states
    path.write_text(explore(mdp, horizon=4, steps=1000, state_names=names))
    page = show(path)
    assert hostile in page.locator("h1").inner_text()
    assert page.title().startswith(hostile)
    assert hostile in page.locator("#state-name").inner_text()
    assert hostile in page.locator("#numbers").inner_text()
    assert page.locator("img").count() == 0


def test_a_learner_of_state_values(show: Callable[..., Page], tmp_path: Path):
    walk = problems.random_walk(5)
    learner = FHTD(Features.tabular(7), Weighting.average(6))
    learner.weights[...] = oracle.state_values(walk.mdp, walk.target, learner.weighting)
    path = tmp_path / "page.html"
    path.write_text(explore(walk.mdp, policy=walk.target, learner=learner))
    page = show(path)
    assert page.locator("#weighting").input_value() == "average"
    choose(page, "discount", 0.5)
    expected = oracle.state_values(walk.mdp, walk.target, Weighting.exponential(6, 0.5))
    np.testing.assert_allclose(
        chart_data(page, "value-learned")["y"], expected[3], rtol=1e-5, atol=1e-7
    )


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_can_be_read(show: Callable[..., Page], maze: Path, scheme: str):
    """Contrast of at least 4.5 of all text on its ground, and on the cells of the map."""
    page = show(maze, scheme)
    settle(page)
    worst = page.evaluate((Path(__file__).parent / "contrast.js").read_text())
    assert worst > 4.4
    axis = page.evaluate("Bokeh.documents[0].roots()[0].below[0].axis_label_text_color")
    assert axis == {"light": "#1c2126", "dark": "#e8ecf0"}[scheme]


def test_narrow_screens_do_not_scroll_sideways(show: Callable[..., Page], maze: Path):
    page = show(maze, width=390)
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


def test_a_move_is_answered_within_a_frame(show: Callable[..., Page], tmp_path: Path):
    path = tmp_path / "page.html"
    path.write_text(explore(problems.random_grid().mdp, horizon=64, steps=10_000))
    page = show(path)
    times = page.evaluate(
        """async () => {
            const slider = document.getElementById("h"), found = [];
            for (let h = 1; h <= 64; h++) {
                await new Promise(r => requestAnimationFrame(() => setTimeout(r, 40)));
                slider.value = h;
                const begun = performance.now();
                slider.dispatchEvent(new Event("input"));
                document.body.getBoundingClientRect();
                found.push(performance.now() - begun);
            }
            return found.sort((a, b) => a - b);
        }"""
    )
    assert times[len(times) // 2] < 1000 / 60


def test_holes_goals_and_starts_are_told_apart(show: Callable[..., Page], tmp_path: Path):
    lake = worlds.find("FrozenLake-v1")
    path = tmp_path / "lake.html"
    path.write_text(explore(lake.mdp, horizon=8, steps=0))
    page = show(path)
    cells = page.locator("#map-exact .cell")
    texts = cells.evaluate_all(
        "all => all.map((c) => [...c.querySelectorAll('text')].map((t) => t.textContent))"
    )
    assert texts[15] == ["goal", "+1"]
    for hole in (5, 7, 11, 12):
        assert texts[hole] == ["hole", ""]
    starts = cells.evaluate_all(
        "all => all.filter((c) => c.querySelector('.ring')).map((c) => c.dataset.state)"
    )
    assert starts == ["0"]
    assert "V^h" not in page.locator("body").inner_text()


def test_taxis_maps_are_labelled(show: Callable[..., Page], tmp_path: Path):
    taxi = worlds.find("Taxi-v4")
    path = tmp_path / "taxi.html"
    page_text = explore(
        taxi.mdp, horizon=4, steps=0, state_names=taxi.state_names, map_labels=taxi.map_labels
    )
    path.write_text(page_text)
    titles = show(path).locator("#map-exact .title").all_text_contents()
    assert len(titles) == 20
    assert titles[0] == "at red, to red"
    assert titles[-1] == "in taxi, to blue"


def test_there_are_digits_enough_to_see_why_an_action_is_best(
    show: Callable[..., Page], tmp_path: Path
):
    table = {
        0: {a: [(1.0, 1, 1.0 + 1e-7 * a, True)] for a in (0, 1)},
        1: {a: [(1.0, 1, 0.0, True)] for a in (0, 1)},
    }
    path = tmp_path / "near.html"
    path.write_text(explore(FiniteMDP.from_table(table, [1.0, 0.0]), horizon=1, steps=0))
    page = show(path)
    rows = page.locator("#numbers tbody tr").all()[1:]
    assert rows[1].get_attribute("class") == "best"
    assert [row.locator("td").nth(1).inner_text() for row in rows] == ["1", "1.0000001"]


def test_learned_values_are_called_equal_only_where_they_look_so(
    show: Callable[..., Page], maze: Path
):
    page = show(maze)
    for h in (1, 4, H):
        move(page, h)
        settle(page)
        exact, learned = (np.array(list(shown(page, one).values())) for one in ("exact", "learned"))
        if "equal the exact ones" in page.locator("#insight").inner_text():
            np.testing.assert_array_equal(exact, learned)
        else:
            assert "from the exact ones" in page.locator("#insight").inner_text()
