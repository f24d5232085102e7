"""Launchers: one arm by name, and the arm that the gate picks."""

import torch

from rms_norm import geometry
from rms_norm.gate import pick
from rms_norm.looped import rms_norm_looped
from rms_norm.one_pass import rms_norm_one_pass

_KERNELS = {"one_pass": rms_norm_one_pass, "looped": rms_norm_looped}


def launch(arm: str, x: torch.Tensor, weight: torch.Tensor, output: torch.Tensor) -> None:
    """Run one arm on any row length, also on one that it does not cover.

    Args:
        arm: ``one_pass`` or ``looped``.
        x: [rows, columns] float32, contiguous.
        weight: [columns] float32, contiguous.
        output: [rows, columns] float32, contiguous, written.
    """
    rows, columns = x.shape
    _KERNELS[arm][(rows,)](
        x, weight, output, columns, geometry.EPSILON, tile=geometry.TILE, num_warps=geometry.WARPS
    )


def rms_norm(x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    """Normalize rows by the arm that the gate picks.

    Args:
        x: [rows, columns] float32, contiguous.
        weight: [columns] float32, contiguous.

    Returns:
        [rows, columns] float32.
    """
    output = torch.empty_like(x)
    launch(pick({"columns": x.shape[1]}).arm, x, weight, output)
    return output
