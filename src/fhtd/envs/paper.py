"""The paper's problems as Gymnasium environments, each with the options of its problem."""

from fhtd import problems
from fhtd.envs.finite import FiniteMDPEnv


class Baird(FiniteMDPEnv):
    """fhtd/Baird-v0: Baird's counterexample; continuing, without reward."""

    def __init__(self, render_mode: str | None = None) -> None:
        super().__init__(problems.baird().mdp, render_mode)


class RandomWalk(FiniteMDPEnv):
    """fhtd/RandomWalk-v0: a corridor that ends with -1 on the left and +1 on the right."""

    def __init__(self, n_states: int = 19, render_mode: str | None = None) -> None:
        super().__init__(problems.random_walk(n_states).mdp, render_mode)


class CheckeredGrid(FiniteMDPEnv):
    """fhtd/CheckeredGrid-v0: rewards alternate in sign; two corners end with a reward of 11."""

    def __init__(
        self, size: int = 5, start_reward: float = 1.0, render_mode: str | None = None
    ) -> None:
        super().__init__(problems.checkered_grid(size, start_reward).mdp, render_mode)


class RandomGrid(FiniteMDPEnv):
    """fhtd/RandomGrid-v0: a continuing grid; `layout_seed` draws the reward of every cell."""

    def __init__(self, layout_seed: int = 0, size: int = 8, render_mode: str | None = None) -> None:
        super().__init__(problems.random_grid(layout_seed, size).mdp, render_mode)


class SlipperyMaze(FiniteMDPEnv):
    """fhtd/SlipperyMaze-v0: -1 per step to the goal; `slip` is how often a move is replaced."""

    def __init__(self, slip: float = 0.75, render_mode: str | None = None) -> None:
        super().__init__(problems.slippery_maze(slip).mdp, render_mode)
