"""Builds read off a run."""

import pytest

from guardrail.adapters.recorded_builds import record_build
from guardrail.errors import MeasurementError
from guardrail.families import Recording
from guardrail.kernels.int4_attention.manifest import FAMILY

WRITE = next(operation for operation in FAMILY.operations if operation.name == "cache_write")
ROWS_OF_256 = Recording("head256", WRITE, {"blocks": 1, "head_size": 256}, "write")


def test_a_recorded_build_is_what_the_manifest_states():
    declared = next(
        build
        for kernel in FAMILY.kernels
        if kernel.name == "write_cache"
        for build in kernel.builds
        if build.name == "head256"
    )

    recorded = record_build(ROWS_OF_256, "write_cache")

    assert recorded.constants == declared.constants
    assert recorded.warps == declared.warps
    assert {
        name: kind.partition(":")[0].replace("i64", "i32") for name, kind in recorded.signature.items()
    } == {name: kind.partition(":")[0].replace("i64", "i32") for name, kind in declared.signature.items()}


def test_a_kernel_that_the_run_does_not_launch_is_an_error():
    with pytest.raises(
        MeasurementError, match="recording head256: arm write of cache_write never launched attend"
    ):
        record_build(ROWS_OF_256, "attend")
