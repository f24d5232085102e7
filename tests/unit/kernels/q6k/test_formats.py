import gguf
import numpy as np
import pytest
import torch

from guardrail.kernels.q6k import activations, blocks, geometry, packing


def random_blocks(rows, row_blocks, seed=0):
    generator = torch.Generator().manual_seed(seed)
    shape = (rows, row_blocks)
    quantized = torch.randint(0, 256, (*shape, 208), dtype=torch.uint8, generator=generator)
    factor = torch.randn(shape, generator=generator).to(torch.float16)
    return torch.cat([quantized, factor.unsqueeze(-1).view(torch.uint8)], dim=-1)


def gguf_dequantized(raw):
    return gguf.quants.dequantize(raw.flatten(1).numpy(), gguf.GGMLQuantizationType.Q6_K)


def test_random_blocks_dequantize_as_gguf_does():
    raw = random_blocks(3, 4)
    np.testing.assert_array_equal(blocks.dequantize(raw).numpy().astype(np.float32), gguf_dequantized(raw))


def test_packed_blocks_dequantize_as_gguf_does():
    packed = packing.pack(torch.randn(3, 1024, generator=torch.Generator().manual_seed(1)))
    np.testing.assert_array_equal(
        blocks.dequantize(packed).numpy().astype(np.float32), gguf_dequantized(packed)
    )


def test_padding_keeps_the_block_and_appends_fourteen_zeros():
    raw = random_blocks(2, 3)
    padded = blocks.pad(raw)
    assert padded.shape == (2, 3, 224)
    assert torch.equal(padded[..., :210], raw)
    assert not padded[..., 210:].any()
    assert torch.equal(blocks.dequantize(padded), blocks.dequantize(raw))


def test_packing_weights_inverts_unpacking():
    raw = random_blocks(2, 2)
    assert torch.equal(blocks.pack_weights(blocks.unpack_weights(raw)), raw[..., :192])


def test_packing_is_within_half_a_step_of_the_weights():
    weights = torch.randn(4, 512, generator=torch.Generator().manual_seed(2))
    packed = packing.pack(weights)
    scales = packed[..., 192:208].contiguous().view(torch.int8).double()
    factor = packed[..., 208:].contiguous().view(torch.float16).double()
    error = (blocks.dequantize(packed) - weights).abs().view(4, 2, 16, 16)
    # A half's scale is itself rounded to an integer number of factors, which can clip its largest weights by
    # half a factor for each of their 31 steps.
    allowed = (scales * factor).unsqueeze(-1) / 2 + 15.5 * factor.unsqueeze(-1) + 1e-6
    assert (error <= allowed).all()
    assert ((blocks.dequantize(packed) - weights).norm() / weights.norm()).item() < 0.025


def test_packing_zeros_gives_zeros():
    assert not blocks.dequantize(packing.pack(torch.zeros(1, 256))).any()


def test_packing_refuses_a_row_that_is_no_whole_number_of_blocks():
    with pytest.raises(ValueError, match=r"300 columns.*256"):
        packing.pack(torch.zeros(1, 300))


def test_activations_hold_scale_values_and_sum_at_their_offsets():
    vector = torch.arange(-16, 16).float()
    (group,) = activations.quantize(vector)
    scale = torch.tensor(16 / 127).to(torch.float16)
    expected = (vector / scale.float()).round().clamp(-127, 127).to(torch.int8)
    assert geometry.ACTIVATION_BYTES == len(group) == 40
    assert group[:2].view(torch.float16).item() == scale.item()
    assert torch.equal(group[4:36].view(torch.int8), expected)
    assert group[36:].view(torch.int32).item() == expected.sum().item()


def test_activations_are_within_half_a_step_of_the_vector():
    vector = torch.randn(4096, generator=torch.Generator().manual_seed(3))
    groups = activations.quantize(vector)
    error = (activations.dequantize(groups) - vector).abs().view(-1, 32)
    # The float16 scale is up to 2**-11 too small, which clips the largest value by as much.
    allowed = activations.scales(groups).double() * (0.5 + 127 * 2**-11)
    assert (error <= allowed.unsqueeze(-1)).all()


def test_activations_of_zeros_are_zeros():
    assert not activations.dequantize(activations.quantize(torch.zeros(64))).any()
