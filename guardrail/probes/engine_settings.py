"""What a guard, or a command line, starts a decode engine with."""

from typing import Annotated, Any

from pydantic import AfterValidator, Field

from guardrail.families.decode import MATVEC_THRESHOLD
from guardrail.spec.fields import Strict
from guardrail.spec.profiles import Count


def _power_of_two(number: int) -> int:
    if number & (number - 1):
        raise ValueError(f"must be a power of two, and {number} is none")
    return number


class EngineSettings(Strict):
    """The start of an engine, but for its model and its sequences."""

    matvec_threshold: int = Field(
        MATVEC_THRESHOLD, ge=0, description="Elements of the smallest matrix for a matrix-vector arm."
    )
    block_units: Annotated[Count, AfterValidator(_power_of_two)] | None = Field(
        None,
        description="Units in a tile of the matrix-vector arms, a power of two; what they are shipped with "
        "where left out.",
    )
    planes: bool = Field(True, description="Whether six-bit matrices are held in dense planes.")
    memory_bytes: Count | None = Field(
        None, description="Memory of weights, scratch and KV cache; what the device has where left out."
    )

    def start_options(self) -> dict[str, Any]:
        """Give these settings as arguments of `guardrail.families.DecodeOptions`."""
        return {name: getattr(self, name) for name in EngineSettings.model_fields}
