"""Kernel resources as JSON, written and read back."""

import json
from collections.abc import Iterable, Mapping
from typing import Any

from guardrail.compiled.diff import Change, Comparison
from guardrail.compiled.resources import KernelResources
from guardrail.errors import UsageError


def to_json_object(kernel: KernelResources) -> dict[str, Any]:
    """Give one kernel's JSON object; what is not known is null.

    ``shared_bytes`` is static plus dynamic shared memory, the latter as far as it is known.
    """
    found = kernel.occupancy
    return {
        "name": kernel.name,
        "arch": kernel.arch,
        "registers": kernel.registers,
        "stack_bytes": kernel.stack_bytes,
        "spill_store_bytes": kernel.spill_store_bytes,
        "spill_load_bytes": kernel.spill_load_bytes,
        "shared_bytes": kernel.shared_bytes,
        "dynamic_shared_bytes": kernel.dynamic_shared_bytes,
        "threads": kernel.threads,
        "blocks_per_sm": None if found is None else found.blocks_per_sm,
        "limited_by": None if found is None else found.limited_by,
        "theoretical_occupancy": None if found is None else found.theoretical,
        "toolchain": kernel.toolchain,
        "mangled_name": kernel.mangled_name,
    }


def to_json(kernel: KernelResources) -> str:
    """Write one kernel as JSON."""
    return json.dumps(to_json_object(kernel))


def join_json(kernels: Iterable[str]) -> str:
    """Make one JSON array of kernels, one a line, that `load_kernels` reads."""
    return "[\n" + ",\n".join(kernels) + "\n]\n"


def dump_comparison(comparison: Comparison) -> str:
    """Write a comparison as one JSON object of lists of kernels, pairs as ``old`` and ``new``."""
    return json.dumps(
        {
            "worse": [_pair(change) for change in comparison.worse],
            "better": [_pair(change) for change in comparison.better],
            "unchanged": comparison.unchanged,
            "added": [to_json_object(kernel) for kernel in comparison.added],
            "removed": [to_json_object(kernel) for kernel in comparison.removed],
        },
        indent=1,
    )


def load_kernels(text: str, source: str) -> list[KernelResources]:
    """Read what `join_json` wrote.

    Args:
        text: The JSON text.
        source: Where it came from, for the message.

    Raises:
        UsageError: It is not such a text.
    """
    try:
        objects = json.loads(text)
        return [_from_json_object(kernel) for kernel in objects]
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise UsageError(
            f"{source}: not a list of kernels as `guardrail resources --json` writes it ({error!r})"
        ) from None


def _pair(change: Change) -> dict[str, Any]:
    return {"old": to_json_object(change.old), "new": to_json_object(change.new)}


def _from_json_object(kernel: Mapping[str, Any]) -> KernelResources:
    dynamic = _integer_or_null(kernel, "dynamic_shared_bytes")
    return KernelResources(
        name=_text(kernel, "name"),
        mangled_name=_text(kernel, "mangled_name"),
        arch=_text(kernel, "arch"),
        registers=_integer(kernel, "registers"),
        stack_bytes=_integer(kernel, "stack_bytes"),
        static_shared_bytes=_integer(kernel, "shared_bytes") - (dynamic or 0),
        toolchain=_text(kernel, "toolchain"),
        spill_store_bytes=_integer_or_null(kernel, "spill_store_bytes"),
        spill_load_bytes=_integer_or_null(kernel, "spill_load_bytes"),
        dynamic_shared_bytes=dynamic,
        threads=_integer_or_null(kernel, "threads"),
    )


def _text(kernel: Mapping[str, Any], key: str) -> str:
    if not isinstance(kernel[key], str):
        raise TypeError(f"{key} is {kernel[key]!r}, not a text")
    return str(kernel[key])


def _integer(kernel: Mapping[str, Any], key: str) -> int:
    if type(kernel[key]) is not int:
        raise TypeError(f"{key} is {kernel[key]!r}, not a whole number")
    return int(kernel[key])


def _integer_or_null(kernel: Mapping[str, Any], key: str) -> int | None:
    return None if kernel[key] is None else _integer(kernel, key)
