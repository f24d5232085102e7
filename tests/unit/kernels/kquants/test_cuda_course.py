import pytest
import torch

from guardrail.kernels.kquants import cuda_operands
from guardrail.kernels.kquants.cuda_course import Course, Product, one_round_course
from guardrail.kernels.kquants.residual_stream import ResidualStream, UnnormalizedGroups
from guardrail.kernels.q4k import cuda_matvec as q4k_cuda
from guardrail.kernels.q4k import served
from guardrail.kernels.q6k import cuda_matvec, geometry
from guardrail.kernels.q6k.coverage import covered_by_v2_pf

ONE_WARP = Course(threads=256, lanes_per_row=32, tasks_per_lane=3, blocks_per_sm=2)
FOUR_WARPS = Course(threads=512, lanes_per_row=128, tasks_per_lane=2, blocks_per_sm=1)


def test_a_grid_fills_every_sm_once_and_small_matrices_take_less() -> None:
    assert ONE_WARP.grid(rows=152_064, processors=132) == 264
    assert ONE_WARP.grid(rows=1_024, processors=132) == 128
    assert ONE_WARP.grid(rows=1, processors=132) == 1


def test_a_team_of_several_warps_computes_no_more_rows_than_its_sums_have_room() -> None:
    assert FOUR_WARPS.grid(rows=5_120, processors=132) == 132
    assert FOUR_WARPS.grid(rows=152_064, processors=132) == 594


def test_a_block_holds_88_bytes_a_task_and_the_sums_of_its_rows() -> None:
    assert ONE_WARP.shared_bytes(rows=152_064, tasks=80, grid=264) == 7_040
    # 5,120 rows over 132 blocks of 4 teams are 10 rounds of 16 warps.
    assert FOUR_WARPS.shared_bytes(rows=5_120, tasks=216, grid=132) == 216 * 88 + 4 * 10 * 16


def test_a_block_that_adds_to_a_residual_stream_computes_one_group_of_rows() -> None:
    course = Course(threads=512, lanes_per_row=16, tasks_per_lane=4, blocks_per_sm=1)
    assert course.grid_of_groups(rows=3_584) == 112
    assert course.shared_bytes(rows=3_584, tasks=56, grid=112, keeps_sums=True) == 56 * 88 + 4 * 32
    assert FOUR_WARPS.shared_bytes(rows=3_584, tasks=56, grid=112, keeps_sums=True) == 56 * 88 + 4 * 32 * 4


@pytest.mark.parametrize(("rows", "threads"), [(48, 512), (64, 384)])
def test_rows_that_do_not_make_whole_groups_are_refused(rows: int, threads: int) -> None:
    course = Course(threads, lanes_per_row=16, tasks_per_lane=4, blocks_per_sm=1)
    with pytest.raises(ValueError, match="a block computes 32 rows in whole rounds"):
        course.grid_of_groups(rows)


@pytest.mark.parametrize(("rows", "lanes", "threads"), [(4_608, 16, 576), (4_096, 16, 512), (512, 64, 256)])
def test_a_small_matrix_is_one_round_of_the_sms_of_an_h200(rows: int, lanes: int, threads: int) -> None:
    course = one_round_course(rows, lanes_per_row=lanes, tasks_per_lane=2)
    assert course == Course(threads, lanes, tasks_per_lane=2, blocks_per_sm=1)
    assert course.grid(rows, processors=132) == 128


def test_a_vector_of_the_longest_declared_row_fits_the_shared_memory_of_every_device() -> None:
    course = cuda_matvec.pick_course(1, geometry.LONGEST_ROW // 32)
    for rows in (1, 1_024, 152_064):
        grid = course.grid(rows, processors=132)
        assert course.shared_bytes(rows, geometry.LONGEST_ROW // 64, grid) <= 99 * 1024


@pytest.mark.parametrize(("tasks", "loads"), [(216, 2), (256, 2), (128, 1), (1, 1)])
def test_a_row_that_is_loaded_whole_takes_as_many_loads_as_it_has_tasks(tasks: int, loads: int) -> None:
    assert FOUR_WARPS.upfront(tasks).tasks_per_lane == loads


@pytest.mark.parametrize("block_units", [32, 128, 256])
def test_the_pipelined_arms_are_compiled_with_the_coverage_that_the_gate_reads(block_units: int) -> None:
    product = cuda_matvec.product("v2_pf", units=2_048, block_units=block_units)
    covered = covered_by_v2_pf({"id": geometry.LONGEST_ROW, "block_units": block_units})
    assert dict(product.macros)["PIPELINED_TASKS"] == covered // 2 == block_units


def test_a_row_has_the_bytes_of_its_layout() -> None:
    assert cuda_matvec.product("v2", units=160).row_bytes == 20 * 224
    assert cuda_matvec.product("v2_dpl", units=160).row_bytes == 4_208
    assert q4k_cuda.product(groups=160).row_bytes == 20 * 144


def test_an_unknown_arm_is_refused_by_name() -> None:
    with pytest.raises(ValueError, match=r"arm 'v3': the q6_K product in CUDA C\+\+ has v2, v2_pf, v2_dpl"):
        cuda_matvec.product("v3", units=160)
    with pytest.raises(ValueError, match=r"arm 'v2': the q4_K product in CUDA C\+\+ has mmvq"):
        q4k_cuda.launch("v2", torch.empty(0), torch.empty(0), torch.empty(0))


@pytest.mark.parametrize("wrong", ["residual", "norm_weight", "groups", "squares"])
def test_a_residual_stream_whose_tensors_do_not_fit_is_refused(wrong: str) -> None:
    residual = torch.zeros(64, dtype=torch.float64 if wrong == "residual" else torch.float32)
    norm_weight = torch.zeros(32 if wrong == "norm_weight" else 64)
    groups = torch.zeros(2, 40 if wrong == "groups" else 36, dtype=torch.uint8)
    squares = torch.zeros(64)[::32] if wrong == "squares" else torch.zeros(2)
    stream = ResidualStream(residual, norm_weight, UnnormalizedGroups(groups, squares, 1e-6))
    with pytest.raises(ValueError, match=rf"{wrong}: .* expected"):
        cuda_operands.written(stream)


def test_an_arm_in_triton_refuses_what_the_norms_are_left_in() -> None:
    normed, vector = UnnormalizedGroups.empty(256, 1e-6, "cpu"), torch.zeros(4)
    raw = torch.zeros(4, 1, 144, dtype=torch.uint8)
    with pytest.raises(ValueError, match="arm mmvq in Triton reads q8 groups and writes a vector"):
        served.launch("mmvq", raw, normed, vector)


@pytest.mark.parametrize("wrong", ["weights", "activations", "output", "units"])
def test_tensors_that_a_kernel_would_read_beyond_are_refused(wrong: str) -> None:
    product: Product = cuda_matvec.product("v2", units=16)
    weights = torch.zeros(4, 2, 210 if wrong == "weights" else 224, dtype=torch.uint8)
    groups = torch.zeros(16, 39 if wrong == "activations" else 40, dtype=torch.uint8)
    output = torch.zeros(4, dtype=torch.float64 if wrong == "output" else torch.float32)
    if wrong == "units":
        groups = torch.zeros(12, 40, dtype=torch.uint8)
    message = "12 units are no whole number of blocks" if wrong == "units" else rf"{wrong}: .* expected"
    with pytest.raises(ValueError, match=message):
        product.launch(ONE_WARP, weights, groups, output)
