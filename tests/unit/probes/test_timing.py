import pytest
from pydantic import ValidationError

from guardrail.probes.interface import Context
from guardrail.probes.timing import TimingGuard, TimingProbe
from guardrail.records.measurement import Measurement, Unmeasured
from guardrail.records.task import Done, Environment, Failed
from guardrail.spec.profiles import DeviceProfile
from helpers import timing
from helpers.probing import answering, measured

H200 = DeviceProfile(
    name="h200",
    title="NVIDIA H200",
    device_name="NVIDIA H200",
    arch="sm_90",
    sm_count=132,
    l2_bytes=62914560,
    dram_bytes_per_second=4800000000000,
    memory_bytes=150754820096,
)
ON_H200 = Context({}, None, interpreted=False, devices={"h200": H200}, gpu_name="NVIDIA H200")
SIX = (2.0, 2.1, 1.9, 2.2, 1.8, 2.0)


def guard(**keys):
    stated = {
        "id": "copy-speed",
        "title": "it is fast",
        "probe": "timing",
        "subject": "tiny.copy",
        "cases": ["large"],
        "require": {"dram_read_fraction": {"floor": 0.1}},
    }
    return TimingGuard(**(stated | keys))


def plain(session):
    from dataclasses import asdict

    return asdict(session)


def timed(found_session, context=ON_H200, operation=timing.OPERATION, **keys):
    answer = answering({"time_arms": lambda task: Done(plain(found_session), 3.0)})
    return measured(TimingProbe(), guard(**keys), operation, context, answer)


def test_every_metric_of_a_place_is_the_median_over_the_windows():
    found, _ = timed(timing.session(SIX))
    assert all(isinstance(item, Measurement) for item in found)
    values = {item.metric: item.value for item in found}
    assert values == pytest.approx(
        {
            "time": 2.0,
            "span": 2.5,
            "content_rate": 5e11,
            "streamed_rate": 6e11,
            "dram_read_fraction": 0.15,
            "launches": 1,
            "registers": 40,
            "shared_bytes": 0,
        }
    )
    time = found[0]
    assert (time.samples, time.interval, time.inspected) == (SIX, (1.8, 2.2), 6)
    assert time.where == {"device": "h200", "case": "large", "arm": "padded", "cache": "cold"}
    assert time.findings[0].sentence == ("copy_padded; 6 windows, dram_read 4e+12/s; none discarded; seed 7")


def test_the_worker_is_asked_for_the_arms_that_cover_the_case_and_for_the_bounded_rates():
    _, rounds = timed(timing.session(SIX), require={"dram_read_fraction": {"floor": {"h200": 0.1}}})
    (task,) = rounds[1]
    assert (task.environment, task.reusable, task.timeout) == (Environment.EXECUTE, False, 260.0)
    plan = task.arguments["plan"]
    assert plan.arms == {"large": ("padded",)}
    assert plan.rates == ("dram_read",)
    assert plan.limits == {"dram_read_fraction": (0.1,)}
    assert "helpers.timing" in task.modules


def test_a_steady_arm_is_timed_and_not_judged():
    _, rounds = timed(timing.session(SIX), cases=["small"], steady_arm="padded")
    plan = rounds[1][0].arguments["plan"]
    assert (plan.arms, plan.steady) == ({"small": ("short",)}, {"small": "padded"})


def test_too_few_usable_windows_are_undecided_and_say_what_spoiled_the_others():
    hot = "The GPU is so hot that its driver slows the clocks (1410 MHz)."
    found, _ = timed(timing.session(SIX[:2], discarded=(hot, hot)))
    assert found == [
        Unmeasured(
            f"2 usable windows within budget_seconds, of 6 needed; 2 discarded: 2 x {hot}", undecided=True
        )
    ]


def test_a_rate_above_the_one_that_the_card_was_measured_at_is_an_error():
    found, _ = timed(timing.session(SIX, rate=5e11))
    (broken,) = [item for item in found if isinstance(item, Unmeasured)]
    assert broken.reason == (
        "dram_read_fraction is 1.200: nothing is faster than the dram_read rate of 5e+11 a second that was "
        "measured beside it, so the declared work or the cache's state is wrong"
    )
    assert not broken.undecided
    assert "dram_read_fraction" not in {getattr(item, "metric", "") for item in found}


def test_a_hot_place_has_no_share_of_the_memory_rate():
    hot = timing.place(cache="hot")
    found, _ = timed(timing.Session((hot,), timing.windows(SIX), (), timing.CONFIDENCE, 7))
    assert {item.metric for item in found} == {
        "time", "span", "content_rate", "streamed_rate", "launches", "registers", "shared_bytes",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("context", "keys", "reason"),
    [
        (Context({}, None, interpreted=True), {}, "there is no GPU to time on"),
        (
            Context({}, None, False, devices={"h200": H200}, gpu_name="NVIDIA A100"),
            {"devices": ["h200"]},
            "its bounds are anchored on h200, not on NVIDIA A100",
        ),
    ],
)
def test_a_guard_for_another_machine_is_skipped_before_anything_runs(context, keys, reason):
    found, rounds = measured(TimingProbe(), guard(**keys), timing.OPERATION, context)
    assert (found, rounds) == ([Unmeasured(reason, skipped=True)], [])


def test_an_unprofiled_gpu_is_named_by_its_driver():
    context = Context({}, None, False, gpu_name="NVIDIA A100")
    found, _ = timed(timing.session(SIX), context)
    assert found[0].where["device"] == "NVIDIA A100"


@pytest.mark.parametrize(
    ("keys", "reason"),
    [
        ({"cases": ["huge"]}, "cases: operation copy has no timed case 'huge'; it has: small, large"),
        ({"arms": ["fast"]}, "arms: operation copy has no arm 'fast'; it has: short, padded"),
        ({"arms": ["short"]}, "no arm that the guard times covers large"),
    ],
)
def test_what_the_operation_does_not_have_is_named(keys, reason):
    found, _ = measured(TimingProbe(), guard(**keys), timing.OPERATION, ON_H200)
    assert found == [Unmeasured(reason)]


def test_a_bound_on_a_rate_needs_declared_work():
    from dataclasses import replace

    found, _ = measured(TimingProbe(), guard(), replace(timing.OPERATION, work=None), ON_H200)
    assert found == [Unmeasured("dram_read_fraction: operation copy does not declare its work")]


def test_a_worker_that_failed_leaves_its_reason():
    answer = answering({"time_arms": lambda task: Failed("the GPU's memory ran out")})
    found, _ = measured(TimingProbe(), guard(), timing.OPERATION, ON_H200, answer)
    assert found == [Unmeasured("the GPU's memory ran out")]


def test_counters_are_added_up_or_weighted_and_take_no_window():
    kernels = [
        {
            "duration_ns": 3000.0,
            "sm__warps_active.avg.pct_of_peak_sustained_active": 50.0,
            "dram__bytes_read.sum": 5.0,
        },
        {
            "duration_ns": 1000.0,
            "sm__warps_active.avg.pct_of_peak_sustained_active": 10.0,
            "dram__bytes_read.sum": 7.0,
        },
    ]
    answer = answering({"count": lambda task: Done(kernels, 9.0)})
    asked = guard(
        metrics={"bytes_read": {"counter": "dram__bytes_read.sum", "unit": "bytes"}},
        require={"achieved_occupancy": {"floor": 0.1}, "bytes_read": {"ceiling": 20}},
    )
    found, rounds = measured(TimingProbe(), asked, timing.OPERATION, ON_H200, answer)
    assert [(item.metric, item.value, item.unit, item.inspected) for item in found] == [
        ("achieved_occupancy", pytest.approx(0.4), "ratio", 2),
        ("bytes_read", 12.0, "bytes", 2),
    ]
    (task,) = rounds[1]
    assert task.arguments["counters"] == [
        "sm__warps_active.avg.pct_of_peak_sustained_active",
        "dram__bytes_read.sum",
    ]


def test_a_counter_that_ncu_gives_no_value_for_is_not_known():
    answer = answering({"count": lambda task: Done([{"duration_ns": 1000.0}], 9.0)})
    asked = guard(require={"achieved_occupancy": {"floor": 0.1}})
    found, _ = measured(TimingProbe(), asked, timing.OPERATION, ON_H200, answer)
    assert found[0].value is None


def test_a_counter_must_look_like_one():
    with pytest.raises(ValidationError, match="counter"):
        guard(metrics={"bytes_read": {"counter": "bytes read"}})
