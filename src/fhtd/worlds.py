"""Finite MDPs by name, from Gymnasium, and in files of one's own."""

from dataclasses import dataclass, replace
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from fhtd import archive, problems
from fhtd.environments import make
from fhtd.mdp import FiniteMDP

_DTYPES = {
    "probabilities": np.float64,
    "next_states": np.int64,
    "rewards": np.float64,
    "terminal": np.bool_,
    "start": np.float64,
    "positions": np.int64,
}
#: Names of the actions that well-known environments only number.
_ACTIONS = {
    "Acrobot": ("torque −1", "nothing", "torque +1"),
    "CartPole": ("left", "right"),
    "LunarLander": ("nothing", "left engine", "main engine", "right engine"),
    "MountainCar": ("left", "nothing", "right"),
    "FrozenLake": ("left", "down", "right", "up"),
    "CliffWalking": ("up", "right", "down", "left"),
    "Taxi": ("south", "north", "east", "west", "pickup", "dropoff"),
}


@dataclass(frozen=True, eq=False)
class World:
    """An MDP with what can be said of it beside.

    >>> from fhtd import worlds
    >>> world = worlds.find("FrozenLake-v1")
    >>> world.mdp.action_names, world.mdp.positions[5].tolist()
    (('left', 'down', 'right', 'up'), [1, 1])
    """

    #: The MDP.
    mdp: FiniteMDP
    #: The policy that the problem asks about, where it is posed with one.
    target: npt.NDArray[np.float64] | None = None
    #: What to call each state, where that is known.
    state_names: list[str] | None = None
    #: Titles on its map: row, column where it begins, and text.
    map_labels: tuple[tuple[int, int, str], ...] = ()


def save_mdp(mdp: FiniteMDP, path: Path | str) -> None:
    """Write an MDP to one `.npz` file.

    Args:
        mdp: The MDP.
        path: Where to write; a file of that name is replaced.

    >>> from fhtd import problems, worlds
    >>> worlds.save_mdp(problems.random_walk(5).mdp, "walk.npz")
    >>> worlds.load_mdp("walk.npz")
    FiniteMDP('5-state random walk', 7 states, 2 actions)
    """
    content = {"name": mdp.name, "action_names": list(mdp.action_names)}
    arrays = {name: getattr(mdp, name) for name in _DTYPES}
    present = {name: array for name, array in arrays.items() if array is not None}
    archive.write(Path(path), "mdp", content, present)


def load_mdp(path: Path | str) -> FiniteMDP:
    """Read what `save_mdp` wrote; anything else is refused.

    Args:
        path: The file.

    Returns:
        The MDP.

    Raises:
        ValueError: It is not such a file, or a damaged one.

    >>> from fhtd import problems, worlds
    >>> worlds.save_mdp(problems.slippery_maze().mdp, "maze.npz")
    >>> worlds.load_mdp("maze.npz").action_names
    ('up', 'right', 'down', 'left')
    """
    path = Path(path)
    content, arrays = archive.read(path, "mdp")
    try:
        wanted = {name: arrays[name] for name in _DTYPES if name in arrays or name != "positions"}
        for name, array in wanted.items():
            if array.dtype != _DTYPES[name]:
                raise ValueError(f"{name} has the dtype {array.dtype}")
        name, action_names = content["name"], content["action_names"]
        if not isinstance(name, str) or not isinstance(action_names, list) or not action_names:
            raise ValueError("its names are not text")
        if not all(isinstance(one, str) for one in action_names):
            raise ValueError("the names of its actions are not text")
        return FiniteMDP(**wanted, name=name, action_names=tuple(action_names))
    except archive.UNREADABLE as error:
        raise archive.unreadable(path, "mdp", error) from None


def find(name: str) -> World:
    """By the name of a problem of this package, a file or folder, or a Gymnasium id.

    Args:
        name: The name, the path, or the id.

    Returns:
        The MDP, and what else is known of it.

    Raises:
        ValueError: There is nothing of that name, or no transition table.

    >>> from fhtd import worlds
    >>> worlds.find("slippery-maze").mdp
    FiniteMDP('slippery maze', 34 states, 4 actions)
    >>> worlds.find("CliffWalking-v1").mdp.positions[13].tolist()  # row and column
    [1, 1]
    """
    path = Path(name)
    if path.is_dir():
        path = path / "mdp.npz"
        if not path.exists():
            raise ValueError(f"{name} holds no mdp.npz (fhtd.worlds.save_mdp writes one)")
    if name.endswith(".npz") or path.name == "mdp.npz":
        return World(load_mdp(path))
    if name in problems.PROBLEMS:
        problem = problems.PROBLEMS[name]()
        return World(problem.mdp, problem.target)
    return _from_gymnasium(name)


def _from_gymnasium(name: str) -> World:
    try:
        environment = make(name)
    except ValueError as error:
        near = get_close_matches(name, problems.PROBLEMS, n=1, cutoff=0.4)
        hint = f"; did you mean {near[0]!r}?" if near else ""
        raise ValueError(
            f"unknown problem {name!r}{hint} (problems: {', '.join(problems.PROBLEMS)}; or a "
            f"folder with mdp.npz; or a Gymnasium id: {error})"
        ) from None
    try:
        return _with_map(FiniteMDP.from_gymnasium(environment), environment.unwrapped)
    finally:
        environment.close()


def action_names(environment_id: str, n_actions: int) -> tuple[str, ...]:
    """What the numbered actions of a well-known environment do; nothing where it is not known.

    Args:
        environment_id: The environment's id in Gymnasium.
        n_actions: How many actions there are.

    Returns:
        One name for each action, or an empty tuple.

    >>> from fhtd import worlds
    >>> worlds.action_names("MountainCar-v0", 3)
    ('left', 'nothing', 'right')
    """
    names = _ACTIONS.get(_kind(environment_id), ())
    return names if len(names) == n_actions else ()


def _kind(environment_id: str) -> str:
    """The id without its namespace and version."""
    return environment_id.rpartition("/")[2].partition("-")[0]


def _with_map(mdp: FiniteMDP, environment: Any) -> World:
    """Add what Gymnasium's tables leave out: names of actions, and where states are."""
    kind = _kind(mdp.name)
    names = action_names(mdp.name, mdp.n_actions) or mdp.action_names
    positions, state_names = mdp.positions, None
    labels: tuple[tuple[int, int, str], ...] = ()
    width = getattr(environment, "ncol", None) or getattr(environment, "shape", (0, 0))[-1]
    states = np.arange(mdp.n_states)
    if kind == "Taxi" and mdp.n_states == 500:
        # 5 x 5 squares of the taxi, one for each place of the passenger and each destination.
        decoded = np.array([list(environment.decode(int(s))) for s in states])
        row, column, passenger, destination = decoded.T
        # Above each is a row for what it is called.
        positions = np.stack([passenger * 6 + row + 1, destination * 6 + column], axis=1)
        stops = ["red", "green", "yellow", "blue", "taxi"]
        labels = tuple(
            (6 * p, 6 * d, f"{'in taxi' if p == 4 else f'at {stops[p]}'}, to {stops[d]}")
            for p in range(5)
            for d in range(4)
        )
        state_names = [
            f"taxi at row {r + 1}, column {c + 1}, passenger "
            + ("in the taxi" if p == 4 else f"at {stops[p]}")
            + f", wants to go to {stops[d]}"
            for r, c, p, d in decoded
        ]
    elif positions is None and width and mdp.n_states % width == 0:
        positions = np.stack([states // width, states % width], axis=1)
    placed = replace(mdp, action_names=names, positions=positions)
    return World(placed, None, state_names, labels)
