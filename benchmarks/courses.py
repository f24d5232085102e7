"""Try divisions of the CUDA C++ products; every one is compiled before any is timed."""

import itertools
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import torch

from benchmarks.quantized import Calls, Shape, Way, ways
from benchmarks.timing import time_calls
from guardrail.kernels.kquants.cuda_course import TASK_UNITS, Course
from guardrail.kernels.kquants.geometry import GROUP_ELEMENTS

_COMPILERS = 14
_SHOWN = 6
_TASK_REGISTERS = {"q6_k": 15, "q4_k": 12}
_OTHER_REGISTERS = 34
_REGISTERS_PER_SM = 65_536


def sweep(shapes: Sequence[Shape], rate: float, seed: int) -> None:
    """Print the best divisions of each product.

    Args:
        shapes: The products.
        rate: Bytes that the card reads in a second.
        seed: Seed of the weights.
    """
    for shape in shapes:
        for way in ways(shape.quantization, shape.columns):
            if way.toolkit == "cuda" and way.arm in ("v2_dpl", "v2_pf_dpl", "mmvq"):
                _sweep(shape, way, rate, seed)


def _sweep(shape: Shape, way: Way, rate: float, seed: int) -> None:
    calls = Calls.make(shape, way, seed)
    candidates = list(_courses(shape, way.arm))
    with ThreadPoolExecutor(_COMPILERS) as pool:
        list(pool.map(partial(_run_once, calls, way), candidates))
    torch.cuda.synchronize()
    timed = [(time_calls(calls.of(way, course=course), replays=5), course) for course in candidates]
    floor = shape.content_bytes / rate * 1e6
    print(f"{shape}, {way.arm}: {len(timed)} divisions")
    for microseconds, course in sorted(timed, key=lambda item: item[0])[:_SHOWN]:
        print(f"  {microseconds:8.2f} us {floor / microseconds:6.1%}  {course}", flush=True)


def _run_once(calls: Calls, way: Way, course: Course) -> None:
    # The driver launches in the context of the calling thread, which a new thread has none of.
    torch.cuda.set_device(0)
    torch.cuda.current_stream().synchronize()
    calls.of(way, course=course)[0]()


def _courses(shape: Shape, arm: str) -> Iterator[Course]:
    """List divisions whose tiles stay in registers and fill at most about one row."""
    tasks = shape.columns // (GROUP_ELEMENTS * TASK_UNITS)
    axes = ((128, 256, 384, 512), (16, 32, 64, 128, 256), range(1, 6), range(1, 5))
    for threads, lanes, tiled, blocks in itertools.product(*axes):
        resident = threads * blocks
        registers = 2 * tiled * _TASK_REGISTERS[shape.quantization] + _OTHER_REGISTERS
        fits = 256 <= resident <= 1024 and resident * registers <= _REGISTERS_PER_SM
        whole = threads % lanes == 0 and (tiled - 1) * lanes < tasks and 2 * tasks > lanes
        if fits and whole and resident * tiled >= 1024:
            course = Course(threads, lanes, tiled, blocks)
            if "pf" not in arm or course == course.upfront(tasks):
                yield course
