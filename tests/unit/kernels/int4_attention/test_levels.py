import torch
import triton
import triton.language as tl

from guardrail.kernels.int4_attention.levels import STEP, unpack

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"


@triton.jit
def unpack_words(levels_ptr, words_ptr, inline_asm: tl.constexpr):
    row = tl.arange(0, 32)[:, None]
    words = tl.load(words_ptr + row * 16 + tl.arange(0, 16)[None, :])
    levels = unpack(words, inline_asm).to(tl.float32) / STEP
    tl.store(levels_ptr + row * 128 + tl.arange(0, 128)[None, :], levels)


def test_every_level_comes_out_exact_and_in_order() -> None:
    packed = torch.arange(256).repeat(8).reshape(32, 64).roll(7, 1).byte()
    levels = torch.full((32, 128), torch.nan, device=DEVICE)
    unpack_words[(1,)](levels, packed.to(DEVICE).view(torch.int32), inline_asm=DEVICE == "cuda")
    expected = torch.stack([packed % 16, packed // 16], -1).reshape(32, 128)
    assert torch.equal(levels.cpu(), expected.float())
