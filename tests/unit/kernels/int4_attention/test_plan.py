import itertools
from collections.abc import Callable
from dataclasses import replace

import pytest

from guardrail.families.interface import Case
from guardrail.families.models import ModelProfile
from guardrail.kernels.int4_attention import mutants, plan, plan_cases
from guardrail.kernels.int4_attention.dispatch import Call, decide

TARGET = ModelProfile("target", 64, 5120, query_heads=24, kv_heads=4, head_size=256, vocabulary=248320)


@pytest.mark.parametrize(("kv_heads", "threshold"), [(4, 32), (8, 16), (1, 128)])
def test_the_threshold_is_128_programs(kv_heads: int, threshold: int) -> None:
    assert plan.seq_threshold(kv_heads) == threshold


@pytest.mark.parametrize(
    ("sizes", "threshold"),
    [((), 32), ((1, 2, 4, 8), 8), ((24, 40), 24), ((40, 24), 40), ((1, 2, 4, 8, 24), 24)],
)
def test_the_threshold_snaps_to_the_nearest_capture_size(sizes: tuple[int, ...], threshold: int) -> None:
    assert plan.effective_threshold(plan.Engine(2048, 64, 32, capture_sizes=sizes)) == threshold


@pytest.mark.parametrize(
    ("engine", "rows"),
    [
        (plan.Engine(2048, 1, 32), 16),
        (plan.Engine(2048, 8, 32), 128),
        (plan.Engine(2048, 256, 32), 512),
        (plan.Engine(64, 256, 32), 64),
        (plan.Engine(8192, 2, 32), 32),
        (plan.Engine(2048, 1, 32, capture_sizes=(1, 2, 4, 8)), 16),
        (plan.Engine(2048, 64, 32, capture_sizes=(1, 2, 4, 8)), 128),
        (plan.Engine(2048, 1, 32, capture_sizes=(1, 2, 4, 8, 24)), 24),
    ],
)
def test_capacity_is_in_padded_query_tokens(engine: plan.Engine, rows: int) -> None:
    assert plan.capacity(engine) == rows


def test_a_row_has_the_model_head_size_and_the_layer_heads() -> None:
    assert plan.row_bytes(24, 256) == 396_288
    assert plan.row_bytes(32, 256) == 528_384
    assert plan.row_bytes(24, 96) == plan.row_bytes(24, 128)
    assert plan_cases.row_bytes(TARGET) == 396_288
    assert mutants.row_bytes_without_sums(TARGET) == 393_216
    drafter = replace(TARGET, query_heads=32, kv_heads=8, head_size=128, scratch_head_size=256)
    assert plan_cases.row_bytes(drafter) == 528_384


def test_the_examined_configurations_are_the_declared_grid() -> None:
    configurations = list(plan_cases.configurations())
    assert sum(not configuration["capture_sizes"] for configuration in configurations) == 4032
    assert len(configurations) == 5568


def violations(capacity: Callable[[Case], int]) -> tuple[int, int]:
    """Count the batches that need more rows than a plan gives, and the batches."""
    failed = batches = 0
    for configuration in plan_cases.configurations():
        rows = capacity(configuration)
        for _, needed in plan_cases.demands(configuration):
            batches += 1
            failed += needed > rows
    return failed, batches


def test_every_admissible_batch_fits_the_plan() -> None:
    failed, batches = violations(plan_cases.capacity)
    assert failed == 0
    assert batches > 150_000


@pytest.mark.parametrize(
    ("mutant", "least"),
    [(mutants.sequence_rows, 50_000), (mutants.snapped_rows, 50_000), (mutants.unpadded_rows, 500)],
)
def test_plans_in_the_wrong_unit_are_caught(mutant: Callable[[Case], int], least: int) -> None:
    failed, _ = violations(mutant)
    assert failed >= least


def test_the_dispatch_rule_takes_every_demand_to_3d() -> None:
    for configuration in itertools.islice(plan_cases.configurations(), 0, None, 37):
        engine, rows = plan_cases.engine_of(configuration), plan_cases.capacity(configuration)
        for batch, needed in plan_cases.demands(configuration):
            call = Call(
                max_query_len=max(batch),
                sequences=len(batch),
                tokens=needed,
                seq_threshold=plan.effective_threshold(engine),
                segments=plan.SEGMENTS,
                scratch_rows=(rows, rows, rows),
                declared_capacity=rows,
                query_len_cap=engine.max_query_len,
            )
            assert decide(call).reasons == ()


HOPPER = plan.Layer(kv_heads=4, query_heads=24, head_size=256, processors=132, capability=(9, 0))


@pytest.mark.parametrize(
    ("sequences", "query_len", "longest", "segments"),
    [
        (1, 1, 90_112, 66),
        (1, 8, 90_112, 66),
        (1, 16, 90_112, 33),
        (8, 8, 24_576, 8),
        (32, 16, 90_112, 1),
        (1, 8, 640, 10),
        (1, 8, 0, 1),
    ],
)
def test_segments_fill_the_device_once(sequences: int, query_len: int, longest: int, segments: int) -> None:
    rows = sequences * query_len
    assert plan.segments(HOPPER, sequences, query_len, rows, longest) == segments


def test_rows_times_segments_stay_below_the_seeds_scratch() -> None:
    large = replace(HOPPER, processors=100_000)
    assert plan.segments(large, 32, 16, 512, 10**6) == 16
    assert plan.segments(large, 1, 16, 16, 10**6) == 512
    ceiling = 512 * (plan.row_bytes(24, 256) + plan.row_bytes(32, 256))
    slots = plan.scratch_slots(plan.Engine(8192, 64, 32), large, 10**6)
    assert slots * (plan.slot_bytes(24, 256) + plan.slot_bytes(32, 256)) <= ceiling
    assert f"{ceiling / 2**20:.2f}" == "451.50"


def test_the_scratch_holds_the_split_of_every_admissible_batch() -> None:
    engine = plan.Engine(64, 8, 32, capture_sizes=(1, 2, 4, 8, 16, 24, 32, 64))
    slots = plan.scratch_slots(engine, HOPPER, 90_112)
    needed = [
        plan.padded_tokens(tokens, engine.capture_sizes)
        * plan.segments(HOPPER, sequences, longest, plan.padded_tokens(tokens, engine.capture_sizes), keys)
        for sequences in range(1, 9)
        for longest in range(1, 17)
        for tokens in range(sequences + longest - 1, min(64, sequences * longest) + 1)
        for keys in (500, 6_747, 90_112)
    ]
    assert max(needed) == slots
    assert slots == 66 * 16  # one sequence of 9 or 10 tokens, padded to 16
