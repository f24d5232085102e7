"""Weights from GGUF files that the package ``gguf`` writes."""

from dataclasses import replace
from pathlib import Path

import gguf
import pytest
import torch

from guardrail.errors import MeasurementError, UsageError
from guardrail.families import Mode
from guardrail.kernels.reference_decode.geometry import Geometry, geometry_of
from guardrail.kernels.reference_decode.gguf_weights import GgufWeights
from guardrail.kernels.reference_decode.random_weights import RandomWeights
from guardrail.kernels.reference_decode.start import start
from helpers.tiny_decode import OPTIONS, model

SHAPE = replace(geometry_of(model()), rope_theta=10_000.0, norm_epsilon=torch.tensor(1e-6).item())
TYPES = {"q4_k": gguf.GGMLQuantizationType.Q4_K, "q6_k": gguf.GGMLQuantizationType.Q6_K}
MATRICES = ("attn_q", "attn_k", "attn_v", "attn_output", "ffn_gate", "ffn_up", "ffn_down")


def write(path: Path, architecture: str = "qwen2", without: str = "", f16: str = "") -> RandomWeights:
    weights = RandomWeights(SHAPE, 3, "cpu")
    writer = gguf.GGUFWriter(path, architecture)
    writer.add_block_count(SHAPE.layers)
    writer.add_embedding_length(SHAPE.hidden)
    writer.add_head_count(SHAPE.query_heads)
    writer.add_head_count_kv(SHAPE.kv_heads)
    writer.add_feed_forward_length(SHAPE.intermediate)
    writer.add_layer_norm_rms_eps(SHAPE.norm_epsilon)
    writer.add_rope_freq_base(SHAPE.rope_theta)
    writer.add_tensor("token_embd.weight", weights.embedding().numpy())
    writer.add_tensor("output_norm.weight", weights.norm("output_norm").numpy())
    for name in ["output", *(f"blk.{layer}.{name}" for layer in range(SHAPE.layers) for name in MATRICES)]:
        raw = weights.matrix(name)
        if name == without:
            continue
        if name == f16:
            writer.add_tensor(f"{name}.weight", raw.blocks.flatten(1).half().numpy())
        else:
            writer.add_tensor(
                f"{name}.weight", raw.blocks.flatten(1).numpy(), raw_dtype=TYPES[raw.quantization]
            )
    for layer in range(SHAPE.layers):
        for name in ("attn_norm", "ffn_norm"):
            writer.add_tensor(f"blk.{layer}.{name}.weight", weights.norm(f"blk.{layer}.{name}").numpy())
        for name in ("attn_q", "attn_k", "attn_v") if architecture == "qwen2" else ():
            writer.add_tensor(f"blk.{layer}.{name}.bias", weights.bias(f"blk.{layer}.{name}").numpy())
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return weights


def test_a_file_gives_back_every_byte_that_was_written(tmp_path: Path) -> None:
    written = write(tmp_path / "tiny.gguf")
    read = GgufWeights(str(tmp_path / "tiny.gguf"), "cpu")
    assert read.geometry == SHAPE
    for name in ("output", "blk.0.ffn_down", "blk.1.ffn_down", "blk.1.attn_v"):
        assert read.matrix(name).quantization == written.matrix(name).quantization
        assert torch.equal(read.matrix(name).blocks, written.matrix(name).blocks)
    assert torch.equal(read.norm("blk.1.ffn_norm"), written.norm("blk.1.ffn_norm"))
    assert torch.equal(read.bias("blk.0.attn_k"), written.bias("blk.0.attn_k"))
    assert torch.equal(read.embedding(), written.embedding())


def test_an_engine_runs_from_a_file(tmp_path: Path) -> None:
    write(tmp_path / "tiny.gguf")
    options = replace(OPTIONS, weights=str(tmp_path / "tiny.gguf"))
    engine = start(model("qwen2.5-7b"), options, "cuda" if torch.cuda.is_available() else "cpu")
    logits = engine.first_step_logits([[3]], Mode.EAGER).logits
    assert logits.shape == (1, 512)
    assert logits.argmax().item() == (3 * 7919 + 1) % 512


def test_llama_has_no_biases_and_turns_neighbours(tmp_path: Path) -> None:
    write(tmp_path / "llama.gguf", "llama")
    geometry = GgufWeights(str(tmp_path / "llama.gguf"), "cpu").geometry
    assert geometry == Geometry(2, 256, 4, 2, 64, 2304, 512, False, True, 10_000.0, SHAPE.norm_epsilon)


def test_a_missing_tensor_is_named(tmp_path: Path) -> None:
    write(tmp_path / "tiny.gguf", without="blk.1.ffn_down")
    with pytest.raises(MeasurementError, match=r"tiny.gguf: the tensor blk.1.ffn_down.weight is missing"):
        GgufWeights(str(tmp_path / "tiny.gguf"), "cpu").matrix("blk.1.ffn_down")


def test_another_quantization_is_named_with_its_tensor(tmp_path: Path) -> None:
    write(tmp_path / "tiny.gguf", f16="blk.0.attn_q")
    with pytest.raises(
        MeasurementError, match=r"blk.0.attn_q.weight is F16, .* quantize the model as Q4_K_M"
    ):
        GgufWeights(str(tmp_path / "tiny.gguf"), "cpu").matrix("blk.0.attn_q")


def test_another_architecture_is_refused(tmp_path: Path) -> None:
    write(tmp_path / "other.gguf", "gemma3")
    with pytest.raises(UsageError, match="architecture 'gemma3'; the engine runs llama and qwen2"):
        GgufWeights(str(tmp_path / "other.gguf"), "cpu")


@pytest.mark.parametrize(
    ("content", "message"),
    [(None, "there is no such file"), (b"", "cannot be read"), (b"no GGUF at all", "cannot")],
)
def test_what_is_no_gguf_file_is_refused(tmp_path: Path, content: bytes | None, message: str) -> None:
    path = tmp_path / "broken.gguf"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(UsageError, match=f"broken.gguf: {message}"):
        GgufWeights(str(path), "cpu")
