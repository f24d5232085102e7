"""Run the small kernels of a step; every tensor is the caller's."""

import torch
import triton

from guardrail.kernels.programmatic_launch import host
from guardrail.kernels.reference_decode.gated import silu_product
from guardrail.kernels.reference_decode.norm import add_norm
from guardrail.kernels.reference_decode.place import place_tokens
from guardrail.kernels.reference_decode.rotary import rotate_heads

_GATED_BLOCK = 1024
_HEADS_OF_A_PROGRAM = 4
_INTERPRETED_BLOCK = 2**15
"""The interpreter's time goes with programs and not with elements."""
_NORM_WARPS = 16


def run_add_norm(
    residual: torch.Tensor,
    delta: torch.Tensor | None,
    weight: torch.Tensor,
    normed: torch.Tensor,
    epsilon: float,
) -> None:
    """Add to the residual stream and normalize it.

    Args:
        residual: fp32 [tokens, columns], updated.
        delta: Shaped as the residual; None to add nothing.
        weight: fp32 [columns].
        normed: uint8 [tokens, columns / 32, 40] for q8 groups, or fp32 [tokens, columns].
        epsilon: Added to the mean square.
    """
    tokens, columns = residual.shape
    add_norm[(tokens,)](
        residual,
        delta,
        weight,
        normed,
        columns,
        epsilon,
        BLOCK=triton.next_power_of_2(columns),
        QUANTIZE=normed.dtype == torch.uint8,
        num_warps=_NORM_WARPS,
        **host.options(residual),
    )


def run_rotate_heads(
    query_key: torch.Tensor,
    value: torch.Tensor,
    bias: torch.Tensor | None,
    positions: torch.Tensor,
    cosines: torch.Tensor,
    sines: torch.Tensor,
    heads: torch.Tensor,
    interleaved: bool,
) -> None:
    """Add biases and turn queries and keys.

    Args:
        query_key: Queries, then keys, fp32 [tokens, query and key columns], contiguous rows.
        value: fp32 [tokens, value columns], contiguous rows.
        bias: Of queries, keys and values, fp32 [all columns]; None for none.
        positions: int64 [tokens].
        cosines: fp32 [positions, head size / 2].
        sines: Shaped as the cosines.
        heads: fp16 [tokens, query, key and value heads, head size], written.
        interleaved: Whether neighbours are turned, or an element of each half.
    """
    tokens, count, head_size = heads.shape
    rows = _HEADS_OF_A_PROGRAM if heads.is_cuda else triton.next_power_of_2(count)
    rotate_heads[(tokens, triton.cdiv(count, rows))](
        query_key,
        value,
        bias,
        positions,
        cosines,
        sines,
        heads,
        query_key.stride(0),
        value.stride(0),
        TURNED=count - value.shape[1] // head_size,
        HEADS=count,
        HEAD_SIZE=head_size,
        HEAD_PADDED=triton.next_power_of_2(head_size),
        ROWS=rows,
        INTERLEAVED=interleaved,
        **host.options(heads),
    )


def run_silu_product(gate_up: torch.Tensor, product: torch.Tensor) -> None:
    """Multiply the activated gate with the up projection.

    Args:
        gate_up: Gates, then ups, fp32 [tokens, 2 * columns], contiguous.
        product: uint8 [tokens, columns / 32, 40] for q8 groups, or fp32 [tokens, columns].
    """
    tokens, columns = gate_up.shape[0], gate_up.shape[1] // 2
    block = _GATED_BLOCK if gate_up.is_cuda else min(_INTERPRETED_BLOCK, triton.next_power_of_2(columns))
    silu_product[(tokens, triton.cdiv(columns, block))](
        gate_up,
        product,
        columns,
        BLOCK=block,
        QUANTIZE=product.dtype == torch.uint8,
        **host.options(gate_up),
    )


def run_place_tokens(
    positions: torch.Tensor,
    block_table: torch.Tensor,
    slots: torch.Tensor,
    seq_lens: torch.Tensor,
    block_size: int,
) -> None:
    """Find where each sequence's next token goes.

    Args:
        positions: int64 [sequences].
        block_table: int32 [sequences, blocks of a sequence].
        slots: int64 [sequences], written.
        seq_lens: int32 [sequences], written.
        block_size: Tokens of a block.
    """
    place_tokens[(len(positions),)](
        positions, block_table, slots, seq_lens, block_table.stride(0), BLOCK_SIZE=block_size
    )
