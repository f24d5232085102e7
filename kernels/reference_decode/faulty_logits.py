"""Starts of engines that compute wrong logits: negative controls of the ``logits`` probe."""

from dataclasses import dataclass

import torch

from guardrail.families.decode import DecodeOptions
from guardrail.families.models import ModelProfile
from guardrail.kernels.q6k.faulty_gates import pick_without_upper_bound
from guardrail.kernels.reference_decode.engine import DecodeEngine
from guardrail.kernels.reference_decode.faulty_starts import step_fields
from guardrail.kernels.reference_decode.start import Assembly
from guardrail.kernels.reference_decode.step import Step


def start_with_unbounded_gate(model: ModelProfile, options: DecodeOptions, device: str) -> DecodeEngine:
    """Send rows of any length to the pipelined arm, which covers two tiles."""
    return Assembly(pick_q6k=pick_without_upper_bound).start(model, options, device)


def start_on_token_zero(model: ModelProfile, options: DecodeOptions, device: str) -> DecodeEngine:
    """Start every step from token 0, whatever the token is."""
    return Assembly(wrap=lambda step: _ForgetfulStep(**step_fields(step))).start(model, options, device)


def start_with_unwritten_logit(model: ModelProfile, options: DecodeOptions, device: str) -> DecodeEngine:
    """Leave the last logit what it was before anything was computed."""
    return Assembly(wrap=lambda step: _UnfinishedStep(**step_fields(step))).start(model, options, device)


def start_with_shared_token(model: ModelProfile, options: DecodeOptions, device: str) -> DecodeEngine:
    """Give every sequence of a batch the token of the first."""
    return Assembly(wrap=lambda step: _SharingStep(**step_fields(step))).start(model, options, device)


@dataclass(frozen=True, slots=True)
class _ForgetfulStep(Step):
    def run(self) -> None:
        self.buffers.tokens.zero_()
        Step.run(self)


@dataclass(frozen=True, slots=True)
class _UnfinishedStep(Step):
    def run(self) -> None:
        Step.run(self)
        self.buffers.logits[:, -1] = torch.nan


@dataclass(frozen=True, slots=True)
class _SharingStep(Step):
    def run(self) -> None:
        self.buffers.tokens.copy_(self.buffers.tokens[:1].expand_as(self.buffers.tokens).clone())
        Step.run(self)
