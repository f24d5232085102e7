"""Executing an operation's trials, with everything poisoned first. Runs in an execute worker."""

from typing import Any

import torch

from guardrail.adapters.launches import recorded
from guardrail.errors import MeasurementError
from guardrail.families import Case, Operation, RandomTrial, Trial
from guardrail.probes.references import resolve

_POISON_BYTES = (0xFF, 0x5A)
"""Floats of the first byte are NaN. An integer may rightly hold either, but not first one and then the other."""


def device() -> str:
    """Name the torch device that kernels run on in this process."""
    return "cuda" if torch.cuda.is_available() else "cpu"


def expose(operation: Operation, case: Case, arm: str) -> dict[str, Any]:
    """Run one arm on inputs that tell the work units apart, and count what it did.

    Args:
        operation: The operation that the arm belongs to.
        case: The shape to compute.
        arm: Name of the arm.

    Returns:
        Plain data: kernels ``launched``, output ``elements`` and how many are ``unwritten``, and for the worst
        group of outputs how many of its ``units`` were ``dropped`` and ``doubled``.

    Raises:
        MeasurementError: The operation has no exposing trial.
    """
    if operation.exposing is None:
        raise MeasurementError(
            f"operation {operation.name} states no exposing trial, so its arms cannot be counted"
        )
    trial = resolve(operation.exposing)(case, device())
    ran = _run_poisoned(trial, arm)
    groups = [list(map(int, group)) for group in trial.unit_counts()]
    if not groups or not all(groups):
        raise MeasurementError(f"operation {operation.name}: the trial of {dict(case)} exposes no work unit")
    worst = max(groups, key=lambda group: sum(count != 1 for count in group))
    return {
        **ran,
        "units": len(worst),
        "dropped": sum(count < 1 for count in worst),
        "doubled": sum(count > 1 for count in worst),
    }


def compare(operation: Operation, case: Case, arms: list[str], seed: int) -> dict[str, dict[str, Any]]:
    """Run arms on the same random inputs and compare each with the reference and with its twins.

    Args:
        operation: The operation that the arms belong to.
        case: The shape to compute.
        arms: Names of the arms that cover the case.
        seed: Seed of the random inputs.

    Returns:
        For each arm: kernels ``launched``, output ``elements``, how many are ``unwritten`` and ``nonfinite``, the
        ``relative_error`` ||out - ref|| / ||ref||, and by twin the number of ``differing`` elements.
    """
    trial: RandomTrial = resolve(operation.random)(case, seed, device())
    reference = [tensor.to(torch.float64).cpu() for tensor in trial.reference()]
    if not reference:
        raise MeasurementError(f"operation {operation.name}: the reference of {dict(case)} is empty")
    results: dict[str, dict[str, Any]] = {}
    outputs: dict[str, list[torch.Tensor]] = {}
    for arm in arms:
        results[arm] = _run_poisoned(trial, arm)
        outputs[arm] = [tensor.detach().clone().cpu() for tensor in trial.outputs]
        results[arm] |= {
            "nonfinite": sum(
                int((~torch.isfinite(out)).sum()) for out in outputs[arm] if out.is_floating_point()
            ),
            "relative_error": _relative_error(outputs[arm], reference),
            "differing": {},
        }
    for one, other in operation.same_bits:
        if one in outputs and other in outputs:
            pairs = zip(outputs[one], outputs[other], strict=True)
            results[one]["differing"][other] = sum(_differing_elements(a, b) for a, b in pairs)
    return results


def _run_poisoned(trial: Trial, arm: str) -> dict[str, Any]:
    """Launch an arm on poisoned outputs and scratch, as often as telling poison from results takes."""
    elements = sum(tensor.numel() for tensor in trial.outputs)
    untouched: list[torch.Tensor] | None = None
    launched: list[str] = []
    for byte in (
        _POISON_BYTES
        if any(not tensor.is_floating_point() for tensor in trial.outputs)
        else _POISON_BYTES[:1]
    ):
        _poison(trial, byte)
        poisons = [tensor.clone() for tensor in trial.outputs]
        with recorded() as launched:
            trial.launch(arm)
        if torch.cuda.is_available():
            torch.cuda.synchronize()
        same = [_same_bytes(out, poison) for out, poison in zip(trial.outputs, poisons, strict=True)]
        untouched = same if untouched is None else [a & b for a, b in zip(untouched, same, strict=True)]
    return {
        "launched": launched,
        "elements": elements,
        "unwritten": sum(int(mask.sum()) for mask in untouched or []),
    }


def _poison(trial: Trial, byte: int) -> None:
    for tensor in (*trial.outputs, *trial.scratch):
        raw = torch.full((tensor.element_size(),), byte, dtype=torch.uint8, device=tensor.device)
        tensor.copy_(raw.view(tensor.dtype).expand(tensor.shape))


def _same_bytes(one: torch.Tensor, other: torch.Tensor) -> torch.Tensor:
    """Compare two tensors element by element on their bytes, so that NaN equals itself."""
    split = [
        tensor.contiguous().view(torch.uint8).reshape(-1, tensor.element_size()) for tensor in (one, other)
    ]
    return (split[0] == split[1]).all(dim=1)


def _differing_elements(one: torch.Tensor, other: torch.Tensor) -> int:
    return int((~_same_bytes(one, other)).sum())


def _relative_error(outputs: list[torch.Tensor], reference: list[torch.Tensor]) -> float | None:
    """Compute ||out - ref|| / ||ref|| over all outputs; None where it is not a number."""
    squares = [
        ((out.to(torch.float64) - ref).square().sum(), ref.square().sum())
        for out, ref in zip(outputs, reference, strict=True)
    ]
    difference, magnitude = (float(sum(column)) for column in zip(*squares, strict=True))
    if magnitude == 0.0:
        return None if difference else 0.0
    error = (difference / magnitude) ** 0.5
    return error if error == error else None
