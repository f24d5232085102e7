"""4-bit levels as fp16 numbers, without a conversion.

The bits of an integer below 1024, read as fp16, are the subnormal number of that many times 2**-24. It is
exact, and the tensor cores multiply it like any other, so that unpacking takes no more than masks and byte
moves: seven instructions for eight levels. (Converting integers to fp16 takes one for each level, of
the slowest kind.)
"""

import triton
import triton.language as tl

STEP = tl.constexpr(2.0**-24)
"""What a level of 1 is worth."""


@triton.jit
def _level(words, index: tl.constexpr):
    return ((words >> (4 * index)) & 15).to(tl.int16).to(tl.float16, bitcast=True)


@triton.jit
def unpack(words, INLINE_ASM: tl.constexpr):
    """Unpack eight levels from each word.

    Args:
        words: int32 [rows, words], the first level in the lowest 4 bits.
        INLINE_ASM: Whether to keep two levels in one register throughout (not in the interpreter). Left to
            itself, the compiler splits the pairs and packs them again.

    Returns:
        The levels times `STEP`, fp16 [rows, 8 * words].
    """
    if INLINE_ASM:
        # `even` and `odd` hold a level in each byte. prmt copies one byte of each and, where a selector has
        # its highest bit set, the sign of that byte, which is zero.
        l0, l1, l2, l3, l4, l5, l6, l7 = tl.inline_asm_elementwise(
            """{
            .reg .b32 even, odd, pair;
            and.b32 even, $8, 0x0F0F0F0F;
            shr.b32 odd, $8, 4;
            and.b32 odd, odd, 0x0F0F0F0F;
            prmt.b32 pair, even, odd, 0xC480;
            mov.b32 {$0, $1}, pair;
            prmt.b32 pair, even, odd, 0xD591;
            mov.b32 {$2, $3}, pair;
            prmt.b32 pair, even, odd, 0xE6A2;
            mov.b32 {$4, $5}, pair;
            prmt.b32 pair, even, odd, 0xF7B3;
            mov.b32 {$6, $7}, pair;
            }""",
            "=h,=h,=h,=h,=h,=h,=h,=h,r",
            [words],
            dtype=(tl.float16,) * 8,
            is_pure=True,
            pack=1,
        )
    else:
        l0, l1, l2, l3 = _level(words, 0), _level(words, 1), _level(words, 2), _level(words, 3)
        l4, l5, l6, l7 = _level(words, 4), _level(words, 5), _level(words, 6), _level(words, 7)
    even_levels = tl.join(tl.join(l0, l4), tl.join(l2, l6))
    odd_levels = tl.join(tl.join(l1, l5), tl.join(l3, l7))
    levels = tl.reshape(tl.join(even_levels, odd_levels), [words.shape[0], 8 * words.shape[1]])
    if INLINE_ASM:
        # Hides the joins from the choice of an operand layout: behind a join, Triton (3.6 to 3.9) picks one
        # that takes a register move for every register that the older tensor core instructions read.
        levels = tl.inline_asm_elementwise(
            "mov.b32 $0, $1;", "=r,r", [levels], dtype=tl.float16, is_pure=False, pack=2
        )
    return levels
