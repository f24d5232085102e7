"""The command ``guardrail profile`` as a user meets it, on saved reports and without a GPU."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from guardrail.errors import ExitCode
from guardrail.records.launch import Launch, Trace, WorkKind
from guardrail.traces.saved import to_json
from helpers.nsys_exports import write_nsys_export

DATA = Path(__file__).parents[1] / "data" / "traces"
NCU = DATA / "ncu_raw_h200.csv"


@pytest.mark.parametrize(
    ("report", "columns"), [("ncu_raw_h200.csv", 100), ("ncu_raw_h200.csv", 80), ("kineto.json", 100)]
)
def test_the_table_is_the_kept_one_and_fits_its_width(guardrail, folder, report, columns):
    shutil.copy(DATA / report, folder)
    done = guardrail("profile", report, COLUMNS=str(columns))
    assert (done.returncode, done.stderr) == (ExitCode.OK, "")
    assert done.stdout == (DATA / f"{Path(report).stem}.{columns}.txt").read_text()
    assert max(map(len, done.stdout.splitlines())) <= columns


def test_an_export_of_nsys_by_region(guardrail, folder):
    write_nsys_export(folder / "r.sqlite")
    done = guardrail("profile", "r.sqlite", "--group-by", "region")
    assert done.returncode == ExitCode.OK
    rows = [re.split(r"\s{2,}", line) for line in done.stdout.splitlines() if re.match(r"\S.*\s\d+\s", line)]
    assert [row[:4] for row in rows if len(row) > 3] == [
        ["decode", "1", "4.25 µs", "78.0%"],
        ["attention", "1", "900 ns", "16.5%"],
        ["(no region)", "2", "300 ns", "5.5%"],
    ]


def test_json_is_whole_and_is_read_again(guardrail, folder):
    (folder / "saved.json").write_text(guardrail("profile", NCU, "--json").stdout)
    document = json.loads((folder / "saved.json").read_text())
    product = document["rows"][0]
    assert product["name"] == "nvjet_sm90_tst_256x128_64x4_1x2_h_bz_coopA_NNT"
    assert (product["calls"], product["total_ns"], product["blocks_per_sm"]) == (3, 524800.0, 1)
    assert len(document["trace"]["launches"]) == 4
    again = guardrail("profile", "saved.json", "--kernel", "^nvjet")
    assert "524.80 µs  92.5%" in again.stdout
    assert "distribution" not in again.stdout


def test_a_comparison_lists_what_came_what_went_and_what_changed(guardrail, folder):
    document = json.loads((DATA / "kineto.json").read_text())
    events = document["traceEvents"]
    for event in events:
        if event["name"] == "attend":
            event["dur"] *= 2
        if event.get("cat") == "gpu_memset":
            event |= {"cat": "gpu_memcpy", "name": "Memcpy DtoD (Device -> Device)"}
    (folder / "new.json").write_text(json.dumps(document))
    done = guardrail("profile", "new.json", "--compare", DATA / "kineto.json")
    assert done.returncode == ExitCode.OK
    summary, _, header, *rows = done.stdout.splitlines()
    assert summary == "20.25 µs → 32.75 µs (+12.50 µs, +61.7%): 1 appeared, 1 vanished, 1 slower, 2 same"
    assert header.split() == ["name", "change", "calls", "before", "after", "delta", "median"]
    assert [re.split(r"\s{2,}", row) for row in rows][:3] == [
        ["attend", "slower", "1", "12.50 µs", "25.00 µs", "+12.50 µs", "+100.0%"],
        ["Memcpy DtoD (Device -> Device)", "appeared", "1", "-", "1.50 µs", "+1.50 µs", "-"],
        ["Memset (Device)", "vanished", "1", "1.50 µs", "-", "-1.50 µs", "-"],
    ]
    changes = json.loads(guardrail("profile", "new.json", "--compare", DATA / "kineto.json", "--json").stdout)
    assert [it["delta_ns"] for it in changes["changes"]] == [12500.0, 1500.0, -1500.0, 0.0, 0.0]


def test_a_counter_of_a_saved_report_is_shown(guardrail):
    done = guardrail(
        "profile", NCU, "--counters", "sm__warps_active.avg.pct_of_peak_sustained_active", "--top", "1"
    )
    assert "sm__warps_active.avg.pct_of_peak_sustained_active 14.64" in done.stdout
    assert done.stdout.endswith("1 more, --top 0 shows them\n")


def test_a_picture_is_written(guardrail, folder):
    assert guardrail("profile", NCU, "--plot", "p.svg").returncode == ExitCode.OK
    assert (folder / "p.svg").read_text().startswith("<svg ")


def test_the_picture_is_there_though_nobody_reads_the_table(guardrail, folder, environment):
    read, write = os.pipe()
    os.close(read)
    command = [sys.executable, "-m", "guardrail", "profile", str(NCU), "--plot", "p.html"]
    subprocess.run(command, cwd=folder, env=environment, stdout=write, check=False, timeout=60)
    os.close(write)
    assert (folder / "p.html").read_text().startswith("<!doctype html>")


def test_colours_are_for_terminals_alone(guardrail):
    assert "\x1b" not in guardrail("profile", NCU).stdout


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        ([], ExitCode.USAGE, "nothing to profile; expected a bundled or your own kernel"),
        (["absent.csv"], ExitCode.USAGE, "absent.csv: no such file; expected"),
        (["."], ExitCode.USAGE, ".: a folder; expected CSV of ncu"),
        (["empty"], ExitCode.USAGE, "empty: empty; expected"),
        (["cut.csv"], ExitCode.USAGE, "cut.csv:4: expected 273 cells as the header has, there are 109"),
        (["header.csv"], ExitCode.USAGE, "header.csv:1: the file breaks off here, in the middle of a line"),
        (["minutes.csv"], ExitCode.USAGE, "minutes.csv:2: gpu__time_duration.avg: expected a unit of a"),
        (["block.json"], ExitCode.USAGE, "the block of 'k' is (0, 1, 1); expected 1 or more on every axis"),
        (["saved.json"], ExitCode.USAGE, "saved.json: a damaged profile (trace.launches.0.duration_ns: "),
        (["cut.json"], ExitCode.USAGE, "cut.json:16: the JSON breaks off or is damaged here"),
        (["song.mp3"], ExitCode.USAGE, "song.mp3: not a report that guardrail knows"),
        (["nothing.json"], ExitCode.NOTHING_CHECKED, "nothing.json: holds no kernel, copy or fill"),
        ([NCU, "--kernel", "absent"], ExitCode.NOTHING_CHECKED, "no kernel's name matches 'absent'"),
        ([NCU, "--kernel", "("], ExitCode.USAGE, "--kernel '(' is not a regular expression"),
        ([NCU, "--group-by", "colour"], ExitCode.USAGE, "expected one of kernel, region, stream"),
        ([NCU, "--counters", "absent"], ExitCode.USAGE, "has no value of 'absent'"),
        ([NCU, "--counters", "x", "--compare", NCU], ExitCode.USAGE, "a comparison (--compare) shows"),
        ([NCU, "--arch", "sm_1"], ExitCode.USAGE, "unknown architecture 'sm_1'"),
        ([NCU, "--profile", "h20"], ExitCode.USAGE, "there is no such device profile; did you mean 'h200'?"),
        ([NCU, "--plot", "p.png"], ExitCode.USAGE, "expected a name that ends with .svg or .html"),
        ([NCU, "--compare", "absent.json"], ExitCode.USAGE, "absent.json: cannot be read: No such file"),
        ([NCU, "--", "x"], ExitCode.USAGE, "a saved report takes no arguments"),
        (["q6k.absent"], ExitCode.USAGE, "family q6k has no kernel or operation 'absent'"),
        (["q6k.matvec"], ExitCode.NOT_MEASURED, "there is no GPU here that torch can use"),
    ],
)  # fmt: skip
def test_a_mistake_is_one_message_with_what_was_expected(guardrail, folder, arguments, code, said):
    (folder / "empty").write_text("")
    (folder / "cut.csv").write_bytes(NCU.read_bytes()[:15000])
    (folder / "cut.json").write_text((DATA / "kineto.json").read_text()[:1100])
    (folder / "header.csv").write_bytes(NCU.read_bytes()[:4000])
    (folder / "minutes.csv").write_text(NCU.read_text().replace('"ns"', '"min"'))
    trace = Trace("nsys", "r", (Launch("k", WorkKind.KERNEL, 5.0, block=(0, 1, 1)),))
    (folder / "block.json").write_text(to_json(trace, []))
    (folder / "saved.json").write_text(to_json(trace, []).replace("5.0", '"abc"'))
    (folder / "song.mp3").write_bytes(b"ID3\x04\xff\xfe")
    (folder / "nothing.json").write_text('{"traceEvents": []}')
    done = guardrail("profile", *arguments)
    assert (done.returncode, done.stdout) == (code, "")
    assert said in done.stderr
    assert "Traceback" not in done.stderr
    assert done.stderr.count("\n") == 1


def test_a_command_without_nsys_and_ncu_says_what_they_would_add(guardrail, folder):
    done = guardrail("profile", "--", "true", PATH=f"{folder}:/usr/bin:/bin")
    if done.returncode == ExitCode.OK:
        pytest.skip("nsys or ncu is installed here")
    assert done.returncode == ExitCode.NOT_MEASURED
    assert "nsys is not installed; it is needed to record every kernel" in done.stderr
