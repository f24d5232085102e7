"""Quantization of activations as an engine runs it: in CUDA C++ where it can be compiled, else in Triton."""

import torch

from guardrail.kernels.kquants import activations, cuda_module, cuda_quantize


def quantize_into(vector: torch.Tensor, groups: torch.Tensor) -> None:
    """Quantize vectors to q8 in one launch, to the same bytes either way; see `activations.quantize_into`.

    Args:
        vector: As there.
        groups: As there.
    """
    if cuda_module.serves(vector):
        cuda_quantize.quantize_into(vector, groups)
    else:
        activations.quantize_into(vector, groups)
