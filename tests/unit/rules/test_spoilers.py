from dataclasses import replace

import pytest

from guardrail.records.device_settings import DeviceSettings
from guardrail.records.device_state import DeviceState, GpuProcess
from guardrail.rules.spoilers import gpu_spoilers, spoilers
from guardrail.rules.unfit_settings import remarks, silent_spills, unfit_settings

GIB = 1 << 30
OWN = frozenset({100})
QUIET = DeviceState(
    seconds=0.0,
    sm_clock_mhz=1980,
    memory_clock_mhz=3201,
    power_watts=690.0,
    power_limit_watts=700.0,
    temperature_celsius=60,
    processes=(GpuProcess(100, GIB),),
    memory_used_bytes=GIB + (4 << 20),
    utilization_percent=100,
    load_average=2.0,
    processors=16,
)


def spoiled(own=OWN, before=QUIET, **after):
    return spoilers(before, replace(before, **after), own)


def test_a_quiet_window_is_not_spoiled():
    assert spoiled() == ()


def test_a_driver_that_tells_nothing_spoils_nothing():
    assert spoilers(DeviceState(0.0), DeviceState(1.0), OWN) == ()
    assert spoilers(DeviceState(0.0), DeviceState(1.0), frozenset()) == ()


@pytest.mark.parametrize(
    ("reasons", "sentence"),
    [
        (("hw-thermal-slowdown", "hw-slowdown"), "The GPU is so hot that its hardware slows the clocks"),
        (("sw-thermal-slowdown",), "The GPU is so hot that its driver slows the clocks"),
        (("hw-power-brake", "hw-slowdown"), "The server's power supply brakes the GPU"),
        (("hw-slowdown",), "The hardware slows the clocks, for heat or for power"),
        (("board-limit",), "A limit of the board slows the clocks"),
        (("reliability",), "The driver slows the clocks to keep the voltage safe"),
    ],
)
def test_a_slowdown_in_either_sample_spoils_with_its_figures(reasons, sentence):
    figures = " (1980 MHz, 60 °C, 690 of 700 W)."
    assert spoiled(clock_event_reasons=reasons) == (sentence + figures,)
    slowed = replace(QUIET, clock_event_reasons=reasons)
    assert spoiled(before=slowed, clock_event_reasons=(), sm_clock_mhz=1980) == (sentence + figures,)


@pytest.mark.parametrize("reason", ["sw-power-cap", "gpu-idle", "applications-clocks-setting"])
def test_a_reason_that_holds_the_clock_still_does_not_spoil(reason):
    assert spoiled(clock_event_reasons=(reason,)) == ()


def test_a_power_cap_spoils_where_it_takes_the_clock_down():
    assert spoiled(clock_event_reasons=("sw-power-cap",), sm_clock_mhz=1755) == (
        "The SM clock went from 1980 to 1755 MHz (-11.4%) within the window, "
        "held by the power cap (690 of 700 W); up to 3% is let pass.",
    )


@pytest.mark.parametrize(("clock", "count"), [(1921, 0), (1920, 1), (2039, 0), (2040, 1), (345, 1)])
def test_the_clock_may_move_by_three_percent(clock, count):
    assert len(spoiled(sm_clock_mhz=clock)) == count


def test_a_memory_clock_that_falls_spoils():
    (sentence,) = spoiled(memory_clock_mhz=2619)
    assert sentence.startswith("The memory clock went from 3201 to 2619 MHz (-18.2%) within the window; ")


def test_a_power_limit_that_is_changed_spoils():
    assert spoiled(power_limit_watts=500.0) == (
        "The power limit was changed from 700 to 500 W within the window.",
    )


def test_another_process_is_named_with_its_memory():
    others = (*QUIET.processes, GpuProcess(222, 3 * GIB), GpuProcess(333, None))
    assert spoiled(processes=others, memory_used_bytes=4 * GIB) == (
        "Process 222 computes on this GPU too with 3.00 GiB.",
        "Process 333 computes on this GPU too.",
    )
    came_and_went = replace(QUIET, processes=others)
    assert len(spoilers(came_and_went, QUIET, OWN)) == 2


def test_own_processes_are_no_tenants_however_many():
    both = (GpuProcess(100, GIB), GpuProcess(101, GIB))
    state = replace(QUIET, processes=both, memory_used_bytes=2 * GIB)
    assert spoilers(state, state, frozenset({100, 101})) == ()


def test_pids_of_another_namespace_are_counted():
    inside = replace(QUIET, processes=(GpuProcess(90001, GIB),))
    assert spoilers(inside, inside, OWN) == ()
    shared = replace(inside, processes=(*inside.processes, GpuProcess(90002, GIB)), memory_used_bytes=2 * GIB)
    assert spoilers(inside, shared, OWN) == (
        "2 processes compute on this GPU, and 1 of them at most is this measurement's "
        "(pids of the host: 90001, 90002).",
    )


@pytest.mark.parametrize(("grown", "count"), [(255 << 20, 0), (256 << 20, 1)])
def test_memory_that_appears_in_no_listed_process_is_a_tenant(grown, count):
    hidden = replace(QUIET, processes=())
    found = spoilers(hidden, replace(hidden, memory_used_bytes=hidden.memory_used_bytes + grown), OWN)
    assert len(found) == count
    if count:
        assert found[0].startswith("256 MiB of the GPU's memory appeared within the window")


def test_memory_that_another_container_frees_spoils_too():
    before = replace(QUIET, processes=None, memory_used_bytes=20 * GIB)
    assert spoilers(before, replace(before, memory_used_bytes=10 * GIB), OWN) == (
        "10.00 GiB of the GPU's memory was freed within the window, in no process that the driver lists.",
    )


def test_memory_that_the_measurement_itself_takes_does_not_spoil():
    assert spoiled(processes=(GpuProcess(100, 9 * GIB),), memory_used_bytes=9 * GIB) == ()


def test_memory_beside_ours_that_nobody_holds_is_a_hidden_tenant():
    assert spoiled(memory_used_bytes=QUIET.memory_used_bytes) == ()
    crowded = replace(QUIET, memory_used_bytes=13 * GIB)
    assert spoilers(crowded, crowded, OWN) == (
        "12.00 GiB of the GPU's memory are in use by no process that the driver lists.",
    )
    unlisted = replace(crowded, processes=())
    assert spoilers(unlisted, unlisted, OWN) == ()  # it may all be ours


def test_a_busy_gpu_before_a_measurement_is_somebody_elses():
    idle = replace(QUIET, processes=(), memory_used_bytes=0, utilization_percent=4)
    assert spoilers(idle, idle, frozenset()) == ()
    busy = replace(idle, utilization_percent=5)
    assert spoilers(busy, busy, frozenset()) == (
        "The GPU is busy 5% of the time with work that is not ours.",
    )


def test_a_load_above_the_processors_spoils_and_one_at_them_does_not():
    assert spoiled(load_average=16.0) == ()
    assert spoiled(load_average=16.5) == ("The host has a load of 16.5 on 16 processors, so launches wait.",)


def test_each_spoiler_says_what_to_do():
    worst = replace(
        QUIET,
        sm_clock_mhz=1000,
        memory_clock_mhz=1000,
        power_limit_watts=300.0,
        clock_event_reasons=("sw-thermal-slowdown", "hw-power-brake", "sync-boost"),
        processes=(GpuProcess(5, GIB),),
    )
    found = gpu_spoilers(QUIET, worst, OWN)
    assert len(found) == 7
    assert all(spoiler.what.endswith(".") and spoiler.remedy.endswith(".") for spoiler in found)


GOOD = DeviceSettings(
    "NVIDIA H200",
    "GPU-1",
    0,
    slowdown_celsius=89,
    persistence=True,
    compute_mode="default",
    ecc=True,
    default_power_limit_watts=700.0,
)


def unfit(state=QUIET, **settings):
    return [spoiler.what for spoiler in unfit_settings(replace(GOOD, **settings), state)]


def test_a_server_s_card_is_fit_and_unremarkable():
    assert unfit() == []
    assert list(remarks(GOOD, QUIET)) == []
    assert list(unfit_settings(DeviceSettings("x", "GPU-2", 0), DeviceState(0.0))) == []


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"compute_mode": "prohibited"}, "no kernel can run"),
        ({"persistence": False}, "Persistence mode is off"),
        ({"virtual": True}, "virtual GPU"),
        ({"display": True, "persistence": False}, "draws a display"),
        ({"uncorrected_errors": 3}, "ECC has found 3 memory errors"),
        ({"remap_pending": True}, "wait to be replaced"),
        ({"slowdown_celsius": 69}, "It has 60 °C before anything runs, and slows down at 69 °C."),
    ],
)
def test_an_unfit_setting_is_said_once(settings, words):
    (sentence,) = unfit(**settings)
    assert words in sentence


def test_ten_degrees_below_the_slowdown_are_enough():
    assert unfit(slowdown_celsius=70) == []


def test_what_only_differs_is_remarked():
    odd = replace(
        GOOD, ecc=False, mig=True, compute_mode="exclusive-process", pcie_width=8, max_pcie_width=16
    )
    state = replace(QUIET, power_limit_watts=500.0, clock_event_reasons=("applications-clocks-setting",))
    assert [remark.split(",")[0].split(":")[0] for remark in remarks(odd, state)] == [
        "The power limit is 500 W where the card's own is 700 W.",
        "The clocks are locked",
        "It is a MIG slice",
        "ECC is off",
        "The compute mode is 'exclusive-process'",
        "PCIe runs 8 lanes of 16",
    ]
    assert list(unfit_settings(odd, state)) == []


@pytest.mark.parametrize(
    ("used", "release", "spilled"),
    [
        (23_371, "5.15.90.1-microsoft-standard-WSL2", ["95% of its memory is in use, and WSL2 moves what"]),
        (23_000, "5.15.90.1-microsoft-standard-WSL2", []),
        (24_500, "6.8.0-45-generic", []),
    ],
)
def test_a_full_card_spills_under_wsl2_alone(used, release, spilled):
    card = replace(GOOD, memory_bytes=24_576 << 20)
    found = silent_spills(card, replace(QUIET, memory_used_bytes=used << 20), release)
    assert [spoiler.what[:48] for spoiler in found] == spilled
