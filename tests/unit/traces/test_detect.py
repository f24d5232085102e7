import gzip
from pathlib import Path

import pytest

from guardrail.errors import NothingReadError, UsageError
from guardrail.traces.detect import read_trace_file
from helpers.nsys_exports import write_nsys_export

DATA = Path(__file__).parents[2] / "data" / "traces"


@pytest.mark.parametrize(
    ("name", "tool"), [("kineto.json", "kineto"), ("proton.hatchet", "proton"), ("ncu_raw_h200.csv", "ncu")]
)
def test_the_content_tells_the_tool_and_not_the_name(tmp_path, name, tool):
    path = tmp_path / "report.bin"
    path.write_bytes((DATA / name).read_bytes())
    assert read_trace_file(path).tool == tool


def test_a_packed_trace_is_unpacked(tmp_path):
    path = tmp_path / "kineto.json.gz"
    path.write_bytes(gzip.compress((DATA / "kineto.json").read_bytes()))
    assert len(read_trace_file(path).launches) == 4


def test_an_export_of_nsys_is_known_by_its_first_bytes(tmp_path):
    assert read_trace_file(write_nsys_export(tmp_path / "report")).tool == "nsys"


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "empty; expected CSV of ncu"),
        (b"\xff\xfe\x00", "not a report that guardrail knows"),
        (b"hello\n", "not a report that guardrail knows"),
        (b'{"a": 1}', "JSON, and no trace"),
        (b'{"a":\n[1,', r"r:2: the JSON breaks off"),
        (b"[" + b"9" * 5000 + b"]", "the JSON is damaged .*4300"),
        (gzip.compress(b'{"traceEvents": []}' * 50, mtime=0)[:30], "damaged or truncated gzip"),
        (b"\x1f\x8bnonsense", "damaged or truncated gzip"),
        (b"==ERROR== The application returned an error code (1).", "ncu said: The application returned"),
    ],
)
def test_what_is_none_of_the_formats_is_refused_with_what_was_expected(tmp_path, content, said):
    path = tmp_path / "r"
    path.write_bytes(content)
    with pytest.raises(UsageError, match=said):
        read_trace_file(path)


def test_a_folder_and_a_missing_file_are_refused(tmp_path):
    with pytest.raises(UsageError, match="a folder; expected CSV of ncu"):
        read_trace_file(tmp_path)
    with pytest.raises(UsageError, match="cannot be read: No such file"):
        read_trace_file(tmp_path / "absent")


def test_a_trace_without_gpu_work_leaves_nothing_to_show(tmp_path):
    path = tmp_path / "r.json"
    path.write_text('{"traceEvents": []}')
    with pytest.raises(NothingReadError, match="holds no kernel, copy or fill"):
        read_trace_file(path)
