import pytest

from guardrail.families.interface import Case, Choice
from guardrail.families.models import ModelProfile
from guardrail.kernels.int4_attention import gate, knobs, mutants


def case_of(query_len: int, sequences: int, captured: bool = True, kv_heads: int = 4) -> Case:
    return {"kv_heads": kv_heads, "captured": captured, "sequences": sequences, "query_len": query_len}


@pytest.mark.parametrize(
    ("case", "choice"),
    [
        (case_of(1, 1), Choice("3d")),
        (case_of(16, 32), Choice("3d")),
        (case_of(16, 32, captured=False), Choice("3d")),
        (case_of(17, 1), Choice("2d", "max_query_len_policy>16")),
        (case_of(1, 33), Choice("2d", "num_seqs_threshold_failed")),
        (case_of(17, 33), Choice("2d", "max_query_len_policy>16, num_seqs_threshold_failed")),
        (case_of(16, 16, kv_heads=8), Choice("3d")),
    ],
)
def test_the_gate_picks_an_arm_and_says_why(case: Case, choice: Choice) -> None:
    assert gate.pick(case) == choice


def test_the_domain_is_every_batch_of_equal_queries() -> None:
    cases = list(gate.domain())
    assert len(cases) == 2 * 2 * 64 * 17
    assert len({tuple(case.items()) for case in cases}) == len(cases)


def test_the_picked_arm_covers_every_case() -> None:
    covered = {"2d": gate.covered_2d, "3d": gate.covered_3d}
    assert all(covered[gate.pick(case).arm](case) == gate.units(case) for case in gate.domain())


def test_no_case_takes_2d_without_a_reason_where_3d_would_do() -> None:
    unexplained = [case for case in gate.domain() if gate.pick(case) == Choice("2d")]
    assert unexplained == []


def test_a_captured_batch_is_padded_to_the_next_size() -> None:
    assert gate.padded_tokens(case_of(16, 32)) == 576
    assert gate.padded_tokens(case_of(16, 32, captured=False)) == 512


def test_the_split_kv_arm_covers_what_policy_admits() -> None:
    assert gate.covered_3d(case_of(16, 32)) == 56
    assert gate.covered_3d(case_of(16, 33)) == 0
    assert gate.covered_3d(case_of(17, 1)) == 0


def test_a_plan_with_rows_for_sequences_leaves_batches_unexplained(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gate.plan, "capacity", lambda engine: engine.max_num_seqs)
    verify = case_of(8, 32)
    assert gate.pick(verify) == Choice("2d")
    assert gate.covered_3d(verify) == 48


def test_the_flag_turns_multi_query_batches_away(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(knobs.MULTI_QUERY, "off")
    assert gate.pick(case_of(8, 1)) == Choice("2d", "mq_but_flag_off")
    assert gate.pick(case_of(1, 1)) == Choice("3d")


def test_models_bring_their_own_kv_heads() -> None:
    model = ModelProfile("m", 64, 5120, query_heads=32, kv_heads=8, head_size=128, vocabulary=1000)
    cases = list(gate.model_cases(model))
    domain = [dict(case) for case in gate.domain()]
    assert len(cases) == 50
    assert all(case in domain for case in cases)
    wide = ModelProfile("m", 64, 5120, query_heads=32, kv_heads=1, head_size=128, vocabulary=1000)
    assert list(gate.model_cases(wide)) == []


def test_small_cases_are_executed() -> None:
    executed = [case for case in gate.domain() if gate.executed(case)]
    assert len(executed) == 20


def test_faulty_gates_show() -> None:
    verify = case_of(8, 8)
    assert mutants.pick_without_saying_why(verify) == Choice("2d")
    assert mutants.pick_with_sequence_rows(verify) == Choice("2d")
    assert mutants.pick_with_snapped_rows(case_of(9, 1)) == Choice("2d")
    assert mutants.pick_with_snapped_rows(case_of(9, 1, captured=False)) == Choice("3d")
    assert {mutants.pick_2d_always(case).arm for case in gate.domain()} == {"2d"}
    beyond = case_of(8, 64)
    assert mutants.pick_beyond_threshold(beyond) == Choice("3d")
    assert gate.covered_3d(beyond) == 0
