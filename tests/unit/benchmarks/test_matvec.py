from types import SimpleNamespace

import pytest

from benchmarks import matvec
from benchmarks.quantized import Shape

SHAPE = Shape("attn_k", "q4_k", 1_024, 5_120)
CONTENT_BYTES = 1_024 * 20 * 144


class Bench:
    """Answers for the GPU and for the peer's program, and notes who was timed when."""

    def __init__(self, microseconds: dict[str, list[float]]) -> None:
        self.microseconds = microseconds
        self.timed: list[str] = []

    def time(self, arm: str) -> float:
        self.timed.append(arm)
        return self.microseconds[arm].pop(0)

    def measure(self, quantization: str, rows: int, columns: int, copies: int) -> dict[str, float]:
        assert (quantization, rows, columns, copies) == ("q4_k", 1_024, 5_120, 62)
        self.timed.append("peer")
        return {"median_microseconds": 7.0, "best_microseconds": 6.5}


@pytest.fixture
def bench(monkeypatch):
    bench = Bench({"fast": [3.0, 4.0], "slow": [9.0, 11.0]})
    arms = [SimpleNamespace(toolkit="cuda", arm=arm) for arm in ("fast", "slow")]
    calls = SimpleNamespace(of=lambda way: way.arm, streamed_bytes=CONTENT_BYTES)
    monkeypatch.setattr(matvec, "ways", lambda quantization, columns: arms)
    monkeypatch.setattr(matvec, "Calls", SimpleNamespace(make=lambda shape, way, seed: calls))
    monkeypatch.setattr(matvec, "time_calls", bench.time)
    monkeypatch.setattr(Shape, "copies", 62)
    return bench


def test_a_peer_is_timed_between_two_rounds_of_ours(bench, capsys):
    fast, slow = matvec._measure(SHAPE, 4e12, 0, bench)
    assert bench.timed == ["fast", "slow", "peer", "fast", "slow"]
    assert (fast["microseconds"], fast["rounds_microseconds"], fast["peer_ratio"]) == (3.5, (3.0, 4.0), 2.0)
    assert (slow["microseconds"], slow["rounds_microseconds"], slow["peer_ratio"]) == (10.0, (9.0, 11.0), 0.7)
    assert fast["peer"] == {"median_microseconds": 7.0, "best_microseconds": 6.5}
    assert [line.split()[-2:] for line in capsys.readouterr().out.splitlines()] == [
        ["7.00", "2.00"],
        ["7.00", "0.70"],
    ]


def test_without_a_peer_ours_is_timed_once(bench, capsys):
    fast, _ = matvec._measure(SHAPE, 4e12, 0, None)
    assert bench.timed == ["fast", "slow"]
    assert fast == {
        "name": "attn_k",
        "quantization": "q4_k",
        "rows": 1_024,
        "columns": 5_120,
        "toolkit": "cuda",
        "arm": "fast",
        "microseconds": 3.0,
        "floor_microseconds": pytest.approx(CONTENT_BYTES / 4e6),
        "content_bytes": CONTENT_BYTES,
        "streamed_bytes": CONTENT_BYTES,
    }
    line = capsys.readouterr().out.splitlines()[0]
    assert " ".join(line.split()) == "attn_k q4_k 1024x5120 cuda fast 3.00 0.98 24.6% 0.98 0.74"
