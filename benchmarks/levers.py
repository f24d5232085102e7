"""Measure what was proposed to make the quantized products faster, with its arithmetic and criterion.

Run on a GPU, in the repository's root; prints one JSON object a lever:

    python benchmarks/levers.py
"""

import json
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.quantized import Calls, Shape, Way, ways
from benchmarks.timing import time_calls
from guardrail.kernels.kquants import cuda_module
from guardrail.kernels.kquants.cuda_course import Course
from guardrail.kernels.kquants.cuda_prefetch import blocks_per_iteration, can_prefetch
from guardrail.kernels.q6k import cuda_matvec, geometry

_GATE_UP = Shape("gate_up", "q6_k", 27_648, 5_120)
_FFN_DOWN = Shape("ffn_down", "q6_k", 5_120, 13_824)
_ROUNDS = 5
_NOISE = 0.01
"""Share of the time below which a difference is none."""
_LLAMA_WARPS, _LLAMA_LANES_PER_BLOCK = 4, 8
_ROW_BLOCKS = {"5120 elements": 20, "13824 elements (ffn_down, 14B)": 54, "3584 elements": 14}


def main() -> None:
    """Print every lever."""
    for lever in (_register_squeeze, _right_sizing, _pipelining, _l2_prefetch):
        for row in lever():
            print(json.dumps(row), flush=True)


def _register_squeeze() -> Iterator[dict[str, Any]]:
    """Cap registers so that one more block fits an SM."""
    way, calls = _cuda(_GATE_UP, "v2_dpl")
    shipped = Course(threads=256, lanes_per_row=32, tasks_per_lane=3, blocks_per_sm=2)
    squeezed = replace(shipped, blocks_per_sm=shipped.blocks_per_sm + 1)
    resources = {course: _resources(course, way.arm, len(calls.groups)) for course in (shipped, squeezed)}
    yield _compared(
        "register squeeze",
        f"{shipped.blocks_per_sm} blocks of {shipped.threads} threads hold {resources[shipped][0]} registers "
        f"a thread; a cap of {resources[squeezed][0]} lets {squeezed.blocks_per_sm} fit, and "
        f"{resources[squeezed][1]} bytes a thread go to local memory",
        {name: calls.of(way, course=course) for name, course in (("base", shipped), ("lever", squeezed))},
    )


def _right_sizing() -> Iterator[dict[str, Any]]:
    """Fit the lanes of a row to the 160 units of 5,120 elements, two a lane."""
    way, calls = _cuda(_GATE_UP, "v2_dpl")
    wide = Course(threads=512, lanes_per_row=128, tasks_per_lane=1, blocks_per_sm=2)
    for lanes, tiled, blocks in ((64, 2, 1), (32, 3, 1), (16, 5, 1)):
        fitted = Course(
            threads=512 if lanes > 16 else 256,
            lanes_per_row=lanes,
            tasks_per_lane=tiled,
            blocks_per_sm=blocks,
        )
        yield _compared(
            f"right-sizing to {lanes} lanes a row",
            f"128 lanes for 80 tasks leave 48 idle; {lanes} lanes with {tiled} tasks each leave "
            f"{lanes * tiled - 80} places empty",
            {"base": calls.of(way, course=wide), "lever": calls.of(way, course=fitted)},
        )


def _pipelining() -> Iterator[dict[str, Any]]:
    """Load a row whole instead of looping over it."""
    for toolkit in ("cuda", "triton"):
        for way in ways(_FFN_DOWN.quantization, _FFN_DOWN.columns):
            if way.toolkit == toolkit:
                calls = Calls.make(_FFN_DOWN, way, seed=0)
                loop = replace(way, arm=way.arm.replace("v2_pf", "v2"))
                # In CUDA C++ the loop, too, is given a tile smaller than the row: else the two are the same.
                options = {"course": Course(512, 128, 1, 1)} if toolkit == "cuda" else {}
                yield _compared(
                    f"{toolkit} {way.arm} instead of {loop.arm}",
                    "432 units are two tiles of 256: all loads of a row are sent for before one is used",
                    {"base": calls.of(loop, **options), "lever": calls.of(way)},
                )


def _l2_prefetch() -> Iterator[dict[str, Any]]:
    """Veto prefetching into L2 by its arithmetic: nothing is built."""
    ahead = blocks_per_iteration(_LLAMA_WARPS, _LLAMA_LANES_PER_BLOCK)
    possible = [name for name, row_blocks in _ROW_BLOCKS.items() if can_prefetch(row_blocks, ahead)]
    yield {
        "lever": "L2 prefetch",
        "mechanism": f"an iteration takes {ahead} blocks, and two of them are fetched ahead",
        "criterion": f"a row has more than {2 * ahead} blocks",
        "measured": {"rows that qualify": possible, "rows that do not": sorted({*_ROW_BLOCKS} - {*possible})},
        "verdict": "not built",
    }


def _cuda(shape: Shape, arm: str) -> tuple[Way, Calls]:
    way = next(
        way for way in ways(shape.quantization, shape.columns) if (way.toolkit, way.arm) == ("cuda", arm)
    )
    return way, Calls.make(shape, way, seed=0)


def _compared(name: str, mechanism: str, calls: dict[str, list[Callable[[], None]]]) -> dict[str, Any]:
    """Time base and lever in turns; the median of the ratios decides."""
    rounds = [{side: time_calls(side_calls) for side, side_calls in calls.items()} for _ in range(_ROUNDS)]
    ratio = sorted(each["lever"] / each["base"] for each in rounds)[_ROUNDS // 2]
    return {
        "lever": name,
        "mechanism": mechanism,
        "criterion": f"time below {1 - _NOISE:.2f} of the base, median of {_ROUNDS} rounds",
        "measured": {"ratio": round(ratio, 4), "microseconds": rounds},
        "verdict": "faster" if ratio < 1 - _NOISE else "slower" if ratio > 1 + _NOISE else "no difference",
    }


def _resources(course: Course, arm: str, units: int) -> tuple[int, int]:
    """Read registers a thread and local bytes a thread off the driver."""
    product = cuda_matvec.product(arm, units, geometry.BLOCK_UNITS)
    return cuda_module.load(product.source, product.kernel, product.compiled_with(course)).resources()


if __name__ == "__main__":
    if not cuda_module.available():
        raise SystemExit("the levers are measured on a CUDA device, with cuda-core and NVRTC")
    torch.cuda.init()
    main()
