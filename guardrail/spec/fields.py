"""Kinds of value that the user's files are made of."""

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, FiniteFloat, StrictInt

Number = StrictInt | Annotated[FiniteFloat, Field(strict=True)]

SLUG_PATTERN = r"^[a-z0-9]+([._-][a-z0-9]+)*$"

Slug = Annotated[str, Field(pattern=SLUG_PATTERN, max_length=80)]

Text = Annotated[str, Field(min_length=1)]


class Strict(BaseModel):
    """A part of a user's file: unknown keys are refused, and no value is converted to another kind."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)
