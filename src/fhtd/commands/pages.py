"""The commands that write pages to look into: `fhtd explore` and `watch`."""

import dataclasses
from pathlib import Path
from typing import Annotated, Any, Literal

import tyro

from fhtd import archive
from fhtd.commands.agents import Trained, epsilon_of
from fhtd.commands.parsing import UserError, parse, require
from fhtd.files import check_writable, write_atomically
from fhtd.references import resolve


@dataclasses.dataclass(frozen=True)
class Explore:
    """Write one HTML page of a finite MDP: the values and best actions of every horizon."""

    problem: Annotated[tyro.conf.Positional[str], tyro.conf.arg(metavar="PROBLEM|DIR")]
    """A problem of the paper (slippery-maze, checkered-grid, random-grid, random-walk, baird), the
    id of a Gymnasium environment with a transition table (FrozenLake-v1), or a folder with mdp.npz
    and, if there is one, learner.npz."""
    horizon: int | None = None
    """Final horizon H; default: the learner's, or 48."""
    policy: Literal["optimal", "uniform", "target"] = "optimal"
    """The best that can be done, actions at random, or the problem's own policy."""
    learner: Annotated[Path | None, tyro.conf.arg(metavar="FILE")] = None
    """File of a saved learner; default: a table is learned here."""
    steps: int = 1_000_000
    """Random steps to learn that table from; 0 for exact values alone."""
    seed: int = 0
    """Seed of those steps."""
    out: Annotated[Path | None, tyro.conf.arg(metavar="FILE")] = None
    """File to write; default: explore-<problem>.html, in the folder where one is given."""


def explore(arguments: list[str]) -> None:
    """Write the horizon explorer."""
    examples = [
        "fhtd explore slippery-maze",
        "fhtd explore FrozenLake-v1 --horizon 32 --out lake.html",
        "fhtd explore my-folder       # with mdp.npz, and learner.npz if there is one",
    ]
    parsed = parse(Explore, "fhtd explore", arguments, examples)
    require("report", "bokeh")
    from fhtd import worlds
    from fhtd.pages.explorer import explore as build
    from fhtd.policy import uniform

    world = worlds.find(parsed.problem)
    mdp, folder = world.mdp, Path(parsed.problem)
    policy: Any = None
    if parsed.policy == "uniform":
        policy = uniform(mdp.n_states, mdp.n_actions)
    elif parsed.policy == "target":
        if world.target is None:
            raise UserError("--policy target: only the paper's problems have a policy of their own")
        policy = world.target
    learner, path = None, parsed.learner
    if path is None and folder.is_dir() and (folder / "learner.npz").exists():
        path = folder / "learner.npz"
    if path is not None:
        from fhtd.online import load

        learner = load(path)
    out = parsed.out
    if out is None:
        name = parsed.problem.replace("/", "-")
        out = folder / "explore.html" if folder.is_dir() else Path(f"explore-{name}.html")
    check_writable(out)
    text = build(
        mdp,
        horizon=parsed.horizon,
        policy=policy,
        policy_name={"uniform": "random actions", "target": "its policy"}.get(parsed.policy, ""),
        learner=learner,
        steps=parsed.steps,
        seed=parsed.seed,
        state_names=world.state_names,
        map_labels=world.map_labels,
    )
    write(out, text)


@dataclasses.dataclass(frozen=True)
class Watch(Trained):
    """Write one HTML page of an episode of a trained agent: what it expected, and what came."""

    out: Annotated[Path | None, tyro.conf.arg(metavar="FILE")] = None
    """File to write; default: episode.html in the folder."""
    predictor: Annotated[Path | None, tyro.conf.arg(metavar="FILE")] = None
    """File of a saved DFHTD without a continuation, whose signals are shown in the same way."""
    cumulants: str | None = None
    """Its signals as MODULE:NAME, a dictionary of functions; the reward alone needs none."""
    seed: int = 0
    """Seed of the episode."""
    epsilon: float | None = None
    """Probability of a random action; default: 0.05 (paper), or 0 for agents with a policy."""
    max_steps: Annotated[int, tyro.conf.arg(aliases=["--steps"])] = 5000
    """Steps after which the episode is cut off."""
    every: int = 1
    """Keep one picture in so many; numbers are kept for every step."""
    width: int = 480
    """Width of the pictures in pixels, at most."""
    quality: int = 75
    """Quality of the pictures, from 1 to 100."""


def watch(arguments: list[str]) -> None:
    """Write the episode viewer."""
    examples = ["fhtd watch runs/lander", "fhtd watch runs/lander --seed 3 --out landing.html"]
    parsed = parse(Watch, "fhtd watch", arguments, examples)
    require("report", "bokeh")
    from fhtd.deep import DFHTD, use_one_thread
    from fhtd.deep import run as runs
    from fhtd.pages.episode import watch as build

    use_one_thread()
    if parsed.cumulants is not None and parsed.predictor is None:
        raise UserError("--cumulants are those of a --predictor: give its file too")
    signals = None if parsed.cumulants is None else _imported(parsed.cumulants)
    typed = parsed.typed
    request = runs.read_request(parsed.folder, **typed)
    out = parsed.folder / "episode.html" if parsed.out is None else parsed.out
    check_writable(out)
    environment = request.make_environment(render_mode="rgb_array")
    try:
        agent = runs.load_agent(parsed.folder, best=parsed.best, **typed)
        predictors = []
        if parsed.predictor is not None:
            if archive.read(parsed.predictor, "agent")[0].get("has_continuation"):
                raise UserError(
                    f"--predictor {parsed.predictor} has a continuation: the page holds "
                    "predictions to all that came, and does not show such predictors"
                )
            predictors.append(
                DFHTD.load(parsed.predictor, agent, environment=environment, cumulants=signals)
            )
        text = build(
            agent,
            environment,
            predictors=predictors,
            epsilon=epsilon_of(parsed, agent),
            seed=parsed.seed,
            steps=parsed.max_steps,
            every=parsed.every,
            width=parsed.width,
            quality=parsed.quality,
        )
    finally:
        environment.close()
    write(out, text)


def _imported(place: str) -> dict[str, Any]:
    """Signals that the user has named."""
    found = resolve(place, "--cumulants")
    if not isinstance(found, dict) or not all(map(callable, found.values())):
        raise UserError(f"--cumulants {place} must be a dictionary of functions, got {found!r}")
    return found


def write(path: Path, text: str) -> None:
    """Write a page and say where it is."""
    content = text.encode()
    write_atomically(path, content)
    print(f"{path.resolve()}: {len(content) / 1e6:.1f} MB")
