import pytest
import torch

from guardrail.kernels.int4_attention import launch, plan, scratch_tensors, trials
from guardrail.kernels.int4_attention.scratch_plan import layer_of, seed_layout

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
PLAN = seed_layout(plan.Engine(2048, 1, 32), layer_of(24, 4, 256, 132, (9, 0)))


def test_the_allocated_tensors_have_the_planned_bytes() -> None:
    made = scratch_tensors.allocate(PLAN, DEVICE)
    tensors = (made.partials, made.maxima, made.exp_sums)
    assert sum(tensor.nbytes for tensor in tensors) == PLAN.bytes == 16 * 396_288
    assert {tensor.dtype for tensor in tensors} == {torch.float32}


def test_a_batch_of_few_rows_has_more_segments_in_the_same_memory() -> None:
    made = scratch_tensors.allocate(PLAN, DEVICE)
    view = made.view(kv_heads=4, group=6, head_size=256, rows=4, segments=PLAN.most_segments(4))
    assert view.partials.shape == (4, 4, 6, 64, 256)
    assert view.maxima.shape == view.exp_sums.shape == (4, 4, 6, 64)
    assert view.partials.is_contiguous()
    assert view.partials.data_ptr() == made.partials.data_ptr()


def test_a_drafter_of_smaller_heads_fits_the_set_of_its_target_s_head_size() -> None:
    view = scratch_tensors.allocate(PLAN, DEVICE).view(8, 3, 128, 16, 16)
    assert view.partials.shape == (8, 16, 3, 16, 128)


def test_a_batch_that_does_not_fit_is_refused() -> None:
    made = scratch_tensors.allocate(PLAN, DEVICE)
    with pytest.raises(ValueError, match="17 query tokens of 16 segments do not fit: expected at most 256"):
        made.view(4, 6, 256, rows=17, segments=16)
    with pytest.raises(ValueError, match="a head size up to 256"):
        made.view(4, 6, 512, rows=16, segments=16)


@pytest.mark.parametrize("segments", [1, 3, 8])
def test_the_kernels_run_in_the_planned_memory(segments: int) -> None:
    case = {"kv_heads": 4, "captured": True, "query_len": 4, "sequences": 1, "context": 200}
    trial = trials.RandomAttention(case, 0, DEVICE)
    engine = plan.Engine(2048, 1, 32)
    layer = layer_of(trials.KV_HEADS * trials.GROUP, trials.KV_HEADS, trials.HEAD_SIZE, 132, (9, 0))
    made = scratch_tensors.allocate(seed_layout(engine, layer), DEVICE)
    for tensor in (made.partials, made.maxima, made.exp_sums, trial.output):
        tensor.fill_(torch.nan)
    view = made.view(trials.KV_HEADS, trials.GROUP, trials.HEAD_SIZE, rows=4, segments=segments)
    launch.run_3d(trial.batch, trial.output, view, trial.shape)
    (expected,) = trial.reference()
    difference = (trial.outputs[0].double() - expected[:4]).norm() / expected[:4].norm()
    assert difference < 1e-3
    assert view.maxima.isnan().any() == (segments == 8)  # 204 keys are 7 tiles of 32


def test_the_pool_of_the_process_hands_out_tensors() -> None:
    scratch_tensors.POOL.reset()
    held = scratch_tensors.POOL.load(PLAN, DEVICE)
    assert held.buffers.maxima.numel() == 256 * 24
    scratch_tensors.POOL.reset()
