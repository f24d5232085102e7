import pytest

from guardrail.families.interface import Choice
from guardrail.families.models import ModelProfile, Tensor
from guardrail.kernels.q6k import coverage, gate, geometry

LENGTHS = range(256, 65_536 + 1, 256)


def arm(row_length, **axes):
    return gate.pick({"id": row_length, "pipelined": True} | axes).arm


def test_the_bounds_follow_from_what_the_kernels_are_compiled_with():
    assert geometry.tile_elements(geometry.BLOCK_UNITS) == 8192
    assert geometry.pipelined_reach(geometry.BLOCK_UNITS) == 16384


def test_exactly_the_rows_of_more_than_one_and_at_most_two_tiles_are_pipelined():
    pipelined = [length for length in LENGTHS if arm(length) == "v2_pf"]
    assert pipelined == list(range(8448, 16384 + 1, 256))


def test_a_small_geometry_moves_both_bounds():
    pipelined = [length for length in LENGTHS if arm(length, block_units=32) == "v2_pf"]
    assert pipelined == list(range(1280, 2048 + 1, 256))
    assert arm(2304, block_units=32) == "v2"


def test_no_picked_arm_leaves_a_unit_out():
    for case in gate.domain():
        covered = {"v2": coverage.covered_by_v2, "v2_pf": coverage.covered_by_v2_pf}[gate.pick(case).arm]
        assert covered(case) == int(case["id"]) // 32, case


@pytest.mark.parametrize(
    ("row_length", "block_units", "covered"),
    [(5120, 256, 160), (16384, 256, 512), (16640, 256, 512), (18944, 256, 512), (2304, 32, 64)],
)
def test_v2_pf_covers_two_tiles_and_no_more(row_length, block_units, covered):
    assert coverage.covered_by_v2_pf({"id": row_length, "block_units": block_units}) == covered


def test_short_rows_stay_on_v2_with_a_reason():
    choice = gate.pick({"id": 8192, "pipelined": True})
    assert choice.arm == "v2"
    assert choice.because.startswith("the row fits one tile")


def test_rows_beyond_reach_need_no_reason():
    assert gate.pick({"id": 16640, "pipelined": True}) == Choice("v2")


def test_the_opt_out_sends_every_row_to_v2_and_names_the_variable():
    choices = {gate.pick({"id": length, "pipelined": False}) for length in LENGTHS}
    assert choices == {Choice("v2", because="GUARDRAIL_Q6K_PIPELINED is off")}


def test_the_domain_is_every_length_with_and_without_the_opt_out():
    cases = list(gate.domain())
    assert len(cases) == 512
    assert [case["id"] for case in cases if case["pipelined"]] == list(LENGTHS)
    assert [case["id"] for case in cases if not case["pipelined"]] == list(LENGTHS)


def test_a_model_gives_one_case_for_each_length_of_its_q6_k_rows():
    model = ModelProfile(
        name="m",
        layers=2,
        hidden_size=3584,
        query_heads=28,
        kv_heads=4,
        head_size=128,
        vocabulary=152_064,
        tensors=(
            Tensor("output", 152_064, 3584, "q6_k"),
            Tensor("attn_v", 512, 3584, "q6_k", layers=14),
            Tensor("ffn_down", 3584, 18_944, "q6_k", layers=14),
            Tensor("ffn_up", 18_944, 5120, "q4_k", layers=28),
        ),
    )
    assert list(gate.model_cases(model)) == [
        {"id": 3584, "pipelined": True},
        {"id": 18_944, "pipelined": True},
    ]


@pytest.mark.parametrize(
    ("row_length", "small"), [(256, True), (18_944, True), (20_480, True), (20_736, False)]
)
def test_rows_up_to_20480_are_small_enough_for_the_interpreter(row_length, small):
    assert coverage.interpretable({"id": row_length, "pipelined": True}) is small
