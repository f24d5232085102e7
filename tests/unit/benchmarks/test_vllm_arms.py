import json
from pathlib import Path
from typing import Any

import numpy
import pytest

from benchmarks import vllm_arms

TOKENS = [5, 6, 7]
PROFILE = {f"{part}_us_per_step": 1.5 for part in ("gpu", "attention", "cache_write", "proposer")}


@pytest.fixture
def run_folder(tmp_path: Path) -> Path:
    (tmp_path / "model").mkdir()
    (tmp_path / "model/config.json").write_text("{}")
    (tmp_path / "boots").mkdir()
    return tmp_path


@pytest.fixture
def booted(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Stand in for engines: each boot leaves what it would, and is noted."""
    names: list[str] = []

    def boot(arm: str, depth: int, target: Path, *rest: Any) -> int:
        names.append(target.stem)
        target.write_text("{}")
        return 0

    monkeypatch.setattr(vllm_arms, "boot", boot)
    return names


def keep(folder: Path, name: str, logits: float, tokens: list[int] = TOKENS, **found: Any) -> None:
    """Keep a boot with equal logits everywhere, of one context with three verified tokens."""
    context = {"verify_tokens": tokens, **({} if name.startswith("float32") else steps())}
    boot = {"implementations": ["Impl"], "kv_blocks": 10, "contexts": {"20000": context}, **found}
    (folder / f"boots/{name}.json").write_text(json.dumps(boot))
    rows = {"whole": 1, "tail8": 1, "verify": len(tokens)}
    arrays = {f"20000.{key}": numpy.full([count, 4], logits) for key, count in rows.items()}
    numpy.savez(folder / f"boots/{name}.npz", **arrays)


def steps() -> dict[str, Any]:
    return {"step_ms": 2.0, "tokens_per_step": 1.0, "profile": PROFILE}


def test_a_run_begins_with_the_reference_and_takes_the_arms_in_turns(run_folder, booted):
    vllm_arms.run(run_folder, 560, ["*"])
    assert booted[:5] == [
        "float32.depth7.0", "guardrail.depth7.0", "stock.depth7.0", "guardrail.depth15.0", "stock.depth15.0",
    ]  # fmt: skip


def test_only_what_is_asked_for_and_missing_is_booted(run_folder, booted):
    keep(run_folder, "stock.depth0.0", 1.0)
    vllm_arms.run(run_folder, 560, ["float32.*", "*.depth0.0"])
    assert booted == ["float32.depth7.0", "guardrail.depth0.0"]


def test_nothing_is_booted_that_would_not_end_in_time(run_folder, booted):
    vllm_arms.run(run_folder, 40, ["*"])
    assert booted == []


def test_a_failed_boot_ends_the_run_with_the_end_of_its_log(run_folder, monkeypatch):
    def boot(arm: str, depth: int, target: Path, *rest: Any) -> int:
        target.with_suffix(".log").write_text("start\nCUDA error\n")
        return 1

    monkeypatch.setattr(vllm_arms, "boot", boot)
    with pytest.raises(SystemExit) as ended:
        vllm_arms.run(run_folder, 560, ["*"])
    assert str(ended.value) == "start\nCUDA error\nfloat32.depth7.0 failed (1) after 0 s"


def test_the_report_holds_both_arms_against_the_reference(run_folder):
    keep(run_folder, "float32.depth7.0", 1.0)
    keep(run_folder, "stock.depth7.0", 1.5, tokens=[5, 9, 7])
    keep(run_folder, "guardrail.depth7.0", 1.25)
    rows = [line for line in vllm_arms.report(run_folder) if line.startswith("| float32.depth7.0, ")]
    assert [row.split(" | ")[:3] for row in rows] == [
        ["| float32.depth7.0, stock.depth7.0", "20000.whole (1)", "5.00e-01"],
        ["| float32.depth7.0, stock.depth7.0", "20000.tail8 (1)", "5.00e-01"],
        # The second token differs, so that the third step has another prefix.
        ["| float32.depth7.0, stock.depth7.0", "20000.verify (2)", "5.00e-01"],
        ["| float32.depth7.0, guardrail.depth7.0", "20000.whole (1)", "2.50e-01"],
        ["| float32.depth7.0, guardrail.depth7.0", "20000.tail8 (1)", "2.50e-01"],
        ["| float32.depth7.0, guardrail.depth7.0", "20000.verify (3)", "2.50e-01"],
    ]


def test_the_report_has_the_steps_of_timed_boots_only(run_folder):
    keep(run_folder, "float32.depth7.0", 1.0)
    keep(run_folder, "stock.depth7.0", 1.5)
    rows = [line for line in vllm_arms.report(run_folder) if "| 20000 |" in line]
    assert rows == ["| stock.depth7.0 | 20000 | 2.000 | 1.00 | 1.5 | 1.5 | 1.5 | 1.5 |"]


def test_the_report_tells_captures_of_more_tokens_than_are_verified_from_prefill(run_folder):
    keep(run_folder, "guardrail.depth15.0", 1.0)
    taken = [
        {"query_len": length, "arm": arm, "calls": 4}
        for length, arm in ((1, "3d"), (2, "3d"), (16, "3d"), (17, "2d"), (32, "2d"), (3624, "2d"))
    ]
    census = {"taken": taken, "breaches": 0}
    (run_folder / "boots/guardrail.depth15.0.census.json").write_text(json.dumps(census))
    (row,) = [line for line in vllm_arms.report(run_folder) if "breaches" in line]
    assert row == (
        "| guardrail.depth15.0 | Impl | 10 | [] | {'3d at 1 token': 4, '3d at 2 to 16': 8, "
        "'2d at 17 to 32': 8, '2d at more': 4}, 0 breaches |"
    )
