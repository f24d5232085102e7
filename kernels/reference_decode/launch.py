"""Run the small kernels of a step; every tensor is the caller's."""

import torch
import triton

from guardrail.kernels.int4_attention.cache_layout import CacheViews
from guardrail.kernels.programmatic_launch import host
from guardrail.kernels.reference_decode import tuning
from guardrail.kernels.reference_decode.choose import choose_tokens, search_logits
from guardrail.kernels.reference_decode.embed import embed_tokens
from guardrail.kernels.reference_decode.gated import silu_product
from guardrail.kernels.reference_decode.norm import add_norm
from guardrail.kernels.reference_decode.place_heads import place_heads
from guardrail.kernels.reference_decode.places import Places


def run_embed_tokens(
    tokens: torch.Tensor,
    embedding: torch.Tensor,
    tables: tuple[torch.Tensor, torch.Tensor],
    block_table: torch.Tensor,
    block_size: int,
    residual: torch.Tensor,
    places: Places,
) -> None:
    """Look up what a step begins with.

    Args:
        tokens: int64 [sequences].
        embedding: fp16 [vocabulary, columns], contiguous.
        tables: Cosines and sines, fp32 [positions, head size / 2], contiguous.
        block_table: int32 [sequences, blocks of a sequence].
        block_size: Tokens of a block.
        residual: fp32 [sequences, columns], contiguous, written.
        places: All but the positions and the query starts are written.
    """
    sequences, columns = residual.shape
    half = places.cosines.shape[1]
    part = _part(tuning.EMBEDDED_COLUMNS, columns, residual)
    embed_tokens[(sequences, triton.cdiv(columns, part))](
        tokens,
        embedding,
        residual,
        places.positions,
        block_table,
        places.slots,
        places.seq_lens,
        *tables,
        places.cosines,
        places.sines,
        columns,
        block_table.stride(0),
        PART=part,
        HALF=half,
        HALF_PADDED=triton.next_power_of_2(half),
        BLOCK_SIZE=block_size,
        num_warps=tuning.EMBEDDING_WARPS,
        **host.options(residual),
    )


def run_add_norm(
    residual: torch.Tensor,
    delta: torch.Tensor | None,
    weight: torch.Tensor,
    summed: torch.Tensor | None,
    normed: torch.Tensor,
    epsilon: float,
) -> None:
    """Add to the residual stream and normalize it.

    Args:
        residual: fp32 [tokens, columns], contiguous.
        delta: Shaped as the residual; None to add nothing.
        weight: fp32 [columns].
        summed: Shaped as the residual and not the same, written; None where nothing is added.
        normed: uint8 [tokens, columns / 32, 40] for q8 groups, or fp32 [tokens, columns], written.
        epsilon: Added to the mean square.
    """
    tokens, columns = residual.shape
    part = _part(tuning.NORM_COLUMNS, columns, residual)
    add_norm[(tokens, triton.cdiv(columns, part))](
        residual,
        delta,
        weight,
        summed,
        normed,
        columns,
        epsilon,
        BLOCK=triton.next_power_of_2(columns),
        PART=part,
        QUANTIZE=normed.dtype == torch.uint8,
        num_warps=tuning.NORM_WARPS,
        **host.options(residual),
    )


def run_place_heads(
    query_key: torch.Tensor,
    value: torch.Tensor,
    bias: torch.Tensor | None,
    places: Places,
    signs: torch.Tensor,
    queries: torch.Tensor,
    cache: CacheViews,
    interleaved: bool,
) -> None:
    """Turn queries and keys, rotate heads for the cache, and write keys and values to it.

    Args:
        query_key: Queries, then keys, fp32 [tokens, query and key columns], contiguous rows.
        value: fp32 [tokens, value columns], contiguous rows.
        bias: Of queries, keys and values, fp32 [all columns]; None for none.
        places: Slots and angles of the tokens; keys and values of a negative slot are skipped.
        signs: Signs of the cache's rotation, from `rotation.signs`.
        queries: Rotated queries, fp16 [tokens, query heads, head size], contiguous, written.
        cache: Views of the cache.
        interleaved: Whether neighbours are turned, or an element of each half.
    """
    tokens, query_heads, head_size = queries.shape
    place_heads[(tokens, query_heads + 2 * cache.kv_heads)](
        query_key,
        value,
        bias,
        places.cosines,
        places.sines,
        places.slots,
        signs,
        queries,
        cache.key_bytes,
        cache.key_scales,
        cache.value_bytes,
        cache.value_scales,
        query_key.stride(0),
        value.stride(0),
        *cache.key_bytes.stride()[:3],
        *cache.key_scales.stride(),
        QUERY_HEADS=query_heads,
        KV_HEADS=cache.kv_heads,
        HEAD_SIZE=head_size,
        HALF_PADDED=triton.next_power_of_2(head_size) // 2,
        BLOCK_SIZE=cache.block_size,
        INTERLEAVED=interleaved,
        num_warps=tuning.HEAD_WARPS,
        **host.options(queries),
    )


def run_silu_product(gate_up: torch.Tensor, product: torch.Tensor) -> None:
    """Multiply the activated gate with the up projection.

    Args:
        gate_up: Gates, then ups, fp32 [tokens, 2 * columns], contiguous.
        product: uint8 [tokens, columns / 32, 40] for q8 groups, or fp32 [tokens, columns], written.
    """
    tokens, columns = gate_up.shape[0], gate_up.shape[1] // 2
    part = _part(tuning.GATED_COLUMNS, columns, gate_up)
    silu_product[(tokens, triton.cdiv(columns, part))](
        gate_up,
        product,
        columns,
        PART=part,
        QUANTIZE=product.dtype == torch.uint8,
        num_warps=tuning.GATED_WARPS,
        **host.options(gate_up),
    )


def run_choose_tokens(
    logits: torch.Tensor,
    candidates: torch.Tensor,
    tokens: torch.Tensor,
    history: torch.Tensor,
    steps: torch.Tensor,
    positions: torch.Tensor,
) -> None:
    """Choose the token with the first of the largest logits, as torch.argmax does, and advance by it.

    Args:
        logits: fp32 [sequences, vocabulary], contiguous.
        candidates: Scratch, int64 [sequences, parts that the vocabulary is searched in], contiguous.
        tokens: int64 [sequences], written.
        history: int64 [steps, sequences], contiguous; the row of this step is written.
        steps: Steps before this one, int64 [sequences], incremented.
        positions: int64 [sequences], incremented.
    """
    sequences, vocabulary = logits.shape
    parts = candidates.shape[1]
    search_logits[(sequences, parts)](
        logits,
        candidates,
        vocabulary,
        parts,
        PART=triton.next_power_of_2(triton.cdiv(vocabulary, parts)),
        num_warps=tuning.SEARCH_WARPS,
        **host.options(logits),
    )
    choose_tokens[(sequences,)](
        candidates,
        tokens,
        history,
        steps,
        positions,
        parts,
        sequences,
        PARTS_PADDED=triton.next_power_of_2(parts),
        num_warps=tuning.CHOICE_WARPS,
        **host.options(logits),
    )


def _part(columns_on_gpu: int, columns: int, tensor: torch.Tensor) -> int:
    """Choose how many columns one program computes."""
    if tensor.is_cuda:
        return columns_on_gpu
    return min(tuning.INTERPRETED_COLUMNS, triton.next_power_of_2(columns))
