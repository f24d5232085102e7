"""The products in CUDA C++ against float64, each other's bytes, counted units and captured graphs."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
import torch
import yaml

from guardrail.kernels.kquants import activations, cuda_module, cuda_quantize, random_bytes
from guardrail.kernels.kquants.cuda_course import Course
from guardrail.kernels.kquants.residual_stream import ResidualStream, UnnormalizedGroups
from guardrail.kernels.q4k import cuda_matvec as q4k_cuda
from guardrail.kernels.q4k import exposing as q4k_exposing
from guardrail.kernels.q4k import geometry as q4k_geometry
from guardrail.kernels.q4k import matvec as q4k_triton
from guardrail.kernels.q4k import reference as q4k_reference
from guardrail.kernels.q6k import blocks, exposing, geometry, plane, reference
from guardrail.kernels.q6k import cuda_matvec as q6k_cuda
from guardrail.kernels.q6k import matvec as q6k_triton
from guardrail.kernels.reference_decode.launch import run_add_norm
from helpers.normed_groups import assert_same_groups, moved_scales, normed_groups

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not cuda_module.available(), reason="cuda.core or NVRTC is not installed"),
]

DEVICE = "cuda"
TOLERANCE = 1e-6
"""Relative norm against float64: some hundred terms in float32, each rounded a few times."""
PROFILES = Path(__file__).parents[2] / "profiles" / "models"
MODELS = ("qwen2.5-7b", "qwen2.5-14b")
EDGES = [(1, 256), (5, 5120), (37, 3584), (131, 13_824), (133, 16_384), (3, 16_640), (7, 65_536)]


def model_shapes(quantization: str) -> list[tuple[int, int]]:
    """List the distinct matrices of the bundled models."""
    profiles = [yaml.safe_load((PROFILES / f"{name}.yaml").read_text()) for name in MODELS]
    tensors = [tensor for profile in profiles for tensor in profile["tensors"]]
    return sorted(
        {(each["rows"], each["columns"]) for each in tensors if each["quantization"] == quantization}
    )


def drawn(seed: int) -> torch.Generator:
    return random_bytes.generator(seed, DEVICE)


def q6k_blocks(rows: int, columns: int, seed: int) -> torch.Tensor:
    shape = (rows, columns // 256)
    source = drawn(seed)
    quantized = random_bytes.quantized((*shape, geometry.SUPER_SCALE_OFFSET), source)
    return torch.cat([quantized, random_bytes.factors((*shape, 1), source)], dim=-1)


def q4k_blocks(rows: int, columns: int, seed: int) -> torch.Tensor:
    shape = (rows, columns // 256)
    source = drawn(seed)
    factors = random_bytes.factors((*shape, 2), source)
    return torch.cat([factors, random_bytes.quantized((*shape, q4k_geometry.BLOCK_BYTES - 4), source)], -1)


def vector(columns: int, seed: int) -> torch.Tensor:
    return torch.randn(columns, generator=drawn(seed), device=DEVICE)


def poisoned(rows: int) -> torch.Tensor:
    return torch.full((rows,), torch.nan, device=DEVICE)


def bits(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.view(torch.int32)


def relative_error(output: torch.Tensor, expected: torch.Tensor) -> float:
    return float(((output.double() - expected).norm() / expected.norm()).nan_to_num(torch.inf))


def q6k_outputs(
    raw: torch.Tensor, groups: torch.Tensor, course: Course | None = None
) -> dict[str, torch.Tensor]:
    """Run every arm on its layout."""
    layouts = {False: blocks.pad(raw), True: plane.split(raw)}
    outputs = {}
    for arm in q6k_cuda.ARMS:
        outputs[arm] = poisoned(len(raw))
        q6k_cuda.launch(arm, layouts[arm.endswith("_dpl")], groups, outputs[arm], course=course)
    return outputs


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
@pytest.mark.parametrize("columns", [32, 5120, 18_944])
def test_quantization_gives_the_bytes_of_the_torch_reference(
    dtype: torch.dtype, columns: int, seed: int
) -> None:
    numbers = (vector(columns, seed) * 3).to(dtype)
    numbers[:8] = 0
    expected = activations.quantize(numbers)
    groups = torch.full_like(expected, 255)

    cuda_quantize.quantize_into(numbers, groups)

    assert torch.equal(groups, expected)


def test_quantization_of_zeros_is_zero_and_of_nan_is_nan() -> None:
    numbers = torch.zeros(64, device=DEVICE)
    numbers[40] = torch.nan
    groups = torch.full((2, 40), 255, dtype=torch.uint8, device=DEVICE)

    cuda_quantize.quantize_into(numbers, groups)

    assert groups[0].tolist() == [0] * 40
    assert activations.scales(groups)[1].isnan()


@pytest.mark.parametrize(("rows", "columns"), [*model_shapes("q6_k"), *EDGES])
def test_q6k_arms_are_right_and_twins_have_the_same_bits(rows: int, columns: int, seed: int) -> None:
    raw = q6k_blocks(rows, columns, seed)
    groups = activations.quantize(vector(columns, seed))
    expected = reference.product(raw, groups)

    outputs = q6k_outputs(raw, groups)

    assert relative_error(outputs["v2"], expected) < TOLERANCE
    assert torch.equal(bits(outputs["v2"]), bits(outputs["v2_dpl"]))
    assert torch.equal(bits(outputs["v2_pf"]), bits(outputs["v2_pf_dpl"]))
    if columns <= geometry.pipelined_reach(geometry.BLOCK_UNITS):
        assert torch.equal(bits(outputs["v2"]), bits(outputs["v2_pf"]))


@pytest.mark.parametrize(("rows", "columns"), [*model_shapes("q4_k"), *EDGES])
def test_q4k_arm_is_right(rows: int, columns: int, seed: int) -> None:
    raw = q4k_blocks(rows, columns, seed)
    groups = activations.quantize(vector(columns, seed))
    output = poisoned(rows)

    q4k_cuda.launch("mmvq", raw, groups, output)

    assert relative_error(output, q4k_reference.product(raw, groups)) < TOLERANCE


def test_a_short_row_after_a_long_one_leaves_the_long_one_its_shared_memory(seed: int) -> None:
    outputs = []
    for columns in (65_536, 49_152, 65_536):
        raw = q4k_blocks(3, columns, seed)
        outputs.append(poisoned(3))
        q4k_cuda.launch("mmvq", raw, activations.quantize(vector(columns, seed)), outputs[-1])
    assert torch.equal(bits(outputs[0]), bits(outputs[2]))


def test_cuda_and_triton_differ_by_rounding_only(seed: int) -> None:
    groups = activations.quantize(vector(13_824, seed))
    raw6, raw4 = q6k_blocks(64, 13_824, seed), q4k_blocks(64, 13_824, seed)
    triton6, triton4, cuda4 = poisoned(64), poisoned(64), poisoned(64)

    q6k_triton.launch("v2", blocks.pad(raw6), groups, triton6)
    q4k_triton.launch("mmvq", raw4, groups, triton4)
    q4k_cuda.launch("mmvq", raw4, groups, cuda4)

    assert relative_error(q6k_outputs(raw6, groups)["v2"], triton6.double()) < TOLERANCE
    assert relative_error(cuda4, triton4.double()) < TOLERANCE


def products_of(
    rows: int, columns: int, seed: int
) -> list[tuple[Callable[..., None], Callable[..., Course]]]:
    """Give a product of each format, to be called with activations and a destination, and its divisions."""
    dense, raw4 = plane.split(q6k_blocks(rows, columns, seed)), q4k_blocks(rows, columns, seed)
    return [
        (partial(q6k_cuda.launch, "v2_dpl", dense), q6k_cuda.pick_course),
        (partial(q4k_cuda.launch, "mmvq", raw4), q4k_cuda.pick_course),
    ]


def poisoned_groups(columns: int, epsilon: float = 1e-6) -> UnnormalizedGroups:
    groups = UnnormalizedGroups.empty(columns, epsilon, DEVICE)
    groups.groups.fill_(255)
    groups.squares.fill_(torch.nan)
    return groups


@pytest.mark.parametrize(("rows", "columns"), [(3_584, 3_584), (3_584, 18_944), (5_120, 13_824), (32, 256)])
def test_a_product_is_added_to_the_residual_stream_and_leaves_its_groups(
    rows: int, columns: int, seed: int
) -> None:
    groups = activations.quantize(vector(columns, seed))
    before, weight = vector(rows, seed + 1) * 3, vector(rows, seed + 2)
    products = products_of(rows, columns, seed)
    if columns <= geometry.pipelined_reach(geometry.BLOCK_UNITS):
        padded = blocks.pad(q6k_blocks(rows, columns, seed))
        products.append((partial(q6k_cuda.launch, "v2_pf", padded), q6k_cuda.pick_course))
    for multiply, pick_course in products:
        alone, residual, normed = poisoned(rows), before.clone(), poisoned_groups(rows)
        multiply(groups, alone, course=pick_course(rows, columns // 32, grouped=True))
        multiply(groups, ResidualStream(residual, weight, normed))

        assert torch.equal(bits(residual), bits(before + alone))
        largest = (residual * weight).view(-1, 32).abs().amax(-1)
        scales = normed.groups[:, :4].contiguous().view(torch.float32)[:, 0]
        assert torch.equal(scales, largest / torch.full_like(largest, 127))
        assert torch.equal(normed.groups[:, 4:], normed_groups(residual, weight, 0.0)[:, 4:36])
        assert relative_error(normed.squares, residual.double().square().view(-1, 32).sum(-1)) < TOLERANCE


def added_to_nothing(x: torch.Tensor, weight: torch.Tensor, epsilon: float, seed: int) -> UnnormalizedGroups:
    """Add a product of zeros to a residual stream, which leaves the groups of its norm."""
    unnormalized = poisoned_groups(len(x), epsilon)
    add, _ = products_of(len(x), 256, seed)[0]
    zeros = activations.quantize(torch.zeros(256, device=DEVICE))
    add(zeros, ResidualStream(x.clone(), weight, unnormalized))
    return unnormalized


@pytest.mark.parametrize("columns", [256, 3_584, 5_120, 16_640])
@pytest.mark.parametrize("magnitude", [1e-4, 1.0, 1e6])
def test_products_complete_the_norm_of_unnormalized_groups(columns: int, magnitude: float, seed: int) -> None:
    """A scale may be rounded the other way than from float64, which moves its group by 2**-10."""
    x, weight, epsilon = vector(columns, seed + 1) * magnitude, vector(columns, seed + 2), 1e-6
    unnormalized = added_to_nothing(x, weight, epsilon, seed)
    expected = normed_groups(x, weight, epsilon)
    launched = torch.full_like(expected, 255)[None]
    run_add_norm(x[None], None, weight, None, launched, epsilon)
    assert_same_groups(launched[0], expected)

    for multiply, _ in products_of(301, columns, seed):
        apart, completed = poisoned(301), poisoned(301)
        multiply(expected, apart)
        multiply(unnormalized, completed)
        groups = columns // 32
        assert relative_error(completed, apart.double()) < 2**-10 * (moved_scales(groups) / groups) ** 0.5


@pytest.mark.parametrize("broken", [torch.nan, torch.inf])
def test_a_broken_residual_stream_reaches_every_product(broken: float, seed: int) -> None:
    x = vector(512, seed)
    x[40] = broken
    unnormalized = added_to_nothing(x, vector(512, seed + 1), 1e-6, seed)
    for multiply, _ in products_of(301, 512, seed):
        output = torch.zeros(301, device=DEVICE)
        multiply(unnormalized, output)
        assert output.isnan().all()


def test_a_residual_stream_of_zeros_multiplies_to_zeros(seed: int) -> None:
    unnormalized = added_to_nothing(torch.zeros(512, device=DEVICE), vector(512, seed), 1e-6, seed)
    for multiply, _ in products_of(301, 512, seed):
        output = poisoned(301)
        multiply(unnormalized, output)
        assert not output.any()


def test_rows_that_are_no_whole_groups_are_refused(seed: int) -> None:
    normed = poisoned_groups(320)
    stream = ResidualStream(vector(301, seed), vector(301, seed), normed)
    add, _ = products_of(301, 256, seed)[0]
    with pytest.raises(ValueError, match=r"groups: .* expected 324 contiguous"):
        add(activations.quantize(vector(256, seed)), stream)


@pytest.mark.parametrize("lanes", [16, 32, 64, 128, 256])
def test_the_bits_depend_on_the_lanes_of_a_row_alone(lanes: int, seed: int) -> None:
    raw = q6k_blocks(301, 5120, seed)
    groups = activations.quantize(vector(5120, seed))
    base = Course(threads=256, lanes_per_row=lanes, tasks_per_lane=1, blocks_per_sm=2)
    expected = bits(q6k_outputs(raw, groups, base)["v2"])

    for course in (
        replace(base, tasks_per_lane=3),
        replace(base, threads=512),
        replace(base, blocks_per_sm=1),
    ):
        for output in q6k_outputs(raw, groups, course).values():
            assert torch.equal(bits(output), expected)


@pytest.mark.parametrize("units", [8, 160, 432, 592])
def test_q6k_arms_compute_each_unit_once_up_to_their_reach(units: int) -> None:
    raw, groups = exposing.exposing_inputs(units)
    reach = geometry.UNITS_PER_LANE * geometry.BLOCK_UNITS

    outputs = q6k_outputs(raw.to(DEVICE), groups.to(DEVICE))

    pipelined = [1] * min(units, reach) + [0] * max(0, units - reach)
    for arm, output in outputs.items():
        counted = exposing.read_counts(output.cpu(), units)
        assert counted == (pipelined if "pf" in arm else [1] * units), arm


def test_q6k_reach_follows_the_tile_it_is_launched_with() -> None:
    raw, groups = exposing.exposing_inputs(72)
    output = poisoned(len(raw))

    q6k_cuda.launch("v2_pf", blocks.pad(raw).to(DEVICE), groups.to(DEVICE), output, block_units=32)

    assert exposing.read_counts(output.cpu(), 72) == [1] * 64 + [0] * 8


@pytest.mark.parametrize("units", [4, 80, 216, 296])
def test_q4k_arm_computes_each_unit_once(units: int) -> None:
    raw, groups = q4k_exposing.exposing_inputs(units)
    output = poisoned(len(raw))

    q4k_cuda.launch("mmvq", raw.to(DEVICE), groups.to(DEVICE), output)

    assert q4k_exposing.read_counts(output.cpu(), units) == [1] * units


def captured(run: Callable[[], None]) -> torch.cuda.CUDAGraph:
    run()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        run()
    return graph


def test_a_graph_of_early_started_kernels_keeps_their_order(seed: int) -> None:
    """Products are started before the quantization that they read, which overwrites what the last read."""
    numbers = [vector(5120, seed + step) for step in range(40)]
    raw = q6k_blocks(1024, 5120, seed)
    weights = plane.split(raw)
    groups = torch.empty(160, 40, dtype=torch.uint8, device=DEVICE)
    outputs = [poisoned(1024) for _ in numbers]

    def run() -> None:
        for each, output in zip(numbers, outputs, strict=True):
            cuda_quantize.quantize_into(each, groups)
            q6k_cuda.launch("v2_dpl", weights, groups, output)

    graph = captured(run)
    for each, output in zip(numbers, outputs, strict=True):
        each.neg_()
        output.fill_(torch.nan)
    graph.replay()
    torch.cuda.synchronize()

    for each, output in zip(numbers, outputs, strict=True):
        alone = poisoned(1024)
        q6k_cuda.launch("v2_dpl", weights, activations.quantize(each), alone)
        assert torch.equal(bits(output), bits(alone))


def test_an_input_written_by_the_kernel_before_is_seen(seed: int) -> None:
    """Torch's kernels do not take part in early starts, on either side."""
    weights = plane.split(q6k_blocks(27_648, 5120, seed))
    groups = torch.empty(160, 40, dtype=torch.uint8, device=DEVICE)
    state, output, seen = vector(5120, seed), poisoned(27_648), poisoned(27_648)

    def run() -> None:
        state.mul_(-2)
        cuda_quantize.quantize_into(state, groups)
        q6k_cuda.launch("v2_dpl", weights, groups, output)
        seen.copy_(output)

    graph = captured(run)
    graph.replay()
    torch.cuda.synchronize()

    alone = poisoned(27_648)
    q6k_cuda.launch("v2_dpl", weights, activations.quantize(state), alone)
    assert torch.equal(bits(seen), bits(alone))
