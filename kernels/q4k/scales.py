"""The packed six-bit scales and minimums of q4_K blocks, read from words."""

import triton
import triton.language as tl


@triton.jit
def unpack_scale(first, second, nibbles, sub_block):
    """Unpack the scale and the minimum of sub-blocks.

    Args:
        first: Bytes 0 to 3 of the packed 12, a word: scales 0 to 3, on top the upper bits of scales 4 to 7.
        second: Bytes 4 to 7: the same of minimums.
        nibbles: Bytes 8 to 11: the lower bits of scales and minimums 4 to 7.
        sub_block: Number of each sub-block within its block, 0 to 7.

    Returns:
        Two int32 in 0..63.
    """
    shift = (sub_block % 4) * 8
    first_byte = (first >> shift) & 255
    second_byte = (second >> shift) & 255
    nibble_byte = (nibbles >> shift) & 255
    early = sub_block < 4
    scale = tl.where(early, first_byte & 63, (nibble_byte & 15) | ((first_byte >> 6) << 4))
    minimum = tl.where(early, second_byte & 63, (nibble_byte >> 4) | ((second_byte >> 6) << 4))
    return scale, minimum
