from types import SimpleNamespace

import pynvml
import pytest

from guardrail.adapters import capabilities, gpu_capabilities, machine, nvml
from guardrail.adapters.capabilities import static_capabilities
from guardrail.adapters.gpu_capabilities import Stack
from guardrail.errors import ToolMissingError
from helpers.fake_nvml import H200, IDLE_H200, RTX3090, WSL2_3090, FakeNvml

PROFILES = [
    SimpleNamespace(name="h200", device_name="NVIDIA H200"),
    SimpleNamespace(name="rtx3090", device_name="NVIDIA GeForce RTX 3090"),
]
NO_DRIVER = {"nvmlInit": pynvml.NVMLError(pynvml.NVML_ERROR_LIBRARY_NOT_FOUND)}


@pytest.fixture
def diagnose(monkeypatch, tmp_path):
    """Examine a machine with a recorded card, a torch for some CUDA, and ncu where it is said."""
    for name in ("CUDA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER", "TRITON_INTERPRET"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(machine, "compile_caches", lambda: ())
    monkeypatch.setattr(machine, "unwritable_caches", lambda: iter(()))
    monkeypatch.setattr(machine, "debug_knobs", lambda *_, **__: iter(()))
    monkeypatch.setattr("os.getloadavg", lambda: (0.5, 0.5, 0.5))

    def run(answers, torch_cuda="13.0", ncu=None, permitted=True, running=()):
        def require_tool(tool):
            if ncu is None or tool != "ncu":
                raise ToolMissingError(tool, "count", "Install it")
            return tmp_path / tool

        monkeypatch.setattr(nvml, "pynvml", FakeNvml(answers))
        monkeypatch.setattr(machine, "torch_cuda_version", lambda: torch_cuda)
        monkeypatch.setattr(
            machine, "versions", lambda: {"torch": "2.11.0", "triton": "3.6.0", "numpy": "2.4"}
        )
        monkeypatch.setattr(machine, "_running_programs", lambda: frozenset(running))
        monkeypatch.setattr(gpu_capabilities, "require_tool", require_tool)
        monkeypatch.setattr(gpu_capabilities, "tool_version", lambda _tool: ncu)
        monkeypatch.setattr(gpu_capabilities, "counters_permitted", lambda: permitted)
        return machine.diagnose(PROFILES, ["GUARDRAIL_VLLM_CENSUS"])

    return run


def _capability(diagnosis, words):
    (found,) = [one for one in diagnosis.capabilities if words in one.name]
    return found


def test_an_idle_server_is_clean_and_recognized(diagnose):
    found = diagnose(IDLE_H200, ncu="2025.3.1")
    assert found.all_spoilers == ()
    (gpu,) = found.gpus
    assert (gpu.profile, gpu.settings.name, gpu.state.power_watts) == ("h200", "NVIDIA H200", 76.0)
    assert (found.driver, found.driver_cuda, found.torch_cuda) == ("580.159.04", "13.0", "13.0")
    assert _capability(found, "run kernels on a GPU").works is True
    assert _capability(found, "ncu").works is True
    assert _capability(found, "NVML").detail == "all 8 fields"


def test_a_busy_server_is_spoiled_by_its_tenant(diagnose):
    assert [spoiler.what for spoiler in diagnose(H200).all_spoilers] == [
        "Process 4711 computes on this GPU too with 600 MiB."
    ]


def test_a_desktop_is_spoiled_by_its_screen_and_its_heat(diagnose):
    found = diagnose(RTX3090)
    assert [spoiler.what for spoiler in found.all_spoilers] == [
        "It draws a display, and the desktop's work runs between the kernels.",
        "It has 84 °C before anything runs, and slows down at 93 °C.",
    ]
    assert found.gpus[0].profile == "rtx3090"
    assert found.gpus[0].remarks == (
        "The power limit is 280 W where the card's own is 350 W.",
        "PCIe runs 8 lanes of 16, so copies from and to the host are slower.",
    )


def test_what_wsl2_does_not_tell_is_listed(diagnose):
    watch = _capability(diagnose(WSL2_3090), "NVML")
    assert watch.works is True
    assert watch.detail == "not told here: power_watts, power_limit_watts, processes, utilization_percent"


def test_wsl2_s_silent_spills_are_remarked_and_a_full_card_is_spoiled(diagnose, monkeypatch):
    monkeypatch.setattr(machine.platform, "release", lambda: "5.15.90.1-microsoft-standard-WSL2")
    (gpu,) = diagnose(WSL2_3090).gpus
    assert gpu.remarks[-1].startswith("Under WSL2 memory beyond the card's goes to the host")
    assert not any("WSL2" in spoiler.what for spoiler in gpu.spoilers)
    full = {**WSL2_3090, "nvmlDeviceGetMemoryInfo": SimpleNamespace(used=24 << 30, total=24 << 30)}
    assert any("WSL2 moves" in spoiler.what for spoiler in diagnose(full).all_spoilers)


def test_without_a_driver_nothing_is_spoiled_and_nothing_runs_on_a_gpu(diagnose):
    found = diagnose(NO_DRIVER, torch_cuda=None)
    assert (found.gpus, found.driver, found.all_spoilers) == ((), None, ())
    assert [one.works for one in found.capabilities[-5:]] == [False] * 5
    assert _capability(found, "run kernels on a GPU").detail == "there is no NVIDIA driver"
    assert _capability(found, "compile Triton").works is True


@pytest.mark.parametrize(
    ("torch_cuda", "reason"),
    [
        (None, "torch 2.11.0 is a build without CUDA"),
        ("14.0", "torch is built for CUDA 14.0, and the driver runs 13.0 at most"),
    ],
)
def test_a_gpu_that_torch_cannot_use_spoils(diagnose, torch_cuda, reason):
    found = diagnose(IDLE_H200, torch_cuda)
    assert [spoiler.what for spoiler in found.spoilers] == [
        f"There is a GPU, and no kernel can run on it: {reason}."
    ]
    assert _capability(found, "CUPTI").works is False


@pytest.mark.parametrize("torch_cuda", ["12.8", "13.0", "13.2"])
def test_torch_for_the_driver_s_major_version_or_an_older_one_runs(diagnose, torch_cuda):
    assert diagnose(IDLE_H200, torch_cuda).all_spoilers == ()


def test_a_gpu_hidden_on_purpose_does_not_spoil(diagnose, monkeypatch):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    found = diagnose(H200)
    assert (found.gpus, found.all_spoilers) == ((), ())
    assert _capability(found, "run kernels on a GPU").detail == "CUDA_VISIBLE_DEVICES leaves no GPU"


def test_counters_kept_to_administrators_come_with_the_remedy(diagnose):
    counters = _capability(diagnose(IDLE_H200, ncu="2025.3.1", permitted=False), "ncu")
    assert counters.works is False
    assert "ERR_NVGPUCTRPERM" in counters.detail
    assert "NVreg_RestrictProfilingToAdminUsers=0" in counters.remedy
    assert "--cap-add=SYS_ADMIN" in counters.remedy


def test_what_may_hold_the_counters_leaves_them_open(diagnose):
    held = _capability(diagnose(IDLE_H200, ncu="2025.3.1", running=["nv-hostengine"]), "ncu")
    assert (held.works, held.remedy.partition(";")[0]) == (None, "Run: dcgmi profiling --pause")
    unsaid = _capability(diagnose(IDLE_H200, ncu="2025.3.1", permitted=None), "ncu")
    assert unsaid.works is None


def test_a_missing_profiler_says_what_it_would_add(diagnose):
    counters = _capability(diagnose(IDLE_H200), "ncu")
    assert (counters.works, counters.detail) == (False, "ncu is not installed; it would count")


def test_an_mps_server_spoils_by_the_name_that_linux_keeps(diagnose):
    (spoiler,) = diagnose(IDLE_H200, running=["nvidia-cuda-mps"]).spoilers
    assert spoiler.what.startswith("An MPS server runs")


def test_numbers_of_unlike_gpus_are_ambiguous_until_their_order_is_set(diagnose, monkeypatch):
    two = IDLE_H200 | {
        "nvmlDeviceGetCount": 2,
        "nvmlDeviceGetName": lambda handle: "NVIDIA H200" if handle == "gpu0" else "NVIDIA T4",
        "nvmlDeviceGetUUID": lambda handle: f"GPU-{handle}",
    }
    assert diagnose(two).spoilers == ()
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "1")
    (spoiler,) = diagnose(two).spoilers
    assert spoiler.what.startswith("CUDA_VISIBLE_DEVICES=1 numbers unlike GPUs by speed for CUDA")
    monkeypatch.setenv("CUDA_DEVICE_ORDER", "PCI_BUS_ID")
    assert diagnose(two).spoilers == ()


def test_a_loaded_host_spoils_once_however_many_gpus(diagnose, monkeypatch):
    monkeypatch.setattr("os.getloadavg", lambda: (500.0, 1.0, 1.0))
    monkeypatch.setattr("os.cpu_count", lambda: 16)
    two = IDLE_H200 | {"nvmlDeviceGetCount": 2, "nvmlDeviceGetUUID": lambda handle: f"GPU-{handle}"}
    (spoiler,) = diagnose(two).all_spoilers
    assert spoiler.what == "The host has a load of 500.0 on 16 processors, so launches wait."


def _static(words, **versions):
    (found,) = [
        one
        for one in static_capabilities({name.replace("_", "-"): value for name, value in versions.items()})
        if words in one.name
    ]
    return found


@pytest.mark.parametrize(
    ("triton", "numpy", "works"),
    [("3.6.0", "2.5.2", False), ("3.6.0", "2.4.6", True), ("3.7.1", "2.5.2", True)],
)
def test_the_interpreter_of_triton_3_6_fails_under_numpy_2_5(triton, numpy, works):
    found = _static("without a GPU", torch="2.11.0", triton=triton, numpy=numpy)
    assert found.works is works
    assert found.remedy == ("" if works else "Run: pip install 'numpy<2.5'")


def test_what_is_not_installed_is_named():
    assert _static("without a GPU", triton="3.7.1").detail == "torch and numpy not installed"
    assert _static("compile Triton").detail == "triton is not installed"
    assert _static("compile Triton", triton="3.10.0").detail == "triton 3.10.0 is none of 3.6 to 3.9"


def test_an_assembler_that_is_not_there_is_named(monkeypatch):
    monkeypatch.setenv("TRITON_PTXAS_PATH", "/nowhere/ptxas")
    assert _static("compile Triton", triton="3.7.1").detail == "there is no assembler /nowhere/ptxas"


def test_cuda_needs_nvcc_or_nvrtc_with_its_bindings(monkeypatch):
    monkeypatch.setattr(capabilities.shutil, "which", lambda _tool: None)
    assert _static("CUDA C++", nvidia_cuda_nvrtc="13.0.88").works is False
    found = _static("CUDA C++", nvidia_cuda_nvrtc="13.0.88", cuda_core="1.2.2")
    assert (found.works, found.detail) == (True, "with NVRTC 13.0.88")
    monkeypatch.setattr(capabilities.shutil, "which", lambda _tool: "/usr/bin/nvcc")
    assert _static("CUDA C++", nvcc="Build cuda_13.1").detail == "with nvcc (Build cuda_13.1)"


@pytest.mark.parametrize(
    ("stack", "obstacle"),
    [
        (Stack("2.11.0", "13.0", "13.0", 1), None),
        (Stack("2.11.0", "13.0", None, 0), "there is no NVIDIA driver"),
        (Stack("2.11.0", "13.0", "13.0", 0), "CUDA_VISIBLE_DEVICES leaves no GPU"),
        (Stack(None, None, "13.0", 1), "torch is not installed"),
    ],
)
def test_the_first_obstacle_between_torch_and_the_gpu_is_named(stack, obstacle):
    found = stack.obstacle()
    assert (found and found[0]) == obstacle


def test_a_misspelt_variable_spoils_a_machine(diagnose, monkeypatch):
    monkeypatch.setenv("GUARDRAIL_VLLM_CENSSU", "run.json")
    assert [spoiler.what for spoiler in diagnose(IDLE_H200).all_spoilers] == [
        "Nothing reads GUARDRAIL_VLLM_CENSSU; the variable is called GUARDRAIL_VLLM_CENSUS, which counts as "
        "not set."
    ]
