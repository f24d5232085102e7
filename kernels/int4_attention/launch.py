"""Run the kernels on torch tensors; every output and scratch tensor is the caller's."""

import math
from dataclasses import dataclass, replace

import torch

from guardrail.kernels.int4_attention import rotation, tuning
from guardrail.kernels.int4_attention.attend import attend
from guardrail.kernels.int4_attention.attend_segments import attend_segments
from guardrail.kernels.int4_attention.cache_layout import CacheViews
from guardrail.kernels.int4_attention.reduce_segments import reduce_segments
from guardrail.kernels.int4_attention.rotate_rows import rotate_rows
from guardrail.kernels.int4_attention.write_cache import write_cache
from guardrail.kernels.kquants.geometry import GROUP_ELEMENTS
from guardrail.kernels.programmatic_launch import host


@dataclass(frozen=True, slots=True)
class Batch:
    """One attention call: ragged queries over a paged cache."""

    queries: torch.Tensor
    """[tokens, query heads, head size]; tokens behind the last sequence are padding. fp16 is
    fastest: other types are rounded to it, and then take the slower way to the tensor cores."""
    cache: CacheViews
    block_table: torch.Tensor
    """int32 [sequences, blocks of a sequence]."""
    seq_lens: torch.Tensor
    """Keys of each sequence, int32 [sequences]."""
    query_starts: torch.Tensor
    """First token of each sequence and the end, int32 [sequences + 1] (``cu_seqlens_q``)."""
    max_query_len: int
    score_scale: float
    """Factor on the product of query and key."""
    window: int = 0
    """Keys that a token sees at most, its own included; 0 for all."""
    softcap: float = 0.0
    """Bound of the scores; 0 for none."""
    sinks: torch.Tensor | None = None
    """Scores without a value that take part in the softmax, fp32 [query heads]."""
    signs: torch.Tensor | None = None
    """Signs of the rotation that the cache was written with, fp32 [rows of its Hadamard matrix]: queries are
    rotated, and outputs back. None where queries are rotated already and outputs are to stay so."""
    queries_rotated: bool = False
    """Whether queries were rotated with `signs` already, and outputs alone are left to rotate."""
    quantized: torch.Tensor | None = None
    """Where the 3D arm writes its outputs as q8 groups instead, uint8 [tokens, query heads * head size / 32,
    40], contiguous; a head's rows are whole groups. The 2D arm writes its outputs as they are."""
    programmatic: bool = False
    """Whether the 3D arm's kernels start while what is ahead of them in the stream still runs. In a captured
    decode step that hides their start; between other kernels it gains nothing. They read `seq_lens` and
    `query_starts` at once: the kernel ahead lets them start only when these are written."""

    @property
    def group(self) -> int:
        """Count the query heads that share one KV head."""
        return self.queries.shape[1] // self.cache.kv_heads

    def shape(self) -> tuning.Shape:
        """Choose the launch shape for the device that the batch is on."""
        # The interpreter stands in for a device; any will do.
        on_gpu = self.queries.is_cuda
        capability = torch.cuda.get_device_capability(self.queries.device) if on_gpu else tuning.HOPPER
        return tuning.shape_of(capability, self.max_query_len * self.group, self.cache.head_size)


@dataclass(frozen=True, slots=True)
class Scratch:
    """Partial results of the 3D arm; one row for each query token."""

    partials: torch.Tensor
    """fp32 [KV heads, rows, query heads of a KV head, segments, head size padded to a power of two]."""
    maxima: torch.Tensor
    """fp32 [KV heads, rows, query heads of a KV head, segments]."""
    exp_sums: torch.Tensor
    """Shaped as the maxima."""

    @property
    def rows(self) -> int:
        """Count the query tokens that it holds."""
        return self.maxima.shape[1]

    @property
    def segments(self) -> int:
        """Count the segments that a sequence is divided into."""
        return self.maxima.shape[3]


def run_2d(batch: Batch, output: torch.Tensor, shape: tuning.Shape | None = None) -> None:
    """Compute attention in one pass.

    Args:
        batch: The call.
        output: [tokens, query heads, head size]; rows of padding tokens stay untouched.
        shape: Launch shape; the device's own where none is given.
    """
    shape = shape or batch.shape()
    batch = rotate_queries(batch, output)
    attend[(_query_blocks(batch, shape), batch.cache.kv_heads, batch.seq_lens.shape[0])](
        output,
        *_inputs(batch),
        batch.sinks,
        batch.score_scale,
        *output.stride()[:2],
        *_input_strides(batch),
        **_launch_options(batch, shape),
    )
    if batch.signs is not None:
        _rotate(output, output, batch, back=True)


def run_3d(batch: Batch, output: torch.Tensor, scratch: Scratch, shape: tuning.Shape | None = None) -> None:
    """Compute attention over segments and reduce them.

    Args:
        batch: The call.
        output: [tokens, query heads, head size], where `batch.quantized` does not take the outputs; rows of
            padding tokens stay untouched.
        scratch: At least one row for each token.
        shape: Launch shape; the device's own where none is given.

    Raises:
        ValueError: The outputs are to be quantized, and the rows of a head are no whole groups.
    """
    shape = shape or batch.shape()
    batch = rotate_queries(batch, output)
    launch_segments(batch, scratch, shape)
    launch_reduction(batch, output, scratch, shape)


def rotate_queries(batch: Batch, output: torch.Tensor) -> Batch:
    """Rotate the queries of a batch that asks for it.

    Args:
        batch: The call.
        output: Where the rotated queries go: no program writes an output row before all that read the query
            row have done so, and no memory is needed.

    Returns:
        The call on rotated queries, with the length that the rotation adds taken out of the scores.
    """
    if batch.signs is None:
        return batch
    norm = rotation.block_size(batch.cache.head_size)
    batch = replace(batch, score_scale=batch.score_scale / norm)
    if batch.queries_rotated:
        return batch
    _rotate(output, batch.queries, batch, back=False)
    return replace(batch, queries=output)


def launch_segments(batch: Batch, scratch: Scratch, shape: tuning.Shape) -> None:
    """Write the partial results of every segment, from rotated queries.

    Raises:
        ValueError: The scratch has fewer rows than the batch has tokens, or other heads or head size.
    """
    _check_scratch(batch, scratch)
    blocks = _query_blocks(batch, shape)
    attend_segments[(blocks * scratch.segments, batch.cache.kv_heads, batch.seq_lens.shape[0])](
        scratch.partials,
        scratch.maxima,
        scratch.exp_sums,
        *_inputs(batch),
        batch.score_scale,
        scratch.segments,
        scratch.rows,
        *_input_strides(batch),
        **_launch_options(batch, shape),
        **host.options(scratch.partials, batch.programmatic),
    )


def launch_reduction(batch: Batch, output: torch.Tensor, scratch: Scratch, shape: tuning.Shape) -> None:
    """Combine the partial results into the outputs, and rotate these back where the batch asks for it.

    Raises:
        ValueError: The outputs are to be quantized, and the rows of a head are no whole groups.
    """
    head_size = batch.cache.head_size
    if batch.quantized is not None and head_size % GROUP_ELEMENTS:
        raise ValueError(f"a head size of {head_size} is no whole number of q8 groups of {GROUP_ELEMENTS}")
    head_padded = tuning.padded(head_size)
    if batch.signs is None:
        dims, warps = tuning.REDUCED_DIMS, tuning.REDUCTION_WARPS
    else:
        dims, warps = head_padded, tuning.rotated_reduction_warps(head_padded)
    parts = head_padded // dims
    reduce_segments[(batch.max_query_len * parts, batch.queries.shape[1], batch.seq_lens.shape[0])](
        output,
        batch.quantized,
        scratch.partials,
        scratch.maxima,
        scratch.exp_sums,
        batch.seq_lens,
        batch.query_starts,
        batch.sinks,
        batch.signs,
        scratch.segments,
        scratch.rows,
        *output.stride()[:2],
        HEAD_SIZE=head_size,
        HEAD_PADDED=head_padded,
        GROUP=batch.group,
        TILE=shape.tile,
        CHUNK=tuning.REDUCED_SEGMENTS,
        DIMS=dims,
        num_warps=warps,
        **host.options(output, batch.programmatic),
    )


def run_write(
    key: torch.Tensor,
    value: torch.Tensor,
    slots: torch.Tensor,
    cache: CacheViews,
    signs: torch.Tensor | None = None,
) -> None:
    """Quantize keys and values into the cache.

    Args:
        key: [tokens, KV heads, head size].
        value: Shaped as `key`.
        slots: Cache slot of each token, int64 [tokens]; a negative slot is skipped.
        cache: Views of the cache.
        signs: Signs to rotate keys and values with, from `rotation.signs`; None where they are rotated
            already.
    """
    write_cache[(key.shape[0], key.shape[1])](
        key,
        value,
        slots,
        signs,
        cache.key_bytes,
        cache.key_scales,
        cache.value_bytes,
        cache.value_scales,
        *key.stride()[:2],
        *value.stride()[:2],
        *cache.key_bytes.stride()[:3],
        *cache.key_scales.stride(),
        HEAD_SIZE=cache.head_size,
        HALF_PADDED=tuning.padded(cache.head_size) // 2,
        BLOCK_SIZE=cache.block_size,
        num_warps=tuning.WRITE_WARPS,
    )


def _rotate(rotated: torch.Tensor, rows: torch.Tensor, batch: Batch, back: bool) -> None:
    tokens, heads, head_size = rows.shape
    rotate_rows[(tokens, -(-heads // tuning.ROTATED_ROWS))](
        rotated,
        rows,
        batch.signs,
        batch.query_starts,
        batch.seq_lens.shape[0],
        *rotated.stride()[:2],
        *rows.stride()[:2],
        HEADS=heads,
        HEAD_SIZE=head_size,
        HEAD_PADDED=tuning.padded(head_size),
        BLOCK=rotation.block_size(head_size),
        ROWS=tuning.ROTATED_ROWS,
        BACK=back,
    )


def _query_blocks(batch: Batch, shape: tuning.Shape) -> int:
    return -(-batch.max_query_len * batch.group // shape.rows)


def _inputs(batch: Batch) -> tuple[torch.Tensor, ...]:
    return (batch.queries, batch.cache.words, batch.block_table, batch.seq_lens, batch.query_starts)


def _input_strides(batch: Batch) -> tuple[int, ...]:
    return (*batch.queries.stride()[:2], batch.block_table.stride(0), *batch.cache.words.stride()[:2])


def _launch_options(batch: Batch, shape: tuning.Shape) -> dict[str, int | float]:
    head_size = batch.cache.head_size
    return {
        "STRIDE_SLOT": batch.cache.words.stride(2),
        "HEAD_SIZE": head_size,
        "WORDS": tuning.padded(head_size) // 8,
        "BLOCK_SIZE": batch.cache.block_size,
        "RUN": math.gcd(batch.cache.block_size, shape.tile),
        "GROUP": batch.group,
        "ROWS": shape.rows,
        "TILE": shape.tile,
        "WINDOW": batch.window,
        "SOFTCAP": batch.softcap,
        "INLINE_ASM": batch.queries.is_cuda,
        "num_warps": shape.warps,
        "num_stages": shape.stages,
    }


def _check_scratch(batch: Batch, scratch: Scratch) -> None:
    tokens, head_padded = batch.queries.shape[0], tuning.padded(batch.cache.head_size)
    expected = (batch.cache.kv_heads, batch.group, scratch.segments, head_padded)
    heads, _, *rest = scratch.partials.shape
    if (heads, *rest) != expected:
        raise ValueError(
            f"partials {tuple(scratch.partials.shape)}: expected [KV heads, rows, query heads of a KV head, "
            f"segments, padded head size] as in {expected}"
        )
    for name in ("partials", "maxima", "exp_sums"):
        tensor = getattr(scratch, name)
        if tensor.shape[1] < tokens or not tensor.is_contiguous():
            raise ValueError(f"{name} {tuple(tensor.shape)}: expected {tokens} contiguous token rows or more")
