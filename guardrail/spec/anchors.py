"""Anchors: the measurements that bounds are derived from, and those that were superseded."""

from collections.abc import Mapping
from datetime import date
from fractions import Fraction
from typing import Annotated, Any, Literal, TypeAlias, get_args

from pydantic import AfterValidator, BeforeValidator, Discriminator, Field, Tag

from guardrail.spec.fields import Number, Strict, Text

AnchorClass: TypeAlias = Literal["correctness-fix", "optimisation", "environment", "measurement"]
"""Why an anchor was moved."""

ANCHOR_CLASSES: tuple[str, ...] = get_args(AnchorClass)

SLACK_PATTERN = r"^[0-9]{1,2}(\.[0-9]{1,4})?%$"
COMMIT_PATTERN = r"^[0-9a-f]{7,64}$"
DATE_PATTERN = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}$"
EVIDENCE_PATTERN = r"^sha256:[0-9a-f]{64}$"


def _real_day(text: str) -> str:
    try:
        date.fromisoformat(text)
    except ValueError:
        raise ValueError(f"there is no day {text}") from None
    return text


def _as_written(value: object) -> object:
    """Let a number through as text, so that the message says what is missing of it: the percent sign."""
    return str(value) if isinstance(value, int | float) else value


Slack = Annotated[str, Field(pattern=SLACK_PATTERN), BeforeValidator(_as_written)]
Commit = Annotated[str, Field(pattern=COMMIT_PATTERN)]
Day = Annotated[str, Field(pattern=DATE_PATTERN), AfterValidator(_real_day)]
Evidence = Annotated[str, Field(pattern=EVIDENCE_PATTERN)]


class _Measured(Strict):
    """What an anchor states as long as it is in force and afterwards."""

    value: Number = Field(description="The median of its windows.")
    class_: AnchorClass = Field(alias="class", description="Why it was moved here.")
    reason: Text = Field(description="Why it was moved here, in a sentence.")
    commit: Commit = Field(description="Git commit that was measured.")
    evidence: Evidence = Field(description="SHA-256 of the file of raw samples, evidence/HASH.json.")
    ref: str | None = Field(None, description="Issue, pull request or run that the reason refers to.")
    toolchain: str | None = Field(None, description="Driver and compilers that it was measured with.")


class Anchor(_Measured):
    """The measurement that a bound is derived from."""

    date: Day = Field(description="Day on which it was measured.")


class PastAnchor(_Measured):
    """An anchor that another one has superseded."""

    profile: str | None = Field(None, description="The key that it was in force for, where it had one.")
    valid_from: Day = Field(description="Day on which it was measured.")
    valid_until: Day = Field(description="Day on which it was superseded.")
    incomparable_before: Commit | None = Field(
        None, description="Commit whose fix makes this and every earlier number another quantity."
    )


def is_single(anchor: Any) -> bool:
    """Tell one anchor for every measurement from anchors by profile, in a file's plain data."""
    return isinstance(anchor, Anchor) or (isinstance(anchor, Mapping) and not _maps_to_mappings(anchor))


def _maps_to_mappings(anchor: Mapping[str, Any]) -> bool:
    return bool(anchor) and all(isinstance(value, Mapping | Anchor) for value in anchor.values())


Anchors = Annotated[
    Annotated[Anchor, Tag("one anchor")]
    | Annotated[dict[str, Anchor], Field(min_length=1), Tag("anchors by profile")],
    Discriminator(lambda anchor: "one anchor" if is_single(anchor) else "anchors by profile"),
]
"""One anchor for every measurement, or one for each architecture, device profile or model profile."""


def fraction(slack: str) -> Fraction:
    """Read a slack as an exact fraction: ``2.5%`` is 1/40."""
    return Fraction(slack.removesuffix("%")) / 100
