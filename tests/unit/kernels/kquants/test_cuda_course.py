import pytest
import torch

from guardrail.kernels.kquants.cuda_course import Course, Product
from guardrail.kernels.q4k import cuda_matvec as q4k_cuda
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
