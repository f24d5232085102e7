import logging
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace

import pytest

from guardrail.families import EngineOptions, EngineStart, ModelProfile
from guardrail.kernels.int4_attention import engine_mutants, engine_start, knobs
from guardrail.kernels.int4_attention.cache_layout import row_bytes

MIB = 2**20
TARGET = ModelProfile("target", 64, 5120, 24, 4, 256, 248_320, attention_layers=16, drafter="drafter")
DRAFTER = ModelProfile("drafter", 5, 5120, 32, 8, 128, None, scratch_head_size=256)


def options(sequences: int, **changes: object) -> EngineOptions:
    return EngineOptions(
        max_num_seqs=sequences, max_num_batched_tokens=2048, processors=132, capability=(9, 0), **changes
    )


def mib(started: EngineStart) -> str:
    return f"{sum(made.bytes for made in started.allocations) / MIB:.2f}"


@pytest.mark.parametrize(
    ("sequences", "pooled", "separate"),
    [
        (1, "14.11", "28.22"),
        (4, "56.44", "112.88"),
        (8, "112.88", "225.75"),
        (16, "225.75", "451.50"),
        (32, "451.50", "903.00"),
        (64, "451.50", "903.00"),
    ],
)
def test_the_seeds_sets_are_pooled_and_separate_as_measured(
    sequences: int, pooled: str, separate: str
) -> None:
    models = (TARGET, DRAFTER)
    started = engine_start.start_seed(models, options(sequences))
    assert mib(started) == pooled
    assert [made.origin for made in started.allocations] == ["model load"] * 2
    assert all(made.profiled for made in started.allocations)
    apart = engine_mutants.start_seed_with_separate_sets(models, options(sequences))
    assert (mib(apart), len(apart.allocations)) == (separate, 4)
    assert not any(made.profiled for made in apart.allocations)


def test_each_set_names_the_models_that_use_it() -> None:
    started = engine_start.start((TARGET, DRAFTER), options(4))
    assert [made.models for made in started.allocations] == [("target",), ("drafter",)]
    twins = engine_start.start((TARGET, TARGET), options(4))
    assert [made.models for made in twins.allocations] == [("target",)]


@pytest.mark.parametrize("sequences", [1, 8, 32, 64])
def test_our_sets_stay_far_below_the_ceiling(sequences: int) -> None:
    assert mib(engine_start.start((TARGET, DRAFTER), options(sequences))) == "32.22"


@pytest.mark.parametrize("captured", [(), (1, 2, 4, 8), (1, 2, 4, 8, 16, 24, 32, 64, 128)])
@pytest.mark.parametrize("start", [engine_start.start, engine_start.start_seed])
def test_every_admissible_batch_takes_the_split_kv_arm(
    start: Callable[..., EngineStart], captured: tuple[int, ...]
) -> None:
    started = start((TARGET, DRAFTER), options(8, capture_sizes=captured))
    # For each of two builders of two models, 8 numbers of sequences and 16 of query tokens.
    assert (started.batches, started.eligible_2d) == (2 * 2 * 8 * 16, 0)


def test_batches_that_the_scheduler_cannot_build_are_not_asked_about() -> None:
    engine = replace(options(4), max_num_batched_tokens=8)
    # One to four sequences, of which the longest leaves a token for each other: 8 + 7 + 6 + 5.
    assert engine_start.start((TARGET,), engine).batches == 2 * 26


def test_builders_are_constructed_for_the_profile_and_for_service(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    engine_start.start((TARGET, DRAFTER), options(4))
    lines = [record.getMessage() for record in caplog.records]
    assert (sum("allocated at model load, inside" in line for line in lines), len(lines)) == (2, 10)
    assert sum("a metadata builder adopts" in line for line in lines) == 2 * 2 * 2


@pytest.mark.parametrize("prefix", ["start", "start_seed"])
def test_a_pool_keyed_by_the_layers_geometry_is_never_adopted_by_the_drafters_builder(prefix: str) -> None:
    mutant = getattr(engine_mutants, f"{prefix}_with_layer_geometry")
    started = mutant((TARGET, DRAFTER), options(4))
    assert [(made.models, made.profiled) for made in started.allocations] == [
        (("target",), True),
        (("drafter",), True),
        (("drafter",), False),
    ]


def test_the_layers_geometry_leaves_the_seeds_32_mib_outside_the_budget() -> None:
    started = engine_mutants.start_seed_with_layer_geometry((TARGET, DRAFTER), options(4))
    assert f"{started.allocations[2].bytes / MIB:.2f}" == "32.25"


def test_rows_in_sequences_send_admitted_batches_to_the_2d_arm() -> None:
    started = engine_mutants.start_with_sequence_rows((TARGET, DRAFTER), options(1))
    # With one row, every batch of 2 to 16 query tokens, for each of four builders.
    assert (started.batches, started.eligible_2d) == (64, 60)


def test_segments_that_never_fall_exceed_the_ceiling() -> None:
    assert mib(engine_mutants.start_with_most_segments((TARGET, DRAFTER), options(32))) == "1862.44"


def test_a_cached_token_takes_the_bytes_of_the_cache_format() -> None:
    assert engine_start.token_bytes(TARGET) == 16 * 4 * row_bytes(256) == 16_896
    assert engine_start.token_bytes(DRAFTER) == 5 * 8 * row_bytes(128) == 5_440
    assert engine_start.token_bytes(ModelProfile("m", None, None, 8, 8, 128, None)) is None


@pytest.mark.parametrize(
    ("sequences", "depth", "sentence"),
    [
        (4, 7, "is 32 query tokens and takes the split-KV arm."),
        (1, 16, "is 17 query tokens and takes the 2D arm (max_query_len_policy>16)."),
        (64, 7, "is 512 query tokens and takes the 2D arm (num_seqs_threshold_failed)."),
    ],
)
def test_a_note_says_which_arm_a_full_verify_step_takes(sequences: int, depth: int, sentence: str) -> None:
    (note,) = engine_start.notes((TARGET, DRAFTER), options(sequences, draft_depth=depth))
    assert note == f"A verify step of {sequences} sequences with {depth + 1} query tokens each {sentence}"


def test_a_note_names_a_model_that_the_kernels_refuse() -> None:
    wide = ModelProfile("wide", 1, None, 8, 8, 512, None)
    (note,) = engine_start.notes((wide,), options(1))
    assert note.startswith("The int4 kernels refuse wide: ")


def test_a_switched_off_flag_is_no_missed_batch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(knobs.MULTI_QUERY, "0")
    assert engine_mutants.start_with_sequence_rows((TARGET,), options(1)).eligible_2d == 0


def test_an_engine_s_start_imports_no_device_library() -> None:
    module = "guardrail.kernels.int4_attention.engine_start"
    program = f"import sys, {module}; print(sorted({{'torch', 'triton'}} & set(sys.modules)))"
    found = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert found.stdout == "[]\n"
