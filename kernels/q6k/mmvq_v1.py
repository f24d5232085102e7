"""v1: the reference kernel. It shares no code with the arms, reads single bytes and covers any row length."""

import triton
import triton.language as tl


@triton.jit(do_not_specialize=["halves"])
def mmvq_v1(
    weights,
    activations,
    output,
    halves,
    BLOCK_BYTES: tl.constexpr,
    BLOCK_HALVES: tl.constexpr,
):
    """Multiply one q6_K row a program with a q8 vector, in units of the 16 elements that share a scale.

    Args:
        weights: [rows, halves / 16, BLOCK_BYTES] bytes.
        activations: [halves / 2, 40] bytes.
        output: [rows] float32.
        halves: 16-element units in a row, a multiple of 16.
        BLOCK_BYTES: Bytes from one q6_K block to the next: 210 as files hold them, 224 padded.
        BLOCK_HALVES: 16-element units in a tile, a power of two.
    """
    row = tl.program_id(0).to(tl.int64)
    element = tl.arange(0, 16)[None, :]
    total = tl.zeros((BLOCK_HALVES,), dtype=tl.float32)
    for start in range(0, halves, BLOCK_HALVES):
        half = start + tl.arange(0, BLOCK_HALVES)
        inside = half < halves
        block = weights + (row * (halves // 16) + half // 16) * BLOCK_BYTES
        position = (half % 16)[:, None] * 16 + element
        chunk = position // 128
        column = position % 128
        low_byte = tl.load(block[:, None] + chunk * 64 + column % 64, mask=inside[:, None], other=0).to(
            tl.int32
        )
        high_byte = tl.load(
            block[:, None] + 128 + chunk * 32 + column % 32, mask=inside[:, None], other=0
        ).to(tl.int32)
        low = (low_byte >> ((column // 64) * 4)) & 15
        high = (high_byte >> ((column // 32) * 2)) & 3
        weight = low + high * 16 - 32
        scale = tl.load(
            (block + 192 + half % 16).to(tl.pointer_type(tl.int8), bitcast=True), mask=inside, other=0
        )
        factor = tl.load((block + 208).to(tl.pointer_type(tl.float16), bitcast=True), mask=inside, other=0.0)
        group = activations + (half // 2) * 40
        value_address = group[:, None] + 4 + (half % 2)[:, None] * 16 + element
        value = tl.load(
            value_address.to(tl.pointer_type(tl.int8), bitcast=True), mask=inside[:, None], other=0
        )
        value_factor = tl.load(group.to(tl.pointer_type(tl.float16), bitcast=True), mask=inside, other=0.0)
        dot = tl.sum(weight * value.to(tl.int32), axis=1).to(tl.float32)
        total += value_factor.to(tl.float32) * scale.to(tl.float32) * factor.to(tl.float32) * dot
    tl.store(output + row, tl.sum(total, axis=0))
