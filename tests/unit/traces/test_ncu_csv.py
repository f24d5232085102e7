from pathlib import Path

import pytest

from guardrail.compiled.architectures import find_limits
from guardrail.compiled.occupancy import occupancy
from guardrail.errors import UsageError
from guardrail.traces.ncu_csv import is_ncu_csv, read_ncu_csv
from guardrail.traces.ncu_values import base_unit_factor, parse_number

REAL = (Path(__file__).parents[2] / "data" / "traces" / "ncu_raw_h200.csv").read_text()

HEAD = '"ID","Kernel Name","Stream","Block Size","Grid Size","Device","CC"'
KERNEL = '"0","scale(float *, int)","7","(256, 1, 1)","(4, 2, 1)","0","8.6"'


def _wide(columns, units, *rows):
    lines = [f"{HEAD},{columns}", f'"","","","","","","",{units}', *(f"{KERNEL},{row}" for row in rows)]
    return "\n".join(lines)


def test_a_real_report_of_an_h200():
    trace = read_ncu_csv(REAL, "r.csv")
    assert (trace.tool, trace.device, trace.arch) == ("ncu", "NVIDIA H200", "sm_90")
    assert [launch.duration_ns for launch in trace.launches] == [42848.0, 174528.0, 174848.0, 175424.0]
    product = trace.launches[1]
    assert product.name == "nvjet_sm90_tst_256x128_64x4_1x2_h_bz_coopA_NNT"
    assert (product.grid, product.block, product.stream) == ((2, 66, 1), (384, 1, 1), 7)
    assert (product.registers, product.shared_bytes) == (168, 213188)
    assert product.counters["dram__bytes_read.sum"] == 83188736.0
    assert product.counters["dram__bytes_read.avg"] == 1733098.67
    assert product.counters["sm__warps_active.avg.pct_of_peak_sustained_active"] == 14.64
    assert "launch__kernel_name" not in product.counters
    assert not any(name.startswith("device__") for name in product.counters)


def test_our_blocks_per_sm_are_ncus_own():
    for launch in read_ncu_csv(REAL, "r.csv").launches:
        assert launch.block is not None and launch.registers is not None and launch.shared_bytes is not None
        ours = occupancy(
            find_limits("sm_90"),
            threads=launch.block[0],
            registers=launch.registers,
            shared_bytes=launch.shared_bytes,
        )
        limits = {
            launch.counters[f"launch__occupancy_limit_{name}"]
            for name in ("registers", "shared_mem", "warps")
        }
        assert ours.blocks_per_sm == min(limits), launch.name


def test_units_become_base_units():
    text = _wide(
        '"gpu__time_duration.sum","dram__bytes.sum","dram__bytes.sum.per_second"',
        '"us","Mbyte","Gbyte/second"',
        '"1,234.5","2.5","3.25"',
    )
    (launch,) = read_ncu_csv(text, "r.csv").launches
    assert launch.duration_ns == pytest.approx(1234500.0)
    assert launch.counters["dram__bytes.sum"] == pytest.approx(2.5e6)
    assert launch.counters["dram__bytes.sum.per_second"] == pytest.approx(3.25e9)
    assert (launch.registers, launch.shared_bytes) == (None, None)


@pytest.mark.parametrize("cell", ["nan", "no value", "", "n/a", "5 (2; 3)"])
def test_a_cell_without_a_number_is_no_counter(cell):
    text = _wide('"gpu__time_duration.sum","dram__bytes.sum"', '"ns","byte"', f'"5","{cell}"')
    assert set(read_ncu_csv(text, "r.csv").launches[0].counters) == {"gpu__time_duration.sum"}


def test_what_is_set_at_launch_may_be_a_word():
    text = _wide(
        '"gpu__time_duration.sum","launch__cluster_scheduling_policy"', '"ns",""', '"5","PolicySpread"'
    )
    assert set(read_ncu_csv(text, "r.csv").launches[0].counters) == {"gpu__time_duration.sum"}


def test_a_report_without_a_units_row_is_in_base_units_and_says_so():
    text = f'{HEAD},"gpu__time_duration.sum"\n{KERNEL},"17"'
    trace = read_ncu_csv(text, "r.csv")
    assert trace.launches[0].duration_ns == 17.0
    assert trace.notes[1:] == (
        "the report states no units: its numbers are taken to be in base units (ns, byte)",
    )
    assert len(read_ncu_csv(REAL, "r.csv").notes) == 1


@pytest.mark.parametrize("unit", ["min", "parsec", "cycle", "", "us/launch"])
def test_a_time_in_another_unit_is_refused(unit):
    with pytest.raises(
        UsageError, match=rf"r\.csv:2: gpu__time_duration\.sum: expected a unit of a time .*, not '{unit}';"
    ):
        read_ncu_csv(_wide('"gpu__time_duration.sum"', f'"{unit}"', '"5"'), "r.csv")


@pytest.mark.parametrize(
    "name", ["dram__bytes_read.sum", "launch__shared_mem_per_block_static", "dram__bytes.sum"]
)
def test_bytes_in_another_unit_are_refused(name):
    text = _wide(f'"gpu__time_duration.sum","{name}"', '"ns","sector"', '"5","5"')
    with pytest.raises(UsageError, match=rf"r\.csv:2: {name}: expected a unit of bytes .*, not 'sector'"):
        read_ncu_csv(text, "r.csv")


def test_a_unit_of_the_details_page_is_looked_at_as_well():
    head = HEAD + ',"Section Name","Metric Name","Metric Unit","Metric Value"'
    with pytest.raises(UsageError, match=r"r\.csv:2: gpu__time_duration\.sum: .*, not 'min'"):
        read_ncu_csv(f'{head}\n{KERNEL},"Launch","Duration","min","3.5"', "r.csv")


@pytest.mark.parametrize("length", [15, 20])
def test_a_table_that_breaks_off_in_its_header_is_refused(length):
    header = REAL.splitlines()[0]
    with pytest.raises(UsageError, match=r"r\.csv:1: the file breaks off here, in the middle of a line"):
        read_ncu_csv(header[: length * 100], "r.csv")


def test_a_table_that_breaks_off_in_its_last_cell_is_refused():
    text = _wide('"gpu__time_duration.sum"', '"ns"', '"512"')[:-2]
    with pytest.raises(UsageError, match=r"r\.csv:3: the file breaks off here"):
        read_ncu_csv(text, "r.csv")


def test_lines_around_the_table_are_skipped():
    table = _wide('"gpu__time_duration.sum"', '"ns"', '"5"')
    text = f"step 1\n==PROF== Connected to process 7\n{table}\n==PROF== Disconnected\n"
    assert is_ncu_csv(text)
    assert len(read_ncu_csv(text, "r.csv").launches) == 1


def test_the_details_page_has_a_row_for_each_counter():
    head = HEAD + ',"Section Name","Metric Name","Metric Unit","Metric Value"'
    rows = [
        ("Duration", "us", "3.5"),
        ("Registers Per Thread", "register/thread", "40"),
        ("Static Shared Memory Per Block", "Kbyte/block", "1.5"),
        ("Dynamic Shared Memory Per Block", "byte/block", "0"),
        ("SM Busy", "%", "12"),
        ("dram__bytes_read.sum", "Kbyte", "1,024"),
    ]
    text = "\n".join(
        [head, *(f'{KERNEL},"Launch","{name}","{unit}","{value}"' for name, unit, value in rows)]
    )
    (launch,) = read_ncu_csv(text, "r.csv").launches
    assert (launch.duration_ns, launch.registers, launch.shared_bytes) == (3500.0, 40, 1500)
    assert launch.counters["dram__bytes_read.sum"] == 1024000.0


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            _wide('"dram__bytes.sum"', '"byte"', '"5"'),
            r"r\.csv:3: kernel 'scale\(float \*, int\)' has no gpu__time",
        ),
        (_wide('"gpu__time_duration.sum"', '"ns"', '"nan"'), r"has no gpu__time_duration\.sum"),
        (_wide('"gpu__time_duration.sum"', '"ns"', '"1.234.567"'), r"r\.csv:3: .*under LC_ALL=C"),
        (_wide('"gpu__time_duration.sum"', '"ns"', '"5"')[:-40], r"r\.csv:3: expected 8 cells"),
        ("==ERROR== ERR_NVGPUCTRPERM - no permission\n", "ncu said: ERR_NVGPUCTRPERM"),
        ("a,b\n1,2\n", "expected a table of ncu --csv"),
        (
            _wide('"gpu__time_duration.sum"', '"ns"', '"5"').replace("(4, 2, 1)", "4"),
            "Grid Size: expected three",
        ),
        (
            _wide('"gpu__time_duration.sum"', '"ns"', '"5"').replace("(256, 1, 1)", "(256, -1, 1)"),
            "Block Size: expected three",
        ),
        (
            _wide('"gpu__time_duration.sum"', '"ns"', '"abc"'),
            r"r\.csv:3: gpu__time_duration\.sum: expected a number as in 1,234\.5, not 'abc'; the cell",
        ),
        (
            _wide('"gpu__time_duration.sum","dram__bytes_read.sum"', '"ns","byte"', '"5","garbage"'),
            r"r\.csv:3: dram__bytes_read\.sum: expected a number as in 1,234\.5, not 'garbage'",
        ),
        (
            f'{HEAD},"gpu__time_duration.sum","sm__cycles.avg"\n{KERNEL},"5","garbage"',
            r"r\.csv:2: sm__cycles\.avg: expected a number",
        ),
        (
            _wide('"gpu__time_duration.sum"', '"ns"', '"5"').replace('"7"', '"abc"'),
            r"r\.csv:3: Stream: expected a number",
        ),
        (
            _wide('"gpu__time_duration.sum"', '"ns"', '"5"').replace('"8.6"', '"abc"'),
            r"r\.csv:3: CC: expected a compute capability as in 9\.0, not 'abc'",
        ),
    ],
)
def test_what_cannot_be_read_is_refused(text, said):
    with pytest.raises(UsageError, match=said):
        read_ncu_csv(text, "r.csv")


@pytest.mark.parametrize(
    ("text", "number"), [("1,733,098.67", 1733098.67), ("0", 0.0), ("-1.5e3", -1500.0), ("1,05", "error")]
)
def test_numbers(text, number):
    if number == "error":
        with pytest.raises(UsageError, match="not '1,05'"):
            parse_number(text, "r.csv:3")
    else:
        assert parse_number(text, "r.csv:3") == number


@pytest.mark.parametrize(
    ("unit", "factor"),
    [
        ("ns", 1), ("nsecond", 1), ("us", 1e3), ("usecond", 1e3), ("ms", 1e6), ("s", 1e9), ("second", 1e9),
        ("byte", 1), ("Kbyte", 1e3), ("Gbyte", 1e9), ("byte/second", 1), ("Tbyte/s", 1e12),
        ("cycle/nsecond", 1e9),
        ("register/thread", 1), ("Kbyte/block", 1e3), ("%", 1), ("", 1), ("MHz", 1e6),
    ],
)  # fmt: skip
def test_factors_to_base_units(unit, factor):
    assert base_unit_factor(unit) == pytest.approx(factor)
