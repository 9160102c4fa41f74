"""The one place that makes environments, and the ids under which the paper's problems are found."""

from typing import Any

NAMES = ("Baird", "CheckeredGrid", "RandomGrid", "RandomWalk", "SlipperyMaze")
IDS = tuple(f"fhtd/{name}-v0" for name in NAMES)


def register() -> None:
    """Register every environment that is not registered yet; none has a time limit."""
    import gymnasium

    for name, environment in zip(NAMES, IDS, strict=True):
        if environment not in gymnasium.registry:
            gymnasium.register(environment, entry_point=f"fhtd.envs.paper:{name}")


def make(environment: Any, **options: Any) -> Any:
    """An environment by its id, or the one that is given, as it is.

    Args:
        environment: a Gymnasium environment, or its id; those of `fhtd/` are registered on the way.
        options: of the environment, such as `render_mode`; only together with an id.

    Raises:
        ValueError: where it cannot be made; the message says why.
        TypeError: where it is neither.
    """
    import gymnasium

    register()
    if isinstance(environment, str) or hasattr(environment, "entry_point"):
        name = getattr(environment, "id", environment)
        try:
            return gymnasium.make(environment, **options)
        except Exception as error:
            # An environment's own constructor may raise anything at all about its options.
            why = str(error) or type(error).__name__
            raise ValueError(f"environment {name!r} cannot be made: {why}") from None
    if not hasattr(environment, "step") or not hasattr(environment, "observation_space"):
        raise TypeError(
            f"environment must be a Gymnasium environment or its id, got {environment!r}"
        )
    return environment


def check_id(environment: str) -> None:
    """Refuse an id that Gymnasium does not know; nothing is made.

    Args:
        environment: the id.

    Raises:
        ValueError: in Gymnasium's words, which name the nearest.
    """
    import gymnasium

    register()
    try:
        gymnasium.spec(environment)
    except Exception as error:
        # The module of an id such as MODULE:ID may raise anything at all.
        raise ValueError(f"environment {environment!r} cannot be made: {error}") from None


def another(environment: Any) -> Any:
    """A second environment like this one, made from its spec."""
    if getattr(environment, "spec", None) is None:
        raise ValueError("environment has no spec to make another from: give one to evaluate in")
    return make(environment.spec)


def spec_id(environment: Any) -> str | None:
    """The id that an environment was made by, if it has one."""
    spec = getattr(environment, "spec", None)
    return None if spec is None else str(spec.id)
