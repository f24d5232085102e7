"""Arithmetic that the matrix-vector kernels share: products of bytes, and sums that no layout changes."""

import triton
import triton.language as tl


@triton.jit
def dot4(a, b, DP4A: tl.constexpr):
    """Multiply the four signed bytes of each word of `a` with those of `b` and add the products."""
    if DP4A:
        products = tl.inline_asm_elementwise(
            "dp4a.s32.s32 $0, $1, $2, 0;", "=r,r,r", [a, b], dtype=tl.int32, is_pure=True, pack=1
        )
    else:
        products = (a >> 24) * (b >> 24)
        products += ((a << 8) >> 24) * ((b << 8) >> 24)
        products += ((a << 16) >> 24) * ((b << 16) >> 24)
        products += ((a << 24) >> 24) * ((b << 24) >> 24)
    return products


@triton.constexpr_function
def exponent_of(power_of_two):
    """Give the exponent of a power of two."""
    return power_of_two.bit_length() - 1


@triton.jit
def sum_lanes(terms):
    """Add [R, U] float32 along its U lanes (a power of two) in halves: [R].

    A sum of two does not depend on their order, so this tree gives the same bits under any register layout
    that the compiler picks, and in the interpreter; one `tl.sum` over all lanes does not.
    """
    rows: tl.constexpr = terms.shape[0]
    lanes: tl.constexpr = terms.shape[1]
    for step in tl.static_range(exponent_of(lanes)):
        terms = tl.sum(tl.reshape(terms, (rows, 2, lanes >> (step + 1))), axis=1)
    return tl.reshape(terms, (rows,))
