import gc
import logging
from dataclasses import replace

import pytest

from guardrail.kernels.int4_attention import plan
from guardrail.kernels.int4_attention.scratch import Origin, ScratchPool
from guardrail.kernels.int4_attention.scratch_plan import ScratchPlan, layer_of, seed_layout

ENGINE = plan.Engine(max_num_batched_tokens=2048, max_num_seqs=4, seq_threshold=32)


def planned(query_heads: int = 24, sequences: int = 4) -> ScratchPlan:
    """Plan one of the seed's sets for a model of 4 KV heads of size 256."""
    engine = replace(ENGINE, max_num_seqs=sequences)
    return seed_layout(engine, layer_of(query_heads, 4, 256, 132, (9, 0)))


class Builder:
    """A metadata builder, of which only its life matters."""


@pytest.fixture
def made() -> list[tuple[int, str]]:
    """Bytes and device of each allocation."""
    return []


@pytest.fixture
def pool(made: list[tuple[int, str]]) -> ScratchPool[int]:
    def allocate(plan: ScratchPlan, device: object) -> int:
        made.append((plan.bytes, str(device)))
        return len(made)

    return ScratchPool(allocate)


def test_the_layers_of_a_geometry_share_the_set_that_the_first_allocates(pool, made):
    sets = {id(pool.load(planned(), "cuda:0")) for _ in range(16)}
    assert (len(sets), made) == (1, [(64 * 396_288, "cuda:0")])


def test_two_builders_adopt_the_set_of_the_layers(pool, made):
    loaded = pool.load(planned(), "cuda:0")
    builders = [Builder(), Builder()]
    assert [pool.adopt(planned(), "cuda:0", builder) is loaded for builder in builders] == [True, True]
    assert (loaded.adopters, loaded.origin, loaded.profiled, len(made)) == (2, Origin.MODEL_LOAD, True, 1)


def test_a_builder_that_needs_less_adopts_the_larger_set(pool, made):
    loaded = pool.load(planned(sequences=8), "cuda:0")
    builder = Builder()
    assert pool.adopt(planned(sequences=4), "cuda:0", builder) is loaded
    assert (loaded.plan.rows, len(made)) == (128, 1)


def test_a_builder_that_needs_more_replaces_the_set_and_counts_alone(pool):
    loaded = pool.load(planned(sequences=4), "cuda:0")
    first, second, third = Builder(), Builder(), Builder()
    pool.adopt(planned(sequences=4), "cuda:0", first)
    larger = pool.adopt(planned(sequences=8), "cuda:0", second)
    assert larger is not loaded
    assert (larger.adopters, larger.origin, larger.profiled) == (1, Origin.METADATA_BUILDER, False)
    assert pool.adopt(planned(sequences=4), "cuda:0", third) is larger
    assert (loaded.adopters, larger.adopters) == (1, 2)
    assert [each.plan.rows for each in pool.resident()] == [64, 128]


def test_a_replaced_set_is_freed_with_its_last_user(pool):
    loaded = pool.load(planned(sequences=4), "cuda:0")
    builder = Builder()
    pool.adopt(planned(sequences=8), "cuda:0", builder)
    del loaded
    gc.collect()
    assert [each.plan.rows for each in pool.resident()] == [128]


def test_an_exclusive_builder_takes_a_set_of_its_own_where_another_has_the_pooled_one(pool, made):
    loaded = pool.load(planned(), "cuda:0")
    first, second, third = Builder(), Builder(), Builder()
    assert pool.adopt(planned(), "cuda:0", first, exclusive=True) is loaded
    own = pool.adopt(planned(), "cuda:0", second, exclusive=True)
    assert own is not loaded
    assert (own.adopters, own.profiled, len(made)) == (1, False, 2)
    assert pool.adopt(planned(), "cuda:0", third) is loaded


def test_exclusive_builders_constructed_a_second_time_adopt_what_the_first_ones_left(pool, made):
    loaded = pool.load(planned(), "cuda:0")
    for_the_profile = Builder()
    pool.adopt(planned(), "cuda:0", for_the_profile, exclusive=True)
    del for_the_profile
    gc.collect()
    for_service = Builder()
    assert pool.adopt(planned(), "cuda:0", for_service, exclusive=True) is loaded
    assert (loaded.adopters, len(made)) == (1, 1)


@pytest.mark.parametrize(
    ("other", "device"),
    [(planned(query_heads=32), "cuda:0"), (planned(), "cuda:1")],
    ids=["query heads", "device"],
)
def test_another_geometry_or_device_has_a_set_of_its_own(pool, made, other, device):
    first = pool.load(planned(), "cuda:0")
    second = pool.load(other, device)
    assert first is not second
    assert made == [(first.plan.bytes, "cuda:0"), (second.plan.bytes, device)]


def test_another_number_of_segments_is_another_geometry(pool):
    sixteen = planned()
    eight = replace(sixteen, geometry=replace(sixteen.geometry, segments=8))
    assert pool.load(sixteen, "cuda:0") is not pool.load(eight, "cuda:0")


def test_a_reset_pool_allocates_again(pool, made):
    old = pool.load(planned(), "cuda:0")
    pool.reset()
    assert pool.load(planned(), "cuda:0") is not old
    assert len(made) == 2
    assert pool.resident()[0] is old


def test_an_allocation_at_model_load_is_information(pool, caplog):
    caplog.set_level(logging.INFO)
    held = pool.load(planned(), "cuda:0")
    (record,) = caplog.records
    assert (held.buffers, record.levelno) == (1, logging.INFO)
    assert record.getMessage() == (
        "int4 split-KV scratch: 64 query tokens for 24 query heads, 1024 slots of 24768 B, 24.19 MiB, "
        "allocated at model load, inside the memory profile. Sized for at most 2048 batched tokens and "
        "4 sequences of 16 query tokens (threshold 32)."
    )


def test_an_allocation_after_the_profile_is_a_warning_with_its_bytes(pool, caplog):
    caplog.set_level(logging.INFO)
    builder = Builder()
    held = pool.adopt(planned(query_heads=32), "cuda:0", builder)
    (record,) = caplog.records
    assert (held.adopters, record.levelno) == (1, logging.WARNING)
    assert "allocated at metadata builder, after the memory profile" in record.getMessage()
    assert "the KV budget does not know of these 33816576 bytes" in record.getMessage()


def test_an_adoption_says_what_was_derived(pool, caplog):
    held, builder = pool.load(planned(sequences=8), "cuda:0"), Builder()
    caplog.set_level(logging.INFO)
    pool.adopt(planned(), "cuda:0", builder)
    assert [record.getMessage() for record in caplog.records] == [
        "int4 split-KV scratch: a metadata builder adopts the set of 128 query tokens that was allocated at "
        "model load; it derived 64"
    ]
    assert held.adopters == 1
