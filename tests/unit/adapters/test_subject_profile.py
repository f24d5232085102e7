import pytest

from guardrail import registry
from guardrail.adapters import subject_profile
from guardrail.adapters.device import Gpu
from guardrail.adapters.subject_calls import chosen_cases, covered_case
from guardrail.adapters.subject_profile import SubjectRequest, profile_subject
from guardrail.errors import MeasurementError, UsageError
from guardrail.families import Arm, Family, Kernel, Operation
from guardrail.records.launch import Launch, Trace, WorkKind
from guardrail.records.task import Done
from guardrail.traces.saved import plain_trace

OPERATION = Operation(
    name="scale",
    work_unit="row",
    arms=(Arm("fast", ("fast_kernel",), "m:f"), Arm("slow", ("slow_kernel",), "m:f")),
    units="m:units",
    exposing=None,
    random="m:random",
    cases=({"rows": 4, "wide": False},),
    timed_cases={"small": {"rows": 64, "wide": True}, "large": {"rows": 4096, "wide": True}},
)


@pytest.mark.parametrize(
    ("words", "cases"),
    [
        ((), [{"rows": 4096, "wide": True}, {"rows": 64, "wide": True}]),
        (("small",), [{"rows": 64, "wide": True}]),
        (("rows=7",), [{"rows": 7, "wide": True}]),
        (("small", "wide=false", "rows=2"), [{"rows": 2, "wide": False}]),
    ],
)
def test_a_case_is_a_timed_one_with_some_axes_changed(words, cases):
    assert chosen_cases(OPERATION, words) == cases


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("huge",), "--case huge: operation scale has no such case .it has: small, large"),
        (("columns=3",), "--case columns=3: expected one of the axes rows, wide"),
    ],
)
def test_a_word_that_is_no_case_is_refused(words, said):
    with pytest.raises(UsageError, match=said):
        chosen_cases(OPERATION, words)


@pytest.mark.parametrize(
    ("subject", "options", "said"),
    [
        ("q6k.absent", {}, "family q6k has no kernel or operation 'absent'"),
        ("q6k.matvec", {"arm": "v9"}, "--arm v9: operation matvec has the arms "),
        ("q6k.matvec", {"case": ("colour=3",)}, "--case colour=3: expected one of the axes"),
    ],
)
def test_a_wrong_request_is_refused_before_a_gpu_is_looked_for(subject, options, said):
    with pytest.raises(UsageError, match=said):
        profile_subject(SubjectRequest(subject, **options))


def test_without_a_gpu_nothing_is_timed(monkeypatch):
    monkeypatch.setattr(subject_profile, "executing_gpu", lambda: None)
    with pytest.raises(MeasurementError, match=r"q6k\.matvec: there is no GPU here that torch can use"):
        profile_subject(SubjectRequest("q6k.matvec"))


def test_a_kernel_that_no_operation_launches_cannot_be_called():
    family = Family("toy", "Toys", kernels=(Kernel("lone", "m:lone"),), operations=(OPERATION,))
    with pytest.raises(MeasurementError, match="no operation of family toy launches lone"):
        subject_profile._launching(family.kernels[0], family)


def test_a_kernel_is_shown_alone_of_what_its_arm_launches(monkeypatch):
    kernels = [Launch(name, WorkKind.KERNEL, 5.0) for name in ("attend_segments", "reduce_segments")]
    asked = {}

    class Pool:
        def __init__(self, *_args, **_options): ...

        def run(self, tasks):
            asked.update(tasks[0].arguments)
            yield 0, Done(plain_trace(Trace("kineto", "x", tuple(kernels))), 0.1)

    monkeypatch.setattr(subject_profile, "executing_gpu", lambda: Gpu("NVIDIA H200", "GPU-0", "580.1"))
    monkeypatch.setattr(subject_profile, "WorkerPool", Pool)
    trace = profile_subject(SubjectRequest("int4_attention.reduce_segments", calls=3))
    assert (trace.source, [it.name for it in trace.launches]) == (
        "int4_attention.reduce_segments",
        ["reduce_segments"],
    )
    assert [arm.name for arm in asked["operation"].arms] == ["3d"]
    assert asked["calls"] == 3


def test_every_bundled_kernel_is_launched_by_an_arm_that_covers_a_case():
    for family in registry.families().values():
        for kernel in family.kernels:
            operation = subject_profile._launching(kernel, family)
            case, arm = covered_case(operation, chosen_cases(operation, ()), operation.arms)
            assert case and kernel.name in arm.launches, kernel.name
