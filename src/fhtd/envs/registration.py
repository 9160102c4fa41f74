"""The ids under which Gymnasium finds the paper's problems."""

import gymnasium

NAMES = ("Baird", "CheckeredGrid", "RandomGrid", "RandomWalk", "SlipperyMaze")
IDS = tuple(f"fhtd/{name}-v0" for name in NAMES)


def register() -> None:
    """Register every environment that is not registered yet; none has a time limit."""
    for name, environment in zip(NAMES, IDS, strict=True):
        if environment not in gymnasium.registry:
            gymnasium.register(environment, entry_point=f"fhtd.envs.paper:{name}")
