import os

import pynvml
import pytest

from guardrail.adapters import nvml
from guardrail.adapters.device_settings import all_gpus, set_up, visible_gpus
from guardrail.adapters.device_state import decode_reasons, sample
from guardrail.errors import MeasurementError
from guardrail.records.device_state import GpuProcess
from helpers.fake_nvml import H200, IDLE_H200, MIG_SLICE, RTX3090, WSL2_3090, FakeNvml, process

UUID = "GPU-3f5a0c11-9d5e-4a53-8f0e-6f1f0f3f8a01"


@pytest.fixture
def driver(monkeypatch):
    """Replace the NVML bindings by a recorded card's."""

    def install(answers, lacking=()):
        library = FakeNvml(answers, lacking)
        monkeypatch.setattr(nvml, "pynvml", library)
        return library

    return install


def test_a_sample_is_in_mhz_watts_celsius_and_bytes(driver):
    driver(H200)
    state = sample(UUID)
    assert (state.sm_clock_mhz, state.memory_clock_mhz) == (1980, 3201)
    assert (state.power_watts, state.power_limit_watts, state.temperature_celsius) == (412.345, 700.0, 46)
    assert state.processes == (GpuProcess(4711, 629145600),)
    assert (state.memory_used_bytes, state.utilization_percent) == (630194176, 97)
    assert state.clock_event_reasons == ()
    assert state.processors == os.cpu_count()
    assert state.load_average >= 0


def test_samples_are_ordered_by_their_clock_and_load_the_library_once(driver):
    library = driver(H200)
    first, second = sample(UUID), sample(UUID)
    assert first.seconds < second.seconds
    assert library.starts == 1


@pytest.mark.parametrize(
    ("mask", "names"),
    [
        (0x1, ("gpu-idle",)),
        (0x4, ("sw-power-cap",)),
        (0x48, ("hw-slowdown", "hw-thermal-slowdown")),
        (0x88, ("hw-slowdown", "hw-power-brake")),
        (0x22, ("applications-clocks-setting", "sw-thermal-slowdown")),
        (0x710, ("sync-boost", "display-clock-setting", "board-limit", "reliability")),
        (0x8004, ("sw-power-cap", "unknown-0x8000")),
    ],
)
def test_clock_event_reasons_are_decoded(mask, names):
    assert decode_reasons(mask) == names


def test_reasons_agree_with_the_bindings_constants():
    constants = {
        getattr(pynvml, name)
        for name in dir(pynvml)
        if name.startswith(("nvmlClocksEventReason", "nvmlClocksThrottleReason")) and not name.endswith("All")
    }
    for bit in constants - {0}:
        assert not decode_reasons(bit)[0].startswith("unknown"), hex(bit)


def test_an_old_driver_is_asked_by_the_old_names(driver):
    old = {name: answer for name, answer in H200.items() if "EventReasons" not in name and "_v3" not in name}
    old["nvmlDeviceGetCurrentClocksThrottleReasons"] = 0x40
    old["nvmlDeviceGetComputeRunningProcesses_v2"] = [process(7, None)]
    driver(old)
    state = sample(UUID)
    assert state.clock_event_reasons == ("hw-thermal-slowdown",)
    assert state.processes == (GpuProcess(7, None),)


def test_bindings_without_a_function_are_a_driver_without_an_answer(driver):
    driver(H200, lacking=("nvmlDeviceGetCurrentClocksEventReasons", "nvmlDeviceGetUtilizationRates"))
    state = sample(UUID)
    assert (state.clock_event_reasons, state.utilization_percent) == ((), None)


def test_what_wsl2_does_not_answer_is_not_known(driver):
    driver(WSL2_3090)
    state = sample(UUID)
    assert (state.sm_clock_mhz, state.memory_used_bytes) == (1695, 1572864000)
    assert (state.power_watts, state.power_limit_watts, state.processes) == (None, None, None)
    assert (state.clock_event_reasons, state.utilization_percent) == ((), None)


def test_a_slice_has_the_clocks_of_its_gpu_and_memory_of_its_own(driver):
    driver(MIG_SLICE)
    first, second = all_gpus()
    assert [gpu.name for gpu in (first, second)] == ["NVIDIA H200 MIG 3g.71gb"] * 2
    assert (first.uuid, second.uuid, first.mig) == ("MIG-0-0000", "MIG-1-0000", True)
    assert (first.memory_bytes, first.max_sm_clock_mhz) == (71 << 30, 1980)
    state = sample("MIG-1-0000")
    assert (state.sm_clock_mhz, state.power_watts, state.utilization_percent) == (1980, 76.0, None)


def test_no_driver_is_said_and_not_a_traceback(driver):
    driver({"nvmlInit": pynvml.NVMLError(pynvml.NVML_ERROR_LIBRARY_NOT_FOUND)})
    with pytest.raises(MeasurementError, match="the NVIDIA driver does not answer: NVML Shared Library Not"):
        sample(UUID)


def test_an_unknown_gpu_is_named(driver):
    def missing(_uuid):
        raise pynvml.NVMLError(pynvml.NVML_ERROR_NOT_FOUND)

    driver(H200 | {"nvmlDeviceGetHandleByUUID": missing})
    with pytest.raises(MeasurementError, match=r"^GPU GPU-0: the driver does not find it: "):
        sample("GPU-0")


def test_settings_of_a_server_and_of_a_desktop(driver):
    driver(IDLE_H200)
    (server,) = all_gpus()
    assert (server.arch, server.default_power_limit_watts, server.slowdown_celsius) == ("sm_90", 700.0, 89)
    assert (server.persistence, server.ecc, server.compute_mode) == (True, True, "default")
    assert (server.uncorrected_errors, server.remap_pending, server.virtual) == (0, False, False)
    assert (server.memory_bytes, server.mig, server.display) == (150754820096, False, False)
    driver(RTX3090)
    (desktop,) = all_gpus()
    assert (desktop.arch, desktop.persistence, desktop.display, desktop.ecc) == ("sm_86", False, True, None)
    assert (desktop.pcie_width, desktop.max_pcie_width, desktop.uncorrected_errors) == (8, 16, None)


def test_visible_gpus_are_cuda_s_by_number_uuid_and_order(driver):
    driver(
        IDLE_H200
        | {
            "nvmlDeviceGetCount": 3,
            "nvmlDeviceGetUUID": lambda handle: f"GPU-{handle.removeprefix('gpu')}abc",
        }
    )
    gpus = all_gpus()
    assert [gpu.uuid for gpu in gpus] == ["GPU-0abc", "GPU-1abc", "GPU-2abc"]

    def indices(variable):
        return [gpu.index for gpu in visible_gpus(gpus, variable)]

    assert indices(None) == [0, 1, 2]
    assert indices("2, 0") == [2, 0]
    assert indices("GPU-1a") == [1]
    assert indices("1,7,0") == [1]
    assert indices("") == indices("-1") == indices("NoDevFiles") == []


def test_how_a_gpu_is_set_up_is_written_as_far_as_it_is_known(driver):
    driver(IDLE_H200)
    assert set_up(UUID) == {
        "power limit": "700 W",
        "max SM clock": "1980 MHz",
        "max memory clock": "3201 MHz",
        "persistence": "on",
        "ECC": "on",
        "compute mode": "default",
    }
    assert set_up("GPU-0") == {}
    driver(WSL2_3090)
    assert set_up("GPU-b0c2d4e6-1111-2222-3333-444455556666") == {}


def test_without_a_driver_there_is_no_gpu(driver):
    driver({"nvmlInit": pynvml.NVMLError(pynvml.NVML_ERROR_LIBRARY_NOT_FOUND)})
    assert all_gpus() == ()
    assert set_up(UUID) == {}
