"""`loops.c`, built with the system's compiler into a temporary directory and called by ctypes."""

import ctypes
import os
import subprocess
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from world import World, seed_words

COMPILER = os.environ.get("CC", "gcc")
FLAGS = ("-O3", "-march=native")


@cache
def library() -> ctypes.CDLL:
    """Build once per process; the loaded library outlives its file."""
    source = Path(__file__).with_name("loops.c")
    with tempfile.TemporaryDirectory() as directory:
        built = Path(directory, "loops.so")
        command = [COMPILER, *FLAGS, "-shared", "-fPIC", "-o", str(built), str(source)]
        subprocess.run(command, check=True)
        return ctypes.CDLL(str(built))


@cache
def version() -> str:
    """The compiler's own first line."""
    said = subprocess.run([COMPILER, "--version"], check=True, capture_output=True, text=True)
    return said.stdout.splitlines()[0]


class _World(ctypes.Structure):
    _fields_ = (
        *((name, ctypes.c_int64) for name in ("n_states", "n_actions", "n_outcomes")),
        *((name, ctypes.c_void_p) for name in World.ARRAYS),
    )


def _call(name: str, world: World, *arguments: Any) -> None:
    """Pass integers, floats and arrays on as what C expects."""
    shape = world.arrays["outcomes"].shape
    structure = _World(*shape, *(world.arrays[field].ctypes.data for field in World.ARRAYS))
    converted = [
        ctypes.c_void_p(value.ctypes.data)
        if isinstance(value, np.ndarray)
        else ctypes.c_double(value)
        if isinstance(value, float)
        else ctypes.c_int64(value)
        for value in arguments
    ]
    getattr(library(), name)(ctypes.byref(structure), *converted)


def one_step(
    world: World, horizon: int, discount: float, step_size: float, steps: int, seed: int
) -> np.ndarray:
    weights = np.zeros((world.n_states, horizon + 1))
    _call("one_step", world, weights, horizon, discount, step_size, steps, seed_words(seed))
    return weights[:, 1:]


def n_step(
    world: World, horizon: int, n: int, discount: float, step_size: float, steps: int, seed: int
) -> np.ndarray:
    weights = np.zeros((world.n_states, horizon // n + 1))
    window = np.zeros(n, np.int64), np.zeros(n)
    settings = horizon, n, discount, step_size, steps
    _call("n_step", world, weights, *settings, seed_words(seed), *window)
    return weights[:, 1:]


def traces(
    world: World,
    horizon: int,
    lambda_: float,
    discount: float,
    step_size: float,
    steps: int,
    seed: int,
) -> np.ndarray:
    weights = np.zeros((world.n_states, horizon + 1))
    room = np.zeros(horizon, np.int64), np.zeros(horizon + 1)
    settings = horizon, lambda_, discount, step_size, steps
    _call("traces", world, weights, *settings, seed_words(seed), *room)
    return weights[:, 1:]


def control(
    world: World,
    horizon: int,
    epsilon: float,
    discount: float,
    step_size: float,
    steps: int,
    seed: int,
) -> np.ndarray:
    weights = np.zeros((world.n_states, world.n_actions, horizon + 1))
    settings = horizon, epsilon, discount, step_size, steps
    _call("control", world, weights, *settings, seed_words(seed), np.zeros(horizon + 1))
    return weights[..., 1:].swapaxes(0, 1)


def held(
    world: World,
    horizon: int,
    duration: int,
    discount: float,
    step_size: float,
    steps: int,
    seed: int,
) -> np.ndarray:
    weights = np.zeros((world.n_states, world.n_actions, horizon + 1))
    room = np.zeros(duration + 1), np.zeros(horizon + 1)
    settings = horizon, duration, discount, step_size, steps
    _call("held", world, weights, *settings, seed_words(seed), *room)
    return weights[..., 1:].swapaxes(0, 1)


def hybrid(
    world: World,
    horizon: int,
    n: int,
    one_step_horizons: int,
    epsilon: float,
    discount: float,
    step_size: float,
    steps: int,
    seed: int,
) -> np.ndarray:
    columns = one_step_horizons + (horizon - one_step_horizons) // n
    weights = np.zeros((world.n_states, world.n_actions, columns + 1))
    room = np.zeros(n, np.int64), np.zeros(n), np.zeros(columns + 1)
    settings = horizon, n, one_step_horizons, epsilon, discount, step_size, steps
    _call("hybrid", world, weights, *settings, seed_words(seed), *room)
    return weights[..., 1:].swapaxes(0, 1)
