import json
import threading
import time
from dataclasses import replace
from pathlib import Path

from guardrail.families.census import Taken, load_census
from guardrail.kernels.int4_attention.breaches import BreachState
from guardrail.kernels.int4_attention.census import Census
from guardrail.kernels.int4_attention.dispatch import Call, decide

CALL = Call(
    max_query_len=9, sequences=1, tokens=9, seq_threshold=32, segments=16, scratch_rows=(16, 16, 16),
    declared_capacity=16,
)  # fmt: skip
SHORT_OF_ROWS = replace(CALL, scratch_rows=(8, 8, 8), declared_capacity=8)


def observe(census: Census, call: Call, arm: str | None = None) -> None:
    decision = decide(call)
    ran = arm or decision.arm
    census.observe(call, decision, ran, call.segments if ran == "3d" else None)


def test_calls_are_counted_by_query_length_arm_and_reason() -> None:
    census = Census(BreachState())
    observe(census, replace(CALL, max_query_len=1840, tokens=1840))
    for _ in range(3):
        observe(census, CALL)
    assert census.record().taken == (
        Taken(9, "3d", (), 16, True, 3),
        Taken(1840, "2d", ("max_query_len_policy>16",), None, False, 1),
    )
    assert (census.record().calls, census.record().eligible_2d) == (4, 0)


def test_a_batch_that_does_not_fit_is_eligible_and_a_breach() -> None:
    census = Census(BreachState())
    observe(census, SHORT_OF_ROWS)
    observe(census, replace(SHORT_OF_ROWS, tokens=10))
    record = census.record()
    assert record.taken == (Taken(9, "2d", ("q_token_capacity_failed",), None, True, 2),)
    assert (record.eligible_2d, record.breaches, record.degraded) == (2, 2, True)
    assert record.first_breach["tokens"] == 9


def test_an_arm_that_nobody_decided_for_is_eligible_without_a_reason() -> None:
    census = Census(BreachState())
    observe(census, CALL, arm="2d")
    assert census.record().missed == (Taken(9, "2d", (), None, True, 1),)


def test_a_switched_off_flag_makes_no_call_eligible() -> None:
    census = Census(BreachState())
    observe(census, replace(CALL, multi_query=False))
    assert census.record().eligible_2d == 0


class YieldingBreaches(BreachState):
    """Lets another thread in between reading and writing the count."""

    def observe(self, call: Call) -> None:
        count = self.count
        time.sleep(0)
        self.count = count + 1


def test_no_call_of_several_threads_is_lost() -> None:
    census = Census(YieldingBreaches())
    calls = [CALL] * 500
    threads = [threading.Thread(target=lambda: [observe(census, call) for call in calls]) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (census.record().calls, census.record().breaches) == (2000, 2000)


def test_the_written_file_is_read_back(tmp_path: Path) -> None:
    census = Census(BreachState())
    observe(census, CALL)
    observe(census, SHORT_OF_ROWS)
    path = tmp_path / "census.json"
    census.write(path)
    read = load_census(path.read_text(), "census.json")
    assert (read.taken, read.breaches) == (census.record().taken, 1)
    assert read.first_breach["scratch_rows"] == [8, 8, 8]
    assert [each.name for each in tmp_path.iterdir()] == ["census.json"]
    assert json.loads(path.read_text())["version"] == 1
