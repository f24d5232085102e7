import math
import struct

import pytest
import torch

from guardrail.kernels.int4_attention import launch, reference
from guardrail.kernels.int4_attention.cache_layout import cache_views, make_cache

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
EXACT_DIVISION = pytest.mark.skipif(
    torch.cuda.is_available(), reason="divisions are approximate on a GPU; tests/gpu compares with vLLM there"
)


def float32(x: float) -> float:
    return struct.unpack("<f", struct.pack("<f", x))[0]


def expected_row(row: list[float]) -> bytes:
    """Quantize one row in plain Python, each step rounded to fp32, and lay its bytes out."""
    scale = max(float32(float32(max(row) - min(row)) / 15), float32(1e-6))
    zero_point = min(max(math.floor(float32(float32(-min(row) / scale) + 0.5)), 0), 15)
    inverse = float32(1 / scale)
    levels = [
        min(max(math.floor(float32(float32(float32(x * inverse) + zero_point) + 0.5)), 0), 15) for x in row
    ]
    packed = bytes(low | high << 4 for low, high in zip(levels[::2], levels[1::2], strict=True))
    (bits,) = struct.unpack("<I", struct.pack("<f", scale))
    return packed + struct.pack("<I", bits & ~15 | zero_point)


@EXACT_DIVISION
@pytest.mark.parametrize("head_size", [64, 96, 256])
def test_bytes_are_those_of_the_format(head_size: int) -> None:
    generator = torch.Generator().manual_seed(11)
    key, value = torch.randn(2, 6, 2, head_size, generator=generator).half()
    key[1], key[2], value[3] = key[1] + 9, -3.25, 0.0
    slots = torch.tensor([17, -1, 3, 0, 31, 8])
    cache = make_cache(2, 2, 16, head_size, DEVICE).fill_(0xA5)
    launch.run_write(key.to(DEVICE), value.to(DEVICE), slots.to(DEVICE), cache_views(cache))

    written = torch.full_like(cache, 0xA5).cpu()
    for token, slot in enumerate(slots.tolist()):
        for head in range(2):
            if slot >= 0:
                row = expected_row(key[token, head].tolist()) + expected_row(value[token, head].tolist())
                written[slot // 16, head, slot % 16] = torch.tensor(list(row), dtype=torch.uint8)
    assert torch.equal(cache.cpu(), written)


@EXACT_DIVISION
def test_the_reference_writes_the_same_bytes() -> None:
    generator = torch.Generator().manual_seed(12)
    key, value = torch.randn(2, 16, 2, 64, generator=generator)
    cache, again = make_cache(1, 2, 16, 64), make_cache(1, 2, 16, 64, DEVICE)
    reference.write_cache(cache, key, value, torch.arange(16))
    launch.run_write(key.to(DEVICE), value.to(DEVICE), torch.arange(16, device=DEVICE), cache_views(again))
    assert torch.equal(cache, again.cpu())


def test_rows_that_span_zero_come_back_within_half_a_step() -> None:
    generator = torch.Generator().manual_seed(13)
    key, value = torch.randn(2, 16, 2, 128, generator=generator, dtype=torch.float32)
    views = cache_views(make_cache(1, 2, 16, 128, DEVICE))
    launch.run_write(key.to(DEVICE), value.to(DEVICE), torch.arange(16, device=DEVICE), views)
    for rows, packed, scales in (
        (key, views.key_bytes, views.key_scales),
        (value, views.value_bytes, views.value_scales),
    ):
        back = reference.dequantize(packed[0].cpu(), scales[0].cpu()).transpose(0, 1)
        span = rows.double().amax(-1, keepdim=True) - rows.double().amin(-1, keepdim=True)
        steps = (back - rows).abs() / (span / 15)
        assert 0.4 < float(steps.max()) <= 0.5001


def test_a_large_constant_row_takes_the_highest_level() -> None:
    # Its scale is the smallest there is, so that levels before clamping do not fit an integer.
    key, value = torch.full([1, 1, 64], 6e4), torch.full([1, 1, 64], -6e4)
    views = cache_views(make_cache(1, 1, 16, 64, DEVICE))
    launch.run_write(key.to(DEVICE), value.to(DEVICE), torch.zeros(1, dtype=torch.long, device=DEVICE), views)
    assert (views.key_bytes[0, 0, 0] == 0xFF).all()
    assert (views.value_bytes[0, 0, 0] == 0x00).all()
    assert int(views.value_scales.contiguous().view(torch.int32)[0, 0, 0]) & 15 == 15


def test_strides_are_the_tensors_own() -> None:
    generator = torch.Generator().manual_seed(14)
    key, value = torch.randn(2, 4, 2, 64, generator=generator)
    slots = torch.tensor([5, 30, 16, 1])
    head_major = make_cache(2, 2, 16, 64, DEVICE)
    token_major = torch.zeros(2, 16, 2, 72, dtype=torch.uint8, device=DEVICE).transpose(1, 2)
    for cache in (head_major, token_major):
        launch.run_write(key.to(DEVICE), value.to(DEVICE), slots.to(DEVICE), cache_views(cache))
    assert torch.equal(head_major, token_major)
    assert int(head_major.count_nonzero()) > 0
