"""The reference decode engine behind the decoder's gate."""

from decoder.gate import pick
from guardrail.families import DecodeOptions, ModelProfile, RunningEngine
from guardrail.kernels.reference_decode.start import Assembly


def start(model: ModelProfile, options: DecodeOptions, device: str) -> RunningEngine:
    """Start the engine."""
    return Assembly(pick_q6k=pick).start(model, options, device)
