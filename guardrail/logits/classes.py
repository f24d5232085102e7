"""What a difference of logits is called: bitwise, rounding, different, or unclassified."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from guardrail.errors import ExitCode
from guardrail.logits.difference import LogitDifference

FACTOR = 2.0
"""How many times a reference pair's own difference still counts as rounding."""


class LogitClass(StrEnum):
    """How far two dumps differ."""

    BITWISE = "bitwise"
    """Every byte is equal, and every number finite."""
    ROUNDING = "rounding"
    """They differ by no more than what a reference pair measured allows."""
    DIFFERENT = "different"
    UNCLASSIFIED = "unclassified"
    """They differ, and no reference pair says what rounding amounts to."""

    @property
    def exit_code(self) -> ExitCode:
        """Give the code of a comparison that ends with this class."""
        if self is LogitClass.DIFFERENT:
            return ExitCode.FAILED
        return ExitCode.UNDECIDED if self is LogitClass.UNCLASSIFIED else ExitCode.OK


@dataclass(frozen=True, slots=True)
class Classification:
    """A class with what led to it."""

    class_: LogitClass
    because: str
    """One sentence without its full stop."""
    multiple: float | None = None
    """max |delta| over the largest that a reference pair has; None where no pair tells."""


def classify(
    difference: LogitDifference,
    floors: Sequence[float],
    factor: float = FACTOR,
    unequal: Sequence[str] = (),
    nonfinite: Sequence[str] = (),
) -> Classification:
    """Name a difference. That the argmax is the same is no reason for any class.

    Args:
        difference: Of the logits.
        floors: max |delta| of each reference pair.
        factor: How many times the largest of them still is rounding.
        unequal: Further tensors of the dumps that differ in a byte.
        nonfinite: Further tensors that hold NaN or infinite numbers.
    """
    delta = difference.delta
    if any(delta.nonfinite):
        counts = " and ".join(map(str, delta.nonfinite))
        return Classification(
            LogitClass.DIFFERENT, f"{counts} logits are NaN or infinite, which never passes, equal or not"
        )
    if nonfinite:
        named = ", ".join(nonfinite)
        return Classification(
            LogitClass.DIFFERENT, f"{named}: NaN or infinite numbers, which never pass, equal or not"
        )
    if not delta.differing and not unequal:
        return Classification(LogitClass.BITWISE, "every byte is equal")
    if not delta.differing:
        what = f"the logits are equal to the byte, and {', '.join(unequal)} not"
    else:
        what = f"{delta.differing} of {delta.elements} logits differ, by {delta.max_abs:.3g} at most"
    floor = max(floors, default=None)
    if floor is None:
        because = f"{what}, and no reference pair (--class-from) says what rounding amounts to"
        return Classification(LogitClass.UNCLASSIFIED, because)
    if floor == 0:
        because = f"{what}, and no reference pair differs, so that none says what rounding amounts to"
        return Classification(LogitClass.UNCLASSIFIED, because)
    multiple = delta.max_abs / floor
    measured = f"{multiple:.3g} x the {floor:.3g} of the reference pairs; rounding is up to {factor:g} x"
    class_ = LogitClass.ROUNDING if multiple <= factor else LogitClass.DIFFERENT
    return Classification(class_, f"{what}: {measured}", multiple)
