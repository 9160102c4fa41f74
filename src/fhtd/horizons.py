"""Which horizons a backup needs: the first k of one step each, from there n steps at a time.

    h <= k    bootstraps from h - 1
    h > k     bootstraps from max(h - n, k)

k = 0 is n-step FHTD, which sums min(n, h) rewards; k >= H is one-step FHTD. No horizon reaches past
k, so that every chain of bootstraps passes through all of the one-step horizons.
"""

from collections.abc import Sequence

from fhtd import checks


def source_of(horizon: int, n: int, one_step_horizons: int = 0) -> int:
    """The horizon that one bootstraps from; 0 for none.

    Args:
        horizon: The one that bootstraps.
        n: Rewards summed before bootstrapping, beyond the one-step horizons.
        one_step_horizons: How many of the first horizons sum one reward, k.
    """
    return max(horizon - n, min(one_step_horizons, horizon - 1))


def closed_horizons(
    final: int,
    n: int,
    horizons: Sequence[int] | None = None,
    one_step_horizons: int = 0,
    *,
    n_name: str = "n",
) -> list[int]:
    """The horizons that are learned, checked to be closed under the backup.

    Args:
        final: The final horizon H.
        n: Rewards summed before bootstrapping.
        horizons: Those wanted; default: those that the final one needs.
        one_step_horizons: How many of the first horizons sum one reward, k.
        n_name: What the caller calls `n`.

    >>> from fhtd.horizons import closed_horizons
    >>> closed_horizons(10, 4)
    [2, 6, 10]
    >>> closed_horizons(10, 4, one_step_horizons=3)
    [1, 2, 3, 6, 10]
    """
    n = checks.integer(n_name, n, 1, final)
    k = min(checks.integer("one_step_horizons", one_step_horizons, 0), final)
    if horizons is None:
        return [*range(1, k + 1), *list(range(final, k, -n))[::-1]]
    chosen = [checks.integer("horizons", h, 1, final) for h in horizons]
    if chosen != sorted(set(chosen)) or not chosen or chosen[-1] != final:
        raise ValueError(f"horizons must ascend to the final horizon {final}, got {chosen}")
    learned = {0, *chosen}
    for horizon in chosen:
        source = source_of(horizon, n, k)
        if source not in learned:
            steps = f"{n_name} is {n}"
            if k:
                steps += f", one_step_horizons {one_step_horizons}"
            raise ValueError(
                f"horizons must be closed under the backup: {horizon} bootstraps from "
                f"{source} ({steps}), which is not among them"
            )
    return chosen
