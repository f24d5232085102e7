"""What there is to guard, and the formats of the files around it."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from guardrail import registry
from guardrail.compiled.architectures import ARCHITECTURES
from guardrail.reporters import json
from guardrail.spec.profile_files import load_profiles
from guardrail.spec.schema import guards_schema
from guardrail.workspace import guard_kinds


def subjects() -> Iterator[tuple[str, str, str, str]]:
    """List every subject with its kind, the probes that measure it, and its negative controls."""
    probes = registry.probes()
    for family in registry.families().values():
        for name, subject in family.subjects().items():
            measuring = [probe for probe, found in probes.items() if isinstance(subject, found.subjects)]
            controls = ", ".join(control.name for control in subject.controls) or "none"
            yield f"{family.name}.{name}", type(subject).__name__.lower(), ", ".join(measuring), controls


def metrics() -> Iterator[tuple[str, str, str, str]]:
    """List every metric of every probe with its unit and meaning."""
    for name, probe in registry.probes().items():
        for metric in probe.metrics:
            yield name, metric.name, metric.unit, metric.meaning


def profiles(guards_file: Path) -> Iterator[tuple[str, str, str]]:
    """List the device and model profiles that a guards file may name."""
    found = load_profiles(guards_file, frozenset(ARCHITECTURES))
    for name, device in sorted(found.devices.items()):
        yield "device", name, f"{device.title}: {device.arch}, {device.sm_count} SMs"
    for name, model in sorted(found.models.items()):
        heads = f"{model.query_heads} query heads, {model.kv_heads} KV heads, head size {model.head_size}"
        yield "model", name, heads


def schemas() -> dict[str, dict[str, Any]]:
    """Give the JSON Schema of each published file format."""
    return {"guards": guards_schema(guard_kinds(registry.probes())), "report": json.schema()}
