import json
import subprocess
import sys
from pathlib import Path

import pytest

from guardrail.adapters import profilers
from guardrail.adapters.profilers import profile_python, read_report
from guardrail.errors import MeasurementError, NothingReadError, ToolMissingError
from guardrail.traces.chrome import read_chrome_trace

DATA = Path(__file__).parents[2] / "data" / "traces"

PROGRAM = """
import sys
import torch
import beside
with torch.profiler.record_function("outer"):
    torch.ones(8) + beside.NUMBER
print(sys.argv, __name__)
sys.exit(int(sys.argv[1]))
"""


@pytest.fixture
def program(tmp_path):
    (tmp_path / "beside.py").write_text("NUMBER = 1")
    path = tmp_path / "program.py"
    path.write_text(PROGRAM)
    return path


def _record(trace, *arguments, **options):
    command = [sys.executable, "-m", "guardrail.adapters.profile_script", str(trace), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False, **options)


def test_a_script_runs_as_python_would_run_it_and_its_trace_is_written(program, tmp_path):
    done = _record(tmp_path / "t.json", "script", program, 0, "--flag")
    assert (done.returncode, done.stdout) == (0, f"{[str(program), '0', '--flag']} __main__\n")
    events = json.loads((tmp_path / "t.json").read_text())["traceEvents"]
    assert [event["name"] for event in events if event.get("cat") == "user_annotation"] == ["outer"]
    assert read_chrome_trace((tmp_path / "t.json").read_text(), "t.json").tool == "kineto"


def test_a_module_runs_from_the_current_folder_and_its_traceback_begins_in_it(tmp_path):
    (tmp_path / "p.py").write_text("def fail():\n    raise ValueError('mine')\nfail()\n")
    done = _record(tmp_path / "t.json", "module", "p", cwd=tmp_path)
    frames = [line for line in done.stderr.splitlines() if line.startswith("  File")]
    assert (done.returncode, len(frames)) == (1, 2)
    assert all(str(tmp_path / "p.py") in line for line in frames)
    assert "ValueError: mine" in done.stderr


@pytest.fixture
def python(tmp_path, monkeypatch):
    """Put a shell script in the interpreter's place; the trace's path is its third argument."""

    def install(body):
        path = tmp_path / "python"
        path.write_text(f"#!/bin/sh\n{body}\n")
        path.chmod(0o755)
        monkeypatch.setattr(sys, "executable", str(path))

    return install


def test_what_a_program_did_on_the_gpu_is_read_from_its_trace(python):
    python(f'cp {DATA / "kineto.json"} "$3"')
    trace = profile_python("p.py", ["-x"], is_module=False)
    assert (trace.source, trace.tool, len(trace.launches)) == ("python p.py -x", "kineto", 4)


def test_a_program_that_fails_is_no_measurement(python):
    python("exit 7")
    with pytest.raises(MeasurementError, match=r"'python -m p' ended with exit code 7; its output is above"):
        profile_python("p", [], is_module=True)


def test_a_program_that_leaves_the_interpreter_leaves_no_trace(python):
    python("exit 0")
    with pytest.raises(MeasurementError, match=r"'python p\.py' left without its trace"):
        profile_python("p.py", [], is_module=False)


@pytest.mark.skipif(Path("/dev/nvidia0").exists(), reason="is about machines without a GPU")
def test_a_program_on_a_machine_without_a_gpu_says_why_nothing_was_recorded(program, capfd):
    with pytest.raises(
        MeasurementError, match=r"ran, and no GPU work was recorded: torch can use no GPU here"
    ):
        profile_python(str(program), ["0"], is_module=False)
    captured = capfd.readouterr()
    assert (captured.out, captured.err) == ("", f"{[str(program), '0']} __main__\n")


def test_without_torch_no_program_is_run(monkeypatch):
    monkeypatch.setattr(profilers.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(ToolMissingError, match=r"torch is not installed.*gpu-guardrail\[gpu\]"):
        profile_python("absent.py", [], is_module=False)


def test_names_of_a_report_are_demangled():
    assert [launch.name for launch in read_report(DATA / "proton.hatchet").launches] == [
        "attend",
        "scale(float*, int)",
    ]


def test_a_report_without_gpu_work_leaves_nothing_to_show(tmp_path):
    (tmp_path / "t.json").write_text("[]")
    with pytest.raises(NothingReadError, match="nothing to show"):
        read_report(tmp_path / "t.json")
