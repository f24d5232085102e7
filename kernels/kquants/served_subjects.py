"""A quantized product as an engine runs it on a GPU: its subjects, derived from those of its Triton arms."""

from collections.abc import Sequence
from dataclasses import replace

from guardrail.families.interface import Arm, Gate, Operation

NEEDS_GPU = "CUDA C++ kernels serve, which run on a GPU alone"


def operation(triton: Operation, package: str, in_cuda: Sequence[str]) -> Operation:
    """State the product whose arms are CUDA C++ kernels where there is one.

    Args:
        triton: The same product by Triton alone.
        package: The family's package; its ``served_trials`` launch what serves.
        in_cuda: Arms that have a CUDA C++ kernel, named as Triton's with ``cuda_`` before it.
    """
    return replace(
        triton,
        name="served_matvec",
        arms=tuple(_in_cuda(arm) if arm.name in in_cuda else arm for arm in triton.arms),
        exposing=f"{package}.served_trials:exposing",
        random=f"{package}.served_trials:random",
        needs_gpu=NEEDS_GPU,
    )


def gate(triton: Gate, served: Operation) -> Gate:
    """State the same gate over the product that serves.

    Args:
        triton: The gate over Triton's arms.
        served: The product that serves.
    """
    return replace(triton, name="served_mmvq", operation=served)


def _in_cuda(arm: Arm) -> Arm:
    return replace(arm, launches=tuple(f"cuda_{symbol}" for symbol in arm.launches))
