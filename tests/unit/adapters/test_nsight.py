from pathlib import Path

import pytest

from guardrail.adapters import nsight
from guardrail.adapters.nsight import (
    profile_command,
    profile_with_ncu,
    read_ncu_report,
    read_nsys_report,
    require_tool,
)
from guardrail.errors import ExitCode, MeasurementError, ToolMissingError, UsageError
from helpers.fake_tools import install_fake_ncu, install_fake_nsys
from helpers.nsys_exports import write_nsys_export

TABLE = Path(__file__).parents[2] / "data" / "traces" / "ncu_raw_h200.csv"


@pytest.fixture
def tools(tmp_path, monkeypatch):
    """A folder that is the only place where tools are looked for, beside the shell's own."""
    folder = tmp_path / "tools"
    folder.mkdir()
    monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")
    monkeypatch.delenv("CUDA_HOME", raising=False)
    monkeypatch.setattr(nsight, "_CUDA_FOLDERS", ())
    monkeypatch.setattr(nsight, "_OWN_FOLDERS", {"ncu": "nowhere/*", "nsys": "nowhere/*"})
    return folder


def test_a_missing_tool_says_what_it_would_add_and_how_to_get_it(tools):
    with pytest.raises(ToolMissingError, match=r"read hardware counters.*nsight-compute") as caught:
        require_tool("ncu")
    assert caught.value.exit_code is ExitCode.NOT_MEASURED
    with pytest.raises(ToolMissingError, match=r"nsys is not installed.*nsight-systems-cli"):
        profile_command(["true"])


def test_a_tool_is_found_in_the_toolkits_folder(tools, tmp_path, monkeypatch):
    home = tmp_path / "toolkit" / "bin"
    home.mkdir(parents=True)
    install_fake_ncu(home, TABLE)
    monkeypatch.setenv("CUDA_HOME", str(home.parent))
    assert require_tool("ncu") == home / "ncu"


def test_ncu_runs_the_command_with_the_counters_of_the_table_and_those_asked_for(tools):
    calls = install_fake_ncu(tools, TABLE)
    trace = profile_with_ncu(["./app", "--size", "3"], ["sm__warps_active.avg", "dram__bytes_read.sum"])
    run, imported = calls.read_text().splitlines()
    assert run.startswith(
        "--target-processes all --clock-control none --metrics gpu__time_duration.sum,launch__"
    )
    assert "dram__bytes_read.sum,dram__bytes_write.sum,sm__warps_active.avg --log-file" in run
    assert run.endswith("report.ncu-rep ./app --size 3")
    assert imported.endswith("--csv --page raw")
    assert (trace.source, len(trace.launches)) == ("./app --size 3", 4)


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (
            'echo "==ERROR== ERR_NVGPUCTRPERM - see the web" > "$log"; exit 1',
            "NVreg_RestrictProfilingToAdminUsers=0",
        ),
        (
            'echo "==ERROR== The application returned an error code (9)." > "$log"; exit 9',
            r"error code \(9\)",
        ),
        ("exit 3", "exit code 3"),
        ('echo "==WARNING== No kernels were profiled." > "$log"', "No kernels were profiled"),
    ],
)
def test_ncus_complaint_is_passed_on(tools, body, said):
    install_fake_ncu(tools, TABLE, body)
    with pytest.raises(MeasurementError, match=rf"ncu could not profile './app': .*{said}"):
        profile_with_ncu(["./app"], [])


def test_nsys_records_a_command_with_every_node_of_a_graph(tools, tmp_path, capfd):
    calls = install_fake_nsys(tools, write_nsys_export(tmp_path / "x.sqlite"))
    trace = profile_command(["./app", "a b"])
    assert (trace.tool, trace.source, len(trace.launches)) == ("nsys", "./app a b", 4)
    assert "--cuda-graph-trace=node" in calls.read_text().splitlines()[0]
    captured = capfd.readouterr()
    assert (captured.out, captured.err) == ("", "hello\n")


def test_a_command_that_fails_under_nsys_is_no_measurement(tools, tmp_path):
    install_fake_nsys(tools, tmp_path, "exit 4")
    with pytest.raises(MeasurementError, match=r"'\./app' under nsys ended with exit code 4"):
        profile_command(["./app"])


def test_without_nsys_a_command_runs_under_ncu(tools):
    install_fake_ncu(tools, TABLE)
    assert profile_command(["./app"]).tool == "ncu"


def test_counters_need_ncu_even_where_nsys_is(tools, tmp_path):
    install_fake_nsys(tools, write_nsys_export(tmp_path / "x.sqlite"))
    with pytest.raises(ToolMissingError, match="ncu is not installed"):
        profile_command(["./app"], ["dram__bytes.sum"])


def test_binary_reports_are_read_by_the_tool_that_wrote_them(tools, tmp_path):
    install_fake_ncu(tools, TABLE)
    install_fake_nsys(tools, write_nsys_export(tmp_path / "x.sqlite"))
    for name in ("r.ncu-rep", "r.nsys-rep"):
        (tmp_path / name).write_text("report")
    assert read_ncu_report(tmp_path / "r.ncu-rep").launches[1].duration_ns == 174528.0
    assert read_nsys_report(tmp_path / "r.nsys-rep").launches[1].duration_ns == 900.0


def test_a_binary_report_that_the_tool_refuses_is_the_users_mistake(tools, tmp_path):
    install_fake_ncu(tools, TABLE)
    (tmp_path / "r.ncu-rep").write_text("damaged")
    with pytest.raises(
        UsageError, match=r"r\.ncu-rep: ncu cannot read r\.ncu-rep: Failed to load report file"
    ):
        read_ncu_report(tmp_path / "r.ncu-rep")
