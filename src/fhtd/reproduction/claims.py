"""What the paper says, and what the measurement says of it."""

from dataclasses import dataclass
from enum import StrEnum

from fhtd.statistics import Interval


class Verdict(StrEnum):
    """What the measurement says of a claim."""

    HOLDS = "holds"
    FAILS = "fails"
    INCONCLUSIVE = "inconclusive"


@dataclass(frozen=True)
class Claim:
    """One statement of the paper, in our words, with what was measured."""

    name: str
    #: The paper's statement.
    statement: str
    #: When it holds and when it fails.
    rule: str
    #: The measured figure, with its interval over seeds.
    measured: str
    verdict: Verdict


def above(interval: Interval, bound: float) -> Verdict:
    """Holds where the whole interval lies above the bound, fails where it lies below."""
    if interval.low > bound:
        return Verdict.HOLDS
    return Verdict.FAILS if interval.high < bound else Verdict.INCONCLUSIVE


def below(interval: Interval, bound: float) -> Verdict:
    """Holds where the whole interval lies below the bound, fails where it lies above."""
    if interval.high < bound:
        return Verdict.HOLDS
    return Verdict.FAILS if interval.low > bound else Verdict.INCONCLUSIVE


def truth_of(statement: bool) -> Verdict:
    """For what is exact and needs no interval."""
    return Verdict.HOLDS if statement else Verdict.FAILS


def worst(verdicts: list[Verdict]) -> Verdict:
    """All must hold: fails if one fails, inconclusive if one is."""
    for verdict in (Verdict.FAILS, Verdict.INCONCLUSIVE):
        if verdict in verdicts:
            return verdict
    return Verdict.HOLDS
