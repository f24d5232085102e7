import pytest

from guardrail.records.launch import Launch, Trace, WorkKind
from guardrail.traces.compare import ChangeKind, compare_rows
from guardrail.traces.summary import GroupBy, summarise


def _kernel(name, duration_ns, **facts):
    return Launch(name, WorkKind.KERNEL, duration_ns, **facts)


def _trace(*launches):
    return Trace("kineto", "t.json", launches)


def test_one_row_a_kernel_with_the_statistics_of_its_calls_longest_first():
    calls = [_kernel("b", float(ns)) for ns in (100, 110, 120, 130, 540)]
    small, big = summarise(_trace(_kernel("a", 3000.0), *calls))[::-1]
    assert (big.name, big.calls, big.total_ns, big.share, big.median_ns) == ("a", 1, 3000.0, 0.75, 3000.0)
    assert big.spread is None
    assert (small.name, small.calls, small.total_ns, small.share) == ("b", 5, 1000.0, 0.25)
    assert (small.median_ns, small.min_ns, small.max_ns) == (120.0, 100.0, 540.0)
    assert small.spread == pytest.approx(20 / 120)
    assert small.durations_ns == (100.0, 110.0, 120.0, 130.0, 540.0)


def test_a_copy_of_the_same_name_is_a_row_of_its_own():
    rows = summarise(_trace(_kernel("x", 2.0), Launch("x", WorkKind.COPY, 1.0, bytes=10)))
    assert [(row.kind, row.total_ns) for row in rows] == [(WorkKind.KERNEL, 2.0), (WorkKind.COPY, 1.0)]


def test_a_figure_on_which_the_launches_differ_is_unknown_and_the_shapes_are_counted():
    shape = {"block": (64, 1, 1), "registers": 32, "shared_bytes": 0}
    (row,) = summarise(
        _trace(_kernel("k", 1.0, grid=(1, 1, 1), **shape), _kernel("k", 1.0, grid=(2, 1, 1), **shape))
    )
    assert (row.grid, row.block, row.registers, row.shared_bytes) == (None, (64, 1, 1), 32, 0)
    assert row.launch_shapes == 2


def test_the_share_is_of_all_work_even_where_names_are_filtered():
    (row,) = summarise(_trace(_kernel("attend", 1.0), _kernel("scale", 3.0)), kernel="^att")
    assert (row.name, row.share) == ("attend", 0.25)


def test_rows_by_region_and_by_stream():
    trace = _trace(
        _kernel("a", 1.0, region="decode", stream=7, device=0),
        _kernel("b", 2.0, region="decode", stream=8, device=0),
        _kernel("b", 4.0, stream=8, device=1),
    )
    regions = [(row.name, row.kernels, row.calls, row.total_ns) for row in summarise(trace, GroupBy.REGION)]
    assert regions == [("(no region)", 1, 1, 4.0), ("decode", 2, 2, 3.0)]
    streams = [(row.name, row.total_ns) for row in summarise(trace, GroupBy.STREAM)]
    assert streams == [("device 1, stream 8", 4.0), ("device 0, stream 8", 2.0), ("device 0, stream 7", 1.0)]


@pytest.mark.parametrize(
    ("facts", "moved", "what"),
    [
        ({"bytes": 4000}, 4000, "moved"),
        ({"counters": {"dram__bytes.sum": 900.0, "dram__bytes_read.sum": 500.0}}, 900.0, "DRAM"),
        ({"counters": {"dram__bytes_read.sum": 500.0, "dram__bytes_write.sum": 100.0}}, 600.0, "DRAM"),
        ({"counters": {"dram__bytes_read.sum": 500.0}}, 500.0, "DRAM read"),
        ({"counters": {"dram__bytes_write.sum": 100.0}}, 100.0, "DRAM written"),
        ({}, None, ""),
    ],
)
def test_bytes_are_named_by_who_counted_them(facts, moved, what):
    (row,) = summarise(_trace(_kernel("k", 2000.0, **facts)))
    assert (row.moved_bytes, row.moved) == (moved, what)
    assert row.bytes_per_second == (None if moved is None else pytest.approx(moved / 2e-6))


def test_bytes_that_only_some_launches_tell_are_not_added_up():
    (row,) = summarise(_trace(_kernel("k", 1.0, bytes=10), _kernel("k", 1.0)))
    assert (row.moved_bytes, row.bytes_per_second) == (None, None)


def test_counters_are_medians_over_the_launches_that_have_them():
    launches = [_kernel("k", 1.0, counters={"x__y": value}) for value in (1.0, 9.0, 2.0)]
    assert summarise(_trace(*launches, _kernel("k", 1.0)))[0].counters == {"x__y": 2.0}


def test_launches_of_no_duration_have_a_share_of_nothing():
    (row,) = summarise(_trace(_kernel("k", 0.0), _kernel("k", 0.0)))
    assert (row.share, row.spread, row.median_ns) == (0.0, None, 0.0)


def test_a_comparison_lists_the_largest_change_first_in_either_direction():
    old = summarise(_trace(_kernel("a", 10.0), _kernel("b", 50.0), _kernel("c", 7.0), _kernel("d", 5.0)))
    new = summarise(
        _trace(_kernel("a", 12.0), _kernel("c", 4.0), _kernel("d", 5.0), Launch("m", WorkKind.COPY, 9.0))
    )
    changes = compare_rows(old, new)
    assert [(change.name, change.kind, change.delta_ns) for change in changes] == [
        ("b", ChangeKind.VANISHED, -50.0),
        ("m", ChangeKind.APPEARED, 9.0),
        ("c", ChangeKind.FASTER, -3.0),
        ("a", ChangeKind.SLOWER, 2.0),
        ("d", ChangeKind.SAME, 0.0),
    ]
