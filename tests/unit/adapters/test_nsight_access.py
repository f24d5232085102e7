from pathlib import Path

import pytest

from guardrail.adapters import nsight_access
from guardrail.adapters.nsight_access import counters_permitted, tool_version

USER, CONTAINER_ROOT, ROOT = "0000000000000000", "00000000a80425fb", "000001ffffffffff"


@pytest.fixture
def driver(tmp_path, monkeypatch):
    """Let the driver's parameters and this process's capabilities be those of a machine."""

    def install(parameters, capabilities):
        (tmp_path / "params").write_text(parameters)
        (tmp_path / "status").write_text(f"Name:\tpython\nCapEff:\t{capabilities}\nCapBnd:\t{ROOT}\n")
        monkeypatch.setattr(nsight_access, "_PARAMETERS", tmp_path / "params")
        monkeypatch.setattr(nsight_access, "_STATUS", tmp_path / "status")

    return install


@pytest.mark.parametrize(
    ("restricted", "capabilities", "permitted"),
    [
        ("0", USER, True),
        ("1", USER, False),
        ("1", CONTAINER_ROOT, False),
        ("1", ROOT, True),
    ],
)
def test_counters_are_for_all_or_for_administrators(driver, restricted, capabilities, permitted):
    driver(
        f"ResmanDebugLevel: 4294967295\nRmProfilingAdminOnly: {restricted}\nDmaRemapPeerMmio: 1\n",
        capabilities,
    )
    assert counters_permitted() is permitted


def test_a_driver_that_does_not_say_leaves_it_open(driver, monkeypatch):
    driver("ResmanDebugLevel: 4294967295\n", ROOT)
    assert counters_permitted() is None
    monkeypatch.setattr(nsight_access, "_PARAMETERS", Path("/nowhere/params"))
    assert counters_permitted() is None


def _tool(path, script):
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    return path


def test_the_version_is_the_tool_s_own(tmp_path):
    banner = "NVIDIA (R) Nsight Compute Command Line Profiler\nVersion 2025.3.1.0 (build 36398880)"
    ncu = _tool(tmp_path / "ncu", f"echo '{banner}'")
    assert tool_version(ncu) == "2025.3.1.0"
    nsys = _tool(tmp_path / "nsys", "echo 'NVIDIA Nsight Systems version 2025.3.2.474-253236389321v0'")
    assert tool_version(nsys) == "2025.3.2.474"


def test_a_tool_that_does_not_start_has_none(tmp_path):
    assert tool_version(_tool(tmp_path / "ncu", "exit 1")) is None
    assert tool_version(_tool(tmp_path / "nsys", "echo hello")) is None
    assert tool_version(tmp_path / "absent") is None
