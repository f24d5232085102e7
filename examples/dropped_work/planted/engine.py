"""The reference decode engine behind the planted gate."""

from guardrail.families import DecodeOptions, ModelProfile, RunningEngine
from guardrail.kernels.reference_decode.start import Assembly
from planted.gate import pick_unbounded


def start(model: ModelProfile, options: DecodeOptions, device: str) -> RunningEngine:
    """Start the engine with every other part as it should be."""
    return Assembly(pick_q6k=pick_unbounded).start(model, options, device)
