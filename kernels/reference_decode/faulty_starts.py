"""Starts of engines with one deliberate defect each: negative controls of the ``decode`` probe."""

from dataclasses import dataclass, replace
from typing import Any

import torch

from guardrail.families.decode import DecodeOptions
from guardrail.families.models import ModelProfile
from guardrail.kernels.kquants.matrix import QuantizedMatrix
from guardrail.kernels.q6k import blocks as q6k
from guardrail.kernels.q6k.weights import Q6KWeights
from guardrail.kernels.reference_decode.engine import DecodeEngine
from guardrail.kernels.reference_decode.geometry import Geometry
from guardrail.kernels.reference_decode.start import Assembly
from guardrail.kernels.reference_decode.step import Step

_PAUSED_CYCLES = 150_000
"""80 us at 1.9 GHz: 5% of a step of 7B's geometry on an H200."""


def start_with_late_scratch(model: ModelProfile, options: DecodeOptions, device: str) -> DecodeEngine:
    """Allocate attention scratch only when batches are built, after the budget was fixed."""
    return Assembly(scratch_at_load=False).start(model, options, device)


def start_without_scales_in_budget(model: ModelProfile, options: DecodeOptions, device: str) -> DecodeEngine:
    """Count packed keys and values alone, and not the scales beside them."""
    return Assembly(token_bytes=_packed_bytes).start(model, options, device)


def start_without_planes(model: ModelProfile, options: DecodeOptions, device: str) -> DecodeEngine:
    """Ask for dense planes, and find none."""
    return Assembly(make_matrix=_matrix_without_plane).start(model, options, device)


def start_slowly(model: ModelProfile, options: DecodeOptions, device: str) -> DecodeEngine:
    """Leave the GPU idle at the end of every step."""
    return Assembly(wrap=lambda step: _PausingStep(**step_fields(step))).start(model, options, device)


def start_with_frozen_capture(model: ModelProfile, options: DecodeOptions, device: str) -> DecodeEngine:
    """Let a captured step start from token 0, whatever the token is."""
    return Assembly(wrap=lambda step: _FrozenStep(**step_fields(step))).start(model, options, device)


def _packed_bytes(geometry: Geometry) -> int:
    return geometry.layers * geometry.kv_heads * geometry.head_size


def _matrix_without_plane(
    name: str, quantization: str, raw: torch.Tensor, device: str, *, plane: bool, **rest: Any
) -> QuantizedMatrix:
    if quantization != "q6_k":
        return QuantizedMatrix.from_raw(name, quantization, raw, device, plane=plane, **rest)
    columns = raw.shape[1] * 256
    weights = Q6KWeights(q6k.pad(raw), columns, None, wants_plane=plane)
    return QuantizedMatrix(name, weights, raw.numel(), **rest)


def step_fields(step: Step) -> dict[str, Any]:
    """Give what a step is made of, to make another one of it."""
    return {name: getattr(step, name) for name in Step.__dataclass_fields__}


@dataclass(frozen=True, slots=True)
class _PausingStep(Step):
    def run(self) -> None:
        Step.run(self)
        torch.cuda._sleep(_PAUSED_CYCLES)


@dataclass(frozen=True, slots=True)
class _FrozenStep(Step):
    def run(self) -> None:
        if not torch.cuda.is_current_stream_capturing():
            Step.run(self)
            return
        fixed = replace(self.buffers, tokens=torch.zeros_like(self.buffers.tokens))
        Step.run(Step(self.model, self.attention, self.cache, fixed, self.context))
