import pytest
import torch

from guardrail.adapters.trials import compare
from guardrail.families import Work
from guardrail.kernels.int4_attention import work
from guardrail.kernels.int4_attention.manifest import FAMILY
from guardrail.kernels.int4_attention.served_trials import ServedAttention, SlowerServedAttention
from guardrail.kernels.int4_attention.write_trials import ServedWrite, SlowerServedWrite

ATTENTION = FAMILY.subjects()["served_attention"]
WRITE = FAMILY.subjects()["served_write"]
SMALL = {"query_heads": 6, "kv_heads": 1, "head_size": 64, "sequences": 2, "query_len": 2, "context": 300}


@pytest.mark.parametrize("operation", [ATTENTION, ATTENTION.controls[0].mutant], ids=["shipped", "slower"])
def test_both_arms_are_right_on_a_small_served_case_and_on_its_slower_twin(operation):
    found = compare(operation, ATTENTION.cases[0], ["3d", "2d"], seed=3)
    for arm, launched in (("3d", ["attend_segments", "reduce_segments"]), ("2d", ["attend"])):
        assert found[arm]["launched"] == launched
        assert found[arm]["unwritten"] == 0
        assert found[arm]["relative_error"] < 1e-3


@pytest.mark.parametrize("operation", [WRITE, WRITE.controls[0].mutant], ids=["shipped", "slower"])
def test_a_served_write_launches_the_kernel_alone_and_reads_back_right(operation):
    found = compare(operation, WRITE.cases[0], ["write"], seed=3)["write"]
    assert found["launched"] == ["write_cache"]
    assert found["relative_error"] < 3e-6


def test_the_slower_attention_sees_five_percent_more_keys_behind_the_same_outputs():
    shipped, slower = ServedAttention(SMALL, 0, "cpu"), SlowerServedAttention(SMALL, 0, "cpu")
    assert shipped.batch.seq_lens.tolist() == [300, 300]
    assert slower.batch.seq_lens.tolist() == [300, 300, 30]
    assert shipped.outputs[0].shape == slower.outputs[0].shape == (4, 6, 64)


def test_the_slower_write_writes_five_percent_of_the_rows_again():
    case = {"blocks": 10, "kv_heads": 1, "head_size": 64}
    shipped, slower = ServedWrite(case, 0, "cpu"), SlowerServedWrite(case, 0, "cpu")
    assert (len(shipped.slots), len(slower.slots)) == (163, 171)
    assert torch.equal(slower.slots[163:], shipped.slots[:8])


def test_the_work_of_attention_is_every_cached_row_once_and_queries_and_outputs():
    found = work.attention(SMALL, "3d")
    cached, ends = 2 * 300 * 1 * 72, 2 * 2 * (2 * 2 * 6 * 64)
    assert found == Work(cached + ends, cached + ends, 4 * (2 * 2 * 6 * 64) * 300)


def test_the_work_of_a_write_is_its_inputs_slots_and_rows():
    found = work.cache_write({"blocks": 10, "kv_heads": 4, "head_size": 64}, "write")
    moved = 640 * (2 * 2 * 64 + 72) + 160 * 8
    assert found == Work(moved, moved, 4 * 640 * 64)
