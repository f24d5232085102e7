import pytest

from guardrail.families.interface import Choice
from guardrail.families.models import ModelProfile, Tensor
from guardrail.kernels.q4k import coverage, faulty_gates, gate


def case(row_length, **axes):
    return {"id": row_length, "tokens": 1, "rows": 1, "threshold": 0} | axes


@pytest.mark.parametrize(
    ("axes", "because"),
    [
        ({"tokens": 2}, "a matrix-vector product serves one token"),
        ({"id": 288}, "the row is no whole number of 64-element units"),
        ({"rows": 781, "id": 5120, "threshold": 4_000_000}, "the matrix has fewer than 4,000,000 elements"),
    ],
)
def test_what_the_looping_arm_does_not_serve_takes_the_fallback_with_a_reason(axes, because):
    assert gate.pick(case(256) | axes) == Choice("dequantized", because=because)


def test_the_looping_arm_serves_every_other_product():
    assert gate.pick(case(5120, rows=782, threshold=4_000_000)) == Choice("mmvq")
    assert {gate.pick(asked) for asked in gate.domain() if asked["threshold"] == 0} == {Choice("mmvq")}


def test_no_picked_arm_leaves_a_unit_out():
    for asked in gate.domain():
        covered = getattr(coverage, f"covered_by_{gate.pick(asked).arm}")
        assert covered(asked) == int(asked["id"]) // 64, asked


def test_the_domain_is_every_length_and_both_sides_of_the_threshold():
    cases = list(gate.domain())
    assert [asked["id"] for asked in cases if not asked["threshold"]] == list(range(64, 65_536 + 1, 64))
    sides = {(asked["id"], asked["rows"], asked["tokens"]) for asked in cases if asked["threshold"]}
    assert sides == {
        (length, rows, tokens)
        for length, enough in ((320, 12_500), (2048, 1954), (5120, 782))
        for rows in (enough - 1, enough)
        for tokens in (1, 2)
    }


def test_the_mutant_that_ignores_tokens_sends_two_of_them_to_an_arm_that_computes_none():
    asked = case(5120, tokens=2)
    assert faulty_gates.pick_for_any_tokens(asked).arm == "mmvq"
    assert coverage.covered_by_mmvq(asked) == 0


def test_the_mutants_without_matrix_vector_arm_and_without_reasons_differ_in_that_alone():
    assert {faulty_gates.pick_never_matvec(asked).arm for asked in gate.domain()} == {"dequantized"}
    choices = [(faulty_gates.pick_without_reason(asked), gate.pick(asked)) for asked in gate.domain()]
    assert all(mutant.arm == choice.arm and mutant.because == "" for mutant, choice in choices)


def test_a_model_gives_a_case_for_each_shape_of_its_q4_k_tensors():
    model = ModelProfile(
        name="m",
        layers=2,
        hidden_size=3584,
        vocabulary=152_064,
        query_heads=28,
        kv_heads=4,
        head_size=128,
        tensors=(
            Tensor("attn_k", 512, 3584, "q4_k", layers=28),
            Tensor("attn_v", 512, 3584, "q4_k", layers=14),
            Tensor("ffn_down", 3584, 18_944, "q4_k", layers=14),
            Tensor("output", 152_064, 3584, "q6_k"),
        ),
    )
    shapes = [(asked["id"], asked["rows"], asked["threshold"]) for asked in gate.model_cases(model)]
    assert shapes == [(3584, 512, 4_000_000), (18_944, 3584, 4_000_000)]
