"""The commands for trained agents: `fhtd presets`, `evaluate` and `record`."""

import dataclasses
import os
from pathlib import Path
from typing import Annotated, Any

import tyro

from fhtd import checks, progress
from fhtd.commands.parsing import parse
from fhtd.files import check_writable

# Pictures are drawn without a window.
os.environ.setdefault("SDL_VIDEODRIVER", "dummy")


@dataclasses.dataclass(frozen=True)
class Trained:
    """Which agent."""

    folder: Annotated[tyro.conf.Positional[Path], tyro.conf.arg(metavar="DIR")]
    """Folder of the training run."""
    best: bool = False
    """Take the agent that was best in an evaluation of --evaluate-every, not the last one."""
    environment: str | None = None
    """Only where the run's environment is MODULE:ID, which is not taken from a file."""
    algorithm: str | None = None
    """Only where the run's agent is MODULE:CLASS, which is not taken from a file."""
    wrappers: tuple[str, ...] = ()
    """Only where the run has a wrapper MODULE:NAME, which is not taken from a file; all of them."""

    @property
    def typed(self) -> dict[str, Any]:
        """Names that the user has typed."""
        return {
            "environment": self.environment,
            "algorithm": self.algorithm,
            "wrappers": self.wrappers,
        }


@dataclasses.dataclass(frozen=True)
class Presets:
    """List the presets of `fhtd train`, with the scores that were measured."""

    algorithm: str | None = None
    """Only those of one algorithm, such as dfhq."""


@dataclasses.dataclass(frozen=True)
class Evaluate(Trained):
    """Evaluate the agent of a training run: mean return with its interval over episodes."""

    episodes: int = 30
    """Episodes to run."""
    epsilon: float | None = None
    """Probability of a random action; default: 0.05 (paper), or 0 for agents with a policy."""
    seed: int = 0
    """Seed of the first episode; the others count on from it."""
    max_steps: int = 10_000
    """Steps after which an episode that has not ended is cut, which is then said."""


@dataclasses.dataclass(frozen=True)
class Record(Trained):
    """Record one episode as an animated GIF: the frames beside the value estimates over time."""

    out: Annotated[Path | None, tyro.conf.arg(metavar="FILE")] = None
    """File to write; default: episode.gif in the folder."""
    epsilon: float | None = None
    """Probability of a random action; default: 0.05 (paper), or 0 for agents with a policy."""
    seed: int = 0
    """Seed of the episode."""
    max_steps: int = 5000
    """Steps after which the episode is cut."""
    frame_rate: int = 30
    """Frames shown per second."""
    every: int = 2
    """Show every so many frames."""


def presets(arguments: list[str]) -> None:
    """List the presets with what was measured, and what they are."""
    parsed = parse(Presets, "fhtd presets", arguments, ["fhtd presets --algorithm dfhq"])
    from fhtd.deep import run as runs

    names = list(runs.ALGORITHMS) if parsed.algorithm is None else [parsed.algorithm]
    for name in names:
        kind = runs.algorithm(name)
        for preset in kind.presets.values():
            measured = f": {preset.measured}" if preset.measured else ""
            print(f"{name} {preset.name}{measured}")
            told = [f"{key} {_plain(value)}" for key, value in preset.settings.items()]
            print(f"    {', '.join(told) or 'as in the paper'}")
            if preset.command:
                print(f"    {preset.command}")


def _plain(value: Any) -> str:
    return " ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)


def epsilon_of(parsed: Any, agent: Any) -> float:
    """Share of random actions: what is asked for, or what is usual for such an agent.

    Args:
        parsed: What was typed.
        agent: That acts.
    """
    return float(agent.evaluation_epsilon if parsed.epsilon is None else parsed.epsilon)


def evaluate(arguments: list[str]) -> None:
    """Print the mean return of a run's agent."""
    examples = [
        "fhtd evaluate runs/lander --episodes 100",
        "fhtd evaluate runs/lander --best --epsilon 0",
        "fhtd evaluate runs/walk --max-steps 500   # where episodes have no end of their own",
    ]
    parsed = parse(Evaluate, "fhtd evaluate", arguments, examples)
    from fhtd.deep import run as runs
    from fhtd.deep import use_one_thread
    from fhtd.statistics import Interval

    use_one_thread()
    checks.integer("episodes", parsed.episodes, 1)
    checks.integer("max_steps", parsed.max_steps, 1)
    request = runs.read_request(parsed.folder, **parsed.typed)
    agent = runs.load_agent(parsed.folder, best=parsed.best, **parsed.typed)
    world = request.make_environment()
    try:
        with progress.watched("evaluating", parsed.episodes, unit="episodes") as advance:
            found = agent.evaluated(
                parsed.episodes,
                epsilon=epsilon_of(parsed, agent),
                seed=parsed.seed,
                environment=world,
                max_steps=parsed.max_steps,
                advance=lambda done, state="": advance(done, state=state),
            )
    finally:
        world.close()
    returns = found.returns
    print(
        f"mean return {Interval.of(returns)} over {parsed.episodes} episodes "
        f"(lowest {returns.min():.4g}, highest {returns.max():.4g}), after {agent.frames} frames"
    )
    if found.cut:
        print(f"{found.said(parsed.max_steps)} (--max-steps): these returns are of that part alone")


def record(arguments: list[str]) -> None:
    """Write an animation of one episode."""
    examples = ["fhtd record runs/lander --seed 3", "fhtd record runs/lander --out landing.gif"]
    parsed = parse(Record, "fhtd record", arguments, examples)
    from fhtd.deep import run as runs
    from fhtd.deep import use_one_thread
    from fhtd.pages.gif import record_episode

    use_one_thread()
    checks.integer("frame_rate", parsed.frame_rate, 1)
    checks.integer("every", parsed.every, 1)
    checks.integer("max_steps", parsed.max_steps, 1)
    request = runs.read_request(parsed.folder, **parsed.typed)
    path = parsed.folder / "episode.gif" if parsed.out is None else parsed.out
    check_writable(path)
    agent = runs.load_agent(parsed.folder, best=parsed.best, **parsed.typed)
    environment = request.make_environment(render_mode="rgb_array")
    try:
        steps = record_episode(
            agent,
            environment,
            path,
            epsilon=epsilon_of(parsed, agent),
            seed=parsed.seed,
            frame_rate=parsed.frame_rate,
            every=parsed.every,
            max_steps=parsed.max_steps,
        )
    finally:
        environment.close()
    cut = " (cut there: --max-steps)" if steps == parsed.max_steps else ""
    print(f"{path.resolve()}: {steps} steps{cut}")
