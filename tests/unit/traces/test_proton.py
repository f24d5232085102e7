import json
from pathlib import Path

import pytest

from guardrail.errors import UsageError
from guardrail.traces.proton import read_proton
from guardrail.traces.summary import GroupBy, summarise

DOCUMENT = json.loads((Path(__file__).parents[2] / "data" / "traces" / "proton.hatchet").read_text())


def test_a_kernel_is_one_launch_for_each_scope_with_its_calls():
    trace = read_proton(DOCUMENT, "p.hatchet")
    assert (trace.tool, trace.arch) == ("proton", "sm_90")
    assert [(it.name, it.calls, it.duration_ns, it.region, it.bytes) for it in trace.launches] == [
        ("attend", 4, 50000.0, "decode", 8000000),
        ("_Z5scalePfi", 2, 3000.0, "decode", None),
    ]
    assert "no median" in trace.notes[0]


def test_sums_have_calls_and_a_rate_and_no_median():
    row = summarise(read_proton(DOCUMENT, "p.hatchet"), GroupBy.KERNEL)[0]
    assert (row.calls, row.total_ns, row.median_ns, row.spread, row.durations_ns) == (
        4,
        50000.0,
        None,
        None,
        (),
    )
    assert row.bytes_per_second == pytest.approx(1.6e11)


def test_cycles_inside_kernels_are_no_times():
    leaf = {"frame": {"name": "warp 0"}, "metrics": {"cycles": 7.0}, "children": []}
    document = [{"frame": {"name": "ROOT"}, "metrics": {}, "children": [leaf]}]
    with pytest.raises(UsageError, match="holds cycles inside kernels"):
        read_proton(document, "p.hatchet")


def test_a_time_without_end_is_damage():
    leaf = {"frame": {"name": "k"}, "metrics": {"count": 1, "time (ns)": 10**400}, "children": []}
    with pytest.raises(UsageError, match=r"p\.hatchet: damaged: .*OverflowError"):
        read_proton([{"frame": {"name": "ROOT"}, "metrics": {}, "children": [leaf]}], "p.hatchet")


def test_a_damaged_tree_is_refused():
    with pytest.raises(UsageError, match=r"p\.hatchet: damaged: expected 'frame'"):
        read_proton([{"frame": {"name": "ROOT"}, "children": [{"metrics": {}}], "metrics": {}}], "p.hatchet")
