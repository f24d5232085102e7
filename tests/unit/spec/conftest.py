"""Two probes, a few profiles, and guards files that use them."""

from collections.abc import Callable
from pathlib import Path
from textwrap import dedent

import pytest
from pydantic import Field

from guardrail.families.models import ModelProfile
from guardrail.records.measurement import Metric
from guardrail.spec.faults import ConfigurationError
from guardrail.spec.guards import Guard, GuardKind, LoadedGuard
from guardrail.spec.load import load_guards
from guardrail.spec.profiles import DeviceProfile, Profiles


class ResourcesGuard(Guard):
    archs: list[str] = Field(description="Architectures to compile for.", min_length=1)


class DispatchGuard(Guard):
    models: list[str] = Field(default=[], description="Models whose cases are asked.")
    seeds: int = Field(1, ge=1, description="Sets of random inputs.")


KINDS = {
    "resources": GuardKind(
        ResourcesGuard,
        {
            "spill_bytes": Metric("spill_bytes", "B", "Bytes of registers spilled, per thread."),
            "blocks_per_sm": Metric("blocks_per_sm", "blocks", "Blocks that fit on one SM."),
        },
    ),
    "dispatch": GuardKind(
        DispatchGuard, {"dropped_units": Metric("dropped_units", "units", "Work units that no arm computes.")}
    ),
}

PROFILES = Profiles(
    devices={
        "h200": DeviceProfile(
            name="h200",
            title="NVIDIA H200",
            device_name="NVIDIA H200",
            arch="sm_90",
            sm_count=132,
            l2_bytes=1,
            dram_bytes_per_second=1,
            memory_bytes=1,
        )
    },
    models={"qwen2.5-7b": ModelProfile("qwen2.5-7b", 28, 3584, 28, 4, 128, 152064)},
    architectures=frozenset({"sm_86", "sm_90"}),
)

GOOD = dedent("""\
    version: 1
    guards:
      - id: mq3d-resources
        title: nothing spills
        probe: resources
        subject: int4_attention.attend_segments
        archs: [sm_86, sm_90]
        require:
          spill_bytes: {ceiling: 0}
          blocks_per_sm:
            floor: {sm_86: 2, h200: 3.5}
      - id: q6k-gate-covers
        title: every row length is computed
        probe: dispatch
        subject: q6k.mmvq
        models: [qwen2.5-7b]
        require:
          dropped_units: {equals: 0}
    """)


@pytest.fixture
def load(tmp_path: Path) -> Callable[..., tuple[LoadedGuard, ...]]:
    """Load a guards file given by its text."""

    def from_text(
        text: str, subject_fault: Callable[[Guard], str | None] = lambda _: None
    ) -> tuple[LoadedGuard, ...]:
        path = tmp_path / "guards.yaml"
        path.write_text(text)
        return load_guards(path, KINDS, PROFILES, subject_fault)

    return from_text


@pytest.fixture
def faults(
    load: Callable[..., tuple[LoadedGuard, ...]],
) -> Callable[..., list[tuple[int | None, str]]]:
    """Line and message of each fault of a guards file given by its text."""

    def of_text(
        text: str, subject_fault: Callable[[Guard], str | None] = lambda _: None
    ) -> list[tuple[int | None, str]]:
        with pytest.raises(ConfigurationError) as caught:
            load(text, subject_fault)
        return [(fault.line, fault.message) for fault in caught.value.faults]

    return of_text
