"""What can happen while an agent learns: evaluation, checkpoints, an early stop, logs.

A callback is any function of (agent, episode), called after each episode; or a `Callback`, which
is also called after each frame, with the rows of the log, at the beginning and at the end. What
returns False ends training. Several are given as a list.
"""

from collections import deque
from collections.abc import Callable, Iterable
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from fhtd import checks

Function = Callable[[Any, dict[str, float]], bool | None]


class Callback:
    """Something that happens while an agent learns: override what is needed.

    >>> from fhtd import FHQ, Weighting, callbacks
    >>> class Count(callbacks.Callback):
    ...     frames = 0
    ...
    ...     def step(self, agent):
    ...         self.frames += 1
    ...         return self.frames < 30  # False ends training
    >>> count = Count()
    >>> agent = FHQ("fhtd/SlipperyMaze-v0", weighting=Weighting.exponential(8), seed=0)
    >>> agent.learn(1_000, callback=count).frames, count.frames
    (30, 30)
    """

    def begin(self, agent: Any) -> None:
        """Learning begins, or goes on.

        Args:
            agent: that learns.
        """

    def step(self, agent: Any) -> bool | None:
        """A frame has passed, in every environment where there are several.

        Args:
            agent: that learns.

        Returns:
            False to end training.
        """

    def __call__(self, agent: Any, episode: dict[str, float]) -> bool | None:
        """An episode has ended."""

    def log(self, agent: Any, row: dict[str, float]) -> None:
        """There is something to log.

        Args:
            agent: that learns.
            row: numbers by their tags, which are those of Stable-Baselines3.
        """

    def end(self, agent: Any) -> None:
        """Learning ends, for whatever reason.

        Args:
            agent: that learned.
        """

    def tell(self, agent: Any, row: dict[str, float]) -> None:
        """Give a row to the `log` of all callbacks.

        Args:
            agent: that learns.
            row: numbers by their tags, with the frame as `time/total_timesteps`.
        """
        if self._told is not None:
            self._told.log(agent, row)

    #: Those that it is given together with.
    _told: "Group | None" = None


class Group(Callback):
    """Several callbacks as one; training ends if any of them asks for it.

    Args:
        members: functions of (agent, episode), and callbacks.

    Raises:
        TypeError: One of them cannot be called.

    >>> from fhtd import callbacks
    >>> both = callbacks.Group([callbacks.Checkpoint("agent.npz"), lambda agent, episode: None])
    >>> len(both.members), both.has_logs
    (2, False)
    """

    def __init__(self, members: Iterable[Function]) -> None:
        self.members: list[Function] = []
        for one in members:
            self.members += one.members if isinstance(one, Group) else [one]
        self._watching = [one for one in self.members if isinstance(one, Callback)]
        for one in self.members:
            if not callable(one):
                raise TypeError(
                    "callback must be a function of (agent, episode), a fhtd.callbacks.Callback, "
                    f"or a list of them, got {one!r}"
                )
        for one in self._watching:
            one._told = self

    @classmethod
    def of(cls, given: Any) -> "Group":
        """What is given as `callback`: nothing, one, or several.

        Args:
            given: None, a callback, or a list of them.

        Returns:
            All that was given, as one.

        >>> from fhtd import callbacks
        >>> callbacks.Group.of(None).members
        []
        """
        if given is None:
            return cls([])
        return cls(given if isinstance(given, list | tuple) else [given])

    @property
    def has_logs(self) -> bool:
        """Whether any of them would look at a row."""
        return any(type(one).log is not Callback.log for one in self._watching)

    def begin(self, agent: Any) -> None:
        """All of them in turn."""
        for one in self._watching:
            one.begin(agent)

    def step(self, agent: Any) -> bool:
        """All of them in turn.

        Returns:
            Whether to go on.
        """
        answers = [one.step(agent) for one in self._watching]
        return all(answer is not False for answer in answers)

    def __call__(self, agent: Any, episode: dict[str, float]) -> bool:
        """All of them in turn."""
        answers = [one(agent, episode) for one in self.members]
        return all(answer is not False for answer in answers)

    def log(self, agent: Any, row: dict[str, float]) -> None:
        """All of them in turn."""
        for one in self._watching:
            one.log(agent, row)

    def end(self, agent: Any) -> None:
        """All of them in turn."""
        for one in self._watching:
            one.end(agent)


def together(*callbacks: Function) -> Callback:
    """All of them in turn; training ends if any asks for it.

    Args:
        callbacks: Functions of (agent, episode), and callbacks.

    Returns:
        One callback that calls them all.

    >>> from fhtd import callbacks
    >>> both = callbacks.together(callbacks.Evaluation(), callbacks.StopAtReturn(195))
    >>> [type(one).__name__ for one in both.members]
    ['Evaluation', 'StopAtReturn']
    """
    return Group(callbacks)


class Every(Callback):
    """Something that is done after every so many frames: override `do`.

    Args:
        every: Frames between one time and the next.

    >>> from fhtd import FHQ, Weighting, callbacks
    >>> class Told(callbacks.Every):
    ...     def do(self, agent):
    ...         print(agent.frames, "frames")
    >>> agent = FHQ("fhtd/SlipperyMaze-v0", weighting=Weighting.exponential(8), seed=0)
    >>> _ = agent.learn(25, callback=Told(every=10))
    10 frames
    20 frames
    """

    def __init__(self, every: int) -> None:
        self.every = checks.integer("every", every, 1)
        self._done = 0

    def begin(self, agent: Any) -> None:
        """Count from where the agent is."""
        self._done = agent.frames // self.every

    def step(self, agent: Any) -> bool | None:
        """Do it when it is due.

        Returns:
            What `do` answers, or None where nothing was due.
        """
        if agent.frames // self.every <= self._done:
            return None
        self._done = agent.frames // self.every
        return self.do(agent)

    def __call__(self, agent: Any, episode: dict[str, float]) -> bool | None:
        """Also for those who call it after episodes alone."""
        return self.step(agent)

    def do(self, agent: Any) -> bool | None:
        """What is done.

        Args:
            agent: that learns.

        Returns:
            False to end training.

        Raises:
            NotImplementedError: It is not overridden.
        """
        raise NotImplementedError(f"{type(self).__name__} must have do")


class Checkpoint(Every):
    """Save the agent after every so many frames, in the middle of an episode too.

    Args:
        path: Of the file; the one before is kept beside it.
        every: Frames between checkpoints.

    >>> import fhtd
    >>> agent = fhtd.FHQ("fhtd/SlipperyMaze-v0", weighting=fhtd.Weighting.exponential(8), seed=0)
    >>> _ = agent.learn(250, callback=fhtd.callbacks.Checkpoint("agent.npz", every=100))
    >>> fhtd.load("agent.npz").frames  # the last multiple of 100
    200
    """

    def __init__(self, path: str | PathLike[str], every: int = 10_000) -> None:
        super().__init__(every)
        self.path = Path(path)

    def do(self, agent: Any) -> None:
        """Save."""
        agent.save(self.path)


class Evaluation(Every):
    """Evaluate after every so many frames; `history` lists (frame, mean return).

    Args:
        every: Frames between evaluations.
        episodes: How many to act in.
        epsilon: Probability of a random action.
        environment: Where to act; default: a new one like the training environment.
        best_path: Where to keep the best agent so far, if anywhere.
        stop_at: Mean return that ends training once an evaluation reaches it.
        seed: Of the first episode of each evaluation; the others count on from it.

    >>> from fhtd import FHQ, Weighting, callbacks
    >>> agent = FHQ("fhtd/RandomWalk-v0", weighting=Weighting.exponential(40), seed=0)
    >>> evaluation = callbacks.Evaluation(every=2_000, episodes=5)
    >>> _ = agent.learn(4_000, callback=evaluation)
    >>> evaluation.history  # always out at the right
    [(2000, 1.0), (4000, 1.0)]
    """

    def __init__(
        self,
        every: int = 10_000,
        episodes: int = 10,
        *,
        epsilon: float = 0.0,
        environment: Any = None,
        best_path: str | PathLike[str] | None = None,
        stop_at: float | None = None,
        seed: int = 0,
    ) -> None:
        super().__init__(every)
        self.episodes = checks.integer("episodes", episodes, 1)
        self.epsilon = checks.real("epsilon", epsilon, 0, 1)
        self.environment = environment
        self.best_path = None if best_path is None else Path(best_path)
        self.stop_at = None if stop_at is None else checks.real("stop_at", stop_at)
        self.seed = checks.integer("seed", seed, 0)
        self.history: list[tuple[int, float]] = []

    @property
    def best(self) -> float:
        """The highest mean return so far."""
        return max((mean for _, mean in self.history), default=-np.inf)

    def do(self, agent: Any) -> bool | None:
        """Evaluate, and keep the best agent.

        Returns:
            False where `stop_at` is reached.
        """
        returns = agent.evaluate(
            self.episodes, epsilon=self.epsilon, seed=self.seed, environment=self.environment
        )
        mean = float(np.mean(returns))
        if self.best_path is not None and mean > self.best:
            agent.save(self.best_path)
        self.history.append((agent.frames, mean))
        deviation = float(np.std(returns))
        self.tell(
            agent,
            {
                "time/total_timesteps": agent.frames,
                "eval/mean_reward": mean,
                "eval/std_reward": deviation,
            },
        )
        return None if self.stop_at is None else mean < self.stop_at


class StopAtReturn(Callback):
    """End training once the mean return of the last episodes is good enough.

    Args:
        threshold: The mean return to reach.
        window: Of how many episodes.

    >>> from fhtd import FHQ, Weighting, callbacks
    >>> agent = FHQ("fhtd/RandomWalk-v0", weighting=Weighting.exponential(40), seed=0)
    >>> stop = callbacks.StopAtReturn(threshold=0.9, window=20)
    >>> agent.learn(100_000, callback=stop).frames < 100_000
    True
    """

    def __init__(self, threshold: float, window: int = 100) -> None:
        self.threshold = checks.real("threshold", threshold)
        self._recent: deque[float] = deque(maxlen=checks.integer("window", window, 1))

    def __call__(self, agent: Any, episode: dict[str, float]) -> bool:
        """Whether to go on."""
        self._recent.append(episode["return"])
        is_full = len(self._recent) == self._recent.maxlen
        return not (is_full and np.mean(self._recent) >= self.threshold)
