"""The shape of ``guards.yaml``."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field, model_validator

from guardrail.records.measurement import Metric
from guardrail.spec.anchors import Anchor, Anchors, PastAnchor, Slack
from guardrail.spec.fields import Number, Slug, Strict

Limit = Number | Annotated[dict[str, Number], Field(min_length=1)]
"""One number for every measurement, or one for each architecture, device profile or model profile."""

MAX_ANCHOR_DAYS = 180
"""Age from which on an anchor is reported, where its bound states none."""


class Bound(Strict):
    """What a metric must hold: one number, a floor, a ceiling or both, or a limit derived from an anchor."""

    model_config = ConfigDict(
        json_schema_extra={
            "anyOf": [{"required": [key]} for key in ("equals", "floor", "ceiling", "slack")],
            "dependentSchemas": {
                "equals": {"not": {"anyOf": [{"required": ["floor"]}, {"required": ["ceiling"]}]}},
                "slack": {"not": {"anyOf": [{"required": [key]} for key in ("equals", "floor", "ceiling")]}},
            },
            "dependentRequired": {key: ["slack"] for key in ("side", "max_age_days", "anchor", "history")},
        }
    )

    equals: Limit | None = Field(None, description="The only accepted value.")
    floor: Limit | None = Field(None, description="The smallest accepted value.")
    ceiling: Limit | None = Field(None, description="The largest accepted value.")
    slack: Slack | None = Field(
        None, description="How far the metric may fall short of its anchor, as a percentage: 2%."
    )
    side: Literal["floor", "ceiling"] | None = Field(
        None, description="The limit that slack and anchor give; a floor where left out."
    )
    max_age_days: int | None = Field(
        None, ge=1, description=f"Age from which on the anchor is reported; {MAX_ANCHOR_DAYS} where left out."
    )
    anchor: Anchors | None = Field(None, description="Written by 'guardrail reanchor'.")
    history: list[PastAnchor] = Field(default_factory=list, description="Superseded anchors, oldest first.")

    @model_validator(mode="after")
    def _states_something(self) -> "Bound":
        written = [key for key in ("equals", "floor", "ceiling") if getattr(self, key) is not None]
        if self.slack is None:
            if not written:
                raise ValueError("a bound needs 'equals', 'floor', 'ceiling' or 'slack'")
            if derived := self.model_fields_set & {"side", "max_age_days", "anchor", "history"}:
                raise ValueError(f"{sorted(derived)[0]!r} goes with 'slack' only")
        elif written:
            raise ValueError(
                f"'slack' derives the bound from an anchor, so it does not go with {written[0]!r}"
            )
        if self.equals is not None and (self.floor is not None or self.ceiling is not None):
            raise ValueError("'equals' goes with neither 'floor' nor 'ceiling'")
        if (
            isinstance(self.floor, int | float)
            and isinstance(self.ceiling, int | float)
            and self.floor > self.ceiling
        ):
            raise ValueError(f"no number is at least {self.floor} and at most {self.ceiling}")
        return self

    def keys(self) -> frozenset[str]:
        """Collect the profile and architecture names that the bound is keyed by."""
        stated = (self.equals, self.floor, self.ceiling, self.anchor)
        return frozenset(key for limit in stated if isinstance(limit, dict) for key in limit)

    def anchors(self) -> dict[str | None, Anchor]:
        """List the anchors in force by their profile; None for one that has none."""
        if isinstance(self.anchor, Anchor):
            return {None: self.anchor}
        keyed: Iterable[tuple[str | None, Anchor]] = (self.anchor or {}).items()
        return dict(keyed)


class Guard(Strict):
    """One guard: a subject, a probe, and bounds on the probe's metrics."""

    id: Slug = Field(description="Stable name, unique in the file.")
    title: Annotated[str, Field(min_length=1)] = Field(description="What holds when the guard is green.")
    probe: str = Field(description="The probe that measures the subject.")
    subject: Annotated[str, Field(min_length=1)] = Field(
        description="family.name of a bundled family, module:family.name of your own, or a file."
    )
    require: Annotated[dict[str, Bound], Field(min_length=1)] = Field(description="Bounds by metric.")
    control: str | None = Field(
        None, description="A subject that must turn the guard red, for one whose manifest states none."
    )


class GuardsFile(Strict):
    """The whole of a guards file."""

    version: Literal[1] = Field(description="Version of the format.")
    guards: list[Any] = Field(description="The guards, each with the keys and metrics of its probe.")


@dataclass(frozen=True, slots=True)
class GuardKind:
    """What a probe asks of its guards: their keys and the metrics they may bound."""

    model: type[Guard]
    metrics: Mapping[str, Metric]
    names_metrics: bool = False
    """True where a guard names its metrics itself, under its key ``metrics``."""


@dataclass(frozen=True, slots=True)
class LoadedGuard:
    """A guard with its places in the file."""

    guard: Guard
    line: int
    bound_lines: Mapping[str, int]
    """Line of each metric's bound."""
