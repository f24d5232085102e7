"""Compare the int4 attention kernels with the card's read rate and with a released vLLM.

Run on a GPU, in the repository's root, with torch and triton only:

    python benchmarks/int4_attention.py [--stock FOLDER_WITH_VLLM] [--json FILE] [--sweep]
"""

import argparse
import itertools
import json
import sys
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

import torch
import triton

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks import stock_vllm
from benchmarks.batches import Geometry, Size, make_batch, make_scratch, segments_of, with_cache
from benchmarks.sweep import sweep
from benchmarks.timing import read_rate, time_calls
from guardrail.kernels.int4_attention import launch, reference

GEOMETRIES = (Geometry(24, 4, 256), Geometry(32, 8, 128))
SIZES = tuple(
    Size(sequences, query_len, context)
    for (sequences, query_len), context in itertools.product(
        ((1, 1), (1, 8), (1, 16), (8, 8)), (6_747, 24_576, 49_152, 90_112)
    )
)
_COLUMNS = "floor,stock,stock 3D,ours,ours cold,segments,stock/ours,ours/floor,cold/floor,error,stock error"
_TOLERANCE = 2.0e-3
"""Relative norm. Weights and outputs are rounded to fp16, which gives 3e-4; the tensor cores' fp32 sums lose
more the more keys a segment has, because most of what they add up is the zero point's and comes off again."""


def main() -> None:
    """Check, measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--stock", type=Path, help="folder with vLLM's files, where it is not installed")
    parser.add_argument("--json", type=Path, help="file to write the numbers to")
    parser.add_argument("--sweep", action="store_true", help="try launch shapes instead")
    arguments = parser.parse_args()
    if arguments.sweep:
        sizes = (
            Size(1, 1, 90_112),
            Size(1, 8, 90_112),
            Size(1, 8, 6_747),
            Size(1, 16, 90_112),
            Size(8, 8, 24_576),
        )
        sweep(GEOMETRIES, sizes)
        return
    stock = stock_vllm.load(arguments.stock)
    rate = read_rate()
    report: dict[str, Any] = {
        "device": torch.cuda.get_device_name(),
        "torch": torch.__version__,
        "triton": triton.__version__,
        "vllm": stock_vllm.version() if stock else None,
        "read_bytes_per_second": rate,
        "results": [],
    }
    print(
        f"{report['device']}, torch {torch.__version__}, triton {triton.__version__}, vLLM {report['vllm']}"
    )
    print(f"read rate {rate / 1e12:.2f} TB/s; times in microseconds, median of 7 graphs of 20 calls")
    for geometry in GEOMETRIES:
        _check(geometry, stock)
        print(f"\n{geometry}\n{'batch':>18}" + "".join(f"{name:>12}" for name in _COLUMNS.split(",")))
        for size in SIZES:
            result = _measure(geometry, size, stock, rate)
            report["results"].append(result)
            _print(size, result)
    if arguments.json:
        arguments.json.write_text(json.dumps(report, indent=1))


def _check(geometry: Geometry, stock: Any | None) -> None:
    """Compare both arms, and the stock kernels, with float64 on fresh inputs."""
    seed = int(torch.randint(2**31, [1]))
    for sequences, query_len in ((1, 1), (1, 8), (1, 16), (8, 8), (2, 17)):
        size = Size(sequences, query_len, context=1_061)
        batch = make_batch(geometry, size, seed, "cuda")
        errors = {}
        for name in ("2d", "3d", *(("stock", "stock 3d") if stock else ())):
            output = torch.full_like(batch.queries, torch.nan)
            if name == "2d":
                launch.run_2d(batch, output)
            elif name == "3d":
                launch.run_3d(batch, output, make_scratch(batch, segments_of(geometry, size)))
            else:
                stock_vllm.stock_call(stock, batch, output, force_3d=name == "stock 3d")()
            errors[name] = _relative_error(batch, output)
        written = ", ".join(f"{name} {error:.1e}" for name, error in errors.items())
        print(f"{geometry}, {size}, seed {seed}: relative error {written}")
        if not max(errors["2d"], errors["3d"]) < _TOLERANCE:
            raise SystemExit(f"expected less than {_TOLERANCE}")


def _relative_error(batch: launch.Batch, output: torch.Tensor) -> float:
    """Compare an output with float64 (infinite where any element was not written)."""
    sequences = batch.seq_lens.shape[0]
    expected = reference.attention(
        batch.queries,
        batch.cache,
        batch.block_table,
        [batch.max_query_len] * sequences,
        batch.seq_lens.tolist(),
        batch.score_scale,
    )
    return float(((output.double() - expected).norm() / expected.norm()).nan_to_num(torch.inf))


def _measure(geometry: Geometry, size: Size, stock: Any | None, rate: float) -> dict[str, Any]:
    """Compare one size with float64, then time it."""
    batch = make_batch(geometry, size, 0, "cuda")
    segments = segments_of(geometry, size)
    scratch, output = make_scratch(batch, segments), torch.full_like(batch.queries, torch.nan)
    launch.run_3d(batch, output, scratch)
    errors = {"ours": _relative_error(batch, output)}
    if not errors["ours"] < _TOLERANCE:
        raise SystemExit(f"{geometry}, {size}: relative error {errors['ours']:.1e}")
    times = {"floor": size.cache_bytes(geometry) / rate * 1e6}
    times["ours"] = time_calls([lambda: launch.run_3d(batch, output, scratch)])
    if stock:
        for name, force_3d in (("stock", False), ("stock_3d", True)):
            theirs = torch.full_like(output, torch.nan)
            times[name] = time_calls([stock_vllm.stock_call(stock, batch, theirs, force_3d)])
            errors[name] = _relative_error(batch, theirs)
    l2 = torch.cuda.get_device_properties(0).L2_cache_size
    copies = max(2, 1 + -(-2 * l2 // size.cache_bytes(geometry)))
    batches = [batch, *(with_cache(batch, geometry, seed) for seed in range(1, copies))]
    times["ours_cold"] = time_calls([partial(launch.run_3d, each, output, scratch) for each in batches])
    measured = {"segments": segments, "microseconds": times, "relative_error": errors}
    return {"geometry": asdict(geometry), **asdict(size), **measured}


def _print(size: Size, result: dict[str, Any]) -> None:
    times, errors = result["microseconds"], result["relative_error"]
    ours, cold, floor = times["ours"], times["ours_cold"], times["floor"]
    cells = [
        f"{floor:.1f}",
        *(f"{times[name]:.1f}" if name in times else "-" for name in ("stock", "stock_3d")),
        f"{ours:.1f}",
        f"{cold:.1f}",
        f"{result['segments']}",
        f"{times['stock'] / ours:.1f}" if "stock" in times else "-",
        f"{ours / floor:.1f}",
        f"{cold / floor:.1f}",
        *(f"{errors[name]:.1e}" if name in errors else "-" for name in ("ours", "stock")),
    ]
    print(f"{size!s:>18}" + "".join(f"{cell:>12}" for cell in cells), flush=True)


if __name__ == "__main__":
    main()
