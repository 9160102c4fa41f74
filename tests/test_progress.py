"""One bar for all: it changes nothing that it counts, and keeps off standard output."""

import re

import pytest

from fhtd import progress


@pytest.fixture(autouse=True)
def terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is captured passes for a wide one."""
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "120")


@pytest.mark.parametrize("on", [False, True])
def test_steps_come_as_they_are(capsys: pytest.CaptureFixture[str], on: bool) -> None:
    steps = range(5, 105)
    assert list(progress.bar(steps, "counting", on)) == list(steps)
    out, err = capsys.readouterr()
    assert out == ""
    assert ("counting" in err) == on


def test_a_loop_may_be_left_early(capsys: pytest.CaptureFixture[str]) -> None:
    for step in progress.bar(range(1000), "counting"):
        if step == 3:
            break
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize("on", [False, True])
def test_a_live_bar_says_how_far_things_are(capsys: pytest.CaptureFixture[str], on: bool) -> None:
    with progress.live("blocks", on=on) as advance:
        advance(3)
        advance(4, 7, "2 running")
    out, err = capsys.readouterr()
    assert out == ""
    plain = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", err)
    for word in ("blocks", "4/7", "2 running"):
        assert (word in plain) == on
