"""Finite MDPs by name, from Gymnasium, and in files of one's own.

A file is `.npz` without pickle: the arrays of `FiniteMDP`, and its names as JSON. Nothing in it
can run code, and everything is checked before it is used.
"""

import io
import json
import zipfile
from dataclasses import dataclass, replace
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from fhtd import problems
from fhtd.files import write_atomically
from fhtd.mdp import FiniteMDP

FORMAT = 1
_ARRAYS = ("probabilities", "next_states", "rewards", "terminal", "start")
#: Names of actions that Gymnasium's tables only number.
_ACTIONS = {
    "FrozenLake": ("left", "down", "right", "up"),
    "CliffWalking": ("up", "right", "down", "left"),
    "Taxi": ("south", "north", "east", "west", "pickup", "dropoff"),
}


@dataclass(frozen=True, eq=False)
class World:
    """An MDP with what can be said of it beside."""

    mdp: FiniteMDP
    #: The policy that the problem asks about, where it is posed with one.
    target: npt.NDArray[np.float64] | None = None
    state_names: list[str] | None = None


def save_mdp(mdp: FiniteMDP, path: Path | str) -> None:
    """Write an MDP to one `.npz` file."""
    header = {"format": FORMAT, "name": mdp.name, "action_names": list(mdp.action_names)}
    arrays: dict[str, Any] = {name: getattr(mdp, name) for name in _ARRAYS}
    if mdp.positions is not None:
        arrays["positions"] = mdp.positions
    file = io.BytesIO()
    np.savez_compressed(file, mdp=np.frombuffer(json.dumps(header).encode(), np.uint8), **arrays)
    write_atomically(Path(path), file.getvalue())


def load_mdp(path: Path | str) -> FiniteMDP:
    """Read what `save_mdp` wrote; anything else is refused."""
    try:
        with open(path, "rb") as file, np.load(file, allow_pickle=False) as saved:
            arrays = {name: saved[name] for name in saved.files}
        header = json.loads(arrays.pop("mdp").tobytes())
        if header["format"] != FORMAT:
            raise ValueError(f"its format is {header['format']}, this version reads {FORMAT}")
        names = [str(name) for name in header["action_names"]]
        return FiniteMDP(
            **{name: arrays[name] for name in _ARRAYS},
            name=str(header["name"]),
            action_names=tuple(names),
            positions=arrays.get("positions"),
        )
    except KeyError as error:
        raise ValueError(f"{path} is not an MDP file: it has no {error}") from None
    except (TypeError, ValueError, AttributeError, EOFError, zipfile.BadZipFile) as error:
        raise ValueError(f"{path} is not a readable MDP file: {error}") from None


def find(name: str) -> World:
    """By the name of a problem of this package, a file or folder, or a Gymnasium id."""
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
    import gymnasium

    import fhtd.envs

    assert fhtd.envs
    try:
        environment = gymnasium.make(name)
    except (gymnasium.error.Error, ImportError) as error:
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


def _with_map(mdp: FiniteMDP, environment: Any) -> World:
    """Add what Gymnasium's tables leave out: names of actions, and where states are."""
    kind = mdp.name.rpartition("/")[2].partition("-")[0]
    names = _ACTIONS.get(kind, mdp.action_names)
    if len(names) != mdp.n_actions:
        names = mdp.action_names
    positions, state_names = mdp.positions, None
    width = getattr(environment, "ncol", None) or getattr(environment, "shape", (0, 0))[-1]
    states = np.arange(mdp.n_states)
    if kind == "Taxi" and mdp.n_states == 500:
        # 5 x 5 squares of the taxi, one for each place of the passenger and each destination.
        decoded = np.array([list(environment.decode(int(s))) for s in states])
        row, column, passenger, destination = decoded.T
        positions = np.stack([passenger * 6 + row, destination * 6 + column], axis=1)
        stops = ["red", "green", "yellow", "blue", "taxi"]
        state_names = [
            f"taxi at row {r + 1}, column {c + 1}, passenger "
            + ("in the taxi" if p == 4 else f"at {stops[p]}")
            + f", wants to go to {stops[d]}"
            for r, c, p, d in decoded
        ]
    elif positions is None and width and mdp.n_states % width == 0:
        positions = np.stack([states // width, states % width], axis=1)
    return World(replace(mdp, action_names=names, positions=positions), None, state_names)
