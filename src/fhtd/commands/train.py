"""The commands for deep agents: `fhtd train`, `presets`, `evaluate` and `record`."""

import ast
import dataclasses
import os
import sys
from pathlib import Path
from typing import Annotated, Any

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
    """Continue the run in this folder; its settings are taken from there."""
    algorithm: str = "dfhq"
    """dfhq or dqn for discrete actions, fhsac or sac for continuous ones, or MODULE:CLASS of an
    agent of your own. Default: dfhq or fhsac, by the actions of the environment."""
    preset: str | None = None
    """Settings to begin with: default, paper, or an environment's id (see fhtd presets). Default:
    those of the environment where there are some."""
    frames: int = 100_000
    """Frames to train for (paper: 500,000)."""
    seed: int = 0
    """Seed of everything: first weights, exploration, replay and episodes."""
    out: Path | None = None
    """Folder of the run; default: runs/<algorithm>-<environment>-<seed>."""
    checkpoint_every: int = 10_000
    """Frames between checkpoints."""
    log_every: int = 10
    """Episodes between lines of progress.csv."""
    tensorboard: bool = False
    """Write TensorBoard events too."""


@dataclasses.dataclass(frozen=True)
class Presets:
    """List the presets of `fhtd train`, with the scores that were measured."""

    algorithm: str | None = None
    """Only those of one algorithm, such as dfhq."""


@dataclasses.dataclass(frozen=True)
class Evaluate:
    """Evaluate the agent of a training run: mean return with its interval over episodes."""

    folder: Annotated[tyro.conf.Positional[Path], tyro.conf.arg(metavar="FOLDER")]
    """Folder of the run."""
    environment: str | None = None
    """Only where the run's environment is MODULE:ID, which is not taken from a file."""
    algorithm: str | None = None
    """Only where the run's agent is MODULE:CLASS, which is not taken from a file."""
    episodes: int = 30
    """Episodes to run."""
    epsilon: float | None = None
    """Probability of a random action; default: 0.05 (paper), or 0 for agents with a policy."""
    seed: int = 0
    """Seed of the first episode; the others count on from it."""


@dataclasses.dataclass(frozen=True)
class Record:
    """Record one episode as an animated GIF: the frames beside the value estimates over time."""

    folder: Annotated[tyro.conf.Positional[Path], tyro.conf.arg(metavar="FOLDER")]
    """Folder of the run."""
    environment: str | None = None
    """Only where the run's environment is MODULE:ID, which is not taken from a file."""
    algorithm: str | None = None
    """Only where the run's agent is MODULE:CLASS, which is not taken from a file."""
    out: Path | None = None
    """File to write; default: episode.gif in the folder."""
    epsilon: float | None = None
    """Probability of a random action; default: 0.05 (paper), or 0 for agents with a policy."""
    seed: int = 0
    """Seed of the episode."""
    frame_rate: int = 30
    """Frames shown per second."""
    every: int = 2
    """Show every so many frames."""


def train(arguments: list[str]) -> None:
    """Train an agent in a folder, or go on with one."""
    from fhtd.deep import run as runs
    from fhtd.deep import use_one_thread
    from fhtd.deep.presets import DEFAULT
    from fhtd.deep.settings import to_json

    name = _value_of("--algorithm", arguments)
    picked = name or _by_actions(arguments)
    kind = runs.algorithm(picked)
    preset = _value_of("--preset", arguments) or DEFAULT
    begun, parsed = _parse_training(kind, picked, preset, arguments)
    use_one_thread()
    options: Options = parsed.options
    if options.preset is None and options.environment in kind.presets:
        preset = options.environment
        begun, parsed = _parse_training(kind, picked, preset, arguments)
    if options.resume is not None:
        allowed = dataclasses.replace(
            Options(),
            resume=options.resume,
            tensorboard=options.tensorboard,
            environment=options.environment,
            algorithm=options.algorithm,
        )
        if options != allowed or parsed.settings != begun:
            raise ValueError("--resume takes all settings from the folder: give no others")
        run = runs.resume(options.resume, environment=options.environment, algorithm=name)
        print(f"resuming {options.resume} at frame {run.agent.frames} of {run.request.frames}")
    else:
        if options.environment is None:
            raise ValueError("name an environment, such as CartPole-v1, or a folder to --resume")
        folder = options.out
        if folder is None:
            words = (options.algorithm, options.environment, str(options.seed))
            folder = Path("runs") / "-".join(words).replace("/", "-").replace(":", "-")
        request = runs.Request(
            options.environment,
            options.algorithm,
            options.frames,
            options.seed,
            to_json(parsed.settings),
            _environment_options(options.environment_options),
            options.checkpoint_every,
            options.log_every,
        )
        if (folder / runs.FINISHED).exists():
            _say_finished(runs.read_request(folder, **_typed(request)), request, folder)
            return
        run = runs.start(request, folder)
        if name is None and picked != "dfhq":
            print(f"algorithm {picked}: the actions of {options.environment} are continuous")
        _say_preset(kind.presets[preset])
    if options.tensorboard:
        run.use_tensorboard()
    stop = runs.Stop()
    bar = progress.live(
        "training", run.request.frames, done=run.agent.frames, on=sys.stderr.isatty()
    )
    try:
        with runs.signals_kept(stop), bar as advance:
            agent = run.train(advance, stop)
    except runs.Interrupted as end:
        frame = run.agent.frames
        again = f"fhtd train --resume {run.folder}"
        if ":" in run.request.algorithm:
            again += f" --algorithm {run.request.algorithm}"
        if ":" in run.request.environment:
            again += f" {run.request.environment}"
        print(f"fhtd: stopped at frame {frame}; go on with: {again}", file=sys.stderr)
        sys.exit(128 + end.number)
    if agent.divergence is not None:
        frame, horizon = agent.divergence
        print(f"diverged: the loss of horizon {horizon:g} left all bounds at frame {frame}")
    print(f"trained {agent.frames} frames, {agent.episodes} episodes: {run.folder / 'agent.npz'}")


def _by_actions(arguments: list[str]) -> str:
    """The algorithm for the environment's actions: settings are read as that algorithm's."""
    import gymnasium

    from fhtd.environments import make

    given = _values_of("--environment-options", arguments)
    for argument in arguments:
        if argument not in gymnasium.registry and ":" not in argument:
            continue
        try:
            world = make(argument, **_environment_options(tuple(given)))
        except (ValueError, TypeError, ImportError, gymnasium.error.Error):
            # Said where the run is started.
            continue
        is_continuous = isinstance(world.action_space, gymnasium.spaces.Box)
        world.close()
        return "fhsac" if is_continuous else "dfhq"
    return "dfhq"


def _parse_training(
    kind: Any, algorithm: str, preset: str, arguments: list[str]
) -> tuple[Any, Any]:
    """The settings of a preset, and what is asked for with these to begin with."""
    begun = kind.settings_of(preset)
    asked = dataclasses.make_dataclass(
        "Train",
        [
            ("options", Annotated[Options, tyro.conf.arg(name="")], Options(algorithm=algorithm)),
            ("settings", Annotated[kind.settings_type, tyro.conf.arg(name="")], begun),
        ],
        frozen=True,
    )
    asked.__doc__ = (
        "Train a deep agent on any Gymnasium environment with discrete or bounded continuous "
        "actions.\n\n"
        f"These are the settings of {kind.__name__}, preset {preset}; --help with --algorithm NAME "
        "or --preset NAME shows others."
    )
    examples = [
        "fhtd train CartPole-v1",
        "fhtd train Pendulum-v1 --frames 20000",
        "fhtd train LunarLander-v3 --frames 1e5 --out runs/lander",
        "fhtd train LunarLander-v3 --preset paper --frames 5e5 --out runs/paper",
        "fhtd train --resume runs/lander",
    ]
    return begun, parse(asked, "fhtd train", arguments, examples)


def _say_preset(preset: Any) -> None:
    """Which settings a run begins with, and how to get others."""
    if preset.score is None:
        print(f"preset {preset.name}")
    else:
        print(f"preset {preset.name} ({preset.measured}); --preset default for the general one")


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


def _typed(request: Any) -> dict[str, str]:
    """Names that a user has typed, where they stand for modules."""
    found = {"environment": request.environment, "algorithm": request.algorithm}
    return {name: value for name, value in found.items() if ":" in value}


def _say_finished(kept: Any, asked: Any, folder: Path) -> None:
    """The same request is done already; another one must not seem to be."""
    # Earlier versions wrote down only some of the settings.
    was, wanted = (
        {k: v for k, v in dataclasses.asdict(one).items() if k != "settings"}
        | dataclasses.asdict(one.all_settings)
        for one in (kept, asked)
    )
    for name in was | wanted:
        if was.get(name) != wanted.get(name):
            raise ValueError(
                f"{folder} holds a finished run with {name} {was.get(name)!r}, not "
                f"{wanted.get(name)!r}: give another --out"
            )
    print(f"{folder} is finished: see {folder / 'episodes.csv'}, or fhtd evaluate {folder}")


def _value_of(flag: str, arguments: list[str]) -> str | None:
    """What is given for a flag, as `--flag value` or `--flag=value`."""
    for i, argument in enumerate(arguments):
        if argument == flag and i + 1 < len(arguments):
            return arguments[i + 1]
        if argument.startswith(f"{flag}="):
            return argument.partition("=")[2]
    return None


def _values_of(flag: str, arguments: list[str]) -> list[str]:
    """All that follows a flag up to the next one."""
    if flag not in arguments:
        return []
    after = arguments[arguments.index(flag) + 1 :]
    ends = [i for i, argument in enumerate(after) if argument.startswith("-")]
    return after[: ends[0] if ends else None]


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


def epsilon_of(parsed: Any, agent: Any) -> float:
    """Share of random actions: what is asked for, or what is usual for such an agent."""
    return float(agent.evaluation_epsilon if parsed.epsilon is None else parsed.epsilon)


def evaluate(arguments: list[str]) -> None:
    """Print the mean return of a run's agent."""
    parsed = parse(
        Evaluate, "fhtd evaluate", arguments, ["fhtd evaluate runs/lander --episodes 100"]
    )
    from fhtd.deep import run as runs
    from fhtd.deep import use_one_thread
    from fhtd.statistics import Interval

    use_one_thread()
    checks.integer("episodes", parsed.episodes, 1)
    agent = runs.load_agent(
        parsed.folder, environment=parsed.environment, algorithm=parsed.algorithm
    )
    returns = agent.evaluate(parsed.episodes, epsilon=epsilon_of(parsed, agent), seed=parsed.seed)
    print(
        f"mean return {Interval.of(returns)} over {parsed.episodes} episodes "
        f"(lowest {returns.min():.4g}, highest {returns.max():.4g}), after {agent.frames} frames"
    )


def record(arguments: list[str]) -> None:
    """Write an animation of one episode."""
    parsed = parse(Record, "fhtd record", arguments, ["fhtd record runs/lander --seed 3"])
    from fhtd.deep import run as runs
    from fhtd.deep import use_one_thread
    from fhtd.pages.gif import record_episode

    use_one_thread()
    checks.integer("frame_rate", parsed.frame_rate, 1)
    checks.integer("every", parsed.every, 1)
    typed = {"environment": parsed.environment, "algorithm": parsed.algorithm}
    request = runs.read_request(parsed.folder, **typed)
    path = parsed.folder / "episode.gif" if parsed.out is None else parsed.out
    check_writable(path)
    agent = runs.load_agent(parsed.folder, **typed)
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
        )
    finally:
        environment.close()
    print(f"{path.resolve()}: {steps} steps")
