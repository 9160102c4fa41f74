"""What a release promises of its extras."""

import runpy
import tomllib
from pathlib import Path

ROOT = Path(__file__).parent.parent


def test_every_extra_is_tried_before_a_release() -> None:
    stated = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    script = runpy.run_path(str(ROOT / "packaging" / "try_release.py"))
    assert set(script["PROMISES"]) == {"none", *stated["optional-dependencies"]}
