"""Look up what a step begins with: its tokens' embeddings, their places in the cache and their angles."""

import triton
import triton.language as tl

from guardrail.kernels.programmatic_launch.device import begin


@triton.jit
def embed_tokens(
    tokens_ptr,
    embedding_ptr,
    residual_ptr,
    positions_ptr,
    block_table_ptr,
    slots_ptr,
    seq_lens_ptr,
    all_cosines_ptr,
    all_sines_ptr,
    cosines_ptr,
    sines_ptr,
    columns,
    table_stride,
    PART: tl.constexpr,
    HALF: tl.constexpr,
    HALF_PADDED: tl.constexpr,
    BLOCK_SIZE: tl.constexpr,
    PDL: tl.constexpr,
):
    """Copy some columns of one token's embedding; grid (sequences, columns / PART rounded up).

    The first program of a sequence also computes the token's cache slot and its number of keys with the new
    one, and copies the angles of its position, so that no layer has to look for them.

    Shapes and units:
        tokens_ptr: int64 [sequences].
        embedding_ptr: fp16 [vocabulary, columns].
        residual_ptr: fp32 [sequences, columns], written.
        positions_ptr: Tokens before the new one, int64 [sequences].
        block_table_ptr: int32 [sequences, blocks of a sequence].
        slots_ptr: int64 [sequences], written.
        seq_lens_ptr: int32 [sequences], written.
        all_cosines_ptr: fp32 [positions, HALF].
        all_sines_ptr: fp32 [positions, HALF].
        cosines_ptr: fp32 [sequences, HALF], written.
        sines_ptr: fp32 [sequences, HALF], written.
        table_stride: Blocks of a sequence.
        PART: Columns of one program, a power of two.
        HALF: Half of the head size.
        HALF_PADDED: HALF, padded to a power of two.
        BLOCK_SIZE: Tokens of a block.
        PDL: Whether the kernel is launched programmatically.
    """
    begin(PDL)
    sequence = tl.program_id(0).to(tl.int64)
    column = tl.program_id(1) * PART + tl.arange(0, PART)
    inside = column < columns
    token = tl.load(tokens_ptr + sequence)
    row = tl.load(embedding_ptr + token * columns + column, mask=inside, other=0.0)
    tl.store(residual_ptr + sequence * columns + column, row.to(tl.float32), mask=inside)
    if tl.program_id(1) == 0:
        position = tl.load(positions_ptr + sequence)
        block = tl.load(block_table_ptr + sequence * table_stride + position // BLOCK_SIZE).to(tl.int64)
        tl.store(slots_ptr + sequence, block * BLOCK_SIZE + position % BLOCK_SIZE)
        tl.store(seq_lens_ptr + sequence, (position + 1).to(tl.int32))
        angle = tl.arange(0, HALF_PADDED)
        known = angle < HALF
        cosine = tl.load(all_cosines_ptr + position * HALF + angle, mask=known)
        sine = tl.load(all_sines_ptr + position * HALF + angle, mask=known)
        tl.store(cosines_ptr + sequence * HALF + angle, cosine, mask=known)
        tl.store(sines_ptr + sequence * HALF + angle, sine, mask=known)
