"""Executing an operation's trials, with everything poisoned first. Runs in an execute worker."""

from typing import Any

import torch

from guardrail.adapters.launches import recorded
from guardrail.errors import MeasurementError
from guardrail.families import Case, Operation, RandomTrial, Trial
from guardrail.probes.references import resolve

_POISON_BYTES = (0xFF, 0x5A)
"""Floats of the first byte are NaN. An integer may rightly hold either, but not one and then the other."""

_INTEGERS = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}
"""An integer of each size in bytes."""


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
        Plain data: kernels ``launched``, output ``elements`` and how many are ``unwritten``, and how many of
        the case's ``units`` were ``dropped`` and ``doubled``, each in the group of outputs where it is worst.

    Raises:
        MeasurementError: The operation has no exposing trial, or its trial does not expose every work unit.
    """
    if operation.exposing is None:
        raise MeasurementError(
            f"operation {operation.name} states no exposing trial, so its arms cannot be counted"
        )
    trial = resolve(operation.exposing)(case, device())
    ran = _run_poisoned(trial, arm)
    groups = [list(map(int, group)) for group in trial.unit_counts()]
    exposed, units = max(map(len, groups), default=0), resolve(operation.units)(case)
    if exposed != units or not exposed:
        raise MeasurementError(
            f"operation {operation.name}: the trial of {dict(case)} exposes {exposed} of {units} work units"
        )
    return {
        **ran,
        "units": exposed,
        "dropped": max(sum(count < 1 for count in group) for group in groups),
        "doubled": max(sum(count > 1 for count in group) for group in groups),
    }


def compare(operation: Operation, case: Case, arms: list[str], seed: int) -> dict[str, dict[str, Any]]:
    """Run arms on the same random inputs and compare each with the reference and with its twins.

    Args:
        operation: The operation that the arms belong to.
        case: The shape to compute.
        arms: Names of the arms that cover the case.
        seed: Seed of the random inputs.

    Returns:
        For each arm: kernels ``launched``, output ``elements``, how many are ``unwritten`` and ``nonfinite``,
        the ``relative_error`` ||out - ref|| / ||ref||, and by twin the number of ``differing`` elements.

    Raises:
        MeasurementError: The reference is not of the outputs' shapes.
    """
    trial: RandomTrial = resolve(operation.random)(case, seed, device())
    reference = [tensor.to(torch.float64).cpu() for tensor in trial.reference()]
    shapes = [[tuple(tensor.shape) for tensor in tensors] for tensors in (trial.outputs, reference)]
    if shapes[0] != shapes[1]:
        raise MeasurementError(
            f"operation {operation.name}: the reference of {dict(case)} has the shapes {shapes[1]}, "
            f"the outputs have {shapes[0]}"
        )
    results: dict[str, dict[str, Any]] = {}
    outputs: dict[str, list[torch.Tensor]] = {}
    for arm in arms:
        results[arm] = _run_poisoned(trial, arm)
        outputs[arm] = [tensor.detach().clone().cpu() for tensor in trial.outputs]
        results[arm] |= {
            "nonfinite": sum(
                int((~torch.isfinite(out)).sum()) for out in outputs[arm] if out.is_floating_point()
            ),
            "relative_error": relative_error(outputs[arm], reference),
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
    if not elements:
        raise MeasurementError("the trial has no outputs, so nothing could be seen to be written")
    once = all(tensor.is_floating_point() for tensor in trial.outputs)
    runs = [_run_once(trial, arm, byte) for byte in (_POISON_BYTES[:1] if once else _POISON_BYTES)]
    untouched = [torch.stack(masks).all(dim=0) for masks in zip(*(masks for _, masks in runs), strict=True)]
    return {
        "launched": runs[-1][0],
        "elements": elements,
        "unwritten": sum(int(mask.sum()) for mask in untouched),
    }


def _run_once(trial: Trial, arm: str, byte: int) -> tuple[list[str], list[torch.Tensor]]:
    """Launch an arm on one poison: the kernels launched, and for each output what still holds the poison."""
    poison(trial, byte)
    poisons = [_bits(tensor).clone() for tensor in trial.outputs]
    with recorded() as launched:
        trial.launch(arm)
    if torch.cuda.is_available():
        torch.cuda.synchronize()
    untouched = [_bits(out) == poison for out, poison in zip(trial.outputs, poisons, strict=True)]
    return launched, untouched


def poison(trial: Trial, byte: int) -> None:
    """Fill a trial's outputs and scratch with one byte, on the device that they are on."""
    for tensor in (*trial.outputs, *trial.scratch):
        bits = _bits(tensor)
        raw = torch.full((tensor.element_size(),), byte, dtype=torch.uint8, device=tensor.device)
        bits.copy_(raw.view(bits.dtype).expand(bits.shape))


def _bits(tensor: torch.Tensor) -> torch.Tensor:
    """See a tensor's elements as integers: NaN equals itself, and no copy turns a boolean's byte into 1."""
    return tensor.view(_INTEGERS[tensor.element_size()])


def _differing_elements(one: torch.Tensor, other: torch.Tensor) -> int:
    return int((_bits(one) != _bits(other)).sum())


def relative_error(outputs: list[torch.Tensor], reference: list[torch.Tensor]) -> float | None:
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
