"""The q4_K arms at the sizes of real models."""

import pytest

from guardrail.kernels.q4k import trials
from helpers.quantized_shapes import shapes

pytestmark = pytest.mark.gpu


@pytest.mark.parametrize(("arm", "largest_error"), [("mmvq", 1e-6), ("dequantized", 5e-6)])
@pytest.mark.parametrize(("rows", "row_length"), shapes("q4_k"))
def test_every_arm_is_right(rows, row_length, arm, largest_error, seed):
    trial = trials.random({"id": row_length, "rows": rows}, seed, "cuda")
    trial.launch(arm)
    (expected,) = trial.reference()
    error = ((trial.output.double() - expected).norm() / expected.norm()).item()
    assert error < largest_error, f"seed {seed}"
