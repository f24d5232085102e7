"""Kernels that a worker must survive, as tasks."""

# Triton compiles these functions, and gives an annotation a meaning of its own.
# mypy: disable-error-code="no-untyped-def,untyped-decorator"

import torch
import triton
import triton.language as tl


@triton.jit
def _write_far_away(word):
    tl.store(word + (1 << 40), 1)


@triton.jit
def _spin(word):
    while tl.load(word, volatile=True) == 0:
        pass


def read_out_of_bounds() -> None:
    """Launch a kernel that writes four terabytes behind its tensor, and do not wait for it."""
    _write_far_away[(1,)](torch.zeros(1, dtype=torch.int32, device="cuda"))


def never_end() -> None:
    """Launch a kernel that waits for what never comes, and wait for it."""
    _spin[(1,)](torch.zeros(1, dtype=torch.int32, device="cuda"))
    torch.cuda.synchronize()


def ask_for_too_much() -> None:
    """Ask for more memory than any GPU has."""
    torch.empty(1 << 50, dtype=torch.uint8, device="cuda")


def add_on_the_gpu() -> float:
    """Compute 2 + 3."""
    return float(torch.tensor(2.0, device="cuda") + 3)
