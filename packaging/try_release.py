"""Build a wheel and an sdist, and install each into clean environments, one for each extra.

    python packaging/try_release.py                    # everything: minutes, and an index is needed
    python packaging/try_release.py --extras none deep --python python3.12

Nothing is left behind but `dist/`.
"""

import argparse
import shutil
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
#: What each extra promises, as something to run.
PROMISES = {
    "none": "import fhtd; fhtd.FHTD(fhtd.Features.tabular(2), fhtd.Weighting.average(3))",
    "deep": "from fhtd.deep import DFHQ; DFHQ('CartPole-v1', hidden=(8,)).learn(40)",
    "lander": "import gymnasium; gymnasium.make('LunarLander-v3').reset(seed=0)",
    "minatar": "from fhtd.environments import make; make('MinAtar/Breakout-v1').reset(seed=0)",
    "report": "from fhtd import pages, problems; pages.explore(problems.baird().mdp, steps=0)",
    "browser": "import playwright",
    "ray": "import ray",
    "peers": "import stable_baselines3, sb3_contrib",
    "docs": "import sphinx, furo, myst_nb, statsmodels",
    "dev": "import pytest, ruff, rlax; from fhtd.deep import DFHQ",
}


def run(*command: object) -> None:
    """Run it, and end where it fails."""
    print("+", *command, flush=True)
    subprocess.run([str(word) for word in command], check=True, cwd=tempfile.gettempdir())


def works(python: str) -> bool:
    """Whether there is such a Python; a shim without one behind it is none."""
    found = shutil.which(python)
    if found is None:
        return False
    return subprocess.run([found, "--version"], capture_output=True, check=False).returncode == 0


def try_out(python: str, archive: Path, extra: str) -> None:
    """One archive with one extra in an environment of its own."""
    with tempfile.TemporaryDirectory() as folder:
        run(python, "-m", "venv", folder)
        inside = Path(folder) / "bin" / "python"
        wanted = f"{archive}[{extra}]" if extra != "none" else archive
        pins = ROOT / "constraints.txt"
        run(inside, "-m", "pip", "install", "--quiet", "-c", pins, wanted)
        run(inside, "-c", PROMISES[extra])
        run(inside, "-m", "fhtd", "list")


def main() -> None:
    """Every archive, extra and Python that was asked for or is there."""
    stated = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = ["none", *stated["optional-dependencies"]]
    if missing := set(extras) ^ set(PROMISES):
        sys.exit(f"PROMISES and the extras in pyproject.toml differ: {sorted(missing)}")
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--extras", nargs="+", choices=extras, default=extras)
    parser.add_argument("--python", nargs="+", help="default: 3.11, 3.12 and 3.13 where they are")
    given = parser.parse_args()
    there = [name for minor in (11, 12, 13) if works(name := f"python3.{minor}")]
    shutil.rmtree(ROOT / "dist", ignore_errors=True)
    with tempfile.TemporaryDirectory() as folder:
        run(sys.executable, "-m", "venv", folder)
        builder = Path(folder) / "bin" / "python"
        run(builder, "-m", "pip", "install", "--quiet", "build")
        run(builder, "-m", "build", "--outdir", ROOT / "dist", ROOT)
    (wheel,), (source,) = (ROOT / "dist").glob("*.whl"), (ROOT / "dist").glob("*.tar.gz")
    for python in given.python or there or [sys.executable]:
        for extra in given.extras:
            try_out(python, wheel, extra)
        try_out(python, source, "none")
    print("all of them install and do what they promise")


if __name__ == "__main__":
    main()
