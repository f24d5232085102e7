"""Run engines that differ in their q6_K arms alone: v1 everywhere, the production gate, the planted one."""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

import torch
from planted import engine
from planted.gate import block_units, pick_unbounded

from guardrail.families import DecodeOptions, Mode, ModelProfile, RunningEngine
from guardrail.kernels.kquants.matrix import QuantizedMatrix
from guardrail.kernels.reference_decode import start
from guardrail.kernels.reference_decode.geometry import geometry_of, has_six_bits
from guardrail.kernels.reference_decode.random_weights import RandomWeights

_TIMED_RUNS = 5
_STARTS = {"reference": start.start_with_reference_arm, "production": start.start, "planted": engine.start}


@dataclass(frozen=True, slots=True)
class Run:
    """What one engine did."""

    name: str
    arm: str
    """Arm of the six-bit ffn_down."""
    logits: torch.Tensor
    """First step of each prompt, fp32 [prompts, vocabulary]."""
    text: tuple[int, ...]
    """Greedy tokens; none of the reference, which is slow."""
    milliseconds: float | None
    """A step, captured; None without a GPU, where time means nothing."""


def options_of(model: ModelProfile, new_tokens: int) -> DecodeOptions:
    """Describe the start of a model's engine."""
    tile = block_units(model)
    context = 16 + new_tokens
    if tile is None:
        return DecodeOptions(context=context)
    return DecodeOptions(context=context, matvec_threshold=0, block_units=tile)


def run_engines(
    model: ModelProfile, device: str, prompts: Sequence[Sequence[int]], new_tokens: int
) -> list[Run]:
    """Run every engine on the same weights and prompts; text and time are those of the first prompt."""
    options = options_of(model, new_tokens)
    engines = {name: begin(model, options, device) for name, begin in _STARTS.items()}
    times = _step_times(engines, prompts[0], new_tokens) if device == "cuda" else {}
    return [
        _run(name, running, model, prompts, new_tokens, times.get(name)) for name, running in engines.items()
    ]


def _run(
    name: str,
    running: RunningEngine,
    model: ModelProfile,
    prompts: Sequence[Sequence[int]],
    new_tokens: int,
    milliseconds: float | None,
) -> Run:
    first_steps = [running.first_step_logits([prompt], Mode.EAGER).logits[0] for prompt in prompts]
    text = () if name == "reference" else running.decode(prompts[:1], new_tokens, Mode.EAGER).tokens[0]
    layers = geometry_of(model).layers
    tall = {f"blk.{i}.ffn_down" for i in range(layers) if has_six_bits("ffn_down", i, layers)}
    arm = next(row.arm for row in running.arms() if row.tensor in tall)
    return Run(name, arm, torch.stack(first_steps), text, milliseconds)


def twin_bits(model: ModelProfile, device: str) -> tuple[int, int]:
    """Compare the pipelined arm with itself: padded blocks against the dense plane, behind the planted gate.

    Returns:
        Outputs whose bits differ, and outputs.
    """
    geometry = geometry_of(model)
    name = f"blk.{geometry.layers - 1}.ffn_down"
    raw = RandomWeights(geometry, 0, device).matrix(name)
    vector = torch.randn(1, geometry.intermediate, generator=torch.Generator().manual_seed(1)).to(device)
    outputs = []
    for plane in (False, True):
        matrix = QuantizedMatrix.from_raw(
            name,
            raw.quantization,
            raw.blocks,
            device,
            plane=plane,
            threshold=0,
            pick=pick_unbounded,
            block_units=block_units(model),
        )
        out = torch.full([1, geometry.hidden], torch.nan, device=device)
        matrix.multiply(vector, out)
        outputs.append(out.view(torch.int32))
    return int((outputs[0] != outputs[1]).sum()), outputs[0].numel()


def _step_times(
    engines: dict[str, RunningEngine], prompt: Sequence[int], new_tokens: int
) -> dict[str, float]:
    """Take turns over the engines, so that a drift of the clocks meets all of them alike."""
    samples: dict[str, list[float]] = {name: [] for name in engines}
    for turn in range(_TIMED_RUNS + 1):
        for name in sorted(engines, reverse=turn % 2 == 1):
            seconds = engines[name].decode([prompt], new_tokens, Mode.CAPTURED).seconds
            if turn:
                samples[name].append(median(seconds) * 1e3)
    return {name: median(values) for name, values in samples.items()}
