from dataclasses import replace

import pytest

from guardrail.kernels.int4_attention import plan
from guardrail.kernels.int4_attention.scratch_plan import (
    Geometry,
    guardrail_layout,
    layer_of,
    seed_layout,
)

MIB = 2**20
TARGET = layer_of(24, 4, 256, 132, (9, 0))
DRAFTER = layer_of(32, 4, 256, 132, (9, 0))


def engine(sequences: int, **changes: object) -> plan.Engine:
    return plan.Engine(max_num_batched_tokens=2048, max_num_seqs=sequences, seq_threshold=32, **changes)


@pytest.mark.parametrize(
    ("sequences", "target", "drafter"),
    [
        (1, "6.05", "8.06"),
        (4, "24.19", "32.25"),
        (8, "48.38", "64.50"),
        (16, "96.75", "129.00"),
        (32, "193.50", "258.00"),
        (64, "193.50", "258.00"),
    ],
)
def test_the_seeds_sets_have_the_seeds_sizes(sequences: int, target: str, drafter: str) -> None:
    sizes = [seed_layout(engine(sequences), layer).bytes / MIB for layer in (TARGET, DRAFTER)]
    assert [f"{size:.2f}" for size in sizes] == [target, drafter]


@pytest.mark.parametrize("processors", [1, 48, 82, 132, 170, 10_000])
@pytest.mark.parametrize("capability", [(8, 6), (9, 0), (12, 0)])
def test_no_set_of_ours_is_above_the_seeds_largest(processors: int, capability: tuple[int, int]) -> None:
    for heads in (24, 32):
        layer = layer_of(heads, 4, 256, processors, capability)
        largest = seed_layout(engine(32), layer).bytes
        sizes = [guardrail_layout(engine(sequences), layer).bytes for sequences in (1, 8, 32, 256)]
        assert max(sizes) <= largest


def test_our_set_is_sized_by_the_batch_that_needs_most() -> None:
    planned = guardrail_layout(engine(1), TARGET)
    # 10 query tokens of 6 heads are the most that one program of 64 rows takes: 66 segments each.
    assert (planned.rows, planned.slots, planned.geometry.segments) == (16, 660, 66)
    assert planned.slot_bytes == 24 * (256 + 2) * 4
    assert planned.most_segments(10) == 66
    assert planned.most_segments(16) == 41


def test_rows_are_padded_as_captured_graphs_pad_them() -> None:
    assert seed_layout(engine(1, capture_sizes=(1, 2, 4, 8, 24)), TARGET).rows == 24


def test_the_head_size_of_a_set_is_padded() -> None:
    assert seed_layout(engine(1), replace(TARGET, head_size=96)).geometry == Geometry(24, 128, 16)


def test_a_drafter_with_fewer_heads_than_its_target_has_kv_heads_is_planned() -> None:
    assert guardrail_layout(engine(1), layer_of(2, 8, 128, 132, (9, 0))).slots == 16 * 33


@pytest.mark.parametrize(
    ("changes", "holds"),
    [
        ({}, True),
        ({"rows": 65}, False),
        ({"slots": 1025}, False),
        ({"rows": 16, "slots": 256}, True),
        ({"geometry": Geometry(32, 256, 16)}, False),
    ],
)
def test_a_set_holds_what_is_no_larger_and_of_its_geometry(changes: dict[str, object], holds: bool) -> None:
    held = seed_layout(engine(4), TARGET)
    assert held.holds(replace(held, **changes)) is holds
