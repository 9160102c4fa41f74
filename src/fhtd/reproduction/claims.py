"""What the paper says, and what the measurement says of it."""

from dataclasses import dataclass
from enum import StrEnum

from fhtd.statistics import Interval


class Verdict(StrEnum):
    """What the measurement says of a claim.

    >>> from fhtd.reproduction import Verdict
    >>> [str(verdict) for verdict in Verdict]
    ['holds', 'fails', 'inconclusive']
    """

    HOLDS = "holds"
    FAILS = "fails"
    INCONCLUSIVE = "inconclusive"


@dataclass(frozen=True)
class Claim:
    """One statement of the paper, in our words, with what was measured.

    >>> from fhtd.reproduction import Claim, above
    >>> from fhtd.statistics import Interval
    >>> gain = Interval.of([1.0, 2.0, 3.0, 2.0])
    >>> rule = "holds if the 95% interval lies above 0, fails if below"
    >>> claim = Claim("gains", "It gains.", rule, f"at least {gain.low:.1f}", above(gain, 0))
    >>> print(claim.verdict, "-", claim.measured)
    holds - at least 0.7
    """

    #: What it is called in tables.
    name: str
    #: The paper's statement.
    statement: str
    #: When it holds and when it fails.
    rule: str
    #: The measured figure, with its interval over seeds.
    measured: str
    #: What that says of the statement.
    verdict: Verdict


def above(interval: Interval, bound: float) -> Verdict:
    """Holds where the whole interval lies above the bound, fails where it lies below.

    Args:
        interval: What was measured.
        bound: What it is compared with.

    Returns:
        The verdict; inconclusive where the bound lies within the interval.

    >>> from fhtd.reproduction import above
    >>> from fhtd.statistics import Interval
    >>> print(above(Interval(1.0, 0.5, 1.5), 0), above(Interval(1.0, -0.5, 2.5), 0))
    holds inconclusive
    """
    if interval.low > bound:
        return Verdict.HOLDS
    return Verdict.FAILS if interval.high < bound else Verdict.INCONCLUSIVE


def below(interval: Interval, bound: float) -> Verdict:
    """Holds where the whole interval lies below the bound, fails where it lies above.

    Args:
        interval: What was measured.
        bound: What it is compared with.

    Returns:
        The verdict; inconclusive where the bound lies within the interval.

    >>> from fhtd.reproduction import below
    >>> from fhtd.statistics import Interval
    >>> print(below(Interval(1.0, 0.5, 1.5), 0))
    fails
    """
    if interval.high < bound:
        return Verdict.HOLDS
    return Verdict.FAILS if interval.low > bound else Verdict.INCONCLUSIVE


def every(share: Interval, nearly: float) -> Verdict:
    """For what must be so in every run: holds where it was, in enough runs to trust it.

    Args:
        share: Share of the runs in which it was so.
        nearly: What the whole interval of that share must exceed.

    Returns:
        The verdict; inconclusive where a single run does not, or where there are too few to tell.

    >>> from fhtd.reproduction import every
    >>> from fhtd.statistics import Interval
    >>> print(*(every(Interval.share([True] * runs), 0.95) for runs in (50, 100)))
    inconclusive holds
    >>> print(every(Interval.share([True] * 999 + [False]), 0.95))
    inconclusive
    """
    verdict = above(share, nearly)
    if verdict is Verdict.HOLDS and share.mean < 1:
        return Verdict.INCONCLUSIVE
    return verdict


def truth_of(statement: bool) -> Verdict:
    """For what is exact and needs no interval.

    Args:
        statement: Whether it is so.

    Returns:
        The verdict, never inconclusive.

    >>> from fhtd.reproduction import truth_of
    >>> print(truth_of(1 + 1 == 2))
    holds
    """
    return Verdict.HOLDS if statement else Verdict.FAILS


def worst(verdicts: list[Verdict]) -> Verdict:
    """All must hold: fails if one fails, inconclusive if one is.

    Args:
        verdicts: Those of all parts.

    Returns:
        The verdict on the whole.

    >>> from fhtd.reproduction import Verdict, worst
    >>> print(worst([Verdict.HOLDS, Verdict.INCONCLUSIVE]))
    inconclusive
    """
    for verdict in (Verdict.FAILS, Verdict.INCONCLUSIVE):
        if verdict in verdicts:
            return verdict
    return Verdict.HOLDS
