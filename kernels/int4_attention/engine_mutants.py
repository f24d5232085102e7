"""Engine starts, each with one deliberate defect."""

from dataclasses import replace

from guardrail.families.engine import EngineOptions, EngineStart
from guardrail.kernels.int4_attention import plan
from guardrail.kernels.int4_attention.engine_start import Models, Replay
from guardrail.kernels.int4_attention.scratch_plan import (
    Layout,
    ScratchPlan,
    guardrail_layout,
    seed_layout,
)


def start_with_layer_geometry(models: Models, options: EngineOptions) -> EngineStart:
    """Key the pool by the layer's own geometry, which the drafter's builder can never adopt."""
    return Replay(guardrail_layout, layer_geometry=True).start(models, options)


def start_seed_with_layer_geometry(models: Models, options: EngineOptions) -> EngineStart:
    """Key the pool by the layer's own geometry, which the drafter's builder can never adopt."""
    return Replay(seed_layout, layer_geometry=True).start(models, options)


def start_with_separate_sets(models: Models, options: EngineOptions) -> EngineStart:
    """Allocate a set for each metadata builder, none while the model is loaded."""
    return Replay(guardrail_layout, loads=False, exclusive=True).start(models, options)


def start_seed_with_separate_sets(models: Models, options: EngineOptions) -> EngineStart:
    """Allocate a set for each metadata builder, none while the model is loaded."""
    return Replay(seed_layout, loads=False, exclusive=True).start(models, options)


def start_with_sequence_rows(models: Models, options: EngineOptions) -> EngineStart:
    """Allocate a row for each sequence."""
    return Replay(_rows_in_sequences(guardrail_layout)).start(models, options)


def start_seed_with_sequence_rows(models: Models, options: EngineOptions) -> EngineStart:
    """Allocate a row for each sequence."""
    return Replay(_rows_in_sequences(seed_layout)).start(models, options)


def start_with_most_segments(models: Models, options: EngineOptions) -> EngineStart:
    """Allocate as many segments for every row as a lone token's sequence has."""
    return Replay(_most_segments).start(models, options)


def _rows_in_sequences(layout: Layout) -> Layout:
    def planned(engine: plan.Engine, layer: plan.Layer) -> ScratchPlan:
        right = layout(engine, layer)
        rows = min(engine.max_num_seqs, plan.effective_threshold(engine))
        return replace(right, rows=rows, slots=rows * right.geometry.segments)

    return planned


def _most_segments(engine: plan.Engine, layer: plan.Layer) -> ScratchPlan:
    right = guardrail_layout(engine, layer)
    return replace(right, slots=right.rows * right.geometry.segments)
