"""What can go wrong while learning, beyond a wrong argument."""

from functools import partial
from typing import Any

#: What helps an online learner.
ADVICE = "use a smaller step_size, or pass allow_divergence=True to carry on"


class DivergenceError(ArithmeticError):
    """A learner's weights stopped being finite.

    Args:
        learner: The name of its class.
        step: The transition after which that was so, counted from 1.
        horizon: The first horizon affected; infinity for a value without a horizon.
        run: The run of a simulation, if it was one.
        advice: What the user can do about it.

    >>> from fhtd import FHTD, DivergenceError, Features, Weighting
    >>> learner = FHTD(Features.dense(1), Weighting.exponential(2), step_size=1.0)
    >>> try:
    ...     for _ in range(1_000):
    ...         learner.update([3.0], reward=1.0, next_observation=[3.0])
    ... except DivergenceError as error:
    ...     print(error.learner, error.horizon)
    FHTD 2.0
    """

    def __init__(
        self,
        learner: str,
        step: int,
        horizon: float,
        run: int | None = None,
        *,
        advice: str = ADVICE,
    ) -> None:
        where = f"horizon {horizon:g}" if horizon != float("inf") else "its only value"
        which = "" if run is None else f" of run {run}"
        super().__init__(
            f"{learner} diverged: the weights of {where} became non-finite at step {step}{which}; "
            f"{advice}"
        )
        self.learner = learner
        self.step = step
        self.horizon = horizon
        self.run = run
        self.advice = advice

    def __reduce__(self) -> tuple[Any, ...]:
        """Cross process boundaries with every field intact."""
        given = (self.learner, self.step, self.horizon, self.run)
        return partial(DivergenceError, advice=self.advice), given
