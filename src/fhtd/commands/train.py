"""`fhtd train`: one run in a folder, one that goes on, or several seeds."""

import dataclasses
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import tyro

from fhtd import checks, progress
from fhtd.commands.parsing import UserError, parse


@dataclasses.dataclass(frozen=True)
class Place:
    """Where the agent acts."""

    environment: Annotated[
        tyro.conf.Positional[str | None], tyro.conf.arg(metavar="ENVIRONMENT")
    ] = None
    """Id of a Gymnasium environment."""
    environment_options: Annotated[tuple[str, ...], tyro.conf.arg(metavar="NAME=VALUE...")] = ()
    """Options of the environment, such as is_slippery=False."""
    wrappers: Annotated[tuple[str, ...], tyro.conf.arg(metavar="WRAPPER...")] = ()
    """Wrappers of Gymnasium as NAME[,OPTION=VALUE...], such as FrameStackObservation,stack_size=4,
    or your own as MODULE:NAME; the first one is next to the environment."""


@dataclasses.dataclass(frozen=True)
class Running:
    """The run and its folder."""

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
    out: Annotated[Path | None, tyro.conf.arg(metavar="DIR")] = None
    """Folder to write; default: runs/<algorithm>-<environment>-<seed>, without the seed where there
    are several."""
    resume: Annotated[Path | None, tyro.conf.arg(metavar="DIR")] = None
    """Continue the run in this folder; its settings are taken from there. With --frames, to so
    many: a finished run goes on as if they had been asked for at first."""
    runs: int | None = None
    """Train so many seeds, from --seed on, each in a folder of its own within --out."""
    workers: int = 1
    """Processes to spread these over."""
    evaluate_every: int | None = None
    """Frames between evaluations without exploration; the best agent is kept as best.npz."""
    evaluate_episodes: int = 10
    """Episodes of each of these."""
    checkpoint_every: int = 10_000
    """Frames between checkpoints."""
    log_every: int = 10
    """Episodes between lines of progress.csv."""
    tensorboard: bool = False
    """Write TensorBoard events too."""


EXAMPLES = (
    "fhtd train CartPole-v1",
    "fhtd train Pendulum-v1 --frames 20000            # continuous actions: fhsac",
    "fhtd train LunarLander-v3 --frames 1e5 --evaluate-every 1e4 --out runs/lander",
    "fhtd train --resume runs/lander                  # after Ctrl-C, or a crash",
    "fhtd train --resume runs/lander --frames 2e5     # go on with a finished one",
    "fhtd train CartPole-v1 --runs 5 --workers 2      # five seeds, and their mean",
    "fhtd train LunarLander-v3 --preset paper --frames 5e5 --out runs/paper",
)


def train(arguments: list[str]) -> None:
    """Train an agent in a folder, go on with one, or train several."""
    from fhtd.commands import agents
    from fhtd.deep import run as runs
    from fhtd.deep import use_one_thread
    from fhtd.deep.presets import DEFAULT

    assert agents  # it says how to run without a window
    name = _value_of("--algorithm", arguments)
    picked = name or _by_actions(arguments)
    kind = runs.algorithm(picked)
    preset = _value_of("--preset", arguments) or DEFAULT
    asked = _parsed(kind, picked, preset, arguments)
    use_one_thread()
    if asked.running.preset is None and asked.place.environment in kind.presets:
        preset = asked.place.environment
        asked = _parsed(kind, picked, preset, arguments)
    if asked.running.resume is not None:
        run = _resumed(asked, arguments)
        done, most = run.agent.frames, run.request.frames
        print(f"resuming {asked.running.resume} at frame {done} of {most}", flush=True)
    else:
        request = _request(asked)
        if asked.running.runs is not None:
            _train_several(asked.running, request)
            return
        folder = asked.running.out or _folder(request, str(request.seed))
        if (folder / runs.FINISHED).exists():
            _say_finished(folder, request)
            return
        run = runs.start(request, folder)
        if name is None and picked != "dfhq":
            print(f"algorithm {picked}: the actions of {request.environment} are continuous")
        print(_said_of(kind.presets[preset]))
        print(f"training {request.environment} in {folder}", flush=True)
    _to_the_end(run, asked.running.tensorboard)


def _to_the_end(run: Any, tensorboard: bool) -> None:
    """Train with somebody watching; an interrupt leaves a checkpoint and the way to go on."""
    from fhtd.deep import run as runs
    from fhtd.deep.metrics import View

    if tensorboard:
        run.use_tensorboard()
    stop = runs.Stop()
    begun, most = run.agent.frames, run.request.frames
    bar = progress.watched("training", most, done=begun, unit="frames")
    try:
        with runs.signals_kept(stop), bar as advance:
            agent = run.train(View(advance), stop)
    except runs.Interrupted as end:
        frame = run.agent.frames
        print(
            f"fhtd: stopped at frame {frame}; go on with: {_again(run.folder, run.request)}",
            file=sys.stderr,
        )
        sys.exit(128 + end.number)
    if agent.divergence is not None:
        frame, horizon = agent.divergence
        print(f"diverged: the loss of horizon {horizon:g} left all bounds at frame {frame}")
    print(f"trained {agent.frames} frames, {agent.episodes} episodes: {run.folder / 'agent.npz'}")
    if (evaluations := run.log.evaluations()) and (run.folder / runs.BEST).exists():
        frame, mean = max(evaluations, key=lambda one: one[1])
        print(f"best evaluation {mean:.4g} at frame {frame}: {run.folder / runs.BEST}")


def _again(folder: Path, request: Any) -> str:
    """The command that goes on; what stands for modules has to be typed."""
    words = ["fhtd", "train", "--resume", str(folder)]
    if ":" in request.algorithm:
        words += ["--algorithm", request.algorithm]
    if ":" in request.environment:
        words.append(request.environment)
    if any(":" in one for one in request.wrappers):
        words += ["--wrappers", *request.wrappers]
    return shlex.join(words)


def _train_several(running: Running, request: Any) -> None:
    """Every seed that is not finished yet, then what all of them came to."""
    from fhtd.reproduction import study as studies
    from fhtd.reproduction.executors import Tally

    if running.tensorboard:
        raise UserError("--tensorboard is for single runs: fhtd plot draws those of several")
    folder = running.out or _folder(request)
    study = studies.Study(request, folder, running.runs or 0)
    checks.integer("workers", running.workers, 1)
    request.build()  # whatever is wrong with it is said before any process begins
    for seed in study.seeds:
        one = study.folder_of(seed)
        if (one / "run.json").exists():
            _check_same(one, study.request_of(seed))
    print(f"training {study.runs} seeds of {request.environment} in {folder}", flush=True)
    count = 0
    with progress.watched("training", study.runs, unit="runs") as advance:
        tally = Tally()
        tally.changed = lambda: advance(count, state=f"{tally.running} running")
        for _ in studies.train(study, running.workers, tally):
            count += 1
            advance(count, state=f"{tally.running} running")
    for seed, score in studies.scores(study).items():
        print(f"  seed {seed}: {score:.4g}")
    mean = studies.mean_score(study)
    if mean is None:
        print(f"trained {study.runs} seeds; no episode has ended: {folder}")
    else:
        print(
            f"mean return of the last {studies.LAST} episodes {mean} over {study.runs} seeds; "
            f"see them: fhtd plot {folder}"
        )


def _request(asked: Any) -> Any:
    """What a run is."""
    from fhtd import wrappers
    from fhtd.deep import run as runs
    from fhtd.deep.settings import to_json

    place, running = asked.place, asked.running
    if place.environment is None:
        raise ValueError("name an environment, such as CartPole-v1, or a folder to --resume")
    wrappers.check(place.wrappers)
    return runs.Request(
        place.environment,
        running.algorithm,
        running.frames,
        running.seed,
        to_json(asked.settings),
        wrappers.options_of(place.environment_options, "environment_options"),
        running.checkpoint_every,
        running.log_every,
        running.evaluate_every,
        running.evaluate_episodes,
        place.wrappers,
    )


def _folder(request: Any, *more: str) -> Path:
    words = (request.algorithm, request.environment, *more)
    return Path("runs") / "-".join(words).replace("/", "-").replace(":", "-")


def _resumed(asked: Any, arguments: list[str]) -> Any:
    """The run of a folder; settings that are given too would be ignored, and are refused."""
    from fhtd.deep import run as runs

    running, place = asked.running, asked.place
    typed = {"environment": place.environment, "wrappers": place.wrappers}
    allowed = dataclasses.replace(
        Running(),
        resume=running.resume,
        frames=running.frames,
        tensorboard=running.tensorboard,
        algorithm=running.algorithm,
    )
    others = dataclasses.replace(place, environment=None, wrappers=())
    if running != allowed or others != Place() or asked.settings != asked.begun:
        raise ValueError("--resume takes all settings from the folder: give no others but --frames")
    more = None if _value_of("--frames", arguments) is None else running.frames
    name = _value_of("--algorithm", arguments)
    return runs.resume(running.resume, frames=more, algorithm=name, **typed)


@dataclasses.dataclass(frozen=True)
class Asked:
    """What was asked for."""

    place: Place
    running: Running
    settings: Any
    #: The settings of the preset.
    begun: Any


def _by_actions(arguments: list[str]) -> str:
    """The algorithm for the environment's actions: settings are read as that algorithm's."""
    import gymnasium

    from fhtd import wrappers
    from fhtd.environments import make
    from fhtd.references import look_here

    given = tuple(_values_of("--environment-options", arguments))
    for argument in arguments:
        if argument not in gymnasium.registry and ":" not in argument:
            continue
        if ":" in argument:
            look_here()
        try:
            world = make(argument, **wrappers.options_of(given, "environment_options"))
        except (ValueError, TypeError, ImportError, gymnasium.error.Error):
            # Said where the run is started.
            continue
        is_continuous = isinstance(world.action_space, gymnasium.spaces.Box)
        world.close()
        return "fhsac" if is_continuous else "dfhq"
    return "dfhq"


def _parsed(kind: Any, algorithm: str, preset: str, arguments: list[str]) -> Asked:
    """What is asked for, with the settings of a preset to begin with, flags in groups."""
    begun = kind.settings_of(preset)
    groups = grouped(kind, begun)
    parts: list[Any] = [("place", Place), ("run", Running, Running(algorithm=algorithm))]
    parts += [(name, part, part()) for name, part in groups.items()]
    asked: Any = dataclasses.make_dataclass("Train", parts, frozen=True)
    asked.__doc__ = (
        "Train a deep agent on any Gymnasium environment with discrete or bounded continuous "
        "actions.\n\n"
        f"These are the settings of {kind.__name__}, preset {preset}; --help with --algorithm NAME "
        "or --preset NAME shows others."
    )
    unprefixed: Any = tyro.conf.OmitArgPrefixes
    parsed = parse(unprefixed[asked], "fhtd train", arguments, EXAMPLES)
    given = {
        field.name: getattr(part, field.name)
        for part in (getattr(parsed, name) for name in groups)
        for field in dataclasses.fields(part)
    }
    return Asked(parsed.place, parsed.run, dataclasses.replace(begun, **given), begun)


#: Groups of flags, and what they are about; an agent's own settings that are in none come last.
_GROUPS: dict[str, tuple[str, Sequence[str]]] = {
    "value": (
        "What is predicted, and from what.",
        (
            *("discount", "horizon", "horizons", "deepen_every", "n_step", "one_step_horizons"),
            *("max_duration", "target_update_interval", "double", "auxiliary_horizons"),
        ),
    ),
    "network": (
        "Layers, and how they are trained.",
        (
            *("hidden", "layer_norm", "initialisation", "unshared", "normalise", "optimiser"),
            *("learning_rate", "learning_rate_final", "learning_rate_updates"),
            *("max_grad_norm", "loss", "loss_weights"),
        ),
    ),
    "replay": (
        "What is learned from, and how often.",
        ("replay_size", "batch_size", "learning_starts", "train_freq", "gradient_steps"),
    ),
    "acting": (
        "How actions are chosen.",
        ("epsilon_initial", "epsilon_final", "epsilon_frames", "acting"),
    ),
    "limit": (
        "Episodes, environments, and what to do when learning diverges.",
        ("n_envs", "max_episode_frames", "divergence_limit", "on_divergence"),
    ),
}


def grouped(kind: Any, begun: Any) -> dict[str, Any]:
    """An agent's settings as dataclasses, one for each group of flags.

    Args:
        kind: The agent's class.
        begun: The settings that are the defaults.
    """
    from fhtd.sentences import sentences

    told = sentences(kind.settings_type)
    fields = {field.name: field for field in dataclasses.fields(kind.settings_type)}
    known = {name for _, names in _GROUPS.values() for name in names}
    own = [name for name in fields if name not in known]
    groups = {**_GROUPS, "own": (f"What only {kind.__name__} has.", own)}
    hints = _types(kind.settings_type)
    found = {}
    for group, (about, names) in groups.items():
        if parts := [
            (
                name,
                Annotated[hints[name], tyro.conf.arg(help=told.get(name, ""))],
                dataclasses.field(default=getattr(begun, name)),
            )
            for name in names
            if name in fields
        ]:
            made: Any = dataclasses.make_dataclass(group, parts, frozen=True)
            made.__doc__ = about
            found[group] = made
    return found


def _types(settings: Any) -> dict[str, Any]:
    from typing import get_type_hints

    return get_type_hints(settings, include_extras=True)


def _said_of(preset: Any) -> str:
    """Which settings a run begins with, and how to get others."""
    if preset.score is None:
        return f"preset {preset.name}"
    return f"preset {preset.name} ({preset.measured}); --preset default for the general one"


def _check_same(folder: Path, asked: Any) -> None:
    """Another request must not seem to be the one that is there."""
    from fhtd.deep import run as runs

    kept = runs.read_request(folder, **runs.typed_names(asked))
    if differs := runs.difference(kept, asked):
        state = "a finished" if (folder / runs.FINISHED).exists() else "a"
        raise ValueError(f"{folder} holds {state} run with {differs}: give another --out")


def _say_finished(folder: Path, request: Any) -> None:
    _check_same(folder, request)
    print(
        f"{folder} is finished: see {folder / 'episodes.csv'}, or fhtd evaluate {folder}; "
        f"fhtd train --resume {folder} --frames MORE goes on"
    )


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
