import time
from pathlib import Path
from types import SimpleNamespace

import pytest

from guardrail.adapters.vllm import census_file
from guardrail.adapters.vllm.census_file import CensusFile, path_of, summary
from guardrail.families import load_census
from guardrail.kernels.int4_attention.breaches import BreachState
from guardrail.kernels.int4_attention.census import Census
from guardrail.kernels.int4_attention.dispatch import Call, Decision, decide


def observe(census: Census, tokens: int) -> Decision:
    call = Call(8, 1, tokens, seq_threshold=32, segments=4, scratch_rows=(8, 8, 8), declared_capacity=8)
    decision = decide(call)
    census.observe(call, decision, decision.arm, 4 if decision.arm == "3d" else None)
    return decision


@pytest.fixture
def census(monkeypatch: pytest.MonkeyPatch) -> Census:
    monkeypatch.setattr(census_file, "_WRITE_SECONDS", 0.01)
    return Census(BreachState())


def test_a_running_engine_writes_what_changed(census: Census, tmp_path: Path) -> None:
    path = tmp_path / "census.json"
    path.write_text("that of an earlier run")
    file = CensusFile(census, path)
    assert load_census(path.read_text(), "census").calls == 0
    observe(census, tokens=8)
    observe(census, tokens=9)
    deadline = time.monotonic() + 10
    while load_census(path.read_text(), "census").calls < 2:
        assert time.monotonic() < deadline
        time.sleep(0.01)
    file.close()
    record = load_census(path.read_text(), "census")
    assert [(row.arm, row.reasons) for row in record.taken] == [
        ("2d", ("q_token_capacity_failed",)),
        ("3d", ()),
    ]
    assert (record.eligible_2d, record.breaches, record.degraded) == (1, 1, True)
    assert summary(record) == ("2 host calls (1 2d, 1 3d), 1 in the 2D arm by accident, 1 breaches, degraded")


def test_a_file_that_cannot_be_written_stops_nothing(
    census: Census, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    file = CensusFile(census, tmp_path / "absent" / "census.json")
    observe(census, tokens=8)
    file.close()
    assert "the census cannot be written, and is only logged" in caplog.text


@pytest.mark.parametrize(
    ("rank", "replica", "name"), [(0, 0, "run.json"), (1, 0, "run.1.json"), (1, 2, "run.5.json")]
)
def test_each_rank_has_a_file(rank: int, replica: int, name: str) -> None:
    parallel = SimpleNamespace(rank=rank, data_parallel_rank=replica, world_size=2)
    assert path_of("/runs/run.json", parallel) == Path("/runs") / name
    assert path_of("", parallel) is None
