"""Compare the quantized matrix-vector products of decode with the card's read rate.

Run on a GPU, in the repository's root:

    python benchmarks/matvec.py [--json FILE] [--sweep] [--peer PROGRAM]

PROGRAM is llama.cpp's product, as benchmarks/llama_cpp/build.sh builds it. Every shape is timed in the order
ours, llama.cpp, ours: over as many copies of the weights and with the vector's quantization on both sides.
"""

import argparse
import json
import sys
from dataclasses import asdict
from pathlib import Path
from statistics import fmean
from typing import Any

import torch
import triton
import yaml

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks import courses
from benchmarks.llama_cpp.peer import Peer
from benchmarks.quantized import Calls, Shape, ways
from benchmarks.timing import read_rate, time_calls
from guardrail.kernels.kquants import activations, cuda_quantize

SHAPES = (
    Shape("lm_head", "q6_k", 152_064, 5_120),
    Shape("lm_head", "q6_k", 152_064, 3_584),
    Shape("gate_up", "q6_k", 27_648, 5_120),
    Shape("ffn_down", "q6_k", 5_120, 13_824),
    Shape("ffn_down", "q6_k", 3_584, 18_944),
    Shape("attn_v", "q6_k", 1_024, 5_120),
    Shape("lm_head", "q4_k", 152_064, 5_120),
    Shape("gate_up", "q4_k", 27_648, 5_120),
    Shape("gate_up", "q4_k", 37_888, 3_584),
    Shape("ffn_down", "q4_k", 5_120, 13_824),
    Shape("ffn_down", "q4_k", 3_584, 18_944),
    Shape("attn_q", "q4_k", 5_120, 5_120),
    Shape("attn_k", "q4_k", 1_024, 5_120),
)
_PROFILES = Path(__file__).resolve().parents[1] / "profiles" / "models"
_MODELS = ("qwen2.5-7b", "qwen2.5-14b")
_TOLERANCE = 1e-6
"""Relative norm: float32 sums of some hundred terms, each rounded a few times."""


def main() -> None:
    """Check, measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", type=Path, help="file to write the numbers to")
    parser.add_argument("--sweep", action="store_true", help="try divisions of the work too")
    parser.add_argument(
        "--peer", type=Path, metavar="PROGRAM", help="llama.cpp's product to time beside ours"
    )
    arguments = parser.parse_args()
    peer = Peer(arguments.peer) if arguments.peer else None
    if peer:
        # A program that does not load or computes something else is told before the long part.
        _measure_peer(peer, SHAPES[-1])
    seed = int(torch.randint(2**31, [1]))
    rates = [read_rate()]
    print(
        f"{torch.cuda.get_device_name()}, torch {torch.__version__}, triton {triton.__version__}, seed {seed}"
    )
    _check_quantization(seed)
    for shape in sorted({*SHAPES, *_model_shapes()}, key=lambda shape: (shape.quantization, shape.rows)):
        _check(shape, seed)
    print("times in microseconds, quantization of the vector included, cold L2; rates in TB/s")
    print(
        f"{'product':>28} {'arm':>16} {'time':>8} {'content':>8} {'of read':>8} {'streamed':>9} {'floor':>7}"
        + (f" {'llama.cpp':>10} {'/ ours':>7}" if peer else "")
    )
    results = [result for shape in SHAPES for result in _measure(shape, rates[0], seed, peer)]
    if arguments.sweep:
        courses.sweep(SHAPES, rates[0], seed)
    rates.append(read_rate())
    print(f"read rate {rates[0] / 1e12:.3f} TB/s before, {rates[1] / 1e12:.3f} after")
    if arguments.json:
        report = {"device": torch.cuda.get_device_name(), "torch": torch.__version__}
        report |= {"triton": triton.__version__, "read_bytes_per_second": rates, "results": results}
        arguments.json.write_text(json.dumps(report, indent=1))


def _model_shapes() -> list[Shape]:
    """List every q4_K and q6_K matrix of the profiles."""
    shapes = []
    for model in _MODELS:
        profile = yaml.safe_load((_PROFILES / f"{model}.yaml").read_text())
        shapes += [
            Shape(tensor["name"], tensor["quantization"], tensor["rows"], tensor["columns"])
            for tensor in profile["tensors"]
            if tensor["quantization"] in ("q4_k", "q6_k")
        ]
    return shapes


def _check_quantization(seed: int) -> None:
    """Compare the quantization in CUDA C++ with the torch reference, byte for byte."""
    drawn = torch.Generator("cuda").manual_seed(seed)
    for dtype in (torch.float32, torch.float16, torch.bfloat16):
        vector = (torch.randn(18_944, generator=drawn, device="cuda") * 3).to(dtype)
        vector[:32] = 0
        expected = activations.quantize(vector)
        groups = torch.full_like(expected, 255)
        cuda_quantize.quantize_into(vector, groups)
        if not torch.equal(groups, expected):
            raise SystemExit(f"quantization of {dtype}, seed {seed}: other bytes than the reference")


def _check(shape: Shape, seed: int) -> None:
    """Compare every way with float64, and the layouts of one toolkit with each other, byte for byte."""
    raw = shape.random_raw(seed)
    groups = activations.quantize(torch.randn(shape.columns, device="cuda"))
    expected = shape.product(raw, groups)
    outputs: dict[str, torch.Tensor] = {}
    for way in ways(shape.quantization, shape.columns):
        output = torch.full((shape.rows,), torch.nan, device="cuda")
        way.launch(way.arm, way.layout(raw), groups, output)
        error = float(((output.double() - expected).norm() / expected.norm()).nan_to_num(torch.inf))
        if not error < _TOLERANCE:
            raise SystemExit(f"{shape}, {way.toolkit} {way.arm}, seed {seed}: relative error {error:.1e}")
        twin = outputs.setdefault(way.toolkit, output)
        if not torch.equal(output.view(torch.int32), twin.view(torch.int32)):
            raise SystemExit(f"{shape}, {way.toolkit} {way.arm}, seed {seed}: other bits than its twin")
    print(f"{shape}: {len(outputs)} toolkits below {_TOLERANCE} of float64, twins equal", flush=True)


def _measure_peer(peer: Peer, shape: Shape) -> dict[str, Any]:
    return peer.measure(shape.quantization, shape.rows, shape.columns, shape.copies)


def _measure(shape: Shape, rate: float, seed: int, peer: Peer | None) -> list[dict[str, Any]]:
    prepared = [(way, Calls.make(shape, way, seed)) for way in ways(shape.quantization, shape.columns)]
    rounds = [[time_calls(calls.of(way)) for way, calls in prepared]]
    measured_peer = None
    if peer:
        measured_peer = _measure_peer(peer, shape)
        rounds.append([time_calls(calls.of(way)) for way, calls in prepared])
    floor = shape.content_bytes / rate * 1e6
    results = []
    for (way, calls), medians in zip(prepared, zip(*rounds, strict=True), strict=True):
        result = {
            **asdict(shape),
            "toolkit": way.toolkit,
            "arm": way.arm,
            "microseconds": fmean(medians),
            "floor_microseconds": floor,
            "content_bytes": shape.content_bytes,
            "streamed_bytes": calls.streamed_bytes,
        }
        if measured_peer:
            ratio = measured_peer["median_microseconds"] / result["microseconds"]
            result |= {"rounds_microseconds": medians, "peer": measured_peer, "peer_ratio": ratio}
        _print(shape, result)
        results.append(result)
    return results


def _print(shape: Shape, result: dict[str, Any]) -> None:
    microseconds, floor = result["microseconds"], result["floor_microseconds"]
    content, streamed = (result[size] / microseconds / 1e6 for size in ("content_bytes", "streamed_bytes"))
    title = f"{shape.name} {shape.quantization} {shape.rows}x{shape.columns}"
    line = (
        f"{title:>28} {result['toolkit']:>6} {result['arm']:>9} {microseconds:8.2f} {content:8.2f} "
        f"{floor / microseconds:8.1%} {streamed:9.2f} {floor:7.2f}"
    )
    if "peer" in result:
        line += f" {result['peer']['median_microseconds']:10.2f} {result['peer_ratio']:7.2f}"
    print(line, flush=True)


if __name__ == "__main__":
    main()
