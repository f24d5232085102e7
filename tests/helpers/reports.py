"""Sample runs that every reporter is tested with."""

from dataclasses import replace

from guardrail.records.measurement import Finding, Measurement, Unmeasured
from guardrail.records.provenance import Provenance
from guardrail.records.report import GuardResult, RunReport
from guardrail.records.verdict import Status, Verdict

PROVENANCE = Provenance(
    time="2026-11-03T09:30:00+01:00",
    command="guardrail check",
    host="runner-7",
    python="3.12.8",
    versions={"torch": "2.13.0", "triton": "3.7.1"},
    commit="0123abcd4567ef890123abcd4567ef890123abcd",
    dirty=True,
    knobs={"TRITON_INTERPRET": "1"},
    device="NVIDIA H200 (GPU-5a1c)",
)

PASSING = GuardResult(
    id="attend-resources",
    title="the decode kernel keeps its registers on every architecture",
    probe="resources",
    subject="int4_attention.attend_segments",
    line=21,
    verdicts=(
        Verdict(
            Status.PASS,
            "within-bound",
            "spill_bytes is 0, at most 0",
            metric="spill_bytes",
            unit="bytes",
            where={"build": "h128", "arch": "sm_90"},
            measured=0,
            bound="at most 0",
            line=26,
        ),
        Verdict(
            Status.SKIPPED,
            "other-machine",
            "no assembler for this architecture is installed",
            metric="spill_bytes",
            where={"build": "h128", "arch": "sm_120"},
        ),
    ),
    measurements=(Measurement("spill_bytes", "bytes", 0, {"build": "h128", "arch": "sm_90"}, inspected=1),),
    unmeasured=(
        Unmeasured(
            "no assembler for this architecture is installed", {"build": "h128", "arch": "sm_120"}, True
        ),
    ),
    warnings=("the anchor was taken with triton 3.6.0, this run used 3.7.1",),
    subject_hash="9f" * 32,
    seconds=0.0,
    cached=True,
)

FAILING = GuardResult(
    id="q6k-gate-covers",
    title="every q6_K row length is fully computed by the arm its gate picks",
    probe="dispatch",
    subject="q6k.mmvq",
    line=3,
    verdicts=(
        Verdict(
            Status.FAIL,
            "not-equal",
            "the gate picks arms that drop 396288 of 3170304 units: dropped_units must be exactly 0",
            metric="dropped_units",
            unit="units",
            where={"model": "qwen2.5-7b"},
            measured=396288,
            bound="exactly 0",
            excess=396288,
            evidence=tuple(
                f"id {18944 + 256 * step}: arm tall computes {64 - step} of {74 + step} units"
                for step in range(11)
            ),
            line=8,
        ),
        Verdict(
            Status.PASS,
            "within-bound",
            "arms_never_taken is 0, exactly 0",
            metric="arms_never_taken",
            unit="arms",
            measured=0,
            bound="exactly 0",
            line=9,
        ),
    ),
    measurements=(
        Measurement(
            "dropped_units",
            "units",
            396288,
            {"model": "qwen2.5-7b"},
            inspected=2048,
            findings=(Finding("id 18944: arm tall computes 64 of 74 units", ("qwen2.5-7b",)),),
        ),
        Measurement("arms_never_taken", "arms", 0, inspected=2048),
    ),
    subject_hash="0a" * 32,
    seconds=1.84,
)

ERRED = GuardResult(
    id="tall-numerics",
    title="the tall arm agrees with float64",
    probe="numerics",
    subject="q6k.mul_mat_vec",
    line=12,
    verdicts=(
        Verdict(
            Status.ERROR,
            "not-measured",
            "the worker ran out of device memory: free some, or lower the case sizes",
            where={"case": "id 152064"},
        ),
    ),
    unmeasured=(Unmeasured("the worker ran out of device memory", {"case": "id 152064"}),),
    seconds=75.2,
)

UNDECIDED = GuardResult(
    id="decode-7b-tg128",
    title="greedy decode of the 7B model keeps its pace",
    probe="decode",
    subject="reference_decode",
    line=30,
    verdicts=(
        Verdict(
            Status.UNDECIDED,
            "straddles-bound",
            "tokens_per_second lies between 680.25 and 704.5, and the floor is 686: measure for longer",
            metric="tokens_per_second",
            unit="tokens/s",
            where={"device": "h200"},
            measured=692.125,
            bound="at least 686",
            line=34,
        ),
    ),
    measurements=(
        Measurement(
            "tokens_per_second",
            "tokens/s",
            692.125,
            {"device": "h200"},
            samples=(680.25, 692.125, 704.5),
            interval=(680.25, 704.5),
            inspected=3,
            changed="triton 3.6.0 -> 3.7.1",
        ),
    ),
    warnings=("the clock fell by 4 % during the window",),
    seconds=12.0,
)

SKIPPED = GuardResult(
    id="decode-3090",
    title="greedy decode on the small card keeps its pace",
    probe="decode",
    subject="reference_decode",
    line=40,
    verdicts=(Verdict(Status.SKIPPED, "other-machine", "anchored to rtx3090, and this is h200"),),
    unmeasured=(Unmeasured("anchored to rtx3090, and this is h200", skipped=True),),
)

HOSTILE = GuardResult(
    id="hostile",
    title="[bold]größer[/bold] als 8 µs: 速度 | `tick` <b>&amp;</b> $(x) \x1b[31mred\x1b[0m \x00",
    probe="command",
    subject="./bench --filter='a|b'",
    line=50,
    verdicts=(
        Verdict(
            Status.FAIL,
            "above-ceiling",
            "100% slower,\r\n::error::injected [/red] ]]> \u202ereversed\x07",
            metric="latency_µs",
            unit="µs",
            where={"case": "a|b, `c`:d"},
            measured=16.0,
            bound="at most 8",
            excess=8.0,
            evidence=("<script>alert(1)</script>", "[link=https://example.org]x[/link]", "速度" * 60),
            line=52,
        ),
    ),
    measurements=(Measurement("latency_µs", "µs", 16.0, {"case": "a|b, `c`:d"}),),
    seconds=0.5,
)

VERDICTLESS = replace(PASSING, id="verdictless", verdicts=(), unmeasured=(), warnings=(), cached=False)


def report(*guards: GuardResult, seconds: float = 4.25) -> RunReport:
    """Make a run of some guards."""
    return RunReport("guards.yaml", guards, PROVENANCE, version="0.1.0", seconds=seconds)


def numbered(guard: GuardResult, count: int) -> tuple[GuardResult, ...]:
    """Repeat a guard under the names ``id-0``, ``id-1`` and so on."""
    return tuple(replace(guard, id=f"{guard.id}-{number}") for number in range(count))


MIXED = report(PASSING, SKIPPED, UNDECIDED, ERRED, FAILING, seconds=93.4)
"""One guard of each outcome, the worst last."""

GREEN = report(*numbered(replace(PASSING, warnings=()), 2))

ALL = {
    "mixed": MIXED,
    "green": GREEN,
    "hostile": report(HOSTILE, PASSING),
    "verdictless": report(VERDICTLESS),
    "empty": report(),
    "only-skipped": report(SKIPPED),
    "absent-profile": replace(GREEN, absent_profiles=("h200", "b200")),
    "warned": replace(GREEN, warnings=("TRITON_DEBUG=1 compiles checks; unset TRITON_DEBUG",)),
    "judged-again": replace(MIXED, judged_from="nightly.json"),
    "long": report(*numbered(FAILING, 60), *numbered(PASSING, 60)),
}
"""Every kind of run by name."""
