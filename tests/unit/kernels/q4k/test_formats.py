import gguf
import numpy as np
import torch

from guardrail.kernels.kquants import random_bytes
from guardrail.kernels.q4k import blocks, matvec

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"


def random_blocks(rows, row_blocks):
    drawn = random_bytes.generator(0, "cpu")
    factors = random_bytes.factors((rows, row_blocks, 2), drawn)
    return torch.cat([factors, random_bytes.quantized((rows, row_blocks, 140), drawn)], dim=-1)


def gguf_dequantized(raw):
    return gguf.quants.dequantize(raw.flatten(1).numpy(), gguf.GGMLQuantizationType.Q4_K)


def test_random_blocks_dequantize_as_gguf_does():
    raw = random_blocks(3, 4)
    np.testing.assert_array_equal(blocks.dequantize(raw).numpy().astype(np.float32), gguf_dequantized(raw))


def test_the_device_dequantizes_as_gguf_does():
    raw = random_blocks(3, 4)
    found = matvec.dequantize(raw.to(DEVICE)).cpu().numpy()
    np.testing.assert_array_equal(found, gguf_dequantized(raw))


def test_assembly_inverts_unpacking():
    raw = random_blocks(2, 2)
    scales, minimums = blocks.unpack_scales(raw)
    factors = raw[..., :4].contiguous().view(torch.float16)
    assert torch.equal(blocks.assemble(blocks.unpack_weights(raw), scales, minimums, factors), raw)


def test_every_scale_and_minimum_has_its_own_six_bits():
    scales, minimums = torch.arange(8) * 9, 63 - torch.arange(8) * 9
    raw = blocks.assemble(torch.zeros(256), scales, minimums, torch.ones(2, dtype=torch.float16))
    assert raw.shape == (144,)
    found = blocks.unpack_scales(raw)
    assert [part.tolist() for part in found] == [scales.tolist(), minimums.tolist()]
