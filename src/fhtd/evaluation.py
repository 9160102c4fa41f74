"""Returns of whole episodes, none of which may go on for ever."""

import warnings
from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from fhtd import checks

#: Steps after which an episode that has not ended is cut.
MAX_STEPS = 10_000


class Evaluated(NamedTuple):
    """What the episodes brought.

    >>> import numpy as np
    >>> from fhtd.evaluation import Evaluated
    >>> Evaluated(np.array([5.0, 7.0]), cut=1).said(100)
    '1 of 2 episodes had not ended after 100 steps and were cut there'
    """

    #: The sum of rewards of each episode.
    returns: npt.NDArray[np.float64]
    #: How many of them were cut.
    cut: int

    def said(self, max_steps: int | None) -> str:
        """What is to be known of episodes that were cut; nothing where none was.

        Args:
            max_steps: After how many steps they were cut.

        Returns:
            A sentence without its full stop, or an empty string.
        """
        if not self.cut:
            return ""
        return (
            f"{self.cut} of {len(self.returns)} episodes had not ended after {max_steps:,} steps "
            "and were cut there"
        )


def evaluated(
    rewards: Callable[[int], Iterator[float]],
    episodes: int,
    max_steps: int | None,
    advance: Callable[..., None] = lambda done, state="": None,
) -> Evaluated:
    """Sum the rewards of so many episodes, each cut after so many steps.

    Args:
        rewards: gives those of episode i, one after another.
        episodes: how many there are.
        max_steps: how long one may be; None is for ever.
        advance: told the episodes done, and the steps of the present one in words.

    Returns:
        The sums, and how many episodes were cut.

    >>> from fhtd.evaluation import evaluated
    >>> evaluated(lambda i: iter([1.0] * (i + 1)), episodes=3, max_steps=2)
    Evaluated(returns=array([1., 2., 2.]), cut=1)
    """
    count = checks.integer("episodes", episodes, 1)
    if max_steps is not None:
        checks.integer("max_steps", max_steps, 1)
    returns, cut = [], 0
    for i in range(count):
        advance(i)
        received: list[float] = []
        for reward in (episode := rewards(i)):
            received.append(reward)
            if len(received) % 1000 == 0:
                advance(i, state=f"step {len(received):,}")
            if len(received) == max_steps:
                # Whether it ended just here shows when it is asked for one more.
                cut += next(episode, None) is not None
                break
        returns.append(float(sum(received)))
    return Evaluated(np.array(returns), cut)


def warn_of_cuts(found: Evaluated, max_steps: int | None) -> npt.NDArray[np.float64]:
    """The returns; a warning where episodes were cut.

    Args:
        found: What `evaluated` gave.
        max_steps: After how many steps they were cut.

    >>> import numpy as np
    >>> from fhtd.evaluation import Evaluated, warn_of_cuts
    >>> warn_of_cuts(Evaluated(np.array([5.0, 7.0]), cut=0), 100).tolist()
    [5.0, 7.0]
    """
    if found.cut:
        warnings.warn(
            f"{found.said(max_steps)}: max_steps=None lets them go on, for ever where there is no "
            "end",
            stacklevel=3,
        )
    return found.returns
