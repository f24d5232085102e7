"""The q6_K arms, the quantization of activations and captured products, at the sizes of real models."""

import pytest
import torch

from guardrail.kernels.kquants import activations, quantize_trials
from guardrail.kernels.kquants.matrix import QuantizedMatrix
from guardrail.kernels.q6k import coverage, trials
from helpers.quantized_shapes import shapes

pytestmark = pytest.mark.gpu

DEVICE = "cuda"
ARMS = ("v1", "v2", "v2_dpl", "v2_pf", "v2_pf_dpl", "dequantized")
LARGEST_ERROR = {"dequantized": 5e-6}
"""Of ||out - ref|| / ||ref||, where it is more than 1e-6: the fallback's sums are torch's, in float32."""
SHAPES = pytest.mark.parametrize(("rows", "row_length"), shapes("q6_k"))


def outputs(case, seed):
    """Run every arm that covers a case on the same inputs; each starts from NaN."""
    trial = trials.random(case, seed, DEVICE)
    found = {}
    for arm in ARMS:
        if getattr(coverage, f"covered_by_{arm}")(case) == coverage.units(case):
            trial.output.fill_(torch.nan)
            trial.launch(arm)
            found[arm] = trial.output.clone()
    return found, trial.reference()[0]


@SHAPES
def test_every_arm_is_right_and_twins_are_equal_to_the_byte(rows, row_length, seed):
    found, expected = outputs({"id": row_length, "rows": rows}, seed)
    errors = {arm: ((out.double() - expected).norm() / expected.norm()).item() for arm, out in found.items()}
    wrong = {arm for arm, error in errors.items() if not error < LARGEST_ERROR.get(arm, 1e-6)}
    assert wrong == set(), f"seed {seed}: {errors}"
    bits = {arm: out.view(torch.int32) for arm, out in found.items()}
    v2_arms = [arm for arm in bits if arm.startswith("v2")]
    assert "v2_dpl" in v2_arms
    assert [arm for arm in v2_arms if not torch.equal(bits[arm], bits["v2"])] == [], f"seed {seed}"


@pytest.mark.parametrize("row_length", [32, 288, 13_824 - 96])
def test_v1_is_right_where_a_row_ends_within_a_block(row_length, seed):
    found, expected = outputs({"id": row_length, "rows": 1000, "layout": "raw"}, seed)
    assert set(found) == {"v1", "dequantized"}
    assert ((found["v1"].double() - expected).norm() / expected.norm()).item() < 1e-6, f"seed {seed}"


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32"])
@pytest.mark.parametrize("columns", [3584, 5120, 13_824, 18_944])
def test_activations_are_quantized_to_the_bytes_of_the_reference(dtype, columns, seed):
    trial = quantize_trials.random({"id": columns, "dtype": dtype, "tokens": 64}, seed, DEVICE)
    trial.groups.fill_(0x5A)
    trial.launch("quantize_q8")
    on_the_host = activations.quantize(trial.vector.cpu())
    assert torch.equal(trial.reference()[0].cpu(), on_the_host), f"seed {seed}: torch differs from itself"
    assert torch.equal(trial.groups.cpu(), on_the_host), f"seed {seed}"


@pytest.mark.parametrize("plane", [True, False])
def test_a_captured_product_gives_the_bits_of_an_eager_one_and_allocates_nothing(plane, seed):
    rows, columns = 5120, 13_824
    raw = trials.random({"id": columns, "rows": rows, "layout": "raw"}, seed, DEVICE).blocks
    matrix = QuantizedMatrix.from_raw("ffn_down", "q6_k", raw, DEVICE, plane=plane)
    drawn = torch.Generator(DEVICE).manual_seed(seed)
    vector = torch.randn(1, columns, generator=drawn, device=DEVICE, dtype=torch.float16)
    out = torch.full((1, rows), torch.nan, device=DEVICE)
    matrix.multiply(vector, out)
    eager = out.clone()
    torch.cuda.synchronize()
    before = torch.cuda.memory_stats()["allocation.all.allocated"]
    matrix.multiply(vector, out)
    assert torch.cuda.memory_stats()["allocation.all.allocated"] == before
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        matrix.multiply(vector, out)
    out.fill_(torch.nan)
    graph.replay()
    torch.cuda.synchronize()
    assert torch.equal(out.view(torch.int32), eager.view(torch.int32)), f"seed {seed}"
