from dataclasses import replace

import pytest

from guardrail.cli.profile_figures import (
    Target,
    details,
    dimensions,
    duration,
    percent,
    printable,
    rate,
    short_name,
    size,
)
from guardrail.records.launch import Launch, Trace, WorkKind
from guardrail.spec.profiles import DeviceProfile
from guardrail.traces.summary import GroupBy, summarise

H200 = DeviceProfile(
    name="h200",
    title="NVIDIA H200",
    device_name="NVIDIA H200",
    arch="sm_90",
    sm_count=132,
    l2_bytes=62914560,
    dram_bytes_per_second=4_800_000_000_000,
    memory_bytes=150754820096,
)


def _row(*launches, group_by=GroupBy.KERNEL):
    (row,) = summarise(Trace("ncu", "r", launches), group_by)
    return row


@pytest.mark.parametrize(
    ("nanoseconds", "text"),
    [
        (None, "-"), (0.0, "0 ns"), (842.4, "842 ns"), (999.6, "1.00 µs"), (174848.0, "174.85 µs"),
        (-4280.0, "-4.28 µs"), (5_250_000.0, "5.25 ms"), (61_200_000_000.0, "61.20 s"),
    ],
)  # fmt: skip
def test_times_in_the_unit_that_fits(nanoseconds, text):
    assert duration(nanoseconds) == text


def test_sizes_and_rates_have_three_figures():
    assert [size(n) for n in (12, 11520, 253_490_000, 4e12)] == ["12 B", "11.5 kB", "253 MB", "4.00 TB"]
    assert [rate(n) for n in (8.33e9, 483.03e9, 4.27e12)] == ["8.33 GB/s", "483 GB/s", "4.27 TB/s"]
    assert [percent(n) for n in (0.9245, None)] == ["92.5%", "-"]


def test_trailing_ones_of_a_grid_are_left_out():
    assert [dimensions(it) for it in ((1056, 1, 1), (2, 66, 1), (1, 1, 4), (1, 1, 1))] == [
        "1056",
        "2x66",
        "1x1x4",
        "1",
    ]


def test_what_a_launch_tells_and_what_follows_for_its_architecture():
    launch = Launch(
        "k",
        WorkKind.KERNEL,
        1e6,
        grid=(2, 66, 1),
        block=(384, 1, 1),
        registers=168,
        shared_bytes=213188,
        counters={"dram__bytes.sum": 2.4e9},
    )
    assert details(_row(launch), Target("sm_90", H200)) == [
        "grid 2x66",
        "block 384",
        "168 regs",
        "208.2 KiB shared",
        "1 block/SM (registers, shared memory)",
        "2.40 GB DRAM, 2.40 TB/s (50% of h200's peak)",
    ]
    impossible = replace(launch, counters={"dram__bytes.sum": 9.6e9})
    assert details(_row(impossible), Target("sm_90", H200))[-1] == (
        "9.60 GB DRAM, 9.60 TB/s (200% of h200's peak: more than it can, so another device or a wrong count)"
    )
    assert details(_row(launch), Target(None))[-2:] == ["208.2 KiB shared", "2.40 GB DRAM, 2.40 TB/s"]


def test_different_shapes_of_one_kernel_are_counted():
    launches = [Launch("k", WorkKind.KERNEL, 1.0, grid=(n, 1, 1), block=(64, 1, 1)) for n in (1, 2)]
    assert details(_row(*launches), Target(None)) == ["block 64", "2 launch shapes"]


def test_a_region_says_how_many_names_are_in_it():
    launches = [Launch(name, WorkKind.KERNEL, 1.0, region="decode") for name in ("a", "b")]
    assert details(_row(*launches, group_by=GroupBy.REGION), Target(None))[0] == "2 names"


@pytest.mark.parametrize(
    ("name", "kind", "short"),
    [
        ("void at::<unnamed>::scale<float, (int)4>(float *)", WorkKind.KERNEL, "at::scale<float, (int)4>"),
        ("Memcpy HtoD (Pageable -> Device)", WorkKind.COPY, "Memcpy HtoD (Pageable -> Device)"),
        ("nvjet_sm90_tst_256x64x1x2_h_bz_coopA_NNT", WorkKind.KERNEL, "nvjet_sm90_tst_256…x2_h_bz_coopA_NNT"),
    ],
)  # fmt: skip
def test_names_keep_what_tells_kernels_apart(name, kind, short):
    assert short_name(_row(Launch(name, kind, 1.0)), 36) == short


def test_a_name_cannot_move_the_cursor():
    assert printable("a\x1b[2Jb\nc é") == "a\\x1b[2Jb\\nc é"
