"""The keys of a guard on a serving engine."""

from typing import Annotated

from pydantic import Field, field_validator, model_validator

from guardrail.records.cache import Cache
from guardrail.spec.fields import Strict, Text
from guardrail.spec.guards import Guard
from guardrail.spec.profiles import Count
from guardrail.stats.intervals import samples_needed

CONFIDENCE = 0.95
EACH_CONFIDENCE = 0.975
"""Of two intervals that are to hold both at once with that confidence."""

TIMED = ("ms_per_step", "tokens_per_second", "isolated_tokens_per_second", "tokens_per_step")
PAIRED = ("ms_per_step_ratio", "tokens_per_second_ratio")
WARM = "warm_step_ratio"

OneCache = Annotated[Cache, Field(strict=False)]


class Workload(Strict):
    """What an engine is asked in one round."""

    requests: int = Field(
        8, ge=samples_needed(EACH_CONFIDENCE), description="Requests of a round, one by one."
    )
    prompt_tokens: Count = Field(64, description="Tokens of each prompt, drawn anew in every round.")
    vocabulary: Count = Field(1000, description="Drawn tokens have ids below it.")
    new_tokens: int = Field(64, ge=8, description="Tokens that each request generates.")
    prompts: Text | None = Field(
        None, description="File with a prompt a line, JSON text or token ids, in place of drawn ones."
    )

    @model_validator(mode="after")
    def _one_source(self) -> "Workload":
        if self.prompts is not None and "requests" in self.model_fields_set:
            raise ValueError("'requests' counts drawn prompts; with 'prompts' each line is a request")
        return self


class ServingGuard(Guard):
    """A guard on an engine that serves requests."""

    workload: Workload = Field(
        default_factory=lambda: Workload.model_validate({}),
        description="What the engine is asked in one round.",
    )
    rounds: int = Field(1, ge=1, le=100, description="Boots of an engine, or visits to a running server.")
    against: Text | None = Field(None, description="Description of another engine, asked in turns.")
    cache: OneCache = Field(
        Cache.SHARED,
        description="Compile caches: shared with the user's, one for each arm, or fresh for each boot.",
    )
    largest_load: float = Field(
        1.0, gt=0, description="Load of the host, over its processors, above which nothing is booted."
    )
    wait_seconds: float = Field(
        120.0, ge=0, description="How long to wait for a quiet machine before each boot."
    )
    devices: list[str] = Field(
        default=[], description="Device profiles that the guard is for; skipped on every other machine."
    )

    @property
    def further_files(self) -> tuple[str, ...]:
        """Name the files that the measurements depend on besides the subject."""
        return () if self.workload.prompts is None else (self.workload.prompts,)

    @field_validator("rounds")
    @classmethod
    def _suffice(cls, rounds: int) -> int:
        needed = samples_needed(CONFIDENCE)
        if 2 < rounds < needed:
            raise ValueError(
                f"{rounds} rounds are too few for an interval; write {needed} or more, 1 to take the "
                f"requests of one round as samples, or 2 for {WARM} alone"
            )
        return rounds

    @model_validator(mode="after")
    def _fits_together(self) -> "ServingGuard":
        bounded, needed = set(self.require), samples_needed(CONFIDENCE)
        if self.rounds == 2 and (timed := sorted(bounded & {*TIMED, *PAIRED})):
            raise ValueError(f"2 rounds give {timed[0]} no interval; write {needed} or more, or 1")
        if WARM in bounded and (self.cache is not Cache.ARM or self.rounds < 2):
            raise ValueError(
                f"{WARM} compares a boot that compiles with later ones that load; it needs 'cache: arm' and "
                "'rounds: 2' or more"
            )
        if paired := sorted(bounded & {*PAIRED}):
            if self.against is None:
                raise ValueError(f"{paired[0]} compares two engines; name the other one under 'against'")
            if self.rounds < needed:
                raise ValueError(f"{paired[0]} takes pairs of boots; write {needed} rounds or more")
        return self
