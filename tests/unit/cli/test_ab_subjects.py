"""``guardrail ab`` on two arms of operations, from recorded windows in place of a GPU."""

import contextlib
import json
import os
from pathlib import Path

import pytest

from guardrail.adapters.device import Gpu
from guardrail.cli import ab_report, ab_subjects
from guardrail.cli.ab_report import run_comparison
from guardrail.cli.ab_request import Request
from guardrail.errors import ExitCode, MeasurementError, UndecidedError, UsageError
from guardrail.records.provenance import Provenance
from guardrail.store.ledger import read_ledger
from helpers.subject_arms import repeated, timed_window

SERVED = "q6k.served_matvec"


def request(**changes):
    stated = {
        "a": f"{SERVED}:v2_dpl", "b": f"{SERVED}:v2_pf_dpl", "a_env": (), "b_env": (),
        "case": ("ffn-down-14b",), "b_case": (), "reader": "json", "metric": None, "controls": (),
        "accept": ("B/A <= 0.996",), "veto": ("B/A >= 1.004",), "self_compare": False, "pairs": 40,
        "budget": 3600.0, "confidence": 0.95, "cache": "shared", "warmup": None, "timeout": 600.0,
        "relative_error": None, "name": "prefetch", "what": "load two units ahead",
        "mechanism": "more bytes are in flight", "ledger": Path("ledger.yaml"), "as_json": False,
    }  # fmt: skip
    return Request(**(stated | changes))


@pytest.fixture
def gpu(tmp_path, monkeypatch):
    """A GPU whose windows are made up; what was asked of it is kept."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("TRITON_INTERPRET", raising=False)
    card = Gpu("Test card", f"GPU-test-{os.getpid()}", "1.0")
    begun = Provenance(time="2026-01-02T03:04:05+00:00", command="", host="", python="", versions={})
    monkeypatch.setattr(ab_report, "executing_gpu", lambda: card)
    monkeypatch.setattr(ab_report, "provenance", lambda *_: begun)
    monkeypatch.setattr(ab_report, "_gpu_for_itself", lambda _: contextlib.nullcontext())
    asked = []

    def answering(windows):
        def timed_windows(plan, most, timeout):
            asked.append((plan, most, timeout))
            return iter(windows)

        monkeypatch.setattr(ab_subjects, "timed_windows", timed_windows)
        return asked

    return answering


def test_a_faster_arm_is_accepted_and_written_down(gpu, capsys):
    asked = gpu([timed_window([9, 9, 9, 9], spoilers=("The GPU is hot.",)), *repeated([10, 4, 9.8, 4])])
    assert run_comparison(request()) is ExitCode.OK
    ((plan, most, timeout),) = asked
    assert ([each.arm for each in plan.timed], most, timeout) == (
        ["v2_dpl", "v2_dpl", "v2_pf_dpl", "v2_pf_dpl"], 120, 600.0,
    )  # fmt: skip
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == f"A: {SERVED}:v2_dpl on ffn-down-14b"
    assert lines[1].endswith(" sources")
    assert "largest relative error: 0.001; GPU: none; commit: none" in lines
    assert "   -  The GPU is hot." in lines
    assert "8 pairs, windows discarded: 1, confidence 0.99 at each look, 0.95 over all" in lines
    assert "accept: B/A is 0.9800 (0.9800 to 0.9800): B/A <= 0.996" in lines
    registered, result = (entry.row for entry in read_ledger(Path("ledger.yaml")).entries)
    assert registered.criterion == [
        "accept B/A <= 0.996",
        "veto B/A >= 1.004",
        "at most 40 pairs and 3600 s, confidence 0.95, largest relative error 0.001",
    ]
    assert result.arms == {
        "A": f"{SERVED}:v2_dpl on ffn-down-14b",
        "B": f"{SERVED}:v2_pf_dpl on ffn-down-14b",
    }
    assert (result.metric, result.outcome, result.estimate) == ("cold_time (us)", "accept", 0.98)
    assert result.lesson.endswith("; windows discarded: 1")


def test_a_slower_arm_is_vetoed_and_the_document_holds_every_window(gpu, capsys):
    gpu(repeated([10, 4, 6, 10.1, 4.2, 6]))
    asked = request(controls=(f"{SERVED}:v2",), metric="hot_time", as_json=True)
    assert run_comparison(asked) is ExitCode.FAILED
    document = json.loads(capsys.readouterr().out)
    assert (document["verdict"], document["metric"]["ratio"]) == ("veto", 1.05)
    assert [each["selector"] for each in document["beside"]] == ["cold_time", "cold_span", "hot_span"]
    assert [(each["selector"], each["ratio"]) for each in document["controls"]] == [(f"{SERVED}:v2", 1.0)]
    assert document["arms"]["B"]["arm"] == "v2_pf_dpl"
    assert document["arms"]["B"]["notes"]["registers"] == [36]
    assert [pair["first"] for pair in document["pairs"]] == ["A", "B"] * 4
    assert document["pairs"][0]["b"]["values"]["hot_time"] == 4.2


def test_an_arm_compared_with_itself_writes_nothing_down(gpu):
    gpu(repeated([10, 4, 10, 4]))
    itself = request(b=None, self_compare=True, accept=(), veto=(), name=None, pairs=6)
    assert run_comparison(itself) is ExitCode.OK
    assert not Path("ledger.yaml").exists()


def test_a_session_that_nothing_but_spoils_is_undecided(gpu):
    gpu([timed_window([10, 4, 9.8, 4], spoilers=("The GPU is hot.",))] * 120)
    with pytest.raises(
        UndecidedError, match=r"windows that were spoilt and discarded: 120 x The GPU is hot\."
    ) as caught:
        run_comparison(request())
    assert caught.value.__notes__ == [
        "ledger.yaml keeps the row 'prefetch' without a result; another attempt needs another --id"
    ]
    assert [entry.row.verdict for entry in read_ledger(Path("ledger.yaml")).entries] == ["registered"]


def test_arms_whose_sources_change_meanwhile_are_refused(gpu, monkeypatch):
    gpu(repeated([10, 4, 9.8, 4]))
    hashes = iter("abcd")
    monkeypatch.setattr(ab_subjects, "_sources", lambda plan: dict(zip("AB", hashes, strict=False)))
    with pytest.raises(MeasurementError, match="arm A: its sources changed while it was measured"):
        run_comparison(request())


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"a_env": ("X=1",)}, "--a-env: only a command has it"),
        ({"reader": "regex"}, "--reader: only a command has it"),
        ({"cache": "fresh"}, "--cache: only a command has it"),
        ({"warmup": 1}, "--warmup: only a command has it"),
        (
            {"case": (), "metric": "ms", "relative_error": 0.1},
            "--relative-error: only an arm of an operation",
        ),
        ({"case": (), "metric": "ms", "b_case": ("x",)}, "--b-case: only an arm of an operation"),
        (
            {"case": (), "a": "env", "b": "env"},
            "give --metric: where the metric is in what a command prints",
        ),
        ({"case": ()}, f"arm A: there is no program '{SERVED}:v2_dpl'; to time an arm of an operation"),
    ],
)
def test_options_of_the_other_kind_of_arm_are_refused(gpu, changes, message):
    with pytest.raises(UsageError, match=message):
        run_comparison(request(**changes))


def test_nothing_is_timed_under_a_debug_variable_of_both_arms(gpu, monkeypatch):
    asked = gpu(repeated([10, 4, 9.8, 4]))
    monkeypatch.setenv("CUDA_LAUNCH_BLOCKING", "1")
    with pytest.raises(UsageError, match=r"^CUDA_LAUNCH_BLOCKING=1 .*; unset CUDA_LAUNCH_BLOCKING, or give "):
        run_comparison(request())
    assert (asked, Path("ledger.yaml").exists()) == ([], False)
