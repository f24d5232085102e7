"""The decode engine on a GPU: captured against eager, the tiny model against the interpreter's reference."""

from collections.abc import Iterator
from dataclasses import replace

import pytest
import torch

from guardrail.adapters.launches import recorded
from guardrail.families import DecodeOptions, Engine, Mode
from guardrail.kernels.kquants.matrix import QuantizedMatrix
from guardrail.kernels.reference_decode import faulty_starts
from guardrail.kernels.reference_decode.engine import DecodeEngine
from guardrail.kernels.reference_decode.start import start, start_with_reference_arm
from guardrail.probes.references import resolve
from helpers.tiny_decode import OPTIONS, model

pytestmark = pytest.mark.gpu

PROMPT = [3, 5, 7]


def seven_billion(context: int = 256, **changes: object) -> DecodeOptions:
    return replace(DecodeOptions(context=context), **changes)


@pytest.fixture(scope="module")
def engine() -> Iterator[DecodeEngine]:
    yield start(model("qwen2.5-7b"), seven_billion(4096), "cuda")
    torch.cuda.empty_cache()


def bits(engine: DecodeEngine, mode: Mode) -> torch.Tensor:
    return engine.first_step_logits([PROMPT], mode).logits.view(torch.int32)


@pytest.mark.parametrize("name", ["tiny-decode", "qwen2.5-7b"])
def test_a_captured_step_gives_the_bits_of_an_eager_one(name: str) -> None:
    options = OPTIONS if name == "tiny-decode" else seven_billion()
    engine = start(model(name), replace(options, memory_bytes=None), "cuda")
    assert torch.equal(bits(engine, Mode.EAGER), bits(engine, Mode.CAPTURED))
    eager, captured = (engine.decode([PROMPT], 16, mode).tokens for mode in (Mode.EAGER, Mode.CAPTURED))
    assert eager == captured


def test_a_frozen_capture_is_seen(engine: DecodeEngine) -> None:
    frozen = faulty_starts.start_with_frozen_capture(model(), replace(OPTIONS, memory_bytes=None), "cuda")
    assert not torch.equal(bits(frozen, Mode.EAGER), bits(frozen, Mode.CAPTURED))


def test_logits_of_7b_are_finite_and_of_their_gain(engine: DecodeEngine) -> None:
    logits = engine.first_step_logits([PROMPT], Mode.CAPTURED).logits
    assert logits.isfinite().all()
    assert 1.0 < logits.std().item() < 4.0


def test_the_first_token_is_that_of_torchs_argmax_over_the_vocabulary(engine: DecodeEngine) -> None:
    logits = engine.first_step_logits([PROMPT], Mode.EAGER).logits
    for mode in (Mode.EAGER, Mode.CAPTURED):
        assert engine.decode([PROMPT], 1, mode).tokens == ((logits[0].argmax().item(),),)


def test_7b_takes_the_arms_of_its_shapes(engine: DecodeEngine) -> None:
    engine.first_step_logits([PROMPT], Mode.EAGER)
    arms = {row.tensor: row.arm for row in engine.arms()}
    assert arms["blk.0.ffn_down"] == "v2_dpl"
    assert arms["blk.0.attn_v"] == "dequantized"
    assert arms["blk.3.attn_qkv"] == arms["blk.3.ffn_down"] == "mmvq"
    assert arms["output"] == "v2_dpl"
    assert not any(row.accidental for row in engine.arms())


def test_the_reference_arm_differs_by_rounding_and_a_dropped_tail_by_far_more() -> None:
    small, prompt = seven_billion(), [PROMPT]
    logits = []
    for begin in (start, start_with_reference_arm):
        logits.append(begin(model("qwen2.5-7b"), small, "cuda").first_step_logits(prompt, Mode.EAGER).logits)
        torch.cuda.empty_cache()
    from guardrail.kernels.q6k.faulty_gates import pick_without_upper_bound
    from guardrail.kernels.reference_decode.start import Assembly

    planted = Assembly(pick_q6k=pick_without_upper_bound).start(model("qwen2.5-7b"), small, "cuda")
    dropped = planted.first_step_logits(prompt, Mode.EAGER).logits
    rounding = (logits[0] - logits[1]).abs().max().item()
    assert rounding > 0
    assert (dropped - logits[1]).abs().max().item() > 4 * rounding


def test_products_norm_the_residual_stream_of_a_lone_sequence_and_of_no_other() -> None:
    norms = []
    for prompts in ([PROMPT], [PROMPT, PROMPT]):
        options = replace(OPTIONS, memory_bytes=None, sequences=len(prompts))
        engine = start(model(), options, "cuda")
        with recorded() as launched:
            engine.first_step_logits(prompts, Mode.EAGER)
        steps = launched.count("embed_tokens")
        norms.append(launched.count("add_norm") / steps)
    assert norms == [1, 5]


def test_a_norm_in_the_products_gives_logits_near_those_of_one_between_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    within = start(model("qwen2.5-7b"), seven_billion(matvec_threshold=0), "cuda")
    logits = [within.first_step_logits([PROMPT], Mode.EAGER).logits]
    monkeypatch.setattr(QuantizedMatrix, "adds_in_place", False)
    logits.append(within.first_step_logits([PROMPT], Mode.EAGER).logits)
    assert 0 < (logits[0] - logits[1]).norm() < 0.1 * logits[1].norm()


@pytest.mark.parametrize("context", [0, 1641, 3254])
def test_a_long_context_is_filled_and_decoded(engine: DecodeEngine, context: int) -> None:
    decoded = engine.decode([PROMPT], 32, Mode.CAPTURED, context)
    assert len(decoded.tokens[0]) == 32
    assert all(0 < seconds < 0.1 for seconds in decoded.seconds)


def test_the_manifest_names_engines_that_start() -> None:
    from guardrail.kernels.reference_decode.manifest import FAMILY

    (stated,) = FAMILY.engines
    for named in (stated, *(control.mutant for control in stated.controls)):
        assert isinstance(named, Engine)
        running = resolve(named.start)(model(), replace(OPTIONS, memory_bytes=None), "cuda")
        assert running.modes == (Mode.EAGER, Mode.CAPTURED)
