"""Quantization of activations to q8 in CUDA C++, bit for bit what the torch reference gives."""

from pathlib import Path

import torch

from guardrail.kernels.kquants import cuda_module, geometry
from guardrail.kernels.kquants.cuda_course import FORMAT_MACROS

SOURCE = Path(__file__).with_name("quantize.cu")
_THREADS = 128
_LANES_PER_GROUP = 8
ELEMENTS: dict[torch.dtype, cuda_module.Macros] = {
    torch.float32: (("ELEMENT_BITS", 32),),
    torch.float16: (("ELEMENT_BITS", 16),),
    torch.bfloat16: (("ELEMENT_BITS", 16), ("BFLOAT16", 1)),
}
"""Types of a vector, each with what the kernel is compiled with for it."""


def quantize_into(vector: torch.Tensor, groups: torch.Tensor) -> None:
    """Quantize vectors in one launch that can be captured in a CUDA graph.

    Args:
        vector: [..., columns] float32, float16 or bfloat16, contiguous, columns a multiple of 32.
        groups: [..., columns / 32, 40] uint8, contiguous, written.

    Raises:
        ValueError: The vector has another type, or the groups are not those of its shape.
    """
    if vector.dtype not in ELEMENTS:
        raise ValueError(f"{vector.dtype}: activations are float32, float16 or bfloat16")
    units = groups.numel() // geometry.GROUP_BYTES
    fitting = groups.shape[-1] == geometry.GROUP_BYTES and units * geometry.GROUP_ELEMENTS == vector.numel()
    if not (fitting and vector.is_contiguous() and groups.is_contiguous()):
        raise ValueError(
            f"a vector of shape {tuple(vector.shape)} has no groups of shape {tuple(groups.shape)}; both "
            f"must be contiguous, with {geometry.GROUP_BYTES} bytes a group"
        )
    macros = (*ELEMENTS[vector.dtype], *FORMAT_MACROS, ("THREADS", _THREADS))
    kernel = cuda_module.load(SOURCE, "cuda_quantize", macros)
    kernel.launch(-(-units * _LANES_PER_GROUP // _THREADS), 0, vector, groups, units)
