"""Try launch shapes of the attention kernels; every one is compiled before any is timed."""

import itertools
import multiprocessing
from collections.abc import Sequence

import torch
import triton

from benchmarks.batches import Geometry, Size, make_batch, make_scratch
from benchmarks.timing import time_calls
from guardrail.kernels.int4_attention import launch, tuning

PROCESSES = 14
# A tile's address comes out of the block table, so that 3 and 4 stages both read one tile ahead, and 5 two.
SHAPES = [
    tuning.Shape(rows, tile, warps, stages)
    for rows, tile, warps, stages in itertools.product((16, 32, 64), (32, 64, 128), (4, 8), (2, 3, 5))
]
PROGRAMS_PER_PROCESSOR = (1, 2, 4, 8)
_SHORT = 512
_SHOWN = 5


def sweep(geometries: Sequence[Geometry], sizes: Sequence[Size]) -> None:
    """Print the best launch shapes and numbers of segments for each size."""
    jobs = list(itertools.product(geometries, SHAPES))
    with multiprocessing.get_context("spawn").Pool(PROCESSES) as pool:
        works = dict(zip(jobs, pool.starmap(_compiles, jobs, chunksize=2), strict=True))
    print(f"{sum(works.values())} of {len(jobs)} variants compiled", flush=True)
    for geometry, size in itertools.product(geometries, sizes):
        batch = make_batch(geometry, size, 0, "cuda")
        needed = size.query_len * batch.group
        timed = [
            (_time(batch, shape, segments), segments, shape)
            for shape in SHAPES
            if works[geometry, shape] and shape.rows < 2 * max(16, needed)
            for segments in _splits(batch, size, shape)
        ]
        print(f"{geometry}, {size}: {len(timed)} timed")
        for microseconds, segments, shape in sorted(timed, key=lambda item: item[0])[:_SHOWN]:
            print(f"  {microseconds:7.1f} us  {segments:4d} segments  {shape}", flush=True)


def _splits(batch: launch.Batch, size: Size, shape: tuning.Shape) -> list[int]:
    processors = torch.cuda.get_device_properties(0).multi_processor_count
    blocks = -(-size.query_len * batch.group // shape.rows)
    unsplit = size.sequences * batch.cache.kv_heads * blocks
    tiles = -(-size.context // shape.tile)
    return sorted({max(1, min(processors * each // unsplit, tiles)) for each in PROGRAMS_PER_PROCESSOR})


def _time(batch: launch.Batch, shape: tuning.Shape, segments: int) -> float:
    scratch, output = make_scratch(batch, segments), torch.empty_like(batch.queries)
    return time_calls([lambda: launch.run_3d(batch, output, scratch, shape)], replays=3, at_least=10)


def _compiles(geometry: Geometry, shape: tuning.Shape) -> bool:
    """Compile one shape into Triton's cache, from where every process takes it."""
    batch = make_batch(geometry, Size(1, 1, _SHORT), 0, "cuda")
    try:
        launch.run_3d(batch, torch.empty_like(batch.queries), make_scratch(batch, 2), shape)
        torch.cuda.synchronize()
    except (triton.TritonError, RuntimeError):
        # More shared memory than the device has, or more than the compiler can do.
        return False
    return True
