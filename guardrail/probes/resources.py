"""Probe ``resources``: what a compiled kernel takes of a GPU. Needs none."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import Field, field_validator

from guardrail.compiled.file_subject import FileSubject
from guardrail.compiled.resources import KernelResources
from guardrail.errors import MeasurementError
from guardrail.families import Build, Kernel, Recording
from guardrail.probes.interface import Context, Measured, Measuring, Probe
from guardrail.probes.references import modules_of
from guardrail.records.measurement import Finding, Measurement, Metric, Unmeasured
from guardrail.records.task import Done, Environment, Outcome, Task
from guardrail.spec.guards import Guard


class ResourcesGuard(Guard):
    """A guard on compiled code."""

    archs: list[str] = Field(
        min_length=1, description="Architectures to compile for, or to look at in a binary."
    )
    builds: list[str] = Field(
        default=[], description="Only these builds of a kernel; all of them where empty."
    )
    kernel: str | None = Field(
        None, description="Regular expression: only kernels of a file whose name matches."
    )
    threads: int | None = Field(
        None, ge=1, le=1024, description="Threads a block, for a binary that does not say."
    )
    dynamic_shared: int | None = Field(None, ge=0, description="Dynamic shared memory a block, in bytes.")
    anchored_with: str | None = Field(
        None, description="Toolchain that the bounds were set under, as reports name it: triton 3.7.1."
    )

    @field_validator("kernel")
    @classmethod
    def _is_a_pattern(cls, kernel: str | None) -> str | None:
        try:
            re.compile(kernel or "")
        except re.error as error:
            raise ValueError(f"{kernel!r} is not a regular expression: {error}") from None
        return kernel


class ResourcesProbe(Probe[ResourcesGuard]):
    """Compiles a kernel's builds for every architecture, or reads a binary, and reads off what each takes."""

    guard = ResourcesGuard
    subjects = (Kernel, FileSubject)
    metrics = (
        Metric("registers", "registers", "32-bit registers of one thread."),
        Metric("spill_bytes", "bytes", "Spill stores and loads of one thread, from the compiler's own log."),
        Metric("stack_bytes", "bytes", "Stack frame of one thread; it may hold more than spills."),
        Metric("shared_bytes", "bytes", "Shared memory of one block, static and dynamic."),
        Metric("blocks_per_sm", "blocks", "Blocks that one SM can hold at a time."),
        Metric("occupancy", "ratio", "Resident warps over the warps that an SM has room for."),
    )

    def measure(self, guard: ResourcesGuard, subject: Kernel | FileSubject, context: Context) -> Measuring:
        """See `Probe.measure`."""
        archs, skipped = _archs(guard, context)
        if not archs:
            return skipped
        place = {"profile": context.device.name} if context.device else {}
        failures: list[Unmeasured] = []
        if isinstance(subject, FileSubject):
            outcomes = yield [_read_task(guard, subject, arch) for arch in archs]
            labels = [{"arch": arch, **place} for arch in archs]
        else:
            recorded = yield [_record_task(subject, recording) for recording in subject.recordings]
            failures += [Unmeasured(outcome.reason) for outcome in recorded if not isinstance(outcome, Done)]
            builds = [Build(**outcome.value) for outcome in recorded if isinstance(outcome, Done)]
            pairs = _pairs(guard, (*subject.builds, *builds), archs)
            outcomes = yield [_compile_task(subject, build, arch) for build, arch in pairs]
            labels = [
                {"kernel": subject.name, "build": build.name, "arch": arch, **place} for build, arch in pairs
            ]
        rows = zip(labels, outcomes, strict=True)
        return [*failures, *(item for label, outcome in rows for item in _read(guard, label, outcome))]

    def narrowed(self, guard: ResourcesGuard, context: Context) -> ResourcesGuard:
        """See `Probe.narrowed`: one architecture shows whether a bound works."""
        measured, _ = _archs(guard, context)
        return guard.model_copy(update={"archs": [*(measured or guard.archs)][:1]})


def _archs(guard: ResourcesGuard, context: Context) -> tuple[Sequence[str], Measured]:
    """Pick the architectures to measure; with a device profile only its own."""
    if context.device is None:
        return guard.archs, []
    if context.device.arch in guard.archs:
        return [context.device.arch], []
    reason = f"the guard does not cover {context.device.arch}, the architecture of {context.device.name}"
    return [], [Unmeasured(reason, skipped=True)]


def _pairs(guard: ResourcesGuard, builds: Sequence[Build], archs: Sequence[str]) -> list[tuple[Build, str]]:
    """Pick the builds that the guard is about, each for the architectures that it is launched on.

    Raises:
        MeasurementError: The guard names a build that the kernel does not have.
    """
    names = {build.name for build in builds}
    if unknown := set(guard.builds) - names:
        offered = ", ".join(sorted(names)) or "none"
        raise MeasurementError(f"the kernel has no build {', '.join(sorted(unknown))}; it has: {offered}")
    wanted = [build for build in builds if not guard.builds or build.name in guard.builds]
    return [(build, arch) for arch in archs for build in wanted if not build.archs or arch in build.archs]


def _record_task(kernel: Kernel, recording: Recording) -> Task:
    return Task(
        "guardrail.adapters.recorded_builds:record_build",
        {"recording": recording, "kernel": kernel.name},
        Environment.EXECUTE,
        modules_of(kernel.references),
    )


def _compile_task(kernel: Kernel, build: Build, arch: str) -> Task:
    return Task(
        "guardrail.adapters.triton_compiler:compile_build",
        {"function": kernel.function, "build": build, "arch": arch},
        Environment.COMPILE,
        modules_of((kernel.function,)),
    )


def _read_task(guard: ResourcesGuard, subject: FileSubject, arch: str) -> Task:
    return Task(
        "guardrail.adapters.guarded_file:read_kernels",
        {
            "subject": subject,
            "arch": arch,
            "kernel": guard.kernel,
            "threads": guard.threads,
            "dynamic_shared": guard.dynamic_shared,
        },
        Environment.HOST,
    )


def _read(guard: ResourcesGuard, label: Mapping[str, str], outcome: Outcome) -> Measured:
    """Turn what a worker read into measurements, one a kernel and metric."""
    if not isinstance(outcome, Done):
        return [Unmeasured(outcome.reason, label)]
    rows: list[dict[str, Any]] = outcome.value if isinstance(outcome.value, list) else [outcome.value]
    measured: list[Measurement] = []
    for row in rows:
        found = KernelResources(**row)
        where = label if "kernel" in label else {"kernel": found.name, **label}
        evidence = Finding(_sentence(found))
        for metric, unit, value in (
            ("registers", "registers", found.registers),
            ("spill_bytes", "bytes", found.spill_bytes),
            ("stack_bytes", "bytes", found.stack_bytes),
            ("shared_bytes", "bytes", found.shared_bytes),
            ("blocks_per_sm", "blocks", found.blocks_per_sm),
            ("occupancy", "ratio", found.theoretical_occupancy),
        ):
            change = _toolchain_change(guard.anchored_with, found.toolchain)
            measured.append(Measurement(metric, unit, value, where, findings=(evidence,), changed=change))
    return measured


def _sentence(found: KernelResources) -> str:
    limit = f", {found.blocks_per_sm} blocks per SM limited by {found.limited_by}" if found.limited_by else ""
    spills = (
        "spills not known, which lie in the stack"
        if found.spill_bytes is None
        else f"{found.spill_store_bytes} B spill stores, {found.spill_load_bytes} B spill loads"
    )
    return (
        f"{found.registers} registers, {found.stack_bytes} B stack, {spills}, "
        f"{found.shared_bytes} B shared memory{limit}; {found.toolchain}"
    )


def _toolchain_change(anchored: str | None, current: str) -> str:
    """Say which tools have another version than when the bounds were set; empty where none has."""
    before, now = _tools(anchored or ""), _tools(current)
    changes = [
        f"{tool} {version} -> {now[tool]}"
        for tool, version in before.items()
        if now.get(tool, version) != version
    ]
    return ", ".join(changes)


def _tools(toolchain: str) -> dict[str, str]:
    """Split ``"triton 3.7.1, ptxas 12.9.86"`` into versions by tool."""
    pairs = (part.strip().rpartition(" ") for part in toolchain.split(","))
    return {tool: version for tool, _, version in pairs if tool}
