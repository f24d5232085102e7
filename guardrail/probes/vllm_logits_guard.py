"""The keys of a guard on vLLM's logits."""

from typing import Annotated

from pydantic import Field, model_validator

from guardrail.probes.logits_guard import Prompt
from guardrail.spec.fields import Text
from guardrail.spec.guards import Guard
from guardrail.spec.profiles import Count


class VllmLogitsGuard(Guard):
    """A guard on the logits of an engine against those of another."""

    reference: Text = Field(description="Description of the engine to compare with: vllm or transformers.")
    pair: Text | None = Field(
        None, description="Description of a second reference; what the two differ by is rounding."
    )
    query_tokens: list[Annotated[int, Field(ge=2, le=64)]] = Field(
        default=[], description="Query tokens of each verify step behind the prefix cache; depth + 1."
    )
    sequences: Count = Field(2, description="Prompts to draw.")
    prompt_tokens: Count = Field(64, description="Tokens of each drawn prompt.")
    vocabulary: Count = Field(1000, description="Drawn tokens have ids below it.")
    prompts: Annotated[list[Prompt], Field(min_length=1)] | None = Field(
        None, description="Token ids of each prompt, in place of drawn ones."
    )
    devices: list[str] = Field(
        default=[], description="Device profiles that the guard is for; skipped on every other machine."
    )

    @property
    def further_files(self) -> tuple[str, ...]:
        """Name the files that the measurements depend on besides the subject."""
        return (self.reference,) if self.pair is None else (self.reference, self.pair)

    @model_validator(mode="after")
    def _bounds_have_what_they_need(self) -> "VllmLogitsGuard":
        bounded = set(self.require)
        if bounded == {"argmax_differs"}:
            raise ValueError("the same argmax is no proof of right logits; bound max_abs_delta too")
        if self.pair is None and "rounding_multiple" in bounded:
            raise ValueError("rounding_multiple needs 'pair', a second reference engine")
        if self.prompts is not None and self.model_fields_set & {"sequences", "prompt_tokens", "vocabulary"}:
            raise ValueError("'prompts' goes without 'sequences', 'prompt_tokens' and 'vocabulary'")
        shortest = min(map(len, self.prompts), default=0) if self.prompts else self.prompt_tokens
        if self.query_tokens and shortest <= max(self.query_tokens):
            raise ValueError(
                f"a prompt of {shortest} tokens leaves nothing to cache before "
                f"{max(self.query_tokens)} query tokens; make it longer by a block of the cache"
            )
        return self
