"""Settings belong to their algorithm: in Python, in files, for editors and in `help`."""

import inspect
from dataclasses import fields
from typing import get_type_hints

import pytest

pytest.importorskip("equinox")

from fhtd.deep import (
    DFHQ,
    DFHTD,
    DQN,
    FHSAC,
    SAC,
    DFHQSettings,
    DFHTDSettings,
    DQNSettings,
    FHSACSettings,
    SACSettings,
    Settings,
)
from fhtd.deep.agents.dfhq import DFHQOptions
from fhtd.deep.agents.dfhtd import DFHTDOptions
from fhtd.deep.agents.dqn import DQNOptions
from fhtd.deep.agents.fhsac import FHSACOptions
from fhtd.deep.settings import SoftOptions, from_json, to_json
from fhtd.sentences import sentences

PAIRS = [
    (DFHQSettings, DFHQOptions),
    (DQNSettings, DQNOptions),
    (DFHTDSettings, DFHTDOptions),
    (FHSACSettings, FHSACOptions),
    (SACSettings, SoftOptions),
]


@pytest.mark.parametrize(("settings", "options"), PAIRS)
def test_what_editors_are_told_is_what_there_is(settings, options):
    assert get_type_hints(options) == get_type_hints(settings)


@pytest.mark.parametrize("settings", [settings for settings, _ in PAIRS])
def test_every_setting_has_a_sentence(settings):
    told = sentences(settings)
    assert [field.name for field in fields(settings) if not told.get(field.name)] == []


@pytest.mark.parametrize("agent", [DFHQ, DQN, DFHTD, FHSAC, SAC])
def test_help_shows_every_setting_with_its_default(agent):
    shown, begun = inspect.signature(agent).parameters, agent.settings_of("default")
    for field in fields(agent.settings_type):
        assert shown[field.name].default == getattr(begun, field.name)
        assert f"\n    {field.name}: " in agent.__doc__
    kinds = {parameter.kind for parameter in shown.values()}
    assert inspect.Parameter.VAR_KEYWORD not in kinds


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: DQN("CartPole-v1", preset="paper", horizon=8), "horizon is not a setting of DQN"),
        (lambda: DQN("CartPole-v1", settings=DFHQSettings()), "must be DQNSettings for DQN"),
        (lambda: DFHTD("CartPole-v1", lambda s: 0, n_step=2), "n_step is not a setting of DFHTD"),
        (lambda: DFHQ("CartPole-v1", preset="paper", gamma=0.9), "did you mean discount"),
        (lambda: DFHQ("CartPole-v1", preset="paper", horizn=9), "did you mean horizon"),
        (lambda: SAC("Pendulum-v1", ent_coef=0.1), "did you mean temperature"),
        (lambda: SAC("Pendulum-v1", horizon=8), "horizon is not a setting of SAC"),
        (
            lambda: DFHQ("CartPole-v1", preset="paper", hidden=64),
            r"hidden must be widths such as \(64, 64\)",
        ),
    ],
)
def test_what_an_algorithm_does_not_have_is_refused(build, message):
    with pytest.raises(TypeError, match=message):
        build()


def test_a_predictor_says_how_many_horizons_it_has():
    assert DFHTD("CartPole-v1", lambda s: 0, horizon=8, hidden=(4,)).settings.horizon == 8


def test_settings_go_to_plain_data_and_back():
    settings = DFHQSettings(hidden=(3, 4), loss_weights=(1.0,) * 4, horizon=4, acting=2)
    assert from_json(DFHQSettings, to_json(settings)) == settings
    assert to_json(settings, changed=True) == {
        "hidden": [3, 4],
        "loss_weights": [1.0] * 4,
        "horizon": 4,
        "acting": 2,
    }
    with pytest.raises(ValueError, match="horizon is not a setting"):
        from_json(Settings, {"horizon": 3})
    with pytest.raises(TypeError, match="must be a dictionary"):
        from_json(Settings, [])
