"""Kernel resources as JSON, written and read back."""

import json
from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any

from guardrail.compiled.diff import Change, Comparison
from guardrail.compiled.resources import KernelResources
from guardrail.errors import UsageError


def to_json(kernel: KernelResources) -> str:
    """Write one kernel as a JSON object; what is not known is null.

    ``shared_bytes`` is static plus dynamic shared memory, the latter as far as it is known.
    """
    found = kernel.occupancy
    # A third of json.dumps's time, which counts where a library holds tens of thousands of kernels.
    return (
        f'{{"name": {_json(kernel.name)}, "arch": {_json(kernel.arch)}, "registers": {kernel.registers}, '
        f'"stack_bytes": {kernel.stack_bytes}, "spill_store_bytes": {_json(kernel.spill_store_bytes)}, '
        f'"spill_load_bytes": {_json(kernel.spill_load_bytes)}, "shared_bytes": {kernel.shared_bytes}, '
        f'"dynamic_shared_bytes": {_json(kernel.dynamic_shared_bytes)}, "threads": {_json(kernel.threads)}, '
        f'"blocks_per_sm": {_json(found and found.blocks_per_sm)}, '
        f'"limited_by": {_json(found and found.limited_by)}, '
        f'"theoretical_occupancy": {_json(found and found.theoretical)}, '
        f'"toolchain": {_json(kernel.toolchain)}}}'
    )


def join_json(kernels: Iterable[str]) -> str:
    """Make one JSON array of kernels, one a line, that `load_kernels` reads."""
    return "[\n" + ",\n".join(kernels) + "\n]"


def comparison_to_json(comparison: Comparison) -> str:
    """Write a comparison as one JSON object of lists of kernels, pairs as ``old`` and ``new``."""
    return (
        f'{{"unchanged": {comparison.unchanged},\n'
        f'"worse": {join_json(map(_pair, comparison.worse))},\n'
        f'"better": {join_json(map(_pair, comparison.better))},\n'
        f'"added": {join_json(map(to_json, comparison.added))},\n'
        f'"removed": {join_json(map(to_json, comparison.removed))}}}'
    )


def load_kernels(text: str | bytes, source: str) -> list[KernelResources]:
    """Read what `join_json` wrote.

    Args:
        text: The JSON text.
        source: Where it came from, for the message.

    Raises:
        UsageError: It is not such a text.
    """
    try:
        objects = json.loads(text)
        if not isinstance(objects, list) or not all(isinstance(kernel, dict) for kernel in objects):
            raise TypeError("it holds something else")
        return [_from_json_object(kernel) for kernel in objects]
    except KeyError as error:
        reason = f"the key {error} is missing"
    except json.JSONDecodeError as error:
        reason = f"the JSON breaks off or is damaged on line {error.lineno}"
    except UnicodeDecodeError:
        reason = "it is not UTF-8 text"
    except (TypeError, ValueError, RecursionError) as error:
        reason = str(error)
    raise UsageError(f"{source}: not a list of kernels as `guardrail resources --json` writes it ({reason})")


@cache
def _json(value: str | int | float | None) -> str:
    return json.dumps(value)


def _pair(change: Change) -> str:
    return f'{{"old": {to_json(change.old)}, "new": {to_json(change.new)}}}'


def _from_json_object(kernel: Mapping[str, Any]) -> KernelResources:
    dynamic = _integer_or_null(kernel, "dynamic_shared_bytes")
    static = _integer(kernel, "shared_bytes") - (dynamic or 0)
    if static < 0:
        raise ValueError(f"dynamic_shared_bytes is {dynamic}, more than shared_bytes")
    return KernelResources(
        name=_text(kernel, "name"),
        arch=_text(kernel, "arch"),
        registers=_integer(kernel, "registers"),
        stack_bytes=_integer(kernel, "stack_bytes"),
        static_shared_bytes=static,
        toolchain=_text(kernel, "toolchain"),
        spill_store_bytes=_integer_or_null(kernel, "spill_store_bytes"),
        spill_load_bytes=_integer_or_null(kernel, "spill_load_bytes"),
        dynamic_shared_bytes=dynamic,
        threads=_integer_or_null(kernel, "threads", least=1),
    )


def _text(kernel: Mapping[str, Any], key: str) -> str:
    if not isinstance(kernel[key], str):
        raise TypeError(f"{key} is {kernel[key]!r}, not a text")
    return str(kernel[key])


def _integer(kernel: Mapping[str, Any], key: str, least: int = 0) -> int:
    value = kernel[key]
    if type(value) is not int:
        raise TypeError(f"{key} is {value!r}, not a whole number")
    if value < least:
        raise ValueError(f"{key} is {value}, less than {least}")
    return value


def _integer_or_null(kernel: Mapping[str, Any], key: str, least: int = 0) -> int | None:
    return None if kernel[key] is None else _integer(kernel, key, least)
