import gguf
import numpy as np
import pytest
import torch

from guardrail.kernels.q6k import blocks, geometry, matvec, packing, plane

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"


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


def test_a_plane_holds_the_parts_of_all_blocks_of_a_row_one_after_the_other():
    raw = random_blocks(2, 3)
    planes = plane.split(raw)
    assert planes.shape == (2, 640)
    for row in range(2):
        parts = [
            raw[row, :, start:stop].flatten()
            for start, stop in ((0, 128), (128, 192), (192, 208), (208, 210))
        ]
        assert torch.equal(planes[row, :630], torch.cat(parts))
    assert not planes[:, 630:].any()
    assert torch.equal(plane.split(blocks.pad(raw)), planes)


@pytest.mark.parametrize(("row_blocks", "row_bytes"), [(1, 224), (8, 1680), (54, 11_344), (74, 15_552)])
def test_rows_of_a_plane_are_multiples_of_sixteen_bytes(row_blocks, row_bytes):
    assert geometry.plane_row_bytes(row_blocks) == row_bytes


@pytest.mark.parametrize("width", [210, 224])
def test_the_device_dequantizes_as_gguf_does(width):
    raw = random_blocks(3, 4)
    found = matvec.dequantize(blocks.pad(raw)[..., :width].contiguous().to(DEVICE)).cpu().numpy()
    np.testing.assert_array_equal(found, gguf_dequantized(raw))
