"""The shape of ``guards.yaml``."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, FiniteFloat, StrictInt, model_validator

from guardrail.records.measurement import Metric

Number = StrictInt | Annotated[FiniteFloat, Field(strict=True)]

Limit = Number | Annotated[dict[str, Number], Field(min_length=1)]
"""One number for every measurement, or one for each architecture, device profile or model profile."""

SLUG_PATTERN = r"^[a-z0-9]+([._-][a-z0-9]+)*$"

Slug = Annotated[str, Field(pattern=SLUG_PATTERN, max_length=80)]


class Strict(BaseModel):
    """A part of a user's file: unknown keys are refused, and no value is converted to another kind."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class Bound(Strict):
    """What a metric must hold: exactly one number, or a floor, a ceiling, or both."""

    model_config = ConfigDict(
        json_schema_extra={
            "anyOf": [{"required": ["equals"]}, {"required": ["floor"]}, {"required": ["ceiling"]}],
            "dependentSchemas": {
                "equals": {"not": {"anyOf": [{"required": ["floor"]}, {"required": ["ceiling"]}]}}
            },
        }
    )

    equals: Limit | None = Field(None, description="The only accepted value.")
    floor: Limit | None = Field(None, description="The smallest accepted value.")
    ceiling: Limit | None = Field(None, description="The largest accepted value.")

    @model_validator(mode="after")
    def _states_something(self) -> "Bound":
        if self.equals is None and self.floor is None and self.ceiling is None:
            raise ValueError("a bound needs 'equals', 'floor' or 'ceiling'")
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
        limits = (self.equals, self.floor, self.ceiling)
        return frozenset(key for limit in limits if isinstance(limit, dict) for key in limit)


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


@dataclass(frozen=True, slots=True)
class LoadedGuard:
    """A guard with its places in the file."""

    guard: Guard
    line: int
    bound_lines: Mapping[str, int]
    """Line of each metric's bound."""
