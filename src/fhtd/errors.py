"""What can go wrong while learning, beyond a wrong argument."""


class DivergenceError(ArithmeticError):
    """A learner's weights stopped being finite.

    `step` counts transitions from 1; `horizon` is the first horizon affected
    (infinity for the infinite-horizon baselines); `run` is set by the simulator.
    """

    def __init__(self, learner: str, step: int, horizon: float, run: int | None = None) -> None:
        where = f"horizon {horizon:g}" if horizon != float("inf") else "its only value"
        which = "" if run is None else f" of run {run}"
        super().__init__(
            f"{learner} diverged: the weights of {where} became non-finite at step {step}{which}; "
            "use a smaller step_size, or pass allow_divergence=True to carry on"
        )
        self.learner = learner
        self.step = step
        self.horizon = horizon
        self.run = run

    def __reduce__(self) -> tuple[type, tuple[str, int, float, int | None]]:
        """Cross process boundaries with every field intact."""
        return (DivergenceError, (self.learner, self.step, self.horizon, self.run))
