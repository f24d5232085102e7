"""Run an engine in a worker for the logits of its first steps."""

from collections.abc import Mapping, Sequence
from typing import Any

import torch

from guardrail.adapters.decode import by_arm
from guardrail.families import DecodeOptions, FirstStep, Mode, ModelProfile, RunningEngine
from guardrail.logits.packing import pack
from guardrail.probes.references import resolve


def run_first_steps(
    start: str,
    model: ModelProfile,
    options: DecodeOptions,
    batches: Sequence[Sequence[Sequence[int]]],
    modes: Sequence[str],
    with_tensors: bool,
) -> dict[str, Any]:
    """Start an engine once, and run every batch of prompts in every mode.

    Args:
        start: Reference to the engine's start.
        model: Its geometry.
        options: What it is started with.
        batches: Prompts of each batch, as many as the engine's sequences.
        modes: How steps are launched, see `Mode`.
        with_tensors: Whether to return what the engine offers beside logits.

    Returns:
        Plain data: ``steps``, a list for each mode, with packed ``logits`` and packed ``tensors`` by name for
        each batch; ``arms`` that served them, in words.
    """
    device = "cuda" if torch.cuda.is_available() else "cpu"
    running: RunningEngine = resolve(start)(model, options, device)
    steps = {
        mode: [_plain(running.first_step_logits(batch, Mode(mode)), with_tensors) for batch in batches]
        for mode in modes
    }
    return {"steps": steps, "arms": by_arm(running.arms())}


def _plain(step: FirstStep, with_tensors: bool) -> Mapping[str, Any]:
    tensors = step.tensors if with_tensors else {}
    return {
        "logits": pack(step.logits.numpy()),
        "tensors": {name: pack(tensor.numpy()) for name, tensor in tensors.items()},
    }
