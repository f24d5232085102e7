"""Where kernels are launched programmatically."""

import torch

HOPPER = (9, 0)
"""Compute capability from which ``griddepcontrol`` exists (PTX ISA, griddepcontrol)."""


def options(tensor: torch.Tensor, wanted: bool = True) -> dict[str, bool]:
    """Give what a kernel that calls `device.begin` is launched with.

    Args:
        tensor: One that the kernel reads or writes.
        wanted: Whether it is to be launched programmatically where its device can.

    Returns:
        The constant ``PDL`` and, where it is true, the launch option that goes with it.
    """
    if wanted and tensor.is_cuda and torch.cuda.get_device_capability(tensor.device) >= HOPPER:
        return {"PDL": True, "launch_pdl": True}
    return {"PDL": False}
