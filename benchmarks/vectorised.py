"""The same in NumPy, vectorised over horizons, one transition at a time.

w[s] is a row over horizons, and its column 0 stays zero. Views of the rows without the first and
without the last column are made once, and results go to arrays made beforehand.
"""

from collections import deque

import numpy as np
from plain import greedy
from world import Uniform, World


def one_step(
    world: World, horizon: int, discount: float, step_size: float, steps: int, uniform: Uniform
) -> np.ndarray:
    w = np.zeros((world.n_states, horizon + 1))
    values, shorter = list(w[:, 1:]), list(w[:, :-1])
    worthless = np.zeros(horizon)
    error = np.zeros(horizon)
    s = world.first_state(uniform)
    for _ in range(steps):
        s_next, r, terminal = world.follow(s, uniform)
        np.multiply(worthless if terminal else shorter[s_next], discount, out=error)
        error += r
        error -= values[s]
        error *= step_size
        values[s] += error
        s = world.first_state(uniform) if terminal else s_next
    return w[:, 1:]


def n_step(
    world: World,
    horizon: int,
    n: int,
    discount: float,
    step_size: float,
    steps: int,
    uniform: Uniform,
) -> np.ndarray:
    w = np.zeros((world.n_states, horizon // n + 1))
    values, shorter = list(w[:, 1:]), list(w[:, :-1])
    worthless = np.zeros(horizon // n)
    error = np.zeros(horizon // n)
    discount_n = discount**n
    states: deque[int] = deque()
    rewards: deque[float] = deque()
    s = world.first_state(uniform)
    for _ in range(steps):
        s_next, r, terminal = world.follow(s, uniform)
        states.append(s)
        rewards.append(r)
        while len(states) == n or (terminal and states):
            # Faster than any array operation on so few numbers.
            r_sum = 0.0
            for reward in reversed(rewards):
                r_sum = reward + discount * r_sum
            rewards.popleft()
            value = values[states.popleft()]
            np.multiply(worthless if terminal else shorter[s_next], discount_n, out=error)
            error += r_sum
            error -= value
            error *= step_size
            value += error
        s = world.first_state(uniform) if terminal else s_next
    return w[:, 1:]


def traces(
    world: World,
    horizon: int,
    lambda_: float,
    discount: float,
    step_size: float,
    steps: int,
    uniform: Uniform,
) -> np.ndarray:
    """Credits all past states at once, by one product of matrices."""
    w = np.zeros((world.n_states, horizon + 1))
    values, shorter = list(w[:, 1:]), list(w[:, :-1])
    worthless = np.zeros(horizon)
    # shifted[i] is the error, moved i horizons up: windows of one array that begins with zeros.
    padded = np.zeros(2 * horizon - 1)
    error = padded[horizon - 1 :]
    shifted = np.lib.stride_tricks.sliding_window_view(padded, horizon)[::-1]
    # eligibility[s, i] = (discount lambda)^i if s was the state i steps back, else 0.
    eligibility = np.zeros((world.n_states, horizon))
    older, newer = eligibility[:, 1:], eligibility[:, :-1]
    newest = eligibility[:, 0]
    every = w[:, 1:]
    s = world.first_state(uniform)
    for _ in range(steps):
        s_next, r, terminal = world.follow(s, uniform)
        np.multiply(newer, discount * lambda_, out=older)
        newest[:] = 0
        newest[s] = step_size
        np.multiply(worthless if terminal else shorter[s_next], discount, out=error)
        error += r
        error -= values[s]
        every += eligibility @ shifted
        if terminal:
            eligibility[:] = 0
        s = world.first_state(uniform) if terminal else s_next
    return every


def control(
    world: World,
    horizon: int,
    epsilon: float,
    discount: float,
    step_size: float,
    steps: int,
    uniform: Uniform,
) -> np.ndarray:
    w = np.zeros((world.n_actions, world.n_states, horizon + 1))
    # [state]: (actions, horizons) without the last; [state][action]: horizons without the first.
    shorter = list(w[:, :, :-1].swapaxes(0, 1))
    values = [list(rows) for rows in w[:, :, 1:].swapaxes(0, 1)]
    last = list(w[:, :, -1].T)
    worthless = np.zeros((world.n_actions, horizon))
    error = np.zeros(horizon)
    s = world.first_state(uniform)
    for _ in range(steps):
        if uniform() < epsilon:
            a = int(uniform() * world.n_actions)
        else:
            a = greedy(last[s].tolist(), uniform)
        s_next, r, terminal = world.act(s, a, uniform)
        np.maximum.reduce(worthless if terminal else shorter[s_next], axis=0, out=error)
        error *= discount
        error += r
        error -= values[s][a]
        error *= step_size
        values[s][a] += error
        s = world.first_state(uniform) if terminal else s_next
    return w[:, :, 1:]
