import shutil

import pytest
from pydantic import ValidationError

from guardrail.compiled.file_subject import FileSubject
from guardrail.kvlog.reading import GIB
from guardrail.probes.interface import Context
from guardrail.probes.kv_budget import KvBudgetGuard, KvBudgetProbe
from guardrail.records.measurement import Measurement, Unmeasured
from guardrail.records.task import Environment
from guardrail.records.verdict import Status
from guardrail.rules.bounds import judge
from guardrail.spec.guards import Bound, LoadedGuard
from helpers.engines import fake_engine
from helpers.kv_logs import EAGER, GRAPH, LOGS
from helpers.probing import by_metric, measured, sentences

SCRATCH = 59_179_008
CONTEXT = Context({}, None, interpreted=True, folder=str(LOGS))


def guard(metric: str = "kv_tokens", bound: Bound | None = None, **keys) -> KvBudgetGuard:
    require = {metric: bound or Bound(floor=1)}
    return KvBudgetGuard(id="g", title="t", probe="kv_budget", subject="x.log", require=require, **keys)


def measure(name: str, asked: KvBudgetGuard | None = None):
    found, rounds = measured(KvBudgetProbe(), asked or guard(), FileSubject.read(LOGS / name), CONTEXT)
    return found, rounds


def status(name: str, metric: str, bound: Bound, **keys) -> tuple[Status, str]:
    asked = guard(metric, bound, **keys)
    (verdict,) = judge(LoadedGuard(asked, 1, {}), measure(name, asked)[0])
    return verdict.status, verdict.code


def test_every_metric_of_a_start_is_measured_with_its_unit():
    found, _ = measure(EAGER)
    values = {name: (item.value, item.unit) for name, item in by_metric(found).items()}
    assert values == {
        "available_bytes": (29_154_267_136, "bytes"),
        "kv_tokens": (6_902_048, "tokens"),
        "bytes_per_token": (29_154_267_136 / 6_902_048, "bytes"),
        "concurrency": (105.32, "requests"),
        "model_load_bytes": (round(0.34 * GIB), "bytes"),
        "activation_peak_bytes": (round(0.37 * GIB), "bytes"),
        "graph_estimate_bytes": (0, "bytes"),
        "graph_actual_bytes": (0, "bytes"),
        "graph_unbudgeted_bytes": (0, "bytes"),
        "scratch_at_load_bytes": (0, "bytes"),
        "scratch_after_profile_bytes": (0, "bytes"),
        "adopted": (0, "builders"),
        "requested_utilization": (0.2, "ratio"),
        "effective_utilization": (0.2, "ratio"),
        "unknown_variables": (0, "variables"),
        "late_compilations": (None, "kernels"),
    }


def test_all_metrics_but_the_comparing_ones_are_those_of_every_start():
    stated = {item.metric for item in measure(EAGER)[0] if isinstance(item, Measurement)}
    assert stated | {"unplanned_load_bytes", "unplanned_kv_bytes"} == {
        metric.name for metric in KvBudgetProbe.metrics
    }


def test_what_the_log_does_not_state_is_not_known():
    found = by_metric(measure("0.27.1_cpu.log")[0])
    assert (found["model_load_bytes"].value, found["requested_utilization"].value) == (None, None)
    assert status("0.27.1_cpu.log", "model_load_bytes", Bound(ceiling=10)) == (Status.ERROR, "not-a-number")


def test_a_bound_inside_the_rounding_is_undecided():
    load = round(0.34 * GIB)
    step = round(0.005 * GIB)
    assert status(EAGER, "model_load_bytes", Bound(ceiling=load)) == (Status.UNDECIDED, "within-noise")
    assert status(EAGER, "model_load_bytes", Bound(ceiling=load + step + 1)) == (Status.PASS, "holds")
    assert status(EAGER, "model_load_bytes", Bound(ceiling=load - step - 1)) == (
        Status.FAIL,
        "beyond-ceiling",
    )


def test_a_byte_exact_budget_leaves_nothing_undecided():
    assert status(EAGER, "available_bytes", Bound(floor=29_154_267_136)) == (Status.PASS, "holds")
    assert status(EAGER, "available_bytes", Bound(floor=29_154_267_137)) == (Status.FAIL, "beyond-floor")


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("0.27.1_seed_pool.log", (Status.PASS, "holds")),
        ("0.27.1_seed_after.log", (Status.FAIL, "not-equals")),
        # A log without a line on scratch says nothing about it.
        ("0.27.1_stock.log", (Status.ERROR, "nothing-inspected")),
    ],
)
def test_scratch_after_the_profile_must_be_none(name, expected):
    assert status(name, "scratch_after_profile_bytes", Bound(equals=0)) == expected


def test_several_workers_are_measured_each_and_named():
    found, _ = measure("0.11.0_tp2.log")
    loads = {
        item.where["process"]: item.value
        for item in found
        if isinstance(item, Measurement) and item.metric == "model_load_bytes"
    }
    assert loads == {"Worker_TP0": round(7.4567 * GIB), "Worker_TP1": round(7.9567 * GIB)}
    (tokens,) = (item for item in found if isinstance(item, Measurement) and item.metric == "kv_tokens")
    assert (tokens.value, tokens.where) == (1_455_920, {})


@pytest.mark.parametrize("planned", [SCRATCH, None])
def test_growth_is_measured_against_what_was_planned_or_what_scratch_there_is(planned):
    asked = guard("unplanned_kv_bytes", against="0.27.1_stock.log", planned_bytes=planned)
    found = by_metric(measure("0.27.1_seed_pool.log", asked)[0])
    load, kv = found["unplanned_load_bytes"], found["unplanned_kv_bytes"]
    assert load.value == round(14.37 * GIB) - round(14.31 * GIB) - SCRATCH
    # Two sizes of 0.01 GiB: +-5.12 MiB each.
    assert load.interval is not None
    assert load.interval[1] - load.interval[0] == pytest.approx(2 * 0.01 * GIB, abs=4)
    assert kv.interval is not None
    assert kv.interval[0] <= 0 <= kv.interval[1]


def test_scratch_that_the_budget_does_not_know_of_misses_in_the_load():
    step = 20 * 2**20
    bound = Bound(floor=-step, ceiling=step)
    keys = {"against": "0.27.1_stock.log", "planned_bytes": SCRATCH}
    assert status("0.27.1_seed_pool.log", "unplanned_load_bytes", bound, **keys)[0] is Status.PASS
    assert status("0.27.1_seed_after.log", "unplanned_load_bytes", bound, **keys)[0] is Status.FAIL
    assert status("0.27.1_seed_after.log", "unplanned_kv_bytes", bound, **keys)[0] is Status.FAIL


def test_a_failure_begins_with_its_first_cause_and_the_chain_is_the_evidence():
    asked = guard("kv_tokens", Bound(floor=282_800), against="0.27.1_stock.log")
    found, _ = measure("0.27.1_seed_pool.log", asked)
    (verdict,) = judge(LoadedGuard(asked, 1, {}), found)
    assert verdict.sentence == (
        "scratch at load took 56.44 MiB: kv_tokens is 280144 tokens, must be at least 282800"
    )
    assert verdict.evidence == (
        "kv_tokens fell by 2,656, from 282,800 to 280,144",
        "available_bytes of EngineCore fell by 51.20 MiB ± 7.6",
        "model_load_bytes of EngineCore rose by 61.44 MiB ± 10.2",
        "scratch at load took 56.44 MiB",
    )


def test_without_another_start_the_evidence_is_what_is_left():
    (sentence,) = sentences(by_metric(measure(GRAPH)[0])["kv_tokens"])
    assert sentence.startswith("MainProcess: 27658.24 MiB ± 4.3 for the KV cache beside 348.16 MiB")


def test_a_comparison_is_never_taken_from_the_cache():
    assert measure(EAGER)[1][0][0].reusable
    assert not measure(EAGER, guard(against=GRAPH))[1][0][0].reusable


@pytest.mark.parametrize(
    ("subject", "against", "reason"),
    [
        (EAGER, "0.27.1_stock.log", "vllm is 0.27.1 in"),
        (EAGER, "gone.log", "gone.log: cannot be read: No such file or directory"),
    ],
)
def test_what_cannot_be_compared_is_not_measured(subject, against, reason):
    (found,) = measure(subject, guard(against=against))[0]
    assert isinstance(found, Unmeasured)
    assert reason in found.reason


def test_settings_that_may_differ_are_ignored():
    asked = guard(against=EAGER, ignore=["vllm", "model", "kv_cache_dtype", "utilization"])
    assert by_metric(measure("0.27.1_stock.log", asked)[0])["kv_tokens"].value == 282_800


def test_a_log_that_ends_in_an_error_is_not_measured(tmp_path):
    shutil.copy(LOGS / EAGER, log := tmp_path / "x.log")
    with log.open("a") as stream:
        stream.write("torch.OutOfMemoryError: CUDA out of memory.\n")
    (found,) = measured(KvBudgetProbe(), guard(), FileSubject.read(log), CONTEXT)[0]
    assert isinstance(found, Unmeasured)
    assert "the engine ran out of memory, so its budget is no measurement" in found.reason


@pytest.mark.parametrize(
    ("metric", "keys", "message"),
    [
        ("unplanned_kv_bytes", {}, "name the other one under 'against'"),
        ("kv_tokens", {"planned_bytes": 1}, "'planned_bytes' and 'ignore' go with 'against' only"),
        ("kv_tokens", {"ignore": ["vllm"]}, "'planned_bytes' and 'ignore' go with 'against' only"),
        ("kv_tokens", {"against": "x", "ignore": ["version"]}, "Input should be 'vllm'"),
    ],
)
def test_keys_that_do_not_fit_together_are_refused(metric, keys, message):
    with pytest.raises(ValidationError, match=message):
        guard(metric, **keys)


def test_an_engine_is_booted_for_its_budget_and_never_taken_from_the_cache(tmp_path):
    fake_engine(tmp_path, "stock.yaml", own_cache=False)
    subject = FileSubject.read(fake_engine(tmp_path, own_cache=False))
    context = Context({}, None, interpreted=True, folder=str(tmp_path))
    asked = guard(against="stock.yaml", planned_bytes=0)
    found, ((task,),) = measured(KvBudgetProbe(), asked, subject, context)
    assert (task.environment, task.reusable) == (Environment.COMMAND, False)
    values = {name: item.value for name, item in by_metric(found).items()}
    assert (values["kv_tokens"], values["available_bytes"], values["unplanned_kv_bytes"]) == (
        4096,
        GIB // 2,
        0,
    )


def test_an_engine_that_does_not_start_is_not_measured(tmp_path):
    subject = FileSubject.read(fake_engine(tmp_path, fault="no room"))
    (found,) = measured(KvBudgetProbe(), guard(), subject, CONTEXT)[0]
    assert isinstance(found, Unmeasured)
    assert found.reason.endswith("ended with exit code 1; it said first: ValueError: no room")


def test_a_kernel_that_was_compiled_in_a_request_is_counted_and_named(tmp_path):
    monitored = (LOGS / GRAPH).read_text()
    line = (
        "(MainProcess pid=1434) WARNING 11-29 20:13:30 [jit_monitor.py:140] Triton kernel JIT compilation "
        "during inference: attend_segments. This causes a latency spike; consider extending warmup to cover "
        "this shape/config.\n"
    )
    (log := tmp_path / "x.log").write_text(monitored + line * 2)
    (item,) = [item for item in measure(log)[0] if item.metric == "late_compilations"]
    assert (item.value, sentences(item)) == (1, ["attend_segments"])
    assert by_metric(measure(GRAPH)[0])["late_compilations"].value == 0
    # Without the monitor nobody counted.
    assert status(EAGER, "late_compilations", Bound(equals=0)) == (Status.ERROR, "not-a-number")


def test_a_variable_that_vllm_does_not_know_is_counted_and_named(tmp_path):
    line = (
        "WARNING 11-29 20:12:10 [interface.py:1469] Unknown vLLM environment variable detected: VLLM_MQ3D\n"
    )
    (log := tmp_path / "x.log").write_text(line + (LOGS / GRAPH).read_text())
    (item,) = [item for item in measure(log)[0] if item.metric == "unknown_variables"]
    assert (item.value, sentences(item)) == (1, ["VLLM_MQ3D"])
    # An older engine does not report them.
    assert by_metric(measure("0.15.1.log")[0])["unknown_variables"].value is None
