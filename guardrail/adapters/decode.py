"""Run an engine in a worker: its counts, whether its modes agree, and how long its steps take."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import torch

from guardrail.adapters.timing_rates import DRAM_READ, RateProbe, rate_probe
from guardrail.families import DecodeOptions, Engine, Mode, ModelProfile, RunningEngine, ServedTensor
from guardrail.probes.references import resolve

_MILLISECONDS = 1e3
_READS = 10


def run_engine(
    engine: Engine,
    model: ModelProfile,
    options: DecodeOptions,
    workload: Mapping[str, Any],
    seed: int,
    timed: bool,
    compared: bool,
) -> dict[str, Any]:
    """Start an engine and measure what a guard asks for.

    Args:
        engine: The subject.
        model: Its geometry.
        options: What it is started with.
        workload: Keys of `guardrail.probes.decode.Workload`.
        seed: Seed of the prompts.
        timed: Whether to time steps.
        compared: Whether to compare eager with captured steps.

    Returns:
        Plain data: ``counts`` by metric; ``compared`` by metric, a value and how much was inspected;
        ``timed`` samples by context and metric, with sentences ``beside`` them; ``arms``, ``accidents`` and
        the number of ``products``.
    """
    device = "cuda" if torch.cuda.is_available() else "cpu"
    running: RunningEngine = resolve(engine.start)(model, options, device)
    prompts = _prompts(model, workload["sequences"], workload["prompt_tokens"], seed)
    mode = Mode.CAPTURED if Mode.CAPTURED in running.modes else Mode.EAGER
    shortest = [prompt[:1] for prompt in prompts]
    running.first_step_logits(shortest, mode)
    served = running.arms()
    accidents = [row for row in served if row.accidental]
    budget = running.budget
    result: dict[str, Any] = {
        "counts": {
            "kv_tokens": budget.tokens,
            "kv_bytes_per_token": budget.bytes_per_token,
            "scratch_bytes": budget.scratch_bytes,
            "scratch_bytes_after_profile": budget.scratch_bytes_after_profile,
            "accidental_fallbacks": sum(row.calls for row in accidents),
        },
        "compared": _compare(running, prompts, workload["new_tokens"]) if compared else {},
        "timed": {},
        "beside": {},
        "arms": by_arm(served),
        "accidents": [f"{row.tensor}: {row.arm}, because {row.because}" for row in accidents],
        "products": sum(row.calls for row in served),
    }
    for context in workload["contexts"] if timed else ():
        series, rates = _time(running, prompts, workload, mode, context)
        result["timed"][str(context)] = series
        read = sorted(rates)[len(rates) // 2]
        result["beside"][str(context)] = [
            f"{mode}; a step reads {running.weight_bytes_per_step} bytes of weights, the card {read:.4g} B/s"
        ]
    return result


def _time(
    running: RunningEngine,
    prompts: Sequence[Sequence[int]],
    workload: Mapping[str, Any],
    mode: Mode,
    context: int,
) -> tuple[dict[str, list[float]], list[float]]:
    """Decode again and again, with the card's read rate measured beside each run."""
    reader = rate_probe(DRAM_READ)
    series: dict[str, list[float]] = {
        "tokens_per_second": [],
        "ms_per_step": [],
        "weight_stream_fraction": [],
    }
    rates = []
    running.decode(prompts, workload["new_tokens"], mode, context)
    for _ in range(workload["repeats"]):
        rate = _rate(reader)
        seconds = running.decode(prompts, workload["new_tokens"], mode, context).seconds
        step = sum(seconds) / len(seconds)
        series["tokens_per_second"].append(len(prompts) / step)
        series["ms_per_step"].append(step * _MILLISECONDS)
        series["weight_stream_fraction"].append(running.weight_bytes_per_step / rate / step)
        rates.append(rate)
    return series, rates


def _rate(reader: RateProbe) -> float:
    """Measure what the card reads in a second."""
    start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))  # type: ignore[no-untyped-call]
    start.record()
    for _ in range(_READS):
        reader.run()
    end.record()
    torch.cuda.synchronize()
    milliseconds: float = start.elapsed_time(end)
    return reader.amount * _READS / milliseconds * _MILLISECONDS


def _compare(
    running: RunningEngine, prompts: Sequence[Sequence[int]], new_tokens: int
) -> dict[str, tuple[int, int]]:
    """Count tokens and logits that differ between the modes; of logits, the bits count."""
    eager = running.decode(prompts, new_tokens, Mode.EAGER).tokens
    captured = running.decode(prompts, new_tokens, Mode.CAPTURED).tokens
    pairs = [
        (one, other)
        for ours, theirs in zip(eager, captured, strict=True)
        for one, other in zip(ours, theirs, strict=True)
    ]
    logits = [
        running.first_step_logits(prompts, mode).logits.view(torch.int32)
        for mode in (Mode.EAGER, Mode.CAPTURED)
    ]
    return {
        "modes_differ": (sum(one != other for one, other in pairs), len(pairs)),
        "differing_logits": (int((logits[0] != logits[1]).sum()), logits[0].numel()),
    }


def _prompts(model: ModelProfile, sequences: int, tokens: int, seed: int) -> list[list[int]]:
    generator = torch.Generator().manual_seed(seed)
    drawn: list[list[int]] = torch.randint(
        model.vocabulary or 1, (sequences, tokens), generator=generator
    ).tolist()
    return drawn


def by_arm(served: Sequence[ServedTensor]) -> list[str]:
    """Say which arm served which kind of tensor, layers together."""
    kinds = Counter((row.tensor.rpartition(".")[2], row.arm, row.because) for row in served)
    return [
        f"{tensor}: {arm} in {count} of the model's matrices" + (f", because {because}" if because else "")
        for (tensor, arm, because), count in kinds.items()
    ]
