"""The commands for deep agents: `fhtd train`, `evaluate` and `record`."""

import ast
import dataclasses
import os
import sys
from pathlib import Path
from typing import Annotated, Any, Literal

import tyro

from fhtd import checks, progress
from fhtd.commands.parsing import parse
from fhtd.files import check_writable

# Pictures are drawn without a window.
os.environ.setdefault("SDL_VIDEODRIVER", "dummy")


@dataclasses.dataclass(frozen=True)
class Options:
    """Options of a training run, besides the agent's settings."""

    environment: Annotated[
        tyro.conf.Positional[str | None], tyro.conf.arg(metavar="ENVIRONMENT")
    ] = None
    """Id of a Gymnasium environment."""
    environment_options: tuple[str, ...] = ()
    """Options of the environment as NAME=VALUE, such as is_slippery=False."""
    resume: Path | None = None
    """Continue the run in this folder; nothing else may be given but --tensorboard."""
    algorithm: Literal["dfhq", "dqn"] = "dfhq"
    """Deep fixed-horizon Q-learning, or deep Q-learning."""
    frames: int = 500_000
    """Frames to train for (paper: 500,000)."""
    seed: int = 0
    """Seed of everything: first weights, exploration, replay and episodes."""
    out: Path | None = None
    """Folder of the run; default: runs/<algorithm>-<environment>-<seed>."""
    checkpoint_every: int = 10_000
    """Frames between checkpoints, each taken at the end of an episode."""
    log_every: int = 10
    """Episodes between lines of progress.csv."""
    tensorboard: bool = False
    """Write TensorBoard events too."""


@dataclasses.dataclass(frozen=True)
class Evaluate:
    """Evaluate the agent of a training run: mean return with its interval over episodes."""

    folder: Annotated[tyro.conf.Positional[Path], tyro.conf.arg(metavar="FOLDER")]
    """Folder of the run."""
    episodes: int = 30
    """Episodes to run."""
    epsilon: float = 0.05
    """Probability of a random action (paper: 0.05)."""
    seed: int = 0
    """Seed of the first episode; the others count on from it."""


@dataclasses.dataclass(frozen=True)
class Record:
    """Record one episode as an animated GIF: the frames beside the value estimates over time."""

    folder: Annotated[tyro.conf.Positional[Path], tyro.conf.arg(metavar="FOLDER")]
    """Folder of the run."""
    out: Path | None = None
    """File to write; default: episode.gif in the folder."""
    epsilon: float = 0.05
    """Probability of a random action."""
    seed: int = 0
    """Seed of the episode."""
    frame_rate: int = 30
    """Frames shown per second."""
    every: int = 2
    """Show every so many frames."""


def train(arguments: list[str]) -> None:
    """Train an agent in a folder, or go on with one."""
    from fhtd.deep import Settings, use_one_thread
    from fhtd.deep import run as training

    kind = dataclasses.make_dataclass(
        "Train",
        [
            ("options", Annotated[Options, tyro.conf.arg(name="")]),
            ("settings", Annotated[Settings, tyro.conf.arg(name="")]),
        ],
        frozen=True,
    )
    kind.__doc__ = "Train a deep agent on any Gymnasium environment with discrete actions."
    parsed = parse(
        kind,
        "fhtd train",
        arguments,
        [
            "fhtd train CartPole-v1 --horizon 32 --hidden 64 64 --frames 15000",
            "fhtd train LunarLander-v3 --horizon 64 --frames 5e5 --out runs/lander",
            "fhtd train --resume runs/lander",
        ],
    )
    use_one_thread()
    options: Options = parsed.options
    if options.resume is not None:
        allowed = dataclasses.replace(
            Options(), resume=options.resume, tensorboard=options.tensorboard
        )
        if options != allowed or parsed.settings != Settings():
            raise ValueError("--resume takes all settings from the folder: give no others")
        run = training.resume(options.resume)
        print(f"resuming {options.resume} at frame {run.agent.frames} of {run.request.frames}")
    else:
        if options.environment is None:
            raise ValueError("name an environment, such as CartPole-v1, or a folder to --resume")
        folder = options.out
        if folder is None:
            name = options.environment.replace("/", "-")
            folder = Path("runs") / f"{options.algorithm}-{name}-{options.seed}"
        if (folder / "agent.npz").exists():
            print(f"{folder} is finished: see {folder / 'episodes.csv'}, or fhtd evaluate {folder}")
            return
        settings = _changed(parsed.settings)
        request = training.Request(
            options.environment,
            options.algorithm,
            options.frames,
            options.seed,
            settings,
            _environment_options(options.environment_options),
            options.checkpoint_every,
            options.log_every,
        )
        run = training.start(request, folder)
    if options.tensorboard:
        run.use_tensorboard()
    with progress.live(
        "training", run.request.frames, done=run.agent.frames, on=sys.stderr.isatty()
    ) as advance:
        agent = run.train(advance)
    if agent.divergence is not None:
        frame, horizon = agent.divergence
        print(f"diverged: the loss of horizon {horizon:g} left all bounds at frame {frame}")
    print(f"trained {agent.frames} frames, {agent.episodes} episodes: {run.folder / 'agent.npz'}")


def _environment_options(given: tuple[str, ...]) -> dict[str, Any]:
    """NAME=VALUE pairs; values are read as Python's, and are text where they are none."""
    found: dict[str, Any] = {}
    for pair in given:
        name, equals, value = pair.partition("=")
        if not equals or not name.isidentifier() or name in found:
            raise ValueError(f"environment_options must be NAME=VALUE, each once, got {pair!r}")
        try:
            found[name] = ast.literal_eval(value)
        except (ValueError, SyntaxError):
            found[name] = value
        if not isinstance(found[name], bool | int | float | str | list | None):
            raise ValueError(f"environment_options must be plain values, got {pair!r}")
    return found


def _changed(settings: Any) -> dict[str, Any]:
    """Only what differs from the defaults, so that DQN is not given a horizon unasked."""
    default = type(settings)()
    return {
        field.name: getattr(settings, field.name)
        for field in dataclasses.fields(settings)
        if getattr(settings, field.name) != getattr(default, field.name)
    }


def evaluate(arguments: list[str]) -> None:
    """Print the mean return of a run's agent."""
    parsed = parse(
        Evaluate, "fhtd evaluate", arguments, ["fhtd evaluate runs/lander --episodes 100"]
    )
    from fhtd.deep import run as training
    from fhtd.deep import use_one_thread
    from fhtd.statistics import Interval

    use_one_thread()
    checks.integer("episodes", parsed.episodes, 1)
    agent = training.load_agent(parsed.folder)
    returns = agent.evaluate(parsed.episodes, epsilon=parsed.epsilon, seed=parsed.seed)
    print(
        f"mean return {Interval.of(returns)} over {parsed.episodes} episodes "
        f"(lowest {returns.min():.4g}, highest {returns.max():.4g}), after {agent.frames} frames"
    )


def record(arguments: list[str]) -> None:
    """Write an animation of one episode."""
    parsed = parse(Record, "fhtd record", arguments, ["fhtd record runs/lander --seed 3"])
    from fhtd.deep import run as training
    from fhtd.deep import use_one_thread
    from fhtd.pages.gif import record_episode

    use_one_thread()
    checks.integer("frame_rate", parsed.frame_rate, 1)
    checks.integer("every", parsed.every, 1)
    request = training.read_request(parsed.folder)
    path = parsed.folder / "episode.gif" if parsed.out is None else parsed.out
    check_writable(path)
    agent = training.load_agent(parsed.folder)
    environment = training.make_environment(request, render_mode="rgb_array")
    try:
        steps = record_episode(
            agent,
            environment,
            path,
            epsilon=parsed.epsilon,
            seed=parsed.seed,
            frame_rate=parsed.frame_rate,
            every=parsed.every,
        )
    finally:
        environment.close()
    print(f"{path.resolve()}: {steps} steps")
