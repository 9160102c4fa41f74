"""The one run machine: an agent in a folder, with checkpoints, logs and exact resume.

    <folder>/run.json          what was asked for
    <folder>/episodes.csv      every episode: number, last frame, return, length
    <folder>/progress.csv      every few episodes, under Stable-Baselines3's tags
    <folder>/evaluations.csv   every evaluation: frame, mean return, deviation, where asked for
    <folder>/best.npz          the agent of the best one
    <folder>/checkpoint.npz    everything, at any frame; the one before is kept as .previous
    <folder>/agent.npz         the finished agent

Logs hold no clock times, so that a run that was killed and resumed leaves the same bytes.
"""

import json
import os
import signal
import threading
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import Any, Protocol

from fhtd import checks, wrappers
from fhtd.callbacks import Callback, Evaluation, Group
from fhtd.deep.agent import Agent
from fhtd.deep.agents.dfhq import DFHQ
from fhtd.deep.agents.dqn import DQN
from fhtd.deep.agents.fhsac import FHSAC
from fhtd.deep.agents.sac import SAC
from fhtd.deep.logs import Tables
from fhtd.deep.settings import from_json
from fhtd.environments import make
from fhtd.files import locked, sweep, write_atomically
from fhtd.provenance import versions
from fhtd.references import look_here, resolve

FORMAT = 1
#: Agents that commands know by a short name; any other is named as MODULE:CLASS.
ALGORITHMS: dict[str, type[Agent[Any]]] = {"dfhq": DFHQ, "dqn": DQN, "fhsac": FHSAC, "sac": SAC}
CHECKPOINT = "checkpoint.npz"
FINISHED = "agent.npz"
BEST = "best.npz"


class Log(Protocol):
    """What keeps the story of a run."""

    def episode(self, agent: Any, episode: dict[str, float]) -> None:
        """An episode has ended."""

    def keep(self) -> None:
        """A checkpoint is about to be written: what happened so far must be on disk."""

    def rewind(self, agent: Any) -> None:
        """Drop what came after the agent's checkpoint; refuse a log that lacks what was before."""


class Interrupted(KeyboardInterrupt):
    """A run was asked to stop, and has written down where it is."""

    def __init__(self, number: int) -> None:
        super().__init__(f"interrupted by {signal.Signals(number).name}")
        self.number = number


@dataclass
class Stop:
    """Whether somebody has asked for an end: the signal's number."""

    number: int | None = None


@contextmanager
def signals_kept(stop: Stop, patient: bool = False) -> Iterator[None]:
    """Ctrl-C and SIGTERM only set `stop`; a second one ends at once, unless `patient`."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def note(number: int, frame: Any) -> None:
        if stop.number is not None and not patient:
            raise Interrupted(number)
        stop.number = number

    before = {number: signal.signal(number, note) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def train(
    agent: Agent[Any],
    frames: int,
    folder: Path,
    log: Log,
    *,
    checkpoint_every: int,
    callback: Group | None = None,
    saved: Callable[[], None] = lambda: None,
    stop: Stop | None = None,
) -> None:
    """Train to `frames` with checkpoints; on `stop`, write one more and raise Interrupted."""
    stop, callback = stop or Stop(), callback or Group([])
    marked = agent.frames // checkpoint_every

    def save() -> None:
        log.keep()
        agent.save(folder / CHECKPOINT)
        saved()

    if agent.frames >= frames:
        return
    callback.begin(agent)
    try:
        for finished in agent.rounds(frames - agent.frames):
            for episode in finished:
                log.episode(agent, episode)
            goes_on = callback.step(agent)
            for episode in finished:
                goes_on &= callback(agent, episode)
            if stop.number is not None:
                save()
                raise Interrupted(stop.number)
            if agent.frames // checkpoint_every > marked:
                marked = agent.frames // checkpoint_every
                save()
            if not goes_on:
                break
    finally:
        callback.end(agent)
    log.keep()


def newest(
    kind: type[Agent[Any]], folder: Path, make_environment: Callable[[], Any]
) -> Agent[Any] | None:
    """From the newest checkpoint that can be read; None where there is none at all."""
    problem: ValueError | None = None
    for path in (folder / CHECKPOINT, folder / f"{CHECKPOINT}.previous"):
        if path.exists():
            try:
                return kind.load(path, make_environment())
            except ValueError as error:
                problem = problem or error
    if problem is not None:
        raise problem
    return None


@dataclass(frozen=True)
class Request:
    """What a training run is."""

    environment: str
    algorithm: str
    frames: int
    seed: int
    #: All of them; what is not there, in files of earlier versions, is as in the paper.
    settings: dict[str, Any] = field(default_factory=dict)
    environment_options: dict[str, Any] = field(default_factory=dict)
    checkpoint_every: int = 10_000
    log_every: int = 10
    #: Frames between evaluations; None for none.
    evaluate_every: int | None = None
    #: Episodes of each.
    evaluate_episodes: int = 10
    #: Around the environment, the first of them next to it.
    wrappers: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for name in ("environment", "algorithm"):
            if not isinstance(getattr(self, name), str):
                raise TypeError(f"{name} must be a name, got {getattr(self, name)!r}")
        for name in ("settings", "environment_options"):
            if not isinstance(getattr(self, name), dict):
                raise TypeError(f"{name} must be a dictionary, got {getattr(self, name)!r}")
        if not isinstance(self.wrappers, list | tuple) or not all(
            isinstance(one, str) for one in self.wrappers
        ):
            raise TypeError(f"wrappers must be a list of names, got {self.wrappers!r}")
        object.__setattr__(self, "wrappers", tuple(self.wrappers))
        # As they come back from a file.
        plain = {k: list(v) if isinstance(v, tuple) else v for k, v in self.settings.items()}
        object.__setattr__(self, "settings", plain)
        checks.integer("frames", self.frames, 1)
        checks.integer("seed", self.seed, 0)
        checks.integer("checkpoint_every", self.checkpoint_every, 1)
        checks.integer("log_every", self.log_every, 1)
        if self.evaluate_every is not None:
            # Each is due at a round of its own.
            checks.integer("evaluate_every", self.evaluate_every, self.settings.get("n_envs", 1))
        checks.integer("evaluate_episodes", self.evaluate_episodes, 1)

    @property
    def kind(self) -> type[Agent[Any]]:
        """The agent's class; one of the user's own is imported by its name."""
        return algorithm(self.algorithm)

    @property
    def all_settings(self) -> Any:
        """As the agent takes them."""
        return from_json(self.kind.settings_type, self.settings)

    def make_environment(self, **options: Any) -> Any:
        """The environment of the run."""
        if ":" in self.environment:
            look_here()
        made = make(self.environment, **(self.environment_options | options))
        return wrappers.wrapped(made, self.wrappers)

    def build(self) -> Agent[Any]:
        """A new agent."""
        return self.kind(self.make_environment(), seed=self.seed, settings=self.all_settings)


def algorithm(name: str) -> type[Agent[Any]]:
    """By its short name, or as MODULE:CLASS."""
    if name in ALGORITHMS:
        return ALGORITHMS[name]
    if ":" not in name:
        known = ", ".join(ALGORITHMS)
        raise ValueError(
            f"algorithm must be one of {known}, or MODULE:CLASS of your own, got {name!r}"
        )
    found = resolve(name, "algorithm")
    if not isinstance(found, type) or not issubclass(found, Agent):
        raise ValueError(f"algorithm {name!r} is not a fhtd.deep.Agent")
    return found


def start(request: Request, folder: Path) -> "Run":
    """Begin a run in a folder of its own; one that holds anything is refused."""
    agent = request.build()
    lock = _lock(folder)
    if any(not path.name.startswith(".") for path in folder.iterdir()):
        lock.close()
        raise ValueError(
            f"{folder} is not empty: give another --out, or continue with --resume {folder}"
        )
    run = Run(request, folder, agent, lock)
    _write_request(request, folder)
    return run


def resume(folder: Path, *, frames: int | None = None, **typed: Any) -> "Run":
    """Continue from the last checkpoint, or from the beginning where there is none yet.

    With `frames`, to so many, which a finished run may be extended to; it ends as if they had been
    asked for at first. `typed` are an environment and an algorithm that the user has named, see
    `read_request`.
    """
    request = read_request(folder, **typed)
    if frames is not None:
        checks.integer("frames", frames, 1)
    lock = _lock(folder)
    try:
        is_finished = (folder / FINISHED).exists()
        if is_finished and frames in (None, request.frames):
            raise ValueError(
                f"{folder} is finished after {request.frames} frames: nothing to do, unless "
                "--frames are more"
            )
        agent = load_agent(folder, **typed)
        if frames is not None and frames != request.frames:
            if frames <= agent.frames:
                raise ValueError(
                    f"frames must be more than the {agent.frames} that {folder} has already, got "
                    f"{frames}"
                )
            request = replace(request, frames=frames)
            if is_finished:
                # In this order: stopped in between, the run is finished as it was.
                os.replace(folder / FINISHED, folder / CHECKPOINT)
            _write_request(request, folder)
        run = Run(request, folder, agent, lock)
        run.log.rewind(agent)
    except BaseException:
        lock.close()
        raise
    return run


def _write_request(request: Request, folder: Path) -> None:
    content = {"format": FORMAT, "versions": versions(), **asdict(request)}
    write_atomically(folder / "run.json", (json.dumps(content, indent=2) + "\n").encode())


def _lock(folder: Path) -> ExitStack:
    """Take a folder for this process alone; what killed writers left in it is removed."""
    lock = ExitStack()
    if not lock.enter_context(locked(folder / ".lock")):
        raise ValueError(f"{folder} is in use: another process is training there")
    sweep(folder)
    return lock


def read_request(
    folder: Path,
    *,
    environment: str | None = None,
    algorithm: str | None = None,
    wrappers: Sequence[str] = (),
) -> Request:
    """What a folder's run is.

    Names that would import a module (`module:Name`) are not taken from a file: the user has to type
    them, as `environment`, `algorithm` and `wrappers`.
    """
    path = folder / "run.json"
    if not path.is_file():
        raise ValueError(f"{folder} holds no training run: there is no run.json")
    try:
        content = json.loads(path.read_bytes())
        if content.pop("format") != FORMAT:
            raise ValueError("another format")
        content.pop("versions")
        known = {one.name for one in fields(Request)}
        if not set(content) <= known:
            raise ValueError(f"{sorted(set(content) - known)[0]} is not part of a request")
        request = Request(**content)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise ValueError(f"{path} cannot be read: {error}") from None
    for name, typed in (("environment", environment), ("algorithm", algorithm)):
        kept = getattr(request, name)
        if ":" in kept and typed != kept:
            raise ValueError(
                f"{path} names the {name} {kept}, which is imported from a module: "
                f"type it yourself, --{name} {kept}"
            )
        if typed is not None and typed != kept:
            raise ValueError(f"{path} has the {name} {kept}, not {typed}")
    kept = request.wrappers
    if tuple(wrappers) != kept and (wrappers or any(":" in one for one in kept)):
        if not kept:
            raise ValueError(f"{path} has no wrappers, not {' '.join(wrappers)}")
        names = " ".join(kept)
        raise ValueError(
            f"{path} names the wrappers {names}; what is imported from a module you type "
            f"yourself, --wrappers {names}"
        )
    return request


def typed_names(request: Request) -> dict[str, Any]:
    """What a user has typed who typed this request: see `read_request`."""
    named = {"environment": request.environment, "algorithm": request.algorithm}
    typed: dict[str, Any] = {name: value for name, value in named.items() if ":" in value}
    return typed | ({"wrappers": request.wrappers} if request.wrappers else {})


def difference(kept: Request, asked: Request) -> str:
    """What tells two requests apart, in words; nothing where they are the same."""
    # Earlier versions wrote down only some of the settings.
    was, wanted = (
        {k: v for k, v in asdict(one).items() if k != "settings"} | asdict(one.all_settings)
        for one in (kept, asked)
    )
    for name in was | wanted:
        if was.get(name) != wanted.get(name):
            return f"{name} {was.get(name)!r}, not {wanted.get(name)!r}"
    return ""


def load_agent(folder: Path, *, best: bool = False, **typed: Any) -> Agent[Any]:
    """The finished agent of a run, or its last checkpoint; or the one that was evaluated best."""
    request = read_request(folder, **typed)
    if best:
        if not (folder / BEST).exists():
            raise ValueError(f"{folder} holds no best agent: train with --evaluate-every")
        return _agreeing(
            request, folder, request.kind.load(folder / BEST, request.make_environment())
        )
    if (folder / FINISHED).exists():
        return _agreeing(
            request, folder, request.kind.load(folder / FINISHED, request.make_environment())
        )
    return _last_good(request, folder)


def _last_good(request: Request, folder: Path) -> Agent[Any]:
    """From the newest checkpoint that can be read; a new agent where none was written yet."""
    found = newest(request.kind, folder, request.make_environment)
    return request.build() if found is None else _agreeing(request, folder, found)


def _agreeing(request: Request, folder: Path, agent: Agent[Any]) -> Agent[Any]:
    """Refuse a checkpoint of another run than the one that was asked for."""
    if agent.settings != request.all_settings or agent.seed != request.seed:
        raise ValueError(f"{folder / 'run.json'} does not say what the checkpoint beside it says")
    return agent


class Run:
    """A run under way."""

    def __init__(self, request: Request, folder: Path, agent: Agent[Any], lock: ExitStack) -> None:
        self.request, self.folder, self.agent = request, folder, agent
        # Let go of when training ends, or when nobody has the run any more.
        self._let_go = weakref.finalize(self, lock.close)
        self.log = Tables(folder, request.log_every, request.evaluate_every)

    def use_tensorboard(self) -> None:
        """Write TensorBoard events beside the tables."""
        self.log.use_tensorboard()

    def train(self, callback: Any = None, stop: Stop | None = None) -> Agent[Any]:
        """Train to the end, with callbacks; False from one of them is the end."""
        request = self.request
        group = Group([*self._evaluation(), Group.of(callback)])
        self.log.tell = group.log
        try:
            train(
                self.agent,
                request.frames,
                self.folder,
                self.log,
                checkpoint_every=request.checkpoint_every,
                callback=group,
                stop=stop,
            )
            self.agent.save(self.folder / FINISHED)
        finally:
            self.log.close()
            self._let_go()
        return self.agent

    def _evaluation(self) -> list[Any]:
        """The evaluations that were asked for, going on from those in the table."""
        request = self.request
        if request.evaluate_every is None:
            return []
        found = Evaluation(
            request.evaluate_every,
            request.evaluate_episodes,
            environment=request.make_environment(),
            best_path=self.folder / BEST,
        )
        found.history = self.log.evaluations()
        return [found, _Kept(self.log)]


class _Kept(Callback):
    """Writes evaluations down."""

    def __init__(self, log: Tables) -> None:
        self._log = log

    def log(self, agent: Any, row: dict[str, float]) -> None:
        """Rows of the other kind are written down already."""
        if "eval/mean_reward" in row:
            self._log.evaluation(row)
