"""The one place that makes environments, and the ids under which the paper's problems are found."""

import math
from collections.abc import Callable
from copy import deepcopy
from importlib.metadata import entry_points
from inspect import isclass
from typing import Any

NAMES = ("Baird", "CheckeredGrid", "RandomGrid", "RandomWalk", "SlipperyMaze")
#: Where `info` has the rewards of a transition that took several steps, one by one.
STEP_REWARDS = "step_rewards"
IDS = tuple(f"fhtd/{name}-v0" for name in NAMES)


def register() -> None:
    """Register every environment that is not registered yet; none has a time limit.

    >>> import gymnasium
    >>> from fhtd import envs
    >>> envs.register()  # importing `fhtd.envs` does it
    >>> gymnasium.make("fhtd/SlipperyMaze-v0").observation_space
    Discrete(34)
    """
    import gymnasium

    for name, environment in zip(NAMES, IDS, strict=True):
        if environment not in gymnasium.registry:
            gymnasium.register(environment, entry_point=f"fhtd.envs.paper:{name}")


def _announced(name: Any) -> None:
    """Register the environments of an installed package that announces its namespace.

    Gymnasium read such announcements until version 1; packages such as MinAtar still rely on it.
    """
    import gymnasium

    space, slash, _ = str(name).partition("/")
    if not slash or ":" in space or name in gymnasium.registry:
        return
    announced = entry_points(group="gymnasium.envs", name=space)
    _made(lambda: [found.load()() for found in announced], repr(name))


def make(environment: Any, **options: Any) -> Any:
    """An environment by its id, class or factory, or the one that is given, as it is.

    Args:
        environment: a Gymnasium environment, its id, its class, or a function that makes one; ids
            of `fhtd/` are registered on the way.
        options: of the environment, such as `render_mode`; not together with one that exists.

    Raises:
        ValueError: where it cannot be made; the message says why.
        TypeError: where it is none of these.
    """
    import gymnasium

    register()
    if isinstance(environment, str) or hasattr(environment, "entry_point"):
        name = getattr(environment, "id", environment)
        _announced(name)
        return _made(lambda: gymnasium.make(environment, **options), repr(name))
    if callable(environment) and (isclass(environment) or not hasattr(environment, "step")):
        name = getattr(environment, "__name__", repr(environment))
        return make(_made(lambda: environment(**options), name))
    _refuse_several(environment)
    if not hasattr(environment, "step") or not hasattr(environment, "observation_space"):
        raise TypeError(
            "environment must be a Gymnasium environment, its id, or a function that makes one, "
            f"got {environment!r}"
        )
    return environment


def _made(maker: Callable[[], Any], name: str) -> Any:
    try:
        return maker()
    except Exception as error:
        # An environment's own constructor may raise anything at all about its options.
        why = str(error) or type(error).__name__
        raise ValueError(f"environment {name} cannot be made: {why}") from None


def _refuse_several(environment: Any) -> None:
    """Vectors of environments, Gymnasium's and others', hide where episodes end."""
    count = getattr(environment, "num_envs", None)
    if isinstance(environment, list | tuple):
        count = len(environment)
    if count is not None:
        raise TypeError(
            f"environment is a vector of {count} environments: give one of them, or its id, and "
            f"n_envs={count}"
        )


def check_id(environment: str) -> None:
    """Refuse an id that Gymnasium does not know; nothing is made.

    Args:
        environment: the id.

    Raises:
        ValueError: in Gymnasium's words, which name the nearest.
    """
    import gymnasium

    register()
    _announced(environment)
    try:
        gymnasium.spec(environment)
    except Exception as error:
        # The module of an id such as MODULE:ID may raise anything at all.
        raise ValueError(f"environment {environment!r} cannot be made: {error}") from None


def another(environment: Any, source: Any = None) -> Any:
    """A second environment like this one: made as it was, by its spec, or a deep copy.

    Args:
        environment: the one there is.
        source: what it was made by, where that is an id, a class or a function.
    """
    if source is not None and source is not environment:
        return make(source)
    for way in (_by_spec, _copied):
        found = way(environment)
        if found is not None and _spaces(found) == _spaces(environment):
            return found
    raise ValueError(
        "environment can neither be made again by a spec nor copied: give environment= to "
        "evaluate, or in place of it a function that makes one, where there are several"
    )


def _by_spec(environment: Any) -> Any:
    """None where it has no spec, or wrappers that no spec can hold."""
    if getattr(environment, "spec", None) is None:
        return None
    try:
        return make(environment.spec)
    except ValueError:
        return None


def _copied(environment: Any) -> Any:
    """None where a copy would share what it acts on: a window, a process, a library's memory."""
    if getattr(environment, "render_mode", None) == "human":
        return None
    try:
        found = deepcopy(environment)
    except Exception:
        return None
    inner = getattr(environment, "unwrapped", environment)
    return None if getattr(found, "unwrapped", found) is inner else found


def _spaces(environment: Any) -> tuple[Any, Any]:
    return environment.observation_space, environment.action_space


def step_rewards(reward: float, info: dict[str, Any]) -> list[float]:
    """The reward of every step that a transition took: the one, where `info` does not say.

    Args:
        reward: As the environment returned it.
        info: As the environment returned it.

    Raises:
        ValueError: They are no numbers, or do not sum to the reward.
    """
    if STEP_REWARDS not in info:
        return [reward]
    try:
        found = [float(one) for one in info[STEP_REWARDS]]
    except (TypeError, ValueError):
        found = []
    if not found:
        raise ValueError(
            f"info['{STEP_REWARDS}'] must be a list of numbers, one for each step, got "
            f"{info[STEP_REWARDS]!r}"
        )
    if not math.isclose(sum(found), reward, rel_tol=1e-5, abs_tol=1e-8):
        raise ValueError(
            f"info['{STEP_REWARDS}'] must sum to the reward, got {sum(found):g} and {reward:g}: "
            "wrap what changes rewards inside what repeats actions"
        )
    return found


def one_of(environment: Any, env: Any) -> Any:
    """What is given by either name; both at once are refused."""
    if environment is not None and env is not None:
        raise TypeError("give either environment or env, which is another name for it")
    return env if environment is None else environment


def spec_id(environment: Any) -> str | None:
    """The id that an environment was made by, if it has one."""
    spec = getattr(environment, "spec", None)
    return None if spec is None else str(spec.id)
