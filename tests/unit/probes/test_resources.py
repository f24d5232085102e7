from dataclasses import asdict

import pytest
from pydantic import ValidationError

from guardrail.compiled.file_subject import FileSubject
from guardrail.compiled.resources import KernelResources
from guardrail.errors import MeasurementError
from guardrail.families import Build, Kernel, Recording
from guardrail.probes.interface import Context
from guardrail.probes.resources import ResourcesGuard, ResourcesProbe
from guardrail.records.measurement import Unmeasured
from guardrail.records.task import Done, Environment, Failed
from guardrail.spec.guards import Bound
from guardrail.spec.profiles import DeviceProfile
from helpers.probing import by_metric, measured, sentences
from helpers.toy_gate import OPERATION

FOUND = KernelResources(
    name="scale",
    arch="sm_90",
    registers=40,
    stack_bytes=16,
    static_shared_bytes=1024,
    toolchain="triton 3.7.1, ptxas 12.9.86",
    spill_store_bytes=8,
    spill_load_bytes=4,
    dynamic_shared_bytes=512,
    threads=128,
)
KERNEL = Kernel("scale", "toy_kernels:scale", (Build("any", {}, {}), Build("aligned", {}, {})))
FILE = FileSubject("lib.so", "cafe")
H200 = DeviceProfile(
    name="h200", title="H200", device_name="NVIDIA H200", arch="sm_90", sm_count=132, l2_bytes=1,
    dram_bytes_per_second=1, memory_bytes=1,
)  # fmt: skip


def guard(**keys):
    stated = {"id": "g", "title": "t", "probe": "resources", "subject": "s", "archs": ["sm_86", "sm_90"]}
    return ResourcesGuard(**stated | keys, require={"registers": Bound(ceiling=64)})


def context(device=None):
    return Context({}, device, interpreted=True)


def compiled(task):
    return Done(asdict(FOUND), 1.0)


def resources(subject=KERNEL, answer=compiled, device=None, **keys):
    return measured(ResourcesProbe(), guard(**keys), subject, context(device), answer)


def test_each_build_is_compiled_for_each_architecture():
    found, (_, tasks) = resources()
    assert {task.function for task in tasks} == {"guardrail.adapters.triton_compiler:compile_build"}
    assert {(task.environment, task.modules) for task in tasks} == {(Environment.COMPILE, ("toy_kernels",))}
    assert [(task.arguments["build"].name, task.arguments["arch"]) for task in tasks] == [
        ("any", "sm_86"),
        ("aligned", "sm_86"),
        ("any", "sm_90"),
        ("aligned", "sm_90"),
    ]
    assert len(found) == 4 * len(ResourcesProbe.metrics)
    assert found[-1].where == {"kernel": "scale", "build": "aligned", "arch": "sm_90"}


def recording(outcome):
    """Answer the recording of a build as told, and compile what there is."""
    return lambda task: outcome if task.function.endswith(":record_build") else compiled(task)


RECORDED = Kernel(
    "scale", "toy_kernels:scale", (), recordings=(Recording("seen", OPERATION, {"n": 3}, "loop"),)
)


def test_a_build_read_off_a_run_is_compiled_as_one_that_is_stated():
    build = {"name": "seen", "signature": {"values": "*fp32"}, "constants": {"BLOCK": 64}}
    found, (recordings, tasks) = resources(RECORDED, recording(Done(build, 1.0)), archs=["sm_90"])
    (task,) = recordings
    assert (task.function, task.environment, task.modules) == (
        "guardrail.adapters.recorded_builds:record_build",
        Environment.EXECUTE,
        ("helpers.toy_gate", "toy_kernels"),
    )
    assert task.arguments == {"recording": RECORDED.recordings[0], "kernel": "scale"}
    assert [task.arguments["build"] for task in tasks] == [Build(**build)]
    assert found[0].where == {"kernel": "scale", "build": "seen", "arch": "sm_90"}


def test_a_build_that_cannot_be_recorded_is_unmeasured():
    found, (_, tasks) = resources(RECORDED, recording(Failed("it launched nothing")))
    assert (found, tasks) == ([Unmeasured("it launched nothing")], [])


def test_each_metric_is_read_off_the_compiled_kernel():
    found, _ = resources(subject=Kernel("scale", "m:f", (Build("any", {}, {}),)), archs=["sm_90"])
    assert {item.metric: (item.value, item.unit) for item in found} == {
        "registers": (40, "registers"),
        "spill_bytes": (12, "bytes"),
        "stack_bytes": (16, "bytes"),
        "shared_bytes": (1536, "bytes"),
        "blocks_per_sm": (12, "blocks"),
        "occupancy": (0.75, "ratio"),
    }
    assert sentences(by_metric(found)["registers"]) == [
        "40 registers, 16 B stack, 8 B spill stores, 4 B spill loads, 1536 B shared memory, "
        "12 blocks per SM limited by registers; triton 3.7.1, ptxas 12.9.86"
    ]


def test_what_a_binary_does_not_say_is_not_known():
    foreign = asdict(FOUND) | dict.fromkeys(("spill_store_bytes", "spill_load_bytes", "threads"))
    found, _ = resources(subject=FILE, answer=lambda task: Done([foreign], 1.0), archs=["sm_90"])
    assert {name: item.value for name, item in by_metric(found).items() if item.value is None} == {
        "spill_bytes": None,
        "blocks_per_sm": None,
        "occupancy": None,
    }
    assert sentences(by_metric(found)["stack_bytes"]) == [
        "40 registers, 16 B stack, spills not known, which lie in the stack, 1536 B shared memory; "
        "triton 3.7.1, ptxas 12.9.86"
    ]


def test_every_kernel_of_a_file_is_measured():
    rows = [asdict(FOUND), asdict(FOUND) | {"name": "centre"}]
    found, (tasks,) = resources(
        subject=FILE,
        answer=lambda task: Done(rows, 1.0),
        archs=["sm_90"],
        kernel="^sc|ce",
        threads=64,
        dynamic_shared=8,
    )
    (task,) = tasks
    assert (task.function, task.environment) == (
        "guardrail.adapters.guarded_file:read_kernels",
        Environment.HOST,
    )
    assert task.arguments == {
        "subject": FILE,
        "arch": "sm_90",
        "kernel": "^sc|ce",
        "threads": 64,
        "dynamic_shared": 8,
    }
    assert [item.where for item in found if item.metric == "registers"] == [
        {"kernel": "scale", "arch": "sm_90"},
        {"kernel": "centre", "arch": "sm_90"},
    ]


def test_a_build_that_does_not_compile_is_unmeasured_and_the_others_count():
    def answer(task):
        return Failed("no such register") if task.arguments["build"].name == "any" else compiled(task)

    found, _ = resources(answer=answer, archs=["sm_90"])
    where = {"kernel": "scale", "build": "any", "arch": "sm_90"}
    assert found[0] == Unmeasured("no such register", where)
    assert len(found) == 1 + len(ResourcesProbe.metrics)


def test_a_device_profile_narrows_to_its_architecture_and_is_named():
    found, (_, tasks) = resources(device=H200)
    assert {task.arguments["arch"] for task in tasks} == {"sm_90"}
    assert found[0].where == {"kernel": "scale", "build": "any", "arch": "sm_90", "profile": "h200"}


def test_a_device_that_the_guard_does_not_cover_is_skipped():
    found, rounds = resources(device=H200, archs=["sm_86"])
    assert rounds == []
    assert found == [Unmeasured("the guard does not cover sm_90, the architecture of h200", skipped=True)]


@pytest.mark.parametrize(
    ("anchored", "changed"),
    [
        (None, ""),
        ("triton 3.7.1", ""),
        ("triton 3.7.1, ptxas 12.9.86", ""),
        ("triton 3.6.0", "triton 3.6.0 -> 3.7.1"),
        ("triton 3.6.0, ptxas 12.8.61", "triton 3.6.0 -> 3.7.1, ptxas 12.8.61 -> 12.9.86"),
    ],
)
def test_a_toolchain_other_than_the_anchored_one_is_named(anchored, changed):
    found, _ = resources(archs=["sm_90"], anchored_with=anchored)
    assert {item.changed for item in found} == {changed}


@pytest.mark.parametrize(
    ("device", "archs", "narrowed"),
    [
        (None, ["sm_86", "sm_90"], ["sm_86"]),
        (H200, ["sm_86", "sm_90"], ["sm_90"]),
        (H200, ["sm_86", "sm_89"], ["sm_86"]),
    ],
)
def test_a_negative_control_is_compiled_for_one_architecture_that_is_measured(device, archs, narrowed):
    assert ResourcesProbe().narrowed(guard(archs=archs), context(device)).archs == narrowed


def test_a_pattern_that_is_no_regular_expression_is_refused():
    with pytest.raises(ValidationError, match=r"'\(' is not a regular expression"):
        guard(kernel="(")


def test_a_guard_of_some_builds_compiles_only_those_for_the_architectures_they_run_on():
    kernel = Kernel(
        "scale",
        "toy_kernels:scale",
        (
            Build("small", {}, {}),
            Build("large", {}, {}, archs=("sm_90",)),
            Build("large", {}, {}, warps=8, archs=("sm_86", "sm_89")),
        ),
    )
    _, (_, tasks) = resources(kernel, builds=["large"], archs=["sm_86", "sm_90", "sm_120"])
    assert [(task.arguments["arch"], task.arguments["build"].warps) for task in tasks] == [
        ("sm_86", 8),
        ("sm_90", 4),
    ]


def test_a_build_that_the_kernel_does_not_have_is_named():
    with pytest.raises(MeasurementError, match=r"^the kernel has no build huge; it has: aligned, any$"):
        resources(builds=["huge"])
