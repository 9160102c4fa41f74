"""The paper's pseudocode in plain Python, tabular: w[h][s] is V^h(s), and w[0] stays zero.

Two departures from its letter, the same as the package's: a terminal state is worth nothing, and
every error of a transition is taken before any weight changes.
"""

from collections import deque
from itertools import islice

from world import Uniform, World

Table = list[list[float]]


def one_step(
    world: World, horizon: int, discount: float, step_size: float, steps: int, uniform: Uniform
) -> Table:
    """Algorithm 1, one-step FHTD."""
    w = [[0.0] * world.n_states for _ in range(horizon + 1)]
    s = world.first_state(uniform)
    for _ in range(steps):
        s_next, r, terminal = world.follow(s, uniform)
        gamma = 0.0 if terminal else discount
        deltas = [r + gamma * w[h - 1][s_next] - w[h][s] for h in range(1, horizon + 1)]
        for h, delta in enumerate(deltas, 1):
            w[h][s] += step_size * delta
        s = world.first_state(uniform) if terminal else s_next
    return w[1:]


def one_step_by_rows(
    world: World, horizon: int, discount: float, step_size: float, steps: int, uniform: Uniform
) -> Table:
    """The same, arranged for speed as the package arranges it: one row of horizons per state.

    From the last horizon down, each error reads only what is not yet written.
    """
    w = [[0.0] * (horizon + 1) for _ in range(world.n_states)]
    s = world.first_state(uniform)
    for _ in range(steps):
        s_next, r, terminal = world.follow(s, uniform)
        gamma = 0.0 if terminal else discount
        here, there = w[s], w[s_next]
        for h in range(horizon, 0, -1):
            here[h] += step_size * (r + gamma * there[h - 1] - here[h])
        s = world.first_state(uniform) if terminal else s_next
    return [list(column) for column in zip(*w, strict=True)][1:]


def n_step(
    world: World,
    horizon: int,
    n: int,
    discount: float,
    step_size: float,
    steps: int,
    uniform: Uniform,
) -> Table:
    """Algorithm 3, n-step FHTD: w[j][s] is the value of horizon n j."""
    w = [[0.0] * world.n_states for _ in range(horizon // n + 1)]
    states: deque[int] = deque()
    rewards: deque[float] = deque()
    s = world.first_state(uniform)
    for _ in range(steps):
        s_next, r, terminal = world.follow(s, uniform)
        states.append(s)
        rewards.append(r)
        gamma_n = 0.0 if terminal else discount**n
        # At the end of an episode every pending state gets the rewards it has.
        while len(states) == n or (terminal and states):
            r_sum = 0.0
            for reward in reversed(rewards):
                r_sum = reward + discount * r_sum
            rewards.popleft()
            old = states.popleft()
            deltas = [
                r_sum + gamma_n * w[j - 1][s_next] - w[j][old] for j in range(1, horizon // n + 1)
            ]
            for j, delta in enumerate(deltas, 1):
                w[j][old] += step_size * delta
        s = world.first_state(uniform) if terminal else s_next
    return w[1:]


def traces(
    world: World,
    horizon: int,
    lambda_: float,
    discount: float,
    step_size: float,
    steps: int,
    uniform: Uniform,
) -> Table:
    """Algorithm 4, FHTD(lambda)."""
    w = [[0.0] * world.n_states for _ in range(horizon + 1)]
    decays = [(discount * lambda_) ** i for i in range(horizon)]
    # The states of the episode so far, the newest first.
    visited: deque[int] = deque(maxlen=horizon)
    s = world.first_state(uniform)
    for _ in range(steps):
        s_next, r, terminal = world.follow(s, uniform)
        visited.appendleft(s)
        gamma = 0.0 if terminal else discount
        deltas = [r + gamma * w[h - 1][s_next] - w[h][s] for h in range(1, horizon + 1)]
        for h, delta in enumerate(deltas, 1):
            change = step_size * delta
            for i, old in enumerate(islice(visited, horizon - h + 1)):
                w[h + i][old] += change * decays[i]
        if terminal:
            visited.clear()
        s = world.first_state(uniform) if terminal else s_next
    return w[1:]


def control(
    world: World,
    horizon: int,
    epsilon: float,
    discount: float,
    step_size: float,
    steps: int,
    uniform: Uniform,
) -> list[Table]:
    """Algorithm 2, FHQ-learning, epsilon-greedy on the last horizon: w[h][s][a] is Q^h(s, a)."""
    w = [[[0.0] * world.n_actions for _ in range(world.n_states)] for _ in range(horizon + 1)]
    s = world.first_state(uniform)
    for _ in range(steps):
        if uniform() < epsilon:
            a = int(uniform() * world.n_actions)
        else:
            a = greedy(w[horizon][s], uniform)
        s_next, r, terminal = world.act(s, a, uniform)
        gamma = 0.0 if terminal else discount
        deltas = [r + gamma * max(w[h - 1][s_next]) - w[h][s][a] for h in range(1, horizon + 1)]
        for h, delta in enumerate(deltas, 1):
            w[h][s][a] += step_size * delta
        s = world.first_state(uniform) if terminal else s_next
    return w[1:]


def greedy(values: list[float], uniform: Uniform) -> int:
    """A best action, ties broken uniformly."""
    best, ties, chosen = values[0], 1, 0
    for action in range(1, len(values)):
        if values[action] > best:
            best, ties, chosen = values[action], 1, action
        elif values[action] == best:
            ties += 1
            if uniform() * ties < 1:
                chosen = action
    return chosen
