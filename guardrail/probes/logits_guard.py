"""What a guard on first-step logits may state."""

from typing import Annotated

from pydantic import Field, model_validator

from guardrail.families import Engine, Mode
from guardrail.probes.engine_settings import EngineSettings
from guardrail.spec.fields import Text
from guardrail.spec.guards import Guard
from guardrail.spec.profiles import Count

AGAINST_REFERENCE = frozenset(
    {"max_abs_delta", "mean_abs_delta", "kl", "argmax_differs", "rounding_multiple"}
)
BETWEEN_BATCHES = frozenset({"batch_max_abs_delta", "batch_multiple"})

TokenId = Annotated[int, Field(ge=0)]
Prompt = Annotated[list[TokenId], Field(min_length=1)]
OneMode = Annotated[Mode, Field(strict=False)]


class PromptWorkload(EngineSettings):
    """What an engine is started with, and the prompts that it is given."""

    model: str = Field(description="Model profile whose geometry the engine has, with random weights.")
    prompt_tokens: Count = Field(4, description="Tokens of each prompt, drawn with a seed.")
    prompts: Annotated[list[Prompt], Field(min_length=1)] | None = Field(
        None, description="Token ids of each sequence, equally many, in place of drawn ones."
    )

    @model_validator(mode="after")
    def _equally_long(self) -> "PromptWorkload":
        if self.prompts and len({len(prompt) for prompt in self.prompts}) > 1:
            raise ValueError("prompts are equally long; give others a guard of their own")
        return self


class LogitsGuard(Guard):
    """A guard on the logits of an engine's first step."""

    workload: PromptWorkload = Field(description="What the engines are started with and given.")
    reference: Text | None = Field(
        None, description="Arm that the reference is forced to, or start of another engine: module:function."
    )
    pair: EngineSettings | None = Field(
        None, description="Settings of a second reference engine; what the two differ by is rounding."
    )
    modes: Annotated[list[OneMode], Field(min_length=1)] = Field(
        default=[Mode.EAGER], description="How steps are launched: eager, captured."
    )
    batches: Annotated[list[Count], Field(min_length=1)] = Field(
        default=[1], description="Sequences of a step; the engine is started with each of these."
    )
    devices: list[str] = Field(
        default=[], description="Device profiles that the guard is for; skipped on every other machine."
    )

    @model_validator(mode="after")
    def _bounds_have_what_they_need(self) -> "LogitsGuard":
        bounded = set(self.require)
        if bounded == {"argmax_differs"}:
            raise ValueError("the same argmax is no proof of right logits; bound max_abs_delta too")
        if self.pair is None and "rounding_multiple" in bounded:
            raise ValueError("rounding_multiple needs 'pair', a second reference engine")
        if "differing_logits" in bounded and len(set(self.modes)) < 2:
            raise ValueError("differing_logits compares modes: [eager, captured]")
        if BETWEEN_BATCHES & bounded and (1 not in self.batches or max(self.batches) == 1):
            raise ValueError(f"{sorted(BETWEEN_BATCHES & bounded)[0]} compares batches: 1 and a larger one")
        prompts = self.workload.prompts
        if prompts is not None and len(prompts) < max(self.batches):
            raise ValueError(f"{len(prompts)} prompts are too few for a batch of {max(self.batches)}")
        return self

    @property
    def models(self) -> tuple[str, ...]:
        """Name the model profile that the measurements depend on."""
        return (self.workload.model,)

    @property
    def references(self) -> tuple[str, ...]:
        """Name the code that the measurements depend on besides the subject's."""
        return (self.reference,) if self.reference and ":" in self.reference else ()

    def reference_start(self, subject: Engine) -> str | None:
        """Give the start of the reference engine; None where the subject has no such."""
        if self.reference is None:
            return subject.reference
        if ":" in self.reference:
            return self.reference
        return subject.forced_arms.get(self.reference)
