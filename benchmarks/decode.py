"""Decode with the reference engine, and compare a step with the time of reading its weights once.

Run on a GPU, in the repository's root, with guardrail's base dependencies, torch and triton:

    python benchmarks/decode.py [--model qwen2.5-7b] [--context 0 1641] [--threshold 0 4000000] [--json FILE]
"""

import argparse
import json
import sys
from collections import Counter
from pathlib import Path
from statistics import median
from typing import Any

import torch
import triton

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.timing import read_rate
from guardrail.compiled.architectures import ARCHITECTURES
from guardrail.families import DecodeOptions, Mode, ModelProfile, RunningEngine
from guardrail.kernels.reference_decode.start import start
from guardrail.spec.profile_files import load_profiles
from guardrail.stats.intervals import median_interval

ROOT = Path(__file__).resolve().parents[1]
_CONFIDENCE = 0.95
_PROMPT = (3, 5, 7, 11)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model", nargs="+", default=["qwen2.5-7b", "qwen2.5-14b"])
    parser.add_argument("--context", nargs="+", type=int, default=[0, 1641, 3254])
    parser.add_argument("--new-tokens", type=int, default=128)
    parser.add_argument("--repeats", type=int, default=9, help="runs at each context, 6 or more")
    parser.add_argument("--threshold", nargs="+", type=int, default=[0, 4_000_000])
    parser.add_argument("--weights", help="GGUF file instead of random weights")
    parser.add_argument("--json", type=Path, help="file to write the numbers to")
    arguments = parser.parse_args()
    profiles = load_profiles(ROOT / "guards.yaml", frozenset(ARCHITECTURES)).models
    report: dict[str, Any] = {
        "device": torch.cuda.get_device_name(),
        "torch": torch.__version__,
        "triton": triton.__version__,
        "results": [],
    }
    print(f"{report['device']}, torch {torch.__version__}, triton {triton.__version__}")
    for name in arguments.model:
        for threshold in arguments.threshold:
            report["results"] += _measure(profiles[name], threshold, arguments)
            torch.cuda.empty_cache()
    if arguments.json:
        arguments.json.write_text(json.dumps(report, indent=1) + "\n")


def _measure(model: ModelProfile, threshold: int, arguments: argparse.Namespace) -> list[dict[str, Any]]:
    """Start one engine and time it at every context."""
    options = DecodeOptions(
        context=max(arguments.context) + len(_PROMPT) + arguments.new_tokens,
        weights=arguments.weights,
        matvec_threshold=threshold,
    )
    engine = start(model, options, "cuda")
    logits = {mode: engine.first_step_logits([_PROMPT], mode).logits[0] for mode in engine.modes}
    eager, captured = logits[Mode.EAGER], logits[Mode.CAPTURED]
    print(f"\n{model.name}, matrix-vector products from {threshold} elements on")
    print(f"  weights a step {engine.weight_bytes_per_step / 1e9:.3f} GB; KV budget {engine.budget}")
    print(
        f"  logits: deviation {eager.std():.3f}, largest {eager.max():.3f}, argmax {int(eager.argmax())}; ",
        end="",
    )
    print(f"captured differs in {int((eager.view(torch.int32) != captured.view(torch.int32)).sum())} of them")
    for line in _arms(engine):
        print(f"  {line}")
    print(
        f"{'context':>9}{'ms a step':>11}{'95% interval':>18}{'tokens/s':>10}{'floor ms':>10}{'fraction':>10}"
    )
    return [_row(engine, model, threshold, context, arguments) for context in arguments.context]


def _row(
    engine: RunningEngine, model: ModelProfile, threshold: int, context: int, arguments: argparse.Namespace
) -> dict[str, Any]:
    engine.decode([_PROMPT], arguments.new_tokens, Mode.CAPTURED, context)
    steps, rates = [], []
    for _ in range(arguments.repeats):
        rates.append(read_rate())
        seconds = engine.decode([_PROMPT], arguments.new_tokens, Mode.CAPTURED, context).seconds
        steps.append(sum(seconds) / len(seconds) * 1e3)
    step, rate = median(steps), median(rates)
    low, high = median_interval(steps, _CONFIDENCE)
    floor = engine.weight_bytes_per_step / rate * 1e3
    interval = f"{low:.4f} to {high:.4f}"
    print(
        f"{context:>9}{step:>11.4f}{interval:>18}{1e3 / step:>10.1f}{floor:>10.4f}{floor / step:>10.1%}",
        flush=True,
    )
    return {
        "model": model.name,
        "threshold": threshold,
        "context": context,
        "ms_per_step": steps,
        "read_bytes_per_second": rates,
        "weight_bytes_per_step": engine.weight_bytes_per_step,
        "weight_stream_fraction": floor / step,
    }


def _arms(engine: RunningEngine) -> list[str]:
    """Say how many matrices of a kind each arm serves."""
    kinds = Counter((row.tensor.rpartition(".")[2], row.arm) for row in engine.arms())
    return [f"{tensor}: {arm} x {count}" for (tensor, arm), count in kinds.items()]


if __name__ == "__main__":
    main()
