"""Reading off a run how it compiles its kernels. Runs in an execute worker."""

import inspect
from collections.abc import Mapping
from typing import Any

import torch

from guardrail.adapters.launches import observed
from guardrail.adapters.trials import device
from guardrail.errors import MeasurementError
from guardrail.families import Build, Recording
from guardrail.probes.references import resolve

_SCALARS = {
    torch.float16: "fp16",
    torch.bfloat16: "bf16",
    torch.float32: "fp32",
    torch.float64: "fp64",
    torch.uint8: "u8",
    torch.int8: "i8",
    torch.int16: "i16",
    torch.int32: "i32",
    torch.int64: "i64",
    torch.bool: "i1",
    torch.float8_e4m3fn: "fp8e4nv",
    torch.float8_e5m2: "fp8e5",
}
_OPTIONS = {
    "num_warps": "warps",
    "num_stages": "stages",
    "maxnreg": "max_registers",
    "enable_fp_fusion": "fp_fusion",
}
_DIVISOR = 16
"""What Triton specialises addresses and integers by."""


def record_build(recording: Recording, kernel: str) -> Build:
    """Run an arm and read the types, constants and options off its first launch of a kernel.

    Args:
        recording: What to run.
        kernel: Symbol of the kernel.

    Returns:
        The build that this launch compiles, under the recording's name.

    Raises:
        MeasurementError: The run does not launch the kernel, or passes it something of unknown type.
    """
    trial = resolve(recording.operation.random)(recording.case, 0, device())
    builds: list[Build] = []

    def observe(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        if function.fn.__name__ == kernel:
            builds.append(_build(recording.name, function, args, kwargs))

    with observed(observe):
        trial.launch(recording.arm)
    if not builds:
        raise MeasurementError(
            f"recording {recording.name}: arm {recording.arm} of {recording.operation.name} never launched "
            f"{kernel}"
        )
    return builds[0]


def _build(name: str, function: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Build:
    """Divide a launch's arguments into run-time types, constants and options, as Triton does."""
    parameters = inspect.signature(function.fn).parameters
    unspecialised = _unspecialised(function, list(parameters))
    given = dict(zip(parameters, args, strict=False)) | {
        key: kwargs[key] for key in parameters if key in kwargs
    }
    signature: dict[str, str] = {}
    constants: dict[str, Any] = {}
    for argument, parameter in parameters.items():
        value = given.get(argument, parameter.default)
        constant = "constexpr" in str(parameter.annotation) or value is None
        if constant or (isinstance(value, int) and value == 1 and argument not in unspecialised):
            constants[argument] = value
        else:
            signature[argument] = _type(argument, value, argument not in unspecialised)
    options = {ours: kwargs[theirs] for theirs, ours in _OPTIONS.items() if kwargs.get(theirs) is not None}
    return Build(name, signature, constants, **options)


def _unspecialised(function: Any, arguments: list[str]) -> set[str]:
    """Name the arguments that ``do_not_specialize`` lists, by name or position."""
    stated = getattr(function, "do_not_specialize", None) or getattr(function, "kwargs", {}).get(
        "do_not_specialize"
    )
    return {arguments[item] if isinstance(item, int) else item for item in stated or ()}


def _type(argument: str, value: Any, specialised: bool) -> str:
    """Write one argument's type as a build does, with the divisibility that Triton would assume."""
    if isinstance(value, torch.Tensor) and value.dtype in _SCALARS:
        return f"*{_SCALARS[value.dtype]}" + (f":{_DIVISOR}" if value.data_ptr() % _DIVISOR == 0 else "")
    if isinstance(value, bool):
        return "i1"
    if isinstance(value, int):
        kind = "i32" if -(2**31) <= value < 2**31 else "i64"
        return kind + (f":{_DIVISOR}" if specialised and value % _DIVISOR == 0 else "")
    if isinstance(value, float):
        return "fp32"
    raise MeasurementError(
        f"argument {argument} is a {type(value).__name__}; expected a tensor, a number or None"
    )
