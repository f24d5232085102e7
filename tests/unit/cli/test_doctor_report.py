import json

import pytest

from guardrail.cli.doctor_report import as_document, print_diagnosis
from guardrail.records.device_settings import DeviceSettings
from guardrail.records.device_state import DeviceState
from guardrail.records.doctor import Capability, CompileCache, Diagnosis, ExaminedGpu
from guardrail.records.spoiler import Spoiler

GPU = ExaminedGpu(
    settings=DeviceSettings(
        "NVIDIA H200",
        "GPU-3f5a0c11-9d5e-4a53-8f0e-6f1f0f3f8a01",
        1,
        arch="sm_90",
        memory_bytes=143771 << 20,
        max_sm_clock_mhz=1980,
        slowdown_celsius=89,
        persistence=True,
        compute_mode="default",
        ecc=True,
    ),
    state=DeviceState(
        0.0,
        sm_clock_mhz=345,
        power_watts=76.4,
        power_limit_watts=700.0,
        temperature_celsius=28,
        clock_event_reasons=("gpu-idle",),
        processes=(),
        memory_used_bytes=3 << 30,
    ),
    profile="h200",
    spoilers=(Spoiler("3.00 GiB of the GPU's memory are in use by nobody.", "Find out who."),),
    remarks=("The clocks are locked.",),
)
DIAGNOSIS = Diagnosis(
    system="Linux 6.1, 16 processors",
    driver="580.159.04",
    driver_cuda="13.0",
    torch_cuda="13.0",
    versions={"python": "3.12.1", "torch": "2.11.0+cu130", "machine": "x86_64"},
    gpus=(GPU,),
    capabilities=(
        Capability("run kernels on a GPU", True, "torch for CUDA 13.0"),
        Capability("read hardware counters (ncu)", None, "DCGM may hold them", "Pause it."),
        Capability("trace any program (nsys)", False, "nsys is not installed"),
    ),
    caches=(
        CompileCache("triton", "/home/u/.triton/cache", 12, 5 << 20, "sha256:0123456789abcdef"),
        CompileCache("vllm", "/home/u/.cache/vllm", 0, 0, "sha256:e3b0"),
    ),
    spoilers=(Spoiler("The host has a load of 20.0 on 16 processors.", "Wait."),),
)


@pytest.fixture
def lines(capsys):
    print_diagnosis(DIAGNOSIS)
    return capsys.readouterr().out.splitlines()


def _row(lines, label):
    (found,) = [line for line in lines if line.strip().startswith(label)]
    return " ".join(found.split())


def test_a_gpu_is_shown_with_its_limits(lines):
    assert "GPU 1: NVIDIA H200" in lines
    assert _row(lines, "profile") == "profile h200"
    assert _row(lines, "SM clock") == "SM clock 345 of 1980 MHz"
    assert _row(lines, "memory clock") == "memory clock not told"
    assert _row(lines, "power") == "power 76 of 700 W"
    assert _row(lines, "temperature") == "temperature 28 of 89 °C"
    assert _row(lines, "memory in use") == "memory in use 3.00 GiB of 140.40 GiB"
    assert _row(lines, "set to") == "set to persistence on, ECC on, compute mode default"
    assert _row(lines, "remark") == "remark The clocks are locked."


def test_each_capability_has_an_answer_and_its_remedy(lines):
    assert _row(lines, "yes") == "yes run kernels on a GPU torch for CUDA 13.0"
    assert _row(lines, "maybe") == "maybe read hardware counters (ncu) DCGM may hold them"
    assert _row(lines, "no ") == "no trace any program (nsys) nsys is not installed"
    assert any(line.strip() == "→ Pause it." for line in lines)


def test_a_cache_is_warm_with_its_mark_or_cold(lines):
    assert _row(lines, "triton") == "triton 12 files, 5 MiB 0123456789ab /home/u/.triton/cache"
    assert _row(lines, "vllm") == "vllm cold /home/u/.cache/vllm"


def test_spoilers_end_the_report_with_their_place_and_remedy(lines):
    assert [line.strip() for line in lines[-5:]] == [
        "would spoil a measurement now",
        "The host has a load of 20.0 on 16 processors.",
        "→ Wait.",
        "GPU 1: 3.00 GiB of the GPU's memory are in use by nobody.",
        "→ Find out who.",
    ]


def test_no_line_has_blanks_at_its_end_or_more_columns_than_a_page(lines):
    assert all(line == line.rstrip() and len(line) <= 100 for line in lines)


def test_the_document_holds_every_record():
    document = json.loads(as_document(DIAGNOSIS))
    assert document["spoiled"] is True
    assert document["gpus"][0]["settings"]["arch"] == "sm_90"
    assert document["gpus"][0]["state"]["clock_event_reasons"] == ["gpu-idle"]
    assert document["capabilities"][1] == {
        "name": "read hardware counters (ncu)",
        "works": None,
        "detail": "DCGM may hold them",
        "remedy": "Pause it.",
    }
