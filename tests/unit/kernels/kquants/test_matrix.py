import pytest
import torch

from guardrail.adapters.launches import recorded
from guardrail.kernels.kquants import activations, cuda_module, random_bytes
from guardrail.kernels.kquants.arm_counts import ArmCounts, Served
from guardrail.kernels.kquants.matrix import QuantizedMatrix
from guardrail.kernels.kquants.residual_stream import UnnormalizedGroups
from guardrail.kernels.q4k import blocks as q4k_blocks
from guardrail.kernels.q6k import blocks as q6k_blocks
from guardrail.kernels.q6k import faulty_gates, gate
from guardrail.kernels.q6k.weights import Q6KWeights

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
ROWS = 6
DEQUANTIZE = {"q4_k": q4k_blocks.dequantize, "q6_k": q6k_blocks.dequantize}


def raw_blocks(quantization, row_blocks, rows=ROWS):
    drawn = random_bytes.generator(7, DEVICE)
    if quantization == "q4_k":
        factors = random_bytes.factors((rows, row_blocks, 2), drawn)
        return torch.cat([factors, random_bytes.quantized((rows, row_blocks, 140), drawn)], dim=-1)
    factors = random_bytes.factors((rows, row_blocks, 1), drawn)
    return torch.cat([random_bytes.quantized((rows, row_blocks, 208), drawn), factors], dim=-1)


def matrix(quantization, row_blocks, **options):
    options = {"plane": False, "threshold": 0} | options
    raw = raw_blocks(quantization, row_blocks)
    return raw, QuantizedMatrix.from_raw("tensor", quantization, raw, DEVICE, **options)


def product(made, tokens, dtype=torch.float32):
    """Multiply random vectors: the vectors, what came out, and what was launched."""
    generator = torch.Generator(DEVICE).manual_seed(11)
    vector = torch.randn(tokens, made.columns, generator=generator, device=DEVICE).to(dtype)
    out = torch.full((tokens, made.rows), torch.nan, device=DEVICE)
    with recorded() as launched:
        made.multiply(vector, out)
    return vector, out, launched


def symbols(*names, columns=256):
    """Name the kernels that are launched: CUDA C++ ones where they serve, which compute whole blocks."""
    if not cuda_module.serves(torch.empty(0, device=DEVICE)):
        return list(names)
    whole = ("mmvq_v2", "mmvq_v2_dpl", "mmvq_v2_pf", "mmvq_v2_pf_dpl", "mmvq_q4k")
    in_cuda = {"quantize_q8": "cuda_quantize"}
    in_cuda |= {name: f"cuda_{name}" for name in whole if columns % 256 == 0}
    return [in_cuda.get(name, name) for name in names]


def relative_error(out, expected):
    return ((out.double() - expected).norm() / expected.norm()).item()


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32], ids=str)
@pytest.mark.parametrize(
    ("quantization", "options", "kernel"),
    [
        ("q6_k", {"plane": True}, "mmvq_v2_dpl"),
        ("q6_k", {"plane": True, "block_units": 32}, "mmvq_v2_pf_dpl"),
        ("q6_k", {}, "mmvq_v2"),
        ("q6_k", {"block_units": 32}, "mmvq_v2_pf"),
        ("q6_k", {"plane": True, "columns": 1824}, "mmvq_v1"),
        ("q6_k", {"pick": gate.pick_v1}, "mmvq_v1"),
        ("q4_k", {"plane": True}, "mmvq_q4k"),
        ("q4_k", {"columns": 1856}, "mmvq_q4k"),
    ],
)
def test_one_token_is_quantized_and_multiplied_by_the_arm_of_the_gate(quantization, options, kernel, dtype):
    raw, made = matrix(quantization, 8, **options)
    vector, out, launched = product(made, 1, dtype)
    weights = DEQUANTIZE[quantization](raw)[:, : made.columns]
    expected = activations.dequantize(activations.quantize(vector)) @ weights.T
    assert launched == symbols("quantize_q8", kernel, columns=made.columns)
    assert relative_error(out, expected) < 1e-6


@pytest.mark.parametrize("quantization", ["q4_k", "q6_k"])
@pytest.mark.parametrize(("tokens", "threshold"), [(3, 0), (1, 4_000_000)])
def test_the_fallback_multiplies_the_vectors_unquantized(quantization, tokens, threshold):
    raw, made = matrix(quantization, 2, threshold=threshold)
    vector, out, launched = product(made, tokens)
    expected = vector.double() @ DEQUANTIZE[quantization](raw).T
    assert launched == [f"dequantize_{quantization.replace('_', '')}"]
    assert relative_error(out, expected) < 5e-6


def test_the_fallback_in_chunks_gives_every_row(monkeypatch):
    raw, made = matrix("q6_k", 2)
    monkeypatch.setattr("guardrail.kernels.kquants.dequantized._CHUNK_ELEMENTS", 1024)
    vector, out, launched = product(made, 2)
    assert launched == ["dequantize_q6k"] * 3
    assert relative_error(out, vector.double() @ q6k_blocks.dequantize(raw).T) < 5e-6


@pytest.mark.parametrize(("tokens", "error"), [(1, 1e-6), (2, 5e-6)])
def test_quantized_activations_can_be_shared(tokens, error):
    raw, made = matrix("q6_k", 2)
    vector = torch.randn(tokens, 512, generator=torch.Generator(DEVICE).manual_seed(1), device=DEVICE)
    groups = activations.quantize(vector)
    out = torch.full((tokens, ROWS), torch.nan, device=DEVICE)
    made.multiply_quantized(groups, out)
    assert relative_error(out, activations.dequantize(groups) @ q6k_blocks.dequantize(raw).T) < error


def test_sharing_a_quantization_gives_the_bits_of_quantizing_again():
    _, made = matrix("q6_k", 2)
    vector, out, _ = product(made, 1)
    again = torch.full_like(out, torch.nan)
    made.multiply_quantized(activations.quantize(vector), again)
    assert torch.equal(out.view(torch.int32), again.view(torch.int32))


def test_bytes_are_those_of_the_file_and_those_that_an_arm_reads():
    _, made = matrix("q6_k", 3, plane=True)
    assert (made.rows, made.columns, made.weight_bytes) == (6, 768, 6 * 630)
    assert made.streamed_bytes("v2") == 6 * 672
    assert made.streamed_bytes("v2_dpl") == 6 * 640
    _, made = matrix("q4_k", 3)
    assert made.weight_bytes == made.streamed_bytes("mmvq") == 6 * 432


def test_a_planted_gate_drops_eight_of_seventy_two_units():
    raw, made = matrix("q6_k", 9, block_units=32, pick=faulty_gates.pick_without_upper_bound)
    vector, out, launched = product(made, 1)
    quantized = activations.dequantize(activations.quantize(vector))
    kept = quantized[:, :2048] @ q6k_blocks.dequantize(raw)[:, :2048].T
    assert launched == symbols("quantize_q8", "mmvq_v2_pf")
    assert relative_error(out, kept) < 1e-6


def test_products_are_counted_with_the_reasons_of_the_gate():
    counts = ArmCounts()
    _, made = matrix("q6_k", 2, plane=True, counts=counts)
    for tokens in (1, 1, 2):
        product(made, tokens)
    assert counts.served == (
        Served("tensor", "v2_dpl", "the row fits one tile: v2_pf would load a second, empty one", True, 2),
        Served("tensor", "dequantized", "a matrix-vector product serves one token", True, 1),
    )


def test_a_plane_for_which_there_is_no_memory_is_an_accident(monkeypatch):
    def no_memory(raw):
        raise torch.OutOfMemoryError("no memory for a plane")

    monkeypatch.setattr("guardrail.kernels.q6k.weights.split", no_memory)
    counts = ArmCounts()
    _, made = matrix("q6_k", 2, plane=True, counts=counts)
    for tokens in (1, 2):
        product(made, tokens)
    lacking = "the dense split plane is absent although the engine asked for it"
    assert counts.accidental == (Served("tensor", "v2", lacking, False, 1),)
    assert [row.intended for row in counts.served] == [False, True]


def test_unpadded_blocks_of_whole_rows_are_an_accident():
    raw = raw_blocks("q6_k", 2)
    counts = ArmCounts()
    weights = Q6KWeights(raw, 512, None, wants_plane=False)
    made = QuantizedMatrix(
        "tensor", weights, raw.numel(), threshold=0, pick=None, block_units=None, counts=counts
    )
    _, _, launched = product(made, 1)
    assert launched == ["quantize_q8", "mmvq_v1"]
    assert counts.accidental == (
        Served("tensor", "v1", "the blocks are not padded although they could be", False, 1),
    )


def test_a_row_that_ends_within_a_block_is_no_accident():
    counts = ArmCounts()
    _, made = matrix("q6_k", 2, columns=480, plane=True, counts=counts)
    product(made, 1)
    assert counts.served == (Served("tensor", "v1", "the row ends within a block", True, 1),)


def test_an_unknown_quantization_is_refused():
    with pytest.raises(ValueError, match="tensor: quantization 'q5_k'; a quantized matrix is q4_k and q6_k"):
        QuantizedMatrix.from_raw("tensor", "q5_k", raw_blocks("q6_k", 2), DEVICE, plane=False)


@pytest.mark.parametrize(
    ("quantization", "columns", "sentence"),
    [
        ("q4_k", None, "512 columns of q4_k are rows of 2 blocks of 144 bytes; got 2 of 210"),
        ("q6_k", 256, "256 columns of q6_k are rows of 1 blocks of 210 bytes; got 2 of 210"),
        ("q6_k", 544, "544 columns of q6_k are rows of 3 blocks of 210 bytes; got 2 of 210"),
    ],
)
def test_bytes_of_another_shape_are_refused(quantization, columns, sentence):
    with pytest.raises(ValueError, match=sentence):
        QuantizedMatrix.from_raw(
            "tensor", quantization, raw_blocks("q6_k", 2), DEVICE, plane=False, columns=columns
        )


def test_an_arm_without_its_plane_is_refused():
    _, made = matrix("q6_k", 2)
    with pytest.raises(ValueError, match="arm v2_dpl: this matrix has no dense split plane"):
        made.streamed_bytes("v2_dpl")


@pytest.mark.parametrize("quantization", ["q4_k", "q6_k"])
@pytest.mark.parametrize(
    ("rows", "threshold", "served", "completes", "adds"),
    [
        (4 * 32, 0, True, True, True),
        (5 * 32, 0, True, True, False),
        (48, 0, True, True, False),
        (4 * 32, 10**9, True, False, False),
        (4 * 32, 0, False, False, False),
    ],
    ids=["as many groups as SMs", "more groups", "half a group", "the fallback", "in Triton"],
)
def test_norms_are_left_to_products_whose_blocks_fit_the_sms(
    monkeypatch: pytest.MonkeyPatch, quantization, rows, threshold, served, completes, adds
):
    monkeypatch.setattr(cuda_module, "serves", lambda tensor: served)
    monkeypatch.setattr("guardrail.kernels.kquants.matrix.processors", lambda device: 4)
    raw = raw_blocks(quantization, 2, rows)
    made = QuantizedMatrix.from_raw("tensor", quantization, raw, DEVICE, plane=True, threshold=threshold)
    assert (made.quantizes, made.completes_norms, made.adds_in_place) == (threshold == 0, completes, adds)


def test_a_fallback_refuses_what_a_norm_is_left_in():
    _, made = matrix("q4_k", 2, threshold=10**9)
    normed = UnnormalizedGroups.empty(512, 1e-6, DEVICE)
    with pytest.raises(ValueError, match="reads q8 groups and writes a vector, and takes no part in norms"):
        made.multiply_quantized(normed, torch.zeros(1, ROWS, device=DEVICE))
