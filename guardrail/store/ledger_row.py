"""One row of the ledger."""

import re
from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field, ValidationError, model_validator

from guardrail.errors import UsageError
from guardrail.spec.anchors import Day
from guardrail.spec.fields import Number, Slug, Strict, Text
from guardrail.spec.validation import explain

Verdict = Literal["registered", "landed", "killed", "measured-only", "vetoed-before-build"]

_NEEDED: dict[str, tuple[str, ...]] = {
    "registered": ("criterion", "arms"),
    "landed": ("commit", "lesson"),
    "killed": ("lesson", "reopen"),
    "measured-only": ("arms",),
    "vetoed-before-build": ("lesson", "reopen"),
}
"""What a row must state beside what every row states, by its verdict."""

_COMMIT = re.compile(r"[0-9a-f]{7,64}( with changes)?")


def _real_commit(text: str) -> str:
    if not _COMMIT.fullmatch(text):
        raise ValueError(
            "expected a git commit: 7 hexadecimal digits or more, and ' with changes' where it had some"
        )
    return text


Commit = Annotated[str, AfterValidator(_real_commit)]
Ratio = Annotated[Number, Field(gt=0)]


class Row(Strict):
    """A lever that was tried or registered, or an anchor that was moved."""

    id: Slug = Field(description="Stable name, unique in the file.")
    date: Day = Field(description="Year-month-day.")
    verdict: Verdict = Field(description="Where the lever stands with this row.")
    what: Text = Field(description="The lever, in one sentence.")
    mechanism: Text = Field(description="Why it should help, with the arithmetic.")
    criterion: Annotated[list[str], Field(min_length=1)] | None = Field(
        None, description="What was to decide, written before anything was measured."
    )
    commit: Commit | None = Field(None, description="The commit that was measured.")
    arms: Annotated[dict[str, str], Field(min_length=1)] | None = Field(
        None, description="What was compared, by arm."
    )
    metric: Text | None = Field(None, description="What was measured, with its unit.")
    estimate: Ratio | None = Field(None, description="The measured ratio B/A.")
    interval: Annotated[list[Ratio], Field(min_length=2, max_length=2)] | None = Field(
        None, description="Interval of the ratio."
    )
    confidence: Number | None = Field(None, gt=0, lt=1, description="Confidence of the interval.")
    outcome: Literal["accept", "veto", "undecided"] | None = Field(
        None, description="What the registered criterion decided."
    )
    lesson: Text | None = Field(None, description="What the next one should know.")
    reopen: Text | None = Field(None, description="What would make it worth another try.")
    registered: Slug | None = Field(None, description="The earlier row that registered the criterion.")
    corrects: Slug | None = Field(None, description="The earlier row that this one corrects.")

    @model_validator(mode="after")
    def _is_complete(self) -> "Row":
        missing = [key for key in _NEEDED[self.verdict] if getattr(self, key) is None]
        if missing:
            raise ValueError(f"a row with verdict {self.verdict} needs {' and '.join(map(repr, missing))}")
        if self.verdict == "registered" and (self.outcome or self.interval):
            raise ValueError("a registered row precedes the measurement; its result is a row of its own")
        if self.interval is not None and self.interval[0] > self.interval[1]:
            raise ValueError(f"the interval {self.interval} ends before it begins")
        return self

    def stated(self) -> dict[str, Any]:
        """Give the keys that the row states, in the order of this class."""
        return self.model_dump(exclude_none=True)

    def text(self) -> str:
        """Give everything that a search may find."""
        return " ".join(map(str, self.stated().values())).lower()


def make_row(stated: Mapping[str, Any]) -> Row:
    """Make a row of what a command states, leaving out what is None.

    Raises:
        UsageError: It is no complete row; says everything that is wrong.
    """
    data = {key: value for key, value in stated.items() if value is not None}
    try:
        return Row.model_validate(data)
    except ValidationError as error:
        raise UsageError("\n".join(explain(Row, data, error))) from None
