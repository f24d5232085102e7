import pytest

from guardrail.families.interface import Choice
from guardrail.families.models import ModelProfile, Tensor
from guardrail.kernels.q6k import coverage, gate, geometry

LENGTHS = range(256, 65_536 + 1, 256)


def case(row_length, **axes):
    defaults = {"pipelined": True, "layout": "padded", "tokens": 1, "rows": 1, "threshold": 0}
    return {"id": row_length} | defaults | axes


def arm(row_length, **axes):
    return gate.pick(case(row_length, **axes)).arm


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


@pytest.mark.parametrize("row_length", [256, 8192, 8448, 16_384, 16_640])
def test_a_plane_takes_the_twin_of_the_padded_arm(row_length):
    assert arm(row_length, layout="plane") == arm(row_length) + "_dpl"


def test_rows_that_end_within_a_block_take_v1_with_a_reason():
    choices = {gate.pick(case(length, layout="raw")) for length in range(32, 8192, 32) if length % 256}
    assert choices == {Choice("v1", because="the row ends within a block")}


def test_raw_blocks_take_v1_with_a_reason():
    choices = {gate.pick(case(length, layout="raw")) for length in LENGTHS}
    (choice,) = choices
    assert choice.arm == "v1"
    assert choice.because.startswith("the blocks are not padded")


@pytest.mark.parametrize(
    ("rows", "row_length", "expected"),
    [
        (512, 3584, "dequantized"),
        (1024, 5120, "v2"),
        (15_625, 256, "v2"),
        (15_624, 256, "dequantized"),
        (152_064, 5120, "v2"),
        (3584, 18_944, "v2"),
        (5120, 13_824, "v2_pf"),
    ],
)
def test_the_threshold_is_four_million_elements(rows, row_length, expected):
    assert arm(row_length, rows=rows, threshold=4_000_000) == expected
    shape = {"id": row_length, "rows": rows, "tokens": 1, "layout": "padded", "pipelined": True}
    assert gate.pick(shape).arm == expected


@pytest.mark.parametrize(
    ("axes", "because"),
    [
        ({"tokens": 2}, "a matrix-vector product serves one token"),
        ({"id": 272}, "the row is no whole number of 32-element units"),
        ({"threshold": 257}, "the matrix has fewer than 257 elements"),
    ],
)
def test_what_no_matrix_vector_arm_serves_takes_the_fallback_with_a_reason(axes, because):
    assert gate.pick(case(256) | axes) == Choice("dequantized", because=because)


def test_the_reference_gate_takes_v1_for_all_that_a_matrix_vector_arm_serves():
    for asked in gate.domain():
        served = gate.pick(asked).arm != "dequantized"
        assert gate.pick_v1(asked).arm == ("v1" if served else "dequantized"), asked


def test_no_picked_arm_leaves_a_unit_out():
    for asked in gate.domain():
        covered = getattr(coverage, f"covered_by_{gate.pick(asked).arm}")
        assert covered(asked) == int(asked["id"]) // 32, asked


@pytest.mark.parametrize(
    ("axes", "covering"),
    [
        ({"layout": "raw"}, {"v1", "dequantized"}),
        ({"layout": "padded"}, {"v1", "v2", "v2_pf", "dequantized"}),
        ({"layout": "plane"}, {"v1", "v2", "v2_pf", "v2_dpl", "v2_pf_dpl", "dequantized"}),
        ({"layout": "plane", "tokens": 2}, {"dequantized"}),
        ({"layout": "padded", "id": 288}, {"v1", "dequantized"}),
    ],
)
def test_arms_cover_what_they_can_read(axes, covering):
    asked = case(256) | axes
    arms = ("v1", "v2", "v2_pf", "v2_dpl", "v2_pf_dpl", "dequantized")
    found = {name for name in arms if getattr(coverage, f"covered_by_{name}")(asked) == coverage.units(asked)}
    assert found == covering


@pytest.mark.parametrize(
    ("row_length", "block_units", "covered"),
    [(5120, 256, 160), (16384, 256, 512), (16640, 256, 512), (18944, 256, 512), (2304, 32, 64)],
)
def test_v2_pf_covers_two_tiles_and_no_more(row_length, block_units, covered):
    assert coverage.covered_by_v2_pf({"id": row_length, "block_units": block_units}) == covered


def test_short_rows_stay_on_v2_with_a_reason():
    choice = gate.pick(case(8192))
    assert choice.arm == "v2"
    assert choice.because.startswith("the row fits one tile")


def test_rows_beyond_reach_need_no_reason():
    assert gate.pick(case(16_640)) == Choice("v2")


def test_the_opt_out_sends_every_row_to_v2_and_names_the_variable():
    choices = {gate.pick(case(length, pipelined=False)) for length in LENGTHS}
    assert choices == {Choice("v2", because="GUARDRAIL_Q6K_PIPELINED is off")}


def test_the_domain_is_every_length_in_every_layout_with_and_without_the_opt_out():
    cases = [asked for asked in gate.domain() if asked["threshold"] == 0]
    assert len(cases) == 2 * (2048 + 256 + 256)
    for pipelined in (True, False):
        of_layout = [
            [asked["id"] for asked in cases if (asked["layout"], asked["pipelined"]) == (layout, pipelined)]
            for layout in ("raw", "padded", "plane")
        ]
        assert of_layout == [list(range(32, 65_536 + 1, 32)), list(LENGTHS), list(LENGTHS)]


def test_the_domain_holds_both_sides_of_the_threshold():
    sides = {
        (asked["id"], asked["rows"], gate.pick(asked).arm)
        for asked in gate.domain()
        if asked["threshold"] and asked["tokens"] == 1
    }
    assert sides == {
        (288, 13_888, "dequantized"),
        (288, 13_889, "v1"),
        (2048, 1953, "dequantized"),
        (2048, 1954, "v2"),
        (5120, 781, "dequantized"),
        (5120, 782, "v2_dpl"),
    }


def test_a_model_gives_a_case_for_each_shape_of_its_q6_k_tensors_and_layout():
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
    shapes = [(asked["id"], asked["rows"], asked["layout"]) for asked in gate.model_cases(model)]
    assert shapes == [
        (3584, 512, "padded"),
        (3584, 512, "plane"),
        (3584, 152_064, "padded"),
        (3584, 152_064, "plane"),
        (18_944, 3584, "padded"),
        (18_944, 3584, "plane"),
    ]
    assert {(asked["tokens"], asked["threshold"]) for asked in gate.model_cases(model)} == {(1, 4_000_000)}


@pytest.mark.parametrize(
    ("row_length", "small"), [(256, True), (18_944, True), (20_480, True), (20_736, False)]
)
def test_rows_up_to_20480_are_small_enough_for_the_interpreter(row_length, small):
    assert coverage.interpretable({"id": row_length, "pipelined": True}) is small
