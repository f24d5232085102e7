"""The driver's management library, asked so that what a card does not answer is None."""

import functools
from collections.abc import Callable
from typing import Any

import pynvml

from guardrail.errors import MeasurementError


def start() -> None:
    """Load NVML, once a process.

    It stays loaded to the process's end: loading takes longer than all that is asked of it.

    Raises:
        MeasurementError: There is no driver, or none that answers.
    """
    try:
        _load(pynvml)
    except pynvml.NVMLError as error:
        raise MeasurementError(f"the NVIDIA driver does not answer: {error}. Run: guardrail doctor") from None


def find(uuid: str) -> Any:
    """Find a GPU or MIG slice by its UUID.

    Returns:
        NVML's handle.

    Raises:
        MeasurementError: There is no driver, or no such GPU.
    """
    start()
    try:
        return pynvml.nvmlDeviceGetHandleByUUID(uuid)
    except pynvml.NVMLError as error:
        raise MeasurementError(f"GPU {uuid}: the driver does not find it: {error}") from None


def whole_gpu(handle: Any) -> Any:
    """Turn the handle of a MIG slice into its GPU's, which alone has clocks and power; keep any other."""
    parent = ask("nvmlDeviceGetDeviceHandleFromMigDeviceHandle", handle)
    return handle if parent is None else parent


def ask(function: str, *arguments: Any) -> Any:
    """Call an NVML function; None where the bindings lack it or the card, driver or user may not answer."""
    call: Callable[..., Any] | None = getattr(pynvml, function, None)
    if call is None:
        return None
    try:
        return call(*arguments)
    except pynvml.NVMLError:
        return None


@functools.cache
def _load(library: Any) -> None:
    library.nvmlInit()
