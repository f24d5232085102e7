import sqlite3
from contextlib import closing

import pytest

from guardrail.errors import UsageError
from guardrail.records.launch import Launch, WorkKind
from guardrail.traces.nsys_sqlite import read_nsys_sqlite
from helpers.nsys_exports import write_nsys_export


def test_kernels_copies_and_fills_in_order_with_the_range_around_their_launch(tmp_path):
    trace = read_nsys_sqlite(write_nsys_export(tmp_path / "r.sqlite"), "r.sqlite")
    assert (trace.tool, trace.device, trace.arch, trace.notes) == ("nsys", "NVIDIA H200", "sm_90", ())
    assert [(it.name, it.kind, it.duration_ns, it.region) for it in trace.launches] == [
        ("Memcpy HtoD", WorkKind.COPY, 200.0, ""),
        ("attend", WorkKind.KERNEL, 900.0, "attention"),
        ("void scale<float>(float *, int)", WorkKind.KERNEL, 4250.0, "decode"),
        ("Memset", WorkKind.FILL, 100.0, ""),
    ]
    assert trace.launches[2] == Launch(
        name="void scale<float>(float *, int)",
        kind=WorkKind.KERNEL,
        duration_ns=4250.0,
        start_ns=2000.0,
        grid=(132, 2, 1),
        block=(256, 1, 1),
        registers=40,
        shared_bytes=3072,
        stream=7,
        device=0,
        region="decode",
    )


def test_tables_of_what_was_not_recorded_may_be_missing(tmp_path):
    without = ("CUPTI_ACTIVITY_KIND_MEMCPY", "NVTX_EVENTS", "CUPTI_ACTIVITY_KIND_RUNTIME", "TARGET_INFO_GPU")
    trace = read_nsys_sqlite(write_nsys_export(tmp_path / "r.sqlite", without), "r.sqlite")
    assert [(it.name, it.region) for it in trace.launches] == [
        ("attend", ""),
        ("void scale<float>(float *, int)", ""),
        ("Memset", ""),
    ]
    assert (trace.device, trace.arch) == (None, None)


def test_graphs_recorded_as_a_whole_are_said_not_to_be_in_the_table(tmp_path):
    graphs = "CREATE TABLE CUPTI_ACTIVITY_KIND_GRAPH_TRACE (start INTEGER, end INTEGER);"
    graphs += "INSERT INTO CUPTI_ACTIVITY_KIND_GRAPH_TRACE VALUES (0, 1500000), (2000000, 3500000);"
    (note,) = read_nsys_sqlite(write_nsys_export(tmp_path / "r.sqlite", extra=graphs), "r.sqlite").notes
    assert note.startswith("2 replays of CUDA graphs (3.000 ms) were recorded whole")


def test_the_same_correlation_in_two_processes_is_two_launches(tmp_path):
    other = 6 << 24
    rows = (
        f"INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (210, 220, {other | 3}, 10, 0);"
        f"INSERT INTO NVTX_EVENTS VALUES (200, 400, 59, 'other', {other | 3}, NULL);"
    )
    trace = read_nsys_sqlite(write_nsys_export(tmp_path / "r.sqlite", extra=rows), "r.sqlite")
    assert trace.launches[1].region == "attention"


def test_a_database_of_something_else_is_refused(tmp_path):
    with closing(sqlite3.connect(tmp_path / "x.sqlite")) as connection:
        connection.execute("CREATE TABLE songs (id INTEGER)")
    with pytest.raises(UsageError, match=r"x\.sqlite: a database, and not of nsys"):
        read_nsys_sqlite(tmp_path / "x.sqlite", "x.sqlite")


def test_a_damaged_database_is_refused(tmp_path):
    path = write_nsys_export(tmp_path / "r.sqlite")
    path.write_bytes(path.read_bytes()[:3000])
    with pytest.raises(UsageError, match=r"r\.sqlite: expected an SQLite export of nsys.*export it again"):
        read_nsys_sqlite(path, "r.sqlite")


@pytest.mark.parametrize(
    "change",
    [
        "CUPTI_ACTIVITY_KIND_KERNEL SET end = NULL",
        "CUPTI_ACTIVITY_KIND_KERNEL SET registersPerThread = 'abc'",
        "CUPTI_ACTIVITY_KIND_MEMCPY SET bytes = 'abc'",
        "CUPTI_ACTIVITY_KIND_RUNTIME SET start = 'abc'",
        "NVTX_EVENTS SET end = 'abc'",
    ],
)
def test_a_row_with_something_else_than_a_number_is_refused(tmp_path, change):
    path = write_nsys_export(tmp_path / "r.sqlite", extra=f"UPDATE {change};")
    with pytest.raises(UsageError, match=r"r\.sqlite: damaged: a row lacks a number or has something else"):
        read_nsys_sqlite(path, "r.sqlite")
