"""The engine on the tiny model, in the interpreter."""

from dataclasses import replace

import pytest
import torch

from guardrail.adapters.launches import recorded
from guardrail.errors import MeasurementError
from guardrail.families import Choice, Mode
from guardrail.kernels.int4_attention import reference, rotation
from guardrail.kernels.reference_decode import faulty_starts
from guardrail.kernels.reference_decode.engine import DecodeEngine
from guardrail.kernels.reference_decode.geometry import geometry_of
from guardrail.kernels.reference_decode.random_weights import RandomWeights
from guardrail.kernels.reference_decode.start import Assembly, start, start_with_reference_arm
from helpers.float_decoder import logits
from helpers.tiny_decode import OPTIONS, model

pytestmark = pytest.mark.skipif(
    torch.cuda.is_available(), reason="the interpreter is off where there is a GPU"
)

PROMPT = [3, 5]


@pytest.fixture(scope="module")
def engine() -> DecodeEngine:
    return start(model(), OPTIONS, "cpu")


@pytest.fixture(scope="module")
def pair() -> DecodeEngine:
    return start(model(), replace(OPTIONS, sequences=2), "cpu")


def relative(one: torch.Tensor, other: torch.Tensor) -> float:
    return ((one - other).norm() / other.norm()).item()


def through_the_cache(rows: torch.Tensor) -> torch.Tensor:
    # The writer rounds rotated rows to the type that they came in.
    return rotation.rotate_back(reference.round_trip(rotation.rotate(rows.half()).half()))


def test_first_step_logits_are_those_of_a_float64_model(pair: DecodeEngine) -> None:
    first = pair.first_step_logits([[3, 5], [9, 11]], Mode.EAGER)
    weights = RandomWeights(geometry_of(model()), 0, "cpu")
    expected = torch.stack([logits(weights, prompt, through_the_cache) for prompt in ([3, 5], [9, 11])])
    assert relative(first.logits, expected) < 0.01
    assert first.prompts == ((3, 5), (9, 11))
    assert first.tensors["blk.1.kv"].shape == (2, 2, 2, 72)
    assert first.tensors["blk.1.kv"].any(dim=-1).all()


def test_a_lone_sequence_differs_by_what_quantized_activations_change(
    engine: DecodeEngine, pair: DecodeEngine
) -> None:
    # Activations move by half a percent, and a cached value with them, sometimes to the next of 16 levels.
    alone = engine.first_step_logits([PROMPT], Mode.EAGER).logits
    assert 0.001 < relative(alone, pair.first_step_logits([PROMPT, [9, 11]], Mode.EAGER).logits[:1]) < 0.1


@pytest.mark.parametrize(("heads", "kv_heads", "head_size"), [(16, 4, 80), (16, 4, 48), (8, 2, 96)])
def test_heads_of_any_size_reach_the_output_projection(heads: int, kv_heads: int, head_size: int) -> None:
    """Attention leaves groups where a head is whole ones, and halves where it is not."""
    shape = replace(model(), query_heads=heads, kv_heads=kv_heads, head_size=head_size, layers=1)
    found = start(shape, OPTIONS, "cpu").first_step_logits([PROMPT], Mode.EAGER).logits[0]
    expected = logits(RandomWeights(geometry_of(shape), 0, "cpu"), PROMPT, through_the_cache)
    assert relative(found, expected) < 0.05


def test_decoding_goes_on_greedily_and_starts_anew_each_time(engine: DecodeEngine) -> None:
    decoded = engine.decode([[3]], 2, Mode.EAGER)
    first = engine.first_step_logits([[3]], Mode.EAGER).logits[0].argmax().item()
    longer = engine.first_step_logits([[3, first]], Mode.EAGER).logits[0].argmax().item()
    assert decoded.tokens == ((first, longer),)
    assert len(decoded.seconds) == 1


def test_every_matrix_is_served_and_named_with_its_arm(engine: DecodeEngine) -> None:
    engine.first_step_logits([[3]], Mode.EAGER)
    assert {row.tensor: row.arm for row in engine.arms()} == {
        "blk.0.attn_qkv": "mmvq",
        "blk.0.attn_output": "mmvq",
        "blk.0.ffn_gate_up": "mmvq",
        "blk.0.ffn_down": "mmvq",
        "blk.1.attn_qk": "mmvq",
        "blk.1.attn_v": "v2_dpl",
        "blk.1.attn_output": "mmvq",
        "blk.1.ffn_gate_up": "mmvq",
        "blk.1.ffn_down": "v2_dpl",
        "output": "v2_dpl",
    }
    assert not any(row.accidental for row in engine.arms())


def test_a_layer_is_ten_launches_and_eleven_where_values_are_a_matrix_of_their_own(
    engine: DecodeEngine,
) -> None:
    def layer(*queries_keys_values: str, down: str) -> list[str]:
        attention = ["place_heads", "attend_segments", "reduce_segments", "mmvq_q4k"]
        return [*queries_keys_values, *attention, "add_norm", "mmvq_q4k", "silu_product", down]

    with recorded() as launched:
        engine.first_step_logits([[3]], Mode.EAGER)
    assert launched == [
        "embed_tokens",
        "add_norm",
        *layer("mmvq_q4k", down="mmvq_q4k"),
        "add_norm",
        *layer("mmvq_q4k", "mmvq_v2_dpl", down="mmvq_v2_dpl"),
        "add_norm",
        "mmvq_v2_dpl",
        "search_logits",
        "choose_tokens",
    ]


def test_a_step_reads_every_quantized_weight_once(engine: DecodeEngine) -> None:
    four = 144 * (512 + 256 + 384 + 256 + 2 * 4608 + 256 * 9)
    six = 210 * (128 + 256 * 9 + 512)
    assert engine.weight_bytes_per_step == four + six


def test_the_budget_is_what_weights_and_scratch_leave(engine: DecodeEngine) -> None:
    budget = engine.budget
    blocks = 144 * (512 + 256 + 384 + 256 + 2 * 4608 + 256 * 9)
    six = (224 + 224) * (128 + 512) + 256 * (9 * 224 + 1904)
    others = 2 * 512 * 256 + 4 * (5 * 256 + 2 * 512)
    assert budget.available_bytes == 8_000_000 - blocks - six - others - budget.scratch_bytes
    assert budget.bytes_per_token == 2 * 2 * 72
    assert budget.tokens == budget.available_bytes // (288 * 16) * 16
    assert budget.scratch_bytes > 0
    assert budget.scratch_bytes_after_profile == 0


def test_scratch_that_comes_late_is_known_to_have_come_late(engine: DecodeEngine) -> None:
    late = faulty_starts.start_with_late_scratch(model(), OPTIONS, "cpu").budget
    assert late.scratch_bytes_after_profile == late.scratch_bytes == engine.budget.scratch_bytes
    assert late.available_bytes == engine.budget.available_bytes + late.scratch_bytes


def test_sequences_that_do_not_fit_are_refused_with_the_numbers() -> None:
    with pytest.raises(MeasurementError, match="32 tokens need 32 tokens of KV cache, and 0 bytes hold 0"):
        start(model(), replace(OPTIONS, memory_bytes=3_000_000), "cpu")


def test_missing_planes_are_an_accident() -> None:
    engine = faulty_starts.start_without_planes(model(), OPTIONS, "cpu")
    engine.first_step_logits([[3]], Mode.EAGER)
    accidents = {row.tensor: row.arm for row in engine.arms() if row.accidental}
    assert accidents == {"blk.1.attn_v": "v2", "blk.1.ffn_down": "v2", "output": "v2"}


def test_the_reference_arm_differs_by_rounding_and_a_dropped_tail_by_far_more(engine: DecodeEngine) -> None:
    right = engine.first_step_logits([[3]], Mode.EAGER).logits
    v1 = start_with_reference_arm(model(), OPTIONS, "cpu").first_step_logits([[3]], Mode.EAGER).logits
    dropping = Assembly(pick_q6k=lambda case: Choice("v2_pf_dpl" if case["id"] == 2304 else "v2_dpl")).start(
        model(), OPTIONS, "cpu"
    )
    dropped = dropping.first_step_logits([[3]], Mode.EAGER).logits
    assert 0 < (right - v1).abs().max().item() < 1e-4
    assert 0.1 < (dropped - v1).abs().max().item() < 5
    assert right.argmax() == dropped.argmax()


def test_several_sequences_take_the_fallback_on_purpose(pair: DecodeEngine) -> None:
    pair.first_step_logits([[3], [9]], Mode.EAGER)
    assert {(row.arm, row.because, row.accidental) for row in pair.arms()} == {
        ("dequantized", "a matrix-vector product serves one token", False)
    }


def test_a_context_of_random_keys_moves_the_logits(engine: DecodeEngine) -> None:
    empty = engine.decode([[3]], 2, Mode.EAGER)
    filled = engine.decode([[3]], 2, Mode.EAGER, context=4)
    assert len(empty.tokens[0]) == len(filled.tokens[0]) == 2
    stored = engine._step.cache.stored(0, 4)
    assert stored.flatten(2).any(dim=-1).all()
    assert engine._step.buffers.places.positions.item() == 6


@pytest.mark.parametrize(
    ("prompts", "new_tokens", "message"),
    [
        ([[1], [2]], 2, "2 prompts of .1. tokens: the engine was started for 1"),
        ([[]], 2, "of 1 token or more"),
        ([[512]], 2, "outside the vocabulary of 512"),
        ([[1]], 32, "32 new ones are 33; the engine was started for 32"),
    ],
)
def test_what_the_engine_was_not_started_for_is_refused(
    engine: DecodeEngine, prompts: list[list[int]], new_tokens: int, message: str
) -> None:
    with pytest.raises(MeasurementError, match=message):
        engine.decode(prompts, new_tokens, Mode.EAGER)


def test_a_step_cannot_be_captured_on_the_host(engine: DecodeEngine) -> None:
    assert engine.modes == (Mode.EAGER,)
    with pytest.raises(MeasurementError, match="captured in a CUDA graph on a GPU alone"):
        engine.first_step_logits([PROMPT], Mode.CAPTURED)
