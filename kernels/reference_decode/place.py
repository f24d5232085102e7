"""Find where each sequence's next token goes in the cache."""

import triton
import triton.language as tl


@triton.jit
def place_tokens(
    positions_ptr, block_table_ptr, slots_ptr, seq_lens_ptr, table_stride, BLOCK_SIZE: tl.constexpr
):
    """Compute one sequence's cache slot and its number of keys with the new one; grid (sequences,).

    Shapes and units:
        positions_ptr: Tokens before the new one, int64 [sequences].
        block_table_ptr: int32 [sequences, blocks of a sequence].
        slots_ptr: int64 [sequences], written.
        seq_lens_ptr: int32 [sequences], written.
        table_stride: Blocks of a sequence.
    """
    sequence = tl.program_id(0)
    position = tl.load(positions_ptr + sequence)
    block = tl.load(block_table_ptr + sequence * table_stride + position // BLOCK_SIZE).to(tl.int64)
    tl.store(slots_ptr + sequence, block * BLOCK_SIZE + position % BLOCK_SIZE)
    tl.store(seq_lens_ptr + sequence, (position + 1).to(tl.int32))
